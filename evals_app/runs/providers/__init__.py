"""Providers as all processes share them: limits on calls, and a test of the connection."""
