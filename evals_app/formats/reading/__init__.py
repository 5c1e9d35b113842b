"""Bytes into data with places: JSON, YAML and TOML, and what is wrong with them."""
