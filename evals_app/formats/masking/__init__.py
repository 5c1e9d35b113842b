"""Masks personal data in texts before anything is stored."""
