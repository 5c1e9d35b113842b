"""Ready by topic as files: Markdown, and a table."""
