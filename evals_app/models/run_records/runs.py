"""Runs, and the frozen snapshots that they execute."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from evals_app.models.authored.providers import ProviderState
from evals_app.models.authored.suites import Suite
from evals_app.models.fields.money import UsdField
from evals_app.reports.words.coverage import COVERAGE_COLUMNS, coverage
from evals_app.reports.words.similarity import compared_by, stand_in_note


class Snapshot(models.Model):
    """What a run uses, as canonical JSON: `content` has all but the cases; the hash covers both."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    schema_version = models.PositiveSmallIntegerField()
    content = models.TextField()
    # False while its cases are written; another run with the same content completes them.
    is_complete = models.BooleanField(db_default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.sha256[:12]


class SnapshotCase(models.Model):
    """One case of a snapshot, as canonical JSON, so that cases can be read one by one."""

    # The constraint has the index.
    snapshot = models.ForeignKey(Snapshot, models.CASCADE, related_name="cases", db_index=False)
    position = models.PositiveIntegerField()
    content = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["snapshot", "position"], name="snapshot_case_unique")
        ]

    def __str__(self) -> str:
        return f"Case {self.position} of {self.snapshot_id[:12]}"


_WHOLE_TO_ITS_END = {"is_whole": True, "status": "finished", "cancelled": 0, "not_run": 0}


class VisibleRuns(models.Manager["Run"]):
    """The visible runs: all of their executions are written, and they graded something."""

    def get_queryset(self) -> models.QuerySet["Run"]:
        return super().get_queryset().exclude(status=Run.PREPARING).filter(is_import=False)

    def suite_verdicts(self) -> models.QuerySet["Run"]:
        """Return the runs that give suites their verdicts: whole ones that ran to their end."""
        return self.filter(**_WHOLE_TO_ITS_END)


