"""What each type of assertion is here: checks of ours, or a loss with what to do instead."""

import json
import math
import re
import warnings
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from evals_app.engine.graders.json_reply import JsonSchema
from evals_app.formats.promptfoo.javascript import NotSayableError, checks_of, compare_part
from evals_app.formats.promptfoo.templates import Vars, text_of
from evals_app.formats.reading.problems import Json
from fixtures_app.ground.patterns import MAX_PATTERN_CHARS, pattern_problem
from fixtures_app.ground.spec_errors import messages_of

# The whole reply is JSON; without it, a block of code among words would do.
_ALL_JSON = r"\A\s*(?:\{[\s\S]*\}|\[[\s\S]*\]|\"[\s\S]*\"|-?[0-9][0-9.eE+-]*|true|false|null)\s*\z"

# A text between commas; one that contains commas itself is in quotation marks.
_FIELD = re.compile(r'\s*(?:"((?:[^"\\]|""|\\.)*)"\s*(?=,|\Z)|([^,]*))(?:,|\Z)', re.DOTALL)
_MARK = re.compile(r'""|\\(["\\])')

NO_CODE = "Code does not run on import."
CODE = (
    "It is code, which does not run on import. Express it with other checks, or write a Python "
    "function that your administrator permits and use the check `code`."
)
JUDGE = "Ask a judge instead: llm_judge with criteria."
_PATTERN = "Write the relevant part as a pattern instead: matches."
_CONFIDENCE = "Checks read the reply, not the model's confidence."
_TRACE = "Checks read replies and tool calls, not spans. Check the calls: tool_called, tool_calls."
_COMPARED = "Replies are not compared with each other. Grade each by criteria or a rubric."
_COSINE = "Use similar, which measures the cosine."
_FITTING = "A call whose arguments do not fit the schema of its tool fails: tool_called with succeeded: true."
LOST = {
    **dict.fromkeys(("agent-rubric", "classifier", "is-refusal", "moderation", "pi"), JUDGE),
    **dict.fromkeys(("research-rubric", "video-rubric"), JUDGE),
    **dict.fromkeys(("character-count", "word-count", "is-html", "is-sql", "is-xml"), _PATTERN),
    **dict.fromkeys(("contains-html", "contains-sql", "contains-xml"), _PATTERN),
    **dict.fromkeys(("is-valid-function-call", "is-valid-openai-function-call"), _FITTING),
    "is-valid-openai-tools-call": _FITTING,
    **dict.fromkeys(("trace-error-spans", "trace-span-count", "trace-span-duration"), _TRACE),
    **dict.fromkeys(("max-score", "select-best"), _COMPARED),
    **dict.fromkeys(("python", "ruby"), CODE),
    **dict.fromkeys(("citation-faithfulness", "noise-sensitivity"), "Use faithfulness instead."),
    **dict.fromkeys(("perplexity", "perplexity-score"), _CONFIDENCE),
    **dict.fromkeys(("similar:dot", "similar:euclidean"), _COSINE),
    "bertscore": "Use semantic_similarity instead.",
    "conversation-relevance": "Use answer_relevancy on each turn instead.",
    "finish-reason": "A truncated reply fails its other checks.",
    "gleu": "Use bleu or rouge instead, whose scores differ.",
    "guardrails": "Check the reply itself.",
    "human": "Review the conversations. A person's verdict is kept in addition to the checks.",
    "levenshtein": "Use fuzzy_match or token_f1 instead, which compare words.",
    "rouge-s": "Use rouge with variant rouge2.",
    "search-rubric": "A judge does not search. Give it the facts: context of the turn, or "
    "judge_context.",
    "skill-used": "Check the tool calls: tool_called.",
    "trajectory:step-count": "Set the limit max_tool_calls of the case, or min_count of "
    "tool_called.",
    "webhook": "Servers are not asked for verdicts. Write the check as a Python function: code.",
}


# What may be done to a reply before it is checked.
Change = Literal["trimmed", "in lower case"]


class NoEquivalentError(Exception):
    """An assertion that has no equal here; the message says what to do instead."""


class WrongError(Exception):
    """An assertion that could not work in promptfoo either."""


