"""What a run says of itself from its beginning."""

from typing import Any

import pytest
from django.test import TestCase

from evals_app.models import Run, Suite
from evals_app.runs import CannotStartError, start_run
from evals_app.runs.rerun import rerun
from evals_app.runs.shift import work
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db

KIND: dict[str, Any] = {"type": "llm_judge", "options": {"criteria": "Is kind"}}
JURY = {"criteria": "Is kind", "jury": ["scripted/mild", "scripted/harsh", "scripted/fair"]}


@pytest.mark.parametrize(
    ("checks", "judge"),
    [
        pytest.param([], "", id="nobody"),
        pytest.param([KIND], "scripted/strict", id="the judge of the run"),
        pytest.param(
            [KIND | {"options": JURY}],
            "scripted/fair, scripted/harsh, scripted/mild",
            id="nobody but a jury",
        ),
        pytest.param(
            [KIND, KIND | {"model": "scripted/mild"}, KIND | {"options": JURY}],
            "scripted/strict, scripted/fair, scripted/harsh, scripted/mild",
            id="all kinds: the judge of the run first",
        ),
        pytest.param([KIND, KIND | {"model": "scripted/strict"}], "scripted/strict", id="one"),
    ],
)
def test_a_run_names_all_who_judge(checks: list[dict[str, Any]], judge: str) -> None:
    for slug in ("strict", "mild", "harsh", "fair"):
        make_agent(slug)
    suite = make_suite(["bye"], judge_model="scripted/strict")
    for position, check in enumerate(checks):
        suite.default_assertions.create(position=position, **check)
    with TestCase.captureOnCommitCallbacks(execute=True):
        run = start_run(suite)
        work()
        again = rerun(run, only="all")

    assert run.judge == judge
    assert again.judge == judge


@pytest.mark.django_db
def test_an_archived_suite_is_not_run_even_by_who_loaded_it_before() -> None:
    suite = make_suite()
    Suite.objects.archive()

    with pytest.raises(CannotStartError, match="Suite greetings is archived"):
        start_run(suite)

    assert not Run.objects.exists()


@pytest.mark.django_db
def test_a_run_of_a_suite_that_was_archived_since_can_be_held_again() -> None:
    first = start_run(make_suite())
    Suite.objects.archive()

    assert rerun(first, only="all").total == first.total
