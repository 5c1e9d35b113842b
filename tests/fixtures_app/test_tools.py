import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fixtures_app.spec import FixtureSpec
from fixtures_app.tools import TOOLS, ToolWorld

if TYPE_CHECKING:
    from evals_app.engine.record.world import World as EngineWorld

STUDENT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "grade": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": False,
}
FIXTURE = FixtureSpec.model_validate(
    {
        "name": "Classroom",
        "slug": "classroom",
        "entities": [
            {"ref": "alice", "type": "teacher", "data": {"name": "Alice"}},
            {"ref": "bob", "type": "student", "data": {"name": "Bob", "grade": 5}},
        ],
        "relations": [
            {"from": "alice", "to": "bob", "type": "teaches", "metadata": {"since": "2024"}}
        ],
        "chunks": [{"id": "hours", "text": "Open at nine.", "source": "handbook"}],
    }
)
BOB = {"id": "bob", "type": "student", "status": "active", "data": {"name": "Bob", "grade": 5}}
LINK = FIXTURE.relations[0].model_dump() | {"id": "relation-1"}


ONLY_BOB = {"entities": [BOB], "total": 1}
GONE = {"status": "gone"}
INF = float("inf")
HOURS = {"id": "hours", "text": "Open at nine.", "source": "handbook", "score": 0.287682}


def make_world() -> ToolWorld:
    types: dict[str, dict[str, Any]] = {"student": STUDENT, "teacher": {}}
    return ToolWorld([FIXTURE], types, clock="2026-03-01T09:00:00Z")


def error_of(result: dict[str, Any]) -> SimpleNamespace:
    assert result.keys() == {"error"}
    assert result["error"].keys() == {"code", "message"}
    return SimpleNamespace(**result["error"])


def test_a_world_is_what_the_engine_asks_for() -> None:
    world: EngineWorld = make_world()  # mypy compares the two, without an import between the apps

    assert set(world.tools) == {
        "entity.query",
        "entity.get",
        "entity.create",
        "entity.update",
        "entity.delete",
        "relation.list",
        "relation.create",
        "relation.delete",
        "knowledge.search",
    }


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in TOOLS])
def test_a_tool_describes_itself_and_its_arguments(name: str) -> None:
    tool = TOOLS[name]

    Draft202012Validator.check_schema(tool.parameters)
    assert tool.name == name
    assert tool.description.endswith(".")
    assert tool.parameters["additionalProperties"] is False
    assert all(option["description"] for option in tool.parameters["properties"].values())
    assert json.loads(json.dumps(tool.parameters)) == tool.parameters


def test_only_the_search_fetches_chunks() -> None:
    assert {name: tool.retrieval for name, tool in TOOLS.items() if tool.retrieval} == {
        "knowledge.search": "chunks"
    }


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        pytest.param("entity.query", {"type": "student"}, ONLY_BOB, id="query"),
        pytest.param(
            "entity.query",
            {"type": "student", "filters": {"grade": 5}, "text": "bo", "limit": 200, "offset": 1.0},
            {"entities": [], "total": 1},
            id="query-with-everything",
        ),
        pytest.param("entity.get", {"id": "bob"}, BOB, id="get"),
        pytest.param(
            "entity.create",
            {"type": "student", "data": {"name": "Carol"}},
            {"id": "student-1", "type": "student", "status": "active", "data": {"name": "Carol"}},
            id="create",
        ),
        pytest.param(
            "entity.create",
            {"type": "teacher", "data": {}, "status": "draft"},
            {"id": "teacher-1", "type": "teacher", "status": "draft", "data": {}},
            id="create-with-status",
        ),
        ("entity.update", {"id": "bob", "data": {"grade": None}}, {**BOB, "data": {"name": "Bob"}}),
        pytest.param("entity.update", {"id": "bob", **GONE}, {**BOB, **GONE}, id="status"),
        ("entity.delete", {"id": "bob"}, {"deleted": "bob", "relations_deleted": ["relation-1"]}),
        pytest.param("relation.list", {}, {"relations": [LINK]}, id="all-relations"),
        ("relation.list", {"from": "alice", "to": "bob", "type": "teaches"}, {"relations": [LINK]}),
        pytest.param("relation.list", {"from": "bob"}, {"relations": []}, id="none-from-there"),
        pytest.param("relation.list", {"type": "knows"}, {"relations": []}, id="none-of-the-type"),
        pytest.param(
            "relation.create",
            {"from": "bob", "to": "alice", "type": "likes"},
            {"id": "relation-2", "from": "bob", "to": "alice", "type": "likes", "metadata": {}},
            id="link",
        ),
        pytest.param("relation.delete", {"id": "relation-1"}, {"deleted": "relation-1"}, id="cut"),
        ("knowledge.search", {"query": "when do you open?"}, {"chunks": [HOURS]}),
        pytest.param("knowledge.search", {"query": "lunch", "limit": 1}, {"chunks": []}, id="none"),
    ],
)
def test_a_tool_answers(name: str, args: dict[str, Any], result: dict[str, Any]) -> None:
    world = make_world()

    assert world.call(name, args) == result


