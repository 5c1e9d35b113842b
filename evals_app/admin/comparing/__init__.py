"""Comparing runs and single cases, and retesting what looks worse."""
