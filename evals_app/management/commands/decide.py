"""May we ship? The answer about suites, or about a topic, on the command line."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from evals_app.checks import FOR_COMMANDS
from evals_app.formats.snapshots.results_file import CannotReadResultsError, ResultsFile
from evals_app.management import Options, usage_error
from evals_app.management.choosing import all_suites, find_suites, named_agent, named_runs
from evals_app.management.console import address_of_pages
from evals_app.management.numbers import RUN_NUMBER
from evals_app.management.reporting import links, refuse_unwritable
from evals_app.management.run_options import read_baseline, run_or_file
from evals_app.models import Run, Suite
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.answers.topics.topic_json import topic_json
from evals_app.reports.answers.topics.topic_words import (
    passed_detail,
    passed_text,
    topic_reason_words,
    topic_sentence,
)
from evals_app.reports.renderers.decision_html import decision_page
from evals_app.runs.reading.file_baselines import run_from_file
from evals_app.runs.release import SuiteRelease, release_of
from evals_app.runs.reporting import encode
from evals_app.runs.sent_decisions import ALL_SHOWN, sent_decision
from evals_app.runs.topics import TopicStanding, topics_of
from fixtures_app.ground.words import suggestion


class Command(BaseCommand):
    """Print whether what suites test may be shipped."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Answer for each suite, or for a topic of an agent: may we ship? The last full run is compared with the"
        " released version."
        " Exit code: 0 yes, 1 no or something got worse, 2 wrong usage, 3 not decided yet."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("suites", nargs="*", metavar="SUITE", help="Slugs of suites.")
        add("--agent", metavar="SLUG", help="All suites of this agent.")
        add("--tag", help="All suites with this tag.")
        add(
            "--topic",
            metavar="TAG",
            help="Only the cases with this tag, of all suites of the agent that --agent names.",
        )
        add("--run", type=RUN_NUMBER, metavar="RUN", help="A run in place of the last whole one.")
        add(
            "--baseline",
            type=_read_base,
            metavar="RUN|FILE|released",
            help="What to compare with: a run, the results in a file (from run_evals --output), or the"
            " released version (default).",
        )
        add("--json", action="store_true", help="JSON on stdout.")
        add(
            "--html",
            type=Path,
            metavar="FILE",
            help="Also write the decision as one page to print, mail or attach.",
        )
        add(
            "--site",
            metavar="URL",
            help="Address used in links of the page. Default: EVALWELL_SITE.",
        )

    def handle(self, *args: object, **options: Any) -> None:
        file: Path | None = options["html"]
        if file is not None:
            refuse_unwritable("--html", file)
        answers = list(_releases(options)) if options["topic"] is None else [_topic(options)]
        if file is not None:
            releases = [answer for answer in answers if isinstance(answer, SuiteRelease)]
            _write_page(releases, file, site=address_of_pages(options))
        if options["json"]:
            found = [_to_json(answer) for answer in answers]
            self.stdout.write(json.dumps(found, ensure_ascii=False, indent=2))
        else:
            for answer in answers:
                self._print(answer)
        codes = {answer.check.exit_code for answer in answers}
        if worst := next((code for code in (1, 3) if code in codes), 0):
            sys.exit(worst)

    def _print(self, answer: SuiteRelease | TopicStanding) -> None:
        styles = {"yes": self.style.SUCCESS, "no": self.style.ERROR}
        style = styles.get(answer.check.answer, self.style.WARNING)
        if isinstance(answer, TopicStanding):
            name, sentence, lines = answer.name, topic_sentence(answer.check), _of_topic(answer)
        else:
            name, sentence, lines = answer.suite.name, answer.sentence, _of_suite(answer)
        self.stdout.write(f"{name}. {style(sentence)}")
        for line in filter(None, lines):
            self.stdout.write(f"  {line}")


def _read_base(text: str) -> int | Path | None:
    return None if text == "released" else run_or_file(text, others="released")


def _to_json(answer: SuiteRelease | TopicStanding) -> Json:
    if isinstance(answer, TopicStanding):
        return topic_json(answer, today=timezone.now().date())
    return answer.to_json()


def _of_suite(release: SuiteRelease) -> Iterator[str]:
    """Return what follows the answer about a suite."""
    first, *others = release.check.reasons
    yield f"{release.decision.in_words}." if release.decision else ""
    yield release.words(first).detail
    for reason in (*others, *release.check.notes):
        yield " ".join(release.words(reason)).rstrip()


def _of_topic(topic: TopicStanding) -> Iterator[str]:
    """Return what follows the answer about a topic."""
    check = topic.check
    first, *others = check.reasons
    if topic.readiness is not None:
        is_over = topic.readiness.is_over(timezone.now().date())
        yield f"{topic.readiness.in_words}.{' Its day is over.' if is_over else ''}"
    yield topic_reason_words(first, check).detail
    for reason in (*others, *check.notes):
        yield " ".join(topic_reason_words(reason, check)).rstrip()
    detail = passed_detail(topic.cases, topic.simulated.total)
    yield f"{passed_text(topic.cases)} cases passed{f' ({detail})' if detail else ''}."


def _topic(options: Options) -> TopicStanding:
    agent = named_agent(options["agent"] or "")
    if agent is None:
        raise usage_error("Name the agent of the topic: --agent SLUG.")
    for name in ("suites", "tag", "run", "baseline", "html"):
        if options[name]:
            given = "suites" if name == "suites" else f"--{name}"
            raise usage_error(f"Leave out {given}: --topic is about all suites of an agent.")
    topics = topics_of(agent)
    topic = topics.find(options["topic"])
    if topic is None:
        known = [other.name for other in topics.topics]
        problem = f"No case of agent {agent.slug!r} has the tag {options['topic']!r}."
        raise usage_error(f"{problem}{suggestion(options['topic'], known)}")
    return topic


def _write_page(releases: Iterable[SuiteRelease], file: Path, *, site: str | None) -> None:
    link = links(site)
    sent = [sent_decision(release, link=link, shown=ALL_SHOWN) for release in releases]
    try:
        with file.open("wb") as out:
            out.writelines(encode(decision_page(sent)))
    except OSError as error:
        raise usage_error(f"{file} cannot be written: {error.strerror}.") from error


def _releases(options: Options) -> Iterator[SuiteRelease]:
    run, chosen = _named_run(options["run"]), read_baseline(options["baseline"])
    if run is not None and (problem := run.why_no_answer):
        raise usage_error(problem)
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


def _suites(options: Options) -> list[Suite]:
    if options["suites"]:
        return find_suites(options["suites"])
    suites = all_suites().current()
    if agent := named_agent(options["agent"] or ""):
        suites = suites.filter(agent=agent)
    rows = [suite for suite in suites if not options["tag"] or options["tag"] in suite.tags]
    if not rows:
        raise usage_error("No suite was found. Name one, or leave out --agent and --tag.")
    return rows
