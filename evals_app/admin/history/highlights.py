"""The highlights on the page of a suite: four short lists with links."""

from collections.abc import Callable
from dataclasses import dataclass

from evals_app.admin.history.case_history import history_url
from evals_app.admin.kit.presentation import plural
from evals_app.engine.llm.pricing import usd_text
from evals_app.models import Suite
from evals_app.reports.words.figures import duration
from evals_app.runs.reading.highlights import (
    MIN_GRADES,
    Costly,
    FlakyCase,
    RunSpan,
    SureCheck,
    notable,
)


@dataclass(frozen=True, slots=True)
class Highlight:
    """An entry of a list; `url` is the history of its case, `execution` the conversation to read."""

    name: str
    url: str
    text: str
    execution: int | None = None
    link: str = ""  # its words


@dataclass(frozen=True, slots=True)
class NamedList:
    """A list with what its entries have in common, and what follows from it."""

    key: str
    title: str
    span: str
    meaning: str
    lines: tuple[Highlight, ...]
    nothing: str
    has_checks: bool = False  # they are shown to people who may read conversations


def highlight_lists(suite: Suite) -> list[NamedList]:
    """Return the highlights of a suite; none before its first full run."""
    noted = notable(suite)
    if noted is None:
        return []
    span, flaky_span = span_text(noted.span), span_text(noted.flaky_span)
    return [
        NamedList(
            "flaky",
            "Flaky cases",
            flaky_span,
            "Their verdict comes and goes, or their trials disagree, though the case is the same. Give"
            " them more trials, or make their checks less strict about wording.",
            tuple(_flaky(case, suite) for case in noted.flaky),
            "No case is flaky.",
        ),
        NamedList(
            "sure",
            "Checks that never failed",
            span,
            f"Graded at least {MIN_GRADES} times, and passed each time. Maybe they cannot fail:"
            " try them on a wrong answer. A check that guards against something rare may stay.",
            tuple(_sure(check, suite) for check in noted.sure),
            "Every check failed at least once, or was not graded often enough.",
            has_checks=True,
        ),
        NamedList(
            "slowest",
            "Slowest cases",
            span,
            "The agent's own time in a conversation, all turns.",
            tuple(_costly(case, suite, duration, "Longest conversation") for case in noted.slowest),
            "No conversation took longer than a millisecond, or no time is known.",
        ),
        NamedList(
            "dearest",
            "Most expensive cases",
            span,
            "What the agent's model calls cost in a conversation, without judges.",
            tuple(
                _costly(case, suite, usd_text, "Most expensive conversation")
                for case in noted.costliest
            ),
            "No costs are known: no model was called, or it has no price.",
        ),
    ]


def span_text(span: RunSpan) -> str:
    """Return in words which runs a list covers."""
    if span.most is not None:
        return f"The first {span.most:,} of the last full run, which is too large to be read whole."
    runs = len(span.runs)
    return f"The last {runs} full runs." if runs > 1 else "The last full run."


def _flaky(case: FlakyCase, suite: Suite) -> Highlight:
    parts = [f"passed in {case.passed} of {plural(case.runs, 'run')}"]
    if case.changes:
        parts.append(f"its verdict changed {plural(case.changes, 'time')}")
    if case.mixed:
        parts.append(f"its trials disagreed in {plural(case.mixed, 'run')}")
    return Highlight(case.name, history_url(suite.slug, case.name), ", ".join(parts))


def _costly(case: Costly, suite: Suite, text: Callable[[float], str], link: str) -> Highlight:
    words = f"{text(case.average)} on average, at most {text(case.highest)}"
    url = history_url(suite.slug, case.name)
    return Highlight(case.name, url, words, case.execution, link)


def _sure(check: SureCheck, suite: Suite) -> Highlight:
    more = " and other cases" if check.has_more_cases else ""
    text = f"passed {plural(check.graded, 'time')}, in case “{check.case}”{more}"
    return Highlight(check.label, history_url(suite.slug, check.case), text)
