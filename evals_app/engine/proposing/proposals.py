"""Propose checks for people to tick, from what an agent did in a conversation.

Values that would probably differ next time have a doubt and are not ticked.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from pydantic import ValidationError

from evals_app.engine.basics.matchers import equal
from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.proposing.expected_changes import (
    CannotExpectError,
    Happening,
    changed_nothing_else,
    changes_check,
    happenings,
)
from evals_app.engine.proposing.phrases import Phrase, phrases_of
from evals_app.engine.proposing.value_parts import (
    DIFFERS,
    RANDOM,
    TIME,
    KnownValues,
    ValuePart,
    compose_matchers,
    has_words,
    pair_by_likeness,
    split_value,
)
from evals_app.engine.record.tool_results import error_of
from evals_app.engine.record.trial import ToolCall, Trial, TurnRecord
from evals_app.engine.record.view import View
from evals_app.engine.suites.assertion_spec import AssertionSpec
from evals_app.engine.verdicts.limits import LIMITS
from fixtures_app.ground.quoting import cut_middle, in_quotes, join_list
from fixtures_app.ground.strict_json import JsonObject

Kind = Literal["call", "order", "phrase", "expected", "change", "nothing_else", "limit"]

MAX_BOXES = 500
REPEATS = "repeats the call above"
SEEN_IN_CHANGES = "already in the changes below"
FAILED = "the call failed"

_SHOWN = 80
_MIN_MS = 1000
_MIN_TOKENS = 50
_CHANGING = frozenset(
    {"entity.create", "entity.update", "entity.delete", "relation.create", "relation.delete"}
)
# Turn (None: at the end) and options of the check.
_Check = tuple[int | None, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something to tick, with parts that may be left open; `doubt` is why it is not ticked.

    `turn` is 1-based, None for the whole conversation. `subject` is what it was made from.
    """

    key: str
    kind: Kind
    turn: int | None
    words: str
    is_ticked: bool = False
    doubt: str = ""
    parts: tuple[ValuePart, ...] = ()
    subject: Any = None

    @property
    def default_keys(self) -> set[str]:
        """The keys that are ticked by default."""
        if not self.is_ticked:
            return set()
        return {self.key, *(part.key for part in self.parts if not part.doubt)}


