import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

import pytest

from evals_app.reports.answers.run_answers import RunRow
from evals_app.reports.answers.run_json import (
    CASE_COLUMNS,
    IS_COMPARED,
    TOKEN_COLUMNS,
    case_json,
    document,
    documents,
    execution_json,
    execution_row_json,
    json_pieces,
    run_details_json,
    run_json,
    total_json,
    verdict_of_all,
)

START = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)


def make_run(**changes: Any) -> dict[str, Any]:
    return {
        "id": 7,
        "suite_slug": "refunds",
        "agent_slug": "shop",
        "model": "",
        "judge": "",
        "is_scripted": True,
        "is_simulated": False,
        "is_tryout": False,
        "is_whole": True,
        "case_count": 3,
        "suite_case_count": 3,
        "suite_agent_slug": "shop",
        "replaced_model": "",
        "similarity": "",
        "is_similarity_stand_in": False,
        "status": "finished",
        "verdict": "passed",
        "stop_reason": "",
        "score": 0.5,
        "rerun_of_id": None,
        "from_file": "",
        "conversation_set_id": None,
        "grades_of_id": None,
        "losses": {},
        "regrading": {},
        "baseline_id": 4,
        "suite__baseline_id": 4,
        "settlement_id": None,
        "concurrency": 4,
        "total": 3,
        "passed": 1,
        "failed": 1,
        "errored": 0,
        "measured": 0,
        "skipped": 0,
        "cancelled": 0,
        "not_run": 1,
        "agent_prompt_tokens": 10,
        "agent_response_tokens": None,
        "judge_prompt_tokens": 0,
        "judge_response_tokens": 2,
        "agent_cost_usd": Decimal("0.012"),
        "judge_cost_usd": Decimal("0.000300000"),
        "max_cost_usd": None,
        "spent_usd": Decimal("0.02"),
        "reserved_usd": Decimal(0),
        "unsettled_usd": Decimal("0.001"),
        "reached_ceiling": "",
        "created_at": START,
        "started_at": START,
        "finished_at": START + timedelta(seconds=1.5),
        "reviewed": {},
        "group": None,
        "summary": {},
    } | changes


def make_execution(**changes: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "run_id": 7,
        "source_id": None,
        "case": "Refund",
        "position": 0,
        "trial": 1,
        "status": "finished",
        "verdict": "failed",
        "cause": "assertion",
        "reason": "No.",
        "score": 0.0,
        "summary": {"overall_passed": False},
        "is_scripted": True,
        "attempts": 1,
        "started_at": START,
        "finished_at": START + timedelta(seconds=2),
        "agent_prompt_tokens": None,
        "agent_response_tokens": None,
        "judge_prompt_tokens": None,
        "judge_response_tokens": None,
        "agent_cost_usd": Decimal("0.002"),
        "judge_cost_usd": Decimal(0),
        "time_ms": 12.5,
        "tool_calls": 0,
        "reviewed__verdict": None,
        "reviewed__cause": None,
        "reviewed__reason": None,
        "reviewed__score": None,
    } | changes


def make_grade(**changes: Any) -> dict[str, Any]:
    return {
        "id": 5,
        "execution_id": 1,
        "type": "contains",
        "label": "Reply contains “way”",
        "family": "text",
        "turn": 1,
        "score": 0.0,
        "passed": False,
        "status": "ok",
        "cause": "assertion",
        "weight": 1.0,
        "threshold": None,
        "reason": "It does not.",
        "evidence": [],
        "yardstick__digest": None,
        IS_COMPARED: False,
        "details": {},
        "is_reused": None,
    } | changes


def test_a_run_states_its_baseline_and_whether_it_is_one() -> None:
    answer = run_json(make_run())
    baseline = run_json(make_run(id=4, baseline_id=None))

    assert (answer["baseline"], answer["is_baseline"]) == (4, False)
    assert (baseline["baseline"], baseline["is_baseline"]) == (None, True)


