"""Deleting so that it can be restored, and the page of what was deleted."""
