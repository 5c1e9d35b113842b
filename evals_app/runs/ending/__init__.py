"""How runs end or go on: finishing, cancelling, resuming, and work of dead workers."""
