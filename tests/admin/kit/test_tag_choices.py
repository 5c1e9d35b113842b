"""Tags that fields of tags suggest. Who may read them: tests/test_permissions.py."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.authored import a_case, write_suite

pytestmark = pytest.mark.django_db

ADDRESS = "/admin/evals_app/suite/tags/"


def test_the_tags_of_all_cases_and_suites_are_offered_once(admin_client: Client) -> None:
    write_suite([a_case("One", tags=["smoke", "Ärger"]), a_case("Two")], tags=["refunds"])
    write_suite([a_case("Three", tags=["refunds", "smoke"])], slug="other")

    assert admin_client.get(ADDRESS).json() == {"tags": ["refunds", "smoke", "Ärger"]}


@pytest.mark.parametrize("page", ["case_add", "suite_add", "suite_run_some"])
def test_fields_of_tags_ask_for_them(admin_client: Client, page: str) -> None:
    write_suite([a_case()])

    shown = admin_client.get(reverse(f"admin:evals_app_{page}"), follow=True).content.decode()

    assert f'data-tags="{ADDRESS}"' in shown
