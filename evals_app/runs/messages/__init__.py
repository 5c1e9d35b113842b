"""Starts and messages that are due: schedules, e-mails and webhooks.

A `DueRun` for each suite is written in the transaction that moves the schedule on. Any process may
start it; the key of the run keeps two from starting the same. A `Delivery` is written in the
transaction that ends the run. The process that sends it first moves its time, so no other does; it
writes the body once and repeats it with the same id.
"""
