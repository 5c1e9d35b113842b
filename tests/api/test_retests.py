"""Settlements over REST: the price, the start, the result, case by case."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import TestCase

from evals_app.models import Run, Settlement
from evals_app.reports.answers.retests import SettlementDetails, SettlementForecast, SettlementRow
from evals_app.runs.process.worker_loop import work
from tests.api.clients import make_client
from tests.runs.settlements import settle, settled, two_runs

pytestmark = pytest.mark.django_db

ADDRESS = "/api/settlements/"


def post(address: str, **body: Any) -> Any:
    with TestCase.captureOnCommitCallbacks(execute=True):
        return make_client("run").post(address, body, format="json")


def test_a_forecast_starts_nothing() -> None:
    base, head = two_runs()

    answer = post(f"{ADDRESS}forecast/", base=base.pk, head=head.pk).json()

    assert answer.keys() == set(SettlementForecast.KEYS)
    assert (answer["suspects"], answer["compared"], answer["most_conversations"]) == (1, 3, 40)
    assert answer["cost_usd"] == {"low": 0.0, "high": 0.0, "most": 0.0}
    assert answer["stand_in"] is None
    assert not Settlement.objects.exists()


def test_a_settlement_is_started_read_and_listed() -> None:
    base, head = two_runs()

    started = post(ADDRESS, base=base.pk, head=head.pk, max_cost_usd=0.5)

    assert started.status_code == 201
    running = started.json()
    assert (running["status"], running["look"], running["finished_at"]) == ("running", 1, None)
    assert [case["finding"] for case in running["cases"]] == [None]
    assert len(running["runs"]) == 2
    work()
    client = make_client("read")
    ended = client.get(started.headers["Location"]).json()
    assert ended.keys() == set(SettlementDetails.KEYS)
    (case,) = ended["cases"]
    assert (case["case"], case["suspected"], case["finding"]) == ("case 2", "worse", "really_worse")
    assert case["before"]["base"] == {"passed": 3, "failed": 0}
    assert case["tested"] == {
        "base": {"passed": 5, "failed": 0},
        "head": {"passed": 0, "failed": 5},
    }
    assert (ended["max_cost_usd"], ended["spent_usd"]) == (0.5, 0.0)
    assert ended["is_scripted"] is True
    (row,) = client.get(ADDRESS, {"base": base.pk}).json()["results"]
    assert row.keys() == set(SettlementRow.KEYS)
    assert row["counts"]["really_worse"] == 1
    assert client.get(ADDRESS, {"head": base.pk}).json()["results"] == []
    assert client.get(f"/api/runs/{ended['runs'][0]}/").json()["rerun_of"] == base.pk


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"base": 0}, "base"),
        ({"base": 999_999}, "base"),
        ({"head": 2**70}, "head"),
        ({"head": "12"}, "head"),
        ({"max_cost_usd": 0}, "max_cost_usd"),
        ({"hed": 3}, "hed"),
    ],
)
def test_an_error_names_its_key(changes: dict[str, Any], keys: str) -> None:
    base, head = two_runs()

    answer = post(ADDRESS, **{"base": base.pk, "head": head.pk} | changes)

    assert answer.status_code == 400
    assert keys in {error["keys"] for error in answer.json()["errors"]}


def test_what_cannot_be_settled_is_refused() -> None:
    base, head = two_runs()

    answer = post(ADDRESS, base=head.pk, head=base.pk)

    assert answer.status_code == 422
    assert "nothing to retest" in answer.json()["detail"]


@pytest.mark.parametrize("query", [{"base": "x"}, {"head": 2**70}, {"run": 1}])
def test_a_filter_that_does_not_fit_is_refused(query: dict[str, Any]) -> None:
    assert make_client("read").get(ADDRESS, query).status_code == 400


def test_a_settlement_is_cancelled_once() -> None:
    settlement = settle(*two_runs())
    address = f"{ADDRESS}{settlement.pk}/cancel/"

    first, second = post(address), post(address)

    assert first.json()["status"] == second.json()["status"] == "cancelled"
    assert not Run.objects.filter(status__in=Run.OPEN).exists()
    assert post(f"{ADDRESS}999/cancel/").status_code == 404


def test_the_list_says_what_each_has_spent() -> None:
    base, head = two_runs()
    for _ in range(3):
        settled(base, head)
    Run.objects.exclude(settlement=None).update(spent_usd=Decimal("0.25"))

    rows = make_client("read").get(ADDRESS).json()["results"]

    assert [row["spent_usd"] for row in rows] == [0.5, 0.5, 0.5]
