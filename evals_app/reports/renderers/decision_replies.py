"""The cases that speak against shipping, with the replies of both versions side by side."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

from evals_app.engine.verdicts.release_check import ReasonKind
from evals_app.reports.answers.comparison import outcome_text
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.renderers.conversations import REMOVED, grade_state, messages
from evals_app.reports.renderers.html import badge
from evals_app.reports.renderers.sent_decision import (
    SentCase,
    SentCases,
    SentDecision,
    SentRun,
    SentSide,
)
from evals_app.reports.words.figures import count_text
from evals_app.reports.words.markup import Child, Markup, tag
from evals_app.reports.words.word_differences import ComparedTexts, TextPiece, word_differences

MAX_REPLY = 1500  # characters of a reply, or of a system prompt
MAX_TURNS = 3  # of a case
_MAX_USER = 500  # characters of a message of the user
_MAX_CHECKS = 5  # failed ones of a conversation
_MAX_NAMED = 40  # cases without their replies
_AROUND = 120  # characters that stay beside a difference

_WHY: dict[ReasonKind, str] = {
    ReasonKind.REALLY_WORSE: "Really worse",
    ReasonKind.COLLAPSED: "Collapsed",
    ReasonKind.CASES_FAILED: "Failed",
    ReasonKind.WORSE: "Got worse",
    ReasonKind.CHECK_WORSE: "A check got worse",
    ReasonKind.ACCEPTED: "Known failure, accepted",
    ReasonKind.NONE_REALLY_WORSE: "Not really worse",
}


# Turns


class Said(NamedTuple):
    """What was said in a turn, with the tools that were called."""

    user: str = ""
    reply: str = ""
    tools: tuple[str, ...] = ()
    error: str = ""


@dataclass(slots=True)
class _Turn:
    user: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    error: str = ""


def turns_of(execution: Json) -> list[Said]:
    """Return what was said in each turn; empty if the transcript was removed."""
    turns = {turn["turn"]: _Turn(error=turn["error"] or "") for turn in execution["turns"] or ()}
    for message, calls in messages(execution):
        for call in calls:
            turns.setdefault(call["turn"], _Turn()).tools.append(call["name"])
        if message is None or message["turn"] is None:  # an empty one, or one before the first turn
            continue
        turn = turns.setdefault(message["turn"], _Turn())
        (turn.user if message["role"] == "user" else turn.replies).append(message["content"])
    return [
        Said("\n\n".join(turn.user), "\n\n".join(filter(None, turn.replies)), tools, turn.error)
        for _, turn in sorted(turns.items())
        for tools in [tuple(turn.tools)]
    ]


class SaidByBoth(NamedTuple):
    """A turn on both sides, with the words marked that differ; None where a side has no such turn."""

    number: int
    base: Said | None
    head: Said | None
    wording: ComparedTexts

    @property
    def is_same(self) -> bool:
        """Whether both agents did the same."""
        if self.base is None or self.head is None:
            return False
        did = [(said.tools, said.error) for said in (self.base, self.head)]
        return self.wording.is_same and did[0] == did[1]


def pair_turns(base: Json | None, head: Json | None) -> Iterator[SaidByBoth]:
    """Return the turns of two conversations side by side."""
    sides = [turns_of(execution) if execution else [] for execution in (base, head)]
    for number, (before, after) in enumerate(zip_longest(*sides), 1):
        texts = [said.reply if said else "" for said in (before, after)]
        is_alone = not (sides[0] and sides[1])
        wording = _without_marks(*texts) if is_alone else word_differences(*texts)
        yield SaidByBoth(number, before, after, wording)


def _without_marks(base: str, head: str) -> ComparedTexts:
    left, right = ((TextPiece(text, is_only_here=False),) for text in (base, head))
    return ComparedTexts(left, right)


# Cases


def cases_section(sent: SentDecision) -> Markup | None:
    """Return the section about the cases; None if there are none."""
    cases = sent.cases.first
    if not cases:
        return None
    total = sent.cases.total
    what = "that got worse or failed" if sent.base else "that failed"
    has_both = any(case.base and case.head for case in cases)
    replies = "both replies" if has_both else "its reply" if total == 1 else "their replies"
    title = f"{count_text(total, 'case')} {what}"
    if sent.shows_replies:
        title += f", with {replies}"
    legend = "Words that only one of two replies has are marked." if has_both else ""
    notes = [legend] if sent.shows_replies else [_NO_REPLIES]
    return tag(
        "section",
        tag("h2", title),
        quiet_lines(notes),
        [_case(sent, case) for case in cases],
        _other_cases(sent.cases),
        class_="long",
    )


_NO_REPLIES = "Replies are left out: not everyone may read conversations."


def _other_cases(cases: SentCases) -> Iterator[Markup]:
    names = list(cases.named[:_MAX_NAMED])
    unnamed = cases.total - len(cases.first) - len(names)
    if names:
        yield tag("h3", "More such cases, without their replies")
        more = [tag("li", f"and {unnamed:,} more")] if unnamed else []
        yield tag("ul", [tag("li", name) for name in names], more)
    elif unnamed:
        yield tag("p", f"And {unnamed:,} more.")


def _case(sent: SentDecision, case: SentCase) -> Markup:
    sides = [(sent.base, case.base, "del"), (sent.run, case.head, "ins")]
    shown = [(run, side, mark) for run, side, mark in sides if run and side]
    executions = [side.execution if side else None for side in (case.base, case.head)]
    parts: list[Child] = []
    if sent.shows_replies:
        checks = ((run.label, _checks(side)) for run, side, _ in shown)
        parts = [*_turns(executions, shown), side_by_side(checks)]
    return tag(
        "article",
        tag("h3", case.name, tag("span", f" {_WHY[case.kind]}", class_="quiet")),
        side_by_side(("", _who(run, side, sent.scale)) for run, side, _ in shown),
        parts,
        class_="case",
    )


def side_by_side(sides: Iterable[tuple[str, Child]]) -> Markup:
    """Return parts beside each other; on a narrow screen one below the other, each with its label."""
    parts = [tag("div", part, data_label=label or None) for label, part in sides]
    return tag("div", parts, class_="sides")


def _who(run: SentRun, side: SentSide, scale: str) -> Child:
    execution = side.execution
    state = side.outcome.verdict or "inconclusive"
    trial = ""
    if execution and side.outcome.graded_count + side.outcome.errored > 1:
        trial = f"Below: trial {execution['trial']}, {execution['verdict'] or 'no verdict'}."
    return [
        tag("p", run.label, " ", badge(state), class_="who"),
        *quiet_lines([outcome_text(side.outcome, scale=scale), trial]),
    ]


_Shown = tuple[SentRun, SentSide, str]


def _turns(executions: Sequence[Json | None], shown: Sequence[_Shown]) -> Iterator[Markup]:
    """Show the turns that differ, or the last one if none does."""
    turns = list(pair_turns(*executions))
    if not turns:
        yield from quiet_lines([REMOVED])
        return
    chosen = [turn for turn in turns if not turn.is_same] or turns[-1:]
    for turn in chosen[:MAX_TURNS]:
        yield from _turn(turn, shown, names_it=len(turns) > 1)
    if left := len(turns) - len(chosen[:MAX_TURNS]):
        yield from quiet_lines([f"{count_text(left, 'more turn')} not shown."])


def _turn(turn: SaidByBoth, shown: Sequence[_Shown], *, names_it: bool) -> Iterator[Markup]:
    users = dict.fromkeys(said.user for said in (turn.base, turn.head) if said)
    begin = f"Turn {turn.number}: " if names_it else ""
    for user in users:
        more = f" […{len(user) - _MAX_USER:,} more characters…]" if len(user) > _MAX_USER else ""
        yield tag("p", f"{begin}“{user[:_MAX_USER]}”{more}", class_="written asked")
    said = {"del": (turn.base, turn.wording.base), "ins": (turn.head, turn.wording.head)}
    yield side_by_side(
        (
            run.label,
            _reply(*said[mark], mark) if _has_conversation(side) else quiet_lines([REMOVED]),
        )
        for run, side, mark in shown
    )
    if not turn.wording.is_similar:
        yield from quiet_lines(["They have little in common, so single words are not marked."])


def _has_conversation(side: SentSide) -> bool:
    return side.execution is not None and side.execution["messages"] is not None


def _reply(said: Said | None, pieces: Sequence[TextPiece], mark: str) -> Child:
    if said is None:
        return quiet_lines(["It did not get this far."])
    tools = f"Called {', '.join(dict.fromkeys(said.tools))}" if said.tools else ""
    return [
        *quiet_lines([tools]),
        tag("div", marked_text(pieces, mark), class_="reply written") if said.reply else None,
        *quiet_lines(["No reply." if not said.reply and not said.error else ""]),
        tag("p", said.error, class_="note written") if said.error else None,
    ]


def _checks(side: SentSide) -> Child:
    """Name the checks of a conversation that failed, or were not graded."""
    grades = (side.execution or {}).get("grades") or ()
    wrong = [(state, grade) for grade in grades if (state := grade_state(grade)) in _WRONG]
    lines = [
        tag(
            "li",
            tag("strong", f"{_WRONG[state]}: "),
            grade["name"],
            *quiet_lines([grade["reason"]]),
        )
        for state, grade in wrong[:_MAX_CHECKS]
    ]
    if more := len(wrong) - len(lines):
        lines.append(tag("li", f"{count_text(more, 'more check')}"))
    if lines:
        return tag("ul", lines, class_="checks")
    return quiet_lines(["All checks passed."]) if grades else None


_WRONG = {"failed": "Failed", "ungraded": "Not graded", "error": "Not graded"}


# Texts


def quiet_lines(texts: Iterable[str]) -> list[Markup]:
    """Return each text as a small paragraph; empty ones are left out."""
    return [tag("p", text, class_="quiet") for text in texts if text]


def marked_text(pieces: Sequence[TextPiece], mark: str) -> Iterator[Child]:
    """Return a text with its own words in elements `mark`; what a long one loses is counted.

    It loses the middle of what both texts have, if there is another, and then its end.
    """
    if sum(len(piece.text) for piece in pieces) > MAX_REPLY and len(pieces) > 1:
        pieces = [part for piece in pieces for part in _around_differences(piece)]
    room = MAX_REPLY
    for place, piece in enumerate(pieces):
        if isinstance(piece, _Gap):
            yield _gap(f"{len(piece.text):,} characters that both have")
            continue
        text = piece.text[:room]
        yield tag(mark, text) if piece.is_only_here else text
        room -= len(text)
        if len(text) < len(piece.text) or (room == 0 and place + 1 < len(pieces)):
            rest = sum(len(other.text) for other in pieces[place:]) - len(text)
            yield _gap(f"{rest:,} more characters")
            return


class _Gap(TextPiece):
    """The middle of what both texts have."""


def _around_differences(piece: TextPiece) -> Iterator[TextPiece]:
    text = piece.text
    if piece.is_only_here or len(text) <= 3 * _AROUND:
        yield piece
        return
    yield TextPiece(text[:_AROUND], is_only_here=False)
    yield _Gap(text[_AROUND:-_AROUND], is_only_here=False)
    yield TextPiece(text[-_AROUND:], is_only_here=False)


def _gap(what: str) -> Markup:
    return tag("span", f" […{what}…] ", class_="quiet")
