from typing import Any

import pytest

from evals_app.admin.importing.import_changes import (
    MAX_DIFFERENCES,
    ObjectPreview,
    count_by_kind,
)
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.snapshots.key_differences import KeyDifference
from evals_app.library.changes.import_report import ObjectChange


def shown(*differences: KeyDifference) -> ObjectPreview:
    return ObjectPreview(ObjectChange("suite", "a", "updated", differences))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param('"a"', '"b"', ('"a"', '"b"', ""), id="another value"),
        pytest.param("", "3", ("", "3", "added"), id="a value comes"),
        pytest.param('"(x)"', "", ('"(x)"', "", "removed"), id="a value goes"),
        pytest.param("", "(2 keys)", ("", "", "added"), id="a part comes"),
        pytest.param("(1 entry)", "", ("", "", "removed"), id="a part goes"),
    ],
)
def test_what_comes_or_goes_as_a_whole_shows_no_value(
    before: str, after: str, expected: tuple[str, str, str]
) -> None:
    (place,) = shown(KeyDifference("trials", before, after)).places

    assert (place.before, place.after, place.word) == expected


def test_of_very_many_differences_some_are_shown_and_the_rest_is_counted() -> None:
    written = shown(*[KeyDifference(f"cases[{n}].tags", "", "(1 entry)") for n in range(20_000)])

    assert len(written.places) + len(written.folded) == MAX_DIFFERENCES
    assert (written.all_folded, written.more_places) == ("19,995", "19,800")


def suite(count: int, **turn: Any) -> ObjectPreview:
    cases = [{"name": f"Case {n}", "turns": [{"user": "Hi", **turn}]} for n in range(count)]
    checks = [{"type": "contains"}, {"type": "matches", "value": "l+"}]
    data = {"suite": "A", "slug": "a", "agent": "echo", "assertions": checks, "cases": cases}
    return ObjectPreview(
        ObjectChange("suite", "a", "created", suite=SuiteSpec.model_validate(data))
    )


def test_a_new_suite_shows_its_first_cases_and_counts_the_rest() -> None:
    written = suite(10_000)

    assert (written.size, written.agent) == ("10,000 cases", "echo")
    assert [case.name for case in written.cases] == ["Case 0", "Case 1", "Case 2"]
    assert written.more_cases == "9,997"


@pytest.mark.parametrize(
    ("turn", "expected", "checks"),
    [
        pytest.param({"expected": "Hello"}, "Hello", 2, id="an expected answer"),
        pytest.param({}, "", 1, id="none, so nothing is compared with it"),
        pytest.param({"assertions": [{"type": "contains", "value": "x"}]}, "", 1, id="its own"),
        pytest.param({"expected": "x" * 1000}, "x" * 199 + "…", 2, id="a long one"),
    ],
)
def test_a_case_shows_what_is_checked(turn: dict[str, Any], expected: str, checks: int) -> None:
    case = suite(1, **turn).cases[0]

    assert case.expected == expected
    assert len(case.checks.split("; ")) == checks


def test_objects_are_counted_by_kind_suites_first() -> None:
    kinds = ["agent", "suite", "entity type", "entity type", "suite"]

    assert count_by_kind(ObjectChange(kind, "a", "created") for kind in kinds) == (  # type: ignore[arg-type]
        "2 suites, 1 agent and 2 entity types"
    )
