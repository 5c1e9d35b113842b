"""Find checks that cannot fail."""

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console

from evals_app.checks import FOR_COMMANDS
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ModelSpec, read_model
from evals_app.engine.specs.inventory import NOTHING_KNOWN, Inventory
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.can_fail import (
    ONLY_FORBIDS,
    ProbedCheck,
    ProbedSuite,
    probe_suite,
)
from evals_app.engine.verdicts.judged_probes import plan_judging, with_judged
from evals_app.engine.verdicts.probes import named_probes
from evals_app.management import Options, usage_error
from evals_app.management.choosing import whole_suites
from evals_app.management.console import RunsCommand, agrees
from evals_app.management.following import print_forecasts
from evals_app.management.numbers import usd
from evals_app.management.problems import tell
from evals_app.management.reading_options import add_env_file, add_reading_options, variables_of
from evals_app.management.run_options import paths_of
from evals_app.reports.answers.probed import probed_json
from evals_app.reports.answers.run_json import SCHEMA_VERSION
from fixtures_app.ground.spec_errors import messages_of

_SHOWN = 20  # results of a kind in the text


@dataclass(frozen=True, slots=True)
class _Tried:
    """A suite, what its checks passed, and the agent it tests; None: nothing is known of it."""

    suite: SuiteSpec
    probed: ProbedSuite
    agent: AgentSpec | None


