"""Code that is called as an operator's would be, always permitted: examples to try and to copy."""
