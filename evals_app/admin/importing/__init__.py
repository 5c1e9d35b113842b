"""Files in and out: the import page with its preview, exports and examples."""
