"""What is sent when a run has ended: as JSON, for Slack, as the text of an e-mail."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.statistics.agreement import Proportion
from evals_app.reports.answers.notes import MAY_WE_SHIP
from evals_app.reports.answers.run_answers import Json, in_json
from evals_app.reports.words.shares import likely_text

Event = Literal["ended", "failed", "worse", "test"]
MAX_NAMES = 20  # of cases, in each list
_MAX_SUBJECT = 200
_MAX_CHARS = 2900  # of a section: Slack allows 3000

_HEADS = {
    "passed": "passed",
    "failed": "failed",
    "inconclusive": "was inconclusive",
    "measured": "was measured",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of cases: the first of them, and how many there are."""

    first: Sequence[str] = ()
    count: int = 0

    @property
    def more(self) -> str:
        rest = self.count - len(self.first)
        return f"and {rest:,} more" if rest > 0 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a message says about a run that has ended: no text of a conversation.

    `decision` is the answer to “May we ship?”, empty if the run is not of the whole suite. `worse` is None if the run was compared with nothing; then `compare_url` is empty, too.
    """

    event: Event
    run: int
    suite: str
    suite_name: str
    agent: str
    agent_name: str
    set_name: str = ""  # where real conversations were graded
    model: str = ""
    status: str
    verdict: str
    stop_reason: str = ""
    in_short: str
    cases: int
    cases_passed: int
    cases_measured: int = 0
    cases_not_graded: int = 0
    cost_usd: float | None
    created_by: str = ""
    started_at: datetime | None
    finished_at: datetime | None
    failed: Names
    baseline: int | None
    worse: Names | None
    url: str = ""
    compare_url: str = ""
    decision: str = ""

    @property
    def headline(self) -> str:
        """One sentence: `Refunds failed: 36 of 38 cases passed, 2 are worse than in run 12`."""
        ended = "was cancelled" if self.status == "cancelled" else _HEADS[self.verdict]
        what = "conversations" if self.set_name else "cases"
        counts = [f"{self.cases_passed:,} of {self.cases:,} {what} passed"]
        if self.cases_measured:
            counts.append(f"{self.cases_measured:,} only measured")
        if self.cases_not_graded:
            counts.append(f"{self.cases_not_graded:,} could not be graded")
        if self.worse is not None and self.worse.count:
            verb = "is" if self.worse.count == 1 else "are"
            counts.append(f"{self.worse.count:,} {verb} worse than in run {self.baseline}")
        test = "This is a test. " if self.event == "test" else ""
        return f"{test}{self.suite_name} {ended}: {', '.join(counts)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthNotice:
    """What a message says about a group that grew: no text of a conversation.

    `example` is the id of a conversation that failed its check.
    """

    group: str
    conversation_set: str
    set_name: str
    suite: str
    suite_name: str
    run: int | None
    now: Proportion
    before: Proportion
    topics: Sequence[str]
    began_at: datetime
    url: str
    example: str = ""
    example_url: str = ""

    @property
    def headline(self) -> str:
        """One sentence: `Help desk: “Wrong price” in 12 of 100 conversations, 20 of 900 before`."""
        return (
            f"{self.set_name}: “{self.group}” in {self.now.count:,} of {self.now.total:,} new"
            f" conversations, before in {self.before.count:,} of {self.before.total:,}."
        )

    @property
    def shares(self) -> str:
        """How much that is, with the likely range: chance alone does not explain the difference."""
        now, before = map(likely_text, (self.now, self.before))
        return f"Now {now}; before {before}. That is more than chance explains."

    @property
    def where(self) -> str:
        return f"Mostly in: {', '.join(self.topics)}." if self.topics else ""


def message_type(event: str) -> str:
    """Return what messages and REST call an event: `run.failed`, `group.grew`, or `test`."""
    if event == "grew":
        return f"group.{event}"
    return event if event == "test" else f"run.{event}"


def growth_json(notice: GrowthNotice, *, at: datetime) -> Json:
    """Return the body of a webhook about a group that grew."""
    return {
        "type": message_type("grew"),
        "timestamp": in_json(at),
        "data": {
            "group": notice.group,
            "conversation_set": {"slug": notice.conversation_set, "name": notice.set_name},
            "suite": {"slug": notice.suite, "name": notice.suite_name},
            "headline": notice.headline,
            "now": _rate_json(notice.now),
            "before": _rate_json(notice.before),
            "topics": list(notice.topics),
            "began_at": in_json(notice.began_at),
            "run": notice.run,
            "url": notice.url,
            "example": {"id": notice.example, "url": notice.example_url}
            if notice.example_url
            else None,
        },
    }


def _rate_json(rate: Proportion) -> Json:
    low, high = rate.interval or (0.0, 1.0)
    return {"failed": rate.count, "of": rate.total, "share": rate.share, "low": low, "high": high}


def growth_slack(notice: GrowthNotice) -> Json:
    """Return the message about a group that grew for Slack, and for chats that read the same."""
    links = [
        f"<{url}|{text}>"
        for url, text in ((notice.url, "Open the set"), (notice.example_url, "One of them"))
        if url
    ]
    sections = [f"*{_escape(notice.headline)}*", _escape(notice.shares), _escape(notice.where)]
    blocks: list[object] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": section[:_MAX_CHARS]}}
        for section in filter(None, sections)
    ]
    context = {"type": "mrkdwn", "text": " · ".join(links)[:_MAX_CHARS]}
    blocks.append({"type": "context", "elements": [context]})
    return {"text": _escape(notice.headline), "blocks": blocks}


def growth_mail(notice: GrowthNotice) -> str:
    """Return the text of an e-mail about a group that grew."""
    links = [
        f"{title}: {url}"
        for title, url in (("The set", notice.url), ("One of them", notice.example_url))
        if url
    ]
    parts = [notice.headline, notice.shares, notice.where, "\n".join(links)]
    return "\n\n".join(filter(None, parts)) + "\n"


def notice_json(notice: Notice, *, at: datetime) -> Json:
    """Return the body of a webhook: type, timestamp and data, as Standard Webhooks has them."""
    worse = notice.worse
    return {
        "type": message_type(notice.event),
        "timestamp": in_json(at),
        "data": {
            "run": notice.run,
            "url": notice.url or None,
            "headline": notice.headline,
            "decision": notice.decision or None,
            "suite": {"slug": notice.suite, "name": notice.suite_name},
            "agent": {"slug": notice.agent, "name": notice.agent_name},
            "model": notice.model or None,
            "status": notice.status,
            "verdict": notice.verdict,
            "stop_reason": notice.stop_reason or None,
            "cases": notice.cases,
            "cases_passed": notice.cases_passed,
            "cases_measured": notice.cases_measured,
            "cases_not_graded": notice.cases_not_graded,
            "failed": _names_json(notice.failed),
            "baseline": notice.baseline,
            "worse": None if worse is None else _names_json(worse),
            "compare_url": notice.compare_url or None,
            "cost_usd": notice.cost_usd,
            "created_by": notice.created_by or None,
            "started_at": in_json(notice.started_at),
            "finished_at": in_json(notice.finished_at),
        },
    }


def _names_json(names: Names) -> Json:
    return {"count": names.count, "names": list(names.first)}


def slack_json(notice: Notice) -> Json:
    """Return a message for the incoming webhooks of Slack, and of chats that read the same."""
    decision = [_escape(f"{MAY_WE_SHIP} {notice.decision}")] if notice.decision else []
    sections = [f"*{_escape(notice.headline)}*", *decision, *_slack_lists(notice)]
    links = [
        f"<{url}|{text}>"
        for url, text in ((notice.url, "Open the run"), (notice.compare_url, "Compare"))
        if url
    ]
    context = " · ".join([_escape(_details(notice)), *links])
    blocks: list[object] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": section[:_MAX_CHARS]}}
        for section in sections
    ]
    blocks.append(
        {"type": "context", "elements": [{"type": "mrkdwn", "text": context[:_MAX_CHARS]}]}
    )
    return {"text": _escape(notice.headline), "blocks": blocks}


def _slack_lists(notice: Notice) -> Iterator[str]:
    for title, names in _lists(notice):
        lines = [f"• {_escape(name)}" for name in names.first]
        yield "\n".join(filter(None, [title, *lines, names.more]))


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mail_subject(notice: Notice | GrowthNotice) -> str:
    """Return the subject of an e-mail, in one line."""
    subject = " ".join(notice.headline.split()).rstrip(".")
    return subject if len(subject) <= _MAX_SUBJECT else f"{subject[: _MAX_SUBJECT - 1]}…"


def mail_text(notice: Notice) -> str:
    """Return the text of an e-mail."""
    parts = [notice.headline, f"{MAY_WE_SHIP} {notice.decision}" if notice.decision else ""]
    parts.append(_details(notice))
    for title, names in _lists(notice):
        lines = [f"* {name}" for name in names.first]
        parts.append("\n".join(filter(None, [title, *lines, names.more])))
    links = [("The run", notice.url), (f"Compared with run {notice.baseline}", notice.compare_url)]
    parts.append("\n".join(f"{title}: {url}" for title, url in links if url))
    return "\n\n".join(filter(None, parts)) + "\n"


def _lists(notice: Notice) -> Iterator[tuple[str, Names]]:
    if notice.worse is not None and notice.worse.count:
        yield f"Worse than in run {notice.baseline}:", notice.worse
    if notice.failed.count:
        yield "Did not pass:", notice.failed


def _details(notice: Notice) -> str:
    cost = "" if notice.cost_usd is None else f"cost {usd_text(notice.cost_usd)}"
    by = f"started by {notice.created_by}" if notice.created_by else ""
    agent = " with ".join(filter(None, [f"agent {notice.agent_name}", notice.model]))
    if notice.set_name:
        agent = f"real conversations of {notice.set_name}"
    return ", ".join(filter(None, [notice.in_short, agent, cost, by]))
