"""The agent in Python that comes with this program."""

from typing import Any

import pytest

from evals_app.engine.agents.external.reply import read_reply
from evals_app.engine.callables.references import callable_problem
from evals_app.engine.examples.agents import analyst


def history_of(*texts: str) -> list[dict[str, str]]:
    return [
        message
        for text in texts
        for message in (
            {"role": "user", "content": "And then, in 1.5?"},
            {"role": "assistant", "content": text},
        )
    ]


def test_it_can_be_named_as_an_agent() -> None:
    assert callable_problem("evals_app.engine.examples.agents:analyst", "agent") is None


@pytest.mark.parametrize(
    ("message", "history", "text"),
    [
        pytest.param("What was the price in 2007?", [], "60.94", id="a figure"),
        pytest.param("From 2007 to 2005?", [], "25.14", id="the last year counts"),
        pytest.param("And in 1999?", [], "I know no price of 1999.", id="a year that it lacks"),
        pytest.param("What was the change?", history_of("60.94", "25.14"), "35.8", id="a change"),
        pytest.param(
            "What change in percent?", history_of("60.94", "25.14"), "142.40%", id="percent"
        ),
        pytest.param(
            "What was the change?",
            history_of("60.94"),
            "I can tell a price of a year, or how two of them differ.",
            id="a change from one figure",
        ),
        pytest.param(
            "Who are you?",
            history_of("60.94", "25.14"),
            "I can tell a price of a year, or how two of them differ.",
            id="something else",
        ),
    ],
)
def test_it_answers_from_its_table_and_from_what_was_said(
    message: str, history: list[dict[str, str]], text: str
) -> None:
    assert read_reply(analyst(message, history)).text == text


@pytest.mark.parametrize(
    ("message", "names"),
    [
        pytest.param("What was the change?", ["subtract"], id="a change"),
        pytest.param("What was the change in percent?", ["subtract", "divide"], id="percent"),
        pytest.param("And in 2006?", [], id="a figure"),
    ],
)
def test_it_reports_how_it_calculated(message: str, names: list[str]) -> None:
    reply: Any = read_reply(analyst(message, history_of("60.94", "25.14")))

    assert [call.name for call in reply.tool_calls] == names
