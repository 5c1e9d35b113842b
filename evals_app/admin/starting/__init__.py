"""Starting runs from a page: the dialog, its choices, several suites, and re-runs."""
