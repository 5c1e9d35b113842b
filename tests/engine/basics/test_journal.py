"""Journals: what they come to, and the world that they lead to."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.basics.journal import changed_fields, difference, replay_journal, value_at
from evals_app.engine.basics.matchers import ABSENT
from fixtures_app.tools import ToolWorld
from tests.engine.makers import make_world

NOTHING: dict[str, list[Any]] = {
    "created": [],
    "updated": [],
    "deleted": [],
    "relations_created": [],
    "relations_deleted": [],
}

IDS = st.sampled_from(["order-1", "order-2", "order-3", "order-4", "relation-1", "nobody"])
DATA = st.dictionaries(st.sampled_from(["total", "state"]), st.sampled_from([None, 0, 1, True]))
CALLS = st.one_of(
    st.tuples(
        st.just("entity.create"), st.fixed_dictionaries({"type": st.just("order"), "data": DATA})
    ),
    st.tuples(st.just("entity.update"), st.fixed_dictionaries({"id": IDS, "data": DATA})),
    st.tuples(
        st.just("entity.update"),
        st.fixed_dictionaries({"id": IDS, "status": st.sampled_from(["active", "closed"])}),
    ),
    st.tuples(st.just("entity.delete"), st.fixed_dictionaries({"id": IDS})),
    st.tuples(
        st.just("relation.create"),
        st.fixed_dictionaries({"from": IDS, "to": IDS, "type": st.just("next")}),
    ),
    st.tuples(st.just("relation.delete"), st.fixed_dictionaries({"id": IDS})),
)


def world_after(*calls: tuple[str, dict[str, Any]]) -> ToolWorld:
    world = make_world()
    for name, args in calls:
        world.call(name, args)
    return world


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: str(row["id"]))


def state_of(world: ToolWorld) -> dict[str, list[dict[str, Any]]]:
    """Read a world the long way, as an agent would."""
    return {
        "entities": by_id(world.call("entity.query", {"type": "order"})["entities"]),
        "relations": by_id(world.call("relation.list", {})["relations"]),
    }


@given(st.lists(CALLS, max_size=12))
def test_a_journal_comes_to_what_the_world_says_of_itself(calls: list[Any]) -> None:
    world = world_after(*calls)

    changes = difference(world.journal)

    assert {key: by_id(rows) for key, rows in changes.items()} == {
        key: by_id(rows) for key, rows in world.changes().items()
    }


@given(st.lists(CALLS, max_size=12), st.integers(0, 12))
def test_a_journal_leads_from_any_moment_to_the_end(calls: list[Any], cut: int) -> None:
    world = world_after(*calls)

    halfway = replay_journal(world.initial_state(), world.journal[:cut])
    end = replay_journal(halfway, world.journal[cut:])

    assert {key: by_id(rows) for key, rows in end.items()} == state_of(world)


def test_what_was_made_and_undone_is_no_difference() -> None:
    world = world_after(
        ("entity.create", {"type": "order", "data": {"total": 1}}),
        ("entity.delete", {"id": "order-3"}),
        ("entity.update", {"id": "order-1", "data": {"total": 1}}),
        ("entity.update", {"id": "order-1", "data": {"total": 24.5}}),
        ("relation.create", {"from": "order-1", "to": "order-2", "type": "next"}),
        ("relation.delete", {"id": "relation-1"}),
    )

    assert len(world.journal) == 6
    assert difference(world.journal) == NOTHING


def test_the_difference_of_a_part_begins_with_what_there_was_then() -> None:
    world = world_after(
        ("entity.create", {"type": "order", "data": {"total": 1}}),
        ("entity.update", {"id": "order-3", "data": {"total": 2}}),
    )

    changes = difference(world.journal[1:])

    (row,) = changes.pop("updated")
    assert (row["before"]["data"], row["after"]["data"]) == ({"total": 1}, {"total": 2})
    assert not any(changes.values())


def test_an_entity_may_have_the_id_of_a_relation() -> None:
    entity = {"id": "relation-1", "type": "relation", "status": "active", "data": {}}
    relation = {"id": "relation-1", "from": "a", "to": "b", "type": "next", "metadata": {}}

    changes = difference(
        [
            {"op": "create", "id": "relation-1", "before": None, "after": entity},
            {"op": "unlink", "id": "relation-1", "before": relation, "after": None},
        ]
    )

    assert changes == NOTHING | {"created": [entity], "relations_deleted": [relation]}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("a", {"b": 1}, id="a field"),
        pytest.param("a.b", 1, id="inside a field"),
        pytest.param("c.d", 2, id="a key with a dot goes first"),
        pytest.param("items.1.name", "y", id="inside a list"),
        pytest.param("items.0", {"name": "x"}, id="a place of a list"),
        pytest.param("none", None, id="null is a value"),
        pytest.param("a.c", ABSENT, id="no such key"),
        pytest.param("a.b.c", ABSENT, id="beyond a value"),
        pytest.param("items.2", ABSENT, id="beyond a list"),
        pytest.param("items.-1", ABSENT, id="no place counts from the end"),
        pytest.param("", ABSENT, id="no path"),
        pytest.param(".", ABSENT, id="nothing but a dot"),
    ],
)
def test_a_dotted_path_leads_into_data(path: str, value: Any) -> None:
    data = {
        "a": {"b": 1},
        "c.d": 2,
        "c": {"d": 3},
        "items": [{"name": "x"}, {"name": "y"}],
        "none": None,
    }

    assert value_at(data, path) == value


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        pytest.param({"a": 1}, {"a": 2}, {"a": (1, 2)}, id="a field"),
        pytest.param({"a": 1}, {"a": 1.0}, {}, id="the same number"),
        pytest.param({"a": 1}, {"a": True}, {"a": (1, True)}, id="true is no number"),
        pytest.param({}, {"a": None}, {"a": (ABSENT, None)}, id="null is a value"),
        pytest.param({"a": 1}, {}, {"a": (1, ABSENT)}, id="gone"),
        ({"a": {"b": 1, "c": 1}}, {"a": {"b": 2, "c": 1}}, {"a.b": (1, 2)}),
        pytest.param({"a": [1]}, {"a": [1, 2]}, {"a": ([1], [1, 2])}, id="a list is one field"),
        pytest.param({"a": {"b": 1}}, {"a": 1}, {"a": ({"b": 1}, 1)}, id="another kind"),
        pytest.param({"a": {}}, {"a": {}}, {}, id="nothing"),
        pytest.param({"": {"": 1}}, {"": {"": 2}}, {".": (1, 2)}, id="keys without a name"),
    ],
)
def test_what_changed_is_named_by_its_path(
    before: dict[str, Any], after: dict[str, Any], changed: dict[str, Any]
) -> None:
    assert changed_fields({"data": before}, {"data": after}) == changed


def test_data_of_any_depth_is_compared() -> None:
    def nest(value: int) -> dict[str, Any]:
        data: Any = value
        for _ in range(5000):
            data = {"a": data}
        return {"data": data}

    (path,) = changed_fields(nest(1), nest(2))

    assert set(path) == {"a", "."}
