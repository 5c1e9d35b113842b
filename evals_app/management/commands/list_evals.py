"""List suites, and how they did."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Count, OuterRef, Subquery

from evals_app.engine.suite import near
from evals_app.management.eval_files import USAGE
from evals_app.models import Agent, Case, Run, Suite
from evals_app.reports.run_json import SCHEMA_VERSION


class Command(BaseCommand):
    """Tell what there is to run."""

    help = (
        "List the suites that are not archived: agent, cases, tags, last verdict. Exit code: 0, "
        "also if there is none; 2 if the agent does not exist."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tag", default="", help="Suites that have it, or a case of theirs.")
        parser.add_argument("--agent", default="", metavar="SLUG", help="Suites of this agent.")
        parser.add_argument("--json", action="store_true", help="JSON on stdout.")

    def handle(self, *args: Any, **options: Any) -> None:
        rows = listed_suites(agent=_checked(options["agent"]), tag=options["tag"])
        if options["json"]:
            document = {"schema_version": SCHEMA_VERSION, "suites": rows}
            self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False))
        elif rows:
            self.stdout.write("\n".join(_lines(rows)))
        else:
            self.stderr.write("No suite fits.")


def listed_suites(*, agent: str = "", tag: str = "") -> list[dict[str, Any]]:
    """Give what is listed, as JSON; suites are chosen by tag as `run_evals` chooses cases."""
    ended = Run.objects.filter(suite_slug=OuterRef("slug"), is_tryout=False).exclude(verdict="")
    suites = Suite.objects.current().select_related("agent").order_by("slug")
    suites = suites.annotate(
        case_count=Count("cases"), last_run_id=Subquery(ended.order_by("-pk").values("pk")[:1])
    )
    found: list[Any] = list(suites.filter(agent__slug=agent) if agent else suites)
    if tag:
        tagged = _with_tagged_cases(tag)
        found = [suite for suite in found if tag in suite.tags or suite.pk in tagged]
    last = Run.objects.defer("summary").in_bulk([each.last_run_id for each in found])
    return [_row(suite, last.get(suite.last_run_id)) for suite in found]


def _with_tagged_cases(tag: str) -> set[int]:
    # Not every database finds an entry of a list.
    rows = Case.objects.exclude(tags=[]).values_list("suite_id", "tags")
    return {suite for suite, tags in rows.iterator() if tag in tags}


def _row(suite: Any, run: Run | None) -> dict[str, Any]:  # noqa: ANN401 - annotated
    last = None
    if run is not None and run.finished_at is not None:
        ended_at = run.finished_at.astimezone(UTC).isoformat(timespec="seconds")
        last = {"id": run.pk, "verdict": run.verdict, "finished_at": ended_at}
    return {
        "slug": suite.slug,
        "name": suite.name,
        "agent": suite.agent.slug,
        "cases": suite.case_count,
        "tags": suite.tags,
        "last_run": last,
    }


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Write a table as wide as it needs to be, so that other programs can read it too."""
    cells = [("Suite", "Agent", "Cases", "Tags", "Last run", "Ended")]
    for row in rows:
        last = row["last_run"] or {"verdict": "not run yet", "finished_at": ""}
        suite = (row["slug"], row["agent"], str(row["cases"]), ", ".join(row["tags"]))
        cells.append((*suite, last["verdict"], last["finished_at"]))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _checked(agent: str) -> str:
    slugs = list(Agent.objects.values_list("slug", flat=True)) if agent else []
    if agent and agent not in slugs:
        message = f"There is no agent {agent!r}.{near(agent, slugs)}"
        raise CommandError(message, returncode=USAGE)
    return agent
