"""Probes: answers that ought to fail, and which of them a check ought to fail.

A check is tried only on what it is there to notice. One that forbids something passes an empty reply,
and rightly so: it is tried on what it forbids. One that looks for a piece of the answer passes the
negation of the answer, which has that piece; only the opposite of yes or true ought to fail it.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals_app.engine.basics.decimals import ZERO
from evals_app.engine.graders.compare import CompareValues
from evals_app.engine.graders.json_reply import JsonPath, JsonSchema
from evals_app.engine.graders.numbers import Numeric
from evals_app.engine.graders.text import NotMatches
from evals_app.engine.graders.tools import ToolCalls
from evals_app.engine.graders.world import WorldChanges
from evals_app.engine.record.trial import Message, ToolCall, Trial, TurnRecord
from evals_app.engine.record.usage import NO_USAGE
from evals_app.engine.specs.inventory import Inventory
from evals_app.engine.suites.suite_spec import AssertionSpec, CaseSpec, PlacedCheck
from fixtures_app.ground.patterns import search
from fixtures_app.ground.quoting import join_list

REFUSAL = "I'm sorry, but I can't help with that."
# What each probe is, in the words of reports.
PROBES: Mapping[str, str] = {
    "nothing": "an empty reply",
    "refusal": f"a refusal: “{REFUSAL}”",
    "question": "the question repeated",
    "other_answer": "the expected answers of other cases",
    "negation": "the opposite of the expected answer",
    "near_number": "the expected answer with another number",
    "one_word": "one word of the expected answer",
    "empty_data": "JSON without content",
    "other_data": "JSON with other content",
    "no_tool": "no tool called",
    "every_tool": "every tool called",
    "untouched": "the world untouched",
    "changed": "something in the world changed",
    "forbidden": "what the check forbids",
}
COMPARE_WHOLE = frozenset(
    {"exact_match", "fuzzy_match", "token_f1", "bleu", "rouge", "meteor", "semantic_similarity"}
)
# What a comparison must be for any other reply to fail.
_ASKS_FOR = {"=", "contains", "matches"}
_REFUSES = re.compile(
    r"\b(sorry|can(no|.)?t|won.?t|unable|not able|apolog|refus|declin|afraid|help with"
    r"|lo siento|no puedo|leider|kann .{0,20}nicht|désolé|ne peux pas)",
    re.IGNORECASE,
)
_OPPOSITES = (
    *(("yes", "no"), ("true", "false"), ("ja", "nein"), ("sí", "no"), ("si", "no"), ("oui", "non")),
    *(("correct", "incorrect"), ("valid", "invalid"), ("allowed", "not allowed")),
    *(
        ("possible", "impossible"),
        ("approved", "rejected"),
        ("pass", "fail"),
        ("positive", "negative"),
    ),
)
_OPPOSITE = {one: other for pair in reversed(_OPPOSITES) for one, other in (pair, pair[::-1])}
_VERB = re.compile(r"\b(is|are|was|were|has|have|can|will|may|must)\b")
_NUMBER = re.compile(r"\d+(?=(?:[.,]\d+)*\D*$)")
_MANY_TIMES = 10
_MANY_WORDS = 5
_PATTERN_EXAMPLES = ("0" * 16, "a", "a1@b.co", "2026-01-01", "(1)", REFUSAL)
_CREATED = {"id": "probe-1", "type": "probe", "data": {}, "status": "active"}


class NotTriedError(Exception):
    """No answer can be made that ought to fail the check; the message says why."""


@dataclass(frozen=True, slots=True)
class Probe:
    """An answer that ought to fail; `reply` None is each turn's own message, repeated."""

    name: str
    reply: str | None = ""
    calls: tuple[ToolCall, ...] = ()
    journal: tuple[dict[str, Any], ...] = ()

    def trial(self, case: CaseSpec) -> Trial:
        """Return the conversation in which the agent answers each message of a case like this."""
        turns = []
        for index, turn in enumerate(case.turns, 1):
            reply = turn.user if self.reply is None else self.reply
            turns.append(
                TurnRecord(
                    index=index,
                    user=turn.user,
                    reply=reply,
                    messages=(Message("assistant", reply, self.calls),),
                    usage=NO_USAGE,
                    latency_ms=0.0,
                    cost_usd=ZERO,
                    expected=turn.expected,
                    journal_end=len(self.journal),
                )
            )
        return Trial(
            case=case.name,
            number=1,
            planned_turns=len(turns),
            agent="",
            turns=tuple(turns),
            world_journal=self.journal,
        )


