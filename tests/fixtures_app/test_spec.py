from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from fixtures_app.spec import (
    MAX_DEPTH,
    EntityTypeSpec,
    FixtureSpec,
    Json,
    RelationSpec,
    check_entities,
    json_problems,
    mismatches,
    suggestion,
    validator_for,
)

STUDENT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "grade": {"type": "integer"},
        "level": {"enum": ["junior", "senior"]},
        "born": {"type": "string", "format": "date"},
        "seen": {"type": "string", "format": "date-time"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
        "contact": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
}


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
            "The data does not fit entity type 'student': address.city: 5 is not of type 'string'.",
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
            "Value error, A slug has lower-case letters, digits and single hyphens, for example"
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
        pytest.param({"type": "strng"}, ("type",), "Did you mean 'string'?", id="misspelt-type"),
        pytest.param(
            {"properties": {"a": {"required": "x"}}},
            ("properties", "a", "required"),
            "'x' is not of type 'array'",
            id="keyword-of-wrong-type",
        ),
        pytest.param(
            {"properties": {"a": {"pattern": "("}}},
            ("properties", "a", "pattern"),
            "is not a 'regex'",
            id="pattern",
        ),
        pytest.param({"$ref": "https://a/b"}, (), "lies outside this schema", id="remote-ref"),
        pytest.param(
            {"items": {"allOf": [{"$ref": "other.json"}]}}, (), "'other.json' lies", id="file-ref"
        ),
        pytest.param(
            {"definitions": {"a": {"$ref": "https://a/b"}}, "$ref": "#/definitions/a"},
            (),
            "lies outside",
            id="remote-ref-behind-a-local-one",
        ),
        pytest.param({"$ref": "#/$defs/a"}, (), "points to nothing", id="ref-to-nothing"),
        pytest.param(
            {"properties": {"$ref": {"type": "string"}}, "not": {"$ref": "#/properties"}},
            (),
            "points to what is no valid schema",
            id="ref-to-what-is-no-schema",
        ),
        pytest.param(
            {"x-shared": {"a": {"type": "strng"}}, "$ref": "#/x-shared/a"},
            (),
            "points to what is no valid schema",
            id="ref-to-a-faulty-schema-in-a-place-of-its-own",
        ),
        pytest.param({"$ref": "#"}, (), "refers to itself without end", id="endless"),
        pytest.param(
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            ("$schema",),
            "written in JSON Schema 2020-12",
            id="older-dialect",
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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param({}, "'name' is a required property.", id="missing"),
        pytest.param({"name": "A", "garde": 5}, "Did you mean 'grade'?", id="misspelt-property"),
        pytest.param({"name": "A", "level": "junor"}, "Did you mean 'junior'?", id="enum"),
        pytest.param({"name": "A", "born": "2026-02-30"}, "born: '2026-02-30'", id="date"),
        pytest.param({"name": "A", "seen": "noon"}, "seen: 'noon'", id="date-time"),
        pytest.param({"name": "A", "grade": True}, "True is not of type 'integer'", id="bool"),
        pytest.param(
            {"name": "A", "contact": 5},
            "contact: 5 is not of type 'string', or 5 is not of type 'null'.",
            id="alternatives",
        ),
    ],
)
def test_data_off_its_schema_is_explained(data: dict[str, Any], message: str) -> None:
    found = mismatches(data, validator_for(STUDENT))

    assert len(found) == 1
    assert message in found[0]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"name": "A"}, id="required-only"),
        pytest.param({"name": "A", "grade": 5.0}, id="whole-float-for-an-integer"),
        pytest.param({"name": "A", "contact": None}, id="null-where-allowed"),
        pytest.param(
            {"name": "A", "seen": "2026-01-01T10:00:00Z", "born": "2026-02-28"}, id="times"
        ),
    ],
)
def test_data_that_fits_its_schema_has_no_mismatch(data: dict[str, Any]) -> None:
    assert mismatches(data, validator_for(STUDENT)) == []


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        pytest.param("date-time", "2026-01-01T10:00:00Z", True, id="zulu"),
        pytest.param(
            "date-time", "2026-01-01t10:00:00.123456789+02:00", True, id="fraction-offset"
        ),
        pytest.param("date-time", 5, True, id="a-number-has-no-format"),
        pytest.param("date-time", "2026-01-01T10:00:00", False, id="no-zone"),
        pytest.param("date-time", "2026-01-01 10:00:00Z", False, id="space"),
        pytest.param("date-time", "2026-01-01", False, id="day-only"),
        pytest.param("date-time", "2026-02-30T10:00:00Z", False, id="no-such-day"),
        pytest.param("date-time", "2026-01-01T25:00:00Z", False, id="no-such-hour"),
        pytest.param("date-time", "2026-W01-1T10:00:00Z", False, id="week"),
        pytest.param("date-time", "", False, id="empty"),
        pytest.param("time", "10:00:00Z", True, id="time"),
        pytest.param("time", "10:00", False, id="time-without-seconds"),
        pytest.param("date", "2026-02-28", True, id="date"),
        pytest.param("date", "28.02.2026", False, id="german-date"),
        pytest.param("uuid", "not-a-uuid", False, id="uuid"),
        pytest.param("ipv4", "300.1.1.1", False, id="ipv4"),
        pytest.param("phone", "anything", True, id="unknown-format"),
    ],
)
def test_formats_are_checked(kind: str, value: object, *, fits: bool) -> None:
    assert (mismatches(value, validator_for({"format": kind})) == []) is fits


