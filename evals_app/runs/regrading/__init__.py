"""Grading the stored conversations of a run again."""
