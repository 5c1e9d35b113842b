from evals_app.reports.renderers.rows import HEADERS, MAX_REASON, result_rows
from tests.reports.makers import a_run, an_execution, results


def test_each_execution_is_a_row_in_which_the_unknown_is_empty() -> None:
    tokens = {"agent": {"prompt": 5, "response": None}, "judge": {"prompt": 0, "response": 7}}
    row = an_execution(tokens=tokens, cost_parts_usd={"agent": 0.5, "judge": None}, cost_usd=None)

    headers, cells = result_rows([results(a_run(judge="acme/judge"), [row])])
    cell = dict(zip(headers, cells, strict=True))

    assert headers == list(HEADERS)
    assert (cell["run"], cell["suite"], cell["case"], cell["verdict"]) == (
        *(7, "refunds", "Angry customer", "failed"),
    )
    assert (cell["agent_prompt_tokens"], cell["agent_response_tokens"]) == (5, None)
    assert (cell["judge_prompt_tokens"], cell["judge_response_tokens"]) == (0, 7)
    assert (cell["agent_cost_usd"], cell["judge_cost_usd"], cell["cost_usd"]) == (0.5, None, None)
    assert cell["judge"] == "acme/judge"


def test_what_waits_in_a_run_that_has_ended_did_not_run() -> None:
    row = an_execution(status="queued", verdict=None, cause=None, reason=None, score=None)

    _, cells = result_rows([results(executions=[row])])

    assert dict(zip(HEADERS, cells, strict=True))["verdict"] == "not_run"


def test_a_long_reason_is_cut() -> None:
    _, cells = result_rows([results(executions=[an_execution(reason="x" * (MAX_REASON + 1))])])

    assert dict(zip(HEADERS, cells, strict=True))["reason"] == "x" * MAX_REASON + "…"
