"""Summaries of runs as documents."""
