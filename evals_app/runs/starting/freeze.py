"""Freeze what a run uses, or report what is missing."""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from tempfile import TemporaryFile
from typing import NamedTuple, Self, TypedDict, TypeVar, Unpack

from asgiref.sync import async_to_sync
from django.conf import settings
from django.utils import timezone
from pydantic import ValidationError

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.llm.ollama import find_embedding_model
from evals_app.engine.network.web import why_not_called
from evals_app.engine.preparing.case_choice import with_model
from evals_app.engine.preparing.model_choice import choose_models
from evals_app.engine.preparing.needs import Needs
from evals_app.engine.preparing.obstacles import Obstacles
from evals_app.engine.preparing.text_comparison import TextComparison
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ModelSpec, ProviderSpec, Spec
from evals_app.engine.suites.suite_spec import MIXED_USERS, CaseSpec, SuiteSpec
from evals_app.formats.reading.explain import explain
from evals_app.formats.snapshots.run_snapshot import (
    SCHEMA_VERSION,
    Name,
    SnapshotSpec,
    canonical_case,
    read_case,
)
from evals_app.models import Agent, EvaluationSteps, Run, Snapshot, SnapshotCase, Suite
from evals_app.models.fields.concurrency import let_others_write
from evals_app.runs.judges.trust import judge_trust
from evals_app.runs.money.ceilings import is_paid, tightest_limit
from evals_app.runs.reading.baselines import Baseline, find_baseline
from evals_app.runs.starting.select import RunPart
from evals_app.runs.starting.site_obstacles import look_for_files, obstacles_now
from fixtures_app.models import EntityType, Fixture

S = TypeVar("S", bound=Spec)
T = TypeVar("T")

find_local_model = async_to_sync(find_embedding_model)

AT_ONCE = 1000  # rows written
_STEPS_AT_ONCE = 500  # stock SQLite takes 32,766 parameters


class CannotStartError(CannotError):
    """A run cannot start as asked; `without_judge` are the suites that lack a judge model."""

    def __init__(self, *problems: str, without_judge: Sequence[Suite] = ()) -> None:
        super().__init__(*problems)
        self.without_judge = list(without_judge)


class RunOptions(TypedDict, total=False):
    """Options of a run: agent, model, `RunPart` of the suite, ceiling, baseline, environment."""

    agent: Agent | None
    model: str
    cases: Collection[str]
    tags: Collection[str]
    names: Collection[str]
    with_disabled: bool
    trials: int | None
    max_cost_usd: Decimal | None
    baseline: Baseline | None
    environ: Mapping[str, str]


class PlannedCase(NamedTuple):
    """A case of a snapshot, and how often to run it; 0: not at all."""

    trials: int
    name: str
    content: str


class Frozen:
    """A snapshot that is not stored yet; its cases are in a temporary file, deleted on leaving."""

    def __init__(self, part: RunPart) -> None:
        self.part = part
        self.head: SnapshotSpec
        self.replaced_model = ""  # the agent's own, where another takes its place
        self.baseline: Run | None = None
        self.judges: list[ModelSpec] = []  # the run's first, then those of single checks
        self.cases = 0
        self.disabled = 0  # cases that were left out because they are disabled
        self.executions = 0
        self.simulated = 0  # cases in which a model plays the user
        self.share = 1.0  # of all executions, where only some of the cases were read
        self.files: dict[str, str] = {}  # SHA-256 of what turns show -> its path
        self._name = Name()
        self._file = TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115 - closed on leaving

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, case: CaseSpec, *, trials: int) -> None:
        """Take the next case."""
        content = canonical_case(case)
        self._name.add(content)
        self._file.write(f"{trials}\t{json.dumps(case.name)}\t{content}\n")
        self.cases += 1
        self.simulated += case.simulated_user is not None
        self.executions += trials
        shown = (file for turn in case.turns for file in turn.files)
        self.files |= {file.sha256 or "": file.path for file in shown}

    def __iter__(self) -> Iterator[PlannedCase]:
        self._file.seek(0)
        for line in self._file:
            trials, name, content = line.rstrip("\n").split("\t", 2)
            yield PlannedCase(int(trials), json.loads(name), content)

    def plan(self) -> Iterator[tuple[str, int, int]]:
        """Return case, position and trial of each execution."""
        for position, case in enumerate(self):
            for trial in range(1, case.trials + 1):
                yield case.name, position, trial

    def plan_by_trial(self) -> Iterator[tuple[str, int, int]]:
        """Return the same, the first trial of every case first.

        The trials of a case are then spread over the run, so later ones may not be needed.
        """
        cases = [(case.name, position, case.trials) for position, case in enumerate(self)]
        trial = 1
        while cases := [case for case in cases if case[-1] >= trial]:
            for name, position, _ in cases:
                yield name, position, trial
            trial += 1

    def chosen_cases(self) -> Iterator[tuple[CaseSpec, int]]:
        """Return the cases to run, and how often."""
        for case in self:
            if case.trials:
                yield read_case(case.content), case.trials

    def snapshot(self) -> Snapshot:
        """Return the row of this content, which is written only if it is new."""
        head = self.head.canonical()
        snapshot, _ = Snapshot.objects.get_or_create(
            sha256=self._name.of(head),
            defaults={"schema_version": SCHEMA_VERSION, "content": head, "is_complete": False},
        )
        return snapshot

    def complete(self, snapshot: Snapshot) -> Iterator[int]:
        """Write the cases of the row of this content, unless they are there; yield after each batch."""
        if snapshot.is_complete:
            return
        rows = (
            SnapshotCase(snapshot=snapshot, position=position, content=case.content)
            for position, case in enumerate(self)
        )
        for part in in_parts(rows):
            # Another start of the same content may be writing them too.
            SnapshotCase.objects.bulk_create(part, ignore_conflicts=True)
            yield len(part)
        Snapshot.objects.filter(pk=snapshot.pk).update(is_complete=True)


