"""What happened: runs, executions, grades, leases, retests, spending and schedules.

A status changes only by methods of the model, each of which is one conditional update. The counters of
a run always add up to its total; the database checks it.
"""
