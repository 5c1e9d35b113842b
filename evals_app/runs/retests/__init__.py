"""Retests: fresh trials of the cases in which two runs differ.

Suspects are cases that passed less often. Each round runs the undecided ones again, in the frozen
versions of both runs, and tests fresh trials only. Any process may call `rounds.advance` at any
time: it locks the retest, and a unique key lets each run start once. The end of a run calls it,
and so does the reaper. All runs of a retest share one budget, meet no gate and give no suite its
verdict.
"""