def in_parts(rows: Iterator[T]) -> Iterator[list[T]]:
    """Return rows, as many at a time as one transaction writes, and let others write in between."""
    part = list(islice(rows, AT_ONCE))
    while part:
        yield part
        if part := list(islice(rows, AT_ONCE)):
            let_others_write()


@contextmanager
def freeze(
    suite: Suite,
    *,
    by: int | None = None,
    most_cases: int | None = None,
    why_not_called: Callable[[str], str | None] = why_not_called,
    find_local_model: Callable[[str | None], str | None] = find_local_model,
    **options: Unpack[RunOptions],
) -> Iterator[Frozen]:
    """Load everything that a run of the suite uses, prices as they are today.

    `by` is the key of the person who starts the run. Of a suite with more than `most_cases` only
    that many are read: enough for a forecast, not for a run.

    Raises:
        CannotStartError: something it needs is missing or does not fit.
    """
    own = _read(AgentSpec, (options.get("agent") or suite.agent).to_mapping())
    try:
        tested = with_model(own, options.get("model", ""))
    except CannotError as error:
        raise CannotStartError(*error.problems) from error
    obstacles = obstacles_now(options.get("environ", os.environ), why_not_called)
    obstacles.agent(tested)
    needs = Needs()
    with Frozen(_part(options)) as frozen:
        frozen.replaced_model = str(own.asked_model) if tested is not own else ""
        head = read_suite(suite, frozen, needs, obstacles, most_cases=most_cases)
        frozen.baseline = find_baseline(suite, options.get("baseline"), obstacles.say)
        look_for_files(obstacles, frozen.files)
        fixtures = Fixture.objects.filter(slug__in=head.fixtures).order_by("slug")
        frozen.head = SnapshotSpec(
            suite=head,
            agent=tested,
            fixtures=[row.to_spec() for row in fixtures.with_everything()],
            entity_types=[row.to_spec() for row in EntityType.objects.order_by("slug")],
        )
        complete_head(
            suite,
            frozen,
            needs,
            TextComparison(obstacles, find_local_model),
            paid=[tested.asked_model],
            max_cost_usd=options.get("max_cost_usd"),
            by=by,
        )
        yield frozen


def _part(options: RunOptions) -> RunPart:
    return RunPart(
        cases=options.get("cases", ()),
        tags=options.get("tags", ()),
        names=options.get("names", ()),
        trials=options.get("trials"),
        with_disabled=options.get("with_disabled", False),
    )


