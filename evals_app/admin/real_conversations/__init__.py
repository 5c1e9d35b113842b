"""Real conversations: the list of sets, the page of one, its imports, and grading it."""
