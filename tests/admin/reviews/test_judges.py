"""The page of judges."""

import json
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from evals_app.admin.reviews.judges import LAST_DAYS
from evals_app.models import JudgeTally, Run, Spending
from tests.labels import label, make_yardstick
from tests.makers import make_run

pytestmark = pytest.mark.django_db

PAGE = "/admin/evals_app/judgetally/"
NOW = date(2026, 11, 23)


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals_app.admin.reviews.judges.today", lambda: NOW)


def tally(run: Run, day: date, model: str = "openai/large", **counts: int) -> None:
    given = {"graded": 10, "passed": 6, "failed": 2, "calls": 10, "prompt_tokens": 900}
    JudgeTally.objects.create(run=run, day=day, model=model, **given | counts)


def shown(client: Client) -> dict[str, Any]:
    return {judge.name: judge for judge in client.get(PAGE).context["judges"]}


def test_a_judge_is_added_up_by_month(admin_client: Client) -> None:
    first, second = make_run(), make_run()
    tally(first, NOW)
    tally(second, NOW, passed=0, failed=8, not_graded=10)
    tally(first, NOW - timedelta(days=40), uncounted_calls=1)
    Spending.objects.create(day=NOW, role="judge", model="openai/large", spent_usd=Decimal("0.5"))
    Spending.objects.create(day=NOW, role="agent", model="openai/large", spent_usd=Decimal(9))

    judge = shown(admin_client)["openai/large"]

    assert [str(month) for month in judge.months] == ["2026-10-01", "2026-11-01"]
    october, november = judge.months.values()
    assert november.pass_rate == 6 / 16  # of those that decided
    assert november.not_graded.replace("\u00a0", " ") == "33.3 % (10 of 30)"
    assert (november.tokens, november.cost, november.grades) == ("1,800", "$0.50", "30")
    assert (october.tokens, october.cost) == ("at least 900", "unknown")
    assert judge.total.calls == "30"


def test_old_uses_and_embeddings_are_left_out(admin_client: Client) -> None:
    tally(make_run(), NOW - timedelta(days=LAST_DAYS + 1), model="openai/old")
    Spending.objects.create(day=NOW, role="judge", model="openai/embed", spent_usd=Decimal(1))

    assert shown(admin_client) == {}


def test_a_script_is_labelled_and_no_model_is_said_to_agree_with_people(
    admin_client: Client,
) -> None:
    run = make_run()
    tally(run, NOW, model="scripted/judge")
    tally(run, NOW)

    judges = shown(admin_client)
    text = admin_client.get(PAGE).content.decode()

    assert "Scripted" in judges["scripted/judge"].label
    assert judges["openai/large"].label == ""
    assert text.count("Not yet compared with people") == 1


def test_a_judge_that_was_compared_leads_to_its_criteria(admin_client: Client) -> None:
    run = make_run()
    tally(run, NOW)
    for criterion in ("Is polite", "Is short"):
        label(make_yardstick(criterion, judge="openai/large"), person=True, run=run)
    label(make_yardstick("Is kind", judge="openai/other"), person=True, run=run)

    text = admin_client.get(PAGE).content.decode()

    assert "Not yet compared with people" not in text
    assert 'href="/admin/evals_app/judgetally/criteria/?judge=openai/large"' in text
    assert "2 criteria" in text


def test_the_chart_needs_two_months_and_has_gaps_where_nothing_was_decided(
    admin_client: Client,
) -> None:
    run = make_run()
    tally(run, NOW)
    one_month = admin_client.get(PAGE).context["chart"]
    tally(run, NOW - timedelta(days=40), passed=0, failed=0)

    (line,) = json.loads(admin_client.get(PAGE).context["chart"].data)["datasets"]

    assert one_month is None
    assert line["data"] == [None, 75.0]


def test_of_many_judges_some_are_left_out_and_counted(admin_client: Client) -> None:
    run = make_run()
    for number in range(70):
        tally(run, NOW, model=f"openai/{number}")

    context = admin_client.get(PAGE).context

    assert len(context["judges"]) + context["left_out"] == 70
