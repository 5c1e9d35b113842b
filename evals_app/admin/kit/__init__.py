"""What pages are made of: fields, rows, charts, words and permissions that every room may use."""
