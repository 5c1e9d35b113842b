"""Which cases are chosen."""

from typing import Any

import pytest

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.models import Case
from evals_app.runs.starting.select import RunPart, evenly
from tests.runs import suites

CASES = {"Refund flow": ["money", "slow"], "Asks first": ["money"], "Größe": [], "refund twice": []}


def make_suite(**changes: Any) -> SuiteSpec:
    cases = [
        {"name": name, "tags": tags, "turns": [{"user": "Hi"}]} for name, tags in CASES.items()
    ]
    written = {"suite": "S", "slug": "s", "agent": "a", "cases": cases}
    return SuiteSpec.model_validate(written | changes)


def names_of(part: RunPart, suite: SuiteSpec) -> list[str]:
    return [case.name for case in suite.cases if part.trials_of(case, suite)]


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        pytest.param({}, list(CASES), id="nothing asked: all"),
        pytest.param({"cases": ["refund"]}, ["Refund flow", "refund twice"], id="part of a name"),
        pytest.param({"cases": ["GRÖSSE"]}, ["Größe"], id="in whatever case"),
        ({"cases": ["twice", "asks"]}, ["Asks first", "refund twice"]),
        pytest.param({"cases": ["nothing"]}, [], id="no such name"),
        pytest.param({"tags": ["money"]}, ["Refund flow", "Asks first"], id="tag"),
        pytest.param({"tags": ["slow", "none"]}, ["Refund flow"], id="one of several tags"),
        pytest.param({"tags": ["mone"]}, [], id="a tag is whole"),
        pytest.param(
            {"tags": ["Money"]}, ["Refund flow", "Asks first"], id="in whatever case, too"
        ),
        ({"names": ["Refund flow", "Größe"]}, ["Refund flow", "Größe"]),
        pytest.param({"names": ["refund flow"]}, [], id="names are exact"),
        pytest.param({"cases": ["refund"], "tags": ["money"]}, ["Refund flow"], id="name and tag"),
        pytest.param({"cases": ["asks"], "tags": ["slow"]}, [], id="both must fit"),
        ({"names": ["Asks first"], "cases": ["refund"]}, []),
    ],
)
def test_what_is_asked_is_chosen_in_the_order_of_the_suite(
    asked: dict[str, Any], chosen: list[str]
) -> None:
    assert names_of(RunPart(**asked), make_suite()) == chosen


def test_every_case_has_its_suites_tags_too() -> None:
    suite = make_suite(tags=["nightly"])

    assert len(names_of(RunPart(tags=["nightly"]), suite)) == len(CASES)
    assert names_of(RunPart(tags=["slow"]), suite) == ["Refund flow"]


@pytest.mark.parametrize(
    ("asked", "trials"),
    [
        pytest.param({}, 3, id="as the suite says"),
        pytest.param({"trials": 5}, 5, id="as asked"),
        pytest.param({"trials": 5, "names": ["Größe"]}, 0, id="not chosen: never"),
    ],
)
def test_it_says_how_often_a_case_is_run(asked: dict[str, Any], trials: int) -> None:
    suite = make_suite(trials=3)

    assert RunPart(**asked).trials_of(suite.cases[0], suite) == trials


@pytest.mark.parametrize(
    ("most", "chosen"),
    [
        pytest.param(7, [0, 1, 2, 3, 4, 5], id="all"),
        pytest.param(6, [0, 1, 2, 3, 4, 5], id="just all"),
        pytest.param(3, [0, 2, 4], id="every second"),
        pytest.param(4, [0, 1, 3, 4], id="evenly"),
        pytest.param(1, [0], id="one"),
    ],
)
def test_some_rows_are_taken_evenly(most: int, chosen: list[int]) -> None:
    assert list(evenly(range(6), most=most)) == chosen


@pytest.mark.django_db
def test_a_sample_knows_its_share_of_the_chosen_executions() -> None:
    suite = suites.make_suite(cases=4)
    suite.cases.filter(name="case 1").update(trials=3)

    assert RunPart().sample(suite, most=4) is None
    assert RunPart(names=["nothing"]).sample(suite, most=3) == ([], 1.0)
    sample = RunPart().sample(suite, most=2)
    assert sample is not None
    assert [Case.objects.get(pk=key).name for key in sample.keys] == ["case 1", "case 3"]
    assert sample.share == 4 / 6
