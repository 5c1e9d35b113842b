"""Specs <-> rows: save them, import files in one transaction, export everything again.

SQLite allows one writer at a time, so a large import is staged (`saving`): cases are written a few
hundred at a time without a suite, where no page shows them, and the last transaction assigns them.
The nightly clean-up removes what a killed import leaves.
"""
