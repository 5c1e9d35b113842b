"""What does not exist is named, with the nearest name; what is wrong in a request keeps its type."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from evals_app.library.importing.file_import import import_files
from evals_app.models import Webhook
from evals_app.runs import notices
from tests.api.clients import make_client, start_talks
from tests.library.written import FIXTURE

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    return make_client()


def detail_of(response: Any, status: int = 404) -> str:
    assert response.status_code == status, response.content
    return str(response.json()["detail"])


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("runs/99999/", "There is no run 99999."),
        ("runs/99999/executions/", "There is no run 99999."),
        ("executions/99999/", "There is no conversation 99999."),
        ("executions/99999/case/", "There is no conversation 99999."),
        ("schedules/99999/", "There is no schedule 99999."),
        ("webhooks/99999/", "There is no webhook 99999."),
        ("settlements/99999/", "There is no retest 99999."),
        ("review-tasks/99999/", "There is no sample of grades 99999."),
        ("suites/talks/cases/99999/", "There is no case 99999."),
        ("suites/talk/cases/1/", "There is no suite 'talk'. Did you mean 'talks'?"),
        ("suites/talk/", "There is no suite 'talk'. Did you mean 'talks'?"),
        ("suites/talk/decision/", "There is no suite 'talk'. Did you mean 'talks'?"),
        ("suites/talk/export/", "There is no suite 'talk'. Did you mean 'talks'?"),
        ("agents/shp/", "There is no agent 'shp'. Did you mean 'shop'?"),
        ("agents/shop/topics/x/", "The agent 'shop' has no topic 'x'."),
        ("fixtures/order/", "There is no test data 'order'. Did you mean 'orders'?"),
        ("providers/nothing/", "There is no provider 'nothing'."),
        (f"runs/{2**63}/", "There is nothing with the number 9223372036854775808"),
    ],
)
def test_what_does_not_exist_is_named(client: APIClient, path: str, detail: str) -> None:
    import_files([FIXTURE])
    start_talks()

    assert detail_of(client.get(f"/api/{path}")).startswith(detail)


def test_names_are_suggested_only_to_people_who_may_see_them() -> None:
    start_talks()
    reader = make_client("read", ["evals_app.view_run"])

    assert detail_of(reader.get("/api/suites/talk/decision/")) == "There is no suite 'talk'."


def test_what_was_found_keeps_its_type(client: APIClient) -> None:
    for given in (1000, 1.5, True, "many", [1]):
        response = client.post("/api/runs/", {"suite": "a", "trials": given}, format="json")
        errors = response.json()["errors"]

        assert [error["value"] for error in errors] == [None if given == [1] else given]


def test_a_body_that_is_no_json_has_a_type_of_its_own(client: APIClient) -> None:
    response = client.generic("POST", "/api/runs/", "{", "application/json")

    assert response.json()["type"] == "urn:evalwell:unreadable-body"
    assert "not JSON" in detail_of(response, 400)


def test_a_test_of_a_webhook_is_one_attempt_and_is_called_as_its_message_is(
    client: APIClient,
) -> None:
    # Nothing listens there.
    hook = Webhook.objects.create(name="Chat", url="http://127.0.0.1:9/")

    sent = client.post(f"/api/webhooks/{hook.pk}/test/").json()

    assert (sent["attempts"], sent["state"], sent["event"]) == (1, "failed", "test")
    assert not notices.has_due()
    hook.deliveries.update(event="failed", body="{}")
    listed = client.get(f"/api/webhooks/{hook.pk}/deliveries/").json()["results"]
    assert listed[0]["event"] == "run.failed"
