"""JSON from outside: read exactly, found by path, held against a JSON Schema; all of it bounded."""
