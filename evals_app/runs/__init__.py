"""Runs: start, claim, record, finish, cancel, rerun - where engine, queue and database meet.

The rows are the truth. A ticket of the queue only says that somebody should work on a run; it may
be lost, late or doubled without harm.
"""

from evals_app.runs.cancel import cancel_run
from evals_app.runs.freeze import CannotStartError
from evals_app.runs.reap import MOST_ATTEMPTS
from evals_app.runs.rerun import rerun
from evals_app.runs.resume import resume_run
from evals_app.runs.start import start_run, start_runs
from evals_app.runs.workers import live_workers

__all__ = [
    "MOST_ATTEMPTS",
    "CannotStartError",
    "cancel_run",
    "live_workers",
    "rerun",
    "resume_run",
    "start_run",
    "start_runs",
]
