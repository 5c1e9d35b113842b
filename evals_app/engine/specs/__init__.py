"""What people write about providers, agents, tools and files."""
