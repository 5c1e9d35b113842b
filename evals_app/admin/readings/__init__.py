"""Reading conversations one at a time, noting what went wrong, and grouping the notes."""
