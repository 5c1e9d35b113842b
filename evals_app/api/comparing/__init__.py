"""Comparisons and retests over REST."""
