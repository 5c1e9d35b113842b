"""Drivers for agents that are not ours: HTTP, programs and Python functions."""
