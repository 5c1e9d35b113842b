"""Commands, and what they share. `USAGE` is the exit code of wrong usage or configuration."""

USAGE = 2
