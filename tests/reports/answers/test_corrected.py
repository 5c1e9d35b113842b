"""What people read of the pass rate that they would find."""

import pytest

from evals_app.engine.statistics.agreement import Proportion
from evals_app.engine.statistics.corrected import CorrectedRate, LabelPlan, NotCorrected
from evals_app.reports.answers.corrected import corrected_in_words, plan_in_words

EIGHTY = Proportion(80, 100)


def test_the_corrected_rate_stands_beside_that_of_the_judge_with_its_range() -> None:
    found = CorrectedRate(0.77, (0.597, 0.854), 0.93, 0.65)

    words = corrected_in_words(found, EIGHTY, run=12).replace("\u00a0", " ")

    assert words == (
        "In run 12 the judge passed 80 of 100 answers (80 %); people would pass about 77 % (60 to 85 %)."
    )


@pytest.mark.parametrize("reason", [why for why in NotCorrected if why != "nothing_judged"])
def test_what_is_unknown_is_said_with_the_reason(reason: NotCorrected) -> None:
    words = corrected_in_words(reason, EIGHTY, run=12)

    assert "80 of 100" in words
    assert "unknown" in words


def test_nothing_is_said_of_a_run_that_is_not_counted() -> None:
    assert corrected_in_words(NotCorrected.NOTHING_JUDGED, Proportion(0, 0), run=12) == ""


@pytest.mark.parametrize(
    ("plan", "parts"),
    [
        (
            LabelPlan(5, 17, 0.22),
            ["22 more answers of run 3", "17 that the judge failed and 5", "22 points"],
        ),
        (LabelPlan(0, 1, 0.3), ["1 more answer of run 3: one that the judge failed"]),
        (LabelPlan(4, 0, 0.3), ["4 more answers of run 3: only ones that the judge passed"]),
        (LabelPlan(0, 0, 0.1), []),
    ],
)
def test_plans_say_how_many_of_which_answers(plan: LabelPlan, parts: list[str]) -> None:
    words = plan_in_words(plan, run=3)

    assert bool(words) is bool(parts)
    assert [part for part in parts if part not in words] == []
