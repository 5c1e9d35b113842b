from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from fixtures_app.ground.strict_json import Json
from fixtures_app.spec import EntityTypeSpec, FixtureSpec, RelationSpec, check_entities
from tests.fixtures_app.makers import STUDENT


def make_written(**changes: Json) -> dict[str, Any]:
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


def problems_of(written: Json) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        FixtureSpec.model_validate(written)
    return [(error["loc"], error["msg"]) for error in caught.value.errors()]


def student(data: dict[str, Any]) -> dict[str, Any]:
    return {"ref": "alice", "type": "student", "data": data}


def test_a_fixture_that_holds_together_is_accepted() -> None:
    fixture = FixtureSpec.model_validate(make_written())

    assert fixture.entities[0].status == "active"
    assert fixture.relations[0].from_ == "alice"
    assert fixture.entity_types[0].json_schema == STUDENT


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(make_written(entities=[], relations=[]), id="no-entities"),
        pytest.param(
            {"name": "Empty", "slug": "empty", "entities": []}, id="only-what-is-required"
        ),
        pytest.param(make_written(entity_types=[]), id="type-declared-elsewhere"),
        pytest.param(
            make_written(chunks=[{"id": "alice", "text": "A chunk may share the name of a ref."}]),
            id="chunk-named-as-an-entity",
        ),
        pytest.param(
            make_written(relations=[{"from": "bob", "to": "bob", "type": "knows"}]), id="to-itself"
        ),
    ],
)
def test_what_is_unusual_but_sound_is_accepted(written: dict[str, Any]) -> None:
    fixture = FixtureSpec.model_validate(written)

    assert fixture.slug == written["slug"]


@pytest.mark.parametrize(
    ("changes", "loc", "message"),
    [
        pytest.param(
            {"relations": [{"from": "alice", "to": "bbo", "type": "knows"}]},
            ("relations", 0, "to"),
            "No entity has the ref 'bbo'. Did you mean 'bob'?",
            id="unknown-ref",
        ),
        pytest.param(
            {"relations": [{"from": "zzz{x}", "to": "bob", "type": "knows"}]},
            ("relations", 0, "from"),
            "No entity has the ref 'zzz{x}'. Known: alice, bob.",
            id="unknown-ref-that-resembles-none",
        ),
        pytest.param(
            {"entities": [student({"name": "A"}), student({"name": "B"})], "relations": []},
            ("entities", 1, "ref"),
            "ref 'alice' is already used by entities[0].",
            id="duplicate-ref",
        ),
        pytest.param(
            {
                "chunks": [
                    {"id": "a", "text": "x"},
                    {"id": "b", "text": "x"},
                    {"id": "a", "text": "y"},
                ]
            },
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
            "The data does not fit entity type 'student': “address.city” should be a text but is the"
            " number 5.",
            id="data-off-its-type",
        ),
        pytest.param(
            {"chunks": [{"id": "a", "text": ""}]},
            ("chunks", 0, "text"),
            "String should have at least 1 character",
            id="empty-chunk",
        ),
        pytest.param(
            {"slug": "Class Data"},
            ("slug",),
            "Value error, A slug has lowercase letters, digits and single hyphens, for example"
            " class-data.",
            id="slug",
        ),
        pytest.param(
            {"entitys": []}, ("entitys",), "Extra inputs are not permitted", id="unknown-key"
        ),
        pytest.param(
            {"description": "a\0b"},
            ("description",),
            "Value error, The text contains a NUL character.",
            id="nul",
        ),
    ],
)
def test_a_mistake_is_reported_where_it_stands(
    changes: dict[str, Any], loc: tuple[str | int, ...], message: str
) -> None:
    found = problems_of(make_written(**changes))

    assert found == [(loc, message)]


def test_all_mistakes_are_reported_at_once_those_of_the_parts_and_those_between_them() -> None:
    written = make_written(
        entities=[
            student({"nmae": "Alice"}),
            {"ref": "alice", "type": "student", "data": {"name": "B"}, "colour": "red"},
            "carol",
        ],
        relations=[{"from": "alice", "to": "bob"}, {"from": "alic", "to": 7, "type": "knows"}],
    )

    found = [loc for loc, _ in problems_of(written)]

    assert sorted(found, key=str) == sorted(
        [
            ("entities", 0, "data"),
            ("entities", 0, "data"),
            ("entities", 1, "colour"),
            ("entities", 1, "ref"),
            ("entities", 2),
            ("relations", 0, "to"),
            ("relations", 0, "type"),
            ("relations", 1, "from"),
            ("relations", 1, "to"),
        ],
        key=str,
    )


