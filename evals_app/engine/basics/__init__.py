"""Modules without dependencies: numbers, texts, templates, matchers, permits and errors."""
