"""What saving would change, what it did change, and edits since the last import."""
