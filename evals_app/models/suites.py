"""Suites, cases, turns and assertions: what people write."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.db.models import Prefetch, Q
from django.db.models.functions import Now
from django.db.models.query import ModelIterable
from django.utils import timezone

from evals_app.engine.permits import FROZEN
from evals_app.engine.suite import AssertionSpec, CaseSpec, SuiteSpec
from evals_app.models.agents import Agent, model_reference
from evals_app.models.concurrency import let_others_write
from evals_app.models.money import UsdField
from fixtures_app.models import Fixture, Importable

CASES_AT_ONCE = 500
FRACTION = [MinValueValidator(0.0), MaxValueValidator(1.0)]
LIMITS = (
    *("max_prompt_tokens", "max_response_tokens", "max_time_ms", "max_cost_usd"),
    "max_tool_calls",
)
GATES = ("min_score", "min_pass_rate", "max_p95_ms", "max_cost_per_call_usd", "max_cost_usd")


class _WithCases(ModelIterable):  # type: ignore[type-arg]  # it takes none when it runs
    """Suites with their cases, turns and checks, in four queries.

    Prefetching would name every turn in a query, and stock SQLite takes 32,766 parameters
    (https://www.sqlite.org/limits.html); these name the suites alone.
    """

    def __iter__(self) -> "Iterator[Suite]":
        suites = super().__iter__()
        size = self.chunk_size if self.chunked_fetch else None
        while part := list(islice(suites, size)):
            _load_cases(part)
            yield from part


def _load_cases(suites: "Sequence[Suite]") -> None:
    checks = Assertion.objects.order_by("position", "pk")
    cases = list(Case.objects.filter(suite__in=suites).order_by("position", "pk"))
    turns = list(Turn.objects.filter(case__suite__in=suites).order_by("position", "pk"))
    _attach(suites, "cases", "suite", cases)
    _attach(cases, "turns", "case", turns)
    _attach(cases, "final_assertions", "case", checks.filter(case__suite__in=suites))
    _attach(turns, "assertions", "turn", checks.filter(turn__case__suite__in=suites))


def _load_content(cases: "Sequence[Case]") -> None:
    checks = Assertion.objects.order_by("position", "pk")
    turns = list(Turn.objects.filter(case__in=cases).order_by("position", "pk"))
    _attach(cases, "turns", "case", turns)
    _attach(cases, "final_assertions", "case", checks.filter(case__in=cases))
    _attach(turns, "assertions", "turn", checks.filter(turn__case__in=cases))


def _attach(
    owners: Sequence[models.Model], name: str, back: str, rows: Iterable[models.Model]
) -> None:
    """Let `owner.NAME.all()` give its rows without a query, as a prefetch does."""
    found: dict[Any, list[models.Model]] = {owner.pk: [] for owner in owners}
    by_pk = {owner.pk: owner for owner in owners}
    for row in rows:
        owner_id = getattr(row, f"{back}_id")
        found[owner_id].append(row)
        setattr(row, back, by_pk[owner_id])
    for owner in owners:
        related = getattr(owner, name).get_queryset()
        related._result_cache, related._prefetch_done = found[owner.pk], True  # noqa: SLF001
        owner.__dict__.setdefault("_prefetched_objects_cache", {})[name] = related


def cases_of(
    suites: "Sequence[Suite]", *, names: Collection[str] | None = None
) -> "Iterator[Case]":
    """Return the cases of suites, of these names, one suite after the other and in order.

    Each has its turns and checks. Only a few are in memory at a time.
    """
    rows = Case.objects.filter(suite__in=suites).order_by("suite", "position", "pk")
    rows = rows if names is None else rows.filter(name__in=names)
    cases = rows.iterator(chunk_size=CASES_AT_ONCE)
    while part := list(islice(cases, CASES_AT_ONCE)):
        _load_content(part)
        yield from part


class SuiteQuerySet(models.QuerySet["Suite"]):
    """Suites, how to load them whole, and how to put them away."""

    def current(self) -> "SuiteQuerySet":
        """Leave archived ones out."""
        return self.filter(archived_at=None)

    def archive(self) -> int:
        """Take suites out of lists and runs; say how many were not archived before."""
        return self.current().update(archived_at=Now())

    def restore(self) -> int:
        """Bring archived suites back; say how many were archived."""
        return self.exclude(archived_at=None).update(archived_at=None)

    def with_head(self) -> "SuiteQuerySet":
        """Load all but the cases."""
        checks = Assertion.objects.order_by("position", "pk")
        return self.select_related("agent").prefetch_related(
            "fixtures", Prefetch("default_assertions", checks)
        )

    def with_everything(self) -> "SuiteQuerySet":
        """Load cases, turns, assertions and fixtures in a fixed number of queries."""
        whole = self.with_head()
        whole._iterable_class = _WithCases  # noqa: SLF001 - the place for it
        return whole


class Suite(Importable):
    """Cases for one agent, with defaults."""

    class PassRule(models.TextChoices):
        ALL = "all", "Every check must pass"
        SCORE = "score", "The score must reach the threshold"

    class RunRule(models.TextChoices):
        ALL_CASES = "all_cases", "Every case passes and every gate holds"
        GATES = "gates", "Every gate holds"

    class ScoreScale(models.TextChoices):
        ZERO_ONE = "0-1", "0 to 1"
        ONE_FIVE = "1-5", "1 to 5"

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="suites")
    description = models.TextField(blank=True)
    tags = models.JSONField(default=list, blank=True)
    fixtures = models.ManyToManyField(Fixture, blank=True, related_name="suites")
    trials = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="How often each case is held; more show how steady the agent is.",
    )
    min_pass_rate = models.FloatField(
        default=1.0,
        validators=FRACTION,
        help_text="Share of a case's trials that must pass, 0 to 1.",
    )
    pass_rule = models.CharField(max_length=10, choices=PassRule, default=PassRule.ALL)
    pass_threshold = models.FloatField(
        default=0.8,
        validators=FRACTION,
        help_text="Used when the score decides, and for the rubric.",
    )
    run_rule = models.CharField(max_length=10, choices=RunRule, default=RunRule.ALL_CASES)
    score_scale = models.CharField(
        max_length=5, choices=ScoreScale, default=ScoreScale.ZERO_ONE, help_text="Display only."
    )
    concurrency = models.PositiveSmallIntegerField(
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="Conversations held at the same time.",
    )
    judge_model = models.CharField(
        max_length=301,
        blank=True,
        help_text="provider/model, `agent` for the agent's own, or scripted/AGENT. "
        "Blank: the site's judge.",
    )
    judge_settings = models.JSONField(default=dict, blank=True)
    judge_prompt = models.TextField(
        blank=True, help_text="How strict the judge should be, and what to look at."
    )
    judge_context = models.TextField(
        blank=True, help_text="Facts that the judge may rely on; the agent does not see them."
    )
    rubric = models.TextField(
        default="",
        blank=True,
        help_text="Markdown, graded once at the end of each conversation, about all of it: one "
        "thing to achieve in each bullet. Blank: none.",
    )
    rubric_weight = models.FloatField(
        default=0.5,
        validators=FRACTION,
        help_text="Share of the rubric in the score, 0 to 1; the checks have the rest. Without "
        "checks the rubric is all. 0: shown only.",
    )
    min_score = models.FloatField(null=True, blank=True, validators=FRACTION)
    gate_pass_rate = models.FloatField(null=True, blank=True, validators=FRACTION)
    max_p95_ms = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0.0)])
    max_cost_per_call_usd = UsdField(null=True, blank=True)
    max_cost_usd = UsdField(null=True, blank=True)
    archived_at = models.DateTimeField("archived", null=True, blank=True, editable=False)
    source = models.TextField(
        "imported from",
        blank=True,
        editable=False,
        help_text="The file that it was last imported from, where that has a place.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = SuiteQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["name"], name="suite_by_name")]

    def __str__(self) -> str:
        return self.name

    def written(self) -> dict[str, Any]:
        """Give what a file would say."""
        return self.written_head() | {"cases": [case.written() for case in self.cases.all()]}

    def written_head(self) -> dict[str, Any]:
        """Give what a file would say, without its cases."""
        return {
            "suite": self.name,
            "slug": self.slug,
            "agent": self.agent.slug,
            "description": self.description,
            "tags": self.tags,
            "fixtures": [fixture.slug for fixture in self.fixtures.all()],
            "trials": self.trials,
            "min_pass_rate": self.min_pass_rate,
            "pass_rule": self.pass_rule,
            "pass_threshold": self.pass_threshold,
            "run_rule": self.run_rule,
            "score_scale": self.score_scale,
            "concurrency": self.concurrency,
            "judge_model": model_reference(self.judge_model, self.judge_settings),
            "judge_prompt": self.judge_prompt,
            "judge_context": self.judge_context,
            "rubric": self.rubric,
            "rubric_weight": self.rubric_weight,
            "assertions": [each.written() for each in self.default_assertions.all()],
            "gates": {
                "min_score": self.min_score,
                "min_pass_rate": self.gate_pass_rate,
                "max_p95_ms": self.max_p95_ms,
                "max_cost_per_call_usd": self.max_cost_per_call_usd,
                "max_cost_usd": self.max_cost_usd,
            },
            "cases": [],
        }

    def each_case(self) -> "Iterator[Case]":
        """Give the cases in order, each with its turns and checks, holding a few at a time."""
        rows = self.cases.order_by("position", "pk")
        part = list(rows[:CASES_AT_ONCE])
        while part:
            _load_content(part)
            yield from part
            last = part[-1]
            later = Q(position=last.position, pk__gt=last.pk) | Q(position__gt=last.position)
            # Said twice: the first is what the index finds.
            part = list(rows.filter(position__gte=last.position).filter(later)[:CASES_AT_ONCE])

    def to_spec(self) -> SuiteSpec:
        """Give the spec; load the row by `with_everything()` first or pay a query a row.

        What the operator permitted when it was written is not asked again.

        Raises:
            pydantic.ValidationError: the rows hold what no longer validates.
        """
        return SuiteSpec.model_validate(self.written(), context=FROZEN)


# A fixture in use stays, as an agent in use does. A ManyToManyField has no `on_delete` of its own, and
# the admin gives no field to one whose table is a model of ours.
_fixture_of = Suite.fixtures.through._meta.get_field("fixture")  # noqa: SLF001 - documented
_fixture_of.remote_field.on_delete = models.PROTECT


class CaseManager(models.Manager["Case"]):
    """The cases of suites: all but those that an import has put down and nobody may see yet."""

    def get_queryset(self) -> models.QuerySet["Case"]:
        return super().get_queryset().filter(suite__isnull=False)


class Case(models.Model):
    """One conversation to hold.

    A large import writes its cases beforehand, without a suite and with a name of its own in
    `staged`, and gives them to their suites when all are there; what an import replaces goes the
    same way back.
    """

    # Only what is staged has none, and that is read nowhere.
    suite: models.ForeignKey[Suite, Suite] = models.ForeignKey(  # type: ignore[misc]
        Suite, models.CASCADE, null=True, related_name="cases"
    )
    staged = models.CharField(max_length=40, blank=True, default="", editable=False)
    name = models.CharField(max_length=200)
    position = models.PositiveIntegerField(default=0)
    description = models.TextField(blank=True)
    tags = models.JSONField(default=list, blank=True)
    channel = models.CharField(
        max_length=200, blank=True, help_text="For example widget, whatsapp, api or dashboard."
    )
    context_params = models.JSONField(default=dict, blank=True)
    clock = models.CharField(
        max_length=40,
        blank=True,
        help_text="Freeze the agent's clock, for example 2026-05-01T09:30:00+00:00.",
    )
    max_prompt_tokens = models.PositiveIntegerField(null=True, blank=True)
    max_response_tokens = models.PositiveIntegerField(null=True, blank=True)
    max_time_ms = models.PositiveIntegerField(
        "max time (ms)", null=True, blank=True, help_text="The agent's own time, all turns."
    )
    max_cost_usd = UsdField("max cost (USD)", null=True, blank=True)
    max_tool_calls = models.PositiveIntegerField(null=True, blank=True)
    turn_timeout_s = models.FloatField(
        "turn timeout (s)",
        default=60.0,
        validators=[MinValueValidator(0.001), MaxValueValidator(1500.0)],
    )
    streaming = models.BooleanField(default=False)
    trials = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Blank: as the suite says.",
    )
    history = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = CaseManager()
    anywhere = models.Manager["Case"]()  # staged ones too

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["suite", "name"], name="case_name_unique_in_suite"),
            models.CheckConstraint(
                name="case_is_staged_or_in_a_suite",
                condition=Q(suite__isnull=False, staged="")
                | Q(Q(suite__isnull=True), ~Q(staged="")),
            ),
        ]
        indexes = [
            models.Index(fields=["suite", "position"], name="case_by_position"),
            models.Index(fields=["staged"], condition=~Q(staged=""), name="case_staged"),
        ]

    def __str__(self) -> str:
        return self.name

    def written(self) -> dict[str, Any]:
        """Give what a file would say."""
        return {
            "name": self.name,
            "description": self.description,
            "tags": self.tags,
            "channel": self.channel or None,
            "context_params": self.context_params,
            "clock": self.clock or None,
            "limits": {limit: getattr(self, limit) for limit in LIMITS},
            "turn_timeout_s": self.turn_timeout_s,
            "streaming": self.streaming,
            "trials": self.trials,
            "history": self.history,
            "turns": [turn.written() for turn in self.turns.all()],
            "final_assertions": [each.written() for each in self.final_assertions.all()],
        }

    def to_spec(self) -> CaseSpec:
        return CaseSpec.model_validate(self.written(), context=FROZEN)


def delete_cases(ids: Sequence[int]) -> None:
    """Delete cases, staged ones too, with all that belongs to them."""
    empty_cases(ids)
    for part in _parts(ids):
        Case.anywhere.filter(pk__in=part).delete()


def empty_cases(ids: Sequence[int]) -> None:
    """Delete the turns and checks of cases."""
    # From the bottom up, so that Django finds nothing to cascade to row by row.
    for part in _parts(ids):
        Assertion.objects.filter(turn__case__in=part).delete()
        Assertion.objects.filter(case__in=part).delete()
        Turn.objects.filter(case__in=part).delete()


def _parts(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + CASES_AT_ONCE] for start in range(0, len(ids), CASES_AT_ONCE))


def remove_staged(rows: models.QuerySet[Case]) -> None:
    """Delete staged cases, a few in each transaction."""
    while ids := list(rows.filter(suite=None).values_list("pk", flat=True)[:CASES_AT_ONCE]):
        with transaction.atomic():
            delete_cases(ids)
        let_others_write()


def remove_forgotten_staged() -> None:
    """Delete what imports have left behind that were killed: none takes a day."""
    remove_staged(Case.anywhere.filter(created_at__lt=timezone.now() - timedelta(days=1)))


class Turn(models.Model):
    """One user message and what is expected of the answer."""

    class Checks(models.TextChoices):
        SUITE = "suite", "The suite's checks"
        OWN = "own", "Own checks only"
        BOTH = "both", "The suite's checks and own ones"

    case = models.ForeignKey(Case, models.CASCADE, related_name="turns")
    position = models.PositiveIntegerField(default=0)
    user = models.TextField("user message")
    expected = models.TextField("expected answer", null=True, blank=True)  # noqa: DJ001 - "" is a text
    checks = models.CharField(max_length=5, choices=Checks, default=Checks.OWN)
    files = models.JSONField(default=list, blank=True)
    context = models.JSONField(default=list, blank=True)
    retrieval_context = models.JSONField(null=True, blank=True)
    config = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [models.Index(fields=["case", "position"], name="turn_by_position")]

    def __str__(self) -> str:
        return self.user[:60]

    def written(self) -> dict[str, Any]:
        """Give what a file would say."""
        own = [each.written() for each in self.assertions.all()]
        # "The suite's and own ones" without an own one is simply the suite's.
        takes_suites = self.checks == self.Checks.SUITE or (
            self.checks == self.Checks.BOTH and not own
        )
        return {
            "user": self.user,
            "expected": self.expected,
            "files": self.files,
            "context": self.context,
            "retrieval_context": self.retrieval_context,
            "config": self.config,
            "inherit": self.checks == self.Checks.BOTH and bool(own),
            "assertions": None if takes_suites else own,
        }


class Assertion(models.Model):
    """One thing to verify; belongs to exactly one of suite (default), case (final) or turn."""

    class Scope(models.TextChoices):
        TURN = "turn", "The reply"
        CONVERSATION = "conversation", "The whole conversation"

    suite = models.ForeignKey(
        Suite, models.CASCADE, null=True, blank=True, related_name="default_assertions"
    )
    case = models.ForeignKey(
        Case, models.CASCADE, null=True, blank=True, related_name="final_assertions"
    )
    turn = models.ForeignKey(Turn, models.CASCADE, null=True, blank=True, related_name="assertions")
    position = models.PositiveIntegerField(default=0)
    type = models.CharField(max_length=40)
    options = models.JSONField(default=dict, blank=True)
    name = models.CharField("label", max_length=200, blank=True)
    weight = models.FloatField(
        default=1.0,
        validators=[MinValueValidator(0.0)],
        help_text="How much it counts; 0 shows it only.",
    )
    threshold = models.FloatField(null=True, blank=True, validators=FRACTION)
    enabled = models.BooleanField(default=True)
    fail_on_error = models.BooleanField(default=False)
    model = models.CharField("judge", max_length=301, blank=True)
    model_settings = models.JSONField(default=dict, blank=True)
    scope = models.CharField(max_length=12, choices=Scope, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="assertion_has_one_owner",
                condition=Q(suite__isnull=False, case__isnull=True, turn__isnull=True)
                | Q(suite__isnull=True, case__isnull=False, turn__isnull=True)
                | Q(suite__isnull=True, case__isnull=True, turn__isnull=False),
            ),
            models.CheckConstraint(
                name="assertion_weight_not_negative", condition=Q(weight__gte=0)
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.type

    def written(self) -> dict[str, Any]:
        """Give what a file would say."""
        common: dict[str, Any] = {
            "type": self.type,
            "name": self.name or None,
            "weight": self.weight,
            "threshold": self.threshold,
            "enabled": self.enabled,
            "fail_on_error": self.fail_on_error,
            "model": model_reference(self.model, self.model_settings),
            "scope": self.scope or None,
        }
        return common | dict(self.options)

    def to_spec(self) -> AssertionSpec:
        """Give the spec; what the operator permitted when it was written is not asked again.

        Raises:
            pydantic.ValidationError: the type is gone, or its options no longer validate.
        """
        return AssertionSpec.model_validate(self.written(), context=FROZEN)
