import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures_app.ground.strict_json import Json, JsonObject
from fixtures_app.spec import FixtureSpec
from fixtures_app.world import FixtureWorld, WorldRefusalError, copy_json, merge_patch, same_json

CLOCK = "2026-03-01T09:00:00Z"
STUDENT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "grade": {"type": "integer"}},
    "required": ["name"],
}


def make_fixture(slug: str = "classroom", **changes: object) -> FixtureSpec:
    written = {
        "name": slug,
        "slug": slug,
        "entities": [
            {"ref": "alice", "type": "teacher", "data": {"name": "Alice", "tags": ["maths"]}},
            {"ref": "bob", "type": "student", "data": {"name": "Bob", "grade": 5}},
        ],
        "relations": [{"from": "alice", "to": "bob", "type": "teaches"}],
        "chunks": [{"id": "hours", "text": "The school opens at nine.", "source": "handbook"}],
        "entity_types": [{"slug": "student", "schema": STUDENT}, {"slug": "teacher", "schema": {}}],
    }
    return FixtureSpec.model_validate({**written, **changes})


def make_world(*fixtures: FixtureSpec, **types: JsonObject) -> FixtureWorld:
    return FixtureWorld(fixtures or [make_fixture()], types, clock=CLOCK)


def ids(world: FixtureWorld, kind: str = "student") -> list[str]:
    return [row["id"] for row in world.query(kind)[0]]


def test_fixtures_that_share_a_ref_both_get_a_prefix_and_keep_their_relations() -> None:
    other = make_fixture(
        "evening",
        entities=[
            {"ref": "bob", "type": "student", "data": {"name": "Robert"}},
            {"ref": "carol", "type": "student", "data": {"name": "Carol"}},
        ],
        relations=[{"from": "carol", "to": "bob", "type": "knows"}],
    )

    world = make_world(make_fixture(), other)

    assert ids(world) == ["classroom:bob", "evening:bob", "carol"]
    assert [(row["from"], row["to"]) for row in world.relations()] == [
        ("alice", "classroom:bob"),
        ("carol", "evening:bob"),
    ]
    assert {row["id"] for row in world.search("school")} == {"classroom:hours", "evening:hours"}


def test_a_prefix_that_makes_a_new_double_is_resolved_too() -> None:
    def of(slug: str, *refs: str) -> FixtureSpec:
        entities = [{"ref": ref, "type": "student", "data": {"name": ref}} for ref in refs]
        return make_fixture(slug, entities=entities, relations=[], chunks=[])

    world = make_world(of("a", "b"), of("c", "b", "a:b"))

    assert ids(world) == ["a:b", "c:b", "c:a:b"]


def test_a_fixture_cannot_be_opened_twice_in_a_world() -> None:
    with pytest.raises(ValueError, match="twice"):
        make_world(make_fixture(), make_fixture())


def test_an_entity_of_unknown_type_keeps_the_world_from_opening() -> None:
    fixture = make_fixture(entity_types=[{"slug": "students", "schema": {}}])

    with pytest.raises(ValueError, match=r"unknown type 'student'\. Did you mean 'students'"):
        make_world(fixture, teacher={})


def test_a_type_of_the_site_goes_before_the_one_in_the_file() -> None:
    world = make_world(student={"required": ["grade"]})

    created = world.create_entity("student", {"grade": 1})

    assert created["data"] == {"grade": 1}


def test_changing_what_was_returned_changes_neither_this_world_nor_another() -> None:
    fixture = make_fixture()
    world, other = make_world(fixture), make_world(fixture)
    rows = [
        world.entity("alice"),
        world.query("teacher")[0][0],
        world.create_entity("teacher", {"name": "Dora", "tags": ["art"]}),
        world.update_entity("alice", data={"room": {"floor": 1}}),
    ]
    before = world.changes()

    for row in rows:
        row["data"]["tags"].append("hacked")
        row["status"] = "hacked"
    world.relations()[0]["metadata"]["hacked"] = True
    world.journal[0]["after"]["data"]["hacked"] = True
    world.changes()["updated"][0]["before"]["data"]["tags"].append("hacked")

    assert world.changes() == before
    assert world.entity("alice")["data"] == {
        "name": "Alice",
        "tags": ["maths"],
        "room": {"floor": 1},
    }
    assert other.entity("alice")["data"] == {"name": "Alice", "tags": ["maths"]}
    assert fixture == make_fixture()


