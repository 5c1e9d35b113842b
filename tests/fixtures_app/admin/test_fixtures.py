import json
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db.models import ProtectedError
from django.test import Client

from evals_app.models import Suite
from fixtures_app.library import save_fixture
from fixtures_app.models import Entity, EntityType, Fixture
from fixtures_app.spec import FixtureSpec
from tests.makers import make_suite
from tests.page_form import PageForm, open_page

pytestmark = pytest.mark.django_db

ORDER = {
    "type": "object",
    "properties": {"total": {"type": "number"}, "to": {"properties": {"city": {"type": "string"}}}},
    "required": ["total"],
}
RICH: dict[str, Any] = {
    "name": "Shop",
    "slug": "shop",
    "description": "Two\nlines\n",
    "entities": [
        {"ref": "b", "type": "order", "data": {"total": 1.5, "to": {"city": "Ulm"}}},
        {"ref": "a", "type": "order", "data": {"total": 2}, "status": "gone"},
        {"ref": "c", "type": "note", "data": {}},
    ],
    "relations": [
        {"from": "a", "to": "b", "type": "follows", "metadata": {"since": 2020}},
        {"from": "b", "to": "c", "type": "has"},
    ],
    "chunks": [
        {"id": "refunds", "text": "Within\n30 days.\n", "source": "faq.md", "metadata": {"n": 1}},
        {"id": "x", "text": "y"},
    ],
    "entity_types": [{"slug": "order", "schema": ORDER}, {"slug": "note", "schema": {}}],
}


def write_fixture(**changes: Any) -> Fixture:
    save_fixture(FixtureSpec.model_validate(RICH | changes))
    return Fixture.objects.get()


def spec_of(fixture: Fixture) -> FixtureSpec:
    return Fixture.objects.with_everything().get(pk=fixture.pk).to_spec()


def page_of(client: Client, fixture: Fixture) -> PageForm:
    return open_page(client, f"/admin/fixtures_app/fixture/{fixture.pk}/change/")


SPACED: dict[str, Any] = {
    "entities": [
        {"ref": " b ", "type": "note", "status": " gone", "data": {" k ": " v "}},
        {"ref": "b", "type": "note", "data": {}, "status": "two\nlines"},
    ],
    "relations": [{"from": " b ", "to": "b", "type": " has ", "metadata": {}}],
    "chunks": [{"id": " x", "text": " y ", "source": " from\nhere "}],
}


def test_an_empty_form_is_refused_not_an_error(admin_client: Client) -> None:
    page = admin_client.post("/admin/fixtures_app/fixture/add/", {})

    assert page.status_code == 200


@pytest.mark.parametrize("changes", [{}, SPACED], ids=["rich", "spaces"])
def test_saving_a_fixture_as_it_is_changes_nothing(
    admin_client: Client, changes: dict[str, Any]
) -> None:
    fixture = write_fixture(**changes)
    before = spec_of(fixture)
    keys = set(Entity.objects.values_list("pk", flat=True))

    saved = page_of(admin_client, fixture).post()

    assert saved.is_saved, saved.problems
    assert spec_of(fixture) == before
    assert set(Entity.objects.values_list("pk", flat=True)) == keys
    assert LogEntry.objects.get().get_change_message() == "No fields changed."


def test_a_fixture_is_written_from_nothing(admin_client: Client) -> None:
    EntityType.objects.create(slug="order", schema=ORDER)
    page = open_page(admin_client, "/admin/fixtures_app/fixture/add/")
    page.row("entities", ref="one", kind="order", status="active", cell__total=1)
    page.row("entities", ref="two", kind="order", status="new", cell__total=2)
    page.row("relations", source="one", target="two", type="next", metadata="")
    page.row("chunks", chunk_id="k", text="Known.", source="", metadata="")

    saved = page.post(name="New", slug="new")

    assert saved.is_saved, saved.problems
    dumped = spec_of(Fixture.objects.get()).model_dump(mode="json", exclude_defaults=True)
    assert dumped == {
        "name": "New",
        "slug": "new",
        "entities": [
            {"ref": "one", "type": "order", "data": {"total": 1}},
            {"ref": "two", "type": "order", "data": {"total": 2}, "status": "new"},
        ],
        "relations": [{"from": "one", "to": "two", "type": "next"}],
        "chunks": [{"id": "k", "text": "Known."}],
    }


