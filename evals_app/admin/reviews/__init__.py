"""People against judges: tasks to check grades, and how far judges agree with people."""
