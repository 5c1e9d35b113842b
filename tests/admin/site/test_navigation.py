import pytest
from django.contrib.auth.models import Permission, User
from django.http import HttpRequest
from django.test import Client

from evals_app.admin.site.navigation import navigation

pytestmark = pytest.mark.django_db


def entries_for(*codenames: str, is_superuser: bool = False) -> dict[str, list[str]]:
    user = User.objects.create_user("someone", is_staff=True, is_superuser=is_superuser)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    request = HttpRequest()
    request.user = user
    entries: dict[str, list[str]] = {}
    for group in navigation(request):
        entries.setdefault(group.get("title", ""), []).extend(
            item["title"]
            for item in group["items"]
            if "permission" not in item or item["permission"](request)
        )
    return entries


def test_the_side_bar_leads_to_every_screen() -> None:
    assert entries_for(is_superuser=True) == {
        "": ["Dashboard", "Help"],
        "Write": ["Suites", "Cases", "Agents", "Fixtures", "Entity types", "Evaluation steps"],
        "Run and review": [
            *("Runs", "Executions", "Schedules", "To check", "Settlements", "Judges"),
            "Spending",
        ],
        "Set up": ["Providers", "Monthly ceilings", "API tokens", "Webhooks", "People", "Roles"],
    }


def test_the_side_bar_shows_only_what_a_person_may_see() -> None:
    assert entries_for("view_suite", "change_run") == {
        "": ["Dashboard", "Help"],
        "Write": ["Suites"],
        "Run and review": ["Runs"],
    }


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
