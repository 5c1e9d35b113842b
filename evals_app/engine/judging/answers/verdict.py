"""What a judge model must answer, and how an answer is read.

Every reply is validated, even if an API guarantees the schema. The keys are in the order in which a
model should think: what the criteria require comes first, the verdict last. Pass or fail follows
from the requirements; a judge that answers something else has contradicted itself.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NoReturn

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.answers.asking import ContradictionError, UnreadableAnswerError
from evals_app.engine.judging.answers.evidence import QuotableText, UnshownError
from evals_app.engine.judging.answers.objects import (
    StrictReply,
    last_object,
    read_object,
    reply_schema,
    validate_answer,
)
from evals_app.engine.judging.text.languages import is_met_by_nothing
from evals_app.engine.judging.text.transcript import cut
from evals_app.engine.record.aids import Requirement, Scale
from evals_app.engine.record.grade import Evidence
from evals_app.engine.statistics.rates import at_least
from fixtures_app.ground.quoting import cut_middle, in_quotes
from fixtures_app.ground.strict_json import Json, JsonObject

# Criteria may define what 0.25 and 0.75 mean.
_TENTHS: list[float] = [0, 1, 2, 2.5, 3, 4, 5, 6, 7, 7.5, 8, 9, 10]
_MET: dict[str, bool | None] = {"yes": True, "no": False, "undecided": None}
_LITTLE = 0.25  # of the best score: the least for an answer that meets everything
_HALF = 0.5  # of the best score: an answer that meets nothing gets less
_MAX_SHOWN = 20
_MAX_NAMED = 3
MAX_CHARS = 2000  # of a critique or quote that a person reads
SCRIPTED_CRITIQUE = "Scripted verdict."
_SCRIPTED: JsonObject = {
    "requirements": [],
    "critique": SCRIPTED_CRITIQUE,
    "injection_suspected": False,
}
_SCRIPTED_REQUIREMENT = {"absent": False, "quote": "", "where": "", "met": "yes"}
_EXPECTED: dict[Scale, str] = {
    "pass_fail": "pass or fail",
    "1-5": "1 to 5",
    "0-1": "tenths from 0 to 10",
    "0-10": "0 to 10",
}


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """What a judge decided; `raw` is on the scale, `score` in 0..1.

    The evidence of `requirements` has not been looked up yet.
    """

    raw: float | str
    score: float
    critique: str
    requirements: tuple[Requirement, ...] = ()
    injection_suspected: bool = False

    @property
    def wants_quotes(self) -> bool:
        """Whether there is anything that could be quoted."""
        is_absent = [requirement.is_absent for requirement in self.requirements]
        return not is_absent or not all(is_absent)

    @property
    def is_met(self) -> bool | None:
        """Whether everything is met (True), or nothing, or not all where all must be (False)."""
        if isinstance(self.raw, str):
            return self.raw == "pass"
        met = {requirement.is_met for requirement in self.requirements}
        return met.pop() if len(met) == 1 else None

    def looked_up(
        self, shown: QuotableText
    ) -> tuple[tuple[Requirement, ...], tuple[Evidence, ...]]:
        """Return the requirements with their quotes looked up, and these quotes."""
        requirements = tuple(
            replace(one, evidence=shown.look_up(one.evidence.quote, one.text))
            if one.evidence
            else one
            for one in self.requirements
        )
        return requirements, tuple(one.evidence for one in requirements if one.evidence)


_Spoken = BeforeValidator(lambda word: word.strip().lower() if isinstance(word, str) else word)


class _Requirement(StrictReply):
    requirement: str
    absent: bool
    quote: str
    where: str
    met: Annotated[Literal["yes", "no", "undecided"], _Spoken]


class _Answer(StrictReply):
    requirements: list[_Requirement]
    critique: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    injection_suspected: bool


class _Graded(_Answer):
    verdict: Annotated[Literal["graded", "cannot_grade"], _Spoken]


class _FivePoints(_Graded):
    score: Annotated[int, Field(ge=1, le=5)]


class _TenPoints(_Graded):
    score: Annotated[int, Field(ge=0, le=10)]


def _check_score(score: float) -> float:
    if score not in _TENTHS:
        raise ValueError(f"The score is one of {', '.join(map(str, _TENTHS))}.")
    return score


class _Tenths(_Graded):
    score: Annotated[
        float, AfterValidator(_check_score), Field(json_schema_extra={"enum": _TENTHS})
    ]


class _PassFail(_Answer):
    verdict: Annotated[Literal["pass", "fail", "cannot_grade"], _Spoken]


_AnyAnswer = _PassFail | _FivePoints | _TenPoints | _Tenths
_ANSWERS: dict[Scale, type[_AnyAnswer]] = {
    "pass_fail": _PassFail,
    "1-5": _FivePoints,
    "0-1": _Tenths,
    "0-10": _TenPoints,
}


def verdict_schema(scale: Scale) -> dict[str, Any]:
    """Return the JSON Schema of an answer."""
    return reply_schema(_ANSWERS[scale])


def read_verdict(
    text: str, scale: Scale, *, criteria: str = "", passing: float | None = None
) -> JudgeVerdict:
    """Read a reply: the last balanced JSON object in it.

    `passing` is the score in 0..1 from which the check passes, None if that is not known.

    Raises:
        UnreadableError: there is none, it is not of the schema, it contradicts itself, or nothing
            shows what it finds met.
        JudgeError: it cannot grade.
    """
    data = read_object(text)
    refuse_verdict_first(data, after="requirements")
    answer = _check_answer(data, scale)
    if not answer.requirements:
        raise UnreadableAnswerError(
            "requirements: list what the criteria require, at least one thing.",
            fault="it listed no requirement",
        )
    if not all(requirement.requirement.strip() for requirement in answer.requirements):
        raise UnreadableAnswerError(
            "requirements: one of them is empty. Say in each what is required.",
            fault="one of its requirements was empty",
        )
    if problem := _contradiction(answer, scale, passing):
        raise ContradictionError(problem)
    verdict = _verdict(answer, scale)
    _refuse_unshown(answer.requirements, criteria)
    return verdict


def _refuse_unshown(requirements: Sequence[_Requirement], criteria: str) -> None:
    """Refuse what is met without a quote, unless the criteria only forbid it or set a condition.

    Raises:
        UnshownError: something is.
    """
    unshown = [
        in_quotes(cut_middle(one.requirement))
        for one in requirements
        if one.met == "yes"
        and not one.quote.strip()
        and not is_met_by_nothing(one.requirement, criteria)
    ]
    if unshown:
        raise UnshownError(
            f"{', '.join(unshown[:_MAX_NAMED])}: met, and no passage shows it. Quote the passage"
            " letter by letter. If there is none, it is met only if the criteria forbid something"
            " here, or set a condition that does not arise; then keep their words. Else it is not met."
        )


def refuse_verdict_first(data: Mapping[str, object], *, after: str) -> None:
    """Refuse a verdict that is written before what it rests on: it was not reasoned, but guessed.

    Raises:
        UnreadableError: it is.
    """
    keys = list(data)
    for key in ("verdict", "score"):
        if key in keys and after in keys and keys.index(key) < keys.index(after):
            raise UnreadableAnswerError(
                f"{key} comes before {after}. Write {after} first.",
                fault=f"it gave the {key} before {after}",
            )


def _check_answer(data: Mapping[str, Json], scale: Scale) -> _AnyAnswer:
    if data.get("verdict") == "cannot_grade" and scale != "pass_fail":
        # Its score is ignored, so it need not be on the scale.
        data = {**data, "score": 1}
    return validate_answer(_ANSWERS[scale], dict(data))


def _verdict(answer: _AnyAnswer, scale: Scale) -> JudgeVerdict:
    critique = cut(answer.critique, MAX_CHARS)
    if answer.verdict == "cannot_grade":
        raise JudgeError(f"The judge cannot grade this: {critique}")
    score = None if isinstance(answer, _PassFail) else answer.score
    raw, graded = _on_scale(scale, answer.verdict, score)
    requirements = tuple(map(_requirement, answer.requirements[:_MAX_SHOWN]))
    return JudgeVerdict(raw, graded, critique, requirements, answer.injection_suspected)


def _contradiction(answer: _AnyAnswer, scale: Scale, passing: float | None) -> str:
    """Explain how a verdict contradicts its requirements; empty if it does not."""
    met = {requirement.met for requirement in answer.requirements}
    if isinstance(answer, _PassFail):
        follows = "fail" if "no" in met else "cannot_grade" if "undecided" in met else "pass"
        is_right = answer.verdict == follows
        return "" if is_right else f"From its requirements follows {follows}, not {answer.verdict}."
    if answer.verdict == "cannot_grade":
        return "" if "undecided" in met else "No requirement is undecided, so it can be graded."
    if met == {"undecided"}:
        return "All requirements are undecided, so there is nothing to grade."
    _, share = _on_scale(scale, answer.verdict, answer.score)
    if met == {"yes"} and share < _LITTLE:
        return f"All requirements are met, and the score is only {answer.score:g}."
    if "yes" not in met and not _is_low(share, passing):
        return (
            f"No requirement is met, and the score is as high as {answer.score:g}: half of the best"
            " score, or a score that passes, needs something that is met."
        )
    if met != {"yes"} and share == 1:
        return f"Not every requirement is met, and the score is {answer.score:g}, the highest there is."
    return ""


def fits_list(requirements: Sequence[Requirement], share: float, passing: float | None) -> bool:
    """Return whether a score in 0..1 may follow from what a judge found of the requirements."""
    met = {requirement.is_met for requirement in requirements}
    is_enough = True in met or _is_low(share, passing)
    return not met or (is_enough and (met == {True} or share < 1))


def _is_low(share: float, passing: float | None) -> bool:
    """Return whether a score says that nothing is met."""
    passes = passing is not None and passing > 0 and at_least(share, passing)
    return share < _HALF and not passes


def _requirement(given: _Requirement) -> Requirement:
    text, quote = given.requirement.strip()[:MAX_CHARS], given.quote[:MAX_CHARS]
    return Requirement(
        text=text,
        is_met=_MET[given.met],
        is_absent=given.absent,
        where=given.where.strip()[:MAX_CHARS],
        evidence=Evidence(quote, bears_on=text) if quote.strip() else None,
    )


def read_scripted(text: str, scale: Scale) -> JudgeVerdict:
    """Read the reply of a scripted judge: a bare verdict (`pass`, `4`), or an object with some keys.

    Raises:
        UnreadableError: it is neither.
        JudgeError: it is `cannot_grade`.
    """
    bare = text.strip().strip("\"'`.").strip().lower()
    words = {"cannot_grade", "pass", "fail"} if scale == "pass_fail" else {"cannot_grade"}
    if bare in words:
        data: dict[str, Any] | None = {"verdict": bare}
    elif re.fullmatch(r"[0-9]{1,2}(\.5)?", bare):
        data = {"score": json.loads(bare)}
    else:
        data = last_object(text)
    if data is None:
        _refuse_scripted(text, scale)
    if scale != "pass_fail" and "score" in data:
        data = {"verdict": "graded"} | data
    if isinstance(critique := data.get("critique"), str) and critique.strip():
        data = data | {"critique": f"{SCRIPTED_CRITIQUE[:-1]}: {critique.strip()}"}
    if "evidence" in data:
        data = _with_requirements(data)
    if isinstance(listed := data.get("requirements"), list):
        filled = [_SCRIPTED_REQUIREMENT | e if isinstance(e, dict) else e for e in listed]
        data = data | {"requirements": filled}
    try:
        answer = _check_answer(_SCRIPTED | data, scale)
    except UnreadableAnswerError:
        _refuse_scripted(text, scale)
    return _verdict(answer, scale)


def _with_requirements(data: Mapping[str, Any]) -> JsonObject:
    """Return the reply of a script that only quotes, as scripts did before version 2 of the prompt."""
    evidence = data["evidence"]
    if not isinstance(evidence, list) or not all(isinstance(quote, dict) for quote in evidence):
        return dict(data)  # refused as an unknown key
    met = "no" if data.get("verdict") == "fail" else "yes"
    listed = [
        {
            "requirement": quote.get("bears_on") or "The criteria",
            "quote": quote.get("quote", ""),
            "met": met,
        }
        for quote in evidence
    ]
    rest = {key: value for key, value in data.items() if key != "evidence"}
    return {"requirements": listed, **rest}


def _refuse_scripted(text: str, scale: Scale) -> NoReturn:
    raise UnreadableAnswerError(
        f"The scripted judge answered {text.strip()[:80]!r}; on the scale {scale}, expected"
        f" {_EXPECTED[scale]}, or cannot_grade."
    )


def _on_scale(scale: Scale, verdict: str, score: float | None) -> tuple[float | str, float]:
    if score is None:
        return verdict, 1.0 if verdict == "pass" else 0.0
    if scale == "1-5":
        return score, (score - 1) / 4
    return (score if scale == "0-10" else score / 10), score / 10
