"""What both applications need and neither owns: JSON, its schemas, patterns, words. No Django."""
