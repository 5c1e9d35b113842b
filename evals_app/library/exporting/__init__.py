"""Rows into files and archives."""
