"""settle as a person or a CI job calls it: the price, the answer, the exit code."""

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.models import Settlement
from tests.runs.settlements import rewrite, settle, two_runs
from tests.runs.suites import finished, make_suite

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.django_db(transaction=True)


def settle_runs(
    environment: dict[str, str], *arguments: object
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "manage.py", "settle", "--no-progress", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_a_case_that_is_really_worse_gives_exit_code_1(child_environment: dict[str, str]) -> None:
    base, head = two_runs()

    done = settle_runs(child_environment, base.pk, head.pk, "--ci", "--max-cost", "0.5")

    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["schema_version"] == 1
    assert document["settlement"]["counts"]["really_worse"] == 1
    assert document["settlement"]["max_cost_usd"] == 0.5
    lines = done.stderr.splitlines()
    assert lines[0].startswith("Runs 1 case 5 to 20 times")  # the price comes first
    assert any("Really worse: case 2." in line for line in lines)


def test_luck_gives_exit_code_0(child_environment: dict[str, str]) -> None:
    suite = make_suite(["hello"])
    base, head = (finished(suite, trials=3) for _ in range(2))
    rewrite(head, {"case 1": (2, 1)})

    done = settle_runs(child_environment, base.pk, head.pk, "--yes")

    assert done.returncode == 0, done.stderr + done.stdout
    assert "Cannot tell yet: case 1." in done.stdout


def test_a_forecast_starts_nothing() -> None:
    base, head = two_runs()
    out = StringIO()

    call_command("settle", base.pk, head.pk, "--forecast", stdout=out)

    assert "at most 40 conversations" in out.getvalue()
    assert not Settlement.objects.exists()


def test_a_settlement_is_cancelled_once() -> None:
    settlement = settle(*two_runs())
    texts = []
    for _ in range(2):
        out = StringIO()
        call_command("settle", "--cancel", settlement.pk, stdout=out)
        texts.append(out.getvalue())

    settlement.refresh_from_db()
    assert settlement.status == "cancelled"
    assert texts[0] != texts[1]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "two runs"),
        ([999_998, 999_999], "no run 999998 and no run 999999"),
        (["--attach", 7, "--yes"], "--attach"),
        (["--attach", 7], "no retest 7"),
        (["--cancel", 7], "no retest 7"),
    ],
)
def test_wrong_usage_gives_exit_code_2(arguments: list[object], word: str) -> None:
    with pytest.raises(CommandError, match=word) as caught:
        call_command("settle", *arguments)

    assert caught.value.returncode == 2


def test_nobody_is_asked_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    base, head = two_runs()
    monkeypatch.setattr("sys.stdin", StringIO())

    with pytest.raises(CommandError, match="--yes"):
        call_command("settle", base.pk, head.pk, stdout=StringIO())

    assert not Settlement.objects.exists()
