"""What people write about suites, cases and checks."""
