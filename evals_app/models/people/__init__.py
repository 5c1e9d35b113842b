"""People: profiles, roles, tokens and links to set a password."""