def test_a_schema_that_never_ends_for_some_data_is_a_mismatch_not_a_crash() -> None:
    loop = {"$ref": "#/$defs/a"}

    found = mismatches({"a": 1}, validator_for({"properties": {"a": loop}, "$defs": {"a": loop}}))

    assert found == ["The schema refers to itself without end for this data."]


def test_a_number_too_large_to_divide_is_a_mismatch_not_a_crash() -> None:
    found = mismatches({"a": 10**400}, validator_for({"properties": {"a": {"multipleOf": 0.5}}}))

    assert found == ["A number is too large to be divided as the schema's multipleOf asks."]


def test_nothing_remote_is_fetched_even_by_an_unchecked_schema() -> None:
    found = mismatches({}, validator_for({"$ref": "https://example.org/schema.json"}))

    assert found == [
        "The schema refers to 'https://example.org/schema.json', which does not exist."
    ]


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
    assert "hours: 'two' is not of type 'number'" in found[0].message
    assert found[1].message == "Unknown entity type 'lessn'. Did you mean 'lesson'?"


def test_entities_of_known_types_with_fitting_data_have_no_problem() -> None:
    fixture = FixtureSpec.model_validate(make_written(entity_types=[]))

    assert check_entities(fixture, {"student": STUDENT}) == []


def nested(levels: int) -> Json:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "loc", "message"),
    [
        pytest.param({"a": [1, float("nan")]}, ("a", 1), "JSON has no nan", id="nan"),
        pytest.param({"a": float("-inf")}, ("a",), "JSON has no -inf", id="infinity"),
        pytest.param({"a": date(2026, 1, 2)}, ("a",), "write it in quotes", id="date"),
        pytest.param(
            {"a": {1: "x"}}, ("a", "1"), "A key must be text: put 1 in", id="number-as-key"
        ),
        pytest.param({"a": 10**5000}, ("a",), "too many digits", id="too-many-digits"),
        pytest.param({"a": (1, 2)}, ("a",), "A tuple is not JSON.", id="tuple"),
        pytest.param({"a": {1, 2}}, ("a",), "A set is not JSON.", id="set"),
        pytest.param({"a": "x\0"}, ("a",), "NUL", id="nul"),
        pytest.param({"a": {"x\0": 1}}, ("a",), "NUL", id="nul-in-a-key"),
        pytest.param({"a": "\ud800"}, ("a",), "surrogate", id="half-a-surrogate-pair"),
        pytest.param(nested(MAX_DEPTH + 1), (0,) * MAX_DEPTH, "Nested deeper", id="too-deep"),
    ],
)
def test_what_is_not_json_is_found_where_it_stands(
    value: Json, loc: tuple[str | int, ...], message: str
) -> None:
    found = list(json_problems(value))

    assert [problem.loc for problem in found] == [loc]
    assert message in found[0].message


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="empty"),
        pytest.param({"a": [None, True, 1, 10**30, 1.5, "ü 😀"]}, id="every-kind"),
        pytest.param(nested(MAX_DEPTH), id="as-deep-as-allowed"),
    ],
)
def test_json_has_no_problems(value: Json) -> None:
    assert list(json_problems(value)) == []


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        pytest.param("studnet", ["teacher", "student"], " Did you mean 'student'?", id="near"),
        pytest.param("STUDENT", ["student"], " Did you mean 'student'?", id="case"),
        pytest.param("zzz", ["teacher", "student"], " Known: teacher, student.", id="none-near"),
        pytest.param("zzz", list("abcdefghij"), " Known: a, b, c, d, e, f, g, h, ....", id="many"),
        pytest.param("zzz", [], "", id="nothing-known"),
    ],
)
def test_a_suggestion_names_what_may_have_been_meant(
    name: str, known: list[str], expected: str
) -> None:
    assert suggestion(name, known) == expected


def test_only_the_first_of_many_unknown_refs_get_a_suggestion() -> None:
    entity = {"ref": "customer-1", "type": "customer", "data": {}}
    relations = [{"from": "customer-1", "to": f"customer-1{n}x", "type": "has"} for n in range(30)]
    written = {"name": "A", "slug": "a", "entities": [entity], "relations": relations}

    with pytest.raises(ValidationError) as caught:
        FixtureSpec.model_validate(written)

    messages = [each["msg"] for each in caught.value.errors()]
    assert len(messages) == 30  # each is reported, for searching near names takes long
    assert ["Did you mean" in message for message in messages] == [True] * 20 + [False] * 10
