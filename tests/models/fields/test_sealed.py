"""Addresses of webhooks are encrypted with a key made from the secret key of the site."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import models
from django.db.models.functions import Cast
from django.test import Client
from django.urls import reverse

from evals_app.models import Webhook
from evals_app.models.notices import seal_addresses_again
from evals_app.runs.notices import send_test
from evals_app.runs.process.retention import prune_as_scheduled

URL = "https://hooks.example.org/services/T0/B0/secret"
OLD, NEW = "an old secret key " * 3, "a new secret key " * 3

pytestmark = pytest.mark.django_db


@pytest.fixture
def hook(settings: Any) -> Webhook:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OLD, []
    return Webhook.objects.create(name="Team", url=URL)


def stored() -> str:
    return str(Webhook.objects.values_list(Cast("url", models.TextField()), flat=True).get())


def test_the_database_does_not_contain_the_address(hook: Webhook) -> None:
    assert "example" not in stored()
    assert Webhook.objects.get().url == URL


def test_an_old_key_opens_it_until_it_is_encrypted_anew(hook: Webhook, settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
    assert Webhook.objects.get().url == URL
    before = stored()

    prune_as_scheduled()  # every night

    assert stored() != before
    assert seal_addresses_again() == 0
    settings.SECRET_KEY_FALLBACKS = []
    assert Webhook.objects.get().url == URL


def test_without_its_key_pages_say_so_and_saving_loses_nothing(
    hook: Webhook, settings: Any, admin_client: Client
) -> None:
    settings.SECRET_KEY = NEW
    admin_client.force_login(
        User.objects.get(is_superuser=True)
    )  # the session was signed with the old key
    page = reverse("admin:evals_app_webhook_change", args=[hook.pk])

    lost = Webhook.objects.get()
    lost.name = "Renamed"
    lost.save()
    seal_addresses_again()

    assert (lost.url, lost.host) == ("", "")
    assert "EVALWELL_OLD_SECRET_KEYS" in admin_client.get(page).content.decode()
    assert admin_client.get(reverse("admin:evals_app_webhook_changelist")).status_code == 200
    assert "EVALWELL_OLD_SECRET_KEYS" in send_test(lost).problem
    settings.SECRET_KEY = OLD
    assert (Webhook.objects.get().name, Webhook.objects.get().url) == ("Renamed", URL)
