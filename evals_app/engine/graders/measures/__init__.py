"""How alike two texts are: pure functions, and the words that they compare."""
