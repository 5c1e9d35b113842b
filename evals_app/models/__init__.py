"""The rows: what was written (Provider ... Assertion), and what happened (Run ... GradeResult)."""

from evals_app.models.agents import Agent
from evals_app.models.attachments import Attachment
from evals_app.models.evaluation_steps import EvaluationSteps
from evals_app.models.judges import JudgeTally
from evals_app.models.leases import Lease, Tally, Worker
from evals_app.models.notices import Delivery, MailWish, Webhook
from evals_app.models.password_links import PasswordLink
from evals_app.models.profiles import Profile
from evals_app.models.providers import ModelPrice, Provider, ProviderState
from evals_app.models.results import (
    CaseResult,
    Execution,
    GradeResult,
    PaidCalls,
    Transcript,
    of_each_conversation,
)
from evals_app.models.reviews import Review, ReviewedVerdict, ReviewItem, ReviewTask
from evals_app.models.runs import Run, Snapshot, SnapshotCase
from evals_app.models.schedules import DueRun, Schedule
from evals_app.models.settlements import Settlement
from evals_app.models.spending import MonthlyCeiling, Spending
from evals_app.models.suites import Assertion, Case, Suite, Turn
from evals_app.models.tokens import ApiToken
from evals_app.models.traces import Trace, TraceSpan
from evals_app.models.yardsticks import Yardstick

__all__ = [
    "Agent",
    "ApiToken",
    "Assertion",
    "Attachment",
    "Case",
    "CaseResult",
    "Delivery",
    "DueRun",
    "EvaluationSteps",
    "Execution",
    "GradeResult",
    "JudgeTally",
    "Lease",
    "MailWish",
    "ModelPrice",
    "MonthlyCeiling",
    "PaidCalls",
    "PasswordLink",
    "Profile",
    "Provider",
    "ProviderState",
    "Review",
    "ReviewItem",
    "ReviewTask",
    "ReviewedVerdict",
    "Run",
    "Schedule",
    "Settlement",
    "Snapshot",
    "SnapshotCase",
    "Spending",
    "Suite",
    "Tally",
    "Trace",
    "TraceSpan",
    "Transcript",
    "Turn",
    "Webhook",
    "Worker",
    "Yardstick",
    "of_each_conversation",
]