def test_without_entities_the_refs_of_relations_are_not_blamed() -> None:
    written = make_written(chunks=[{"id": "a", "text": "x"}, {"id": "a", "text": "y"}])
    del written["entities"]

    found = problems_of(written)

    assert found == [
        (("entities",), "Field required"),
        (("chunks", 1, "id"), "id 'a' is already used by chunks[0]."),
    ]


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
def test_malformed_input_is_a_validation_error_never_another(written: Json) -> None:
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

    assert dumped["relations"][0] == {
        "from": "alice",
        "to": "bob",
        "type": "knows",
        "metadata": {},
    }
    assert dumped["entity_types"] == [{"slug": "student", "schema": STUDENT}]
    assert FixtureSpec.model_validate(dumped) == fixture
    assert FixtureSpec.model_validate_json(fixture.model_dump_json()) == fixture


def test_the_attribute_names_are_no_keys() -> None:
    with pytest.raises(ValidationError):
        RelationSpec.model_validate({"from_": "a", "to": "b", "type": "x"})


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="open"),
        pytest.param(STUDENT, id="usual"),
        pytest.param({"$schema": "https://json-schema.org/draft/2020-12/schema"}, id="dialect"),
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}, id="local-ref"),
        pytest.param({"properties": {"$ref": {"type": "string"}}}, id="property-named-ref"),
        pytest.param(
            {"properties": {"x": {"const": {"$ref": "https://a/b"}}}}, id="ref-inside-a-constant"
        ),
        pytest.param(
            {"type": "object", "properties": {"child": {"$ref": "#"}}}, id="recursive-with-an-end"
        ),
    ],
)
def test_a_sound_schema_is_accepted(schema: dict[str, Any]) -> None:
    assert EntityTypeSpec.model_validate({"slug": "a", "schema": schema}).json_schema == schema


@pytest.mark.parametrize(
    ("schema", "loc", "message"),
    [
        pytest.param(
            {"properties": {"a": {"required": "x"}}},
            ("properties", "a", "required"),
            "should be a list",
            id="keyword-of-wrong-type",
        ),
        pytest.param(
            {"properties": {"a": {"pattern": "(?=x)"}}},
            ("properties", "a", "pattern"),
            "Lookahead",
            id="pattern",
        ),
        pytest.param(
            {"definitions": {"a": {"$ref": "https://a/b"}}, "$ref": "#/definitions/a"},
            ("definitions", "a", "$ref"),
            "outside",
            id="remote-ref-behind-a-local-one",
        ),
        pytest.param(
            {"properties": {"$ref": {"type": "string"}}, "not": {"$ref": "#/properties"}},
            ("not", "$ref"),
            "not a schema",
            id="ref-to-what-is-no-schema",
        ),
        pytest.param({"minimum": float("inf")}, ("minimum",), "JSON has no inf", id="infinity"),
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

    found = check_entities(fixture, {"lesson": lesson})

    assert [(problem.loc, problem.value) for problem in found] == [
        (("entities", 1, "data"), {"hours": "two"}),
        (("entities", 2, "type"), "lessn"),
    ]
    assert "“hours” should be a number" in found[0].message
    assert found[1].message == "Unknown entity type 'lessn'. Did you mean 'lesson'?"


def test_entities_of_known_types_with_fitting_data_have_no_problem() -> None:
    fixture = FixtureSpec.model_validate(make_written(entity_types=[]))

    assert check_entities(fixture, {"student": STUDENT}) == []


def test_only_the_first_of_many_unknown_refs_get_a_suggestion() -> None:
    entity = {"ref": "customer-1", "type": "customer", "data": {}}
    relations = [{"from": "customer-1", "to": f"customer-1{n}x", "type": "has"} for n in range(30)]
    written = {"name": "A", "slug": "a", "entities": [entity], "relations": relations}

    with pytest.raises(ValidationError) as caught:
        FixtureSpec.model_validate(written)

    messages = [each["msg"] for each in caught.value.errors()]
    assert len(messages) == 30  # each is reported, for searching near names takes long
    assert ["Did you mean" in message for message in messages] == [True] * 20 + [False] * 10
