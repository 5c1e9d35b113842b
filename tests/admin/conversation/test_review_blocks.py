"""What a review may be about, without a database."""

from typing import Any

import pytest

from evals_app.admin.conversation.review_blocks import subject_of
from evals_app.models import GradeResult

SCALE = {"scale": "1-5", "raw": 2}
RUBRIC = {"scale": "rubric", "items": [{"id": 2, "text": "Is brief", "verdict": "fail"}]}


def grade(**columns: Any) -> GradeResult:
    usual = {"pk": 7, "label": "Is kind", "status": "ok", "passed": False, "score": 0.25}
    return GradeResult(**usual | columns)


@pytest.mark.parametrize(
    ("columns", "agree", "disagree", "can_be_right"),
    [
        pytest.param({}, "Right", "Wrong", True, id="a verdict"),
        ({"status": "ungraded", "passed": None, "score": None}, *("It passes", "It fails", True)),
        pytest.param({"passed": None}, "It passes", "It fails", False, id="only a number"),
        pytest.param(
            {"passed": None, "family": "judged", "details": SCALE},
            *("Right", "Wrong", True),
            id="a number on a scale of judges",
        ),
    ],
)
def test_buttons_say_what_they_mean(
    *, columns: dict[str, Any], agree: str, disagree: str, can_be_right: bool
) -> None:
    subject = subject_of(grade(**columns))

    assert subject is not None
    assert (subject.agree, subject.disagree, subject.can_be_right) == (
        *(agree, disagree, can_be_right),
    )


def test_a_review_is_about_a_grade_one_of_its_bullets_or_the_conversation() -> None:
    rubric = grade(family="judged", details=RUBRIC)

    subjects = [subject_of(rubric), subject_of(rubric, 2), subject_of(None)]

    assert [subject and subject.key for subject in subjects] == ["7", "7-2", "execution"]
    assert subject_of(rubric, 3) is None
