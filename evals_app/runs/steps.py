"""The evaluation steps of a run: what it freezes of them, and what it keeps of those it needs."""

from collections.abc import Sequence
from dataclasses import replace

from evals_app.engine.graders.geval import GEval
from evals_app.engine.judging import Recipe
from evals_app.engine.spec import ModelSpec
from evals_app.engine.suite import AssertionSpec
from evals_app.models import EvaluationSteps
from evals_app.runs.record import storable

AT_ONCE = 500  # stock SQLite takes 32,766 parameters


class StepsInUse:
    """Collects, one after the other, the checks whose steps a judge writes."""

    def __init__(self) -> None:
        # What they are written from, not by whom; and the check's own judge, if it names one.
        self._seen: set[tuple[Recipe, ModelSpec | str | None]] = set()

    def see(self, assertion: AssertionSpec) -> None:
        """Look at a check."""
        grader = assertion.grader
        if isinstance(grader, GEval) and not grader.evaluation_steps:
            recipe = Recipe(
                grader.criteria.strip(),
                tuple(grader.evaluation_params),
                model="",
                scale=grader.scale_asked,
            )
            self._seen.add((recipe, assertion.model))

    def known(self, *, judge: ModelSpec | None, agent: ModelSpec | None) -> dict[str, list[str]]:
        """Give the steps that exist, by key; `agent` is the model of the agent that is tested."""
        keys = []
        for recipe, own in self._seen:
            model = judge if own is None else own if isinstance(own, ModelSpec) else agent
            keys.append(replace(recipe, model=str(model)).key)
        keys.sort()
        found: dict[str, list[str]] = {}
        for begin in range(0, len(keys), AT_ONCE):
            found |= EvaluationSteps.objects.current(keys[begin : begin + AT_ONCE])
        return found


def keep_steps(recipe: Recipe, proposal: Sequence[str] | None) -> Sequence[str] | None:
    """Keep steps that a judge wrote unless there are some; give those that count."""
    return EvaluationSteps.objects.keep(recipe, storable(proposal))