def named_probes(names: Iterable[str]) -> str:
    """Return what probes are, for a sentence."""
    return join_list([PROBES[name] for name in names])


def only_measures_effort(check: AssertionSpec) -> bool:
    """Return whether a check reads only time or cost."""
    return check.grader.family == "effort"


def probes_for(
    placed: PlacedCheck, case: CaseSpec, *, inventory: Inventory, others: Sequence[str]
) -> Iterator[Probe]:
    """Return what a check ought to fail; `others` are expected answers of other cases.

    Raises:
        NotTriedError: nothing can be made that it ought to fail.
    """
    check, grader = placed.check, placed.check.grader
    if only_measures_effort(check):
        raise NotTriedError("It reads only time or cost.")
    if check.type == "not_contains":
        yield Probe("forbidden", getattr(grader, "value", ""))
    elif isinstance(grader, NotMatches):
        yield Probe("forbidden", _example_of_pattern(grader))
    elif isinstance(grader, CompareValues) and grader.comparison not in _ASKS_FOR:
        raise NotTriedError("It sets a limit, or forbids something.")
    elif grader.reads_text:
        yield from _wrong_replies(placed, case, others)
    elif isinstance(grader, WorldChanges):
        if not grader.only_forbids():
            yield Probe("untouched", "Done.")
        if grader.nothing_else:
            entry = {"op": "create", "id": "probe-1", "before": None, "after": _CREATED}
            yield Probe("changed", "Done.", journal=(entry,))
    else:
        yield from _wrong_calls(placed, inventory)


def _wrong_replies(placed: PlacedCheck, case: CaseSpec, others: Sequence[str]) -> Iterator[Probe]:
    check, grader = placed.check, placed.check.grader
    turn = placed.turn or case.turns[-1]
    wanted = answer_of(check, expected_in(placed))
    yield Probe("nothing")
    if not _REFUSES.search(f"{wanted} {turn.expected or ''} {grader.summary()}"):
        yield Probe("refusal", REFUSAL)
    if wanted.casefold().strip() != turn.user.casefold().strip():
        yield Probe("question", None)
    yield from (Probe("other_answer", other) for other in others)
    if negated := opposite(wanted, of_all=check.type in COMPARE_WHOLE or grader.family == "judged"):
        yield Probe("negation", negated)
    if check.type != "matches" and (changed := with_near_number(wanted, grader)):
        yield Probe("near_number", changed)
    words = wanted.split()
    if grader.family == "overlap" and len(words) >= _MANY_WORDS:
        yield Probe("one_word", max(words, key=len))
    if isinstance(grader, JsonSchema):
        yield from _other_data(grader.json_schema)
    elif isinstance(grader, CompareValues) or (
        isinstance(grader, JsonPath) and grader.value != {"present": False}
    ):
        yield Probe("empty_data", "{}")


def expected_in(placed: PlacedCheck) -> str | None:
    """Return the expected answer where a check grades."""
    return placed.turn.expected if placed.turn else None


def answer_of(check: AssertionSpec, expected: str | None) -> str:
    """Return the text that a check looks for: its own, or else the expected answer."""
    own = getattr(check.grader, "value", None)
    if check.grader.family == "json" or check.type in {"matches", "not_contains", "not_matches"}:
        own = ""  # no answer
    elif check.grader.family == "judged":
        own = expected
    return str(expected or "" if own is None else own)


