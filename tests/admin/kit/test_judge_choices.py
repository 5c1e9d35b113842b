from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.admin.kit.model_choices import OWN, offered_judges
from evals_app.models import Run
from tests.admin.case_pages import CHECKS, page_of
from tests.authored import client_who_may, write_case

RUNNING = ("view_suite", "view_run", "add_run", "view_case", "view_agent")

pytestmark = pytest.mark.django_db

JUDGED = {"type": "llm_judge", "criteria": "Is kind"}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


def test_only_models_that_the_site_can_reach_are_offered(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered_judges() == [OWN]

    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")

    assert settings.EVALS_JUDGE_MODEL in offered_judges()
    assert all(name.startswith("anthropic/") or name == OWN for name in offered_judges())


@pytest.mark.parametrize(("may_change", "links"), [(True, 1), (False, 0)])
def test_a_run_that_lacks_a_judge_does_not_start_and_links_to_the_field(
    may_change: bool,  # noqa: FBT001 - of a table
    links: int,
) -> None:
    suite = write_case(turns=[{"user": "Hi", "assertions": [JUDGED]}]).suite
    client = client_who_may(*RUNNING, *(["change_suite"] if may_change else []))
    address = reverse("admin:evals_app_suite_change", args=[suite.pk])

    client.post(f"{address.removesuffix('change/')}run/", {"_form_submitted": "on", "trials": ""})

    shown = client.get(reverse("admin:index")).content.decode()
    assert "did not start" in shown
    assert shown.count(f'{address}?field=judge_model"') == links
    assert not Run.all_runs.exists()


def test_a_case_without_a_judge_is_saved_with_a_warning(admin_client: Client) -> None:
    page = page_of(admin_client, write_case(turns=[{"user": "Hi", "assertions": []}]))
    page.check(CHECKS, "llm_judge", opt__criteria="Is kind")

    saved = page.post()

    assert saved.is_saved, saved.problems
    assert "cannot run yet" in admin_client.get(reverse("admin:index")).content.decode()
