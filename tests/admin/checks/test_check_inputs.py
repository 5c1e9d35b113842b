"""Checks are sentences until someone opens them; one that stays closed stays as it is stored."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from lxml import html

from evals_app.engine.graders import GRADERS
from evals_app.models import Assertion, Case, Suite
from tests.admin.case_pages import CHECKS, checks_of, url_of
from tests.authored import client_who_may, write_case, write_suite
from tests.page_form import PageForm, open_page

pytestmark = pytest.mark.django_db

MAX_BYTES = 300_000
TOOL = {"type": "tool_called", "value": "entity.query"}
KINDS: list[dict[str, Any]] = [
    {"type": "contains", "value": "parcel"},
    {"type": "llm_judge", "criteria": "Polite and short"},
    TOOL | {"args": {"type": "order", "limit": 5}},
]


def closed_page(client: Client, case: Case) -> PageForm:
    """Return a page with all checks closed."""
    return open_page(client, url_of(case), opens_rows=False)


def test_a_case_with_76_checks_is_a_small_page(admin_client: Client) -> None:
    turns = [{"user": f"Parcel {number}?", "assertions": KINDS} for number in range(25)]
    case = write_case(turns=turns, final_assertions=KINDS[:1])

    page = closed_page(admin_client, case)

    assert len(page.response.content) < MAX_BYTES
    assert page.post(name="Renamed").is_saved
    assert Case.objects.get().to_spec() == case.to_spec().model_copy(update={"name": "Renamed"})


def test_a_new_check_of_a_number_begins_with_any_and_a_stored_one_keeps_the_default_of_files(
    admin_client: Client,
) -> None:
    new = html.fromstring(admin_client.get("/admin/evals_app/suite/checks/numeric/inputs/").content)
    case = write_case(turns=[{"user": "Hi", "assertions": [{"type": "numeric", "value": 5}]}])
    page = open_page(admin_client, url_of(case))

    chosen = new.xpath("//select[@name='__row__-opt-extract']/option[@selected]/@value")
    assert chosen == ["any"]
    assert page.fields[f"{CHECKS}-0-opt-extract"] == ["whole"]
    assert page.post(name="Renamed").is_saved
    assert checks_of(case)[0].options == {"value": 5}


def test_a_closed_check_is_moved_and_removed_like_the_rest(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "Hi", "assertions": KINDS}])
    page = closed_page(admin_client, case)
    page.set(**{f"{CHECKS}-0-position": 2, f"{CHECKS}-1-DELETE": "on", f"{CHECKS}-2-position": 0})

    assert page.post().is_saved
    assert [check.type for check in checks_of(case)] == ["tool_called", "contains"]
    assert checks_of(case)[0].options == {"value": "entity.query", "args": KINDS[2]["args"]}


def test_a_problem_of_a_closed_check_is_listed_and_opens_it(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "Hi", "assertions": [TOOL]}])
    other = write_suite(slug="other")
    other.agent.tools = ["entity.get"]
    other.agent.pk, other.agent.slug = None, "other"
    other.agent.save()
    Suite.objects.filter(pk=other.pk).update(agent=other.agent)

    refused = closed_page(admin_client, case).post(suite=other.pk)

    assert ["entity.query" in problem for problem in refused.problems] == [True]
    assert refused.fields[f"{CHECKS}-0-closed"] == ["1"]
    assert "<details open>" in refused.html


def test_a_closed_check_that_someone_has_removed_stays_removed(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "Hi", "assertions": KINDS[:2]}])
    page = closed_page(admin_client, case)
    Assertion.objects.filter(type="contains").delete()

    assert page.post().is_saved
    assert [check.type for check in checks_of(case)] == ["llm_judge"]


def test_a_draft_with_a_closed_check_is_restored(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "Hi", "assertions": KINDS[:1]}])

    restored = closed_page(admin_client, case).post(_restore="1", name="Draft")

    assert restored.problems == []
    assert restored.post(_restore=None).is_saved
    assert [check.to_spec().label for check in checks_of(case)] == ["Reply contains “parcel”"]


@pytest.mark.parametrize("kind", GRADERS)
def test_every_kind_has_inputs(admin_client: Client, kind: str) -> None:
    answer = admin_client.get(reverse("admin:evals_app_check_kind_inputs", args=[kind]))

    assert f'data-options-for="{kind}"' in answer.content.decode()


def test_a_kind_that_does_not_exist_has_no_inputs(admin_client: Client) -> None:
    address = reverse("admin:evals_app_check_kind_inputs", args=["contain"])

    assert admin_client.get(address).status_code == 404


@pytest.mark.parametrize(("right", "status"), [("view_suite", 200), ("view_case", 403)])
def test_a_check_of_a_suite_is_shown_to_those_who_see_suites(right: str, status: int) -> None:
    write_suite(assertions=KINDS[:1])
    address = reverse("admin:evals_app_check_inputs", args=[Assertion.objects.get().pk])

    assert client_who_may(right).get(address).status_code == status
