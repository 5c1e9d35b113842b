"""Cases made of conversations."""
