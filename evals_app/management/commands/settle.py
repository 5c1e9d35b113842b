"""Settle from the command line whether a run is really worse than another one."""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from rich.console import Console

from evals_app import COMMAND
from evals_app.checks import FOR_COMMANDS
from evals_app.management import INTERRUPTED, Options, usage_error
from evals_app.management.console import RunsCommand, address_of_pages, agrees, watch
from evals_app.management.crew import Crew
from evals_app.management.following import FAILED, INCONCLUSIVE
from evals_app.management.numbers import RUN_NUMBER, usd
from evals_app.models import Run, Settlement
from evals_app.reports.answers.retests import TESTING, WORDS, warnings
from evals_app.reports.answers.run_json import SCHEMA_VERSION, json_pieces
from evals_app.reports.words.coverage import marks_text
from evals_app.runs.ending.cancel import cancel_settlement
from evals_app.runs.process.cluster import TICK_S, Interrupted
from evals_app.runs.reading.run_readers import settlement_details
from evals_app.runs.retests.candidates import plan_settlement, price_of
from evals_app.runs.retests.rounds import start_settlement


class Command(RunsCommand):
    """Settle two runs through the same queue and workers as everything else."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Run the cases again that got worse from BASE to HEAD, until it is certain whether they"
        " really did. Exit code: 0 no case is really worse, 1 a case is, 2 wrong usage or"
        " configuration, 3 it stopped early, 130 interrupted."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add, flag = parser.add_argument, partial(parser.add_argument, action="store_true")
        add(
            "runs",
            nargs="*",
            type=RUN_NUMBER,
            metavar="RUN",
            help="BASE and HEAD: the earlier run first.",
        )
        flag("--with-better", help="Also test the cases that seem better.")
        add("--max-cost", type=usd, metavar="USD", help="Stop before all runs would cost more.")
        flag("--forecast", help="Print the price and start nothing.")
        flag("--yes", help="Start without asking.")
        group = parser.add_mutually_exclusive_group()
        started = partial(group.add_argument, type=RUN_NUMBER, metavar="RETEST")
        started("--attach", help="Watch a retest that is running.")
        started("--cancel", help="Cancel a retest and exit.")
        flag("--ci", help="No colour, JSON on stdout, no questions.")
        flag("--no-progress", help="No progress bar.")
        add("--site", metavar="URL", help="Address used in printed links. Default: EVALWELL_SITE.")

    def work(self, options: Options, console: Console) -> None:
        say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
        _refuse_what_does_not_fit(options)
        if options["cancel"]:
            did = cancel_settlement(_settlement(options["cancel"]))
            say("Cancelled." if did else "It had already ended.")
            return
        with Interrupted().listening() as stop, ExitStack() as stack:
            settlement = self._find(options, say)
            if settlement is None:
                return
            self._wait(settlement, stack, stop, console, options)
        self._report(settlement, say, options)

    def _find(self, options: Options, say: Any) -> Settlement | None:
        """Return the retest to watch, started if there is none; None if it was declined."""
        if options["attach"]:
            return _settlement(options["attach"])
        base, head = _runs(options["runs"])
        plan = plan_settlement(base, head, with_better=options["with_better"])
        say(price_of(plan).in_words)
        for note in warnings(
            {
                "stand_in": plan.stand_in,
                "few": plan.suspicion.few,
                "compared": plan.suspicion.compared,
                "hopeless": plan.suspicion.hopeless,
            }
        ):
            say(note)
        if options["forecast"]:
            return None
        if not (options["yes"] or options["ci"]) and not agrees():
            say("Nothing was started.")
            return None
        return start_settlement(plan, max_cost_usd=options["max_cost"])

    def _wait(
        self,
        settlement: Settlement,
        stack: ExitStack,
        stop: Interrupted,
        console: Console,
        options: Mapping[str, object],
    ) -> None:
        """Wait until it ends; each look has runs of its own."""
        crew: Crew | None = None
        while settlement.is_open and not stop:
            runs = list(settlement.runs.filter(status__in=Run.OPEN).defer("summary"))
            if crew is None and runs:
                crew = Crew(stack, runs)
                crew.ensure()
            if runs and crew is not None:
                watch(
                    runs,
                    console=console,
                    tick=crew.tick,
                    stop=lambda: bool(stop),
                    shows_progress=not (options["no_progress"] or options["ci"]),
                )
            time.sleep(TICK_S)
            settlement.refresh_from_db()
        if stop:
            self.stderr.write(
                f"Retest {settlement.pk} continues while a worker runs. To watch again:"
                f" {COMMAND} settle --attach {settlement.pk}. To cancel: {COMMAND} settle --cancel"
                f" {settlement.pk}"
            )
            sys.exit(INTERRUPTED)

    def _report(self, settlement: Settlement, say: Any, options: Options) -> None:
        details = settlement_details(settlement.pk) or {}
        if options["ci"]:
            document = {"schema_version": SCHEMA_VERSION, "settlement": details}
            self.stdout.write("".join(json_pieces(document)))
        marks = marks_text(details)
        say(f"{details['summary']}{marks}")
        if details["why_stopped"]:
            say(details["why_stopped"])
        words = {finding.value: text for finding, text in WORDS.items()}
        for case in details["cases"]:
            say(f"  {words.get(case['finding'], TESTING)}: {case['case']}. {case['reason']}")
        say(f"{address_of_pages(options)}/admin/evals_app/settlement/{settlement.pk}/change/")
        if settlement.really_worse:
            sys.exit(FAILED)
        if settlement.status != Settlement.Status.FINISHED:
            sys.exit(INCONCLUSIVE)


def _refuse_what_does_not_fit(options: Options) -> None:
    existing = next((name for name in ("attach", "cancel") if options[name]), "")
    if not existing and len(options["runs"]) != 2:  # noqa: PLR2004 - base and head
        raise usage_error(f"Name two runs, the earlier one first: {COMMAND} settle 9 12")
    of_a_start = ("runs", "with_better", "max_cost", "forecast", "yes")
    if existing and any(options[name] for name in of_a_start):
        raise usage_error(f"--{existing} works on an existing retest and takes no runs or prices.")


def _runs(numbers: list[int]) -> tuple[Run, Run]:
    known = Run.objects.select_related("suite", "snapshot").in_bulk(numbers)
    if missing := [str(number) for number in numbers if number not in known]:
        raise usage_error(f"There is no run {' and no run '.join(missing)}.")
    base, head = (known[number] for number in numbers)
    return base, head


def _settlement(number: int) -> Settlement:
    settlement = Settlement.objects.filter(pk=number).first()
    if settlement is None:
        raise usage_error(f"There is no retest {number}.")
    return settlement
