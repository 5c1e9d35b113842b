"""The worker command: its processes, their loop, and retention.

`cluster` runs our own subclass of django-q2's sentinel (`sentinel`). Its processes share no lock
that a killed process could leave locked. Every forked process dies with its parent. Only the
command itself handles signals: it gives conversations 20 s to finish and then returns them.
`watchdog` decides when a process is replaced, because it died or stopped serving tickets. The
commands `serve`, `demo` and `run_evals` embed the same code.

`worker_loop` is the one place where asyncio meets the ORM (`async_to_sync`): the event loop runs in
a second thread, and every query runs in the task's own thread, with its one connection. No
transaction spans an await.
"""
