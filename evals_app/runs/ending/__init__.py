"""How runs end or resume: finishing, cancelling, resuming, and work of dead workers.

Every worker command reaps every 10 s: rows of expired leases, and of dead processes on the same
machine, are queued again; at the third death an execution is errored. `reap` also sends new tickets,
applies deadlines and closes runs. `close_if_over` computes the summary under a lock on the run's
row; a second caller finds the run closed. `health` finds what no reaper came for.
"""
