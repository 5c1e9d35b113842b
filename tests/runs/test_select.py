"""Which cases are chosen."""

from typing import Any

import pytest

from evals_app.engine.suite import SuiteSpec
from evals_app.runs.select import Part

CASES = {"Refund flow": ["money", "slow"], "Asks first": ["money"], "Größe": [], "refund twice": []}


def make_suite(**changes: Any) -> SuiteSpec:
    cases = [
        {"name": name, "tags": tags, "turns": [{"user": "Hi"}]} for name, tags in CASES.items()
    ]
    written = {"suite": "S", "slug": "s", "agent": "a", "cases": cases}
    return SuiteSpec.model_validate(written | changes)


def names_of(part: Part, suite: SuiteSpec) -> list[str]:
    return [case.name for case in suite.cases if part.trials_of(case, suite)]


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        pytest.param({}, list(CASES), id="nothing asked: all"),
        pytest.param({"cases": ["refund"]}, ["Refund flow", "refund twice"], id="part of a name"),
        pytest.param({"cases": ["GRÖSSE"]}, ["Größe"], id="in whatever case"),
        pytest.param(
            {"cases": ["twice", "asks"]}, ["Asks first", "refund twice"], id="one of several parts"
        ),
        pytest.param({"cases": ["nothing"]}, [], id="no such name"),
        pytest.param({"tags": ["money"]}, ["Refund flow", "Asks first"], id="tag"),
        pytest.param({"tags": ["slow", "none"]}, ["Refund flow"], id="one of several tags"),
        pytest.param({"tags": ["mone"]}, [], id="a tag is whole"),
        pytest.param({"tags": ["Money"]}, [], id="and exact"),
        pytest.param(
            {"names": ["Refund flow", "Größe"]}, ["Refund flow", "Größe"], id="exact names"
        ),
        pytest.param({"names": ["refund flow"]}, [], id="names are exact"),
        pytest.param({"cases": ["refund"], "tags": ["money"]}, ["Refund flow"], id="name and tag"),
        pytest.param({"cases": ["asks"], "tags": ["slow"]}, [], id="both must fit"),
        pytest.param(
            {"names": ["Asks first"], "cases": ["refund"]}, [], id="names beside parts of names"
        ),
    ],
)
def test_what_is_asked_is_chosen_in_the_order_of_the_suite(
    asked: dict[str, Any], chosen: list[str]
) -> None:
    assert names_of(Part(**asked), make_suite()) == chosen


def test_every_case_has_its_suites_tags_too() -> None:
    suite = make_suite(tags=["nightly"])

    assert len(names_of(Part(tags=["nightly"]), suite)) == len(CASES)
    assert names_of(Part(tags=["slow"]), suite) == ["Refund flow"]


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

    assert Part(**asked).trials_of(suite.cases[0], suite) == trials
