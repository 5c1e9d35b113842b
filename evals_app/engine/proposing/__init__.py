"""Checks proposed from what an agent did, and the case that they become."""
