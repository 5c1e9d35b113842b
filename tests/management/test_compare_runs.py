"""Runs compared on the command line."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.management.comparison import SHOWN_CASES
from evals_app.models import Run, Suite
from tests.makers import make_run
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db


def compared(*arguments: Any) -> tuple[int, str]:
    """Return the exit code and what was printed."""
    out, code = StringIO(), 0
    try:
        call_command("compare_runs", *map(str, arguments), stdout=out, no_color=True)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, out.getvalue()


def two_runs() -> tuple[Run, Run]:
    suite = make_suite(["hello", "hello there"])
    rules = [{"when": "there", "reply": "Go [bold]away[/]."}, {"reply": "hello"}]
    rude = make_agent("rude", name="Rude [x]", rules=rules)
    base = finished(suite)
    Suite.objects.filter(pk=suite.pk).update(min_pass_rate=0.9)
    return base, finished(Suite.objects.get(pk=suite.pk), agent=rude)


def test_a_run_that_got_worse_is_printed_with_its_cases_and_exits_with_1() -> None:
    base, head = two_runs()

    code, text = compared(base.pk, head.pk, "--site", "https://evals.example.org")

    assert code == 1
    lines = text.splitlines()
    (agents,) = [line for line in lines if line.startswith("│ Agent  ")]
    assert [cell.strip() for cell in agents.split("│")[2:4]] == [
        "Echo (scripted)",
        "Rude [x] (scripted)",
    ]
    (worse,) = [line for line in lines if line.startswith("  worse:")]
    assert worse == "  worse: case 2: passed, score 1.00 -> failed, score 0.00"
    assert not [line for line in lines if line.startswith("  same:")]
    (rate,) = [place for place, line in enumerate(lines) if "suite.min_pass_rate" in line]
    (name,) = [place for place, line in enumerate(lines) if "agent.agent" in line]
    assert "not comparable" in lines[rate - 1]
    assert name > rate
    assert lines[-1].startswith("https://evals.example.org/admin/")
    assert lines[-1].endswith(f"?run={base.pk}&run={head.pk}")


@pytest.mark.parametrize(
    ("base", "head", "code"),
    [
        pytest.param({"A": ["passed"]}, {"A": ["passed"]}, 0, id="same"),
        pytest.param({"A": ["failed"]}, {"A": ["passed"]}, 0, id="better"),
        pytest.param({"A": ["passed"]}, {"A": ["failed"]}, 1, id="worse"),
        pytest.param({"A": ["passed", "failed"]}, {"A": ["passed", "passed"]}, 0, id="flaky"),
        pytest.param({"A": ["passed"]}, {"B": ["passed"]}, 3, id="no case in common"),
        pytest.param({"A": ["passed"]}, {"A": ["errored"]}, 3, id="nothing decided"),
        pytest.param(
            {str(n): ["passed"] * 3 for n in range(8)},
            {str(n): ["passed", "passed", "failed"] for n in range(8)},
            1,
            id="all a little",
        ),
    ],
)
def test_the_exit_code_says_whether_something_got_worse(
    base: dict[str, list[str]], head: dict[str, list[str]], code: int
) -> None:
    assert compared(make_run(base).pk, make_run(head).pk)[0] == code


def test_one_of_several_runs_that_got_worse_is_enough() -> None:
    runs = [make_run({"A": [state]}).pk for state in ("passed", "passed", "failed")]

    assert compared(*runs[:2])[0] == 0
    assert compared(*runs)[0] == 1


def test_only_the_cases_that_were_asked_for_are_printed() -> None:
    names = [f"Case {number:02}" for number in range(SHOWN_CASES + 5)]
    base = make_run({name: ["passed"] for name in names})
    head = make_run({name: ["passed" if name == "Case 01" else "failed"] for name in names})

    def printed(*options: str) -> list[str]:
        lines = compared(base.pk, head.pk, *options)[1].splitlines()
        return [
            line.split(":")[1].strip() for line in lines if line.startswith(("  same:", "  worse:"))
        ]

    assert printed("--change", "same") == ["Case 01"]
    assert printed("--case", "case 01") == ["Case 01"]
    assert len(printed()) == SHOWN_CASES
    assert "and 4 more" in compared(base.pk, head.pk)[1]


def test_json_is_what_rest_answers() -> None:
    base, head = two_runs()

    code, text = compared(base.pk, head.pk, "--json", "--change", "worse")

    document = json.loads(text)
    assert (code, document["schema_version"]) == (1, 1)
    comparison = document["comparison"]
    assert [run["id"] for run in comparison["runs"]] == [base.pk, head.pk]
    assert [case["name"] for case in comparison["cases"]] == ["case 2"]
    assert (comparison["count"], comparison["counts"]["same"]) == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([1], "RUN"),
        ([1, "x"], "'x'"),
        ([1, 2**70], "RUN"),
        ([10**9, 10**9 + 1], str(10**9)),
        ([1, 2, "--change", "worst"], "worst"),
    ],
)
def test_wrong_usage_is_refused(arguments: list[Any], named: str) -> None:
    with pytest.raises(CommandError, match=named):
        compared(*arguments)


def test_a_run_that_has_not_ended_is_wrong_usage() -> None:
    runs = [make_run([state]).pk for state in ("passed", "running")]

    with pytest.raises(CommandError, match=str(runs[1])) as refused:
        compared(*runs)

    assert refused.value.returncode == 2


def test_settings_that_cannot_be_read_are_reported() -> None:
    base, head = make_run({"case 1": ["passed"]}), finished(make_suite(cases=1))

    code, text = compared(base.pk, head.pk)

    assert code == 0
    assert "version" in text
    assert "1 case is matched by name" in text  # a run made by hand has no digests
