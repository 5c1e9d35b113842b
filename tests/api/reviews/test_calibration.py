"""Judges compared with people over REST."""

from typing import Any

import pytest

from evals_app.reports.answers.agreement_answers import YardstickDetails, YardstickRow
from tests.api.clients import make_client
from tests.labels import forty_labels, graded_again, label, make_yardstick
from tests.makers import make_run

pytestmark = pytest.mark.django_db

ADDRESS = "/api/yardsticks/"


def listed(**query: str) -> list[dict[str, Any]]:
    answer = make_client("read").get(ADDRESS, query)
    assert answer.status_code == 200, answer.content
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def test_the_list_has_agreement_beside_that_of_the_commoner_verdict() -> None:
    compared = make_yardstick("Is polite")
    make_yardstick("Is short")
    forty_labels(compared)

    new, old = listed()

    assert old.keys() == set(YardstickRow.KEYS)
    assert (old["criterion"], old["labels"]) == ("Is polite", 40)
    assert old["agreement"] == {
        "count": 34,
        "total": 40,
        "share": 0.85,
        "interval": pytest.approx([0.7093, 0.9294], abs=5e-5),
    }
    assert old["commoner"]["share"] == 0.75
    assert (new["labels"], new["agreement"]["share"]) == (0, None)


def test_the_list_is_filtered_by_judge_and_by_suite() -> None:
    compared = make_yardstick("Is polite")
    make_yardstick("Is short", judge="openai/small")
    label(compared, person=True, run=make_run(suite_slug="shop"))

    assert [row["criterion"] for row in listed(judge="openai/small")] == ["Is short"]
    assert [row["criterion"] for row in listed(suite="shop")] == ["Is polite"]
    assert listed(suite="other") == []


def test_the_calibration_has_the_numbers_worked_out_by_hand() -> None:
    yardstick = make_yardstick("Is polite")
    forty_labels(yardstick)

    found = make_client("read").get(f"{ADDRESS}{yardstick.digest}/").json()

    assert found.keys() == set(YardstickDetails.KEYS)
    assert found["table"] == {
        "both_passed": 28,
        "only_judge_passed": 4,
        "only_people_passed": 2,
        "both_failed": 6,
    }
    assert found["kappa"]["value"] == pytest.approx(4 / 7)
    assert (found["passes_noticed"]["count"], found["failures_noticed"]["count"]) == (28, 6)
    assert len(found["disagreements"]) == 6
    assert found["disagreements"][0].keys() == {"execution", "case", "person", "judge"}


def test_the_calibration_lists_other_versions() -> None:
    first, second = make_yardstick("Is polite"), make_yardstick("Is very polite", scale="1-5")
    graded_again(label(first, person=True), second, judge=True, run=make_run())

    found = make_client("read").get(f"{ADDRESS}{second.digest}/").json()

    assert [version["criterion"] for version in found["versions"]] == ["Is polite"]
    assert found["on_scale"] is None
    assert found["kappa"] is None


def test_an_unknown_digest_is_not_found() -> None:
    assert make_client("read").get(f"{ADDRESS}{'0' * 32}/").status_code == 404