@dataclass(frozen=True, slots=True)
class FilledAssertion:
    """An assertion with its variables filled in; `turn` takes what it needs of the turn."""

    kind: str
    inverse: bool
    value: Any
    threshold: float | None
    place: str | None
    changes: frozenset[Change]
    values: Vars
    turn: Json

    @property
    def case_sensitive(self) -> bool:
        """Whether upper and lower case matter."""
        return not (self.kind.startswith("i") or "in lower case" in self.changes)

    @property
    def spaces(self) -> str:
        """Return the pattern of the space around the reply that does not matter."""
        return r"\s*" if "trimmed" in self.changes else ""

    def text(self) -> str:
        """Return the value as one text.

        Raises:
            NoEquivalentError, WrongError: it is several texts, or none.
        """
        if isinstance(self.value, list) and len(self.value) > 1:
            raise NoEquivalentError(
                "A reply is compared with one text here. Keep one, or write several checks."
            )
        value = self.value[0] if isinstance(self.value, list) and self.value else self.value
        if value is None or isinstance(value, dict | list):
            raise WrongError(f"{self.kind} needs a text as its `value`.")
        return text_of(value)

    def texts(self) -> list[str]:
        """Return the value as texts; one text may contain several between commas.

        Raises:
            NoEquivalentError, WrongError: there is none.
        """
        if isinstance(self.value, list):
            texts = [text_of(item) for item in self.value]
        else:
            texts = list(filter(None, map(_field, _FIELD.finditer(self.text()))))
        if not all(texts) or not texts:
            raise WrongError(f"{self.kind} needs a list of texts as its `value`.")
        return texts

    def json_text(self) -> str:
        """Return the value as a text, whatever it is."""
        if self.value is None:
            raise WrongError(f"{self.kind} needs a `value`.")
        return text_of(self.value)

    def mapping(self) -> Json:
        """Return the value as keys with values.

        Raises:
            WrongError: it is something else.
        """
        if not isinstance(self.value, dict):
            raise WrongError(f"{self.kind} needs keys with values as its `value`.")
        return self.value

    def needed_threshold(self) -> float:
        """Return the threshold.

        Raises:
            NoEquivalentError: there is none.
        """
        if self.threshold is None:
            raise NoEquivalentError(
                "Without a threshold it only measures, and time and cost are always measured."
            )
        return self.threshold

    @property
    def source(self) -> str:
        """Return what is read, in the words of the check `compare`."""
        dot = "." if self.place and self.place[0] != "[" else ""
        source = f"reply{dot}{self.place or ''}"
        for change, function in (("trimmed", "trim"), ("in lower case", "lower")):
            source = f"{function}({source})" if change in self.changes else source
        return source

    def part(self) -> Json:
        """Return the part of a JSON reply that is read."""
        return {"response_path": self.place} if self.place else {}


