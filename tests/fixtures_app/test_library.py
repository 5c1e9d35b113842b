from collections.abc import Callable
from typing import Any

import pytest

from fixtures_app.ground.json_data import canonical
from fixtures_app.library import (
    fixture_specs,
    known_schemas,
    misfits,
    save_entity_types,
    save_fixture,
)
from fixtures_app.models import Entity, EntityType, Fixture, KnowledgeChunk, Relation
from fixtures_app.spec import EntityTypeSpec, FixtureSpec

SCHOOL: dict[str, Any] = {
    "name": "School",
    "slug": "school",
    "description": "Small.",
    "entity_types": [
        {"slug": "pupil", "schema": {"properties": {"age": {"type": "number"}}}},
        {"slug": "class", "schema": {}},
    ],
    "entities": [
        {"ref": "ada", "type": "pupil", "data": {"age": 12, "tags": [1, 1.0, True]}},
        {"ref": "ben", "type": "pupil", "data": {}, "status": "gone"},
        {"ref": "1a", "type": "class", "data": {"room": None}},
    ],
    "relations": [
        {"from": "ada", "to": "1a", "type": "in"},
        {"from": "ben", "to": "1a", "type": "in", "metadata": {"since": 2020}},
        {"from": "ben", "to": "1a", "type": "in", "metadata": {"since": 2020}},
    ],
    "chunks": [
        {"id": "rules", "text": "No running.", "source": "board", "metadata": {"page": 1}},
        {"id": "food", "text": "Noodles."},
    ],
}


def make_spec(change: Callable[[dict[str, Any]], object] | None = None) -> FixtureSpec:
    data = FixtureSpec.model_validate(SCHOOL).model_dump(by_alias=True)
    if change is not None:
        change(data)
    return FixtureSpec.model_validate(data)


def make_type(slug: str, schema: dict[str, Any]) -> EntityTypeSpec:
    return EntityTypeSpec.model_validate({"slug": slug, "schema": schema})


@pytest.mark.django_db
def test_every_key_of_a_fixture_comes_back_from_its_rows() -> None:
    assert save_fixture(make_spec()) == "created"

    (stored,) = fixture_specs()
    wanted = make_spec(lambda s: s["entity_types"].sort(key=lambda kind: kind["slug"]))
    assert canonical(stored.model_dump()) == canonical(wanted.model_dump())


CHANGES = [
    pytest.param(lambda s: s.update(name="Academy"), id="name"),
    pytest.param(lambda s: s.update(description=""), id="description"),
    pytest.param(lambda s: s["entities"][0]["data"].update(age=13), id="data"),
    pytest.param(lambda s: s["entities"][0]["data"].update(tags=[1, 1, True]), id="1.0 to 1"),
    pytest.param(lambda s: s["entities"][0].update(type="class"), id="type of an entity"),
    pytest.param(lambda s: s["entities"][0].update(status="ill"), id="status"),
    pytest.param(lambda s: s["entities"].reverse(), id="order of entities"),
    pytest.param(
        lambda s: s["entities"].append({"ref": "cleo", "type": "pupil", "data": {}}),
        id="an entity more",
    ),
    pytest.param(
        lambda s: s.update(entities=s["entities"][1:], relations=s["relations"][1:]),
        id="an entity and its relation less",
    ),
    pytest.param(lambda s: s["relations"][0].update(type="left"), id="type of a relation"),
    pytest.param(lambda s: s["relations"][0].update(to="ben"), id="end of a relation"),
    pytest.param(lambda s: s["relations"].pop(0), id="a relation less"),
    pytest.param(lambda s: s["relations"].pop(2), id="one of two equal relations"),
    pytest.param(lambda s: s["chunks"][0].update(text="No shouting."), id="text"),
    pytest.param(lambda s: s["chunks"].pop(), id="a chunk less"),
    pytest.param(lambda s: s["chunks"].append({"id": "x", "text": "y"}), id="a chunk more"),
    pytest.param(lambda s: s["entity_types"][1].update(schema={"minProperties": 1}), id="schema"),
]


@pytest.mark.django_db
@pytest.mark.parametrize("change", CHANGES)
def test_what_differs_is_written_and_only_once(change: Callable[[dict[str, Any]], object]) -> None:
    save_fixture(make_spec())
    wanted = make_spec(change)

    first, second = save_fixture(wanted), save_fixture(wanted)

    assert (first, second) == ("updated", "unchanged")
    (stored,) = fixture_specs()
    bare: dict[str, Any] = {"entity_types": []}
    assert canonical(stored.model_copy(update=bare).model_dump()) == canonical(
        wanted.model_copy(update=bare).model_dump()
    )