def test_names_can_be_swapped_between_rows(admin_client: Client) -> None:
    fixture = write_fixture()

    saved = page_of(admin_client, fixture).post(entities__0__ref="a", entities__1__ref="b")

    assert saved.is_saved, saved.problems
    assert [entity.ref for entity in spec_of(fixture).entities] == ["a", "b", "c"]
    assert spec_of(fixture).entities[0].data["total"] == 1.5


def test_an_entity_is_removed_with_its_relations_and_its_name_used_again(
    admin_client: Client,
) -> None:
    fixture = write_fixture()
    page = page_of(admin_client, fixture)
    page.row("entities", ref="b", kind="note", status="active")

    saved = page.post(entities__0__DELETE="on", relations__1__DELETE="on")

    assert saved.is_saved, saved.problems
    spec = spec_of(fixture)
    assert [(entity.ref, entity.type) for entity in spec.entities] == [
        ("a", "order"),
        ("c", "note"),
        ("b", "note"),
    ]
    assert [(relation.from_, relation.to) for relation in spec.relations] == [("a", "b")]


def test_rows_are_saved_in_the_order_of_the_screen(admin_client: Client) -> None:
    fixture = write_fixture()

    page_of(admin_client, fixture).post(entities__0__position=2, entities__2__position=0)

    assert [entity.ref for entity in spec_of(fixture).entities] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"relations__0__source": "bb"}, "Relation 1, from: No entity has the ref 'bb'."),
        pytest.param(
            {"entities__0__ref": "a", "relations__0__target": "a", "relations__1__source": "a"},
            "order “a”, ref: Another entity has the ref 'a'.",
            id="name twice",
        ),
        pytest.param(
            {"chunks__1__chunk_id": "refunds"},
            "Text 2, name: id 'refunds' is already used by chunk 1.",
            id="text twice",
        ),
        ({"entities__0__cell-total": "many"}, "order “b”, total: Write a number"),
        ({"entities__0__cell-total": ""}, "order “b”, total: This field is required"),
        ({"entities__0__cell-to": '{"city": 1}'}, "order “b”, to: “to.city” should be a text"),
        ({"entities__0__cell-to": "{'city'"}, "order “b”, to: This is not valid JSON"),
        ({"entities__0__kind": "ordr"}, "ordr “b”: The entity type 'ordr' no longer"),
        pytest.param({"chunks__0__text": ""}, "Text 1, text: This field is required.", id="text"),
        pytest.param({"slug": "Shop"}, "Slug: A slug has lowercase letters", id="slug"),
        pytest.param({"name": ""}, "Name: This field is required.", id="name"),
    ],
)
def test_what_does_not_hold_together_is_refused_with_its_place(
    admin_client: Client, changes: dict[str, Any], problem: str
) -> None:
    fixture = write_fixture()
    before = spec_of(fixture)

    refused = page_of(admin_client, fixture).post(**changes)

    assert len(refused.problems) == 1, refused.problems
    assert refused.problems[0].startswith(problem)
    assert spec_of(fixture) == before


def test_everything_that_is_wrong_is_said_at_once_each_at_its_cell(admin_client: Client) -> None:
    EntityType.objects.create(slug="order", schema=STRICT)
    page = open_page(admin_client, "/admin/fixtures_app/fixture/add/")
    page.row("entities", ref="a", kind="order", status="active", cell__total="x", cell__day="May")
    page.row("entities", ref="a", kind="order", status="active", cell__total="-1")
    page.row("relations", source="a", target="aa", type="next", metadata="")

    refused = page.post(name="New", slug="new")

    assert [problem.partition(": ")[0] for problem in refused.problems] == [
        "order “a”, total",
        "order “a”, day",
        "order “a”, total",
        "order “a”, ref",
        "Relation 1, to",
    ]
    anchors = re.findall(r'data-problem="([^"]+)"', refused.html)
    assert all(f'id="{anchor}"' in refused.html for anchor in anchors)
    assert refused.fields["entities-0-cell-total"] == ["x"]
    assert refused.fields["entities-0-cell-day"] == ["May"]


STRICT = {
    "properties": {
        "total": {"type": "number", "minimum": 0},
        "day": {"type": "string", "format": "date"},
    },
    "additionalProperties": False,
}