def complete_head(
    suite: Suite | None,
    frozen: Frozen,
    needs: Needs,
    comparison: TextComparison,
    *,
    paid: Sequence[ModelSpec | None],
    max_cost_usd: Decimal | None,
    by: int | None,
) -> None:
    """Complete the head of a snapshot: judges, text comparison, and prices.

    `paid` are other models that are called.

    Raises:
        CannotStartError: with everything that was in the way so far.
    """
    head, obstacles = frozen.head, comparison.obstacles
    chosen = choose_models(
        head.suite, head.agent, needs, comparison, paid=paid, day=timezone.now().date()
    )
    frozen.judges = list(chosen.judges)
    _compare_with_ceilings(
        obstacles, chosen.providers, chosen.models, max_cost_usd=max_cost_usd, by=by
    )
    executions, cases = (round(n / frozen.share) for n in (frozen.executions, frozen.cases))
    obstacles.size(executions, cases, most=settings.EVALS_MAX_EXECUTIONS)
    if obstacles.problems:
        without_judge = [suite] if suite is not None and obstacles.no_judge else []
        raise CannotStartError(*obstacles.problems, without_judge=without_judge)
    written = (read_case(case.content) for case in frozen)
    frozen.head = head.model_copy(
        update={
            "judge": chosen.judge,
            "judge_trust": judge_trust(
                head.suite, written, agent=head.agent.asked_model, judge=chosen.judge
            ),
            "similarity": chosen.similarity,
            "scripted": list(chosen.scripted),
            "evaluation_steps": _known_steps(
                needs.step_keys(judge=chosen.judge, agent=head.agent.asked_model)
            ),
            "providers": list(chosen.providers),
        }
    )


def _known_steps(keys: Sequence[str]) -> dict[str, list[str]]:
    """Return the evaluation steps that exist, by key."""
    steps: dict[str, list[str]] = {}
    for start in range(0, len(keys), _STEPS_AT_ONCE):
        steps |= EvaluationSteps.objects.current(keys[start : start + _STEPS_AT_ONCE])
    return steps


def _compare_with_ceilings(
    obstacles: Obstacles,
    priced: Sequence[ProviderSpec],
    models: Sequence[ModelSpec],
    *,
    max_cost_usd: Decimal | None,
    by: int | None,
) -> None:
    """Require a price of each model if a ceiling of the run or of a month applies.

    Otherwise no one could know when the ceiling is reached.
    """
    month = tightest_limit(by)
    ceilings = [max_cost_usd, month.max_usd if month else None]
    if known := [ceiling for ceiling in ceilings if ceiling is not None]:
        obstacles.prices(priced, models, ceiling=min(known))
    if month and month.is_used_up and is_paid(priced):
        obstacles.say(month.why_refused)


def read_suite(
    suite: Suite, frozen: Frozen, needs: Needs, obstacles: Obstacles, *, most_cases: int | None
) -> SuiteSpec:
    """Read a suite case by case, and return it without its cases."""
    row = Suite.objects.with_head().get(pk=suite.pk)
    if row.archived_at is not None:
        raise CannotStartError(archived_text(row.slug))
    try:
        head = SuiteSpec.model_validate(row.head_mapping())
        for check in (*head.assertions, head.rubric_check):
            if check is not None:
                needs.add(check)
        sample = None if most_cases is None else frozen.part.sample(row, most=most_cases)
        frozen.share = sample.share if sample else 1.0
        with_disabled = frozen.part.with_disabled
        frozen.disabled = 0 if with_disabled else row.cases.filter(enabled=False).count()
        only = sample.keys if sample else None
        for case_row in row.each_case(with_disabled=with_disabled, only=only):
            # Not to_spec(): what the operator permits is checked again before each run.
            case = CaseSpec.model_validate(case_row.to_mapping())
            for check in case.assertions():
                needs.add(check)
            trials = frozen.part.trials_of(case, head)
            if trials:
                needs.add_user(case)
                obstacles.case(case, head)
            frozen.add(case, trials=trials)
        if frozen.simulated not in {0, frozen.cases}:
            obstacles.say(f"Suite {row.slug}: {MIXED_USERS}")
    except ValidationError:
        # As a whole it reports the place of every problem.
        _read(SuiteSpec, Suite.objects.with_everything().get(pk=suite.pk).to_mapping())
        raise
    return head


def archived_text(slug: str) -> str:
    """Return the sentence that refuses to run an archived suite."""
    return f"Suite {slug} is archived. Restore it first, or import it."


def _read(spec: type[S], written: dict[str, object]) -> S:
    """Validate the content of rows: a check may be of a removed kind, an agent incomplete."""
    try:
        return spec.model_validate(written)
    except ValidationError as exc:
        problems = explain(exc, model=spec, data=written)
        sentences = [f"{problem.keys}: {problem.message}" for problem in problems]
        raise CannotStartError(*sentences) from exc
