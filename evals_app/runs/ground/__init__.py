"""What operations on runs share: rights, log lines, retries, the ledger and counters.

`patience` repeats operations on a new connection while the database is unavailable, until the lease
ends. `queues` are socket pairs over which the kernel passes whole messages: there is no lock to
lose.
"""