def _field(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[2].strip()
    return _MARK.sub(lambda mark: mark[1] or '"', match[1])


Translate = Callable[[FilledAssertion], list[Json]]


_WHOLE = "This check reads the whole reply. Use json_path to check {place} instead."
_WHOLE_JUDGED = "A judge reads the whole reply. Name {place} in the criteria: llm_judge."


def _kind(says: Translate, *, negates: bool = False, whole: str = "") -> Translate:
    """Refuse the opposite of an assertion that has none here, and a part of a JSON reply.

    `whole` is why only the whole reply is read; without it, a part can be.
    """

    def check(a: FilledAssertion) -> list[Json]:
        if a.inverse and not negates:
            raise NoEquivalentError(f"{a.kind} cannot be negated here.")
        if a.place and whole:
            raise NoEquivalentError(whole.format(place=a.place))
        return says(a)

    return check


def _text(says: Translate, *, reads_changed: bool = False) -> Translate:
    """Let a check of a text read a part of a JSON reply; with `reads_changed`, a changed reply too."""

    def check(a: FilledAssertion) -> list[Json]:
        checks = says(a)
        if not (a.place or (reads_changed and a.changes)):
            return checks
        try:
            return [compare_part(check, a.source) for check in checks]
        except NotSayableError:
            raise NoEquivalentError(_WHOLE.format(place=a.place or "what matters")) from None

    return _kind(check, negates=True)


def _texts(
    a: FilledAssertion, *texts: str, begin: str = "", end: str = "", case_sensitive: bool = True
) -> list[Json]:
    """Look for texts where there is no check of their own for it, if they fit into a pattern."""
    pattern = f"{begin}{'|'.join(map(re.escape, texts))}{end}"
    if len(pattern) > MAX_PATTERN_CHARS:
        raise NoEquivalentError(
            f"It becomes a pattern of {len(pattern):,} characters, and up to "
            f"{MAX_PATTERN_CHARS:,} are allowed. Shorten it, or write several checks."
        )
    return _pattern(a, pattern, case_sensitive=case_sensitive)


def _pattern(a: FilledAssertion, pattern: str, *, case_sensitive: bool = True) -> list[Json]:
    _require_usable(pattern)
    kind = "not_matches" if a.inverse else "matches"
    return [{"type": kind, "value": pattern, "case_sensitive": case_sensitive}]


def _require_usable(pattern: str) -> None:
    """Lose a pattern that other libraries can read and RE2 cannot; what is none is an error."""
    problem = pattern_problem(pattern)
    if problem is None:
        return
    with warnings.catch_warnings(), suppress(re.error):
        warnings.simplefilter("ignore")
        re.compile(pattern)
        raise NoEquivalentError(problem)


# Texts.


def _contains(a: FilledAssertion) -> list[Json]:
    kind = "not_contains" if a.inverse else "contains"
    texts = a.texts() if a.kind.endswith("-all") else [a.text()]
    return [{"type": kind, "value": text, "case_sensitive": a.case_sensitive} for text in texts]


def _equals(a: FilledAssertion) -> list[Json]:
    if isinstance(a.value, dict | list):
        if a.inverse:
            raise NoEquivalentError("Equality of JSON cannot be negated here.")
        if a.place:
            return [{"type": "json_path", "path": a.place, "value": a.value}]
        return [{"type": "json_schema", "schema": {"const": a.value}}]
    text = a.json_text()
    if text and not (a.inverse or a.changes):
        return [{"type": "exact_match", "value": text, **a.part()}]
    if a.place:
        raise NoEquivalentError(_WHOLE.format(place=a.place))
    return _texts(
        a, text, begin=rf"\A{a.spaces}", end=rf"{a.spaces}\z", case_sensitive=a.case_sensitive
    )


def _javascript(a: FilledAssertion) -> list[Json]:
    try:
        checks = checks_of(text_of(a.value), a.values, inverse=a.inverse, source=a.source)
    except NotSayableError:
        raise NoEquivalentError(
            f"{CODE} Only conditions such as output.includes('x'), output.length < 200 and "
            "JSON.parse(output).state === 'sent', also with ! && ||, are read."
        ) from None
    for check in checks:
        if "matches" in str(check["type"]):
            _require_usable(str(check["value"]))
    return checks


def _overlap(kind: str, usual: float, **options: str) -> Translate:
    def says(a: FilledAssertion) -> list[Json]:
        threshold = usual if a.threshold is None else a.threshold
        return [{"type": kind, "value": a.text(), **options, **a.part(), "threshold": threshold}]

    return _kind(says)


# JSON.


def _contains_json(a: FilledAssertion) -> list[Json]:
    schema = a.value
    if isinstance(schema, str) and schema.strip():
        try:
            schema = json.loads(schema)
        except ValueError:
            raise WrongError(f"{a.kind} takes a JSON Schema as its `value`, or none.") from None
    if schema in (None, "", True):
        return [{"type": "json_valid"}]
    if not isinstance(schema, dict):
        raise WrongError(f"{a.kind} takes a JSON Schema as its `value`, or none.")
    try:
        JsonSchema.model_validate({"schema": schema})
    except ValidationError as error:
        raise NoEquivalentError(messages_of(error)[0]) from None
    return [{"type": "json_schema", "schema": schema}]


def _is_json(a: FilledAssertion) -> list[Json]:
    alone = {"type": "matches", "name": "Nothing but JSON", "value": _ALL_JSON}
    return [*_contains_json(a), alone]


# Judged.


def _judge(criteria: str, opposite: str) -> Translate:
    """Ask for criteria that contain the value of the assertion."""

    def says(a: FilledAssertion) -> list[Json]:
        if a.inverse and not opposite:
            raise NoEquivalentError(f"{a.kind} cannot be negated here.")
        if a.inverse and a.threshold is not None:
            raise NoEquivalentError(
                "A score cannot be negated here. Say in the criteria what must not happen."
            )
        asked = (opposite if a.inverse else criteria).format(a.json_text())
        if a.threshold is None:
            return [{"type": "llm_judge", "criteria": asked, "scale": "pass_fail"}]
        return [{"type": "llm_judge", "criteria": asked, "scale": "0-1", "threshold": a.threshold}]

    return _kind(says, negates=True, whole=_WHOLE_JUDGED)


def _g_eval(a: FilledAssertion) -> list[Json]:
    criteria = a.value if isinstance(a.value, list) else [a.json_text()]
    if not criteria:
        raise WrongError("g-eval needs criteria as its `value`.")
    check = {
        "type": "geval",
        "evaluation_params": ["input", "actual_output"],
        "threshold": 0.7 if a.threshold is None else a.threshold,
    }
    return [{**check, "criteria": text_of(criterion)} for criterion in criteria]


def _rag(kind: str, usual: float) -> Translate:
    def says(a: FilledAssertion) -> list[Json]:
        if kind != "answer_relevancy" and (context := a.values.get("context")):
            passages = context if isinstance(context, list) else [context]
            a.turn["retrieval_context"] = [
                text for passage in passages if (text := text_of(passage))
            ]
        if kind == "contextual_recall":
            expected = a.turn.setdefault("expected", a.text())
            if expected != a.text():
                raise NoEquivalentError(
                    "A turn has one expected text, and another assertion of this test needs a "
                    "different one."
                )
        return [{"type": kind, "threshold": usual if a.threshold is None else a.threshold}]

    return _kind(says, whole=_WHOLE_JUDGED)


# Tool calls.


def _tool(written: object) -> Json:
    """Name a tool; stars are understood around a name."""
    name = text_of(written)
    inner = name.strip("*")
    if not inner or any(sign in inner for sign in "*?"):
        raise NoEquivalentError("Write the name of a tool, or a part of it (*part*).")
    if inner == name:
        return {"value": name}
    if name == f"*{inner}*":
        return {"value": inner, "name_match": "contains"}
    raise NoEquivalentError(
        "A pattern cannot be tied to the beginning or end of a tool's name. Write the name, or "
        "*part*."
    )


def _tool_used(a: FilledAssertion) -> list[Json]:
    if not isinstance(a.value, dict):
        kind = "tool_not_called" if a.inverse else "tool_called"
        return [{"type": kind, **_tool(text)} for text in a.texts()]
    tool = _tool(a.value.get("pattern", a.value.get("name", "")))
    least, most = a.value.get("min", 1), a.value.get("max")
    if a.inverse or most == 0:
        if a.inverse and (least != 1 or most is not None):
            raise NoEquivalentError("A number of calls cannot be negated here.")
        return [{"type": "tool_not_called", **tool}]
    counts = {"min_count": least} | ({} if most is None else {"max_count": most})
    return [{"type": "tool_called", **tool, **counts}]


def _tool_args(a: FilledAssertion) -> list[Json]:
    says = a.mapping()
    if odd := {"defaults", "ignore"} & says.keys():
        raise NoEquivalentError(
            f"Arguments to ignore cannot be listed ({', '.join(odd)}). List those that matter."
        )
    tool = _tool(says.get("name", says.get("pattern", "")))
    args = says.get("args", says.get("arguments", {}))
    how = {"args_match": "exact"} if says.get("mode") == "exact" else {}
    kind = "tool_not_called" if a.inverse else "tool_called"
    return [{"type": kind, **tool, "args": args, **how}]


def _tool_sequence(a: FilledAssertion) -> list[Json]:
    says = {"steps": a.value} if isinstance(a.value, list) else a.mapping()
    steps = says.get("steps")
    if not isinstance(steps, list) or not steps:
        raise WrongError(f"{a.kind} needs `steps`, a list of tools.")
    names = [
        step.get("name", step.get("pattern", "")) if isinstance(step, dict) else step
        for step in steps
    ]
    if any("name_match" in _tool(name) for name in names):
        raise NoEquivalentError("A sequence needs the full names of tools.")
    exact = {"exact": True} if says.get("mode") == "exact" else {}
    return [
        {"type": "tool_calls", "tools": [text_of(item) for item in names], "ordered": True, **exact}
    ]


def _tool_f1(a: FilledAssertion) -> list[Json]:
    if a.threshold is not None and a.threshold < 1:
        raise NoEquivalentError(
            "A tool is either called or not. Check each tool, and let the score of the suite "
            "decide."
        )
    return [{"type": "tool_calls", "tools": a.texts(), "exact": True}]


_RUBRIC = _judge("{}", "The reply does not meet this: {}")
_FACTS = _judge("Nothing in the reply contradicts this; it may say less, or more: {}", "")
_contained = _text(_contains)
_contained_all = _kind(_contained)
_any_contained = _text(lambda a: _texts(a, *a.texts(), case_sensitive=a.case_sensitive))
CHECKS: dict[str, Translate] = {
    "answer-relevance": _rag("answer_relevancy", 0.7),
    "bleu": _overlap("bleu", 0.5),
    "contains": _contained,
    "contains-all": _contained_all,
    "contains-any": _any_contained,
    "contains-json": _kind(_contains_json, whole=_WHOLE),
    "context-faithfulness": _rag("faithfulness", 0.5),
    "context-recall": _rag("contextual_recall", 0.5),
    "context-relevance": _rag("contextual_relevancy", 0.5),
    "cost": _kind(lambda a: [{"type": "cost", "max_usd": a.needed_threshold()}]),
    "ends-with": _text(
        lambda a: _texts(a, a.text(), end=rf"{a.spaces}\z", case_sensitive=a.case_sensitive)
    ),
    "equals": _equals,
    "factuality": _FACTS,
    "g-eval": _kind(_g_eval, whole=_WHOLE_JUDGED),
    "icontains": _contained,
    "icontains-all": _contained_all,
    "icontains-any": _any_contained,
    "is-json": _kind(_is_json, whole=_WHOLE),
    "javascript": _kind(_javascript, negates=True),
    "latency": _kind(lambda a: [{"type": "latency", "max_ms": math.floor(a.needed_threshold())}]),
    "llm-rubric": _RUBRIC,
    "meteor": _overlap("meteor", 0.5),
    "model-graded-closedqa": _RUBRIC,
    "model-graded-factuality": _FACTS,
    "regex": _text(lambda a: _pattern(a, a.text()), reads_changed=True),
    "rouge-l": _overlap("rouge", 0.75, variant="rougeL"),
    "rouge-n": _overlap("rouge", 0.75, variant="rouge1"),
    "similar": _overlap("semantic_similarity", 0.75),
    "similar:cosine": _overlap("semantic_similarity", 0.75),
    "starts-with": _text(
        lambda a: _texts(a, a.text(), begin=rf"\A{a.spaces}", case_sensitive=a.case_sensitive)
    ),
    "tool-call-f1": _kind(_tool_f1),
    "trajectory:goal-success": _judge(
        "With its replies and tool calls the agent achieved this: {}",
        "The agent did not achieve this: {}",
    ),
    "trajectory:tool-args-match": _tool_args,
    "trajectory:tool-sequence": _kind(_tool_sequence),
    "trajectory:tool-used": _tool_used,
}
# What does not read the text of the reply, so that no transformation matters.
NOT_TEXT = {"latency", "cost", "tool-call-f1", *(kind for kind in CHECKS if kind[:4] == "traj")}
_CONTAINS = {f"{i}contains{which}" for i in ("", "i") for which in ("", "-all", "-any")}
_AT_ENDS = {"equals", "starts-with", "ends-with"}
# What finds something else in a changed reply, or measures it differently.
_DIFFERS: Mapping[Change, Collection[str]] = {
    "trimmed": (),
    "in lower case": CHECKS.keys() - NOT_TEXT - _CONTAINS - _AT_ENDS - {"regex", "javascript"},
}
_CHANGED: Mapping[Change, Callable[[str], str]] = {
    "trimmed": str.strip,
    "in lower case": str.lower,
}


def require_same_result(a: FilledAssertion) -> None:
    """Refuse an assertion about a changed reply that no check of the reply itself says.

    Raises:
        NoEquivalentError: the change makes a difference.
    """
    if not a.changes:
        return
    is_list = a.kind.endswith(("-all", "-any"))
    texts = a.texts() if is_list else [a.json_text()] if a.kind in _CONTAINS | _AT_ENDS else []
    for change in a.changes:
        if a.kind in _DIFFERS[change] or any(text != _CHANGED[change](text) for text in texts):
            raise NoEquivalentError(
                f"It checks the reply {change}, which cannot be expressed here."
            )


# What cuts a text at its commas, and what compares the reply with one text.
LISTS = {
    *("contains-all", "contains-any", "icontains-all", "icontains-any"),
    *("tool-call-f1", "trajectory:tool-used"),
}
NEEDLES = {
    *("contains", "ends-with", "equals", "icontains", "javascript", "regex", "starts-with"),
    *("bleu", "meteor", "rouge-l", "rouge-n", "similar", "similar:cosine"),
}
# Their judge can be chosen.
BY_JUDGE = {
    *("llm_judge", "geval", "faithfulness", "answer_relevancy"),
    *("contextual_recall", "contextual_relevancy"),
}
TYPES = (*CHECKS, *sorted(LOST))
