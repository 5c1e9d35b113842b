"""What people write: suites, agents, providers, attachments and evaluation steps."""
