"""Statistics: rates, agreement, exact tests, comparisons, retests and samples."""
