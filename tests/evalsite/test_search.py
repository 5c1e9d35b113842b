"""Search over everything: what a person may see, by kind, with a limit."""

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from evalsite.search import MAX_FOUND
from fixtures_app.library import save_fixture
from fixtures_app.models import EntityType
from fixtures_app.spec import FixtureSpec
from tests.authored import a_case, write_suite
from tests.makers import make_run

pytestmark = pytest.mark.django_db


def found(client: Client, words: str) -> dict[str, list[str]]:
    """Return the titles that match, by kind."""
    page = client.get("/admin/search/", {"q": words}, headers={"HX-Request": "true"}).content
    assert b"<html" not in page  # for the dialog
    parts = re.split(r"<h2[^>]*>(.*?)</h2>", page.decode())
    return {
        kind: re.findall(r"<b>(.*?)</b>", part)
        for kind, part in zip(parts[1::2], parts[2::2], strict=True)
    }


@pytest.fixture
def refunds() -> None:
    EntityType.objects.create(slug="order")
    save_fixture(
        FixtureSpec.model_validate(
            {
                "name": "Refund desk",
                "slug": "desk",
                "entities": [{"type": "order", "ref": "refund-7", "data": {}}],
            }
        )
    )
    suite = write_suite(cases=[a_case(f"Refund {number}") for number in range(MAX_FOUND + 2)])
    make_run(suite=suite)


@pytest.mark.usefixtures("refunds")
def test_everything_is_found_by_a_part_of_its_name(admin_client: Client) -> None:
    User.objects.create_user("refunder", first_name="Ann", last_name="Refund")

    kinds = found(admin_client, "REFUND")

    assert list(kinds) == [
        "Suites",
        "Cases",
        "Results",
        "Test data",
        "In test data",
        "People",
        "Help",
    ]
    assert kinds["Suites"] == ["Refunds"]
    assert len(kinds["Cases"]) == MAX_FOUND
    assert kinds["Test data"] == ["Refund desk"]
    assert kinds["In test data"] == ["refund-7"]
    assert kinds["People"] == ["Ann Refund"]
    assert kinds["Results"] == found(admin_client, "run 1")["Results"]
    assert found(admin_client, "schedul")["Pages"] == ["Schedules"]
    assert "Glossary" in found(admin_client, "glossary")["Help"]


@pytest.mark.usefixtures("refunds")
def test_people_find_only_what_they_may_see(client: Client) -> None:
    user = User.objects.create_user("reader", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_suite"))
    client.force_login(user)

    assert list(found(client, "refund")) == ["Suites", "Help"]


def test_without_scripts_search_is_a_page(admin_client: Client) -> None:
    write_suite(cases=[a_case("Late <parcel>")])

    page = admin_client.get("/admin/search/?q=late+%3Cparcel").content.decode()

    assert "<b>Late &lt;parcel&gt;</b>" in page
    assert 'value="late &lt;parcel"' in page
    nothing = admin_client.get("/admin/search/?q=xyzzy").content.decode()
    assert "Nothing matches “xyzzy”." in nothing


@pytest.mark.parametrize("sign", ["%", "'", "_", '"'])
def test_a_sign_is_found_where_it_is_written_and_not_on_every_page_of_help(
    admin_client: Client, sign: str
) -> None:
    write_suite([a_case("A plain one"), a_case(f"It has {sign} in it")])

    kinds = found(admin_client, sign)

    assert (list(kinds), len(kinds["Cases"])) == (["Cases"], 1)


def test_test_data_of_one_name_shows_what_tells_it_apart(admin_client: Client) -> None:
    for slug, name in {"shop": "Shop", "shop-2": "Shop", "books": "Shop of books"}.items():
        save_fixture(FixtureSpec.model_validate({"name": name, "slug": slug, "entities": []}))

    listed = admin_client.get("/admin/fixtures_app/fixture/").text
    picker = admin_client.get("/admin/evals_app/suite/add/").text

    assert found(admin_client, "shop")["Test data"] == [
        "Shop (shop)",
        "Shop (shop-2)",
        "Shop of books",
    ]
    for page in (listed, picker):
        assert "Shop (shop-2)" in page
        assert "Shop of books (" not in page
