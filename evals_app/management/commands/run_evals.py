"""Run suites from the command line."""

import json
import signal
import sys
import time
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from evals_app.documents import run_document, runs_document
from evals_app.engine.suite import near
from evals_app.management.console import console_on, print_result, run_link, watch
from evals_app.models import Agent, Run, Suite
from evals_app.runs import CannotStartError, start_run
from evals_app.runs.cluster import Interrupted, LocalCluster
from evals_app.runs.workers import somebody_works

USAGE, FAILED, INCONCLUSIVE, INTERRUPTED = 2, 1, 3, 130
LOOK_FOR_WORKERS_S = 5.0
GRACE_S = 5.0


class Command(BaseCommand):
    """Run suites through the same queue and workers as everything else."""

    help = (
        "Run suites and wait for the result. Exit code: 0 passed, 1 failed, 2 wrong usage or "
        "configuration, 3 nothing failed but something errored or was not run, 130 interrupted."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "suites", nargs="*", metavar="SUITE", help="Slugs; none: all of --agent."
        )
        parser.add_argument("--case", action="append", default=[], help="Part of a case's name.")
        parser.add_argument("--tag", action="append", default=[], help="A tag of case or suite.")
        parser.add_argument("--agent", default="", help="Slug of the agent to test instead.")
        parser.add_argument("--model", default="", help="provider/model to use instead.")
        parser.add_argument("--trials", type=positive, help="How often each case is held.")
        parser.add_argument("--concurrency", type=positive, help="Conversations at once.")
        parser.add_argument("--timeout", type=float, help="Seconds after which runs are stopped.")
        parser.add_argument("--ci", action="store_true", help="No colour, JSON on stdout.")
        parser.add_argument("--output", type=Path, metavar="FILE", help="Write the JSON to a file.")
        parser.add_argument("--no-progress", action="store_true", help="No progress bar.")
        parser.add_argument(
            "--site", default="http://127.0.0.1:8000", help="Address used in printed links."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        is_ci = options["ci"]
        # With --ci stdout carries JSON alone; what people read goes to stderr.
        console = console_on(
            sys.stderr if is_ci else self.stdout, plain=is_ci or options["no_color"]
        )
        if options["output"] and not options["output"].absolute().parent.is_dir():
            message = f"--output: there is no folder {options['output'].parent}."
            raise CommandError(message, returncode=USAGE)
        suites = self._suites(options)
        with Interrupted().listening() as stop, ExitStack() as stack:
            runs = self._start(suites, options)
            crew = Crew(stack)
            crew.ensure()
            runs = watch(
                runs,
                console=console,
                tick=crew.tick,
                stop=lambda: bool(stop),
                shows_progress=not (options["no_progress"] or is_ci),
            )
            if stop:
                self._interrupted(runs, stop, options["site"], has_own_workers=crew.is_own)
        document = _document(runs)
        if options["output"]:
            options["output"].write_text(document, encoding="utf-8")
        if is_ci:
            self.stdout.write(document)
        for run in runs:
            print_result(run, console=console, site=options["site"])
        if code := _exit_code(runs):
            sys.exit(code)

    def _suites(self, options: dict[str, Any]) -> list[Suite]:
        known = Suite.objects.select_related("agent").order_by("slug")
        if options["suites"]:
            found = {suite.slug: suite for suite in known.filter(slug__in=options["suites"])}
            missing = [slug for slug in options["suites"] if slug not in found]
            if missing:
                slugs = list(known.values_list("slug", flat=True))
                hints = [f"There is no suite {slug!r}.{near(slug, slugs)}" for slug in missing]
                raise CommandError(" ".join(hints), returncode=USAGE)
            return [found[slug] for slug in dict.fromkeys(options["suites"])]
        suites = list(known.filter(agent__slug=options["agent"]) if options["agent"] else known)
        if not suites:
            message = "There is no suite to run. Import some with import_evals."
            raise CommandError(message, returncode=USAGE)
        return suites

    def _start(self, suites: list[Suite], options: dict[str, Any]) -> list[Run]:
        agent = None
        if options["agent"]:
            agent = Agent.objects.filter(slug=options["agent"]).first()
            if agent is None:
                slugs = Agent.objects.values_list("slug", flat=True)
                message = f"There is no agent {options['agent']!r}.{near(options['agent'], slugs)}"
                raise CommandError(message, returncode=USAGE)
        try:
            # One transaction: either all of them start or none.
            with transaction.atomic():
                return [
                    start_run(
                        suite,
                        agent=agent,
                        model=options["model"],
                        cases=options["case"],
                        tags=options["tag"],
                        trials=options["trials"],
                        concurrency=options["concurrency"],
                        timeout_s=options["timeout"],
                    )
                    for suite in suites
                ]
        except CannotStartError as exc:
            raise CommandError("\n".join(exc.problems), returncode=USAGE) from exc

    def _interrupted(
        self, runs: list[Run], stop: Interrupted, site: str, *, has_own_workers: bool
    ) -> None:
        if stop.count > 1:
            signal.raise_signal(signal.SIGKILL)
        for run in runs:
            if run.is_open:
                self.stderr.write(f"Run {run.pk} goes on: {run_link(run, site=site)}")
        if has_own_workers:
            self.stderr.write("Its workers stop with this command: start `manage.py worker`.")
        sys.exit(INTERRUPTED)


class Crew:
    """Somebody to do the work: workers that are alive, else some of our own."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._cluster: LocalCluster | None = None
        self._looked_at = 0.0

    @property
    def is_own(self) -> bool:
        return self._cluster is not None

    def ensure(self) -> None:
        """Start workers of our own if nobody works (any more)."""
        self._looked_at = time.monotonic()
        if self._cluster is None and not somebody_works():
            self._cluster = self._stack.enter_context(LocalCluster(grace_s=GRACE_S))

    def tick(self) -> None:
        """Keep things going."""
        if self._cluster is not None:
            self._cluster.tick()
        elif time.monotonic() - self._looked_at >= LOOK_FOR_WORKERS_S:
            self.ensure()


def positive(text: str) -> int:
    """Read a whole number above 0."""
    value = int(text)
    if value < 1:
        message = "must be at least 1"
        raise ValueError(message)
    return value


def _document(runs: list[Run]) -> str:
    whole = run_document(runs[0]) if len(runs) == 1 else runs_document(runs)
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _exit_code(runs: list[Run]) -> int:
    verdicts = {run.verdict for run in runs}
    if Run.Verdict.FAILED in verdicts:
        return FAILED
    return 0 if verdicts == {Run.Verdict.PASSED.value} else INCONCLUSIVE
