"""Tools bound to a world."""

import json

import pytest

from evals_app.engine.agents.toolbox import Toolbox, result_text
from evals_app.engine.errors import ConfigurationError
from evals_app.engine.trial import Chunk
from tests.engine.makers import make_call, make_world

TOOLS = ["entity.query", "entity.get", "entity.update", "knowledge.search"]


def make_toolbox(*names: str) -> Toolbox:
    return Toolbox(names or TOOLS, world=make_world())


def test_an_agent_has_the_tools_that_it_names_in_that_order() -> None:
    toolbox = make_toolbox("knowledge.search", "entity.get")

    assert list(toolbox.tools) == ["knowledge.search", "entity.get"]


def test_a_tool_that_the_world_does_not_have_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigurationError, match=r"No such tool: mail\.send\. Known: entity\.query"
    ):
        make_toolbox("entity.get", "mail.send")


def test_a_call_is_noted_with_its_result() -> None:
    call = make_toolbox().call("entity.query", {"type": "order", "filters": {"number": "1042"}})

    assert call.name == "entity.query"
    assert call.args == {"type": "order", "filters": {"number": "1042"}}
    assert [entity["id"] for entity in call.result["entities"]] == ["order-1"]
    assert (call.error, call.chunks) == (None, ())
    assert call.duration_ms >= 0


def test_calls_change_one_and_the_same_world() -> None:
    world = make_world()
    toolbox = Toolbox(TOOLS, world=world)

    toolbox.call("entity.update", {"id": "order-1", "data": {"total": 0}})

    assert toolbox.call("entity.get", {"id": "order-1"}).result["data"]["total"] == 0
    assert len(world.journal) == 1


def test_what_a_retrieval_tool_finds_is_kept_as_chunks() -> None:
    call = make_toolbox().call("knowledge.search", {"query": "returned books"})

    assert call.chunks == (Chunk("returns", "Books can be returned within 30 days."),)


@pytest.mark.parametrize(
    ("name", "args", "code", "words"),
    [
        pytest.param("entity.get", {"id": "order-9"}, "unknown_id", "order-9", id="no such entity"),
        pytest.param("entity.get", {}, "invalid_arguments", "id", id="wrong arguments"),
        pytest.param(
            "knowledge.search", {"query": 3}, "invalid_arguments", "query", id="no chunks then"
        ),
        pytest.param(
            "entity.gett", {}, "unknown_tool", "Did you mean entity.get?", id="misspelt tool"
        ),
        pytest.param(
            "entity.delete",
            {"id": "order-1"},
            "unknown_tool",
            "There is no tool 'entity.delete'",
            id="of the world, but not of this agent",
        ),
    ],
)
def test_a_wrong_call_is_answered_with_an_error(
    name: str, args: dict[str, object], code: str, words: str
) -> None:
    call = make_toolbox().call(name, args)

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