def test_a_run_says_what_it_is_and_null_where_it_does_not_know() -> None:
    answer = run_json(make_run())

    who = [answer[key] for key in ("id", "suite", "agent", "model", "judge", "stop_reason")]
    assert who == [7, "refunds", "shop", None, None, None]
    numbers = {
        "passed": 1,
        "failed": 1,
        "errored": 0,
        "measured": 0,
        "skipped": 0,
        "cancelled": 0,
        "not_run": 1,
    }
    assert answer["counts"] == {"total": 3, **numbers}
    assert answer["progress"] == {"done": 2, "total": 3}
    assert answer["tokens"] == {
        "agent": {"prompt": 10, "response": None},
        "judge": {"prompt": 0, "response": 2},
    }
    assert answer["duration_ms"] == 1500.0
    assert answer["cost_usd"] == 0.0123
    assert answer["cost_parts_usd"] == {"agent": 0.012, "judge": 0.0003}
    assert answer["budget"] == {
        "max_cost_usd": None,
        "spent_usd": 0.02,
        "reserved_usd": 0.0,
        "unsettled_usd": 0.001,
        "reached_ceiling": None,
    }


@pytest.mark.parametrize("side", ["agent", "judge"])
def test_a_cost_is_unknown_if_one_side_of_it_is(side: str) -> None:
    answer = run_json(make_run(**{f"{side}_cost_usd": None}))

    assert answer["cost_usd"] is None
    assert [who for who, usd in answer["cost_parts_usd"].items() if usd is None] == [side]


@pytest.mark.parametrize(
    "unknown", [["finished_at"], ["started_at"], ["started_at", "finished_at"]]
)
def test_a_duration_needs_both_ends(unknown: list[str]) -> None:
    assert run_json(make_run(**dict.fromkeys(unknown)))["duration_ms"] is None


def test_a_run_says_what_it_covers_and_how_it_compared_texts() -> None:
    whole = run_json(make_run())
    words = {"similarity": "fuzzy_match", "is_similarity_stand_in": True}
    part = run_json(make_run(is_whole=False, case_count=1, **words))

    assert (whole["is_whole"], whole["covers"], whole["similarity"]) == (True, None, None)
    assert (part["is_whole"], part["covers"]) == (False, "1 of 3 cases")
    assert part["similarity"] == {"method": "fuzzy_match", "is_stand_in": True}


def test_cases_and_gates_come_with_the_summary() -> None:
    gate = {"name": "min_score", "limit": 0.5, "actual": None, "passed": None}
    summary = {"gates": [gate, gate | {"reason": "Why."}], "p95_ms": 3.0, "notes": ["Read this."]}
    open_run = run_details_json(make_run(), [])
    ended = run_details_json(make_run(summary=summary), [{"name": "a"}])

    unknown = {key: open_run[key] for key in open_run.keys() - RunRow.KEYS}
    assert {"cases", "gates", "notes", "pass_rate_interval", "pass_at_k"} <= unknown.keys()
    assert set(unknown.values()) == {None}
    assert ended["cases"] == [{"name": "a"}]
    assert ended["p95_ms"] == 3.0
    assert [gate["reason"] for gate in ended["gates"]] == [None, "Why."]  # an older run has none
    assert ended["notes"] == ["Read this."]


def test_a_case_tells_its_tokens_and_null_where_nothing_is_known() -> None:
    row = dict.fromkeys(CASE_COLUMNS) | {"pass_at_k": [], "pass_hat_k": [], "verdict": ""}

    case = case_json(row, dict.fromkeys(TOKEN_COLUMNS) | {"judge_prompt_tokens": 5})

    assert case["tokens"]["judge"] == {"prompt": 5, "response": None}
    assert (case["pass_at_k"], case["pass_hat_k"], case["interval"]) == (None, None, None)


def test_what_happened_in_a_conversation_without_a_transcript_is_unknown() -> None:
    answer = execution_json(
        make_execution(status="queued", verdict=""), grades=[], reviews=[], trial=None
    )

    keys = ("grades", "messages", "tool_calls", "turns", "world_changes", "warnings")
    assert [answer[key] for key in keys] == [None] * 6


def test_the_calls_of_an_agent_that_reports_none_are_unknown() -> None:
    turn = dict.fromkeys(["user", "error", "model", "latency_ms", "waited_ms", "first_token_ms"])
    turn |= {"messages": [], "attempts": [], "notes": []}

    silent = {"turns": [turn, turn | {"reports_calls": False}]}
    answers = [
        execution_json(make_execution(), grades=[], reviews=[], trial=trial)
        for trial in ({"turns": [turn]}, silent)
    ]

    assert [answer["tool_calls"] for answer in answers] == [[], None]


