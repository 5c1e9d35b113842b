"""Pair two executions of one case: which turns, messages, tool calls and grades differ.

The left one is the base, the right one the head. What only one of them has is paired with None.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest

from django.utils.safestring import SafeString

from evals_app.admin.conversation.execution_numbers import score_size, with_sign
from evals_app.admin.conversation.judgements import Agreements
from evals_app.admin.conversation.transcripts import (
    OPEN_TURNS,
    CallLine,
    GradeLine,
    MessageLine,
    TurnLine,
    grade_line,
    grade_state,
)
from evals_app.admin.kit.presentation import badge
from evals_app.engine.statistics.check_counts import CheckIdentity, number_checks
from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.models import GradeResult
from evals_app.reports.words.word_differences import ComparedTexts, TextPiece, word_differences

Pieces = tuple[TextPiece, ...]
_NOT_SIMILAR = "The wording has little in common, so single words are not marked."


@dataclass(frozen=True, slots=True)
class PairedCell:
    """One side of a message or a tool call: its text, or the call with arguments and result."""

    text: Pieces = ()
    call: CallLine | None = None
    args: Pieces = ()
    result: Pieces = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """A message or a tool call on both sides; `note` describes how they differ."""

    who: str
    base: PairedCell | None
    head: PairedCell | None
    note: str = ""

    @property
    def is_same(self) -> bool:
        return not self.note

    @property
    def tool(self) -> str:
        """The tool that is called, empty for a message."""
        calls = [cell.call for cell in (self.head, self.base) if cell and cell.call]
        return calls[0].call.name if calls else ""


@dataclass(frozen=True, slots=True)
class TurnPair:
    """One turn on both sides."""

    number: int
    base: TurnLine | None
    head: TurnLine | None
    user: Pair
    pairs: tuple[Pair, ...]
    is_open: bool = False

    @property
    def opening(self) -> str:
        lines = [line for line in (self.head, self.base) if line is not None]
        return next((line for line in lines if line.record), lines[0]).opening

    @property
    def has_run(self) -> bool:
        return bool(self.user.base or self.user.head)

    @property
    def differences(self) -> int:
        return sum(not pair.is_same for pair in (self.user, *self.pairs))


def paired_turns(
    base: Sequence[TurnLine], head: Sequence[TurnLine], *, marks_words: bool = True
) -> tuple[TurnPair, ...]:
    """Pair turns by their number; the first ones that differ are open.

    Without `marks_words` no words of messages are marked: what a judge looks for is not in single words.
    """
    turns = []
    opened = 0
    for number, (before, after) in enumerate(zip_longest(base, head), 1):
        user = _text_pair("User", _user(before), _user(after))
        pairs = tuple(_messages(before, after))
        if not marks_words:
            pairs = tuple(map(_without_marks, pairs))
        turn = TurnPair(number, before, after, user, pairs)
        is_open = bool(turn.differences) and opened < OPEN_TURNS
        opened += is_open
        turns.append(TurnPair(number, before, after, user, pairs, is_open))
    return tuple(turns)


def _without_marks(pair: Pair) -> Pair:
    """Return a message with its words unmarked; a call is marked all the same."""
    if pair.tool:
        return pair
    return replace(pair, base=_cell_without_marks(pair.base), head=_cell_without_marks(pair.head))


def _cell_without_marks(cell: PairedCell | None) -> PairedCell | None:
    pieces = cell.text if cell else ()
    return cell and PairedCell(text=tuple(replace(piece, is_only_here=False) for piece in pieces))


def _user(turn: TurnLine | None) -> str | None:
    return turn.record.user if turn and turn.record else None


Part = str | CallLine


def _messages(base: TurnLine | None, head: TurnLine | None) -> Iterator[Pair]:
    """Pair messages with messages and calls of a tool with calls of that tool, in their order."""
    before, after = _parts(base), _parts(head)
    keys, others = list(map(_key, before)), list(map(_key, after))
    for _, b1, b2, h1, h2 in SequenceMatcher(None, keys, others, autojunk=False).get_opcodes():
        if keys[b1:b2] == others[h1:h2]:
            yield from map(_pair, before[b1:b2], after[h1:h2])
        else:
            yield from (_pair(part, None) for part in before[b1:b2])
            yield from (_pair(None, part) for part in after[h1:h2])
    errors = [turn.record.error if turn and turn.record else None for turn in (base, head)]
    if any(errors):
        yield _text_pair("Error", *errors)


def _parts(turn: TurnLine | None) -> list[Part]:
    return [part for message in turn.messages for part in _of_message(message)] if turn else []


def _of_message(message: MessageLine) -> Iterator[Part]:
    if message.text:
        yield message.text
    yield from message.calls


def _key(part: Part) -> str:
    return "" if isinstance(part, str) else part.call.name


def _pair(base: Part | None, head: Part | None) -> Pair:
    if isinstance(base, CallLine) or isinstance(head, CallLine):
        return _call_pair(
            base if isinstance(base, CallLine) else None,
            head if isinstance(head, CallLine) else None,
        )
    return _text_pair("Agent", base, head)


def _text_pair(who: str, base: str | None, head: str | None) -> Pair:
    wording = word_differences(base or "", head or "")
    note = ""
    if base is None or head is None:
        note = "" if base is head else "Only on one side"
    elif not wording.is_same:
        note = "Different words" if wording.is_similar else _NOT_SIMILAR
    return Pair(
        who,
        None if base is None else PairedCell(text=wording.base),
        None if head is None else PairedCell(text=wording.head),
        note,
    )


def _call_pair(base: CallLine | None, head: CallLine | None) -> Pair:
    args = _texts(base, head, lambda line: line.args)
    results = _texts(base, head, lambda line: line.call.error or line.result)
    if base is None or head is None:
        note = "Only on one side"
    elif not args.is_same:
        note = "Different arguments"
    elif base.call.error != head.call.error or not results.is_same:
        note = "Same arguments, different result"
    else:
        note = ""
    return Pair(
        "Tool",
        None if base is None else PairedCell(call=base, args=args.base, result=results.base),
        None if head is None else PairedCell(call=head, args=args.head, result=results.head),
        note,
    )


def _texts(
    base: CallLine | None, head: CallLine | None, text: Callable[[CallLine], str]
) -> ComparedTexts:
    return word_differences(text(base) if base else "", text(head) if head else "")


@dataclass(frozen=True, slots=True)
class GradePair:
    """The grade of one check on both sides; `change` shows in a badge and in words how they differ."""

    label: str
    place: str
    base: GradeLine | None
    head: GradeLine | None
    change: SafeString | str

    @property
    def is_exact(self) -> bool:
        """Whether code decides the check, not a judge."""
        lines = [line for line in (self.head, self.base) if line is not None]
        return lines[0].grade.family != "judged"


def paired_grades(
    base: Sequence[GradeResult], head: Sequence[GradeResult], *, scale: str, known: Agreements
) -> tuple[GradePair, ...]:
    """Pair the grades of equal checks in equal turns, in the order of the head, then of the base."""
    before, after = _by_check(base), _by_check(head)
    keys = [*after, *(key for key in before if key not in after)]
    return tuple(
        _grade_pair(before.get(key), after.get(key), scale=scale, known=known) for key in keys
    )


def _by_check(grades: Sequence[GradeResult]) -> dict[tuple[CheckIdentity, int], GradeResult]:
    places = (CheckIdentity(grade.turn, grade.family, grade.type, grade.label) for grade in grades)
    return dict(zip(number_checks(places), grades, strict=True))


def _grade_pair(
    base: GradeResult | None, head: GradeResult | None, *, scale: str, known: Agreements
) -> GradePair:
    grade = next(grade for grade in (head, base) if grade is not None)
    return GradePair(
        label=grade.label,
        place="Whole conversation" if grade.turn is None else f"Turn {grade.turn}",
        base=grade_line(base, scale=scale, known=known) if base else None,
        head=grade_line(head, scale=scale, known=known) if head else None,
        change=_grade_change(base, head, scale=scale),
    )


def _grade_change(
    base: GradeResult | None, head: GradeResult | None, *, scale: str
) -> SafeString | str:
    """Return how a grade changed; empty if it did not."""
    if base is None or head is None:
        return badge(ChangeKind.MISSING if head is None else ChangeKind.NEW)
    before, after = grade_state(base), grade_state(head)
    if before != after:
        if {before, after} != {"passed", "failed"}:
            return badge(ChangeKind.UNDECIDED, word="Different")
        return badge(ChangeKind.WORSE if after == "failed" else ChangeKind.BETTER)
    if base.score is None or head.score is None or base.score == head.score:
        return ""
    return f"Score {with_sign(head.score - base.score, lambda size: score_size(size, scale=scale))}"
