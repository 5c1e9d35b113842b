"""How judges graded, and people's reviews of it."""