def test_an_open_execution_has_neither_verdict_nor_summary() -> None:
    unknown: dict[str, Any] = {
        "verdict": "",
        "cause": "",
        "reason": "",
        "summary": {},
        "finished_at": None,
    }

    answer = execution_row_json(make_execution(status="queued", judge_prompt_tokens=7, **unknown))

    keys = ("verdict", "cause", "reason", "summary", "duration_ms")
    assert [answer[key] for key in keys] == [None] * 5
    assert answer["tokens"]["judge"] == {"prompt": 7, "response": None}


def test_limits_tell_what_was_measured_whether_or_not_they_are_set() -> None:
    grade = make_grade(
        family="limit", type="max_time_ms", passed=True, details={"limit": 20, "actual": 12.5}
    )

    limits = execution_json(make_execution(), grades=[grade], reviews=[], trial=None)["limits"]

    unset = {"limit": None, "actual": None, "passed": None}
    assert limits == {
        "max_prompt_tokens": unset,
        "max_response_tokens": unset,
        "max_time_ms": {"limit": 20, "actual": 12.5, "passed": True},
        "max_cost_usd": unset | {"actual": 0.002},
        "max_tool_calls": unset | {"actual": 0},
    }


def test_messages_and_calls_tell_their_turn_and_each_other() -> None:
    call: dict[str, Any] = {"name": "entity.get", "args": {"id": "x"}, "result": None}
    call |= {"error": "not found", "duration_ms": 1.0}
    turn = {
        "index": 1,
        "user": "Hello",
        "reply": "Bye",
        "messages": [
            {"role": "assistant", "text": "", "tool_calls": [call | {"chunks": []}]},
            {"role": "assistant", "text": "Bye", "tool_calls": [], "reasoning": "Done?"},
        ],
        "error": None,
        "latency_ms": 5.0,
        "waited_ms": 0.0,
        "first_token_ms": None,
        "model": None,
        "attempts": [],
        "notes": ["Note."],
        "cost_usd": "0.0005",
    }
    trial = {
        "history": [{"role": "assistant", "text": "Welcome", "tool_calls": []}],
        "turns": [turn],
        "world_changes": {"created": []},
        "warnings": ["Careful."],
    }

    answer = execution_json(make_execution(), grades=[], reviews=[], trial=trial)

    assert answer["messages"] == [
        {"role": "assistant", "content": "Welcome", "reasoning": None, "turn": None},
        {"role": "user", "content": "Hello", "reasoning": None, "turn": 1},
        {"role": "assistant", "content": "", "reasoning": None, "turn": 1},
        {"role": "assistant", "content": "Bye", "reasoning": "Done?", "turn": 1},
    ]
    assert answer["tool_calls"] == [{"turn": 1, "message": 2, **call}]
    assert answer["turns"][0]["notes"] == ["Note."]
    assert answer["turns"][0]["cost_usd"] == 0.0005
    assert (answer["world_changes"], answer["warnings"]) == ({"created": []}, ["Careful."])


def test_transcripts_of_an_older_version_tell_no_cost() -> None:
    turn = dict.fromkeys(["user", "error", "model", "latency_ms", "waited_ms", "first_token_ms"])
    lists: dict[str, Any] = {"messages": [], "attempts": [], "notes": []}

    answer = execution_json(
        make_execution(), grades=[], reviews=[], trial={"turns": [turn | lists]}
    )

    assert answer["turns"][0]["cost_usd"] is None


def test_a_document_holds_run_and_executions_and_several_share_one_version() -> None:
    one = document(make_run(summary={"gates": []}), cases=[], executions=[{"id": 1}])
    both = documents([one, one], rows=[make_run(), make_run()], comparison=None)

    assert one.keys() == {"schema_version", "run", "executions"}
    assert one["run"]["cases"] == []
    assert both["schema_version"] == 1
    assert list(both["runs"]) == [{"run": one["run"], "executions": [{"id": 1}]}] * 2


