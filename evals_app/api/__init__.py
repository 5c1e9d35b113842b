"""REST, for tools outside: each noun has its own module of views. What they share is in `requests`."""
