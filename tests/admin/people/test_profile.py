"""The profile of a person, and the times that pages show them."""

from datetime import UTC, datetime
from urllib.parse import urljoin

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from evals_app.models import ApiToken, Profile, Run
from evals_app.models.people.profiles import zone_of
from fixtures_app.editing.times import exact_moment, moment, since
from tests.makers import make_run

pytestmark = pytest.mark.django_db

PAGE = "/admin/profile/"
AT = datetime(2026, 11, 22, 18, 3, 7, tzinfo=UTC)


def test_people_change_their_name_and_time_zone(admin_client: Client, admin_user: User) -> None:
    admin_client.post(
        PAGE, {"name": "Ann Smith", "email": "ann@example.org", "time_zone": "Europe/Zurich"}
    )

    person = User.objects.get(pk=admin_user.pk)
    assert (person.get_full_name(), person.email) == ("Ann Smith", "ann@example.org")
    assert str(zone_of(person)) == "Europe/Zurich"


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Europe/Zurich", "Europe/Zurich"),
        ("europe/zurich", "Europe/Zurich"),
        ("Zurich", "Europe/Zurich"),
        ("America/New York", "America/New_York"),
        ("utc", "UTC"),
    ],
)
def test_a_time_zone_is_recognized(admin_client: Client, typed: str, kept: str) -> None:
    admin_client.post(PAGE, {"name": "", "email": "", "time_zone": typed})

    assert Profile.objects.get().time_zone == kept


@pytest.mark.parametrize("typed", ["", "Europe/Zurch", "/etc/passwd", "../UTC", "x" * 5000])
def test_what_is_not_a_time_zone_is_refused_and_what_was_typed_stays(
    admin_client: Client, typed: str
) -> None:
    page = admin_client.post(PAGE, {"name": "Ann", "email": "", "time_zone": typed})

    assert "time_zone" in page.context["form"].errors
    assert page.context["form"]["time_zone"].value() == typed
    assert not Profile.objects.exists()


def test_a_time_zone_that_is_almost_right_is_named(admin_client: Client) -> None:
    page = admin_client.post(PAGE, {"name": "", "email": "", "time_zone": "Europe/Zurch"})

    assert "Europe/Zurich" in page.context["form"].errors["time_zone"][0].rpartition("Did")[2]


def test_pages_show_times_in_the_time_zone_of_the_reader(
    admin_client: Client, admin_user: User
) -> None:
    run = make_run(["passed"])
    Run.objects.update(started_at=AT, created_at=AT)
    page = f"/admin/evals_app/run/{run.pk}/change/"
    before = admin_client.get(page).content.decode()
    Profile.objects.create(user=admin_user, time_zone="Asia/Kolkata")

    assert "22 Nov 2026, 18:03<" in before
    for address, time in ((page, "22 Nov 2026, 23:33<"), ("/admin/evals_app/run/", ">23:33<")):
        shown = admin_client.get(address).content.decode()
        assert time in shown
        assert "UTC+5:30, Asia/Kolkata" in shown


def test_rest_has_utc(admin_client: Client, admin_user: User) -> None:
    run = make_run(["passed"])
    Run.objects.update(started_at=AT)
    Profile.objects.create(user=admin_user, time_zone="Asia/Kolkata")

    answer = admin_client.get(f"/api/runs/{run.pk}/").json()

    assert datetime.fromisoformat(answer["started_at"]) == AT
    assert datetime.fromisoformat(answer["started_at"]).utcoffset() == AT.utcoffset()


def test_the_time_zone_of_one_reader_is_not_that_of_the_next(
    admin_client: Client, admin_user: User
) -> None:
    Profile.objects.create(user=admin_user, time_zone="Asia/Kolkata")

    admin_client.get(PAGE)

    assert timezone.get_current_timezone_name() == "UTC"


def test_a_time_zone_that_this_machine_does_not_know_is_that_of_the_site(
    admin_client: Client, admin_user: User
) -> None:
    Profile.objects.create(user=admin_user, time_zone="Mars/Base")

    assert admin_client.get(PAGE).status_code == 200


@pytest.mark.parametrize(
    ("zone", "shown", "exact"),
    [
        ("UTC", "22 Nov 2026, 18:03", "22 Nov 2026, 18:03:07 (UTC)"),
        ("Europe/Zurich", "22 Nov 2026, 19:03", "22 Nov 2026, 19:03:07 (UTC+1, Europe/Zurich)"),
        ("America/St_Johns", "22 Nov 2026, 14:33", "(UTC-3:30, America/St_Johns)"),
        ("Pacific/Auckland", "23 Nov 2026, 07:03", "(UTC+13, Pacific/Auckland)"),
    ],
)
def test_a_moment_has_one_style(zone: str, shown: str, exact: str) -> None:
    with timezone.override(zone):
        assert f">{shown}</time>" in moment(AT)
        assert exact_moment(AT).endswith(exact)
        assert exact in since(AT)


def test_a_person_is_asked_once_for_the_time_zone_of_the_browser(
    admin_client: Client, admin_user: User
) -> None:
    runs = "/admin/evals_app/run/"
    assert "time-zone-offer" in admin_client.get(runs).content.decode()

    back = admin_client.post(
        f"{PAGE}time-zone/",
        {"time_zone": "Europe/Zurich"},
        headers={"Referer": f"http://testserver{runs}"},
    )

    assert back.headers["Location"] == f"http://testserver{runs}"
    assert Profile.objects.get(user=admin_user).time_zone == "Europe/Zurich"
    assert "time-zone-offer" not in admin_client.get(runs).content.decode()


@pytest.mark.parametrize("referer", ["", "https://elsewhere.example/x", "javascript:alert(1)"])
def test_the_answer_leads_to_no_other_site(admin_client: Client, referer: str) -> None:
    back = admin_client.post(
        f"{PAGE}time-zone/", {"time_zone": "UTC"}, headers={"Referer": referer}
    )

    assert back.headers["Location"] == "/admin/"


def test_a_path_that_looks_like_a_host_leads_to_no_other_site(admin_client: Client) -> None:
    referer = "http://testserver//elsewhere.example/x"

    back = admin_client.post(
        f"{PAGE}time-zone/", {"time_zone": "UTC"}, headers={"Referer": referer}
    )

    assert urljoin("http://testserver/", back.headers["Location"]) == referer


def test_people_see_their_own_tokens_if_they_may_have_some(
    client: Client, admin_user: User
) -> None:
    person = User.objects.create_user("ann", is_staff=True)
    client.force_login(person)
    ApiToken.issue(name="Mine", user=person, scope="read")
    ApiToken.issue(name="Theirs", user=admin_user, scope="read")
    before = client.get(PAGE).content.decode()
    person.groups.add(Group.objects.get(name="Runner"))

    after = client.get(PAGE).content.decode()

    assert "Mine" not in before
    assert "Mine" in after
    assert "Theirs" not in after


def test_the_menu_leads_to_the_profile(admin_client: Client) -> None:
    assert f'href="{PAGE}"' in admin_client.get("/admin/").content.decode()
