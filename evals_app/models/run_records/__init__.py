"""What happened: runs, executions, grades, leases, retests, spending and schedules."""
