"""How judges graded, and what people say about it."""
