import re
from decimal import Decimal
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from rich.console import Console

from evals_app.management.console import (
    console_on,
    cost_of,
    has_several_columns,
    names_of,
    print_models,
    print_result,
    print_total,
    rate_of,
    watch,
)
from evals_app.models import Agent, Run
from tests.makers import make_run, make_suite


def printed(run: Run) -> str:
    out = StringIO()
    print_result(run, console=console_on(out, plain=True), site="http://site")
    return out.getvalue()


@pytest.mark.django_db
def test_a_run_that_no_one_can_open_has_no_links() -> None:
    run, out = make_run(["failed", "passed"]), StringIO()

    print_result(run, console=console_on(out, plain=True), site=None)

    assert "1 failed" in out.getvalue()
    assert "/admin/" not in out.getvalue()
    assert f"Run {run.pk}: http://site/admin/evals_app/run/{run.pk}/change/" in printed(run)
    assert f"runs rerun {run.pk}" in printed(run)


@pytest.mark.parametrize(
    ("count", "seconds", "expected"),
    [
        pytest.param(0, 10, "", id="nothing yet"),
        pytest.param(5, 0, "", id="no time yet"),
        pytest.param(25, 10, "2.5 a second", id="fast"),
        pytest.param(10, 10, "1.0 a second", id="one a second"),
        pytest.param(1, 40, "1.5 a minute", id="slow"),
    ],
)
def test_a_rate_has_the_unit_that_says_most(count: int, seconds: float, expected: str) -> None:
    assert rate_of(count, seconds) == expected


ENDED = {"status": "finished", "passed": 1, "judge_cost_usd": Decimal(0)}


@pytest.mark.parametrize(
    ("spent", "columns", "expected"),
    [
        pytest.param("0", {}, "", id="nothing is paid"),
        pytest.param("1.25", {}, "$1.25", id="paid"),
        pytest.param("0", {"max_cost_usd": Decimal(2)}, "$0 of $2.00", id="nothing of a limit"),
        pytest.param("1.25", {"max_cost_usd": Decimal(2)}, "$1.25 of $2.00", id="of a limit"),
        pytest.param("0.25", ENDED, "at least $0.25", id="a part is known"),
        pytest.param("0", ENDED, "cost unknown", id="nothing is known"),
    ],
)
def test_the_cost_so_far_is_shown_where_there_is_any(
    spent: str, columns: dict[str, Any], expected: str
) -> None:
    assert cost_of(Run(spent_usd=Decimal(spent), **columns)) == expected


@pytest.mark.django_db
def test_the_bar_shows_counts_rate_and_cost() -> None:
    run = make_run(
        ["passed", "failed", "running"],
        spent_usd=Decimal("0.25"),
        agent_cost_usd=Decimal("0.5"),
        judge_cost_usd=Decimal(0),
    )
    out = StringIO()

    def pass_another() -> None:
        Run.objects.filter(pk=run.pk).update(
            passed=2, not_run=0, status="finished", verdict="failed", spent_usd=Decimal("0.5")
        )

    console: Any = console_on(out, plain=True)
    console.width = 200
    (ended,) = watch([run], console=console, tick=pass_another, stop=lambda: False)

    assert ended.passed == 2
    assert "3/3" in out.getvalue()
    state = r"2 passed, 1 failed, [\d.]+ a (second|minute), \$0\.50"
    assert re.search(state, out.getvalue())


@pytest.mark.django_db
def test_a_result_says_what_it_cost() -> None:
    run = make_run(
        ["passed"],
        spent_usd=Decimal("0.0123"),
        agent_cost_usd=Decimal("0.0123"),
        judge_cost_usd=Decimal(0),
        is_scripted=False,
    )

    assert printed(run).splitlines()[0] == "Passed Refunds: 1 passed, score 1.00, $0.0123"