@pytest.mark.parametrize(
    ("name", "args", "code", "words"),
    [
        ("entity.qurey", {}, "unknown_tool", ["'entity.query'?"]),
        ("entity.get", {"id": "bbo"}, "unknown_id", ["'bbo'", "entity", "'bob'?"]),
        ("entity.query", {"type": "studnet"}, "unknown_type", ["'student'?"]),
        ("entity.query", {"type": "student", "filter": {}}, "invalid_arguments", ["“filters”"]),
        ("entity.get", {}, "invalid_arguments", ["entity.get", "“id”", "missing"]),
        ("entity.get", {"id": 7}, "invalid_arguments", ["“id”", "7"]),
        ("entity.query", {"type": "x", "limit": 201}, "invalid_arguments", ["“limit”", "200"]),
        ("entity.query", {"type": "x", "offset": -1}, "invalid_arguments", ["“offset”", "0"]),
        ("entity.query", {"type": "student", "limit": True}, "invalid_arguments", ["true"]),
        ("entity.create", {"type": "x", "data": {"pay": INF}}, "invalid_arguments", ["data.pay"]),
        (
            "entity.create",
            {"type": "student", "data": {"name": "C", "garde": 5}},
            "invalid_data",
            ["'student'", "“garde”", "“grade”"],
        ),
        ("entity.update", {"id": "bob", "data": {"grade": "six"}}, "invalid_data", ["“six”"]),
        ("entity.update", {"id": "bob"}, "invalid_arguments", ["data", "status"]),
        (
            "relation.create",
            {"from": "alice", "to": "bbo", "type": "teaches"},
            "dangling_relation",
            ["to 'bbo'", "'bob'?"],
        ),
        ("relation.delete", {"id": "relation-2"}, "unknown_id", ["relation", "'relation-1'?"]),
        ("knowledge.search", {"query": ""}, "invalid_arguments", ["“query”", "1 character "]),
    ],
)
def test_a_call_that_makes_no_sense_is_answered_with_how_to_call(
    name: str, args: dict[str, Any], code: str, words: list[str]
) -> None:
    world = make_world()

    error = error_of(world.call(name, args))

    assert error.code == code
    assert [word for word in words if word not in error.message] == []
    assert list(world.journal) == []
    assert not any(world.changes().values())


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(None, id="nothing"),
        pytest.param("bob", id="text"),
        pytest.param(["bob"], id="list"),
        pytest.param({"id": {"id": "bob"}}, id="nested"),
        pytest.param({1: "bob"}, id="number-as-key"),
        pytest.param({"id": "x" * 100_000}, id="huge"),
    ],
)
def test_arguments_of_any_shape_give_a_short_error(args: Any) -> None:
    error = error_of(make_world().call("entity.get", args))

    assert 0 < len(error.message) < 600


def test_data_nested_without_end_is_an_error() -> None:
    data: dict[str, Any] = {}
    data["self"] = data

    error = error_of(make_world().call("entity.create", {"type": "teacher", "data": data}))

    assert error.code == "invalid_arguments"
    assert "32 levels" in error.message


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("bob"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["id", "type", "data", "status", "filters", "text", "limit", "offset", "from", "to", "query"]
)


@settings(deadline=None)
@given(st.sampled_from([*TOOLS, "other"]), st.dictionaries(KEYS, ANYTHING, max_size=4))
def test_no_call_raises_and_every_answer_is_json(name: str, args: dict[str, Any]) -> None:
    world = make_world()

    result = world.call(name, args)

    json.dumps([result, world.changes(), list(world.journal)], allow_nan=False)


def test_steps_count_every_call_also_those_that_only_read_or_fail() -> None:
    world = make_world()
    world.call("entity.get", {"id": "bob"})
    world.call("entity.get", {"id": "nobody"})
    world.call("entity.update", {"id": "bob", "data": {"grade": 6}})

    (entry,) = world.journal
    assert (entry["step"], entry["tool"], entry["op"]) == (3, "entity.update", "update")


def test_worlds_of_the_same_fixture_share_nothing() -> None:
    world, other = make_world(), make_world()
    world.call("entity.delete", {"id": "bob"})
    world.call("entity.create", {"type": "student", "data": {"name": "Carol"}})

    assert other.call("entity.query", {"type": "student"}) == ONLY_BOB
    made = other.call("entity.create", {"type": "student", "data": {"name": "D"}})
    assert made["id"] == "student-1"
