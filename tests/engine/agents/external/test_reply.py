"""What agents outside answer."""

from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.agents.external.reply import AgentReply, parse_reply, read_reply
from evals_app.engine.agents.session import Exchange
from evals_app.engine.basics.errors import AgentError, ReplyMismatchError
from evals_app.engine.record.trial import Chunk, ToolCall, TurnRecord
from evals_app.engine.record.usage import Usage
from evals_app.engine.record.view import View
from tests.engine.graders.makers import make_trial


def turn_of(reply: AgentReply) -> TurnRecord:
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
                {"name": "find", "result": {"isError": True, "content": [{"text": "No."}]}},
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
        ToolCall("find", {}, {"isError": True, "content": [{"text": "No."}]}, error="No."),
    )
    assert [call.duration_ms for call in reply.tool_calls] == [None, 12.0, None]
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
    turn = turn_of(read_reply({"output": "Hello.", "usage": {"input_tokens": 5}}))

    assert (turn.usage.prompt_tokens, turn.usage.response_tokens) == (5, None)
    assert (turn.cost_usd, turn.model, turn.tool_calls) == (None, None, ())
    assert View(make_trial(turn), turn).retrieved_chunks() is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, ["null", "expected a text, or an object with output"]),
        ([1], ["[1]", "expected a text, or an object with output"]),
        ({}, ["output", "none"]),
        ({"reply": "Hi"}, ["output", "reply"]),
        ({"error": "no key"}, ["no key"]),
        ({"output": "half", "error": {"message": "cut off"}}, ["cut off"]),
        ({"tool_calls": {"name": "x"}}, ["tool_calls", "list"]),
        ({"tool_calls": [{"name": "x"}, "y"]}, ['tool_calls[1] is "y"', "object"]),
        ({"tool_calls": [{"args": {}}]}, ["tool_calls[0].name is missing"]),
        ({"tool_calls": [{"name": None}]}, ["tool_calls[0].name is null"]),
        ({"tool_calls": [{"name": ""}]}, ['tool_calls[0].name is ""', "at least 1 char"]),
        ({"tool_calls": [{"name": "x", "args": [1]}]}, ["args is [1]", "object"]),
        (
            {"tool_calls": [{"name": "x", "arguments": {}}]},
            ["tool_calls[0]", "args instead of arguments"],
        ),
        ({"tool_calls": [{"name": "x", "input": {}}]}, ["tool_calls[0]", "args instead of input"]),
        ({"tool_calls": [{"name": "x", "duration_ms": True}]}, ["duration_ms is true"]),
        ({"tool_calls": [{"name": "x"}] * 1001}, ["tool_calls", "at most 1000 items"]),
        ({"usage": 5}, ["usage is 5", "object"]),
        ({"usage": {"input_tokens": "5"}}, ['usage.input_tokens is "5"', "integer"]),
        ({"usage": {"output_tokens": -1}}, ["usage.output_tokens is -1"]),
        ({"usage": {"input_tokens": 10**18}}, ["usage.input_tokens", "less than or equal"]),
        ({"usage": {"output_tokens": True}}, ["usage.output_tokens is true"]),
        ({"estimated_cost_usd": float("nan")}, ["estimated_cost_usd is NaN"]),
        ({"estimated_cost_usd": "0.1"}, ['estimated_cost_usd is "0.1"']),
        ({"estimated_cost_usd": -0.1}, ["estimated_cost_usd is -0.1", "equal to 0"]),
        ({"estimated_cost_usd": 10**400}, ["estimated_cost_usd"]),
        ({"estimated_cost_usd": 2e6}, ["estimated_cost_usd is 2000000", "1000000"]),
        ({"retrieved": ["text"]}, ["retrieved[0]", "object"]),
        ({"retrieved": [{"text": "x"}]}, ["retrieved[0].id is missing"]),
        ({"retrieved": [{"id": True, "text": "x"}]}, ["retrieved[0].id is true"]),
        ({"retrieved": [{"id": "x"}]}, ["retrieved[0].text is missing"]),
        ({"model": 5}, ["model is 5", "string"]),
    ],
)
def test_a_wrong_reply_is_an_error_that_names_place_value_and_what_was_expected(
    value: Any, words: list[str]
) -> None:
    if isinstance(value, dict) and value and not value.keys() & {"reply", "error"}:
        value = {"output": "", **value}

    with pytest.raises(AgentError) as caught:
        read_reply(value)

    assert [word for word in words if word not in str(caught.value)] == []


