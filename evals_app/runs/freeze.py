"""Freeze what a run uses, or say what is missing."""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, NamedTuple, Self, TypeVar

from django.conf import settings
from django.db.models import Model
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError

from evals_app.engine.llm.pricing import Prices, prices_of, prices_on, usd_text
from evals_app.engine.spec import AgentSpec, ModelRef, ModelSpec, ProviderSpec, Spec
from evals_app.engine.suite import AssertionSpec, CaseSpec, SuiteSpec
from evals_app.formats import file_name
from evals_app.formats.explain import explain
from evals_app.formats.snapshot import SCHEMA_VERSION, Name, SnapshotSpec, canonical_case
from evals_app.formats.yaml_source import read_yaml
from evals_app.models import Agent, Provider, Snapshot, SnapshotCase, Suite
from evals_app.runs.select import WHOLE, Part
from fixtures_app.models import EntityType, Fixture
from fixtures_app.tools import TOOLS

S = TypeVar("S", bound=Spec)
M = TypeVar("M", bound=Model)

AT_ONCE = 2000  # rows written

_MODEL: TypeAdapter[ModelSpec] = TypeAdapter(ModelRef)


class CannotStartError(Exception):
    """A run cannot start as asked; `problems` are sentences for people."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = list(problems)


class Planned(NamedTuple):
    """A case of a snapshot, and how often the run is to hold it; 0: not at all."""

    trials: int
    name: str
    content: str


class Frozen:
    """What a run is to use, not stored yet.

    The cases, of which there may be many, wait in a temporary file, which is gone on leaving.
    """

    def __init__(self) -> None:
        self.head: SnapshotSpec
        self.cases = 0
        self.executions = 0
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
        self.executions += trials

    def __iter__(self) -> Iterator[Planned]:
        self._file.seek(0)
        for line in self._file:
            trials, name, content = line.rstrip("\n").split("\t", 2)
            yield Planned(int(trials), json.loads(name), content)

    def plan(self) -> Iterator[tuple[str, int, int]]:
        """Give case, position and trial of each execution."""
        for position, case in enumerate(self):
            for trial in range(1, case.trials + 1):
                yield case.name, position, trial

    def chosen(self) -> Iterator[tuple[CaseSpec, int]]:
        """Give the cases that the run is to hold, and how often."""
        for case in self:
            if case.trials:
                yield CaseSpec.model_validate_json(case.content), case.trials

    def store(self) -> Snapshot:
        """Give the row of this content, which is written only if it is new."""
        head = self.head.canonical()
        snapshot, is_new = Snapshot.objects.get_or_create(
            sha256=self._name.of(head),
            defaults={"schema_version": SCHEMA_VERSION, "content": head},
        )
        if is_new:
            rows = (
                SnapshotCase(snapshot=snapshot, position=position, content=case.content)
                for position, case in enumerate(self)
            )
            create_many(SnapshotCase, rows)
        return snapshot


def create_many(model: type[M], rows: Iterator[M]) -> None:
    """Write rows, holding a few of them at a time."""
    while part := list(islice(rows, AT_ONCE)):
        model._default_manager.bulk_create(part)  # noqa: SLF001 - Django's name for it


@contextmanager
def freeze(
    suite: Suite,
    *,
    part: Part = WHOLE,
    agent: Agent | None = None,
    model: str = "",
    max_cost_usd: Decimal | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Frozen]:
    """Load everything that a run of the suite uses, prices as they are today.

    With a ceiling each model must have a price, or nobody could tell when it is reached.

    Raises:
        CannotStartError: something it needs is missing or does not fit.
    """
    agent_spec = _read(AgentSpec, (agent or suite.agent).written())
    if model:
        agent_spec = _with_model(agent_spec, model)
    rows = Provider.objects.prefetch_related("prices")
    providers = {row.slug: row.to_spec() for row in rows}
    check = _Check(providers, environ)
    check.agent(agent_spec)
    with Frozen() as frozen:
        suite_spec = _read_suite(suite, part, frozen, lambda each: check.see(each, agent_spec))
        judge = check.judge(suite_spec, agent_spec)
        scripted = check.scripted(judge)
        used = {agent_spec.model, judge, *check.own_judges}
        models = sorted((each for each in used if each is not None), key=str)
        priced = _with_prices(providers, models)
        if max_cost_usd is not None:
            check.prices(priced, models, ceiling=max_cost_usd)
        if check.problems:
            raise CannotStartError(check.problems)
        fixtures = Fixture.objects.filter(slug__in=suite_spec.fixtures).order_by("slug")
        frozen.head = SnapshotSpec(
            suite=suite_spec,
            agent=agent_spec,
            judge=judge,
            scripted=scripted,
            fixtures=[row.to_spec() for row in fixtures.with_everything()],
            entity_types=[row.to_spec() for row in EntityType.objects.order_by("slug")],
            providers=priced,
        )
        yield frozen


def _read_suite(
    suite: Suite, part: Part, frozen: Frozen, see: Callable[[AssertionSpec], None]
) -> SuiteSpec:
    """Read a suite case by case, and give it without its cases; `see` is given every check."""
    row = Suite.objects.with_head().get(pk=suite.pk)
    try:
        head = SuiteSpec.model_validate(row.written_head())
        for each in head.assertions:
            see(each)
        for case_row in row.each_case():
            case = case_row.to_spec()
            for each in case.assertions():
                see(each)
            frozen.add(case, trials=part.trials_of(case, head))
    except ValidationError:
        # As a whole it says of every problem where it is.
        _read(SuiteSpec, Suite.objects.with_everything().get(pk=suite.pk).written())
        raise
    return head


def _with_prices(
    providers: Mapping[str, ProviderSpec], models: Collection[ModelSpec]
) -> list[ProviderSpec]:
    """Give the providers of these models, with their prices that are in force and nothing else."""
    today = timezone.now().date()
    return [
        spec.model_copy(
            update={
                "prices": prices_of(
                    [model.name for model in models if model.provider == slug],
                    prices_on(today, spec.prices),
                )
            }
        )
        for slug, spec in sorted(providers.items())
        if slug in {model.provider for model in models}
    ]


def _read(spec: type[S], written: dict[str, Any]) -> S:
    """Validate what rows hold: a check may be of a kind that is gone, an agent half written."""
    try:
        return spec.model_validate(written)
    except ValidationError as exc:
        nowhere = read_yaml("", b"{}")  # rows have no lines to point at
        found = explain(exc, model=spec, data=written, document=nowhere)
        problems = [f"{each.keys}: {each.message}" for each in found]
        raise CannotStartError(problems) from exc


def _with_model(agent: AgentSpec, model: str) -> AgentSpec:
    if agent.driver != "model":
        problem = f"Agent {agent.slug} is scripted: it has no model that could be replaced."
        raise CannotStartError([problem])
    try:
        return agent.model_copy(update={"model": _MODEL.validate_python(model)})
    except ValidationError as exc:
        problems = [error["msg"].removeprefix("Value error, ") for error in exc.errors()]
        raise CannotStartError(problems) from exc


class _Check:
    """Collects what stands in the way of a run."""

    def __init__(self, providers: Mapping[str, ProviderSpec], environ: Mapping[str, str]) -> None:
        self.problems: list[str] = []
        self.own_judges: set[ModelSpec | None] = set()  # of checks that name one
        self._needs_judge = False
        self._providers = providers
        self._environ = environ

    def agent(self, agent: AgentSpec) -> None:
        unknown = [tool for tool in agent.tools if tool not in TOOLS]
        if unknown:
            known = ", ".join(TOOLS)
            self._say(
                f"Agent {agent.slug} has unknown tools: {', '.join(unknown)}. Known: {known}."
            )
        if agent.driver == "model" and agent.model is not None:
            self._reachable(agent.model, f"Agent {agent.slug}")

    def see(self, assertion: AssertionSpec, agent: AgentSpec) -> None:
        """Look at a check, one after the other."""
        if assertion.grader.family != "judged":
            return
        if assertion.model is None:
            self._needs_judge = True
            return
        self.own_judges.add(self._named(assertion.model, agent, f"Check {assertion.label!r}"))

    def judge(self, suite: SuiteSpec, agent: AgentSpec) -> ModelSpec | None:
        """Choose the judge: the suite's, else the site's if it has a key, else the agent's.

        Only checks that have been seen may need one.
        """
        if not self._needs_judge:
            return None
        if suite.judge_model is not None:
            return self._named(suite.judge_model, agent, f"Suite {suite.slug}")
        site = _MODEL.validate_python(settings.EVALS_JUDGE_MODEL)
        if self._why_unreachable(site) is None:
            return site
        return agent.model

    def scripted(self, judge: ModelSpec | None) -> list[AgentSpec]:
        """Load the agents that scripted judges follow."""
        judges = {judge, *self.own_judges}
        slugs = {each.name for each in judges if each and each.provider == "scripted"}
        found = {row.slug: row for row in Agent.objects.filter(slug__in=slugs)}
        for slug in sorted(slugs):
            if slug not in found:
                self._say(f"The judge scripted/{slug} names no agent that exists.")
            elif not found[slug].is_scripted:
                self._say(f"The judge scripted/{slug} names an agent that is not scripted.")
        return [found[slug].to_spec() for slug in sorted(found)]

    def prices(
        self, providers: Sequence[ProviderSpec], models: Sequence[ModelSpec], *, ceiling: Decimal
    ) -> None:
        """Ask for a price of every model that is paid for."""
        specs = {spec.slug: spec for spec in providers if spec.kind != "scripted"}
        for model in models:
            spec = specs.get(model.provider)
            if spec is not None and not Prices(spec.prices).knows(model.name):
                self._say(
                    f"{model} has no price today, so a ceiling of "
                    f"{usd_text(ceiling, is_exact=True)} could not be kept. Enter its price on the "
                    f"page of the provider {spec.provider}, or under prices in "
                    f"{file_name(spec)}, and start again."
                )

    def _named(self, reference: "ModelSpec | str", agent: AgentSpec, who: str) -> ModelSpec | None:
        if not isinstance(reference, ModelSpec):
            if agent.model is None:
                self._say(f"{who} is judged by the agent's own model, but {agent.slug} has none.")
            return agent.model
        self._reachable(reference, who)
        return reference

    def _reachable(self, model: ModelSpec, who: str) -> None:
        if model.provider != "scripted" and (why := self._why_unreachable(model)):
            self._say(f"{who} uses {model}: {why}")

    def _why_unreachable(self, model: ModelSpec) -> str | None:
        provider = self._providers.get(model.provider)
        if provider is None:
            known = ", ".join(self._providers)
            return f"there is no provider {model.provider!r}. Known: {known}."
        variable = provider.api_key_env
        if variable and not self._environ.get(variable):
            return f"the environment variable {variable} is not set."
        return None

    def _say(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
