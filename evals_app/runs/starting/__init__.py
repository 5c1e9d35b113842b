"""Starting a run: what it covers, freezing what it uses, and waking workers."""
