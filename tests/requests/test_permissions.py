"""What the tables of tests/test_permissions.py do not show: in which order, and in which words."""

import pytest
from django.test import Client

from evals_app.models import Run
from tests.api.clients import make_client, make_user, start_talks
from tests.makers import make_run

pytestmark = pytest.mark.django_db


def test_an_author_token_does_not_make_up_for_missing_permissions() -> None:
    run = make_run(["queued"])
    client = make_client("author", ["evals_app.view_run"])

    refused = client.post(f"/api/runs/{run.pk}/cancel/", {}, format="json")

    assert refused.status_code == 403
    assert "evals_app.add_run" in refused.json()["detail"]
    assert Run.objects.get(pk=run.pk).stop_reason == ""


@pytest.mark.parametrize(
    ("method", "path"),
    [("post", "/api/import/"), ("post", "/api/import/?dry_run=true"), ("put", "/api/suites/new/")],
)
def test_who_may_write_nothing_is_refused_before_the_body_is_read(method: str, path: str) -> None:
    client = make_client("author", ["evals_app.view_suite"])

    assert getattr(client, method)(path, "no import", format="json").status_code == 403


def test_a_person_with_a_session_reads_and_needs_csrf_to_write() -> None:
    run = make_run(["queued"])
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user())
    path = f"/api/runs/{run.pk}/cancel/"

    read = client.get("/api/runs/")
    written = client.post(path, {}, content_type="application/json")

    assert (read.status_code, written.status_code) == (200, 403)
    assert "CSRF" in written.json()["detail"]


@pytest.mark.parametrize("sees", [True, False], ids=["sees suites", "sees none"])
@pytest.mark.parametrize("path", ["/api/runs/", "/api/runs/forecast/"])
def test_a_suite_that_was_probably_meant_is_named_to_who_may_see_it(
    path: str, *, sees: bool
) -> None:
    start_talks()
    may = ["evals_app.view_run", "evals_app.add_run"]
    client = make_client("run", [*may, *(["evals_app.view_suite"] if sees else [])])

    answer = client.post(path, {"suite": "talk"}, format="json")

    assert answer.status_code == 400
    assert ("talks" in answer.content.decode()) is sees