def test_changing_what_was_handed_in_changes_nothing() -> None:
    world = make_world()
    data: dict[str, Any] = {"name": "Dora", "tags": []}
    patch: dict[str, Any] = {"tags": ["art"]}
    metadata: dict[str, Any] = {"since": []}
    made = world.create_entity("teacher", data)
    world.update_entity("alice", data=patch)
    link = world.create_relation("alice", "bob", "knows", metadata=metadata)

    data["tags"].append("late")
    patch["tags"].append("late")
    metadata["since"].append("late")

    assert world.entity(made["id"])["data"]["tags"] == []
    assert world.entity("alice")["data"]["tags"] == ["art"]
    assert world.relations(kind="knows") == [{**link, "metadata": {"since": []}}]


def with_students(*students: dict[str, object]) -> FixtureWorld:
    entities = [{"type": "student", "data": {"name": "S"}, **student} for student in students]
    return make_world(make_fixture(entities=entities, relations=[]))


def test_created_ids_are_counted_by_type_and_pass_over_those_in_use_or_deleted() -> None:
    world = with_students({"ref": "student-2"}, {"ref": "student-5"})
    world.delete_entity("student-5")

    made = [world.create_entity("student", {"name": "New"})["id"] for _ in range(2)]
    world.delete_entity("student-3")
    made += [world.create_entity("student", {"name": "New"})["id"] for _ in range(2)]
    made.append(world.create_entity("teacher", {})["id"])

    assert made == ["student-1", "student-3", "student-4", "student-6", "teacher-1"]


def test_the_same_calls_give_the_same_world() -> None:
    def play() -> tuple[Any, ...]:
        world = make_world()
        world.begin_step("entity.create")
        made = world.create_entity("student", {"name": "New"})
        world.create_relation("alice", made["id"], "teaches")
        world.delete_entity("bob")
        return world.journal, world.changes(), world.search("school nine")

    assert play() == play()


def test_deleting_an_entity_takes_its_relations_along_and_no_others() -> None:
    world = make_world()
    carol = world.create_entity("student", {"name": "Carol"})["id"]
    world.create_relation("alice", carol, "teaches")
    world.create_relation("bob", "bob", "knows")

    cut = world.delete_entity("bob")

    assert cut == ["relation-1", "relation-3"]
    assert [row["id"] for row in world.relations()] == ["relation-2"]


@pytest.mark.parametrize(
    ("action", "code"),
    [
        pytest.param(lambda w: w.update_entity("bobb"), "unknown_id", id="update"),
        pytest.param(lambda w: w.delete_entity("bobb"), "unknown_id", id="delete"),
        pytest.param(lambda w: w.create_entity("pupil", {}), "unknown_type", id="create"),
        (lambda w: w.create_entity("teacher", {"x": math.nan}), "invalid_data"),
        (lambda w: w.create_relation("alic", "bob", "x"), "dangling_relation"),
        (lambda w: w.create_relation("alice", "bob", "x", metadata={"a": {1}}), "invalid_data"),
        pytest.param(lambda w: w.relations(to="bobb"), "unknown_id", id="relations"),
    ],
)
def test_what_cannot_be_done_is_refused_and_leaves_no_trace(
    action: Callable[[FixtureWorld], object], code: str
) -> None:
    world = make_world()

    with pytest.raises(WorldRefusalError) as refused:
        action(world)

    assert refused.value.code == code
    assert world.journal == ()
    assert world.changes() == make_world().changes()


def test_what_is_refused_says_that_an_entity_was_deleted_earlier() -> None:
    world = make_world()
    world.delete_entity("bob")

    with pytest.raises(WorldRefusalError, match="'bob' was deleted earlier"):
        world.entity("bob")


