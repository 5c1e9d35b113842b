"""The grader that calls code of the operator's."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from evals_app.engine.basics.errors import CodeError
from evals_app.engine.basics.permits import OUR_MODULE, is_frozen
from evals_app.engine.callables.references import callable_problem
from evals_app.engine.graders.kit.base import AidedGrader
from evals_app.engine.record.aids import Aids
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause, ToolCall
from evals_app.engine.record.view import View
from evals_app.engine.specs.base_spec import SECONDS
from fixtures_app.ground.strict_json import Json, JsonObject


class Code(AidedGrader):
    """Pass when your own Python function says so.

    The operator permits modules (`EVALS_PYTHON_MODULES`). The function is imported when the check is
    saved, so a wrong name is refused immediately. Its only argument is the context, with these
    attributes:

    * `turn_input`, `agent_response`, `ground_truth`: the message, the reply, the expected text
    * `tool_invocations`: the calls, each with `name args result bytes duration_ms error`;
      `duration_ms` may be None
    * `reports_calls`: False if the agent does not report its calls, so there may be others
    * `retrieval_context`: the retrieved texts, or None
    * `turn_index` (from 0; None at the end), `test_case_name`, `turn_config` (the turn's `config`)
    * `world_before`, `world_after`: entities and relations before and after the turn; None for an
      agent that works outside the world

    In a final check they describe the whole conversation; `turn_input` and `agent_response` are those
    of its last turn. The function may be async. It returns a `GraderResult(score, passed, reason, details)` from
    `evals_app.engine.callables`, True, False, or a score from 0 to 1. If it does not set `passed`, the
    score must reach the `threshold`, or 0.5 if none is set. Graders written for HoloDeck run unchanged.

    It runs in a separate process without access to the API keys. If it raises an exception, takes
    longer than `timeout_s` or returns a score outside 0 to 1, the check is an error, or with
    `fail_on_error` a failure.
    """

    label: ClassVar[str] = "A Python function approves"
    in_words: ClassVar[str] = "A function of your own runs the program in the reply."
    family: ClassVar[Literal["code"]] = "code"
    example: ClassVar[dict[str, object]] = {"grader": f"{OUR_MODULE}.graders:turn_program"}
    named_by: ClassVar[tuple[str, ...]] = ("HoloDeck",)
    reads_text: ClassVar[bool] = True
    usual_threshold: ClassVar = 0.5

    grader: Annotated[
        str,
        Field(
            max_length=300,
            title="Function",
            description="module.path:name, in a module that your administrator permits.",
            json_schema_extra={"mono": True},
        ),
    ]
    timeout_s: Annotated[
        float,
        Field(
            gt=0,
            le=300,
            title="Time limit (s)",
            description="The function is stopped after this time.",
            json_schema_extra=SECONDS | {"advanced": True},
        ),
    ] = 10.0

    @field_validator("grader")
    @classmethod
    def _exists(cls, value: str, info: ValidationInfo) -> str:
        if not is_frozen(info) and (problem := callable_problem(value, "grader")):
            raise ValueError(problem)
        return value

    async def grade_with(self, view: View, aids: Aids) -> Grade:
        if aids.run_code is None:
            raise CodeError("Code cannot be run here.")
        context = context_of(view, aids)
        result = await aids.run_code(self.grader, context, timeout_s=self.timeout_s)
        score, passed = result["score"], result["passed"]
        return Grade(
            score,
            passed,
            result["reason"] or _bare_reason(self.grader, result),
            cause=Cause.ASSERTION if passed is False else None,
            details={"grader": self.grader, **result["details"]},
        )

    def summary(self) -> str:
        return f"Function {self.grader.rpartition(':')[2]}"


def _bare_reason(grader: str, result: Mapping[str, Json]) -> str:
    """Describe the result of a function that gave no reason."""
    if result["passed"] is None:
        return f"{grader} gave no reason."
    verdict = "a pass" if result["passed"] else "a failure"
    return f"{grader} returned {verdict} with a score of {result['score']:g}."


def context_of(view: View, aids: Aids) -> Mapping[str, Any]:
    """Return what a grader sees, as the JSON of a GraderContext."""
    chunks = view.retrieved_chunks()
    last = view.turns[-1] if view.turns else None
    return {
        "turn_input": last.user if last else "",
        "agent_response": view.reply,
        "ground_truth": view.expected_text,
        "tool_invocations": [_invocation(call) for call in view.tool_calls],
        "reports_calls": view.reports_calls,
        "retrieval_context": None if chunks is None else [chunk.text for chunk in chunks],
        "turn_index": None if view.turn is None else view.turn.index - 1,
        "test_case_name": view.trial.case,
        "turn_config": dict(view.config),
        "world_before": None if view.trial.is_outside else aids.world_before(view),
        "world_after": None if view.trial.is_outside else aids.world_after(view),
    }


def _invocation(call: ToolCall) -> JsonObject:
    written = json.dumps(call.result, ensure_ascii=False)
    return {
        "name": call.name,
        "args": call.args,
        "result": call.result,
        "bytes": len(written.encode(errors="surrogatepass")),
        "duration_ms": call.duration_ms,
        "error": call.error,
    }
