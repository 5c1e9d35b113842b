"""Starting a run: what it covers, freezing what it uses, and waking workers.

`start_run` is the way in: `select` finds the cases, `obstacles` and `needs` say what is missing,
`freeze` makes the snapshot. A suite may have 100,000 cases, so they are read, checked, hashed and
written in batches, each in its own transaction (`preparing`): other writers get a turn, and each
batch is a sign of life. Until all are written the run is being prepared, and no page shows it.

`waiting` answers which run a process takes next. Tickets in the queue only wake processes, so one
may be lost, late or duplicated. An idle process takes the oldest waiting run; a busy one takes a
run that no idle process has taken within half a second. A run whose provider is rate-limiting us
waits until that time is over, and gets more than one process only while another stays free.

`similarity` chooses how a run compares texts. The choice is frozen: if it fails later, checks stay
ungraded, because a run never mixes two methods.
"""
