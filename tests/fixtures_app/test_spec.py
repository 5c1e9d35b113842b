from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from fixtures_app.spec import EntityTypeSpec, FixtureSpec, RelationSpec, check_entities
from tests.fixtures_app.makers import STUDENT


def make_written(**changes: object) -> dict[str, Any]:
    return {
        "name": "Classroom",
        "slug": "classroom",
        "entities": [
            {"ref": "alice", "type": "student", "data": {"name": "Alice"}},
            {"ref": "bob", "type": "student", "data": {"name": "Bob", "grade": 5}},
        ],
        "relations": [{"from": "alice", "to": "bob", "type": "knows"}],
        "chunks": [{"id": "hours", "text": "Open from nine to five."}],
        "entity_types": [{"slug": "student", "schema": STUDENT}],
        **changes,
    }


def problems_of(written: object) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        FixtureSpec.model_validate(written)
    return [(error["loc"], error["msg"]) for error in caught.value.errors()]


def student(data: dict[str, Any]) -> dict[str, Any]:
    return {"ref": "alice", "type": "student", "data": data}


@pytest.mark.parametrize(
    "written",
    [
        pytest.param({"name": "Empty", "slug": "empty", "entities": []}, id="least"),
        pytest.param(make_written(entity_types=[]), id="type-declared-elsewhere"),
        pytest.param(make_written(chunks=[{"id": "alice", "text": "x"}]), id="chunk-like-entity"),
        make_written(relations=[{"from": "bob", "to": "bob", "type": "knows"}]),
    ],
)
def test_what_is_unusual_but_sound_is_accepted(written: dict[str, Any]) -> None:
    assert FixtureSpec.model_validate(written).slug == written["slug"]


@pytest.mark.parametrize(
    ("changes", "loc", "message"),
    [
        pytest.param(
            {"relations": [{"from": "alice", "to": "bbo", "type": "knows"}]},
            ("relations", 0, "to"),
            "'bbo'. Did you mean 'bob'?",
            id="unknown-ref",
        ),
        pytest.param(
            {"relations": [{"from": "zzz{x}", "to": "bob", "type": "knows"}]},
            ("relations", 0, "from"),
            "'zzz{x}'. Known: alice, bob.",
            id="unknown-ref-that-resembles-none",
        ),
        pytest.param(
            {"entities": [student({"name": "A"}), student({"name": "B"})], "relations": []},
            ("entities", 1, "ref"),
            "ref 'alice' is already used by entities[0].",
            id="duplicate-ref",
        ),
        pytest.param(
            {"chunks": [{"id": id_, "text": "x"} for id_ in "aba"]},
            ("chunks", 2, "id"),
            "id 'a' is already used by chunks[0].",
            id="duplicate-chunk",
        ),
        pytest.param(
            {"entity_types": [{"slug": "student", "schema": STUDENT}] * 2},
            ("entity_types", 1, "slug"),
            "slug 'student' is already used by entity_types[0].",
            id="duplicate-type",
        ),
        pytest.param(
            {"entities": [student({"name": "A", "address": {"city": 5}})], "relations": []},
            ("entities", 0, "data"),
            "type 'student': “address.city” should be a text but is the number 5.",
            id="data-off-its-type",
        ),
        ({"chunks": [{"id": "a", "text": ""}]}, ("chunks", 0, "text"), "at least 1"),
        pytest.param({"slug": "Class Data"}, ("slug",), "lowercase letters", id="slug"),
        pytest.param(
            {"entity_types": [{"slug": "Parcel Größe", "schema": {}}]},
            ("entity_types", 0, "slug"),
            "mean Parcel-Grosse?",
            id="type",
        ),
        pytest.param({"entitys": []}, ("entitys",), "Extra inputs", id="unknown-key"),
        pytest.param({"description": "a\0b"}, ("description",), "NUL", id="nul"),
    ],
)
def test_a_mistake_is_reported_where_it_stands(
    changes: dict[str, Any], loc: tuple[str | int, ...], message: str
) -> None:
    ((place, sentence),) = problems_of(make_written(**changes))

    assert place == loc
    assert message in sentence


