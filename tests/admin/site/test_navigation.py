import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.http import HttpRequest
from django.test import Client
from pytest_django.asserts import assertRedirects

from evals_app.admin.site.navigation import navigation

pytestmark = pytest.mark.django_db


def menu_for(*codenames: str, path: str = "", is_superuser: bool = False) -> list[dict[str, Any]]:
    user = User.objects.create_user("someone", is_staff=True, is_superuser=is_superuser)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    request = HttpRequest()
    request.user, request.path = user, path
    return navigation(request)


def titles(menu: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    return [(group.get("title", ""), [item["title"] for item in group["items"]]) for group in menu]


def test_the_menu_has_five_places_and_two_folds_that_lead_to_every_screen() -> None:
    assert titles(menu_for(is_superuser=True)) == [
        ("", ["Home", "Suites", "Results", "Test data", "Agents"]),
        (
            "More",
            [
                *("All cases", "Entity types", "Evaluation steps", "Conversations"),
                *("Real conversations", "Schedules", "Check grades", "Retests"),
                *("Judges", "Spending", "Deleted"),
            ],
        ),
        (
            "Settings",
            [
                "Providers",
                "Monthly ceilings",
                "API tokens",
                "Webhooks",
                "Masking",
                "People",
                "Roles",
                "Activity",
            ],
        ),
        ("", ["Help"]),
    ]


def test_the_menu_shows_only_what_a_person_may_see() -> None:
    assert titles(menu_for("view_suite", "change_run")) == [
        ("", ["Home", "Suites", "Results"]),
        ("More", ["Deleted"]),
        ("", ["Help"]),
    ]


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("evals_app/suite/5/cases/", "Suites"),
        ("evals_app/case/5/change/", "Suites"),
        ("evals_app/case/", "All cases"),
        ("evals_app/run/compare/", "Results"),
        ("evals_app/execution/5/change/", "Results"),
        ("evals_app/execution/", "Conversations"),
        ("evals_app/conversationset/5/change/", "Real conversations"),
        ("evals_app/schedule/5/change/", "Schedules"),
        ("fixtures_app/fixture/5/try/", "Test data"),
    ],
)
def test_the_menu_marks_where_a_page_belongs(path: str, title: str) -> None:
    menu = menu_for(is_superuser=True, path=f"/admin/{path}")

    marked = [item["title"] for group in menu for item in group["items"] if item.get("active")]
    assert marked == [title]


def test_a_fold_of_the_menu_is_open_when_the_page_lies_in_it(admin_client: Client) -> None:
    page = admin_client.get("/admin/evals_app/schedule/").content.decode()

    assert re.findall(r'<details class="ew-nav-fold"( open)?>\s*<summary>(\w+)', page) == [
        (" open", "More"),
        ("", "Settings"),
    ]


@pytest.mark.parametrize("section", ["evals_app", "fixtures_app", "auth"])
def test_the_sections_of_django_have_no_pages(admin_client: Client, section: str) -> None:
    assertRedirects(admin_client.get(f"/admin/{section}/"), "/admin/")


@pytest.mark.parametrize(
    "path",
    [
        "evals_app/suite/",
        "evals_app/suite/add/",
        "evals_app/case/",
        "evals_app/case/add/",
        "evals_app/agent/",
        "evals_app/agent/add/",
        "evals_app/evaluationsteps/",
        "evals_app/provider/",
        "evals_app/provider/add/",
        "evals_app/apitoken/",
        "evals_app/apitoken/add/",
        "fixtures_app/fixture/",
        "fixtures_app/fixture/add/",
        "fixtures_app/entitytype/",
        "fixtures_app/entitytype/add/",
        "auth/user/",
        "auth/user/add/",
        "auth/group/",
        "auth/group/add/",
    ],
)
def test_every_screen_opens_on_an_empty_site_with_a_skip_link(
    admin_client: Client, path: str
) -> None:
    response = admin_client.get(f"/admin/{path}")

    assert response.status_code == 200
    assert 'href="#content">Skip to the content</a>' in response.content.decode()
