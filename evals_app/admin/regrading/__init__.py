"""Grading the conversations of a run again, and what pages show of it."""
