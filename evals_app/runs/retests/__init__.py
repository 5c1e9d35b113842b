"""Retests: fresh trials of the cases in which two runs differ."""
