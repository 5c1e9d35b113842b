import re

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from evals_app.models import Agent, Suite
from evals_app.runs.starting.forecast import forecast
from fixtures_app.models import Fixture
from tests.authored import client_who_may

pytestmark = pytest.mark.django_db

URL = "/admin/evals_app/suite/load-examples/"
REMOVE = "/admin/evals_app/suite/remove-examples/"


@pytest.mark.slow
def test_the_examples_are_loaded_by_a_button_and_can_be_run(admin_client: Client) -> None:
    answer = admin_client.post(URL, follow=True)

    text = answer.content.decode()
    assert f"{Suite.objects.count()} example suites loaded." in text
    assert Suite.objects.filter(slug="customer-support").exists()
    assert Fixture.objects.exists()
    assert all(forecast(suite).conversations for suite in Suite.objects.all())


def test_loading_them_twice_changes_nothing(admin_client: Client) -> None:
    admin_client.post(URL)
    before = list(Suite.objects.order_by("pk").values_list("pk", "updated_at"))

    admin_client.post(URL)

    assert list(Suite.objects.order_by("pk").values_list("pk", "updated_at")) == before


def test_who_may_not_write_all_of_it_is_refused_and_sees_no_button() -> None:
    client = client_who_may("add_suite", "change_suite")

    assert client.post(URL).status_code == 403
    assert (
        reverse("admin:evals_app_suite_load_examples") not in client.get("/admin/").content.decode()
    )
    assert not Agent.objects.exists()


def test_who_may_write_all_of_it_sees_the_button(client: Client) -> None:
    user = User.objects.create_user("writer", is_staff=True)
    kinds = ("suite", "case", "agent", "provider", "fixture", "entitytype")
    names = [f"{action}_{kind}" for action in ("add", "change") for kind in kinds]
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client.force_login(user)

    assert "Load examples" in client.get("/admin/").content.decode()
    assert client.post(URL).status_code == 302
    assert Suite.objects.exists()


@pytest.mark.slow
def test_the_examples_are_removed_after_a_look_at_them(admin_client: Client) -> None:
    admin_client.post(URL)
    assert REMOVE in admin_client.get("/admin/").content.decode()

    page = admin_client.get(REMOVE)
    assert Suite.objects.exists()
    answer = admin_client.post(REMOVE, {"version": page.context["removal"].version}, follow=True)

    assert not Suite.objects.exists()
    assert REMOVE not in answer.content.decode()

    keys = re.findall(r'name="entry" value="(\d+)"', answer.text)
    admin_client.post(reverse("admin:evals_app_restore"), {"entry": keys})
    assert REMOVE in admin_client.get("/admin/").content.decode()
    assert Suite.objects.count() == len(page.context["removal"].rows["suite"])


def test_a_confirmation_of_another_state_removes_nothing(admin_client: Client) -> None:
    admin_client.post(URL)

    answer = admin_client.post(REMOVE, {"version": "old"})

    assert answer["Location"] == REMOVE
    assert Suite.objects.exists()


def test_who_may_not_delete_all_of_it_is_refused_and_sees_no_way(admin_client: Client) -> None:
    admin_client.post(URL)
    kinds = ("suite", "case", "agent", "provider", "fixture", "entitytype", "run")
    client = client_who_may("delete_suite", *(f"view_{kind}" for kind in kinds))

    dashboard = client.get("/admin/").content.decode()

    assert client.get(REMOVE).status_code == 403
    assert REMOVE not in dashboard
    assert reverse("help", args=["tour"]) in dashboard