@pytest.mark.parametrize(
    ("filters", "matches"),
    [
        pytest.param({"grade": 5}, ["bob"], id="field"),
        pytest.param({"grade": 5.0}, ["bob"], id="int-equals-float"),
        pytest.param({"grade": "5"}, [], id="no-coercion"),
        pytest.param({"grade": 1}, ["dan"], id="a-number-is-no-bool"),
        pytest.param({"grade": True}, [], id="a-bool-is-no-number"),
        pytest.param({"grade": [5, 6]}, [], id="a-list-is-a-value-not-a-choice"),
        pytest.param({"address.city": "Bonn"}, ["carol"], id="dotted-path"),
        pytest.param({"address.zip.code": 1}, [], id="dotted-path-past-the-end"),
        pytest.param({"address": {"city": "Bonn"}}, ["carol"], id="whole-object"),
        pytest.param({"pets.1": "dog"}, ["carol"], id="position-in-a-list"),
        pytest.param({"pets.1.name": "rex"}, ["dan"], id="field-of-an-item"),
        pytest.param({"pets.9": "dog"}, [], id="position-past-the-end"),
        pytest.param({"pets.-1": "dog"}, [], id="positions-count-from-the-front"),
        pytest.param({"a.b": 1}, ["dan"], id="key-with-a-dot"),
        pytest.param({"status": "gone"}, ["dan"], id="status"),
        pytest.param({"data.status": "new"}, ["carol"], id="field-named-status"),
        pytest.param({"status": "active", "grade": 5}, ["bob"], id="all-must-hold"),
        pytest.param({"nickname": None}, ["dan"], id="null-is-not-missing"),
        pytest.param({}, ["bob", "carol", "dan"], id="no-filter"),
    ],
)
def test_filters_ask_for_equality(filters: dict[str, Any], matches: list[str]) -> None:
    carol = {"name": "Carol", "address": {"city": "Bonn"}, "pets": ["cat", "dog"], "status": "new"}
    dan = {"name": "Dan", "grade": 1, "pets": [1, {"name": "rex"}], "a.b": 1, "nickname": None}
    world = with_students(
        {"ref": "bob", "data": {"name": "Bob", "grade": 5}},
        {"ref": "carol", "data": carol},
        {"ref": "dan", "data": dan, "status": "gone"},
    )

    rows, total = world.query("student", filters=filters)

    assert [row["id"] for row in rows] == matches
    assert total == len(matches)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        pytest.param("STRASSE", ["carol"], id="any-case"),
        pytest.param("5", ["bob"], id="number"),
        pytest.param("bob", ["bob"], id="id-or-value"),
        pytest.param("deep", ["carol"], id="nested"),
        pytest.param("true", [], id="a-bool-is-no-text"),
        pytest.param("grade", [], id="names-of-fields-are-no-text"),
        pytest.param("", ["bob", "carol"], id="empty-text-finds-all"),
    ],
)
def test_text_is_looked_for_in_ids_and_values(text: str, matches: list[str]) -> None:
    carol = {"name": "Hauptstraße", "list": [{"x": "so deep"}], "flag": True}
    world = with_students(
        {"ref": "bob", "data": {"name": "B.", "grade": 5}}, {"ref": "carol", "data": carol}
    )

    rows, _ = world.query("student", text=text)

    assert [row["id"] for row in rows] == matches


@pytest.mark.parametrize(
    ("limit", "offset", "matches"),
    [
        pytest.param(2, 0, ["s0", "s1"], id="first-page"),
        pytest.param(2, 4, ["s4"], id="last-page"),
        pytest.param(2, 9, [], id="beyond"),
    ],
)
def test_a_page_comes_with_the_number_of_all_matches(
    limit: int, offset: int, matches: list[str]
) -> None:
    world = with_students(*(dict[str, object](ref=f"s{n}") for n in range(5)))

    rows, total = world.query("student", limit=limit, offset=offset)

    assert [row["id"] for row in rows] == matches
    assert total == 5


def test_the_journal_tells_each_change_with_its_step_and_tool() -> None:
    world = make_world()
    bob, link = world.entity("bob"), world.relations()[0]
    world.begin_step("entity.get")
    world.begin_step("entity.update")
    after = world.update_entity("bob", data={"grade": 6}, status="promoted")
    world.begin_step("entity.delete")
    world.delete_entity("bob")

    keys = ("step", "at", "tool", "op", "id", "type", "before", "after")
    assert list(world.journal) == [
        dict(zip(keys, (step, CLOCK, *entry), strict=True))
        for step, *entry in [
            (2, "entity.update", "update", "bob", "student", bob, after),
            (3, "entity.delete", "unlink", "relation-1", "teaches", link, None),
            (3, "entity.delete", "delete", "bob", "student", after, None),
        ]
    ]


def test_an_update_that_changes_nothing_is_not_journaled() -> None:
    world = make_world()

    row = world.update_entity("bob", data={"grade": 5.0, "nickname": None}, status="active")

    assert row == world.entity("bob")
    assert world.journal == ()


def test_changes_are_the_difference_between_opening_and_now() -> None:
    world = make_world()
    alice, bob, link = world.entity("alice"), world.entity("bob"), world.relations()[0]
    carol = world.create_entity("student", {"name": "Carol"}, status="new")
    renamed = world.update_entity("alice", data={"name": "Alicia", "tags": None})
    new_link = world.create_relation("alice", carol["id"], "teaches", metadata={"since": "2026"})
    world.delete_entity("bob")

    assert world.changes() == {
        "created": [carol],
        "updated": [{"id": "alice", "type": "teacher", "before": alice, "after": renamed}],
        "deleted": [bob],
        "relations_created": [new_link],
        "relations_deleted": [link],
    }