@pytest.mark.django_db
def test_a_result_has_the_interval_of_its_pass_rate_and_the_tokens_of_both_sides() -> None:
    run = make_run({"A": ["passed"], "B": ["failed", "failed"]}, judge="acme/judge")
    run.executions.update(agent_prompt_tokens=None)
    run.executions.filter(trial=1).update(
        agent_prompt_tokens=200,
        agent_response_tokens=5,
        judge_prompt_tokens=1100,
        judge_response_tokens=34,
    )

    text = printed(run).replace("\N{NO-BREAK SPACE}", " ")

    assert "50 % (1 of 2; 95 % interval: 9.5 % to 90.5 %)" in text
    assert "Judge tokens: unknown" in text
    assert "failed: B (agent tokens: 205, judge tokens: 1,134): " in text
    assert "failed: B (trial 2) (judge tokens: unknown): " in text


@pytest.mark.django_db
def test_a_score_is_shown_on_the_scale_of_its_suite() -> None:
    run = make_run(["passed"], is_scripted=False, score_scale="1-5")

    assert "score 5.0\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}5" in printed(run)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ({"actual": 2 / 3, "reason": "Because."}, "0.67. Because."),
        (
            {"actual": 2 / 3, "reason": "Because.", "graded": 3, "not_graded": 2},
            "0.67 (3 graded, 2 not graded). Because.",
        ),
        ({"actual": None}, "unknown"),  # older runs have no reason
    ],
)
def test_a_gate_that_was_missed_says_what_was_measured(gate: dict[str, Any], expected: str) -> None:
    run = make_run(["passed"])
    run.summary["gates"] = [{"name": "min_score", "limit": 0.9, "passed": None, **gate}]
    run.summary["notes"] = ["Read this."]

    assert f"  gate min_score undecided: limit 0.9, was {expected}\n" in printed(run)
    assert "Read this." in printed(run)


@pytest.mark.django_db
def test_a_result_says_what_it_covers_and_what_stood_in_for_embeddings() -> None:
    whole = make_run(["passed"], similarity="embeddings openai/small")
    part = make_run(
        ["passed"],
        is_whole=False,
        suite_case_count=38,
        similarity="semantic_equivalence acme/small",
        is_similarity_stand_in=True,
    )

    assert len(printed(whole).splitlines()) == 3  # verdict, rate and address
    assert "1 of 38 cases" in printed(part)
    assert "judge acme/small" in printed(part)


@pytest.mark.django_db
def test_runs_are_put_into_one_table_of_suites_and_models() -> None:
    suite = make_suite("orders")
    group = UUID(int=7)
    runs = [
        make_run({"Lost": ["passed", "failed"]}, model="a/b", group=group),
        make_run({"Lost": ["passed", "passed"]}, model="c/d", group=group),
        make_run(suite=suite, model="a/b", group=group),
    ]
    out = StringIO()

    print_models(runs, console=Console(file=out, width=200), site="http://site")

    assert names_of(runs) == [
        f"Refunds, run {runs[0].pk} (Shop agent, a/b)",
        f"Refunds, run {runs[1].pk} (Shop agent, c/d)",
        "Orders",
    ]
    rows = [
        [cell.strip() for cell in re.split("[│┃]", line)] for line in out.getvalue().splitlines()
    ]
    cells = {row[1]: row[2:4] for row in rows if len(row) > 3}
    assert cells["Suite"] == ["a/b", "c/d"]
    assert cells["Refunds"] == [
        "failed, 1 of 2 trials, score 0.62",
        "passed, 2 of 2 trials, score 1.00",
    ]
    assert cells["Orders"] == ["passed, 1 of 1 trial, score 1.00", "—"]
    assert cells["Trials passed"][0].startswith("66.7\xa0% (2 of 3;")
    assert f"http://site/admin/evals_app/run/models/?group={group}" in out.getvalue()


@pytest.mark.django_db
def test_agents_and_models_are_not_added_up_with_each_other() -> None:
    alike = [make_run(["passed"]), make_run(["failed"])]
    third = Agent.objects.create(slug="desk", name="Desk", driver="scripted")
    out, other = StringIO(), StringIO()

    print_total(alike, console=console_on(out, plain=True))
    print_total([*alike, make_run(model="a/b")], console=console_on(other, plain=True))

    assert "1 passed, 1 failed" in out.getvalue()
    assert not has_several_columns([make_run(), make_run(suite=make_suite("orders", agent=third))])
    assert other.getvalue().startswith("Failed in total: 3 runs (2 passed, 1 failed), cost ")
