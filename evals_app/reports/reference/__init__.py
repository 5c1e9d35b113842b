"""Pages of the reference and JSON Schemas, written from the code itself."""
