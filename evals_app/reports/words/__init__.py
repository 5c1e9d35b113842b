"""Words for numbers: scores, shares, gates and differences, the same everywhere."""
