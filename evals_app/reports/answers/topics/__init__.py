"""Ready by topic: what REST answers, and the same in words."""
