"""May we ship? The answer about suites, on the command line."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from evals_app.checks import FOR_COMMANDS
from evals_app.formats.snapshots.results_file import CannotReadResultsError, ResultsFile
from evals_app.management import usage_error
from evals_app.management.choosing import all_suites, find_suites, named_agent, named_runs
from evals_app.management.numbers import RUN_NUMBER
from evals_app.management.run_options import read_baseline, run_or_file
from evals_app.models import Run, Suite
from evals_app.runs.reading.file_baselines import run_from_file
from evals_app.runs.release import SuiteRelease, release_of


class Command(BaseCommand):
    """Print whether what suites test may be shipped."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Answer for each suite: may we ship? Its last whole run is compared with the released version."
        " Exit code: 0 yes, 1 no or something got worse, 2 wrong usage, 3 not decided yet."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("suites", nargs="*", metavar="SUITE", help="Slugs of suites.")
        add("--agent", metavar="SLUG", help="All suites of this agent.")
        add("--tag", help="All suites with this tag.")
        add("--run", type=RUN_NUMBER, metavar="RUN", help="A run in place of the last whole one.")
        add(
            "--baseline",
            type=_read_base,
            metavar="RUN|FILE|released",
            help="What to compare with: a run, the results in a file (from run_evals --output), or the"
            " released version (default).",
        )
        add("--json", action="store_true", help="JSON on stdout.")

    def handle(self, *args: object, **options: Any) -> None:
        releases = list(_releases(options))
        if options["json"]:
            answers = [release.to_json() for release in releases]
            self.stdout.write(json.dumps(answers, ensure_ascii=False, indent=2))
        else:
            for release in releases:
                self._print(release)
        codes = {release.check.exit_code for release in releases}
        if worst := next((code for code in (1, 3) if code in codes), 0):
            sys.exit(worst)

    def _print(self, release: SuiteRelease) -> None:
        styles = {"yes": self.style.SUCCESS, "no": self.style.ERROR}
        style = styles.get(release.check.answer, self.style.WARNING)
        self.stdout.write(f"{release.suite.name}. {style(release.sentence)}")
        first, *others = release.check.reasons
        lines = [
            f"{release.decision.in_words}." if release.decision else "",
            release.words(first).detail,
        ]
        for reason in (*others, *release.check.notes):
            words = release.words(reason)
            lines.append(f"{words.sentence} {words.detail}".rstrip())
        for line in filter(None, lines):
            self.stdout.write(f"  {line}")


def _read_base(text: str) -> int | Path | None:
    return None if text == "released" else run_or_file(text, others="released")


def _releases(options: dict[str, Any]) -> Iterator[SuiteRelease]:
    run, chosen = _named_run(options["run"]), read_baseline(options["baseline"])
    if run is not None and run.suite is None:
        raise usage_error(f"The suite of run {run.pk} was deleted.")
    suites = [run.suite] if run is not None and run.suite is not None else _suites(options)
    if isinstance(chosen, int) and len(suites) > 1:
        raise usage_error("Name one suite with --baseline.")
    for suite in suites:
        yield release_of(suite, run=run, released=_base_of(suite, chosen))


def _base_of(suite: Suite, chosen: Any) -> Run | None:
    """Return what to compare with; None: the released version."""
    if not isinstance(chosen, ResultsFile):
        return _named_run(chosen)
    try:
        return run_from_file(suite, chosen)
    except CannotReadResultsError as error:
        raise usage_error(f"--baseline: {error}") from error


def _named_run(number: int | None) -> Run | None:
    if number is None:
        return None
    (run,) = named_runs([number])
    return run


def _suites(options: dict[str, Any]) -> list[Suite]:
    if options["suites"]:
        return find_suites(options["suites"])
    suites = all_suites().current()
    if agent := named_agent(options["agent"] or ""):
        suites = suites.filter(agent=agent)
    rows = [suite for suite in suites if not options["tag"] or options["tag"] in suite.tags]
    if not rows:
        raise usage_error("No suite was found. Name one, or leave out --agent and --tag.")
    return rows
