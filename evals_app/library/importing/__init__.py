"""Files into rows: uploads, what they may change, and the bundled examples."""
