"""Signing in: with a password, through the company, or through a proxy; and its limits."""