@dataclass(slots=True)
class KeptChecks:
    """What is kept of proposals: checks by turn (None: at the end), limits, expected answers by turn."""

    checks: dict[int | None, list[AssertionSpec]] = field(default_factory=dict)
    limits: dict[str, object] = field(default_factory=dict)
    expected: dict[int, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many checks and limits there are."""
        return sum(map(len, self.checks.values())) + len(self.limits)


def proposals(
    trial: Trial, others: Sequence[Trial] = (), *, fixtures: str = "", is_passed: bool = True
) -> tuple[Proposal, ...]:
    """Return what a check could ask for: each passes on the trial itself.

    `others` are trials of the same case that passed too, `fixtures` the text of the data it began
    with. If the trial did not pass, nothing is ticked.
    """
    if trial.failure is not None and not trial.turns:
        return ()
    known = KnownValues.before(trial, fixtures, is_compared=bool(others))
    end = [*_of_world(trial, others, known), *_limits(trial, others)]
    left = MAX_BOXES - sum(map(_boxes, end))
    made = [*_first_proposals(_of_turns(trial, others, known), left), *end]
    return tuple(made if is_passed else [replace(one, is_ticked=False) for one in made])


def default_keys(offered: Iterable[Proposal]) -> set[str]:
    """Return the keys of all boxes that are ticked by default."""
    return {key for proposal in offered for key in proposal.default_keys}


def keep_checks(trial: Trial, offered: Sequence[Proposal], keys: Collection[str]) -> KeptChecks:
    """Return the checks and limits that the kept boxes ask for.

    Raises:
        CannotExpectError: the boxes contradict each other, or the trial itself would not pass.
    """
    kept = [proposal for proposal in offered if proposal.key in keys]
    result = KeptChecks()
    written = [_check(proposal, keys) for proposal in kept if proposal.kind in _WRITTEN]
    for turn, options in _merge_calls(written):
        result.checks.setdefault(turn, []).append(_sound(trial, turn, options))
    if changes := _changes(trial, offered, keys):
        result.checks.setdefault(None, []).append(changes)
    for proposal in kept:
        if proposal.kind == "limit":
            result.limits |= proposal.subject
        elif proposal.kind == "expected" and proposal.turn is not None:
            result.expected[proposal.turn] = proposal.subject
    return result


def _boxes(proposal: Proposal) -> int:
    return 1 + len(proposal.parts)


def _first_proposals(made: Iterable[Proposal], left: int) -> Iterator[Proposal]:
    """Return the first proposals, as many as there are boxes left; the rest is never computed."""
    for proposal in made:
        left -= _boxes(proposal)
        if left < 0:
            return
        yield proposal


def _of_turns(trial: Trial, others: Sequence[Trial], known: KnownValues) -> Iterator[Proposal]:
    changing = {str(entry.get("tool")) for entry in trial.world_journal}
    for turn in trial.turns:
        theirs = [
            next((record for record in other.turns if record.index == turn.index), None)
            for other in others
        ]
        if turn.error is None:
            of_turn = [
                *_calls(turn, theirs, known, changing),
                *_phrases(turn, theirs, known),
            ]
            yield from (proposal for proposal in of_turn if _passes(trial, proposal))
            yield _expected_proposal(turn)


# Calls


def _calls(
    turn: TurnRecord,
    others: Sequence[TurnRecord | None],
    known: KnownValues,
    changing: Collection[str],
) -> Iterator[Proposal]:
    calls, theirs = turn.tool_calls, [other.tool_calls if other else () for other in others]
    partners: dict[int, list[ToolCall | None]] = {}
    for name in dict.fromkeys(call.name for call in calls):
        places = [place for place, call in enumerate(calls) if call.name == name]
        ours = [calls[place] for place in places]
        alike = [
            pair_by_likeness(
                ours, [call for call in other if call.name == name], lambda call: call.args
            )
            for other in theirs
        ]
        partners |= {place: [pairs[n] for pairs in alike] for n, place in enumerate(places)}
    seen: list[JsonObject] = []
    for place, call in enumerate(calls):
        proposal = _call(turn.index, place, call, partners[place], known)
        pattern = _check(proposal, {part.key for part in proposal.parts if not part.doubt})[1]
        doubt = proposal.doubt
        if error_of(call):
            doubt = FAILED
        elif not doubt and call.name in changing:
            doubt = SEEN_IN_CHANGES
        elif not doubt and not others and any(equal(pattern, other) for other in seen):
            doubt = REPEATS
        seen.append(pattern)
        yield replace(proposal, doubt=doubt, is_ticked=not doubt)
    if len([call for call in calls if not error_of(call)]) > 1:
        yield _order(turn, theirs)


def _call(
    turn: int, place: int, call: ToolCall, partners: Sequence[ToolCall | None], known: KnownValues
) -> Proposal:
    key = f"turn-{turn}-call-{place + 1}"
    values = [partner.args for partner in partners if partner is not None]
    parts = split_value(call.args, values, known=known, key=key)
    doubt = DIFFERS if None in partners else ""
    words = f"Calls {cut_middle(call.name, _SHOWN)}"
    return Proposal(key, "call", turn, words, doubt=doubt, parts=parts, subject=call.name)


def _order(turn: TurnRecord, others: Sequence[Sequence[ToolCall]]) -> Proposal:
    names = [call.name for call in turn.tool_calls if not error_of(call)]
    orders = [iter([call.name for call in other]) for other in others]
    is_same = all(all(name in order for name in names) for order in orders)
    return Proposal(
        f"turn-{turn.index}-order",
        "order",
        turn.index,
        f"In this order: {join_list([cut_middle(name, _SHOWN) for name in names])}",
        is_ticked=bool(others) and is_same,
        doubt="" if is_same else DIFFERS,
        subject=names,
    )


# Phrases


def _phrases(
    turn: TurnRecord, others: Sequence[TurnRecord | None], known: KnownValues
) -> Iterator[Proposal]:
    for number, phrase in enumerate(phrases_of(turn.reply), 1):
        options = _contains(phrase)
        if others:
            grader = AssertionSpec.model_validate(options).grader
            doubt = "" if all(_is_in(grader, other) for other in others) else DIFFERS
        else:
            doubt = _doubt_of(phrase, known)
        yield Proposal(
            f"turn-{turn.index}-phrase-{number}",
            "phrase",
            turn.index,
            f"The reply contains {in_quotes(phrase.text)}",
            is_ticked=not doubt,
            doubt=doubt,
            subject=options,
        )


def _contains(phrase: Phrase) -> dict[str, Any]:
    whole = {"whole_words": True} if phrase.is_whole else {}
    return {"type": "contains", "value": phrase.text} | whole


def _is_in(grader: Any, turn: TurnRecord | None) -> bool:
    if turn is None or turn.error is not None:
        return False
    trial = Trial(case="", number=1, planned_turns=1, agent="", turns=(turn,))
    return bool(grader.grade(View(trial, turn)).passed)


def _doubt_of(phrase: Phrase, known: KnownValues) -> str:
    """Explain why a phrase might not be in the next reply, if only one is known."""
    text = phrase.text.casefold()
    if any(value in text or has_words(value, text) for value in known.made_up):
        return known.doubt(phrase.text) or RANDOM
    if phrase.kind in {"date", "time"}:
        return "" if known.has(phrase.text) else TIME
    if phrase.kind in {"name", "quote", "address"}:
        return "the words may differ"
    if phrase.kind == "number":
        digits = phrase.text.replace(",", "")
        return known.doubt(int(digits)) if digits.isdecimal() else ""
    return known.doubt(phrase.text)


def _expected_proposal(turn: TurnRecord) -> Proposal:
    return Proposal(
        f"turn-{turn.index}-expected",
        "expected",
        turn.index,
        "Use the whole reply as the expected answer",
        subject=turn.reply,
    )


# World


def _of_world(trial: Trial, others: Sequence[Trial], known: KnownValues) -> Iterator[Proposal]:
    if trial.is_outside or _is_unfinished(trial):
        return
    if not trial.world_journal and _CHANGING.isdisjoint(tool.name for tool in trial.tools):
        return
    changes = happenings(trial, others, known=known)
    everything = {key for change in changes for key in _keys_of(change)}
    if len(everything) > MAX_BOXES // 2:
        return
    is_only = not others or changed_nothing_else(trial, others)
    try:
        changes_check(trial, changes, kept=everything, nothing_else=True)
    except CannotExpectError:
        return
    for change in changes:
        yield Proposal(
            change.key,
            "change",
            None,
            str(change),
            is_ticked=not change.doubt,
            doubt=change.doubt,
            parts=change.parts,
            subject=change,
        )
    doubt = "" if is_only and not any(change.doubt for change in changes) else DIFFERS
    words = "Nothing else may change" if changes else "Nothing may change"
    yield Proposal("nothing_else", "nothing_else", None, words, is_ticked=not doubt, doubt=doubt)


def _keys_of(change: Happening) -> set[str]:
    return {change.key, *(part.key for part in change.parts)}


def _changes(
    trial: Trial, offered: Sequence[Proposal], keys: Collection[str]
) -> AssertionSpec | None:
    changes = [proposal.subject for proposal in offered if proposal.kind == "change"]
    nothing_else = "nothing_else" in keys
    if not nothing_else and not any(change.key in keys for change in changes):
        return None
    return changes_check(trial, changes, kept=keys, nothing_else=nothing_else)


# Limits


def _limits(trial: Trial, others: Sequence[Trial]) -> Iterator[Proposal]:
    if _is_unfinished(trial):
        return
    for limit in LIMITS:
        if limit.key not in _BOUNDS:
            continue
        measured = [limit.measure(one) for one in (trial, *others)]
        known = [value for value in measured if value is not None]
        if measured[0] is None or not known:
            continue
        bound, words = _BOUNDS[limit.key](max(known))
        if bound is not None:
            yield Proposal(f"limit-{limit.key}", "limit", None, words, subject={limit.key: bound})


def _rounded_up(value: float | Decimal) -> Decimal:
    """Return twice a value, rounded up to two digits."""
    double = Decimal(str(value)) * 2
    step = Decimal(10) ** (double.adjusted() - 1)
    return Decimal(math.ceil(double / step)) * step


def _tokens(used: float | Decimal) -> tuple[int | None, str]:
    bound = max(int(_rounded_up(used)), _MIN_TOKENS) if used else None
    return bound, f"At most {bound or 0:,} response tokens ({used:,} were used)"


def _time(taken_ms: float | Decimal) -> tuple[int | None, str]:
    bound = max(int(_rounded_up(taken_ms)), _MIN_MS) if taken_ms else _MIN_MS
    return bound, f"Takes at most {bound / 1000:,g} s (it took {float(taken_ms) / 1000:,.2f} s)"


def _cost(spent: float | Decimal) -> tuple[Decimal | None, str]:
    bound = _rounded_up(spent) if spent else None
    shown = usd_text(bound or Decimal(0), is_exact=True)
    return bound, f"Costs at most {shown} (it cost {usd_text(Decimal(spent))})"


def _tool_calls(made: float | Decimal) -> tuple[int | None, str]:
    if not made:
        return 0, "No tool calls"
    return int(made), f"At most {made:,} tool call{'' if made == 1 else 's'}, as many as were made"


_BOUNDS: Mapping[str, Callable[[float | Decimal], tuple[object, str]]] = {
    "max_tool_calls": _tool_calls,
    "max_response_tokens": _tokens,
    "max_time_ms": _time,
    "max_cost_usd": _cost,
}


# Checks


def _check(proposal: Proposal, keys: Collection[str]) -> _Check:
    return proposal.turn, _WRITTEN[proposal.kind](proposal, keys)


def _call_options(proposal: Proposal, keys: Collection[str]) -> JsonObject:
    args = compose_matchers(proposal.parts, keys)
    return {"type": "tool_called", "value": proposal.subject} | ({"args": args} if args else {})


_WRITTEN: Mapping[str, Callable[[Proposal, Collection[str]], JsonObject]] = {
    "call": _call_options,
    "order": lambda proposal, _: {
        "type": "tool_calls",
        "tools": list(proposal.subject),
        "ordered": True,
    },
    "phrase": lambda proposal, _: dict(proposal.subject),
}


def _merge_calls(written: Sequence[_Check]) -> Iterator[_Check]:
    """Merge equal checks of calls into one that asks for several calls."""
    merged: list[_Check] = []
    for turn, options in written:
        for known_turn, known in merged:
            without = {key: value for key, value in known.items() if key != "min_count"}
            if turn == known_turn and equal(without, options):
                known["min_count"] = known.get("min_count", 1) + 1
                break
        else:
            merged.append((turn, options))
    yield from merged


def _sound(trial: Trial, turn: int | None, options: JsonObject) -> AssertionSpec:
    spec = AssertionSpec.model_validate(options)
    if not _is_met(trial, turn, spec):
        raise CannotExpectError(f"This conversation itself would fail the check “{spec.label}”.")
    return spec


def _passes(trial: Trial, proposal: Proposal) -> bool:
    """Return whether the trial itself passes the check with all its parts."""
    turn, options = _check(proposal, {part.key for part in proposal.parts})
    try:
        return _is_met(trial, turn, AssertionSpec.model_validate(options))
    except ValidationError:
        return False


def _is_met(trial: Trial, turn: int | None, spec: AssertionSpec) -> bool:
    record = next((record for record in trial.turns if record.index == turn), None)
    return isinstance(spec.grader, PlainGrader) and bool(
        spec.grader.grade(View(trial, record)).passed
    )


def _is_unfinished(trial: Trial) -> bool:
    """Return whether checks at the end could not be graded."""
    is_broken = trial.failure is not None or trial.ended_early
    return is_broken or not trial.turns or trial.turns[-1].error is not None
