"""Runs over REST: starting, reading, actions and reports."""
