"""Executions and their results."""

from collections.abc import Mapping

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from pydantic import ValidationError

from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause, Trial, Verdict
from evals_app.engine.statistics.comparison import CaseOutcome
from evals_app.engine.statistics.effort import CaseEffort
from evals_app.engine.verdicts.case_summary import CaseSummary
from evals_app.models.fields.money import UsdField
from evals_app.models.run_records.judged_criteria import Yardstick
from evals_app.models.run_records.runs import Run
from evals_app.reports.words.causes import CAUSE_WORDS

VERDICTS = [(verdict.value, verdict.value.capitalize()) for verdict in Verdict]
CAUSES = [(cause.value, CAUSE_WORDS[cause]) for cause in Cause]


class Execution(models.Model):
    """One trial of one case in a run. Written once: a finished execution never changes."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        FINISHED = "finished", "Finished"
        SKIPPED = "skipped", "Skipped"
        CANCELLED = "cancelled", "Cancelled"

    run = models.ForeignKey(Run, models.CASCADE, related_name="executions")
    case = models.CharField(max_length=200)
    position = models.PositiveIntegerField()
    trial = models.PositiveSmallIntegerField()
    # The execution whose conversation it grades again; the transcript is stored there.
    source = models.ForeignKey(
        "self", models.SET_NULL, null=True, related_name="regrades", db_index=False
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    verdict = models.CharField(max_length=8, choices=VERDICTS, blank=True)
    cause = models.CharField(max_length=10, choices=CAUSES, blank=True)
    reason = models.TextField(blank=True)
    score = models.FloatField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_token = models.UUIDField(null=True)
    is_scripted = models.BooleanField(default=False)
    agent_prompt_tokens = models.BigIntegerField(null=True)
    agent_response_tokens = models.BigIntegerField(null=True)
    judge_prompt_tokens = models.BigIntegerField(null=True)
    judge_response_tokens = models.BigIntegerField(null=True)
    agent_cost_usd = UsdField(null=True)
    judge_cost_usd = UsdField(null=True)
    time_ms = models.FloatField(null=True)
    tool_calls = models.PositiveIntegerField(null=True)
    turn_ms = models.JSONField(default=list)
    summary = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    # When someone removed what was said, and who.
    content_removed_at = models.DateTimeField(null=True)
    content_removed_by = models.CharField(max_length=150, blank=True)

    class Meta:
        verbose_name = "conversation"
        constraints = [
            models.UniqueConstraint(fields=["run", "case", "trial"], name="execution_unique"),
            models.CheckConstraint(
                name="execution_verdict_when_finished",
                condition=(Q(status="finished") & ~Q(verdict=""))
                | (~Q(status="finished") & Q(verdict="")),
            ),
            models.CheckConstraint(
                name="execution_cause_when_not_passed",
                condition=Q(verdict__in=["", "passed", "measured"], cause="")
                | (Q(verdict__in=["failed", "errored"]) & ~Q(cause="")),
            ),
            models.CheckConstraint(
                name="execution_leased_while_running",
                condition=Q(status="running", lease_token__isnull=False)
                | (~Q(status="running") & Q(lease_token__isnull=True)),
            ),
        ]
        indexes = [
            models.Index(
                fields=["run", "attempts", "id"],
                name="execution_queue",
                condition=Q(status="queued"),
            ),
            models.Index(
                fields=["lease_token"], name="execution_leased", condition=Q(status="running")
            ),
            models.Index(fields=["run", "verdict", "position"], name="execution_by_verdict"),
            models.Index(fields=["run", "position", "trial"], name="execution_by_position"),
            models.Index(fields=["case", "-id"], name="execution_by_case"),
            models.Index(fields=["verdict", "-id"], name="execution_newest_by_verdict"),
            models.Index(
                fields=["cause", "-id"], name="execution_newest_by_cause", condition=~Q(cause="")
            ),
            models.Index(fields=["status", "-id"], name="execution_newest_by_status"),
            models.Index(
                fields=["source", "-id"],
                name="execution_graded_again",
                condition=Q(source__isnull=False),
            ),
        ]
        permissions = [("review_execution", "Can review conversations")]

    def __str__(self) -> str:
        return f"{self.case} (trial {self.trial})" if self.trial > 1 else self.case


def of_each_conversation(column: str) -> Q:
    """Return which executions count in the sum of a column over a run.

    A run may grade each conversation several times: the agent took part once, in the first.
    """
    if not column.startswith("agent_"):
        return Q()
    earlier = Execution.objects.filter(
        run=OuterRef("run"),
        source=OuterRef("source"),
        status=Execution.Status.FINISHED,
        pk__lt=OuterRef("pk"),
    )
    return Q(source=None) | ~Q(Exists(earlier))


class CaseResult(models.Model):
    """The result of a case over its trials; `verdict` is blank if nothing could be decided."""

    # The constraint has the index.
    run = models.ForeignKey(Run, models.CASCADE, related_name="case_results", db_index=False)
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, blank=True)  # of its content; empty in older rows
    checks = models.TextField(blank=True)  # how often each passed; empty in older rows
    verdict = models.CharField(max_length=8, choices=VERDICTS, blank=True)
    trials = models.PositiveIntegerField()
    passed = models.PositiveIntegerField()
    failed = models.PositiveIntegerField()
    errored = models.PositiveIntegerField()
    measured = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    pass_rate = models.FloatField(null=True)
    score = models.FloatField(null=True)
    deviation = models.FloatField(null=True)
    interval_low = models.FloatField(null=True)
    interval_high = models.FloatField(null=True)
    pass_at_k = models.JSONField(default=list)
    pass_hat_k = models.JSONField(default=list)
    # Of its graded conversations: each turn's time, and their mean cost. Empty in older rows.
    turn_ms = models.JSONField(default=list)
    cost_usd = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "position"], name="case_result_unique")
        ]
        indexes = [models.Index(fields=["name", "-run"], name="case_result_by_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def summary(self) -> CaseSummary:
        """The result as it was computed."""
        low, high = self.interval_low, self.interval_high
        return CaseSummary(
            name=self.name,
            verdict=Verdict(self.verdict) if self.verdict else None,
            trials=self.trials,
            passed=self.passed,
            failed=self.failed,
            errored=self.errored,
            measured=self.measured,
            skipped=self.skipped,
            pass_rate=self.pass_rate,
            score=self.score,
            deviation=self.deviation,
            interval=None if low is None or high is None else (low, high),
            pass_at_k=tuple(self.pass_at_k),
            pass_hat_k=tuple(self.pass_hat_k),
            effort=CaseEffort(tuple(self.turn_ms), self.cost_usd),
        )

    @property
    def outcome(self) -> CaseOutcome:
        """The result as it is compared."""
        verdict = Verdict(self.verdict) if self.verdict else None
        counts = (self.passed, self.failed, self.errored)
        return CaseOutcome(self.name, self.digest, verdict, *counts, self.score, self.checks)


class Transcripts(models.Manager["Transcript"]):
    """The transcripts of executions; one that grades again has that of its source."""

    def of(self, execution: Execution) -> "Transcript | None":
        """Return the transcript of an execution; None if there is none (any more)."""
        return self.filter(pk=execution.source_id or execution.pk).first()

    def of_all(self, sources: Mapping[int, int | None]) -> "dict[int, Transcript]":
        """Return transcripts by the key of the execution; `sources` has the keys of both."""
        stored = self.in_bulk({source or pk for pk, source in sources.items()})
        places = {pk: source or pk for pk, source in sources.items()}
        return {pk: stored[place] for pk, place in places.items() if place in stored}


class Transcript(models.Model):
    """The whole Trial of an execution as JSON; never loaded by a list."""

    execution = models.OneToOneField(
        Execution, models.CASCADE, primary_key=True, related_name="transcript"
    )
    trial = models.JSONField()

    objects = Transcripts()

    def __str__(self) -> str:
        return f"Transcript of conversation {self.execution_id}"

    def to_trial(self) -> Trial | None:
        """Return the conversation; None if another version wrote it."""
        try:
            return Trial.from_json(self.trial)
        except ValidationError:
            return None


class PaidCalls(models.Model):
    """Model calls of an interrupted conversation, which are not repeated when it runs again."""

    execution = models.OneToOneField(
        Execution, models.CASCADE, primary_key=True, related_name="paid_calls"
    )
    calls = models.JSONField()

    def __str__(self) -> str:
        return f"Calls of conversation {self.execution_id}"


class GradeResult(models.Model):
    """The grade of one check; it has no key to the check, which may change."""

    STATUSES = [(status.value, status.value.replace("_", " ")) for status in GradeStatus]

    execution = models.ForeignKey(Execution, models.CASCADE, related_name="grades")
    turn = models.PositiveIntegerField(null=True)
    position = models.PositiveIntegerField()
    family = models.CharField(max_length=10)
    type = models.CharField(max_length=40)
    label = models.TextField()
    weight = models.FloatField()
    threshold = models.FloatField(null=True)
    score = models.FloatField(null=True)
    passed = models.BooleanField(null=True)
    status = models.CharField(max_length=16, choices=STATUSES)
    cause = models.CharField(max_length=10, choices=CAUSES, blank=True)
    reason = models.TextField(blank=True)
    evidence = models.JSONField(default=list)
    details = models.JSONField(default=dict)
    calls = models.JSONField(default=list)
    # Digest of the question without the judge: equal questions about one reply deserve equal
    # answers.
    question = models.CharField(max_length=32, blank=True)
    # The criterion of a judged grade. Its reviews have the index.
    yardstick = models.ForeignKey(
        Yardstick, models.PROTECT, null=True, related_name="grades", db_index=False
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="grade_score_between_0_and_1",
                condition=Q(score__isnull=True) | Q(score__gte=0, score__lte=1),
            )
        ]

    def __str__(self) -> str:
        return self.label
