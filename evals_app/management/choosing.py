"""What `run_evals` is to run: which suites, which part of each, with which agent."""

from dataclasses import dataclass
from typing import Any

from evals_app.management import usage_error
from evals_app.models import Agent, Suite
from evals_app.runs.select import Part, nothing_chosen
from fixtures_app.ground.words import near


@dataclass(frozen=True, slots=True)
class Choice:
    """Suites with at least one chosen case; `skipped` have none. `how` is what a start takes."""

    suites: list[Suite]
    skipped: list[Suite]
    how: dict[str, Any]


def choose(options: dict[str, Any]) -> Choice:
    """Return what the options of `run_evals` choose.

    Raises:
        CommandError: a name is unknown, or nothing at all matches.
    """
    agent = named_agent(options["agent"])
    suites = _named(options["suites"]) if options["suites"] else _current(agent)
    part = Part(cases=options["case"], names=options["case_exact"], tags=options["tag"])
    chosen = [suite for suite in suites if part.has_case_of(suite)]
    if not chosen:
        raise usage_error(nothing_chosen(suites, part))
    return Choice(
        suites=chosen,
        skipped=[suite for suite in suites if suite not in chosen],
        how={
            "agent": agent,
            "model": options["model"],
            "cases": part.cases,
            "names": part.names,
            "tags": part.tags,
            "trials": options["trials"],
            "concurrency": options["concurrency"],
            "max_cost_usd": options["max_cost"],
        },
    )


def named_agent(slug: str) -> Agent | None:
    """Return the agent that an option names; None: the option was not given.

    Raises:
        CommandError: there is no such agent.
    """
    agent = Agent.objects.filter(slug=slug).first() if slug else None
    if slug and agent is None:
        raise usage_error(_unknown("agent", slug, Agent))
    return agent


def _named(slugs: list[str]) -> list[Suite]:
    rows = {suite.slug: suite for suite in _suites().filter(slug__in=slugs)}
    if missing := [slug for slug in slugs if slug not in rows]:
        raise usage_error(" ".join(_unknown("suite", slug, Suite) for slug in missing))
    return [rows[slug] for slug in dict.fromkeys(slugs)]


def _current(agent: Agent | None) -> list[Suite]:
    current = _suites().current()
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


def _suites() -> Any:
    return Suite.objects.select_related("agent").order_by("slug")


def _unknown(what: str, slug: str, model: type[Agent | Suite]) -> str:
    """Name what does not exist, with the nearest slug: a similar one, else one that contains it."""
    known = list(model.objects.order_by("slug").values_list("slug", flat=True))
    hint = near(slug, known)
    if not hint and (longer := [name for name in known if slug in name]):
        hint = near(longer[0], longer)
    return f"There is no {what} {slug!r}.{hint}"
