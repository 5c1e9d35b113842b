from collections.abc import Sequence
from typing import Any

import pytest

from evals_app.reports.renderers.markdown import escape_text, markdown
from tests.reports.makers import a_case, a_run, an_execution, passed, results


def text_of(
    run: dict[str, Any],
    executions: Sequence[dict[str, Any]] = (),
    cases: Sequence[dict[str, Any]] = (),
) -> str:
    return "".join(markdown([results(run, executions, cases=cases)]))


def test_a_run_is_shown_from_its_verdict_down_to_each_an_execution() -> None:
    gate = {"name": "min_pass_rate", "limit": 0.9, "actual": 0.5, "passed": False}
    judged = {"agent": {"prompt": 1, "response": 1}, "judge": {"prompt": 1200, "response": 34}}
    run = a_run(gates=[gate], url="https://host/run/7")

    text = text_of(run, [an_execution(tokens=judged)], [a_case(tokens=judged)])

    assert text.startswith("# Refunds: run 7\n\n**❌ failed**: 1 passed, 1 failed, 0 errored,")
    assert "| Agent tokens | 1,200 prompt + unknown response |" in text
    assert "| Page | <https://host/run/7> |" in text
    assert (
        "| At least 90\N{NO-BREAK SPACE}% of the cases must pass | 50\N{NO-BREAK SPACE}% | ❌ missed |"
        in text
    )
    assert "### ❌ failed: A check did not pass (1)\n\n- Angry customer: It does not say" in text
    plain = text.replace("\N{NO-BREAK SPACE}", " ")
    assert "| Cases passed | 50 % (1 of 2; 95 % interval: 9.5 % to 90.5 %) |" in plain
    assert "| Angry customer | ❌ failed | 0 % (0 of 1) | 0 % to 79 % | 0.25 | 1,234 |" in plain
    assert "| Angry customer | 1 | ❌ failed | 0.25 | 850 ms | 1,234 | $0.002 |" in plain


def test_what_a_run_does_not_cover_and_a_stand_in_are_shown_beside_the_verdict() -> None:
    text = text_of(a_run(covers="1 of 38 cases", stand_in_note="Words were counted."))

    head = text.partition("|")[0]
    assert "1 of 38 cases" in head
    assert "Words were counted." in head


def test_what_a_run_cost_is_shown_and_never_0_where_nobody_knows() -> None:
    text = text_of(a_run(), [an_execution(cost_usd=None)])

    assert "| Agent cost | $0.0123 |\n| Judge cost | unknown |" in text
    assert "| Cost | at least $0.0123 |" in text
    assert "| 850\N{NO-BREAK SPACE}ms | 0 | unknown |" in text
    assert "Spent" not in text
    limited = text_of(a_run(budget={"max_cost_usd": 0.5, "spent_usd": 0.02}))
    assert "| Spent | $0.02 of at most $0.50 |" in limited


@pytest.mark.parametrize(
    ("gate", "line"),
    [
        (
            {"name": "max_cost_usd", "limit": 5.0, "actual": None, "passed": None},
            "| Agent and judge together may cost at most $5.00 | unknown | ❔ undecided |",
        ),
        (
            {"name": "min_score", "limit": 0.5, "actual": 1.0, "passed": True, "reason": "a|b"},
            "| The mean score must be at least 0.50 | 1.00 | ✅ met. a\\|b |",
        ),
    ],
)
def test_a_gate_is_a_row(gate: dict[str, Any], line: str) -> None:
    assert line in text_of(a_run(gates=[gate]))


def test_failures_come_before_what_errored() -> None:
    errored = an_execution(case="Silent", verdict="errored", cause="provider")

    text = text_of(a_run(), [errored, an_execution()])

    assert text.index("A check did") < text.index("The model provider")


def test_a_run_that_passed_has_no_section_about_what_went_wrong() -> None:
    text = text_of(a_run(verdict="passed"), [passed()])

    assert "## Failures" not in text
    assert "## Gates" not in text


def test_scores_stand_on_the_scale_of_the_suite() -> None:
    text = text_of(a_run(score_scale="1-5"), [an_execution(score=0.0)])

    assert "| Score | 3.0\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}5 |" in text
    assert "1.0\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}5" in text


def stopped(why: str, *, ceiling: str | None = None) -> dict[str, Any]:
    counts = {
        "total": 2,
        "passed": 1,
        "failed": 0,
        "errored": 0,
        "measured": 0,
        "skipped": 0,
        "cancelled": 0,
        "not_run": 1,
    }
    budget = {**a_run()["budget"], "reached_ceiling": ceiling}
    return {"stop_reason": why, "counts": counts, "budget": budget}


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        pytest.param({"is_scripted": True}, "> Scripted: the agent", id="scripted agent"),
        pytest.param({"judge": "scripted/mild"}, "> A judge follows a script", id="judge"),
        ({"judge": "a/b, scripted/mild"}, "> A judge follows a script"),
        pytest.param(stopped("cancelled"), "> Stopped early: cancelled", id="cancelled"),
        pytest.param(stopped("deadline"), "> Stopped early: time limit", id="deadline"),
        pytest.param(stopped("budget"), "> Stopped early: cost limit", id="budget"),
        (stopped("budget", ceiling="site"), "> Stopped early: monthly ceiling"),
        pytest.param({"stop_reason": "deadline"}, "", id="out of time, with nothing left"),
        pytest.param({}, "", id="nothing to note"),
    ],
)
def test_what_makes_a_verdict_mean_less_is_shown(changes: dict[str, Any], note: str) -> None:
    quotes = [line for line in text_of(a_run(**changes)).splitlines() if line[:1] == ">"]

    assert len(quotes) == bool(note)
    assert not note or quotes[0].startswith(note)


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [
        pytest.param("failed", "not run", id="the run has ended"),
        pytest.param(None, "queued", id="the run goes on"),
    ],
)
def test_what_waits_in_a_run_that_has_ended_was_not_run(verdict: str | None, shown: str) -> None:
    waits = an_execution(status="queued", verdict=None, cause=None, reason=None, score=None)
    status = "finished" if verdict else "running"

    text = text_of(a_run(verdict=verdict, status=status), [waits])

    assert f"| Angry customer | 1 | … {shown} | — | 850\N{NO-BREAK SPACE}ms | — | — |" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text.", "plain text."),
        ("a | b", "a \\| b"),
        ("one\n\n# two", "one \\# two"),
        ("<img src=x>", "\\<img src=x\\>"),
        ("[x](y)", "\\[x\\](y)"),
        ("**b** `c` ~d~", "\\*\\*b\\*\\* \\`c\\` \\~d\\~"),
        ("https://x.test", "https\u200b://x.test"),
        ("www.x.test", "www\u200b.x.test"),
    ],
)
def test_what_others_wrote_is_no_markup(text: str, expected: str) -> None:
    assert escape_text(text) == expected


def test_a_trial_is_named_and_linked_and_a_long_reason_is_cut() -> None:
    row = an_execution(trial=2, url="https://host/execution/3", reason="x" * 600)

    text = text_of(a_run(), [row])

    assert "- [Angry customer (trial 2)](<https://host/execution/3>): xxx" in text
    assert "x" * 500 + "…" in text
    assert "x" * 501 not in text
