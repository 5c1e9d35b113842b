"""Stored checks without a scale keep their grades from 1 to 5."""

import importlib
import json
from typing import Any

import pytest
from django.apps import apps

from evals_app.engine.graders.judged import LlmJudge
from evals_app.formats.snapshot import canonical_case
from evals_app.models import Assertion, Case, Suite, Turn
from tests.makers import make_suite

pytestmark = pytest.mark.django_db

migration: Any = importlib.import_module("evals_app.migrations.0017_judges_say_pass_or_fail")


def make_turn(suite: Suite) -> Turn:
    case = Case.objects.create(suite=suite, name="One", position=0)
    return Turn.objects.create(case=case, position=0, user="Hello")


def judged(owner: dict[str, Any], **options: Any) -> Assertion:
    return Assertion.objects.create(
        type="llm_judge", options={"criteria": "Is kind"} | options, **owner
    )


def scale_of(row: Assertion) -> str:
    grader = Assertion.objects.get(pk=row.pk).to_spec().grader
    assert isinstance(grader, LlmJudge)
    return grader.scale


def test_a_check_without_a_scale_is_graded_as_before_wherever_it_stands() -> None:
    suite = make_suite()
    turn = make_turn(suite)
    rows = [judged(owner) for owner in ({"suite": suite}, {"case": turn.case}, {"turn": turn})]

    migration.name_grades(apps, None)

    assert [scale_of(row) for row in rows] == ["1-5"] * 3


@pytest.mark.parametrize("scale", ["pass_fail", "0-1", "1-5"])
def test_a_scale_that_was_chosen_stays(scale: str) -> None:
    row = judged({"suite": make_suite()}, scale=scale)

    migration.name_grades(apps, None)

    assert scale_of(row) == scale


def test_other_checks_stay_as_they_are() -> None:
    options = {"criteria": "- Is kind"}
    row = Assertion.objects.create(suite=make_suite(), type="rubric", options=options)

    migration.name_grades(apps, None)

    row.refresh_from_db()
    assert row.options == options


def test_nobody_is_taken_for_having_edited_an_imported_suite() -> None:
    judging, other = make_suite("judging"), make_suite("other")
    judged({"turn": make_turn(judging)})
    Suite.objects.update(imported_digest="0" * 64)

    migration.name_grades(apps, None)

    digests = dict(Suite.objects.values_list("slug", "imported_digest"))
    assert digests == {judging.slug: "", other.slug: "0" * 64}


def test_going_back_keeps_what_passes_and_fails() -> None:
    row = judged({"suite": make_suite()})

    migration.name_pass_or_fail(apps, None)

    row.refresh_from_db()
    assert row.options["scale"] == "pass_fail"


def test_a_snapshot_names_the_scale_even_where_it_is_the_usual_one() -> None:
    turn = make_turn(make_suite())
    judged({"turn": turn})

    content = json.loads(canonical_case(turn.case.to_spec()))

    assert content["turns"][0]["assertions"][0]["scale"] == "pass_fail"
