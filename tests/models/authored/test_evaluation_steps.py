import pytest

from evals_app.engine.judging import Recipe
from evals_app.models import EvaluationSteps

pytestmark = pytest.mark.django_db
RECIPE = Recipe("Names the date", ("actual_output",), "local/judge-1")
OTHER = Recipe("Names the day", ("actual_output",), "local/judge-1")


def test_nothing_is_kept_before_the_first_proposal() -> None:
    assert EvaluationSteps.objects.keep(RECIPE, None) is None
    assert not EvaluationSteps.objects.exists()


def test_the_first_proposal_is_kept_with_what_it_was_written_from() -> None:
    kept = [EvaluationSteps.objects.keep(RECIPE, steps) for steps in (["One."], ["Two."], None)]

    row = EvaluationSteps.objects.get()
    assert kept == [["One."]] * 3
    assert (row.criteria, row.shown, row.model) == (
        "Names the date",
        ["actual_output"],
        RECIPE.model,
    )
    assert (row.key, row.prompt_version, row.edited_by) == (RECIPE.key, RECIPE.version, None)


def test_editing_changes_what_later_runs_freeze_and_not_what_was_written() -> None:
    EvaluationSteps.objects.keep(RECIPE, ["One."])
    EvaluationSteps.objects.keep(OTHER, ["Other."])
    EvaluationSteps.objects.filter(key=RECIPE.key).update(steps=["Edited."])

    assert EvaluationSteps.objects.current([RECIPE.key, "unknown"]) == {RECIPE.key: ["Edited."]}
    assert EvaluationSteps.objects.keep(RECIPE, None) == ["One."]
