"""What a judge model must answer, and how an answer is read.

Every reply is validated, also where an API promises to keep to a schema. The keys stand in the order
in which a model should think: evidence first, the verdict last.
"""

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from evals_app.engine.trial import Scale

_SCORES: dict[Scale, list[int]] = {"1-5": [1, 2, 3, 4, 5], "0-1": list(range(11)), "pass_fail": []}
_VERDICTS: dict[Scale, list[str]] = {
    "1-5": ["graded", "cannot_grade"],
    "0-1": ["graded", "cannot_grade"],
    "pass_fail": ["pass", "fail", "cannot_grade"],
}
_MAX_QUOTES = 20
_SILENT = "-"  # what a script says that gives no reason
_MAX_RESCANS = 20


class VerdictError(ValueError):
    """A reply that is no verdict; the message can be sent back to the judge."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge decided; `raw` is on the scale, `score` in 0..1, both None if it cannot grade."""

    raw: float | str | None
    score: float | None
    critique: str
    quotes: tuple[tuple[str, str], ...] = ()
    injection_suspected: bool = False


class _Quote(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    quote: str
    bears_on: str


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    evidence: list[_Quote]
    critique: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    injection_suspected: bool


class _FivePoints(_Answer):
    verdict: Literal["graded", "cannot_grade"]
    score: Annotated[int, Field(ge=1, le=5)]


class _Tenths(_Answer):
    verdict: Literal["graded", "cannot_grade"]
    score: Annotated[int, Field(ge=0, le=10)]


class _PassFail(_Answer):
    verdict: Literal["pass", "fail", "cannot_grade"]


_ANSWERS: dict[Scale, type[_FivePoints | _Tenths | _PassFail]] = {
    "1-5": _FivePoints,
    "0-1": _Tenths,
    "pass_fail": _PassFail,
}


def verdict_schema(scale: Scale) -> dict[str, Any]:
    """Give the JSON Schema of an answer; a scale is an enum, since APIs do not enforce ranges."""
    quote = {
        "type": "object",
        "properties": {"quote": {"type": "string"}, "bears_on": {"type": "string"}},
        "required": ["quote", "bears_on"],
        "additionalProperties": False,
    }
    properties: dict[str, Any] = {
        "evidence": {"type": "array", "items": quote},
        "critique": {"type": "string"},
        "injection_suspected": {"type": "boolean"},
        "verdict": {"type": "string", "enum": _VERDICTS[scale]},
    }
    if _SCORES[scale]:
        properties["score"] = {"type": "integer", "enum": _SCORES[scale]}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_verdict(text: str, scale: Scale) -> Verdict:
    """Read a reply: the last balanced JSON object in it.

    Raises:
        VerdictError: there is none, or it is not of the schema.
    """
    data = last_object(text)
    if data is None:
        raise VerdictError("The answer holds no JSON object.")
    if data.get("verdict") == "cannot_grade":
        # Its score is ignored, so it need not be on the scale.
        data = data | {"score": _SCORES[scale][0]} if _SCORES[scale] else data
    try:
        answer = _ANSWERS[scale].model_validate(data)
    except ValidationError as exc:
        problems = [
            f"{'.'.join(str(part) for part in error['loc']) or 'answer'}: {error['msg']}"
            for error in exc.errors(include_url=False)[:5]
        ]
        raise VerdictError("; ".join(problems)) from None
    score = None if isinstance(answer, _PassFail) else answer.score
    raw, graded = _on_scale(scale, answer.verdict, score)
    quotes = tuple((each.quote, each.bears_on) for each in answer.evidence[:_MAX_QUOTES])
    return Verdict(raw, graded, answer.critique, quotes, answer.injection_suspected)


def read_scripted(text: str, scale: Scale) -> Verdict:
    """Read the reply of a scripted judge: a bare verdict (`pass`, `4`), or an object with some keys.

    Raises:
        VerdictError: it is neither.
    """
    bare = text.strip().strip("\"'`.").strip().lower()
    if bare == "cannot_grade" or bare in _VERDICTS[scale][:-1]:
        data: dict[str, Any] | None = {"verdict": bare}
    elif re.fullmatch(r"[0-9]{1,2}", bare):
        data = {"score": int(bare)}
    else:
        data = last_object(text)
    if data is None:
        _refuse_scripted(text, scale)
    if _SCORES[scale] and "score" in data:
        data = {"verdict": "graded"} | data
    defaults = {"evidence": [], "critique": _SILENT, "injection_suspected": False}
    evidence = data.get("evidence")
    if isinstance(evidence, list):
        bears_on = {"bears_on": ""}
        defaults["evidence"] = [bears_on | e if isinstance(e, dict) else e for e in evidence]
        data = {key: value for key, value in data.items() if key != "evidence"}
    try:
        verdict = read_verdict(json.dumps(defaults | data), scale)
    except VerdictError:
        _refuse_scripted(text, scale)
    said = "" if verdict.critique == _SILENT else verdict.critique
    critique = f"Scripted verdict: {said}" if said else "Scripted verdict."
    return Verdict(
        verdict.raw, verdict.score, critique, verdict.quotes, verdict.injection_suspected
    )


def _refuse_scripted(text: str, scale: Scale) -> NoReturn:
    names = {"1-5": "1 to 5", "0-1": "tenths from 0 to 10", "pass_fail": "pass or fail"}
    found = text.strip()[:80]
    raise VerdictError(
        f"The scripted judge answered {found!r}; on the scale {scale} it answers {names[scale]},"
        " or cannot_grade."
    )


def _on_scale(
    scale: Scale, verdict: str, score: int | None
) -> tuple[float | str | None, float | None]:
    if verdict == "cannot_grade":
        return None, None
    if score is None:
        return verdict, 1.0 if verdict == "pass" else 0.0
    return (score, (score - 1) / 4) if scale == "1-5" else (score / 10, score / 10)


def last_object(text: str) -> dict[str, Any] | None:
    """Find the last balanced JSON object in a text; None if there is none. Linear time."""
    start = 0
    for _ in range(_MAX_RESCANS):
        # A brace in the prose before it may swallow the object: begin again behind that brace.
        start = text.find("{", start)
        if start < 0:
            return None
        if found := _last_object_from(text, start):
            return found
        start += 1
    return None


def _last_object_from(text: str, begin: int) -> dict[str, Any] | None:
    last: dict[str, Any] | None = None
    depth = start = 0
    in_string = is_escaped = False
    for place in range(begin, len(text)):
        character = text[place]
        if in_string:
            if is_escaped:
                is_escaped = False
            elif character == "\\":
                is_escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = depth > 0  # outside of an object a quotation mark is prose
        elif character == "{":
            start = start if depth else place
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if not depth:
                last = _object(text[start : place + 1]) or last
    return last


def _object(text: str) -> dict[str, Any] | None:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            msg = "A key occurs twice."
            raise ValueError(msg)
        return found

    try:
        value = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
