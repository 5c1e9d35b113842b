"""What agents outside answer."""

from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.agents.reply import AgentReply, parse_reply, read_reply
from evals_app.engine.agents.session import Exchange
from evals_app.engine.errors import AgentError
from evals_app.engine.trial import Chunk, ToolCall, TurnRecord, Usage, View
from tests.engine.graders.makers import make_trial

OTHERWISE = "usage has prompt_tokens, completion_tokens, which nobody reads"


def noted(reply: AgentReply) -> TurnRecord:
    exchange = Exchange(1, "hello", 60)
    reply.put_down(exchange)
    return exchange.record()


def test_a_whole_reply_is_read() -> None:
    reply = read_reply(
        {
            "output": "35.8",
            "tool_calls": [
                {"name": "subtract", "args": {"a": 60.94, "b": 25.14}, "result": 35.8},
                {"name": "mail", "args": {}, "error": "no network", "duration_ms": 12},
            ],
            "usage": {"input_tokens": 120, "output_tokens": 4},
            "estimated_cost_usd": 0.1,
            "retrieved": [{"id": "returns", "text": "Within 30 days."}, {"id": 7, "text": ""}],
            "model": "house-model-2",
        }
    )

    assert reply.text == "35.8"
    assert reply.tool_calls == (
        ToolCall("subtract", {"a": 60.94, "b": 25.14}, result=35.8),
        ToolCall("mail", {}, error="no network", duration_ms=12.0),
    )
    assert reply.usage == Usage(120, 4)
    assert reply.cost_usd == Decimal("0.1")
    assert reply.retrieved == (Chunk("returns", "Within 30 days."), Chunk("7", ""))
    assert (reply.model, reply.notes) == ("house-model-2", ())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("Hello.", "Hello.", id="plain text"),
        pytest.param({"output": "Hello."}, "Hello.", id="output"),
        pytest.param({"result": "Hello."}, "Hello.", id="result"),
        pytest.param({"output": None, "result": "Hello."}, "Hello.", id="the one that is set"),
        pytest.param({"output": "Hello.", "error": None}, "Hello.", id="no error"),
        pytest.param({"output": {"answer": 60.94}}, '{"answer": 60.94}', id="JSON as the answer"),
        pytest.param({"result": 7}, "7", id="a number as the answer"),
        pytest.param({"output": "", "trace": "abc"}, "", id="empty, and keys of its own"),
    ],
)
def test_the_text_is_found(value: Any, text: str) -> None:
    assert read_reply(value).text == text


def test_what_is_left_out_is_unknown_and_not_0() -> None:
    turn = noted(read_reply({"output": "Hello.", "usage": {"input_tokens": 5}}))

    assert (turn.usage.prompt_tokens, turn.usage.response_tokens) == (5, None)
    assert (turn.cost_usd, turn.model, turn.tool_calls) == (None, None, ())
    assert View(make_trial(turn), turn).retrieved() is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(None, "expected a text, or an object with output", id="nothing"),
        pytest.param([1], r"The agent's reply is \[1\]; expected a text", id="a list"),
        pytest.param({}, "needs output, a text; it has no keys at all", id="an empty object"),
        pytest.param({"reply": "Hi"}, "needs output, a text; it has reply", id="another key"),
        pytest.param({"error": "no key"}, "The agent reports an error: no key", id="an error"),
        pytest.param(
            {"output": "half", "error": {"message": "cut off"}},
            "The agent reports an error: cut off",
            id="an error beside a text",
        ),
        pytest.param(
            {"output": "", "tool_calls": {"name": "x"}}, "tool_calls is .*; expected a list"
        ),
        pytest.param(
            {"output": "", "tool_calls": [{"name": "x"}, "y"]}, 'tool_calls 2 is "y"', id="a call"
        ),
        pytest.param(
            {"output": "", "tool_calls": [{"args": {}}]}, "name of tool_calls 1 is missing"
        ),
        pytest.param(
            {"output": "", "tool_calls": [{"name": "x", "args": [1]}]},
            r"args of tool_calls 1 is \[1\]; expected an object",
            id="args in a list",
        ),
        pytest.param(
            {"output": "", "tool_calls": [{"name": "x", "arguments": {}}]},
            "tool_calls 1 has arguments; expected args",
            id="args by another name",
        ),
        pytest.param(
            {"output": "", "tool_calls": [{"name": "x", "input": {}}]},
            "tool_calls 1 has input; expected args",
            id="args by a third name",
        ),
        pytest.param(
            {"output": "", "tool_calls": [{"name": "x"}] * 1001}, "tool_calls has 1,001 entries"
        ),
        pytest.param(
            {"output": "", "usage": {"input_tokens": "5"}},
            'usage.input_tokens is "5"; expected a whole number',
            id="tokens as text",
        ),
        pytest.param({"output": "", "usage": {"output_tokens": -1}}, "usage.output_tokens is -1"),
        pytest.param(
            {"output": "", "usage": {"input_tokens": 10**18}},
            "expected a whole number from 0 to [0-9,]+[.]",
            id="too many tokens",
        ),
        pytest.param({"output": "", "usage": {"output_tokens": True}}, "output_tokens is true"),
        pytest.param({"output": "", "estimated_cost_usd": float("nan")}, "estimated_cost_usd"),
        pytest.param({"output": "", "estimated_cost_usd": -0.1}, "a number from 0 on"),
        pytest.param({"output": "", "estimated_cost_usd": 10**400}, "a number from 0 on"),
        pytest.param({"output": "", "estimated_cost_usd": 2e6}, "expected at most 1,000,000"),
        pytest.param(
            {"output": "", "retrieved": ["text"]}, "expected an object with id and text", id="chunk"
        ),
        pytest.param({"output": "", "retrieved": [{"text": "x"}]}, "id of retrieved 1 is missing"),
        pytest.param({"output": "", "retrieved": [{"id": "x"}]}, "text of retrieved 1 is missing"),
        pytest.param({"output": "", "model": 5}, "model is 5; expected a text of 1 to 200"),
    ],
)
def test_what_is_wrong_is_an_error_of_the_agent_that_says_what_was_expected(
    value: Any, message: str
) -> None:
    with pytest.raises(AgentError, match=message):
        read_reply(value)