def test_json_that_nobody_could_keep_is_refused() -> None:
    deep = "[" * 100 + "]" * 100

    with pytest.raises(AgentError, match="100 levels"):
        parse_reply('{"output": ' + deep + "}")


@pytest.mark.parametrize(
    ("keys", "meant"),
    [
        pytest.param({"tool_call": [{"name": "find"}]}, "tool_calls", id="calls"),
        pytest.param({"toolcalls": [{"name": "find"}]}, "tool_calls", id="no underscore"),
        pytest.param({"retreived": [{"id": "a", "text": "b"}]}, "retrieved", id="sources"),
        pytest.param({"useage": {"input_tokens": 1}}, "usage", id="usage"),
        pytest.param({"errors": "No money."}, "error", id="error"),
    ],
)
def test_a_misspelt_key_is_no_reply_to_grade(keys: dict[str, Any], meant: str) -> None:
    with pytest.raises(ReplyMismatchError, match=f"'{meant}'"):
        read_reply({"output": "Hello.", **keys})


@pytest.mark.parametrize(
    ("keys", "notes"),
    [
        pytest.param({"toolcalls": []}, 1, id="nothing is lost"),
        pytest.param({"tool_calls": [], "tool_call": [1]}, 1, id="beside the right one"),
        pytest.param({"cost_usd": 1}, 1, id="hardly alike"),
        pytest.param({"outputs": ["Hello."]}, 1, id="the answer again"),
        pytest.param({"session": "1"}, 0, id="a key of its own"),
    ],
)
def test_a_key_that_may_be_the_agents_own_is_noted_at_most(
    keys: dict[str, Any], notes: int
) -> None:
    assert len(read_reply({"output": "Hello.", **keys}).notes) == notes


@pytest.mark.parametrize(
    ("usage", "is_noted"),
    [
        ({"prompt_tokens": 12, "completion_tokens": 7}, True),
        ({"output_tokens": 7, "seconds": 2}, False),
        ({}, False),
        (None, False),
    ],
)
def test_tokens_under_other_keys_are_noted(usage: Any, *, is_noted: bool) -> None:
    notes = " ".join(read_reply({"output": "Hello.", "usage": usage}).notes)

    assert ("prompt_tokens, completion_tokens" in notes) is is_noted
    assert ("input_tokens and output_tokens" in notes) is is_noted


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
    with pytest.raises(AgentError, match="tool_calls, text"):
        parse_reply('{"tool_calls": [], "text": "Hello."}')


def test_sources_of_an_agent_without_calls_are_a_call_of_their_own() -> None:
    turn = turn_of(AgentReply("Hello.", retrieved=(Chunk("a", "A"),)))

    assert [call.name for call in turn.tool_calls] == ["retrieved"]
    assert View(make_trial(turn), turn).retrieved_chunks() == (Chunk("a", "A"),)
    assert turn.reply == "Hello."


def test_sources_of_an_agent_that_reports_its_calls_add_no_call() -> None:
    calls = (ToolCall("search", {}), ToolCall("read", {"id": "a"}))
    turn = turn_of(AgentReply("Hello.", tool_calls=calls, retrieved=(Chunk("a", "A"),)))

    assert [call.name for call in turn.tool_calls] == ["search", "read"]
    assert View(make_trial(turn), turn).retrieved_chunks() == (Chunk("a", "A"),)


def test_an_agent_that_found_nothing_has_looked_all_the_same() -> None:
    turn = turn_of(read_reply({"output": "I do not know.", "retrieved": []}))

    assert View(make_trial(turn), turn).retrieved_chunks() == ()


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
    assert turn_of(read_reply(value)).reports_calls is reports


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
