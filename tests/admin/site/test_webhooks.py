"""Webhooks in the admin: their address is never shown, a test is one click."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from evals_app.models import Suite, Webhook
from tests.agent_server import Sent, WebServer
from tests.authored import a_case, write_suite
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/webhook/"
SECRET = "https://hooks.example.org/services/T0/B0/abc"


def text(client: Client, url: str) -> str:
    return client.get(url).content.decode()


def test_a_webhook_is_added_and_its_address_is_hidden(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    page = open_page(admin_client, f"{LIST}add/")

    page = page.post(name="Team", url=SECRET, suites=[suite.pk])

    hook = Webhook.objects.get()
    assert (hook.url, hook.on_end, hook.on_failure, hook.on_worse) == (SECRET, False, True, True)
    assert list(hook.suites.all()) == [suite]
    assert page.response.headers["Location"].endswith(f"/{hook.pk}/secret/")
    pages = [text(admin_client, f"{LIST}{rest}") for rest in ("", f"{hook.pk}/change/")]
    assert all("hooks.example.org" in page and "services" not in page for page in pages)
    assert "services" not in LogEntry.objects.get().change_message


def test_the_address_stays_if_it_is_left_blank(admin_client: Client) -> None:
    hook = Webhook.objects.create(name="Team", url=SECRET)

    open_page(admin_client, f"{LIST}{hook.pk}/change/").post(name="Other")

    hook.refresh_from_db()
    assert (hook.name, hook.url) == ("Other", SECRET)


def test_an_archived_suite_stays_chosen_so_that_it_does_not_become_all(
    admin_client: Client,
) -> None:
    suite = write_suite([a_case()])
    hook = Webhook.objects.create(name="Team", url=SECRET)
    hook.suites.add(suite)
    Suite.objects.archive()

    open_page(admin_client, f"{LIST}{hook.pk}/change/").post(name="Other")

    assert list(hook.suites.all()) == [suite]


@pytest.mark.parametrize(
    ("answers", "field", "word"),
    [
        ({"url": ""}, "url", "required"),
        ({"url": "http://127.0.0.1/x"}, "url", "EVALS_PRIVATE_HOSTS"),
        ({"url": "http://169.254.169.254/x"}, "url", "EVALS_PRIVATE_HOSTS"),
        (dict.fromkeys(("on_failure", "on_worse", "on_growth")), "on_end", "at least one"),
    ],
)
def test_errors_are_at_their_fields(
    admin_client: Client, answers: dict[str, object], field: str, word: str
) -> None:
    page: Any = open_page(admin_client, f"{LIST}add/").post(
        **{"name": "x", "url": SECRET} | answers
    )

    assert not Webhook.objects.exists()
    errors = page.response.context["adminform"].form.errors[field]
    assert word in str(errors)


def test_a_test_is_sent_shown_and_can_be_repeated(admin_client: Client) -> None:
    with WebServer(lambda _: Sent.json({})) as server:
        hook = Webhook.objects.create(name="Team", url=f"http://localhost:{server.port}/in")
        admin_client.post(f"{LIST}{hook.pk}/test/")

    delivery = hook.deliveries.get()
    page = text(admin_client, f"{LIST}{hook.pk}/change/")
    assert "Delivered" in page
    assert f"deliveries/{delivery.pk}/again/" in page

    admin_client.post(f"{LIST}{hook.pk}/deliveries/{delivery.pk}/again/")

    assert hook.deliveries.get().state == "waiting"
    assert LogEntry.objects.count() == 2


def test_a_new_secret_replaces_the_old_one(admin_client: Client) -> None:
    hook = Webhook.objects.create(name="Team", url=SECRET)
    url = f"{LIST}{hook.pk}/secret/"

    before = admin_client.get(url)
    admin_client.post(url)
    after = text(admin_client, url)

    assert hook.secret in before.content.decode()
    assert "no-store" in before.headers["Cache-Control"]
    assert hook.secret not in after
    assert Webhook.objects.get().secret in after