class Command(RunsCommand):
    """Try the checks of suites on answers that ought to fail."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Can these tests fail? Try their checks on answers that ought to fail: an empty reply, a "
        "refusal, the question repeated, the answers of other cases. It asks no agent, and judges only "
        "with --judged. Exit "
        "code: 0 no check is blind, 1 one passes all of them, 2 wrong usage, 3 a judge gave no verdict."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "suites",
            nargs="*",
            metavar="SUITE|PATH",
            help="Default: all suites. Files need no database.",
        )
        add("--format", choices=["text", "json"], default="text", help="How to write the result.")
        add("--agent", metavar="SLUG", help="The agent to test, for files of other systems.")
        flag = partial(add, action="store_true")
        flag("--judged", help="Also ask judges, once for each answer. It costs model calls.")
        add("--judge", metavar="MODEL", help="With --judged: provider/model to ask instead.")
        add("--max-cost", type=usd, metavar="USD", help="Stop asking judges before it costs more.")
        flag("--forecast", help="With --judged: print the price and ask nothing.")
        flag("--yes", help="With --judged: start without asking.")
        flag("--no-progress", help="No progress bar.")
        add_reading_options(parser, saves=False)
        add_env_file(parser)

    def handle(self, *args: object, **options: object) -> None:
        # Results alone go to stdout, and prices and progress to stderr.
        super().handle(*args, **options, ci=True)

    def work(self, options: Options, console: Console) -> None:
        paths = paths_of(options["suites"])
        only_judged = ("forecast", "yes", "max_cost", "judge")
        if not options["judged"] and any(options[name] for name in only_judged):
            raise usage_error(
                "--forecast, --yes, --max-cost and --judge are about judges: add --judged."
            )
        tried = list(self._of_files(paths, options) if paths else _of_suites(options["suites"]))
        if options["judged"]:
            tried = self._with_judges(tried, options, console)
        if options["forecast"]:
            return
        probed = [(one.suite.slug, one.probed) for one in tried]
        if options["format"] == "json":
            suites = [probed_json(slug, result) for slug, result in probed]
            document = {"schema_version": SCHEMA_VERSION, "suites": suites}
            self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False))
        else:
            self.stdout.write("\n\n".join("\n".join(_lines(*one)) for one in probed))
        counts = [result.counts for _, result in probed]
        if any(count["blind"] for count in counts):
            sys.exit(1)
        if any(count["undecided"] for count in counts):
            sys.exit(3)

    def _of_files(self, paths: list[str], options: Options) -> Iterator[_Tried]:
        """Read files without a database, so whatever else they refer to may exist."""
        # They load PyYAML.
        from evals_app.formats.checking.references import ExistingObjects  # noqa: PLC0415
        from evals_app.formats.importing import read_files  # noqa: PLC0415
        from evals_app.formats.reading.problems import FormatError  # noqa: PLC0415
        from evals_app.formats.reading.sibling_files import SiblingFiles  # noqa: PLC0415
        from evals_app.management.eval_files import read_paths  # noqa: PLC0415
        from evals_app.management.importing import table_choices_of  # noqa: PLC0415

        tables = table_choices_of(options)
        files = read_paths(paths)
        beside = SiblingFiles.of(map(Path, [*paths, *(file.path for file in files)]))
        try:
            imported = read_files(
                files,
                dialect=options["dialect"],
                known=ExistingObjects(only_reads=True),
                as_one_suite=options["as_one_suite"],
                find=beside.find,
                find_paths=beside.find_paths,
                agent=options["agent"],
                environment=variables_of(options),
                root=Path.cwd().as_posix(),
                tables=tables,
            )
        except FormatError as error:
            tell(self, [problem for problem in error.problems if problem.level == "error"])
            raise usage_error("These files cannot be read, so nothing was tried.") from error
        tell(self, [*imported.guesses, *imported.losses], checks_read=imported.checks_read)
        if not imported.suites:
            raise usage_error(f"There is no suite in {', '.join(paths)}.")
        agents = {agent.spec.slug: agent.spec for agent in imported.agents}
        for suite in imported.suites:
            agent = agents.get(suite.spec.agent)
            inventory = Inventory.of(agent.slug, agent.abilities) if agent else NOTHING_KNOWN
            yield _Tried(suite.spec, probe_suite(suite.spec, inventory), agent)

    def _with_judges(
        self, tried: Sequence[_Tried], options: Options, console: Console
    ) -> list[_Tried]:
        """Print the price of asking judges, ask them, and add what they found."""
        from evals_app.management import judged_probes  # noqa: PLC0415 - loads what runs need

        judge = _read_judge(options["judge"])
        plans = {}
        for one in tried:
            agent = one.agent or judged_probes.stored_agent(one.suite.agent)
            if plan := plan_judging(one.suite, agent, judge=judge):
                plans[one.suite.slug] = plan
        prices = [(slug, judged_probes.price_judging(plan)) for slug, plan in plans.items()]
        print_forecasts(prices, options, console)
        if options["forecast"] or not plans:
            return list(tried)
        if not (options["yes"] or agrees()):
            raise usage_error("Nothing was started.")
        runs = judged_probes.judge(
            plans.values(),
            console=console,
            max_cost_usd=options["max_cost"],
            shows_progress=not options["no_progress"],
        )
        found = {slug: judged_probes.judged_in(run) for slug, run in zip(plans, runs, strict=True)}
        return [
            replace(one, probed=with_judged(one.probed, plans[slug], found[slug]))
            if (slug := one.suite.slug) in plans
            else one
            for one in tried
        ]


def _of_suites(slugs: list[str]) -> Iterator[_Tried]:
    from evals_app.library.probing import probe_stored  # noqa: PLC0415 - needs a database

    for suite in whole_suites(slugs):
        try:
            yield _Tried(suite.to_spec(), probe_stored(suite), suite.agent.to_spec())
        except ValidationError as error:
            raise usage_error(f"{suite.slug} cannot be read. {messages_of(error)[0]}") from error


def _read_judge(written: str | None) -> ModelSpec | None:
    try:
        return read_model(written) if written else None
    except ValidationError as error:
        raise usage_error(f"--judge {written}: {messages_of(error)[0]}") from error


def _lines(slug: str, probed: ProbedSuite) -> Iterator[str]:
    counts = probed.counts
    undecided = f" {counts['undecided']} undecided," if counts["undecided"] else ""
    yield (
        f"{slug}: {counts['blind']} blind, {counts['weak']} weak, {counts['sound']} sound,"
        f"{undecided} {counts['not_tried']} not tried"
    )
    reasons = Counter[tuple[str, str]]()
    if probed.only_forbids:
        yield f"  {ONLY_FORBIDS}"
    for sight in ("blind", "weak"):
        yield from _shorten([_line(one) for one in probed.of(sight)])
    for one in (*probed.of("undecided"), *probed.of("not_tried")):
        reasons[one.sight.replace("_", " "), one.why] += 1
    for (words, why), count in reasons.items():
        yield f"  {words} ({count}): {why}"
    for words, name in (("says “ok”", "nothing"), ("refuses", "refusal")):
        passed = [case.name for case in probed.cases if getattr(case, name).passed]
        if passed:
            yield f"  An agent that only {words} passes {len(passed)} of {len(probed.cases)} cases:"
            yield from _shorten([f"  {case}" for case in passed])


def _line(one: ProbedCheck) -> str:
    where = f"{one.case}, " if one.case else ""
    where += f"turn {one.turn}, " if one.turn else ""
    return (
        f"{one.sight}: {where}{one.check.label}: {one.why or f'passes {named_probes(one.passed)}'}"
    )


def _shorten(lines: list[str]) -> Iterator[str]:
    yield from (f"  {line}" for line in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"  and {len(lines) - _SHOWN:,} more; --format json lists all"
