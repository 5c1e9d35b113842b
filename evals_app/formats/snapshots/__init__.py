"""Snapshots of what a run uses, and how two of them differ."""
