"""Variables in what an agent is given."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from evals_app.engine.agents.tools.variables import Variables
from evals_app.engine.specs.tool_spec import AnyTool, McpTools

TOOL: TypeAdapter[Any] = TypeAdapter(AnyTool)


def make_variables(**changes: Any) -> Variables:
    given: dict[str, Any] = {
        "agent_name": "Juniper & Co",
        "now": "2026-05-01T09:30:00+00:00",
        "channel": "widget",
        "params": {"tenant": "a/b?c=d", "limit": 5, "beta": True, "lines": "a\r\nX-Evil: b"},
    }
    return Variables(**(given | changes))


def test_a_canned_tool_gets_them_in_its_texts() -> None:
    tool = TOOL.validate_python(
        {
            "name": "orders.find",
            "description": "Finds orders of {{threadContext.params.tenant}}.",
            "rules": [
                {"when": {"a": 1}, "result": {"by": ["{{agentName}}", 5, None]}},
                {"error": "Not on {{threadContext.channel}}."},
            ],
        }
    )

    filled = make_variables().tool(tool)

    assert filled.description == "Finds orders of a/b?c=d."
    assert filled.rules[0].result == {"by": ["Juniper & Co", 5, None]}
    assert filled.rules[0].when == {"a": 1}
    assert filled.rules[1].error == "Not on widget."


def test_in_a_url_they_mean_nothing() -> None:
    tool = TOOL.validate_python(
        {
            "name": "weather",
            "url": "https://a.org/{{threadContext.params.tenant}}/{city}?n={{agentName}}"
            "&l={{threadContext.params.limit}}&b={{threadContext.params.beta}}",
            "parameters": {"type": "object", "properties": {"city": {}}},
        }
    )

    assert make_variables().tool(tool).url == (
        "https://a.org/a%2Fb%3Fc%3Dd/{city}?n=Juniper%20%26%20Co&l=5&b=true"
    )


def test_a_header_stays_one_line_of_plain_letters() -> None:
    tool = TOOL.validate_python(
        {
            "name": "weather",
            "url": "https://a.org/",
            "headers": {"X-Note": "{{threadContext.params.lines}}", "X-Key": {"env": "AGENT_KEY"}},
        }
    )

    filled = make_variables().tool(tool)

    assert filled.headers["X-Note"] == "a??X-Evil: b"
    assert filled.headers["X-Key"].env == "AGENT_KEY"


@pytest.mark.parametrize("tool", ["entity.get", McpTools.model_construct(mcp="a", tools=["b"])])
def test_other_tools_stay_as_they_are(tool: Any) -> None:
    assert make_variables().tool(tool) is tool


def test_what_the_case_does_not_set_is_empty_and_named_once() -> None:
    variables = make_variables(channel=None)

    texts = [variables.text("{{threadContext.params.gone}}-{{threadContext.channel}}")] * 2

    assert texts == ["-", "-"]
    assert variables.warnings("A tool") == (
        "A tool uses {{threadContext.params.gone}}, which this case does not set. It is left empty.",
        "A tool uses {{threadContext.channel}}, which this case does not set. It is left empty.",
    )
