"""Graders in Python."""

import json
import math
import re

from evals_app.engine.callables import GraderContext, GraderResult, ToolInvocation

_STEP = re.compile(r"(add|subtract|multiply|divide)\(([^()]*)\)")
_RESULT_OF = re.compile(r"#(\d+)")


def turn_program(context: GraderContext) -> GraderResult:
    """Pass when the agent calculated as the turn's `turn_program` says, with its tools.

    A program is a chain such as `subtract(60.94, 25.14), divide(#0, 25.14)`, where #0 is the result
    of the first step and const_100 the number 100. The score is the share of steps that were made.
    """
    program = str(context.turn_config.get("turn_program", ""))
    steps = [(name, _operands(written)) for name, written in _STEP.findall(program)]
    if not steps:
        return GraderResult(1.0, passed=True, reason="The program of this turn calculates nothing.")
    calls = iter(context.tool_invocations)
    results: list[float] = []
    for name, operands in steps:
        wanted = [_value(operand, results) for operand in operands]
        made = next((call for call in calls if _is_step(call, name, wanted)), None)
        if made is None:
            numbers = ", ".join(f"{number:g}" for number in wanted)
            reason = f"Step {len(results) + 1}, {name}({numbers}), was not calculated with a tool."
            return GraderResult(len(results) / len(steps), passed=False, reason=reason)
        results.append(_number(made.result))
    return GraderResult(
        1.0,
        passed=True,
        reason="Every step was calculated with a tool.",
        details={"results": results},
    )


def no_call_twice(context: GraderContext) -> float:
    """Return the share of tool calls that ask something new."""
    asked = [
        json.dumps([call.name, call.args], sort_keys=True) for call in context.tool_invocations
    ]
    return len(set(asked)) / len(asked) if asked else 1.0


def total_is_kept(context: GraderContext) -> GraderResult | bool:
    """Pass when a total is the same after as before, as money that only moves between accounts.

    The turn's config names the entities and the number: `{"type": "account", "field": "balance"}`.
    """
    before, after = context.world_before, context.world_after
    if before is None or after is None:
        return False
    kind, field = context.turn_config["type"], context.turn_config["field"]
    was, is_now = (
        math.fsum(row["data"][field] for row in world["entities"] if row["type"] == kind)
        for world in (before, after)
    )
    return GraderResult(
        score=float(math.isclose(was, is_now)),
        reason=f"The sum of {field} was {was:g} and is {is_now:g}.",
    )


def _operands(written: str) -> list[str]:
    return [operand.strip() for operand in written.split(",")]


def _value(operand: str, results: list[float]) -> float:
    if (earlier := _RESULT_OF.fullmatch(operand)) and int(earlier[1]) < len(results):
        return results[int(earlier[1])]
    return _number(operand.removeprefix("const_"))


def _is_step(call: ToolInvocation, name: str, wanted: list[float]) -> bool:
    # Servers of tools put their own name in front: mcp__calculator__subtract, calculator.subtract.
    if call.error is not None or re.split(r"__|\.", call.name)[-1] != name:
        return False
    given = [_number(value) for _, value in sorted(call.args.items())]
    return len(given) == len(wanted) and all(
        math.isclose(one, other, rel_tol=1e-3, abs_tol=1e-3)
        for one, other in zip(given, wanted, strict=True)
    )


def _number(value: object) -> float:
    """Read a number, also from {"result": 5} or "1,234.5"; anything else equals nothing."""
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    try:
        return float(str(value).replace(",", ""))
    except ValueError:
        return math.nan
