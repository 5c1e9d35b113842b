"""The results of runs as a table: a row for each execution. What is unknown is empty, never 0."""

from collections.abc import Iterator, Sequence

from evals_app.reports.renderers.results import Results

Cell = str | float | None

MAX_REASON = 5000  # characters; a cell of Excel takes 32,767

HEADERS = (
    *("run", "suite", "agent", "model", "judge", "case", "trial", "verdict", "cause", "reason"),
    *("score", "agent_time_ms", "duration_ms"),
    *("agent_prompt_tokens", "agent_response_tokens"),
    *("judge_prompt_tokens", "judge_response_tokens"),
    *("agent_cost_usd", "judge_cost_usd", "cost_usd"),
    *("is_scripted", "is_simulated", "started_at", "finished_at", "execution", "page"),
    *("reviewed_verdict", "reviewed_score"),
)


def result_rows(runs: Sequence[Results]) -> Iterator[list[Cell]]:
    """Return the headers, and then the executions of all runs."""
    yield list(HEADERS)
    for results in runs:
        yield from _rows(results)


def _rows(results: Results) -> Iterator[list[Cell]]:
    run = results.run
    of_run = [run[key] for key in ("id", "suite", "agent", "model", "judge")]
    for execution in results.executions:
        reason = execution["reason"] or ""
        tokens, costs = execution["tokens"], execution["cost_parts_usd"]
        yield [
            *of_run,
            *(execution["case"], execution["trial"], results.state(execution), execution["cause"]),
            reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}…",
            *(execution[key] for key in ("score", "time_ms", "duration_ms")),
            *(tokens[who][kind] for who in ("agent", "judge") for kind in ("prompt", "response")),
            *(costs["agent"], costs["judge"], execution["cost_usd"]),
            "yes" if execution["is_scripted"] else "no",
            "yes" if run["is_simulated"] else "no",
            *(execution[key] for key in ("started_at", "finished_at", "id", "url")),
            *((execution["reviewed"] or {}).get(key) for key in ("verdict", "score")),
        ]