@pytest.mark.django_db
def test_a_fixture_that_says_the_same_is_not_written() -> None:
    save_fixture(make_spec())
    before = Fixture.objects.get().updated_at

    saved = save_fixture(make_spec(lambda s: s["entities"][1].update(data={})))

    assert saved == "unchanged"
    assert Fixture.objects.get().updated_at == before


@pytest.mark.django_db
def test_rows_keep_their_identity_by_ref_and_id() -> None:
    save_fixture(make_spec())
    entities = dict(Entity.objects.values_list("ref", "pk"))
    chunks = dict(KnowledgeChunk.objects.values_list("chunk_id", "pk"))

    def change(spec: dict[str, Any]) -> None:
        spec["entities"].reverse()
        spec["entities"][0]["data"] = {"room": 7}
        spec["chunks"].reverse()

    save_fixture(make_spec(change))

    assert dict(Entity.objects.values_list("ref", "pk")) == entities
    assert dict(KnowledgeChunk.objects.values_list("chunk_id", "pk")) == chunks


@pytest.mark.django_db
def test_relations_with_the_same_position_become_those_of_the_spec() -> None:
    save_fixture(make_spec())
    Relation.objects.update(position=0)

    assert save_fixture(make_spec()) == "updated"
    assert save_fixture(make_spec()) == "unchanged"
    assert Relation.objects.count() == 3


@pytest.mark.django_db
def test_an_entity_of_a_type_that_does_not_exist_is_refused_whole() -> None:
    spec = make_spec(lambda s: s.update(entity_types=s["entity_types"][:1]))

    with pytest.raises(ValueError, match="uses entity types that do not exist: class"):
        save_fixture(spec)

    assert not Fixture.objects.exists()
    assert not EntityType.objects.exists()


@pytest.mark.django_db
def test_entity_types_tell_what_became_of_each() -> None:
    save_entity_types([make_type("a", {}), make_type("b", {"minProperties": 1})])

    saved = save_entity_types(
        [make_type("a", {}), make_type("b", {"minProperties": 2}), make_type("c", {})]
    )

    assert saved == {"a": "unchanged", "b": "updated", "c": "created"}
    assert known_schemas() == {"a": {}, "b": {"minProperties": 2}, "c": {}}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("schema", "besides", "types"),
    [
        pytest.param({"required": ["age"]}, [], ["pupil"], id="some do not fit"),
        pytest.param({"required": ["age"]}, ["school"], [], id="their fixture is replaced"),
        pytest.param({"maxProperties": 9}, [], [], id="all fit"),
        pytest.param(SCHOOL["entity_types"][0]["schema"], [], [], id="not changed"),
    ],
)
def test_stored_entities_are_compared_with_new_schemas(
    schema: dict[str, Any], besides: list[str], types: list[str]
) -> None:
    save_fixture(make_spec())

    wrong = misfits([make_type("pupil", schema)], besides=besides)

    assert list(wrong) == types
    assert all("'ben' in test data 'school'" in sentences[0] for sentences in wrong.values())


@pytest.mark.django_db
def test_each_type_is_declared_where_it_is_used_and_the_rest_first() -> None:
    save_fixture(make_spec(lambda s: s.update(entities=s["entities"][:1], relations=[])))
    other = {"name": "B", "slug": "zoo", "entities": [], "entity_types": []}
    save_fixture(FixtureSpec.model_validate(other))

    first, second = fixture_specs()
    (alone,) = fixture_specs(["zoo"])

    assert [kind.slug for kind in first.entity_types] == ["class", "pupil"]
    assert second.entity_types == []
    assert [kind.slug for kind in alone.entity_types] == ["class", "pupil"]


@pytest.mark.django_db
def test_the_fields_of_a_type_keep_their_order_on_databases_that_keep_none() -> None:
    properties: dict[str, Any] = {"total": {}, "id": {}, "state": {}}
    save_entity_types([make_type("order", {"properties": {"id": {}}})])
    save_entity_types([make_type("order", {"properties": properties})])
    # As PostgreSQL stores it: short keys first.
    EntityType.objects.update(schema={"properties": {"id": {}, "state": {}, "total": {}}})

    stored = known_schemas()["order"]["properties"]

    assert isinstance(stored, dict)
    assert list(stored) == ["total", "id", "state"]
    assert list(EntityType.objects.get().to_spec().json_schema["properties"]) == list(properties)
