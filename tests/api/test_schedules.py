"""Schedules over REST."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from evals_app.api.schedules import ScheduleAnswer, ScheduleDetails
from evals_app.models import ApiToken, Schedule
from tests.authored import a_case, write_suite

pytestmark = pytest.mark.django_db

URL = "/api/schedules/"


@pytest.fixture
def client(admin_user: User) -> APIClient:
    write_suite([a_case()])
    _, text = ApiToken.issue(name="test", user=admin_user, scope="run")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


def test_a_schedule_is_created_listed_changed_and_deleted(client: APIClient) -> None:
    body = {"suites": ["refunds"], "at": "02:00", "time_zone": "Europe/Zurich", "max_cost_usd": 5}

    made = client.post(URL, body, format="json")

    assert made.status_code == 201, made.content
    details = made.json()
    assert details.keys() == set(ScheduleDetails.KEYS)
    assert (details["owner"], details["max_cost_usd"], details["problems"]) == ("admin", 5, [])
    assert len(details["next_times"]) == 5
    url = made.headers["Location"]
    assert client.get(url).json() == details
    (row,) = client.get(URL).json()["results"]
    assert row == {key: details[key] for key in ScheduleAnswer.KEYS}

    changed = client.put(url, {"suites": ["refunds"], "is_enabled": False}, format="json")

    assert changed.status_code == 200
    assert (changed.json()["next_at"], changed.json()["max_cost_usd"]) == (None, None)
    assert client.delete(url).status_code == 204
    assert not Schedule.objects.exists()
    assert LogEntry.objects.count() == 3


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({}, "suites"),
        ({"suites": []}, "suites"),
        ({"suites": ["refund"]}, "suites[0]"),
        ({"suites": ["refunds"], "agent": "gone"}, "agent"),
        ({"suites": ["refunds"], "model": "gpt"}, "model"),
        ({"suites": ["refunds"], "frequency": "cron", "cron": "x"}, "cron"),
        ({"suites": ["refunds"], "frequency": "sometimes"}, "frequency"),
        ({"suites": ["refunds"], "trails": 2}, "trails"),
    ],
)
def test_bad_input_is_refused_at_its_place(
    client: APIClient, body: dict[str, Any], key: str
) -> None:
    refused = client.post(URL, body, format="json")

    assert refused.status_code == 400
    assert [error["keys"] for error in refused.json()["errors"]] == [key]
    assert not Schedule.objects.exists()
