"""Ready by topic: the page, its files, and its dialog."""

from datetime import timedelta
from io import BytesIO

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from openpyxl import load_workbook

from evals_app.library.baselines import set_baseline
from evals_app.models import Agent, Case, TopicReadiness
from tests.authored import client_who_may
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent() -> Agent:
    suite = make_suite()
    for name, tag in {"A": "returns", "B": "returns", "C": "size, shoes", "D": "new"}.items():
        Case.objects.create(suite=suite, name=name, tags=[tag])
    make_run({"A": ["failed"], "B": ["passed"], "C": ["passed"]})
    return suite.agent


def page_of(agent: Agent, kind: str = "") -> str:
    if kind:
        return reverse("admin:evals_app_agent_topics_file", args=[agent.pk, kind])
    return reverse("admin:evals_app_agent_topics", args=[agent.pk])


def dialog_of(agent: Agent, topic: str) -> str:
    return f"{reverse('admin:evals_app_agent_topic_set', args=[agent.pk])}?topic={topic}"


def say(agent: Agent, **said: object) -> None:
    TopicReadiness.objects.create(
        **{"agent": agent, "topic": "returns", "state": "ready", "by_name": "ana"} | said
    )


def test_each_topic_has_a_row_with_its_numbers(admin_client: Client, agent: Agent) -> None:
    lines = admin_client.get(page_of(agent)).context["lines"]

    rows = [(line.topic["topic"], line.state, line.passed, line.detail) for line in lines]
    assert [tuple(cell.replace("\u00a0", " ") for cell in row) for row in rows] == [
        ("new", "Not set", "— of 1", "1 not run"),
        ("returns", "Not set", "1 of 2", "9 to 91 %"),
        ("size, shoes", "Not set", "1 of 1", "21 to 100 %"),
    ]
    assert lines[1].dots == ["bad"]
    assert lines[1].cases_url.endswith("?tag=returns")
    assert lines[1].judge == "No judge decides"


def test_what_contradicts_people_is_told(admin_client: Client, agent: Agent) -> None:
    today = timezone.now().date()
    say(agent, until=today + timedelta(days=3))
    say(agent, topic="new", state="people_only", until=today - timedelta(days=1))
    say(agent, topic="gone")

    page = admin_client.get(page_of(agent))

    assert [remark.split("”")[0] for remark in page.context["remarks"]] == [
        *("“new", "“returns", "“returns", "“gone"),
    ]
    assert "in 3 days" in page.context["remarks"][2]
    assert page.context["summary"] == "3 topics: 1 ready, 2 not set."


def test_a_topic_is_set_in_its_dialog(admin_client: Client, agent: Agent) -> None:
    url = dialog_of(agent, "size,+shoes")
    assert "size, shoes" in admin_client.get(url).content.decode()

    refused = admin_client.post(url, {"state": "limited"})
    assert "limits" in str(refused.context["form"].errors["note"])
    done = admin_client.post(url, {"state": "limited", "note": "Shoes only.", "owner": "Ben"})

    assert done.headers["HX-Redirect"] == page_of(agent)
    (row,) = TopicReadiness.objects.all()
    assert (row.topic, row.state, row.owner) == ("size, shoes", "limited", "Ben")
    assert "Shoes only." in admin_client.get(page_of(agent)).content.decode()
    assert admin_client.get(dialog_of(agent, "none")).status_code == 404


def test_only_people_who_may_decide_are_offered_it(agent: Agent) -> None:
    reader = client_who_may("view_run", "view_agent")

    page = reader.get(page_of(agent)).content.decode()

    assert "topics/set/" not in page


def test_files_have_the_same_numbers(admin_client: Client, agent: Agent) -> None:
    say(agent, note="=1+1 | x", owner="Ben")

    def get(kind: str) -> bytes:
        return b"".join(admin_client.get(page_of(agent, kind)))

    head, new, returns, _ = get("csv").decode("utf-8-sig").splitlines()
    assert head.startswith("topic,state,owner,until,note,set_by,set_on,answer")
    assert ",1,,,,,0,0,1,," in new  # what is unknown is empty
    assert returns.startswith("returns,Ready,Ben,,")
    sheet = load_workbook(BytesIO(get("xlsx"))).active
    assert sheet is not None
    cells = dict(
        zip(*([cell.value for cell in row] for row in list(sheet.rows)[0:3:2]), strict=True)
    )
    assert (cells["topic"], cells["passed"], cells["decided"]) == ("returns", 1, 2)
    text = get("markdown").decode().replace("\u00a0", " ")
    assert "1 of 2 (9 to 91 %)" in text
    assert "\\| x" in text
    assert admin_client.get(page_of(agent, "html")).status_code == 404


def test_the_page_takes_few_queries_however_much_it_shows(
    admin_client: Client, agent: Agent
) -> None:
    for number in range(14):
        suite = make_suite(f"suite-{number}", agent=agent)
        for place in range(3):
            tags = ["all", f"topic {number} {place}"]
            Case.objects.create(suite=suite, name=f"case {place}", tags=tags)
        set_baseline(make_run({f"case {place}": ["passed"] for place in range(3)}, suite=suite))
        make_run({f"case {place}": ["failed"] for place in range(3)}, suite=suite)
        say(agent, topic=f"topic {number} 0")
    first = admin_client.get(page_of(agent))
    assert len(first.context["lines"]) == 46

    with CaptureQueriesContext(connection) as queries:
        admin_client.get(page_of(agent))

    assert len(queries) <= 12


def test_an_agent_without_topics_says_what_to_do(admin_client: Client) -> None:
    page = admin_client.get(page_of(make_suite().agent))

    assert page.context["summary"] == "No case has a tag yet."
    assert "Add tags" in page.content.decode()
