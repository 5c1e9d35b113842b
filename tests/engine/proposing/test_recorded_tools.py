"""Recorded results of tools as canned tools."""

from typing import Any

import pytest

from evals_app.engine.agents.tools.toolbox import open_toolbox
from evals_app.engine.agents.tools.variables import Variables
from evals_app.engine.proposing.recorded_tools import NOT_RECORDED, Recording, record_tools
from evals_app.engine.record.trial import KnownTool, Message, ToolCall, Trial
from evals_app.engine.specs.tool_spec import CannedTool
from tests.engine.makers import make_call, make_model_agent, make_trial, make_turn, make_world
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio

FIND = {
    "name": "orders.find",
    "url": "https://shop.example.org/orders/{id}",
    "method": "GET",
    "description": "Finds an order.",
    "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
}
SHOP = {"mcp": "shop", "tools": ["find", "send"]}
SEND = FIND | {"name": "orders.send", "url": "https://shop.example.org/send"}


@pytest.fixture(autouse=True)
def _permits() -> Any:
    with permitting(mcp_servers={"shop": "https://shop.example.org/mcp"}):
        yield


def agent_with(*tools: Any) -> Any:
    return make_model_agent(tools=["entity.query", *tools])


def trial_of(*calls: ToolCall, **changes: Any) -> Trial:
    turn = make_turn(messages=(Message("assistant", "", calls), Message("assistant", "Hello.")))
    return make_trial(turn, **changes)


def find(result: Any, **args: Any) -> ToolCall:
    return make_call("orders.find", args=args, result=result)


def recording_of(*calls: ToolCall, tools: Any = (FIND,), **changes: Any) -> Recording:
    recording = record_tools(agent_with(*tools), trial_of(*calls, **changes))
    assert recording is not None
    return recording


async def answers(recording: Recording, *calls: ToolCall) -> list[Any]:
    world = make_world()
    tools = [Variables(agent_name="", now="").tool(tool) for tool in recording.tools.values()]
    async with open_toolbox(tools, world=world) as toolbox:
        return [(await toolbox.call(call.name, call.args)).result for call in calls]


async def test_recorded_calls_are_answered_by_their_arguments() -> None:
    calls = [
        find({"state": "sent"}, id="A-1"),
        find({"error": {"code": "http_404", "message": "Not found."}}, id="A-2"),
        find([{"note": "{{x}} and \\{{y}}"}], id="A-3"),
        find("", id="A-4"),
    ]

    recording = recording_of(*calls)

    assert await answers(recording, *calls) == [call.result for call in calls]
    (other,) = await answers(recording, find(None, id="A-9"))
    assert other["error"]["code"] == "no_answer"
    tool = recording.tools["orders.find"]
    assert (tool.description, tool.parameters) == ("Finds an order.", FIND["parameters"])


async def test_what_looks_random_in_a_call_may_be_anything() -> None:
    call = find({"state": "sent"}, id="A-1", token="8f3a91c07b2e")
    recording = recording_of(call, tools=[FIND])

    assert await answers(recording, find(None, id="A-1", token="00ff00aa1122")) == [call.result]


async def test_two_searches_in_other_words_keep_their_own_answers() -> None:
    calls = [
        find([1], query="how to return a broken book"),
        find([2], query="how long does a refund take"),
    ]

    assert await answers(recording_of(*calls), *calls) == [[1], [2]]


async def test_what_cannot_be_expressed_is_said() -> None:
    calls = [find({"n": 1}, id="A-1"), find({"n": 2}, id="A-1"), find(None, id="A-2")]

    recording = recording_of(*calls)

    assert await answers(recording, calls[0]) == [{"n": 1}]
    assert any("answered otherwise" in words for words in recording.words)
    assert any("null" in words for words in recording.words)


async def test_a_tool_that_was_not_called_answers_with_an_error() -> None:
    recording = recording_of(find({}, id="A-1"), tools=[FIND, SEND])

    (answer,) = await answers(recording, make_call("orders.send"))

    assert answer["error"]["message"] == NOT_RECORDED
    assert any("orders.send was not called" in words for words in recording.words)


def test_tools_of_a_server_get_the_arguments_that_were_passed() -> None:
    call = make_call("shop.find", args={"id": "A-1", "most": 5}, result=[])
    known = KnownTool("shop.find", "Finds.")
    recording = record_tools(agent_with(SHOP), trial_of(call, tools=(known,)))

    assert recording is not None
    tool = recording.tools["shop.find"]
    assert tool.description == "Finds."
    assert tool.parameters["properties"] == {"id": {"type": "string"}, "most": {"type": "integer"}}
    copy = recording.copy_of(agent_with(SHOP), slug="copy", name="Copy")
    assert copy.tool_names == ["entity.query", "shop.find", "shop.send"]
    assert all(isinstance(tool, str | CannedTool) for tool in copy.given_tools)


async def test_an_earlier_copy_answers_both_unless_they_contradict() -> None:
    agent = agent_with(FIND, SEND)
    one, other = find({"n": 1}, id="A-1"), find({"n": 2}, id="A-2")
    sent = make_call("orders.send", args={"id": "A-1"}, result={"ok": True})
    copy = recording_of(one, tools=[FIND, SEND]).copy_of(agent, slug="copy", name="Copy")

    both = recording_of(other, sent, tools=[FIND, SEND]).added_to(copy)
    against = recording_of(find({"n": 3}, id="A-1"), tools=[FIND, SEND]).added_to(copy)

    assert both is not None
    assert against is None
    tools = {tool.name: tool for tool in both.given_tools if isinstance(tool, CannedTool)}
    calls = [one, other, sent]
    assert await answers(Recording(tools), *calls) == [call.result for call in calls]


def test_an_agent_without_such_tools_has_nothing_to_record() -> None:
    assert record_tools(agent_with(), trial_of()) is None