def test_all_mistakes_are_reported_at_once_those_of_the_parts_and_those_between_them() -> None:
    written = make_written(
        entities=[
            student({"nmae": "Alice"}),
            {"ref": "alice", "type": "student", "data": {"name": "B"}, "colour": "red"},
            "carol",
        ],
        relations=[{"from": "alice", "to": "bob"}, {"from": "alic", "to": 7, "type": "knows"}],
    )

    places = [".".join(map(str, loc)) for loc, _ in problems_of(written)]

    assert sorted(places) == [
        "entities.0.data",
        "entities.0.data",
        "entities.1.colour",
        "entities.1.ref",
        "entities.2",
        "relations.0.to",
        "relations.0.type",
        "relations.1.from",
        "relations.1.to",
    ]


def test_without_entities_the_refs_of_relations_are_not_blamed() -> None:
    written = make_written(chunks=[{"id": "a", "text": "x"}, {"id": "a", "text": "y"}])
    del written["entities"]

    assert [loc for loc, _ in problems_of(written)] == [("entities",), ("chunks", 1, "id")]


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(None, id="nothing"),
        pytest.param([], id="list"),
        pytest.param(make_written(entities={"alice": {}}), id="entities-as-mapping"),
        pytest.param(make_written(entities=[{"ref": [], "type": {}, "data": 5}]), id="odd-values"),
        pytest.param(make_written(entity_types=[{"slug": 5, "schema": []}]), id="odd-type"),
        pytest.param(make_written(relations="alice -> bob"), id="relations-as-text"),
    ],
)
def test_malformed_input_is_a_validation_error_never_another(written: object) -> None:
    assert problems_of(written)


def test_places_carry_the_prefix_of_whatever_holds_the_fixture() -> None:
    class Import(BaseModel):
        fixtures: list[FixtureSpec]

    broken = make_written(relations=[{"from": "alice", "to": "bbo", "type": "knows"}])

    with pytest.raises(ValidationError) as caught:
        Import.model_validate({"fixtures": [make_written(), broken]})

    assert [error["loc"] for error in caught.value.errors()] == [
        ("fixtures", 1, "relations", 0, "to")
    ]


def test_the_keys_of_a_dump_are_those_of_a_file() -> None:
    fixture = FixtureSpec.model_validate(make_written())

    dumped = fixture.model_dump()

    knows = {"from": "alice", "to": "bob", "type": "knows", "metadata": {}}
    assert dumped["relations"] == [knows]
    assert dumped["entity_types"] == [{"slug": "student", "schema": STUDENT}]
    assert FixtureSpec.model_validate(dumped) == fixture
    assert FixtureSpec.model_validate_json(fixture.model_dump_json()) == fixture


def test_the_attribute_names_are_no_keys() -> None:
    with pytest.raises(ValidationError):
        RelationSpec.model_validate({"from_": "a", "to": "b", "type": "x"})


@pytest.mark.parametrize(
    ("schema", "loc", "message"),
    [
        ({"properties": {"a": {"pattern": "(?=x)"}}}, ("properties", "a", "pattern"), "Lookahead"),
        ({"minimum": float("inf")}, ("minimum",), "JSON has no inf"),
    ],
)
def test_a_faulty_schema_is_refused_where_the_fault_is(
    schema: dict[str, Any], loc: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        EntityTypeSpec.model_validate({"slug": "a", "schema": schema})

    assert [error["loc"] for error in caught.value.errors()] == [("schema", *loc)]
    assert message in str(caught.value)


def test_entities_are_checked_against_the_types_of_the_site() -> None:
    fixture = FixtureSpec.model_validate(
        make_written(
            entities=[
                student({"name": "A"}),
                {"ref": "maths", "type": "lesson", "data": {"hours": "two"}},
                {"ref": "art", "type": "lessn", "data": {}},
            ],
            relations=[],
        )
    )
    lesson = {"properties": {"hours": {"type": "number"}}}

    unfit, unknown = check_entities(fixture, {"lesson": lesson})

    assert (unfit.loc, unfit.value) == (("entities", 1, "data"), {"hours": "two"})
    assert "“hours” should be a number" in unfit.message
    assert (unknown.loc, unknown.value) == (("entities", 2, "type"), "lessn")
    assert "Did you mean 'lesson'?" in unknown.message


def test_only_the_first_of_many_unknown_refs_get_a_suggestion() -> None:
    entity = {"ref": "customer-1", "type": "customer", "data": {}}
    relations = [{"from": "customer-1", "to": f"customer-1{n}x", "type": "has"} for n in range(30)]
    written = {"name": "A", "slug": "a", "entities": [entity], "relations": relations}

    messages = [message for _, message in problems_of(written)]

    assert len(messages) == 30  # each is reported, for searching near names takes long
    assert ["Did you mean" in message for message in messages] == [True] * 20 + [False] * 10
