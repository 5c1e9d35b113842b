"""Digests of a check's question and of the criterion and judges behind its answer."""

import hashlib
import json
from collections.abc import Sequence

from evals_app.engine.graders import JudgedGrader
from evals_app.engine.graders.judged import Rubric
from evals_app.engine.judging import CHECK_PROMPT_VERSION, MEASURE_PROMPT_VERSION
from evals_app.engine.record.grade import JudgedCriterionSpec
from evals_app.engine.specs.base_spec import ModelSpec
from evals_app.engine.suites.assertion_spec import AssertionSpec
from evals_app.engine.suites.case_spec import TurnSpec

DIGITS = 32
_WHO = {"votes", "jury"}  # options about the models that are asked, not about the question


def question_of(check: AssertionSpec, turn: TurnSpec | None) -> str:
    """Return a digest of what a check asks about a turn, regardless of the judge."""
    given = turn and [turn.expected, turn.context, turn.retrieval_context, turn.config]
    options = check.grader.model_dump(mode="json", exclude=_WHO)
    return digest_of([check.type, options, check.threshold, check.scope, given])


def judged_criterion_of(
    check: AssertionSpec, judges: Sequence[ModelSpec], *, judge_prompt: str
) -> JudgedCriterionSpec | None:
    """Return the criterion and judges of a check; None if no judge is asked."""
    grader = check.grader
    if grader.family != "judged":
        return None
    is_check = isinstance(grader, JudgedGrader)
    version = CHECK_PROMPT_VERSION if is_check else MEASURE_PROMPT_VERSION
    asked = [[model.model_dump(mode="json") for model in judges], version, judge_prompt.strip()]
    options = grader.model_dump(mode="json")
    bullets = grader.checklist.items if isinstance(grader, Rubric) else ()
    votes = {name: options.get(name) for name in sorted(_WHO)}
    return JudgedCriterionSpec(
        digest=digest_of([check.type, options, asked]),
        type=check.type,
        criterion=getattr(grader, "criteria", "") or grader.label,
        scale="rubric" if isinstance(grader, Rubric) else getattr(grader, "scale", ""),
        judges=tuple(map(str, judges)),
        prompt_version=version,
        items=tuple(digest_of([*bullet.under, bullet.text, votes, asked]) for bullet in bullets),
    )


def digest_of(content: object) -> str:
    """Return a digest of plain data."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]
