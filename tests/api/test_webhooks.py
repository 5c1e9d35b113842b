"""Webhooks over REST."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from evals_app.api.webhooks import DeliveryAnswer, NewWebhook, WebhookAnswer
from evals_app.models import ApiToken, Webhook
from tests.agent_server import Sent, WebServer
from tests.authored import a_case, write_suite

pytestmark = pytest.mark.django_db

URL = "/api/webhooks/"
SECRET = "https://hooks.example.org/services/T0/B0/abc"


@pytest.fixture
def client(admin_user: User) -> APIClient:
    _, text = ApiToken.issue(name="test", user=admin_user, scope="author")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


def test_a_webhook_is_created_listed_changed_and_deleted(client: APIClient) -> None:
    made = client.post(URL, {"name": "Team", "url": SECRET}, format="json")

    assert made.status_code == 201, made.content
    details = made.json()
    assert details.keys() == set(NewWebhook.KEYS)
    assert details["secret"] == Webhook.objects.get().secret
    url = made.headers["Location"]
    known = {key: details[key] for key in WebhookAnswer.KEYS}
    assert client.get(url).json() == known
    assert client.get(URL).json()["results"] == [known]
    assert "services" not in str(known)

    changed = client.put(url, {"name": "Team", "on_end": True}, format="json")

    assert (changed.status_code, changed.json()["on_end"]) == (200, True)
    assert Webhook.objects.get().url == SECRET
    assert client.delete(url).status_code == 204
    assert not Webhook.objects.exists()
    assert LogEntry.objects.count() == 3


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"url": SECRET}, "name"),
        ({"name": "x"}, "url"),
        ({"name": "x", "url": "ftp://example.org"}, "url"),
        ({"name": "x", "url": "http://10.0.0.1/"}, "url"),
        ({"name": "x", "url": SECRET, "suites": ["gone"]}, "suites[0]"),
        ({"name": "x", "url": SECRET, "format": "xml"}, "format"),
        (
            {"name": "x", "url": SECRET}
            | dict.fromkeys(("on_failure", "on_worse", "on_growth"), False),
            "",
        ),
    ],
)
def test_bad_input_is_refused_at_its_place(
    client: APIClient, body: dict[str, Any], key: str
) -> None:
    refused = client.post(URL, body, format="json")

    assert refused.status_code == 400
    assert [error["keys"] for error in refused.json()["errors"]] == [key]
    assert not Webhook.objects.exists()


def test_a_webhook_never_exists_without_its_suites(
    client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = write_suite([a_case()])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Webhook.suites.related_manager_cls, "set", interrupted)

    with pytest.raises(KeyboardInterrupt):
        client.post(URL, {"name": "x", "url": SECRET, "suites": [suite.slug]}, format="json")

    assert not Webhook.objects.exists()


def test_a_test_is_sent_listed_and_repeated(client: APIClient) -> None:
    with WebServer(lambda _: Sent.json({})) as server:
        hook = Webhook.objects.create(name="Team", url=f"http://localhost:{server.port}/in")
        tested = client.post(f"{URL}{hook.pk}/test/").json()

    assert tested.keys() == set(DeliveryAnswer.KEYS)
    assert (tested["state"], tested["status_code"], tested["run"]) == ("delivered", 200, None)
    assert client.get(f"{URL}{hook.pk}/deliveries/").json()["results"] == [tested]
    again = client.post(f"{URL}{hook.pk}/deliveries/{tested['id']}/again/")
    assert again.json()["state"] == "waiting"
    assert LogEntry.objects.count() == 2
