"""The rows: what was written (Provider ... Assertion), and what happened (Run ... GradeResult)."""

from evals_app.models.agents import Agent
from evals_app.models.leases import Lease, Worker
from evals_app.models.providers import Provider
from evals_app.models.results import Execution, GradeResult, Transcript
from evals_app.models.runs import Run, Snapshot
from evals_app.models.suites import Assertion, Case, Suite, Turn
from evals_app.models.tokens import ApiToken

__all__ = [
    "Agent",
    "ApiToken",
    "Assertion",
    "Case",
    "Execution",
    "GradeResult",
    "Lease",
    "Provider",
    "Run",
    "Snapshot",
    "Suite",
    "Transcript",
    "Turn",
    "Worker",
]
