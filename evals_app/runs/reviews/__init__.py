"""What people say about grades, and what follows from it."""
