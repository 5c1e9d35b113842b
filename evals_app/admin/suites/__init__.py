"""The pages of suites and of the cases in them."""
