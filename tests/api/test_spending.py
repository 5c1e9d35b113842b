from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from openapi_schema_validator import OAS31Validator

from evals_app.models import Spending
from tests.api.clients import make_client, make_user

pytestmark = pytest.mark.django_db

URL = "/api/spending/"


@pytest.fixture(autouse=True)
def _november() -> None:
    ann = make_user([])
    common: dict[str, Any] = {"agent_slug": "shop", "agent_name": "Shop", "person": ann}
    november = date(2026, 11, 30)
    Spending.objects.create(
        day=november, role="agent", model="a/x", spent_usd=Decimal("0.50"), **common
    )
    Spending.objects.create(
        day=november, role="judge", model="a/x", spent_usd=Decimal("0.25"), **common
    )
    Spending.objects.create(day=november, unsettled_usd=Decimal("0.10"), **common)
    Spending.objects.create(day=date(2026, 12, 1), spent_usd=Decimal(9), **common)


def ask(**query: str) -> Any:
    return make_client("read", ["evals_app.view_run", "auth.view_user"]).get(URL, query)


def test_the_spending_of_a_month_by_model() -> None:
    assert ask(month="2026-11", by="model").json() == {
        "month": "2026-11",
        "by": "model",
        "spent_usd": 0.75,
        "unsettled_usd": 0.1,
        "rows": [
            {
                "key": "a/x",
                "name": "a/x",
                "spent_usd": 0.75,
                "parts_usd": {"agent": 0.5, "judge": 0.25, "unknown": 0.0},
                "unsettled_usd": 0.0,
            },
            {
                "key": None,
                "name": "Unknown",
                "spent_usd": 0.0,
                "parts_usd": {"agent": 0.0, "judge": 0.0, "unknown": 0.0},
                "unsettled_usd": 0.1,
            },
        ],
    }


@pytest.mark.parametrize(
    ("by", "key"), [("day", "2026-11-30"), ("agent", "shop"), ("model", "a/x")]
)
def test_each_way_to_add_up_has_the_same_total(by: str, key: str) -> None:
    answer = ask(month="2026-11", by=by).json()

    assert (answer["rows"][0]["key"], answer["spent_usd"]) == (key, 0.75)


def test_what_others_spent_needs_the_right_to_see_people() -> None:
    own = make_client("read", ["evals_app.view_run"]).get(URL, {"month": "2026-11"}).json()
    (row,) = ask(month="2026-11", by="person").json()["rows"]

    assert (own["rows"], own["spent_usd"]) == ([], 0)
    assert row["name"].startswith("user")


def test_without_a_month_it_is_this_one_by_day() -> None:
    answer = ask().json()

    assert (answer["month"], answer["by"]) == (f"{timezone.now():%Y-%m}", "day")


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ({"month": "2026-13"}, "month"),
        ({"month": "9999-12"}, "month"),
        ({"month": "\x00"}, "month"),
        ({"by": "suite"}, "by"),
        ({"agent": "shop"}, "agent"),
    ],
)
def test_what_does_not_exist_is_refused_by_its_key(query: dict[str, str], keys: str) -> None:
    response = ask(**query)

    assert response.status_code == 400
    assert [error["keys"] for error in response.json()["errors"]] == [keys]


@pytest.mark.parametrize("by", ["day", "person"])
def test_the_answer_is_as_described_and_takes_the_same_queries(
    by: str, django_assert_max_num_queries: Any
) -> None:
    client = make_client("read", ["evals_app.view_run"])
    schema = client.get("/api/schema/?format=json").json()
    with django_assert_max_num_queries(7):
        answer = client.get(URL, {"month": "2026-11", "by": by}).json()

    described = {"$ref": "#/components/schemas/SpendingAnswer", "components": schema["components"]}
    assert list(OAS31Validator(described).iter_errors(answer)) == []
