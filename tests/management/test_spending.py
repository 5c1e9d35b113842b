import json
from datetime import date
from decimal import Decimal
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.models import Spending

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _november() -> None:
    ann = User.objects.create(username="ann")
    for day, usd in ((date(2026, 11, 2), "0.50"), (date(2026, 11, 30), "1.25")):
        Spending.objects.create(
            day=day, role="agent", model="a/x", spent_usd=Decimal(usd), person=ann
        )


def called(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("spending", *arguments, stdout=out, stderr=err, no_color=True)
    return out.getvalue(), err.getvalue()


def test_a_table_with_the_total_below() -> None:
    out, _ = called("--month", "2026-11")

    rows = [line.split() for line in out.splitlines()[1:]]
    assert [(row[0], row[1]) for row in rows] == [
        ("2026-11-02", "$0.50"),
        ("2026-11-30", "$1.25"),
        ("Total", "$1.75"),
    ]


def test_as_json_it_is_what_rest_answers_and_the_operator_reads_all_names() -> None:
    document = json.loads(called("--month", "2026-11", "--by", "person", "--json")[0])

    assert (document["schema_version"], document["spent_usd"]) == (1, 1.75)
    assert [row["name"] for row in document["rows"]] == ["ann"]


def test_a_month_without_spending_has_no_table() -> None:
    out, err = called("--month", "2020-01")

    assert out == ""
    assert "2020-01" in err


def test_what_is_not_a_month_is_refused() -> None:
    with pytest.raises(CommandError, match="2026-11") as error:
        called("--month", "soon")

    assert error.value.returncode == 2
