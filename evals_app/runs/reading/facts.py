"""The inputs of a run's summary: the rules that it was started with, and its rows."""

from collections.abc import Collection, Iterator, Mapping

from evals_app.engine.record.trial import Verdict
from evals_app.engine.suites.suite_spec import GatesSpec, SuiteSpec
from evals_app.engine.verdicts.case_summary import Fact
from evals_app.models import Execution, Run
from evals_app.runs.reading.baselines import gates_of

CHUNK = 2000  # rows read at once


def with_rules_of(run: Run, suite: SuiteSpec) -> SuiteSpec:
    """Return a suite with the rules that apply to a run of it."""
    rules: dict[str, object] = {"gates": gates_of(run, suite)}
    if run.settlement_id is not None:  # a part proves nothing about the whole
        rules = {"gates": GatesSpec(), "run_rule": "all_cases"}
    return suite.model_copy(update=rules)


def facts_of(
    run: Run,
    *,
    cases: Collection[str] | None = None,
    others: Mapping[int, tuple[str, float | None]] | None = None,
) -> Iterator[Fact]:
    """Return the result of each execution, in the order of the cases; `cases` limits them.

    `others` are verdicts and scores by execution in place of those that were recorded.
    """
    others = others or {}
    wanted = run.executions.all() if cases is None else run.executions.filter(case__in=cases)
    rows = wanted.order_by("position", "trial").values_list(
        *("case", "verdict", "score", "turn_ms", "agent_cost_usd", "judge_cost_usd"),
        *("status", "source", "pk"),
    )
    for case, *result, turn_ms, cost, judge_cost, status, source, pk in rows.iterator(CHUNK):
        verdict, score = others.get(pk, result)
        known = Verdict(verdict) if verdict else None
        is_skipped = status == Execution.Status.SKIPPED
        yield Fact(case, known, score, tuple(turn_ms), cost, judge_cost, is_skipped, source)
