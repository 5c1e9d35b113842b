"""List suites, and how they did."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC
from typing import Any, TypeAlias

from django.core.management.base import BaseCommand
from django.db.models import Count

from evals_app.checks import FOR_COMMANDS
from evals_app.management.choosing import named_agent
from evals_app.models import Case, Suite
from evals_app.reports.answers.run_json import SCHEMA_VERSION
from evals_app.reports.words.shares import CASE_COUNTS
from evals_app.reports.words.similarity import STAND_IN, similarity_json
from evals_app.runs.reading.suite_verdict import SuiteVerdict, standings, with_last_runs
from evals_app.runs.starting.select import RunPart

Listed: TypeAlias = tuple[Any, SuiteVerdict]  # a suite, annotated


class Command(BaseCommand):
    """List what can be run."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "List the suites that are not archived: agent, cases, tags, last verdict. Exit code: 0, "
        "also if there is none; 2 if the agent does not exist."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tag", default="", help="Suites that have it, or a case of theirs.")
        parser.add_argument("--agent", default="", metavar="SLUG", help="Suites of this agent.")
        parser.add_argument("--json", action="store_true", help="JSON on stdout.")

    def handle(self, *args: object, **options: Any) -> None:
        agent = named_agent(options["agent"])
        suites = listed_suites(agent=agent.slug if agent else "", tag=options["tag"])
        if options["json"]:
            rows = [_row(suite, standing) for suite, standing in suites]
            document = {"schema_version": SCHEMA_VERSION, "suites": rows}
            self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False))
        elif suites:
            self.stdout.write("\n".join(_lines(suites)))
        else:
            self.stderr.write("No suite fits.")


def listed_suites(*, agent: str = "", tag: str = "") -> list[Listed]:
    """Return what is listed; suites are chosen by tag as `run_evals` chooses cases."""
    current = Suite.objects.current().select_related("agent").order_by("slug")
    suites = with_last_runs(current.annotate(case_count=Count("cases")))
    chosen: list[Any] = list(suites.filter(agent__slug=agent) if agent else suites)
    if tag:
        # Not every database finds an entry of a list.
        cases = Case.objects.exclude(tags=[]).values_list("suite_id", "tags").iterator()
        part = RunPart(tags=[tag])
        tagged = {suite for suite, tags in cases if part.matches("", tags)}
        chosen = [one for one in chosen if one.pk in tagged or part.matches("", one.tags)]
    return list(zip(chosen, standings(chosen), strict=True))


def _row(suite: Any, standing: SuiteVerdict) -> dict[str, Any]:
    whole = standing.verdict_run
    return {
        "slug": suite.slug,
        "name": suite.name,
        "agent": suite.agent.slug,
        "cases": suite.case_count,
        "tags": suite.tags,
        "last_run": _run(whole) | _rate(whole) if whole else None,
        "later_run": _run(standing.later) if standing.later else None,
    }


def _rate(whole: object) -> dict[str, object]:
    return {name: getattr(whole, name) for name in ("pass_rate", *CASE_COUNTS)}


def _run(run: Any) -> dict[str, object]:
    return {
        "id": run.pk,
        "verdict": run.verdict,
        "finished_at": run.finished_at.astimezone(UTC).isoformat(timespec="seconds"),
        "covers": run.covers or None,
        "similarity": similarity_json(vars(run)),
    }


def _lines(suites: list[Listed]) -> Iterator[str]:
    """Write a table as wide as it needs to be, so that other programs can read it too."""
    cells = [("Suite", "Agent", "Cases", "Tags", "Last run", "Ended", "Later")]
    for suite, standing in suites:
        row = _row(suite, standing)
        what = (row["slug"], row["agent"], str(row["cases"]), ", ".join(row["tags"]))
        ended = row["last_run"]["finished_at"] if row["last_run"] else ""
        later = standing.later.in_short if standing.later else ""
        cells.append((*what, _verdict(standing), ended, later))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _verdict(standing: SuiteVerdict) -> str:
    run = standing.verdict_run
    if run is None:
        return "not as a whole" if standing.has_parts_only else "not run yet"
    stand_in = f" ({STAND_IN.lower()})" if run.is_similarity_stand_in else ""
    return f"{run.verdict}{stand_in}"
