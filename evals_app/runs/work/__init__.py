"""The work of one process on one run: the lease, the heartbeat, and recording outcomes."""
