"""Suites, cases, turns and assertions: what people write."""

import gc
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.db.models import Exists, OuterRef, Prefetch, Q
from django.db.models.functions import Now
from django.db.models.query import ModelIterable
from django.utils import timezone

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.suites.suite_spec import (
    AssertionSpec,
    CaseSpec,
    GatesSpec,
    LimitsSpec,
    SuiteSpec,
    TurnSpec,
)
from evals_app.models.authored.agents import Agent
from evals_app.models.authored.mapping import RowMapping
from evals_app.models.fields.concurrency import let_others_write
from evals_app.models.fields.money import UsdField
from fixtures_app.models import Fixture, Importable

CASES_AT_ONCE = 500
FRACTION = [MinValueValidator(0.0), MaxValueValidator(1.0)]


class _WithCases(ModelIterable):  # type: ignore[type-arg]  # it takes none when it runs
    """Suites with their cases, turns and checks, in three further queries.

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
    cases = list(Case.objects.filter(suite__in=suites).order_by("position", "pk"))
    _attach(suites, "cases", "suite", cases)
    load_content(cases, suites, case__suite__in=suites)


def load_content(cases: "Sequence[Case]", suites: "Sequence[Suite]" = (), **these: object) -> None:
    """Load turns and checks, also those of whole suites; `these` selects the cases in queries."""
    turns = list(Turn.objects.filter(**these).order_by("position", "pk"))
    of_turns = {f"turn__{lookup}": value for lookup, value in these.items()}
    checks = Assertion.objects.filter(**these).union(Assertion.objects.filter(**of_turns), all=True)
    if suites:
        checks = checks.union(Assertion.objects.filter(suite__in=suites), all=True)
    by_owner: dict[str, list[Assertion]] = {"suite": [], "case": [], "turn": []}
    for check in checks.order_by("position", "pk"):
        owner = "turn" if check.turn_id else "case" if check.case_id else "suite"
        by_owner[owner].append(check)
    _attach(suites, "default_assertions", "suite", by_owner["suite"])
    _attach(cases, "turns", "case", turns)
    _attach(cases, "final_assertions", "case", by_owner["case"])
    _attach(turns, "assertions", "turn", by_owner["turn"])


def _attach(
    owners: Sequence[models.Model], name: str, back: str, rows: Iterable[models.Model]
) -> None:
    """Let `owner.NAME.all()` give its rows without a query, as a prefetch does."""
    related: dict[object, list[models.Model]] = {owner.pk: [] for owner in owners}
    by_pk = {owner.pk: owner for owner in owners}
    for row in rows:
        owner_id = getattr(row, f"{back}_id")
        related[owner_id].append(row)
        setattr(row, back, by_pk[owner_id])
    for owner in owners:
        query = getattr(owner, name).get_queryset()
        query._result_cache, query._prefetch_done = related[owner.pk], True  # noqa: SLF001
        owner.__dict__.setdefault("_prefetched_objects_cache", {})[name] = query


def cases_of(
    suites: "Sequence[Suite]", *, names: Collection[str] | None = None
) -> "Iterator[Case]":
    """Return the cases of suites, of these names, in order and whole; only a few are in memory."""
    rows = Case.objects.filter(suite__in=suites).order_by("suite", "position", "pk")
    rows = rows if names is None else rows.filter(name__in=names)
    cases = rows.iterator(chunk_size=CASES_AT_ONCE)
    while part := list(islice(cases, CASES_AT_ONCE)):
        load_content(part, case__in=part)
        yield from part
        # Rows and their parts refer to each other, so only the collector removes them. Collect new
        # objects here: large imports disable automatic collection.
        part.clear()
        gc.collect(0)


class SuiteQuerySet(models.QuerySet["Suite"]):
    """Suites: load them whole, archive and restore them."""

    def current(self) -> "SuiteQuerySet":
        """Leave archived ones out."""
        return self.filter(archived_at=None)

    def for_written_cases(self) -> "SuiteQuerySet":
        """Leave those out in which a model plays the users: they take no other cases."""
        simulated = Case.objects.filter(suite=OuterRef("pk")).exclude(simulated_user={})
        return self.exclude(Exists(simulated))

    def archive(self) -> int:
        """Remove suites from lists and runs; return how many were not archived before."""
        return self.current().update(archived_at=Now())

    def restore(self) -> int:
        """Restore archived suites; return how many there were."""
        return self.exclude(archived_at=None).update(archived_at=None)

    def with_head(self) -> "SuiteQuerySet":
        """Load all but the cases."""
        checks = Assertion.objects.order_by("position", "pk")
        return self.select_related("agent").prefetch_related(
            "fixtures", Prefetch("default_assertions", checks)
        )

    def with_everything(self) -> "SuiteQuerySet":
        """Load cases, turns, assertions and fixtures in a fixed number of queries."""
        whole = self.select_related("agent").prefetch_related("fixtures")
        whole._iterable_class = _WithCases  # noqa: SLF001 - the place for it
        return whole


class Suite(Importable):
    """Cases for one agent, with defaults."""

    class PassRule(models.TextChoices):
        ALL = "all", "Every check passes"
        SCORE = "score", "The score reaches the threshold"

    class RunRule(models.TextChoices):
        ALL_CASES = "all_cases", "Every case and every gate passes"
        GATES = "gates", "Every gate passes"

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
        default=1, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    min_pass_rate = models.FloatField(default=1.0, validators=FRACTION)
    pass_rule = models.CharField(max_length=10, choices=PassRule, default=PassRule.ALL)
    pass_threshold = models.FloatField(default=0.8, validators=FRACTION)
    run_rule = models.CharField(max_length=10, choices=RunRule, default=RunRule.ALL_CASES)
    score_scale = models.CharField(max_length=5, choices=ScoreScale, default=ScoreScale.ZERO_ONE)
    concurrency = models.PositiveSmallIntegerField(
        default=10, validators=[MinValueValidator(1), MaxValueValidator(1000)]
    )
    judge_model = models.CharField(max_length=301, blank=True)
    judge_settings = models.JSONField(default=dict, blank=True)
    judge_prompt = models.TextField(blank=True)
    judge_context = models.TextField(blank=True)
    rubric = models.TextField(default="", blank=True)
    rubric_weight = models.FloatField(default=0.5, validators=FRACTION)
    min_score = models.FloatField(null=True, blank=True, validators=FRACTION)
    gate_pass_rate = models.FloatField(null=True, blank=True, validators=FRACTION)
    max_p95_ms = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0.0)])
    max_cost_per_call_usd = UsdField(null=True, blank=True)
    max_cost_usd = UsdField(null=True, blank=True)
    max_regressions = models.PositiveIntegerField(null=True, blank=True)
    max_score_drop = models.FloatField(null=True, blank=True, validators=FRACTION)
    max_p95_increase = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0.0)])
    max_cost_increase = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0.0)]
    )
    min_judge_agreement = models.FloatField(null=True, blank=True, validators=FRACTION)
    stop_when_decided = models.BooleanField(default=False)
    # The run that later ones are compared with. Its transcripts are kept as if it were pinned.
    baseline = models.ForeignKey(
        "evals_app.Run", models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    # Stays when the baseline goes: only a suite that never had one has gates that do not apply yet.
    had_baseline = models.BooleanField(default=False, editable=False)
    archived_at = models.DateTimeField("archived", null=True, blank=True, editable=False)
    source = models.TextField("imported from", blank=True, editable=False)
    losses = models.JSONField(default=dict, blank=True, editable=False)  # of its last import
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = SuiteQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["name"], name="suite_by_name")]

    def __str__(self) -> str:
        return self.name

    def to_mapping(self) -> dict[str, Any]:
        """Return what a file would state."""
        return self.head_mapping() | {"cases": [case.to_mapping() for case in self.cases.all()]}

    def head_mapping(self) -> dict[str, Any]:
        """Return what a file would state, without its cases."""
        return SUITE.to_mapping(self) | {
            "agent": self.agent.slug,
            "fixtures": [fixture.slug for fixture in self.fixtures.all()],
            "assertions": [check.to_mapping() for check in self.default_assertions.all()],
            "cases": [],
        }

    def each_case(
        self, *, with_disabled: bool, only: Collection[int] | None = None
    ) -> "Iterator[Case]":
        """Return the cases in order, or those with the keys `only`, whole; only a few are in memory."""
        rows = self.cases.order_by("position", "pk")
        if not with_disabled:
            rows = rows.filter(enabled=True)
        if only is not None:
            rows = rows.filter(pk__in=only)
        part = list(rows[:CASES_AT_ONCE])
        while part:
            load_content(part, case__in=part)
            yield from part
            last = part[-1]
            later = Q(position=last.position, pk__gt=last.pk) | Q(position__gt=last.position)
            # The first filter is redundant, but uses the index.
            part = list(rows.filter(position__gte=last.position).filter(later)[:CASES_AT_ONCE])

    def to_spec(self) -> SuiteSpec:
        """Return the spec; load the row by `with_everything()` first to avoid a query per row."""
        return SuiteSpec.model_validate(self.to_mapping(), context=FROZEN)


SUITE = RowMapping(
    Suite,
    SuiteSpec,
    renamed={"suite": "name", "gates.min_pass_rate": "gate_pass_rate"},
    limits={"gates": GatesSpec},
    models={"judge_model": "judge_settings"},
    elsewhere=frozenset({"agent", "fixtures", "assertions", "cases"}),
)

# A fixture in use cannot be deleted, like an agent in use. A ManyToManyField has no `on_delete`, and
# the admin has no field for one with its own model.
_fixture_of = Suite.fixtures.through._meta.get_field("fixture")  # noqa: SLF001 - documented
_fixture_of.remote_field.on_delete = models.PROTECT


class CaseManager(models.Manager["Case"]):
    """The cases of suites: all but those that an import has staged."""

    def get_queryset(self) -> models.QuerySet["Case"]:
        return super().get_queryset().filter(suite__isnull=False)


class Case(models.Model):
    """One conversation.

    A large import writes its cases in advance, without a suite and with its own name in `staged`,
    and adds them to their suites when all are written; replaced cases go the opposite way.
    """

    # Only staged cases have none, and nothing reads those.
    suite: models.ForeignKey[Suite, Suite] = models.ForeignKey(  # type: ignore[misc]
        Suite, models.CASCADE, null=True, related_name="cases"
    )
    staged = models.CharField(max_length=40, blank=True, default="", editable=False)
    name = models.CharField(max_length=200)
    position = models.PositiveIntegerField(default=0)
    description = models.TextField(blank=True)
    tags = models.JSONField(default=list, blank=True)
    enabled = models.BooleanField(default=True)
    channel = models.CharField(max_length=200, blank=True)
    context_params = models.JSONField(default=dict, blank=True)
    clock = models.CharField(max_length=40, blank=True)
    max_prompt_tokens = models.PositiveIntegerField(null=True, blank=True)
    max_response_tokens = models.PositiveIntegerField(null=True, blank=True)
    max_time_ms = models.PositiveIntegerField(null=True, blank=True)
    max_cost_usd = UsdField(null=True, blank=True)
    max_tool_calls = models.PositiveIntegerField(null=True, blank=True)
    turn_timeout_s = models.FloatField(
        default=60.0, validators=[MinValueValidator(0.001), MaxValueValidator(1500.0)]
    )
    streaming = models.BooleanField(default=False)
    trials = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    pass_threshold = models.FloatField(null=True, blank=True, validators=FRACTION)
    history = models.JSONField(default=list, blank=True)
    replay = models.BooleanField(default=False)
    simulated_user = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = CaseManager()
    with_staged = models.Manager["Case"]()  # staged ones too

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

    def to_mapping(self) -> dict[str, Any]:
        return CASE.to_mapping(self) | {
            "turns": [turn.to_mapping() for turn in self.turns.all()],
            "final_assertions": [check.to_mapping() for check in self.final_assertions.all()],
        }

    def to_spec(self) -> CaseSpec:
        return CaseSpec.model_validate(self.to_mapping(), context=FROZEN)


CASE = RowMapping(
    Case,
    CaseSpec,
    limits={"limits": LimitsSpec},
    elsewhere=frozenset({"turns", "final_assertions"}),
)


def delete_cases(ids: Sequence[int]) -> None:
    """Delete cases, also staged ones, with their turns and checks."""
    empty_cases(ids)
    for part in _parts(ids):
        Case.with_staged.filter(pk__in=part).delete()


def empty_cases(ids: Sequence[int]) -> None:
    """Delete the turns and checks of cases."""
    # Bottom up, so that Django has nothing to cascade to row by row.
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
    """Delete leftovers of killed imports: no import takes a day."""
    remove_staged(Case.with_staged.filter(created_at__lt=timezone.now() - timedelta(days=1)))


class Turn(models.Model):
    """One user message and what is expected of the answer."""

    class Checks(models.TextChoices):
        SUITE = "suite", "The suite's checks"
        OWN = "own", "Only this turn's checks"
        BOTH = "both", "The suite's checks and this turn's"

    case = models.ForeignKey(Case, models.CASCADE, related_name="turns")
    position = models.PositiveIntegerField(default=0)
    user = models.TextField()
    expected = models.TextField(null=True, blank=True)  # noqa: DJ001 - "" is a text
    checks = models.CharField(max_length=5, choices=Checks, default=Checks.OWN)
    files = models.JSONField(default=list, blank=True)
    context = models.JSONField(default=list, blank=True)
    retrieval_context = models.JSONField(null=True, blank=True)
    config = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [models.Index(fields=["case", "position"], name="turn_by_position")]

    def __str__(self) -> str:
        return self.user[:60]

    def to_mapping(self) -> dict[str, Any]:
        own = [check.to_mapping() for check in self.assertions.all()]
        # Both, without checks of the turn, are just the suite's.
        takes_suites = self.checks == self.Checks.SUITE or (
            self.checks == self.Checks.BOTH and not own
        )
        return TURN.to_mapping(self) | {
            "inherit": self.checks == self.Checks.BOTH and bool(own),
            "assertions": None if takes_suites else own,
        }

    @staticmethod
    def columns_of(spec: TurnSpec) -> dict[str, Any]:
        if spec.assertions is None:
            checks = Turn.Checks.SUITE
        else:
            checks = Turn.Checks.BOTH if spec.inherit else Turn.Checks.OWN
        return {"checks": checks, **TURN.values(spec)}


TURN = RowMapping(Turn, TurnSpec, elsewhere=frozenset({"inherit", "assertions"}))


class Assertion(models.Model):
    """A check; belongs to exactly one of suite (default), case (final) or turn."""

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
    name = models.CharField(max_length=200, blank=True)
    weight = models.FloatField(default=1.0, validators=[MinValueValidator(0.0)])
    threshold = models.FloatField(null=True, blank=True, validators=FRACTION)
    enabled = models.BooleanField(default=True)
    fail_on_error = models.BooleanField(default=False)
    model = models.CharField(max_length=301, blank=True)
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

    def to_mapping(self) -> dict[str, object]:
        return ASSERTION.to_mapping(self) | dict(self.options)

    def to_spec(self) -> AssertionSpec:
        return AssertionSpec.model_validate(self.to_mapping(), context=FROZEN)

    @staticmethod
    def columns_of(spec: AssertionSpec) -> dict[str, object]:
        options = spec.grader.model_dump(mode="json", exclude_defaults=True)
        return {"options": options, **ASSERTION.values(spec)}


ASSERTION = RowMapping(
    Assertion, AssertionSpec, models={"model": "model_settings"}, elsewhere=frozenset({"grader"})
)
