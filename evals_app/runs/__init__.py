"""Runs: start, claim, record, finish, cancel, rerun - where engine, queue and database meet.

The rows are the truth. A ticket in the queue only announces that a run has work; it may be lost,
late or duplicated without harm.
"""
