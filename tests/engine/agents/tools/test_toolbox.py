"""The tools of an agent: those of a world, and its own."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from evals_app.engine.agents.tools.toolbox import Toolbox, open_toolbox, result_text
from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.network import checked_transport
from evals_app.engine.record.trial import Chunk
from evals_app.engine.specs.tool_spec import AnyTool
from tests.agent_server import Sent, WebServer
from tests.engine.makers import make_call, make_world
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio

ANY_TOOL: TypeAdapter[Any] = TypeAdapter(AnyTool)
CHUNKS = {"data": {"found": [{"id": 7, "text": "Seven."}, {"text": "No id."}, "junk"]}}
TOOLS = ["entity.query", "entity.get", "entity.update", "knowledge.search"]


def make_toolbox(*names: str) -> Toolbox:
    return Toolbox(names or TOOLS, world=make_world())


def test_an_agent_has_the_tools_that_it_names_in_that_order() -> None:
    toolbox = make_toolbox("knowledge.search", "entity.get")

    assert list(toolbox.tools) == ["knowledge.search", "entity.get"]


def test_a_tool_that_the_world_does_not_have_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"mail\.send\. Known: entity\.query"):
        make_toolbox("entity.get", "mail.send")


async def test_where_no_tool_asks_a_server_nothing_is_loaded_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[bool] = []
    monkeypatch.setattr(checked_transport, "trust", lambda: loaded.append(True))

    async with open_toolbox(["entity.get"], world=make_world()):
        assert not loaded


async def test_a_call_is_noted_with_its_result() -> None:
    call = await make_toolbox().call(
        "entity.query", {"type": "order", "filters": {"number": "1042"}}
    )

    assert call.name == "entity.query"
    assert call.args == {"type": "order", "filters": {"number": "1042"}}
    assert [entity["id"] for entity in call.result["entities"]] == ["order-1"]
    assert (call.error, call.chunks) == (None, ())
    assert call.duration_ms is not None
    assert call.duration_ms >= 0


async def test_calls_change_one_and_the_same_world() -> None:
    world = make_world()
    toolbox = Toolbox(TOOLS, world=world)

    await toolbox.call("entity.update", {"id": "order-1", "data": {"total": 0}})

    call = await toolbox.call("entity.get", {"id": "order-1"})
    assert call.result["data"]["total"] == 0
    assert len(world.journal) == 1


async def test_what_a_retrieval_tool_finds_is_kept_as_chunks() -> None:
    call = await make_toolbox().call("knowledge.search", {"query": "returned books"})

    assert call.chunks == (Chunk("returns", "Books can be returned within 30 days."),)


@pytest.mark.parametrize(
    ("name", "args", "code", "words"),
    [
        pytest.param("entity.get", {"id": "order-9"}, "unknown_id", "order-9", id="no such entity"),
        pytest.param("entity.get", {}, "invalid_arguments", "id", id="wrong arguments"),
        pytest.param("knowledge.search", {"query": 3}, "invalid_arguments", "query", id="no chunk"),
        ("entity.gett", {}, "unknown_tool", "Did you mean 'entity.get'?"),
        pytest.param(
            "entity.delete",
            {"id": "order-1"},
            "unknown_tool",
            "There is no tool 'entity.delete'",
            id="of the world, but not of this agent",
        ),
    ],
)
async def test_a_wrong_call_is_answered_with_an_error(
    name: str, args: dict[str, object], code: str, words: str
) -> None:
    call = await make_toolbox().call(name, args)

    error = call.result["error"]
    assert error["code"] == code
    assert words in error["message"]
    assert call.error == error["message"]
    assert call.chunks == ()


def test_arguments_that_cannot_be_read_are_never_run() -> None:
    world = make_world()

    call = Toolbox(TOOLS, world=world).refuse("entity.update", "{oops" + "x" * 500)

    assert call.error is not None
    assert call.error.startswith("The arguments are not a JSON object: {oopsx")
    assert len(call.error) < 300
    assert (call.args, call.result["error"]["code"]) == ({}, "malformed_arguments")
    assert list(world.journal) == []


@pytest.mark.parametrize("result", [None, {"error": None}, {"error": "text"}, {"a": "größer"}])
def test_models_read_results_as_json(result: object) -> None:
    text = result_text(make_call(result=result))

    assert json.loads(text) == result
    assert "\\u" not in text


# Tools of its own


def make_tools(*written: Any) -> list[Any]:
    return [ANY_TOOL.validate_python(tool, context=FROZEN) for tool in written]


async def test_an_agent_calls_its_own_tools_beside_those_of_its_world() -> None:
    with WebServer(lambda asked: Sent.json({"heard": asked.body})) as server:
        tools = make_tools(
            "entity.get",
            {"name": "orders.find", "rules": [{"result": {"status": "shipped"}}]},
            {"name": "weather", "url": server.url},
        )
        with permitting(hosts=(server.host,)):
            async with open_toolbox(tools, world=make_world()) as toolbox:
                of_world = await toolbox.call("entity.get", {"id": "order-1"})
                canned = await toolbox.call("orders.find", {"number": "1042"})
                asked = await toolbox.call("weather", {"city": "Rome"})

    assert list(toolbox.tools) == ["entity.get", "orders.find", "weather"]
    assert of_world.result["id"] == "order-1"
    assert (canned.result, canned.error) == ({"status": "shipped"}, None)
    assert asked.result == {"heard": {"city": "Rome"}}


async def test_an_own_tool_may_stand_in_for_one_of_the_world() -> None:
    world = make_world()
    tools = make_tools({"name": "entity.update", "rules": [{"error": "Not today."}]})

    async with open_toolbox(tools, world=world) as toolbox:
        call = await toolbox.call("entity.update", {"id": "order-1", "data": {}})

    assert call.error == "Not today."
    assert list(world.journal) == []


@pytest.mark.parametrize(
    ("result", "chunks"),
    [
        pytest.param(CHUNKS, (Chunk("7", "Seven."),), id="some"),
        pytest.param({"data": {"found": []}}, (), id="none"),
        pytest.param({"data": []}, (), id="no such place"),
        pytest.param("text", (), id="text"),
    ],
)
async def test_chunks_are_found_where_the_tool_says(result: Any, chunks: tuple[Chunk, ...]) -> None:
    written = {"name": "search", "retrieval": "data.found", "rules": [{"result": result}]}

    async with open_toolbox(make_tools(written), world=make_world()) as toolbox:
        call = await toolbox.call("search", {})

    assert (call.chunks, call.is_retrieval) == (chunks, True)


async def test_a_call_that_failed_has_looked_nothing_up() -> None:
    call = await make_toolbox().call("knowledge.search", {"query": 3})

    assert (call.chunks, call.is_retrieval) == ((), False)


async def test_a_tool_that_looks_nothing_up_says_so() -> None:
    written = {"name": "orders.find", "rules": [{"result": CHUNKS}]}

    async with open_toolbox(make_tools(written), world=make_world()) as toolbox:
        call = await toolbox.call("orders.find", {})

    assert (call.chunks, call.is_retrieval) == ((), False)


async def test_a_tool_without_its_key_is_refused_before_the_first_turn() -> None:
    headers = {"Authorization": {"env": "AGENT_KEY"}}
    tools = make_tools({"name": "weather", "url": "https://a.org/", "headers": headers})

    with permitting(variables=("AGENT_*",)), pytest.raises(ConfigurationError, match="AGENT_KEY"):
        async with open_toolbox(tools, world=make_world(), environ={}):
            pass
