"""Specs <-> rows: save them, import files in one transaction, export everything again."""
