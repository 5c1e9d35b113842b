"""Schedules in the admin: three fields make a nightly run."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from evals_app.models import Profile, Run, Schedule
from evals_app.runs.schedules import start_due_runs
from tests.authored import a_case, client_who_may, write_suite
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/schedule/"
RUNNER = ("view_run", "add_run", "view_suite", "view_schedule", "add_schedule", "change_schedule")


def test_three_fields_make_a_nightly_run(admin_client: Client, admin_user: User) -> None:
    Profile.objects.create(user=admin_user, time_zone="Europe/Zurich")
    suite = write_suite([a_case()])
    page = open_page(admin_client, f"{LIST}add/?suites={suite.pk}")

    page.post(at="02:30")

    schedule = Schedule.objects.get()
    assert (schedule.frequency, schedule.at, schedule.time_zone) == (
        *("daily", "02:30", "Europe/Zurich"),
    )
    assert list(schedule.suites.all()) == [suite]
    assert schedule.owner == admin_user
    assert schedule.next_at is not None
    assert LogEntry.objects.get().object_id == str(schedule.pk)
    assert "02:30" in admin_client.get(LIST).content.decode()
    head = admin_client.get(f"/admin/evals_app/suite/{suite.pk}/cases/").content.decode()
    assert f"{LIST}{schedule.pk}/change/" in head


def test_a_run_names_the_schedule_that_started_it(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    open_page(admin_client, f"{LIST}add/?suites={suite.pk}").post()
    Schedule.objects.update(next_at=timezone.now())
    start_due_runs()
    url = f"/admin/evals_app/run/{Run.objects.get().pk}/change/"
    link = f"{LIST}{Schedule.objects.get().pk}/change/"

    assert link in admin_client.get(url).content.decode()

    Schedule.objects.all().delete()

    assert link not in admin_client.get(url).content.decode()


def test_runs_that_start_together_have_one_table(admin_client: Client) -> None:
    one, two = (write_suite([a_case()], slug=slug) for slug in ("one", "two"))
    open_page(admin_client, f"{LIST}add/?suites={one.pk}").post()
    Schedule.objects.get().suites.add(two)
    Schedule.objects.update(next_at=timezone.now())
    start_due_runs()

    page = admin_client.get(f"{LIST}{Schedule.objects.get().pk}/change/")

    assert admin_client.get(page.context["table_url"]).context["names"]
    assert "All of them in one table" in page.content.decode()


def test_the_page_of_a_suite_offers_it(admin_client: Client) -> None:
    suite = write_suite([a_case()])

    head = admin_client.get(f"/admin/evals_app/suite/{suite.pk}/cases/").content.decode()

    assert f"{LIST}add/?suites={suite.pk}" in head


def test_the_person_who_saves_it_is_its_owner(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    open_page(admin_client, f"{LIST}add/?suites={suite.pk}").post()
    client = client_who_may(*RUNNER)

    open_page(client, f"{LIST}{Schedule.objects.get().pk}/change/").post(at="04:00")

    schedule = Schedule.objects.select_related("owner").get()
    assert (str(schedule.owner), schedule.at) == ("writer", "04:00")


def test_a_disabled_schedule_is_not_due(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    open_page(admin_client, f"{LIST}add/?suites={suite.pk}").post(is_enabled=None)

    assert Schedule.objects.get().next_at is None


def test_why_it_does_not_start_is_on_its_page_and_in_the_list(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    schedule = Schedule.objects.create(owner=User.objects.create_user("gone"))
    schedule.suites.set([suite])

    for url in (LIST, f"{LIST}{schedule.pk}/change/"):
        assert "no longer start runs" in admin_client.get(url).content.decode()


@pytest.mark.parametrize(
    ("answers", "field", "word"),
    [
        ({"at": ""}, "at", "03:00"),
        ({"frequency": "cron"}, "cron", "five fields"),
        ({"model": "no model"}, "model", "provider/"),
        ({"max_cost_usd": "0"}, "max_cost_usd", "above 0"),
    ],
)
def test_errors_are_at_their_fields(
    admin_client: Client, answers: dict[str, str], field: str, word: str
) -> None:
    suite = write_suite([a_case()])

    page: Any = open_page(admin_client, f"{LIST}add/?suites={suite.pk}").post(**answers)

    assert not Schedule.objects.exists()
    assert any(
        word in str(error) for error in page.response.context["adminform"].form.errors[field]
    )


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("frequency=daily&at=03:00&time_zone=zurich&cron=", "Europe/Zurich"),
        ("frequency=cron&at=03:00&time_zone=UTC&cron=1+2", "2 fields"),
        ("", "required"),
    ],
)
def test_the_next_times_are_shown_while_one_edits(
    admin_client: Client, query: str, word: str
) -> None:
    answer = admin_client.get(f"{LIST}next-times/?{query}")

    assert word in answer.content.decode()
