"""Forgetting for good: what was said in conversations, whole runs, and the data of a person."""
