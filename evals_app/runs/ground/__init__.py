"""What operations on runs share: rights, log lines, retries, the ledger and counters."""
