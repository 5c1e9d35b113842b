"""The example below "Which number" is correct: its replies are graded as it claims."""

import re
from typing import Any

import pytest

from evals_app.admin.checks.options_form import SelectWithExample, fill_number, options_form_class
from evals_app.engine.graders.numbers import Numeric
from evals_app.engine.record.view import View
from evals_app.engine.specs.base_spec import mark_of
from tests.engine.makers import make_trial, make_turn

EXAMPLES: dict[str, Any] = mark_of(Numeric.model_fields["extract"], "reply_examples")


@pytest.mark.parametrize("extract", EXAMPLES)
@pytest.mark.parametrize("number", [14, 204, 60.94, -5, "0.5", "", "about 7", None])
def test_the_replies_pass_and_fail_as_they_should(extract: Any, number: Any) -> None:
    value = float(fill_number("{number}", number))
    grader = Numeric(value=value, extract=extract)

    verdicts = [
        grader.grade(View(make_trial(make_turn(fill_number(reply, number))))).passed
        for reply in EXAMPLES[extract]
    ]

    assert verdicts == [True, False]


def test_the_example_has_the_number_of_the_check() -> None:
    form = options_form_class("numeric")(initial={"value": 204, "extract": "any"})

    shown = str(form["extract"])

    assert isinstance(form.fields["extract"].widget, SelectWithExample)
    (example,) = re.findall(r"<p [^>]*data-examples[^>]*>([^<]*)</p>", shown)
    assert "Parcel 305 weighs 204 kg." in example
    assert re.search(
        r'aria-describedby="(\S+_example)".*<p class="ew-help" id="\1"', shown, re.DOTALL
    )