def test_json_that_nobody_could_keep_is_refused() -> None:
    deep = "[" * 100 + "]" * 100

    with pytest.raises(AgentError, match="more than 100 levels"):
        parse_reply('{"output": ' + deep + "}")


def test_a_misspelt_key_is_noted() -> None:
    reply = read_reply({"output": "Hello.", "toolcalls": [], "session": "1"})

    assert reply.notes == (
        "The agent's reply has a key 'toolcalls', which nobody reads. Did you mean 'tool_calls'?",
    )


@pytest.mark.parametrize(
    ("usage", "notes"),
    [
        pytest.param(
            {"prompt_tokens": 12, "completion_tokens": 7},
            (f"{OTHERWISE}; expected input_tokens and output_tokens.",),
            id="called otherwise",
        ),
        pytest.param({"output_tokens": 7, "seconds": 2}, (), id="one of them"),
        pytest.param({}, (), id="nothing"),
        pytest.param(None, (), id="null"),
    ],
)
def test_tokens_that_are_called_otherwise_are_noted(usage: Any, notes: tuple[str, ...]) -> None:
    assert read_reply({"output": "Hello.", "usage": usage}).notes == notes


@pytest.mark.parametrize(
    ("written", "text"),
    [
        pytest.param("Hello.\n", "Hello.", id="text"),
        pytest.param("  Hello.\n\n  Bye.\n", "  Hello.\n\n  Bye.", id="text with blanks"),
        pytest.param('\n{"output": "Hello."}\n', "Hello.", id="the shape"),
        pytest.param('{"answer": 60.94}\n', '{"answer": 60.94}', id="an answer in JSON"),
        pytest.param('{"output": "Hello."', '{"output": "Hello."', id="no JSON after all"),
        pytest.param('["output"]', '["output"]', id="a list"),
        pytest.param("[" * 100_000, "[" * 100_000, id="deeper than anybody reads"),
        pytest.param('{"a":' * 100_000, '{"a":' * 100_000, id="an object as deep"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_what_a_program_writes_is_text_unless_it_has_the_shape(written: str, text: str) -> None:
    assert parse_reply(written).text == text


def test_the_shape_without_a_text_is_no_answer() -> None:
    with pytest.raises(AgentError, match="needs output, a text; it has tool_calls, text"):
        parse_reply('{"tool_calls": [], "text": "Hello."}')


def test_sources_of_an_agent_without_calls_are_a_call_of_their_own() -> None:
    turn = noted(AgentReply("Hello.", retrieved=(Chunk("a", "A"),)))

    assert [call.name for call in turn.tool_calls] == ["retrieved"]
    assert View(make_trial(turn), turn).retrieved() == (Chunk("a", "A"),)
    assert turn.reply == "Hello."


def test_sources_of_an_agent_that_reports_its_calls_add_no_call() -> None:
    calls = (ToolCall("search", {}), ToolCall("read", {"id": "a"}))
    turn = noted(AgentReply("Hello.", tool_calls=calls, retrieved=(Chunk("a", "A"),)))

    assert [call.name for call in turn.tool_calls] == ["search", "read"]
    assert View(make_trial(turn), turn).retrieved() == (Chunk("a", "A"),)


def test_an_agent_that_found_nothing_has_looked_all_the_same() -> None:
    turn = noted(read_reply({"output": "I do not know.", "retrieved": []}))

    assert View(make_trial(turn), turn).retrieved() == ()


@pytest.mark.parametrize(
    ("value", "reports"),
    [
        pytest.param("Hello.", False, id="plain text"),
        pytest.param({"output": "Hello."}, False, id="no key"),
        pytest.param({"output": "Hello.", "tool_calls": None}, False, id="null"),
        pytest.param({"output": "Hello.", "tool_calls": []}, True, id="none were made"),
    ],
)
def test_only_who_writes_tool_calls_says_what_was_called(value: Any, *, reports: bool) -> None:
    assert noted(read_reply(value)).reports_calls is reports


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"output": "A", "output": "B"}', id="at the top"),
        pytest.param('{"output": "A", "usage": {"x": 1, "x": 2}}', id="within"),
    ],
)
def test_of_two_values_under_one_key_none_is_taken(text: str) -> None:
    with pytest.raises(AgentError, match="twice"):
        parse_reply(text)


def test_an_answer_in_json_of_its_own_may_be_written_as_the_agent_likes() -> None:
    assert parse_reply('{"a": 1, "a": 2}').text == '{"a": 1, "a": 2}'
