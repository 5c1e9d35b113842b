"""Fields and transactions that rows share."""