def opposite(wanted: str, *, of_all: bool = False) -> str:
    """Return the negation of a text: of a yes or no always, of a sentence if it is compared as a whole."""
    word = wanted.strip().rstrip(".!").casefold()
    if word in _OPPOSITE:
        return _OPPOSITE[word]
    if not (of_all and " " in wanted.strip()):
        return ""
    negated, count = _VERB.subn(r"\1 not", wanted, count=1)
    return negated if count else f"It is not true that {wanted}"


def with_near_number(wanted: str, grader: object = None) -> str:
    """Return a text with its last number one higher, or so much higher that the check ought to see it."""
    match = _NUMBER.search(wanted)
    if match is None or len(match[0]) > 15:  # noqa: PLR2004 - a code
        return ""
    number = int(match[0])
    step = 1.0
    if isinstance(grader, Numeric):
        share = grader.relative_tolerance
        allowed = max(grader.absolute_tolerance, share * (number + 1))
        # With a tolerance of many times the number, or of 100 % and more, nearly every number is right.
        step = min(max(1.0, 2 * allowed), (number + 1.0) * (1 if share >= 1 else _MANY_TIMES))
    higher = str(number + round(step)).zfill(len(match[0]))
    return f"{wanted[: match.start()]}{higher}{wanted[match.end() :]}"


def _other_data(schema: Mapping[str, object]) -> Iterator[Probe]:
    """Return data without content and with other content, of the kind that the schema asks for."""
    stranger = {"unexpected": "value"}
    if schema.get("type") == "array":
        yield Probe("empty_data", "[]")
        yield Probe("other_data", json.dumps([stranger]))
        return
    yield Probe("empty_data", "{}")
    named = schema.get("properties")
    filled = {key: [stranger] for key in named} if isinstance(named, dict) else {}
    yield Probe("other_data", json.dumps(filled | stranger))


def _wrong_calls(placed: PlacedCheck, inventory: Inventory) -> Iterator[Probe]:
    check, grader = placed.check, placed.check.grader
    if not check.grader.only_forbids():
        said = getattr(grader, "expected_output", None) or expected_in(placed)
        yield Probe("no_tool", said or "Done.")
    if isinstance(grader, ToolCalls) and grader.exact:
        names = [*(tool.name for tool in grader.tools), *(inventory.tools or ()), "another_tool"]
        yield Probe("every_tool", "Done.", tuple(ToolCall(name, {}) for name in names))
    elif check.grader.only_forbids():
        count = 1 + (getattr(grader, "max_count", None) or 0)
        yield Probe("every_tool", "Done.", tuple(_calls_of_all(grader, inventory)) * count)


def _calls_of_all(grader: Any, inventory: Inventory) -> Iterator[ToolCall]:
    """Return a call of each tool, with the arguments that a check is about."""
    if inventory.tools == frozenset():
        raise NotTriedError("The agent has no tools.")
    for name in sorted(inventory.tools or {grader.value}):
        taken = inventory.arguments.get(name)
        args = {
            key: _example_of(matcher)
            for key, matcher in grader.args.items()
            if matcher != {"present": False} and (taken is None or key in taken)
        }
        yield ToolCall(name, args, result=grader.output or "Done.")


def _example_of(matcher: Any) -> object:
    """Return a value that an argument may have."""
    kind = next(iter(matcher), None) if isinstance(matcher, dict) and matcher else None
    read: dict[str | None, Callable[[Any], Any]] = {
        "fuzzy": lambda wanted: wanted,
        "any_of": lambda options: _example_of(options[0]),
        "contains": lambda part: part if isinstance(part, str) else [part],
        "present": lambda _: "value",
    }
    if kind == "regex":
        raise NotTriedError("No example of the pattern of its argument is known.")
    return read[kind](matcher[kind]) if kind in read else matcher


def _example_of_pattern(grader: NotMatches) -> str:
    literal = re.sub(r"\\b|^\^|\$$|\(\?\w+\)|\\(?=\W)", "", grader.value)
    for text in (*literal.split("|"), *_PATTERN_EXAMPLES):
        if search(grader.value, text, case_sensitive=grader.case_sensitive) is not None:
            return text
    raise NotTriedError("No example of what its pattern forbids is known.")
