"""Runs: start, claim, record, finish, cancel, rerun - where engine, queue and database meet."""
