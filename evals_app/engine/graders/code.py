"""The grader that asks code of the operator's."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from evals_app.engine.aids import Aids
from evals_app.engine.callables.references import callable_problem
from evals_app.engine.errors import CodeError
from evals_app.engine.graders.base import AidedGrader
from evals_app.engine.permits import OUR_MODULE, is_frozen
from evals_app.engine.trial import Cause, Grade, ToolCall, View


class Code(AidedGrader):
    """Pass when a Python function of yours says so.

    The operator permits modules (`EVALS_PYTHON_MODULES`); the function is imported when the check is
    saved, so a wrong name is refused at once. It takes one argument, the context, with these
    attributes:

    * `turn_input`, `agent_response`, `ground_truth`: the message, the reply, the expected text
    * `tool_invocations`: the calls, each with `name args result bytes duration_ms error`
    * `retrieval_context`: the texts that were looked up, or None
    * `turn_index` (from 0; None at the end), `test_case_name`, `turn_config` (the turn's `config`)
    * `world_before`, `world_after`: entities and relations before and after the turn; None for an
      agent that works outside of the world

    At the end these tell of the whole conversation, `turn_input` and `agent_response` of its last
    turn. The function may be async. It returns a `GraderResult(score, passed, reason, details)` from
    `evals_app.engine.callables`, True, False, or a score; where it leaves `passed` open, the score
    must reach the `threshold`, or 0.5 if none is set. Graders written for HoloDeck run unchanged.

    It runs in a process of its own, without the keys of this program. What it raises, or taking
    longer than `timeout_s`, makes the check an error, or with `fail_on_error` a failure.
    """

    label: ClassVar[str] = "A Python function agrees"
    family: ClassVar[Literal["code"]] = "code"
    example: ClassVar[dict[str, Any]] = {"grader": f"{OUR_MODULE}.graders:turn_program"}
    named_by: ClassVar[tuple[str, ...]] = ("HoloDeck",)
    reads_text: ClassVar[bool] = True
    usual_threshold: ClassVar = 0.5

    grader: Annotated[
        str,
        Field(
            max_length=300,
            title="Function",
            description="module.path:name, from a module that the operator permits.",
            json_schema_extra={"mono": True},
        ),
    ]
    timeout_s: Annotated[
        float,
        Field(gt=0, le=300, title="Most seconds", description="Then the function is ended."),
    ] = 10.0

    @field_validator("grader")
    @classmethod
    def _exists(cls, value: str, info: ValidationInfo) -> str:
        if not is_frozen(info) and (problem := callable_problem(value, "grader")):
            raise ValueError(problem)
        return value

    async def grade_with(self, view: View, aids: Aids) -> Grade:
        if aids.run_code is None:
            message = "No code can be run here."
            raise CodeError(message)
        context = context_of(view, aids)
        found = await aids.run_code(self.grader, context, timeout_s=self.timeout_s)
        score, passed = found["score"], found["passed"]
        return Grade(
            score,
            passed,
            found["reason"] or _bare_reason(self.grader, found),
            cause=Cause.ASSERTION if passed is False else None,
            details={"grader": self.grader, **found["details"]},
        )

    def summary(self) -> str:
        return f"Function {self.grader.rpartition(':')[2]}"


def _bare_reason(grader: str, found: Mapping[str, Any]) -> str:
    """Say what a function decided that gave no reason."""
    if found["passed"] is None:
        return f"{grader} gave no reason."
    verdict = "passes" if found["passed"] else "fails"
    return f"{grader} says that it {verdict}, with a score of {found['score']:g}."


def context_of(view: View, aids: Aids) -> Mapping[str, Any]:
    """Give what a grader sees, as the JSON of a GraderContext."""
    chunks = view.retrieved()
    last = view.turns[-1] if view.turns else None
    return {
        "turn_input": last.user if last else "",
        "agent_response": view.reply,
        "ground_truth": view.expected_text,
        "tool_invocations": [_invocation(call) for call in view.tool_calls],
        "retrieval_context": None if chunks is None else [chunk.text for chunk in chunks],
        "turn_index": None if view.turn is None else view.turn.index - 1,
        "test_case_name": view.trial.case,
        "turn_config": dict(view.config),
        "world_before": None if view.trial.is_outside else aids.world_before(view),
        "world_after": None if view.trial.is_outside else aids.world_after(view),
    }


def _invocation(call: ToolCall) -> dict[str, Any]:
    written = json.dumps(call.result, ensure_ascii=False)
    return {
        "name": call.name,
        "args": call.args,
        "result": call.result,
        "bytes": len(written.encode(errors="surrogatepass")),
        "duration_ms": call.duration_ms,
        "error": call.error,
    }
