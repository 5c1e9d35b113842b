"""What people write, over REST: suites, cases, agents, fixtures, providers and files."""
