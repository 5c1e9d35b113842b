from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from evals_app.admin.runs.run_stops import STOPPING, ResumeForm, cost_line, stopped_line
from evals_app.models import MonthlyCeiling, Run, Spending
from tests.makers import make_run

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("money", "expected"),
    [
        pytest.param({}, "", id="nothing is paid"),
        pytest.param({"spent_usd": "0.0123"}, "Spent so far: $0.0123.", id="no ceiling"),
        pytest.param({"max_cost_usd": "5"}, "Spent so far: $0 of at most $5.00.", id="ceiling"),
        pytest.param(
            {"max_cost_usd": "5", "spent_usd": "1.25", "reserved_usd": "0.5"},
            "Spent so far: $1.25 of at most $5.00. Calls in progress may cost up to $0.50.",
            id="under way",
        ),
        pytest.param(
            {"spent_usd": "1.25", "unsettled_usd": "0.25"},
            "Spent so far: $1.25. Workers that crashed may have spent up to $0.25 more.",
            id="lost",
        ),
    ],
)
def test_what_was_spent_so_far(money: dict[str, str], expected: str) -> None:
    amounts: dict[str, Any] = {name: Decimal(amount) for name, amount in money.items()}

    assert cost_line(make_run(["running"], **amounts)) == expected


@pytest.mark.parametrize(
    ("states", "reason", "expected"),
    [
        pytest.param(["passed"], "", "", id="complete"),
        pytest.param(["passed", "cancelled"], "cancelled", "was cancelled", id="cancelled"),
        (["passed", "not_run"], "deadline", "1 conversation did not run."),
        (["passed", "not_run", "not_run"], "budget", "2 conversations did not run."),
    ],
)
def test_why_a_run_was_stopped(states: list[str], reason: str, expected: str) -> None:
    run = make_run(states, stop_reason=reason, max_cost_usd=Decimal(5))

    assert expected in stopped_line(run)
    assert bool(stopped_line(run)) is bool(reason)


@pytest.mark.parametrize(
    ("reached", "amounts"),
    [
        pytest.param("site", ["$10.00", "$9.75"], id="site"),
        pytest.param("person", ["$4.00", "$3.75"], id="person"),
    ],
)
def test_which_monthly_ceiling_stopped_a_run_and_its_numbers_today(
    reached: str, amounts: list[str]
) -> None:
    ann = User.objects.create(username="ann")
    MonthlyCeiling.objects.create(max_usd=Decimal(10))
    MonthlyCeiling.objects.create(max_usd=Decimal(4), person=ann)
    today = timezone.now().date()
    Spending.objects.create(day=today, spent_usd=Decimal("3.75"), person=ann)
    Spending.objects.create(day=today, spent_usd=Decimal(6))
    run = make_run(
        ["passed", "not_run"],
        stop_reason="budget",
        reached_ceiling=reached,
        created_by=ann,
        spent_usd=Decimal("1.25"),
    )

    line = stopped_line(run)

    assert all(amount in line for amount in [*amounts, "$1.25"])
    assert not run.is_at_own_ceiling
    assert not ResumeForm(run).fields["max_cost_usd"].required


def test_a_monthly_ceiling_that_is_gone_has_no_numbers() -> None:
    run = make_run(["passed", "not_run"], stop_reason="budget", reached_ceiling="site")

    assert stopped_line(run).count("$") == 1  # what the run spent


def test_every_reason_to_stop_is_shown_while_it_stops() -> None:
    assert STOPPING.keys() == set(Run.StopReason)


@pytest.mark.parametrize(
    ("run", "is_required", "help_text"),
    [
        pytest.param(
            {"stop_reason": "budget", "max_cost_usd": Decimal(5), "spent_usd": Decimal("4.97")},
            True,
            "above $5.00",
            id="at its cost ceiling",
        ),
        pytest.param(
            {"stop_reason": "cancelled", "max_cost_usd": Decimal(5), "spent_usd": Decimal(1)},
            False,
            "$5.00",
            id="below it",
        ),
        pytest.param({"stop_reason": "deadline"}, False, "no limit", id="without one"),
    ],
)
def test_the_ceiling_is_asked_for_where_it_must_change(
    run: dict[str, Any], help_text: str, *, is_required: bool
) -> None:
    form = ResumeForm(make_run(["passed", "not_run"], **run), {"max_cost_usd": ""})

    assert form.is_valid() is not is_required
    assert help_text in form.fields["max_cost_usd"].help_text
