"""The worker command: its processes, their loop, and retention."""
