"""Conversations that people read, with their notes and groups, as JSON for other tools."""
