"""Files compared with each other and with what exists."""