def test_what_a_world_was_opened_with_can_be_read_at_any_time() -> None:
    world, untouched = make_world(), make_world()
    world.update_entity("bob", data={"grade": 6})
    world.create_entity("student", {"name": "Cleo"})
    world.delete_entity("alice")

    opened = world.initial_state()

    assert opened == untouched.initial_state()
    assert [row["id"] for row in opened["entities"]] == ["alice", "bob"]
    assert [row["id"] for row in opened["relations"]] == ["relation-1"]
    opened["entities"][1]["data"]["grade"] = 0
    assert world.initial_state() == untouched.initial_state()


def test_changes_are_counted_as_they_are_made() -> None:
    world = make_world()
    world.update_entity("bob", data={"grade": 6})
    world.update_entity("bob", data={"grade": 6})
    world.delete_entity("alice")

    assert world.change_count == len(world.journal) == 3


def test_what_came_to_nothing_is_in_the_journal_but_no_difference() -> None:
    world = make_world()
    world.update_entity("bob", data={"grade": 6})
    world.update_entity("bob", data={"grade": 5})
    made = world.create_entity("student", {"name": "Carol"})["id"]
    link = world.create_relation("alice", made, "teaches")["id"]
    world.delete_relation(link)
    world.delete_entity(made)

    assert len(world.journal) == 6
    assert not any(world.changes().values())


def make_library(**texts: str) -> FixtureWorld:
    chunks = [{"id": id_, "text": text, "source": "book"} for id_, text in texts.items()]
    return make_world(make_fixture(chunks=chunks))


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        pytest.param("refund", ["short", "long"], id="a-shorter-text-says-more"),
        pytest.param("REFUND!", ["short", "long"], id="case-and-punctuation-do-not-count"),
        pytest.param("shipping refund", ["long", "short"], id="more-words-go-before"),
        pytest.param("strasse", ["street"], id="casefold"),
        pytest.param("ﬁne", ["street"], id="ligature"),
        pytest.param("hello", ["a", "b"], id="ties-by-id"),
        pytest.param("fund", [], id="whole-words"),
        pytest.param("opening hours", ["opening-hours"], id="its-name"),
        pytest.param("weather", [], id="no-match"),
        pytest.param("?!", [], id="no-words"),
    ],
)
def test_chunks_are_ranked_by_the_words_they_share_with_the_query(
    query: str, matches: list[str]
) -> None:
    world = make_library(
        b="Hello.",
        a="Hello!",
        long="A refund of the shipping costs takes some more days than you may think.",
        short="Refund policy",
        street="A fine Straße",
        **{"opening-hours": "From 9 to 18."},
    )

    assert [chunk["id"] for chunk in world.search(query)] == matches
    assert world.search(query, limit=1) == world.search(query)[:1]


def test_a_world_without_knowledge_finds_nothing() -> None:
    assert make_library().search("anything") == []


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="replace"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="add"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="remove"),
        pytest.param({"a": ["b"]}, {"a": ["c", "d"]}, {"a": ["c", "d"]}, id="lists-are-replaced"),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        pytest.param({"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="object-for-a-list"),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        pytest.param({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="null-of-the-target-stays"),
        pytest.param({"a": [1, None]}, {"a": [None]}, {"a": [None]}, id="null-in-a-list-stays"),
    ],
)
def test_a_patch_is_merged_as_the_rfc_says(target: Json, patch: Json, merged: Json) -> None:
    before = copy_json(target)

    assert merge_patch(target, patch) == merged
    assert target == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(JSON)
def test_a_copy_equals_what_it_was_made_from(value: Json) -> None:
    assert same_json(copy_json(value), value)


@settings(deadline=None)
@given(JSON, JSON)
def test_equality_does_not_depend_on_the_side(left: Json, right: Json) -> None:
    assert same_json(left, right) == same_json(right, left)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param(1, 1.0, True, id="int-and-float"),
        pytest.param({"a": [1, 2]}, {"a": [1.0, 2]}, True, id="deep"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="keys-in-any-order"),
        pytest.param(1, True, False, id="bool-is-no-number"),
        pytest.param([0], [False], False, id="bool-is-no-number-deep"),
        pytest.param("1", 1, False, id="text-is-no-number"),
        pytest.param([1, 2], [2, 1], False, id="lists-have-an-order"),
        pytest.param([1], [1, 2], False, id="longer"),
        pytest.param({"a": None}, {}, False, id="null-is-not-missing"),
        pytest.param(None, False, False, id="null-is-not-false"),
    ],
)
def test_json_is_compared_in_depth(left: Json, right: Json, *, same: bool) -> None:
    assert same_json(left, right) is same
