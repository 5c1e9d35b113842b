"""Accounts: people, roles, invitations, tokens and e-mail."""
