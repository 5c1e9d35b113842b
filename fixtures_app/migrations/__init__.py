"""Changes of the database's tables."""
