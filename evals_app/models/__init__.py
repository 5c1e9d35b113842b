"""The rows: what was written (Provider ... Assertion), and what happened (Run ... GradeResult)."""

from evals_app.models.agents import Agent
from evals_app.models.attachments import Attachment
from evals_app.models.evaluation_steps import EvaluationSteps
from evals_app.models.leases import Lease, Tally, Worker
from evals_app.models.providers import ModelPrice, Provider, ProviderState
from evals_app.models.results import CaseResult, Execution, GradeResult, PaidCalls, Transcript
from evals_app.models.runs import Run, Snapshot, SnapshotCase
from evals_app.models.suites import Assertion, Case, Suite, Turn
from evals_app.models.tokens import ApiToken

__all__ = [
    "Agent",
    "ApiToken",
    "Assertion",
    "Attachment",
    "Case",
    "CaseResult",
    "EvaluationSteps",
    "Execution",
    "GradeResult",
    "Lease",
    "ModelPrice",
    "PaidCalls",
    "Provider",
    "ProviderState",
    "Run",
    "Snapshot",
    "SnapshotCase",
    "Suite",
    "Tally",
    "Transcript",
    "Turn",
    "Worker",
]
