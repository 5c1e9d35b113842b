"""What a judge model must answer, and how an answer is read.

Every reply is validated, also where an API promises to keep to a schema. The keys stand in the order
in which a model should think: evidence first, the verdict last.
"""

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from evals_app.engine.aids import Scale
from evals_app.engine.errors import JudgeError
from evals_app.engine.judging.asking import UnreadableError
from evals_app.engine.judging.objects import checked, last_object, object_schema, read_object
from evals_app.engine.judging.transcript import cut

_SCORES: dict[Scale, list[int]] = {"1-5": [1, 2, 3, 4, 5], "0-1": list(range(11)), "pass_fail": []}
_VERDICTS: dict[Scale, list[str]] = {
    "1-5": ["graded", "cannot_grade"],
    "0-1": ["graded", "cannot_grade"],
    "pass_fail": ["pass", "fail", "cannot_grade"],
}
_MAX_QUOTES = 20
MAX_CHARS = 2000  # of a critique, or a quote: what a person reads
SCRIPTED_CRITIQUE = "Scripted verdict."


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge decided; `raw` is on the scale, `score` in 0..1."""

    raw: float | str
    score: float
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
    text = {"type": "string"}
    quote = object_schema({"quote": text, "bears_on": text})
    properties: dict[str, Any] = {
        "evidence": {"type": "array", "items": quote},
        "critique": text,
        "injection_suspected": {"type": "boolean"},
        "verdict": text | {"enum": _VERDICTS[scale]},
    }
    if _SCORES[scale]:
        properties["score"] = {"type": "integer", "enum": _SCORES[scale]}
    return object_schema(properties)


def read_verdict(text: str, scale: Scale) -> Verdict:
    """Read a reply: the last balanced JSON object in it.

    Raises:
        UnreadableError: there is none, or it is not of the schema.
        JudgeError: it says that it cannot grade.
    """
    data = read_object(text)
    if data.get("verdict") == "cannot_grade":
        # Its score is ignored, so it need not be on the scale.
        data = data | {"score": _SCORES[scale][0]} if _SCORES[scale] else data
    answer = checked(_ANSWERS[scale], data)
    critique = cut(answer.critique, MAX_CHARS)
    if answer.verdict == "cannot_grade":
        raise JudgeError(f"The judge cannot grade this: {critique}")
    score = None if isinstance(answer, _PassFail) else answer.score
    raw, graded = _on_scale(scale, answer.verdict, score)
    quotes = tuple(
        (each.quote[:MAX_CHARS], each.bears_on[:MAX_CHARS])
        for each in answer.evidence[:_MAX_QUOTES]
    )
    return Verdict(raw, graded, critique, quotes, answer.injection_suspected)


def read_scripted(text: str, scale: Scale) -> Verdict:
    """Read the reply of a scripted judge: a bare verdict (`pass`, `4`), or an object with some keys.

    Raises:
        UnreadableError: it is neither.
        JudgeError: it is `cannot_grade`.
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
    if isinstance(said := data.get("critique"), str) and said.strip():
        data = data | {"critique": f"{SCRIPTED_CRITIQUE[:-1]}: {said.strip()}"}
    defaults = {"evidence": [], "critique": SCRIPTED_CRITIQUE, "injection_suspected": False}
    evidence = data.get("evidence")
    if isinstance(evidence, list):
        bears_on = {"bears_on": ""}
        defaults["evidence"] = [bears_on | e if isinstance(e, dict) else e for e in evidence]
        data = {key: value for key, value in data.items() if key != "evidence"}
    try:
        return read_verdict(json.dumps(defaults | data), scale)
    except UnreadableError:
        _refuse_scripted(text, scale)


def _refuse_scripted(text: str, scale: Scale) -> NoReturn:
    names = {"1-5": "1 to 5", "0-1": "tenths from 0 to 10", "pass_fail": "pass or fail"}
    found = text.strip()[:80]
    raise UnreadableError(
        f"The scripted judge answered {found!r}; on the scale {scale} it answers {names[scale]},"
        " or cannot_grade."
    )


def _on_scale(scale: Scale, verdict: str, score: int | None) -> tuple[float | str, float]:
    if score is None:
        return verdict, 1.0 if verdict == "pass" else 0.0
    return (score, (score - 1) / 4) if scale == "1-5" else (score / 10, score / 10)
