"""Where a page is: each part above its title leads back."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.authored import a_case, write_suite
from tests.makers import make_execution, make_run

pytestmark = pytest.mark.django_db


def trail(client: Client, url: str) -> list[tuple[str, str]]:
    """Return the title and address of each part above a page, the page itself last."""
    page = client.get(f"/admin/{url}").content.decode()
    nav = re.search(r'<nav class="ew-trail".*?</nav>', page, re.DOTALL)
    assert nav is not None
    parts = re.findall(r"<li>(.*?)</li>", nav[0], re.DOTALL)
    found = [
        re.fullmatch(r'(?:<a href="/admin/(.*?)">)?(?:<h1[^>]*>)?(.*?)(?:</\w+>)?', part)
        for part in parts
    ]
    return [(unescape(part[2]), part[1] or "") for part in found if part]


@pytest.fixture
def ids() -> dict[str, int]:
    suite = write_suite(cases=[a_case("Refund & return")])
    run = make_run(suite=suite)
    execution = make_execution(run, "Refund & return")
    case = suite.cases.get()
    return {
        "suite": suite.pk,
        "run": run.pk,
        "case": case.pk,
        "execution": execution.pk,
        "agent": suite.agent_id,
    }


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("", ["Home"]),
        ("evals_app/suite/", ["Suites"]),
        ("evals_app/suite/add/", ["Suites", "Add suite"]),
        ("evals_app/suite/{suite}/cases/", ["Suites", "Refunds"]),
        ("evals_app/suite/{suite}/results/", ["Suites", "Refunds", "Results"]),
        ("evals_app/suite/{suite}/change/", ["Suites", "Refunds", "Settings"]),
        ("evals_app/case/{case}/change/", ["Suites", "Refunds", "Refund & return"]),
        ("evals_app/run/", ["Results"]),
        ("evals_app/run/{run}/change/", ["Results", "Refunds", "Run {run}"]),
        (
            "evals_app/execution/{execution}/change/",
            ["Results", "Refunds", "Run {run}", "Refund & return"],
        ),
        ("evals_app/agent/{agent}/talk/", ["Agents", "Shop", "Talk to it"]),
        ("auth/user/add/", ["People", "Invite a colleague"]),
        ("profile/", ["Your profile"]),
        ("help/", ["Help"]),
        ("help/glossary/", ["Help", "Glossary"]),
    ],
)
def test_each_page_says_where_it_is(
    admin_client: Client, ids: dict[str, int], url: str, parts: list[str]
) -> None:
    shown = trail(admin_client, url.format(**ids))

    assert [title for title, _ in shown] == [part.format(**ids) for part in parts]
    assert all(admin_client.get(f"/admin/{link}").status_code == 200 for _, link in shown[:-1])


def test_the_browser_names_a_page_and_the_one_above_it(
    admin_client: Client, ids: dict[str, int]
) -> None:
    page = admin_client.get(f"/admin/evals_app/case/{ids['case']}/change/").content.decode()

    assert re.search(r"<title>\s*Refund &amp; return \| Refunds \| Evalwell</title>", page)


def test_a_part_is_no_link_for_people_who_may_not_open_it(
    client: Client, ids: dict[str, int]
) -> None:
    user = User.objects.create_user("reader", is_staff=True)
    user.user_permissions.set(
        Permission.objects.filter(codename__in=["view_run", "view_execution"])
    )
    client.force_login(user)

    shown = dict(trail(client, f"evals_app/execution/{ids['execution']}/change/"))

    assert shown["Refunds"] == ""
    assert shown["Results"] == "evals_app/run/"
