"""Judges: what they are asked, how they graded, and how far people agree with them."""
