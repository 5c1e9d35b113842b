"""The evaluation steps of a run: what it freezes of them, and what it keeps of those it needs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from evals_app.engine.judging import Recipe
from evals_app.engine.spec import ModelSpec
from evals_app.models import EvaluationSteps
from evals_app.runs.needs import Reference
from evals_app.runs.record import storable

AT_ONCE = 500  # stock SQLite takes 32,766 parameters


def known_steps(
    recipes: Iterable[tuple[Recipe, Reference | None]],
    *,
    judge: ModelSpec | None,
    agent: ModelSpec | None,
) -> dict[str, list[str]]:
    """Return the steps that exist, by key; `agent` is the model of the agent that is tested."""
    keys = []
    for recipe, own in recipes:
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
