"""The rows: what people write (Provider ... Assertion), and what happens (Run ... GradeResult)."""

from evals_app.models.authored.agents import Agent
from evals_app.models.authored.attachments import Attachment
from evals_app.models.authored.bin import BulkEdit, DeletedObject, DeletedPart
from evals_app.models.authored.evaluation_steps import EvaluationSteps
from evals_app.models.authored.providers import ModelPrice, Provider, ProviderState
from evals_app.models.authored.suites import Assertion, Case, Suite, Turn
from evals_app.models.judging.judges import JudgeTally
from evals_app.models.judging.readings import (
    GroupRise,
    NoteGroup,
    Reading,
    ReadingItem,
    ReadingNote,
)
from evals_app.models.judging.reviews import Review, ReviewedVerdict, ReviewItem, ReviewTask
from evals_app.models.notices import Delivery, MailWish, Webhook
from evals_app.models.people.activity import Activity
from evals_app.models.people.company_accounts import CompanyAccount
from evals_app.models.people.developer_links import DeveloperLink
from evals_app.models.people.password_links import PasswordLink
from evals_app.models.people.profiles import Profile
from evals_app.models.people.saved_views import SavedView
from evals_app.models.people.sessions import SignedInSession
from evals_app.models.people.tokens import ApiToken
from evals_app.models.run_records.connections import AgentCall, Computer
from evals_app.models.run_records.conversation_sets import (
    ConversationGrading,
    ConversationImport,
    ConversationSet,
    ImportedConversation,
)
from evals_app.models.run_records.daily_imports import DailyImport, DueImport
from evals_app.models.run_records.executions import (
    CaseResult,
    Execution,
    GradeResult,
    PaidCalls,
    Transcript,
    of_each_conversation,
)
from evals_app.models.run_records.judged_criteria import Yardstick
from evals_app.models.run_records.leases import Lease, Tally, Worker
from evals_app.models.run_records.masking_patterns import MaskingPattern
from evals_app.models.run_records.retests import Settlement
from evals_app.models.run_records.runs import Run, Snapshot, SnapshotCase
from evals_app.models.run_records.schedules import DueRun, Schedule
from evals_app.models.run_records.ship_decisions import (
    AcceptedFailure,
    ShipDecision,
    TopicReadiness,
)
from evals_app.models.run_records.span_inboxes import ReceivedTrace, SpanInbox
from evals_app.models.run_records.spending import MonthlyCeiling, Spending
from evals_app.models.run_records.traces import Trace, TraceSpan
