"""Tools whose answers are written down."""

from typing import Any

import pytest

from evals_app.engine.agents.tools.toolbox import CannedAnswers
from evals_app.engine.specs.tool_spec import CannedTool

pytestmark = pytest.mark.anyio

ORDERS = {
    "name": "orders.find",
    "parameters": {
        "type": "object",
        "properties": {"number": {"type": "string", "pattern": "^[0-9]+$"}, "deep": {}},
        "required": ["number"],
    },
    "rules": [
        {"when": {"number": "1042"}, "result": {"status": "shipped"}},
        {"when": {"number": {"regex": "1[0-9]+"}}, "result": ["some", "order"]},
        {"when": {"number": "2000"}, "error": "It was cancelled."},
    ],
}


def make_tool(**changes: Any) -> CannedAnswers:
    return CannedAnswers(CannedTool.model_validate(ORDERS | changes))


@pytest.mark.parametrize(
    ("number", "result"),
    [
        pytest.param("1042", {"status": "shipped"}, id="the first that matches"),
        pytest.param("17", ["some", "order"], id="a later one"),
        ("2000", {"error": {"code": "failed", "message": "It was cancelled."}}),
        pytest.param(
            "3000",
            {
                "error": {
                    "code": "no_answer",
                    "message": "orders.find has no answer for these arguments.",
                }
            },
            id="none",
        ),
    ],
)
async def test_the_first_rule_that_matches_answers(number: str, result: Any) -> None:
    assert await make_tool().call({"number": number}) == result


async def test_a_rule_without_when_answers_every_call() -> None:
    tool = make_tool(rules=[{"result": "always"}], parameters={"type": "object"})

    assert await tool.call({"anything": [1]}) == "always"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param({}, "“number” is missing", id="missing"),
        pytest.param({"number": 1042}, "the number 1042", id="type"),
        pytest.param({"number": "x"}, "pattern ^[0-9]+$", id="pattern"),
    ],
)
async def test_a_call_with_wrong_arguments_is_answered_with_an_error(
    args: dict[str, Any], words: str
) -> None:
    error = (await make_tool().call(args))["error"]

    assert error["code"] == "invalid_arguments"
    assert error["message"].startswith("Invalid arguments for orders.find: ")
    assert words in error["message"]


async def test_what_a_call_got_can_be_changed_without_changing_the_next_answer() -> None:
    tool = make_tool()

    (await tool.call({"number": "1042"}))["status"] = "lost"

    assert await tool.call({"number": "1042"}) == {"status": "shipped"}
