import pytest
from django.contrib.auth.models import User
from django.test import Client
from lxml import html

from evals_app.reports.words.kinds import KIND_NAMES, KINDS, KindName
from tests.admin.run_pages import page_of, url
from tests.api.clients import make_user
from tests.makers import make_run

pytestmark = pytest.mark.django_db

OFFERED = [kind for kind in KIND_NAMES if KINDS[kind].is_offered]


def signed_in(*permissions: str) -> Client:
    user = make_user([f"evals_app.{name}" for name in permissions])
    User.objects.filter(pk=user.pk).update(is_staff=True)
    client = Client()
    client.force_login(user)
    return client


def offered(client: Client, page: str) -> list[str]:
    """Return the kinds in the menu of a run's page."""
    document = html.fromstring(client.get(page).content)
    return [
        str(address).rstrip("/").rpartition("/")[2]
        for address in document.xpath(
            "//*[contains(@class, 'review-menu')]//a[contains(@href, '/report/')]/@href"
        )
    ]


@pytest.mark.parametrize("kind", OFFERED)
def test_every_kind_is_offered_and_is_a_file(admin_client: Client, kind: KindName) -> None:
    run = make_run(["passed", "failed"])

    response = admin_client.get(url(run, "report", kind))

    assert kind in offered(admin_client, page_of(run))
    assert response.headers["Content-Type"] == KINDS[kind].media_type
    assert f"run-{run.pk}-refunds" in response.headers["Content-Disposition"]
    assert response.getvalue()


def test_who_may_not_read_executions_is_offered_no_conversations() -> None:
    run = make_run(["passed"])
    client = signed_in("view_run")

    assert offered(client, page_of(run)) == [
        kind for kind in OFFERED if not KINDS[kind].has_conversations
    ]
    for kind in KIND_NAMES:
        status = 403 if KINDS[kind].has_conversations else 200
        assert client.get(url(run, "report", kind)).status_code == status


def test_an_unknown_kind_and_an_unknown_run_are_not_found(admin_client: Client) -> None:
    run = make_run(["passed"])

    assert admin_client.get(url(run, "report", "pdf")).status_code == 404
    run.pk += 1
    assert admin_client.get(url(run, "report", "html")).status_code == 404