def test_several_runs_are_added_up() -> None:
    rows = [
        make_run(verdict="passed", total=3, passed=3, failed=0, agent_prompt_tokens=10),
        make_run(verdict="failed", total=2, passed=1, failed=1, agent_prompt_tokens=5),
    ]

    total = total_json(rows)

    assert (total["runs"], total["verdict"]) == (2, "failed")
    assert total["verdicts"] == {"passed": 1, "failed": 1, "inconclusive": 0, "measured": 0}
    assert (total["counts"]["total"], total["counts"]["passed"]) == (5, 4)
    assert total["tokens"]["agent"]["prompt"] == 15


def test_simulated_runs_are_not_added_to_others() -> None:
    written, simulated = make_run(), make_run(is_simulated=True)

    both, alone = total_json([written, simulated]), total_json([simulated])

    assert both["counts"] == total_json([written])["counts"] == alone["counts"]
    assert (both["simulated_left_out"], alone["simulated_left_out"]) == (1, 0)


def test_what_one_of_several_runs_does_not_know_is_null_in_their_total() -> None:
    total = total_json([make_run(agent_prompt_tokens=None, agent_cost_usd=None), make_run()])

    assert total["tokens"]["agent"]["prompt"] is None
    assert total["cost_usd"] is None
    assert total["cost_parts_usd"]["judge"] is not None


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        pytest.param(["passed", "passed"], "passed", id="all passed"),
        pytest.param(["passed", "inconclusive"], "inconclusive", id="one is open"),
        pytest.param(["inconclusive", "failed", "passed"], "failed", id="one failed"),
        pytest.param([], "inconclusive", id="none at all"),
    ],
)
def test_runs_together_have_the_worst_verdict(verdicts: list[str], together: str) -> None:
    assert verdict_of_all(verdicts) == together


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([], id="nothing"),
        pytest.param([1, "zwei\u2028", None, 2.5], id="plain values"),
        pytest.param([{}, [], {"a": []}], id="empty ones"),
        pytest.param([{"text": 'a\nb "c" ö', "deep": {"er": [{"est": [1, 2]}]}}], id="nested"),
    ],
)
def test_a_document_in_pieces_is_the_same_as_whole(value: list[Any]) -> None:
    def document_of(listed: Callable[[list[Any]], Any]) -> dict[str, Any]:
        run = {"id": 7, "cases": listed(value), "gates": [], "counts": {"total": 3}, "none": {}}
        return {"schema_version": 1, "run": run, "executions": listed(value), "é": listed([])}

    runs = {"runs": [document_of(list), document_of(list)]}
    pieces = {"runs": iter([document_of(iter), document_of(iter)])}

    assert "".join(json_pieces(pieces)) == json.dumps(runs, ensure_ascii=False, indent=2)


def test_a_document_is_read_as_it_is_written() -> None:
    numbers = iter(range(5))

    pieces = list(islice(json_pieces({"executions": numbers}), 3))

    assert "".join(pieces) == '{\n  "executions": [\n    0'
    assert list(numbers) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("stored", "is_compared", "shown"),
    [
        pytest.param([], False, ["uncalibrated"], id="a model"),
        pytest.param([], True, [], id="compared"),
        (["uncalibrated", "injection"], False, ["injection", "uncalibrated"]),
        pytest.param(["uncalibrated"], True, [], id="stored then, compared since"),
        pytest.param(["scripted"], False, ["scripted"], id="a script"),
    ],
)
def test_whether_a_judge_is_compared_with_people_is_shown_as_it_is_today(
    stored: list[str], shown: list[str], *, is_compared: bool
) -> None:
    grade = make_grade(details={"flags": stored, "raw": 4}, **{IS_COMPARED: is_compared})

    (answered,) = execution_json(make_execution(), grades=[grade], reviews=[], trial=None)["grades"]

    assert answered["details"] == {"flags": shown, "raw": 4}


def test_grades_go_by_their_labels_and_evidence_tells_whose_words_it_is() -> None:
    quote = {"quote": "way", "turn": 1, "bears_on": "", "is_verified": True}
    grade = make_grade(evidence=[quote, quote | {"speaker": "user"}])

    (answered,) = execution_json(make_execution(), grades=[grade], reviews=[], trial=None)["grades"]

    assert (answered["name"], answered["reason"]) == ("Reply contains “way”", "It does not.")
    assert [quote["speaker"] for quote in answered["evidence"]] == [None, "user"]