class Run(models.Model):
    """A suite, or part of it, executed once.

    `total` is always passed + failed + errored + measured + skipped + cancelled + not_run; the counters
    move with the executions, in one transaction. `spent_usd` is the cost of its calls, including repeated ones,
    `reserved_usd` the most that running calls may cost, `unsettled_usd` what calls of dead workers
    may have cost. Their sum exceeds `max_cost_usd` only by what agents outside report, and then the
    run stops. `agent_cost_usd` and `judge_cost_usd` are those of its results, null if a price or a
    usage is unknown.

    `is_whole` means that it has every enabled case that the suite had at its start, with the suite's own
    agent and that agent's own model, and is neither a re-run nor a try. The number of trials
    does not matter.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        FINISHED = "finished", "Finished"
        CANCELLED = "cancelled", "Cancelled"

    class Verdict(models.TextChoices):
        PASSED = "passed", "Passed"
        FAILED = "failed", "Failed"
        INCONCLUSIVE = "inconclusive", "Inconclusive"
        MEASURED = "measured", "Measured"

    class StopReason(models.TextChoices):
        CANCELLED = "cancelled", "Cancelled"
        DEADLINE = "deadline", "Out of time"
        BUDGET = "budget", "Out of budget"

    class Ceiling(models.TextChoices):
        RUN = "run", "The ceiling of the run"
        PERSON = "person", "The monthly ceiling of the person who starts the run"
        SITE = "site", "The monthly ceiling of the site"

    OPEN = (Status.QUEUED, Status.RUNNING)
    PREPARING = "preparing"  # its executions are being written; it is not visible yet

    snapshot = models.ForeignKey(Snapshot, models.PROTECT, related_name="runs")
    suite = models.ForeignKey(Suite, models.SET_NULL, null=True, related_name="runs")
    suite_slug = models.CharField(max_length=100, db_index=True)
    suite_name = models.CharField(max_length=200)
    agent_slug = models.CharField(max_length=100)
    agent_name = models.CharField(max_length=200)
    model = models.CharField(max_length=301, blank=True)
    judge = models.TextField(blank=True)  # see reports/words/judges.py
    score_scale = models.CharField(
        max_length=5, choices=Suite.ScoreScale, default=Suite.ScoreScale.ZERO_ONE
    )
    is_scripted = models.BooleanField(default=False)
    is_simulated = models.BooleanField(default=False)  # a model plays the user in all of its cases
    is_tryout = models.BooleanField(default=False)  # not counted
    is_whole = models.BooleanField(default=False)
    case_count = models.PositiveIntegerField(null=True)  # cases that it has
    suite_case_count = models.PositiveIntegerField(null=True)  # cases of the suite at its start
    disabled_case_count = models.PositiveIntegerField(default=0)  # more, which were disabled
    suite_agent_slug = models.CharField(max_length=100, blank=True)  # the suite's own agent
    replaced_model = models.CharField(max_length=301, blank=True)  # the agent's own, if not used
    similarity = models.CharField(max_length=400, blank=True)  # how texts are compared, if they are
    is_similarity_stand_in = models.BooleanField(default=False)  # in place of embeddings
    # Chosen at its start, not taken from suite and agent: agent, model, trials, all_trials, baseline.
    overrides = models.JSONField(default=dict)
    rerun_of = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="reruns"
    )
    # The run whose conversations it grades again. It runs no conversation of its own.
    grades_of = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="regrades"
    )
    # How it grades again, and what it leaves out; see `runs/regrading/start_regrade.py`.
    regrading = models.JSONField(default=dict)
    losses = models.JSONField(default=dict)  # of the import of its suite
    # Where its conversations happened outside: the set that has them. It counts in no rate or trend.
    conversation_set = models.ForeignKey(
        "evals_app.ConversationSet", models.CASCADE, null=True, related_name="runs"
    )
    is_import = models.BooleanField(default=False)  # it only holds such conversations, not graded
    # Its result with people's decisions, if they change anything; see `runs/reviews/decisions.py`.
    reviewed = models.JSONField(default=dict)
    # The retest that it belongs to, as a re-run of base or head.
    settlement = models.ForeignKey(
        "evals_app.Settlement", models.SET_NULL, null=True, related_name="runs"
    )
    # The run that its gates on regressions compare it with.
    baseline = models.ForeignKey("self", models.SET_NULL, null=True, related_name="+")
    stops_when_decided = models.BooleanField(default=False)  # skips trials that change no verdict
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    # The same in all runs that were started together; see `runs/reading/model_comparison.py`.
    group = models.UUIDField(null=True)
    # What it was called in the file that it was read from; see `runs/reading/file_baselines.py`.
    from_file = models.CharField(max_length=300, blank=True)
    idempotency_key = models.CharField(max_length=200, null=True, unique=True)  # noqa: DJ001 - unique
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    verdict = models.CharField(max_length=12, choices=Verdict, blank=True)
    stop_reason = models.CharField(max_length=10, choices=StopReason, blank=True)
    concurrency = models.PositiveSmallIntegerField()
    total = models.PositiveIntegerField()
    passed = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    errored = models.PositiveIntegerField(default=0)
    measured = models.PositiveIntegerField(default=0)  # all checks only inform
    skipped = models.PositiveIntegerField(default=0)  # the verdicts of their cases were certain
    cancelled = models.PositiveIntegerField(default=0)
    not_run = models.PositiveIntegerField()
    score = models.FloatField(null=True)
    summary = models.JSONField(default=dict)
    agent_prompt_tokens = models.BigIntegerField(null=True)
    agent_response_tokens = models.BigIntegerField(null=True)
    judge_prompt_tokens = models.BigIntegerField(null=True)
    judge_response_tokens = models.BigIntegerField(null=True)
    agent_cost_usd = UsdField(null=True)
    judge_cost_usd = UsdField(null=True)
    max_cost_usd = UsdField(null=True)
    spent_usd = UsdField(default=0)
    reserved_usd = UsdField(default=0)
    unsettled_usd = UsdField(default=0)
    reached_ceiling = models.CharField(max_length=6, choices=Ceiling, blank=True)  # and stopped
    is_pinned = models.BooleanField(default=False)  # its transcripts are never pruned
    pruned_at = models.DateTimeField(null=True)  # when its transcripts were removed
    deadline_at = models.DateTimeField(null=True)
    waiting_since = models.DateTimeField(db_default=Now())  # unless a process works on it
    # Providers of the models that it calls: while one is rate-limiting us, the run does not begin.
    providers = models.ManyToManyField(ProviderState, related_name="runs")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = VisibleRuns()
    all_runs = models.Manager["Run"]()  # those that are being prepared, and imports, included

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="run_counters_add_up",
                condition=Q(
                    total=F("passed")
                    + F("failed")
                    + F("errored")
                    + F("measured")
                    + F("skipped")
                    + F("cancelled")
                    + F("not_run")
                ),
            ),
            models.CheckConstraint(
                name="run_verdict_when_ended",
                condition=Q(status__in=["preparing", "queued", "running"], verdict="")
                | (Q(status__in=["finished", "cancelled"]) & ~Q(verdict="")),
            ),
        ]
        indexes = [
            models.Index(fields=["suite_slug", "-id"], name="run_by_suite"),
            models.Index(fields=["status", "-id"], name="run_by_status"),
            models.Index(fields=["verdict", "-id"], name="run_by_verdict"),
            models.Index(fields=["is_whole", "-id"], name="run_by_is_whole"),
            models.Index(
                fields=["suite", "-id"], name="run_whole_of_suite", condition=Q(is_whole=True)
            ),
            models.Index(
                fields=["grades_of", "-id"],
                name="run_grading_again",
                condition=Q(grades_of__isnull=False),
            ),
            models.Index(
                fields=["group", "id"], name="run_of_group", condition=Q(group__isnull=False)
            ),
            models.Index(
                fields=["id"], name="run_open", condition=Q(status__in=["queued", "running"])
            ),
        ]

    def __str__(self) -> str:
        return f"Run {self.pk} of {self.suite_name}"

    @property
    def is_open(self) -> bool:
        return self.status in self.OPEN

    @property
    def sets_verdict(self) -> bool:
        """Whether it gives its suite the verdict while it is the last such run."""
        return all(getattr(self, name) == value for name, value in _WHOLE_TO_ITS_END.items())

    @property
    def ended_count(self) -> int:
        """How many executions have ended, one way or another."""
        return self.total - self.not_run

    @property
    def is_baseline(self) -> bool:
        """Whether it is the baseline of its suite, which is loaded for this."""
        return self.suite is not None and self.suite.baseline_id == self.pk

    @property
    def has_all_cases(self) -> bool:
        """Whether it was started with every case of its suite, whatever agent, model or occasion."""
        covered = self.case_count is not None and self.case_count == self.suite_case_count
        return self.is_whole or covered

    @property
    def covers(self) -> str:
        """Which part of its suite it covers, in words; empty for the whole suite."""
        return coverage({column: getattr(self, column) for column in COVERAGE_COLUMNS})

    @property
    def compared_by(self) -> str:
        """How texts are compared, in words."""
        return compared_by(self.similarity)

    @property
    def stand_in_note(self) -> str:
        """What replaced embeddings, in words; empty if nothing did."""
        return stand_in_note(self.similarity) if self.is_similarity_stand_in else ""

    @property
    def is_at_own_ceiling(self) -> bool:
        """Whether it stopped at its own ceiling, and not at one of the month."""
        # An empty value: it stopped before monthly ceilings existed.
        own = ("", self.Ceiling.RUN)
        return self.stop_reason == self.StopReason.BUDGET and self.reached_ceiling in own

    @property
    def short_name(self) -> str:
        """What sentences call it: `run 12`, or `run 12 of results.json`."""
        return self.from_file or f"run {self.pk}"

    @property
    def in_short(self) -> str:
        """What it was and how it ended: `run 12, 1 of 38 cases: passed`."""
        was_cut_short = self.stop_reason and self.cancelled + self.not_run
        stopped = self.get_stop_reason_display().lower() if was_cut_short else ""
        words = ", ".join(filter(None, [self.short_name, self.covers, stopped]))
        return f"{words}: {self.verdict or self.status}"

    @property
    def grades_again(self) -> bool:
        """Whether it grades the conversations of another run, which may have been deleted since."""
        return bool(self.regrading)

    @property
    def is_of_real_conversations(self) -> bool:
        """Whether its conversations happened outside, and were imported."""
        return self.conversation_set_id is not None

    @property
    def why_no_answer(self) -> str:
        """Why it says nothing about the version to ship; empty if it does."""
        if self.suite_id is None:
            return f"The suite of run {self.pk} was deleted."
        if self.is_of_real_conversations:
            return f"Run {self.pk} graded real conversations, which are not the cases of its suite."
        if self.from_file:
            return f"Run {self.pk} was read from a file."
        if self.is_tryout:
            return f"Run {self.pk} was a try, which does not count."
        if self.settlement_id is not None:
            return f"Run {self.pk} is part of a retest, which counts for the run that was retested."
        if self.gradings > 1:
            return (
                f"Run {self.pk} graded each conversation {self.gradings} times to test its judge."
            )
        return ""

    @property
    def unit(self) -> str:
        """What its results count: cases, or real conversations."""
        return "conversation" if self.is_of_real_conversations else "case"

    @property
    def gradings(self) -> int:
        """How often it grades each conversation; more than once shows how steady its judge is."""
        return int(self.regrading.get("trials", 1))

    @property
    def conversations_of(self) -> int:
        """The key of the run whose conversations it grades: its own, or those of another."""
        return self.grades_of_id or self.pk

    def cancel(self) -> bool:
        """Stop the run unless it has ended; return whether this call did it."""
        return self.stop(self.StopReason.CANCELLED)

    def pass_deadline(self) -> bool:
        """Stop the run if its time is over; return whether this call did it."""
        return self.stop(self.StopReason.DEADLINE, deadline_at__lte=Now())

    def stop_at(self, ceiling: Ceiling) -> None:
        """Stop the run because a call does not fit below a ceiling."""
        if self.stop(self.StopReason.BUDGET):
            Run.objects.filter(pk=self.pk).update(reached_ceiling=ceiling)

    def stop(self, reason: StopReason, **condition: object) -> bool:
        """Stop the run unless it has ended or is stopping; return whether this call did it."""
        # One UPDATE: two people may click at the same moment. Workers read stop_reason.
        still_open = Run.objects.filter(
            pk=self.pk, status__in=self.OPEN, stop_reason="", **condition
        )
        return bool(still_open.update(stop_reason=reason))
