"""set_baseline: later runs are compared with a run."""

from io import StringIO

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.models import Suite
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db


def output_of(*arguments: object) -> str:
    out = StringIO()
    call_command("set_baseline", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_runs_become_the_baselines_of_their_suites_and_no_longer() -> None:
    runs = [make_run(suite=make_suite(slug)) for slug in ("refunds", "orders")]

    lines = output_of(*(run.pk for run in runs)).splitlines()

    assert {suite.slug: suite.baseline for suite in Suite.objects.all()} == {
        "refunds": runs[0],
        "orders": runs[1],
    }
    assert [("refunds" in line, "orders" in line) for line in lines] == [
        (True, False),
        (False, True),
    ]
    assert LogEntry.objects.filter(user__username="command-line").count() == 2

    output_of(runs[0].pk, "--remove")

    assert Suite.objects.get(slug="refunds").baseline is None
    assert Suite.objects.get(slug="orders").baseline == runs[1]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        pytest.param(["4711"], "no run 4711", id="unknown"),
        pytest.param(["latest"], "whole number", id="a word"),
        pytest.param([str(2**63)], "whole number", id="too large"),
        pytest.param([], "RUN", id="none"),
    ],
)
def test_a_run_that_is_not_there_is_refused(arguments: list[str], word: str) -> None:
    with pytest.raises(CommandError, match=word) as caught:
        output_of(*arguments)

    assert caught.value.returncode in {1, 2}


def test_a_run_in_which_nothing_passed_is_refused() -> None:
    run = make_run(["failed"])

    with pytest.raises(CommandError, match="passed") as caught:
        output_of(run.pk)

    assert caught.value.returncode == 2
    assert Suite.objects.get().baseline is None
