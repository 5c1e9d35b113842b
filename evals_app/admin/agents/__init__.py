"""The pages of agents: the form, the wizard for web addresses, and the playground."""
