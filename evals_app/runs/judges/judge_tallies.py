"""Count how judges graded while results are recorded, so that no one reads all grades later."""

from collections import Counter
from collections.abc import Iterable

from evals_app.engine.record.grade import GradedAssertion
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Cause
from evals_app.engine.running.run_gateway import Outcome
from evals_app.engine.verdicts.execution_verdict import NOT_GRADED
from evals_app.engine.verdicts.similarity import EMBEDDING
from evals_app.models import JudgeTally, Run
from evals_app.reports.words.judges import judges_in
from evals_app.runs.ground.ledger import today

_BY_JUDGE = frozenset({Cause.JUDGE, Cause.PROVIDER})


def count_grades(outcomes: Iterable[Outcome], *, run_id: int) -> None:
    """Add the grades of outcomes to the tallies of their judges; the caller has locked the run."""
    counted: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for graded in outcome.graded:
            for model, counts in _count(graded).items():
                counted.setdefault(model, Counter()).update(counts)
    if not counted:
        return
    if unreached := counted.pop("", None):
        counted.setdefault(_only_judge(run_id), Counter()).update(unreached)
    day = today()
    rows = {row.model: row for row in JudgeTally.objects.filter(run=run_id, day=day)}
    for model, counts in counted.items():
        row = rows.get(model) or JudgeTally(run_id=run_id, day=day, model=model)
        for column, count in counts.items():
            setattr(row, column, getattr(row, column) + count)
        row.save()


def _only_judge(run_id: int) -> str:
    """Return the judge of a run; blank if it has several."""
    judges = judges_in(Run.all_runs.values_list("judge", flat=True).get(pk=run_id))
    return judges[0] if len(judges) == 1 else ""


def _count(graded: GradedAssertion) -> dict[str, Counter[str]]:
    """Return what to add, by judge; every member of a jury took part in the grade.

    The judge is empty if it could not be reached, because then there is no call.
    """
    grade = graded.grade
    counted: dict[str, Counter[str]] = {}
    if graded.family == "judged" and grade.cause in _BY_JUDGE and not grade.calls:
        counted[""] = Counter()
    for call in grade.calls:
        if call.purpose != EMBEDDING and not call.is_reused:
            judge = f"{call.provider}/{call.asked_model}"
            counted.setdefault(judge, Counter()).update(_count_call(call))
    for counts in counted.values():
        if grade.status in NOT_GRADED:
            counts["not_graded"] += 1
            continue
        counts["graded"] += 1
        if grade.passed is not None:
            counts["passed" if grade.passed else "failed"] += 1
    return counted


def _count_call(call: JudgeCall) -> dict[str, int]:
    prompt, response = call.usage.prompt_tokens, call.usage.response_tokens
    is_known = prompt is not None and response is not None
    return {
        "calls": 1,
        "uncounted_calls": int(not is_known),
        "prompt_tokens": prompt or 0,
        "response_tokens": response or 0,
    }
