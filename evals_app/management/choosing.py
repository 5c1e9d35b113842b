"""Choose what commands work on: suites, parts of them, agents, models, runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from evals_app.engine.statistics.comparison import MAX_RUNS
from evals_app.management import Options, usage_error
from evals_app.management.run_options import read_baseline
from evals_app.models import Agent, Run, Suite
from evals_app.runs.starting.select import RunPart, Variant, nothing_chosen
from fixtures_app.ground.words import near


@dataclass(frozen=True, slots=True)
class SuiteChoice:
    """Suites with at least one chosen case; `skipped` have none. `how` is what each start takes."""

    suites: list[Suite]
    skipped: list[Suite]
    variants: list[Variant]
    how: dict[str, Any]

    def each(self) -> Iterator[tuple[Suite, Variant]]:
        """Return what one run each is of."""
        return product(self.suites, self.variants)


def choose(options: Options) -> SuiteChoice:
    """Return what the options of `run_evals` choose.

    Raises:
        CommandError: a name is unknown, or nothing at all matches.
    """
    variants = _variants(options["agent"], options["model"])
    suites = find_suites(options["suites"]) if options["suites"] else _current(variants)
    part = RunPart(cases=options["case"], names=options["case_exact"], tags=options["tag"])
    chosen = [suite for suite in suites if part.has_case_of(suite)]
    if not chosen:
        raise usage_error(nothing_chosen(suites, part))
    return SuiteChoice(
        suites=chosen,
        skipped=[suite for suite in suites if suite not in chosen],
        variants=variants,
        how={
            "cases": part.cases,
            "names": part.names,
            "tags": part.tags,
            "trials": options["trials"],
            "all_trials": options["all_trials"],
            "concurrency": options["concurrency"],
            "max_cost_usd": options["max_cost"],
            "baseline": read_baseline(options["baseline"], suites=[suite.slug for suite in chosen]),
        },
    )


def _variants(agents: Sequence[str], models: Sequence[str]) -> list[Variant]:
    """Return each agent with each model, each once."""
    combinations = dict.fromkeys(product(agents or [""], models or [""]))
    if len(combinations) > MAX_RUNS:
        raise usage_error(
            f"These are {len(combinations)} combinations of agents and models; at most {MAX_RUNS}"
            " runs can be compared."
        )
    rows = {slug: named_agent(slug) for slug in {*agents, ""}}
    return [Variant(rows[slug], model) for slug, model in combinations]


def named_runs(numbers: Sequence[int]) -> list[Run]:
    """Return the runs with these numbers.

    Raises:
        CommandError: there is no such run.
    """
    runs = Run.objects.in_bulk(numbers)
    if missing := [str(number) for number in numbers if number not in runs]:
        raise usage_error(f"There is no run {' and no run '.join(missing)}.")
    return [runs[number] for number in dict.fromkeys(numbers)]


def named_agent(slug: str) -> Agent | None:
    """Return the agent that an option names; None: the option was not given.

    Raises:
        CommandError: there is no such agent.
    """
    agent = Agent.objects.filter(slug=slug).first() if slug else None
    if slug and agent is None:
        raise usage_error(_unknown("agent", slug, Agent))
    return agent


def whole_suites(slugs: list[str]) -> Iterator[Suite]:
    """Return suites with all that is in them, one after the other; by default all current ones.

    Raises:
        CommandError: there is no such suite, or none at all.
    """
    for suite in find_suites(slugs) if slugs else _current([Variant(None, "")]):
        yield Suite.objects.with_everything().get(pk=suite.pk)


def find_suites(slugs: Sequence[str]) -> list[Suite]:
    """Return the suites with these slugs, each once.

    Raises:
        CommandError: there is no such suite.
    """
    rows = {suite.slug: suite for suite in all_suites().filter(slug__in=slugs)}
    if missing := [slug for slug in slugs if slug not in rows]:
        raise usage_error(" ".join(_unknown("suite", slug, Suite) for slug in missing))
    return [rows[slug] for slug in dict.fromkeys(slugs)]


def _current(variants: Sequence[Variant]) -> list[Suite]:
    agents = {variant.agent for variant in variants}
    if len(agents) > 1:
        raise usage_error("Name the suites to run with several agents: run_evals SUITE --agent ...")
    current, agent = all_suites().current(), variants[0].agent
    suites = list(current.filter(agent=agent) if agent else current)
    if suites:
        return suites
    message = "There is no suite to run. Import some with import_evals."
    if agent and current.exists():
        message = (
            f"No suite tests agent {agent.slug!r}. To run others with it, name them: "
            f"run_evals SUITE --agent {agent.slug}"
        )
    raise usage_error(message)


def all_suites() -> Any:
    """Return a query of all suites with their agents, by slug."""
    return Suite.objects.select_related("agent").order_by("slug")


def _unknown(what: str, slug: str, model: type[Agent | Suite]) -> str:
    """Name what does not exist, with the nearest slug: a similar one, else one that contains it."""
    known = list(model.objects.order_by("slug").values_list("slug", flat=True))
    hint = near(slug, known)
    if not hint and (longer := [name for name in known if slug in name]):
        hint = near(longer[0], longer)
    return f"There is no {what} {slug!r}.{hint}"