def test_an_added_column_is_a_field_and_one_that_the_type_lacks_is_warned_of(
    admin_client: Client,
) -> None:
    fixture = write_fixture()
    page = page_of(admin_client, fixture)
    columns = [*page.fields["entities-columns-order"], "totl"]

    saved = page.post(**{"entities-columns-order": columns, "entities-0-cell-totl": "2"})

    assert saved.is_saved, saved.problems
    assert spec_of(fixture).entities[0].data["totl"] == 2
    after = page_of(admin_client, fixture)
    assert "“totl”. Did you mean 'total'?" in after.text
    assert "no field totl" in after.text


def test_a_column_that_a_closed_type_lacks_is_an_error(admin_client: Client) -> None:
    EntityType.objects.create(slug="order", schema=STRICT)
    page = open_page(admin_client, "/admin/fixtures_app/fixture/add/")
    page.row("entities", ref="a", kind="order", status="active", cell__totl="1")
    page.set(**{"entities-columns-order": ["total", "day", "totl"]})

    refused = page.post(name="New", slug="new")

    (problem,) = refused.problems
    assert problem.startswith("order “a”, totl: ")
    assert "“total”" in problem


@pytest.mark.parametrize(
    "data", [{"t": "", "n": 1.0, "extra": None}, {"t": "12", "any": "12"}, {"n": 5, "t": "a\nb"}]
)
def test_values_stay_as_they_are_until_someone_changes_them(
    admin_client: Client, data: dict[str, Any]
) -> None:
    schema = {"properties": {"t": {"type": "string"}, "n": {"type": "integer"}}}
    fixture = write_fixture(
        entities=[{"ref": "a", "type": "note", "data": data}],
        relations=[],
        entity_types=[{"slug": "note", "schema": schema}],
    )

    saved = page_of(admin_client, fixture).post()

    assert saved.is_saved, saved.problems
    assert json.dumps(spec_of(fixture).entities[0].data) == json.dumps(data)


def test_the_history_names_changed_rows(admin_client: Client) -> None:
    page = page_of(admin_client, write_fixture())
    page.row("chunks", chunk_id="new", text="x")

    page.post(entities__1__status="back", relations__0__DELETE="on")

    message = LogEntry.objects.get().get_change_message()
    assert "Changed Status for entity “a”." in message
    assert "Added text “new”." in message
    assert "Deleted relation" in message


def test_the_page_says_who_uses_the_fixture(admin_client: Client) -> None:
    assert "Used by Nothing yet" in page_of(admin_client, write_fixture()).text


def test_who_may_only_look_cannot_change() -> None:
    fixture = write_fixture()
    user = User.objects.create_user("reader", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_fixture"))
    client = Client()
    client.force_login(user)

    page = page_of(client, fixture)

    assert page.fields.keys() <= {"csrfmiddlewaretoken", "version"}
    assert client.post(page.url, {}).status_code == 403


# A fixture in use


def in_use() -> tuple[Fixture, Suite]:
    fixture, suite = write_fixture(), make_suite()
    suite.fixtures.add(fixture)
    return fixture, suite


def test_a_fixture_that_a_suite_uses_is_not_deleted_and_its_page_names_the_suite(
    admin_client: Client,
) -> None:
    fixture, suite = in_use()
    path = f"/admin/fixtures_app/fixture/{fixture.pk}/delete/"

    asked, confirmed = admin_client.get(path), admin_client.post(path, {"post": "yes"})

    for page in (asked.content.decode(), confirmed.content.decode()):
        assert suite.name in page
        assert f"/admin/evals_app/suite/{suite.pk}/change/" in page
    assert list(suite.fixtures.all()) == [fixture]


def test_fixtures_in_use_are_not_deleted_from_the_list_either(admin_client: Client) -> None:
    fixture, suite = in_use()
    chosen = {"action": "delete_selected", "_selected_action": [fixture.pk], "post": "yes"}

    page = admin_client.post("/admin/fixtures_app/fixture/", chosen).content.decode()

    assert suite.name in page
    assert list(suite.fixtures.all()) == [fixture]


def test_no_other_way_deletes_a_fixture_in_use() -> None:
    fixture, suite = in_use()

    with pytest.raises(ProtectedError):
        Fixture.objects.filter(pk=fixture.pk).delete()

    assert list(suite.fixtures.all()) == [fixture]


def test_a_fixture_that_nobody_uses_any_more_is_deleted(admin_client: Client) -> None:
    fixture, suite = in_use()
    suite.delete()

    admin_client.post(f"/admin/fixtures_app/fixture/{fixture.pk}/delete/", {"post": "yes"})

    assert not Fixture.objects.exists()
