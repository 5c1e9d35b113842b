"""A decision as one HTML page to print, mail or attach: it loads nothing and runs no script."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evals_app.engine.statistics.retest import Finding
from evals_app.engine.verdicts.release_check import ReleaseAnswer, ReleaseReason
from evals_app.reports.answers.comparison import NOT_COMPARABLE, PARTS, UNREADABLE
from evals_app.reports.answers.comparison_answers import Differences
from evals_app.reports.answers.notes import MAY_WE_SHIP
from evals_app.reports.answers.release import answer_text, reason_words
from evals_app.reports.answers.retests import WORDS, warnings
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.renderers.decision_replies import (
    cases_section,
    marked_text,
    quiet_lines,
    side_by_side,
)
from evals_app.reports.renderers.html import page_head
from evals_app.reports.renderers.sent_decision import SentChanges, SentDecision, SentRun
from evals_app.reports.words.changed_values import changed_place
from evals_app.reports.words.figures import count_text, moment
from evals_app.reports.words.markup import Child, Markup, tag
from evals_app.reports.words.word_differences import word_differences

MAX_SETTLED = 50  # cases of a retest
PROMPT = "agent.system_prompt"

_STYLE = Path(__file__).with_name("decision.css").read_text(encoding="utf-8")
_TONES: dict[ReleaseAnswer, str] = {"yes": "passed", "no": "failed", "not_yet": "unknown"}


def decision_page(decisions: Sequence[SentDecision]) -> Iterator[str]:
    """Return decisions as one page."""
    title = ", ".join(f"{sent.suite}: {_sentence(sent)}" for sent in decisions)
    yield page_head(title, style=_STYLE)
    for sent in decisions:
        yield tag(
            "main" if len(decisions) == 1 else "article",
            _header(sent),
            _answer(sent),
            _people(sent),
            _changes(sent),
            _retests(sent),
            cases_section(sent),
            _numbers(sent),
            _footer(sent),
            class_="decision",
        )
    yield "</body></html>\n"


def _sentence(sent: SentDecision) -> str:
    return answer_text(sent.check, scale=sent.scale)


def _section(title: str, *children: Child) -> Markup:
    return tag("section", tag("h2", title), *children)


# The answer, and who decided


def _header(sent: SentDecision) -> Markup:
    what = ""
    if sent.run:
        what = sent.run.label
        what += f", compared with {_lower(sent.base.label)}" if sent.base else ""
    return tag(
        "header",
        tag("p", tag("strong", sent.suite), f", {sent.run.agent}" if sent.run else ""),
        tag("p", what, class_="quiet") if what else None,
        tag("p", f"Evalwell, {moment(sent.written_at)}", class_="quiet"),
    )


def _lower(label: str) -> str:
    return f"{label[:1].lower()}{label[1:]}"


def _answer(sent: SentDecision) -> Markup:
    first, *others = sent.check.reasons
    detail = reason_words(first, sent.check, scale=sent.scale).detail
    notes = [tag("li", _words(sent, note)) for note in sent.check.notes]
    return tag(
        "section",
        tag("p", MAY_WE_SHIP, class_="quiet"),
        tag("h1", _sentence(sent)),
        tag("p", detail) if detail else None,
        tag("ul", [tag("li", _words(sent, reason)) for reason in others]) if others else None,
        [tag("p", "Beside it:", class_="quiet"), tag("ul", notes)] if notes else None,
        class_=f"answer {_TONES[sent.check.answer]}",
    )


def _words(sent: SentDecision, reason: ReleaseReason) -> str:
    words = reason_words(reason, sent.check, scale=sent.scale)
    return f"{words.sentence} {words.detail}".rstrip()


def _people(sent: SentDecision) -> Markup:
    made = sent.decision
    if made is None:
        title, decided = "Not decided yet", quiet_lines(["No one has said whether it is shipped."])
    else:
        title = "Decided: shipped" if made["shipped"] else "Decided: not shipped"
        decided = [
            tag(
                "blockquote",
                tag("p", made["reason"], class_="written") if made["reason"] else None,
                *quiet_lines([f"{made['by']}, {moment(made['created_at'])}"]),
                *quiet_lines([f"The answer at that time: {made['answered']}"]),
            )
        ]
    return _section(title, decided, _known_failures(sent.accepted))


def _known_failures(rows: Sequence[Json]) -> Iterator[Markup]:
    if not rows:
        return
    yield tag("h3", "Known failures that a person accepted")
    lines = []
    for row in rows:
        until = f"until {row['until']}" if row["until"] else "until it passes again"
        who = f" ({row['by']}, after run {row['run']}, {until})"
        lines.append(tag("li", tag("strong", row["case"]), f": “{row['reason']}”{who}"))
    yield tag("ul", lines)


# What is different


def _changes(sent: SentDecision) -> Markup | None:
    if sent.base is None or sent.run is None:
        return None
    title = "What was changed"
    if sent.changes is None:
        return _section(title, *quiet_lines([sent.why_not_compared]))
    if sent.changes.parts is None:
        return _section(title, *quiet_lines([UNREADABLE]))
    if not sent.changes.parts:
        return _section(
            title, *quiet_lines(["Nothing: agent, model, prompt and settings are the same."])
        )
    return _section(title, _differences(sent.changes))


def _differences(changes: SentChanges) -> Iterator[Markup]:
    tested = [part for part in changes.parts or () if not part.part.is_yardstick]
    measured = [part for part in changes.parts or () if part.part.is_yardstick]
    yield from (_part(part, changes) for part in tested)
    if measured:
        yield tag("p", NOT_COMPARABLE, class_="note")
        yield from (_part(part, changes) for part in measured)
    if not changes.shows_values:
        yield from quiet_lines(["Values are left out: not everyone may see prompts and settings."])


def _part(part: Differences, changes: SentChanges) -> Markup:
    lines = []
    for value in part.values:
        if value.keys == PROMPT and changes.prompts is not None:
            lines.append(_prompts(*changes.prompts))
            continue
        place = changed_place(value)
        both = bool(place.before and place.after)
        lines.append(
            tag(
                "li",
                place.where,
                f" {place.word}" if place.word else None,
                ": " if place.before or place.after else None,
                tag("del", place.before) if place.before else None,
                " → " if both else None,
                tag("ins", place.after) if place.after else None,
            )
        )
    if part.more:
        values = count_text(part.more, "more value" if lines else "value")
        lines.append(tag("li", f"{values} {'differs' if part.more == 1 else 'differ'}"))
    return tag("div", tag("h3", PARTS[part.part]), tag("ul", lines))


def _prompts(base: str, head: str) -> Markup:
    wording = word_differences(base, head)
    texts = (("Before", wording.base, "del"), ("Now", wording.head, "ins"))
    sides: list[tuple[str, Child]] = []
    for title, pieces, mark in texts:
        text: Child = marked_text(pieces, mark)
        if not wording.is_similar:
            text = tag(mark, text)
        part = [tag("p", title, class_="who"), tag("div", text, class_="reply written")]
        sides.append(("", part))
    return tag("li", "system prompt", side_by_side(sides))


# Retests


def _retests(sent: SentDecision) -> list[Markup]:
    return [_retest(retest) for retest in sent.settlements]


def _retest(retest: Json) -> Markup:
    source = "stored" if retest["stand_in"] else "fresh"
    labels = [
        f"Run {retest['base']}, {source} trials",
        f"Run {retest['head']}, fresh trials",
    ]
    rows = []
    for case in retest["cases"][:MAX_SETTLED]:
        found = WORDS[Finding(case["finding"])] if case["finding"] else "Still tested"
        check = f"Check: {case['check']}" if case["check"] else ""
        rows.append(
            [
                [case["case"], *quiet_lines([check])],
                *(_trials(case["tested"][side]) for side in ("base", "head")),
                tag("strong", found),
            ]
        )
    more = len(retest["cases"]) - MAX_SETTLED
    return _section(
        "Retest of what seemed worse",
        tag("p", retest["summary"]),
        tag("p", retest["why_stopped"], class_="note") if retest["why_stopped"] else None,
        _table(("Case", *labels, "Result"), rows),
        quiet_lines([f"{count_text(more, 'more case')} not shown." if more > 0 else ""]),
        quiet_lines(warnings(retest)),
    )


def _trials(trials: Json) -> str:
    total = trials["passed"] + trials["failed"]
    return f"{trials['passed']:,} of {total:,} passed" if total else "none yet"


# Numbers


def _numbers(sent: SentDecision) -> Markup | None:
    if not (sent.numbers and sent.base and sent.run):
        return None
    rows = [[row.label, *row.values] for row in sent.numbers]
    return _section("Numbers", _table(("", sent.base.label, sent.run.label), rows))


def _table(heads: Sequence[str], rows: Iterable[Sequence[Child]]) -> Markup:
    """Return a table whose rows become blocks on a narrow screen; it never scrolls, to be printed."""
    body = [
        tag(
            "tr",
            tag("th", first, scope="row"),
            [tag("td", cell, data_label=head) for head, cell in zip(heads[1:], cells, strict=True)],
        )
        for first, *cells in rows
    ]
    head = [tag("th", name, scope="col") if name else tag("td") for name in heads]
    return tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_="stacking")


def _footer(sent: SentDecision) -> Markup:
    lines = [_about(run) for run in (sent.base, sent.run) if run]
    return tag("footer", lines)


def _about(run: SentRun) -> Markup:
    facts = [
        f"ended {moment(run.finished_at)}" if run.finished_at else "not ended",
        f"model {run.model}" if run.model else "",
        f"judge {run.judge}" if run.judge else "no judge",
    ]
    link = tag("a", run.title, href=run.url) if run.url else run.title
    return tag("p", link, f": {', '.join(filter(None, facts))}.", class_="quiet")
