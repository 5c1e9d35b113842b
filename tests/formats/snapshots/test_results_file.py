"""The JSON of runs, read back."""

import json
from typing import Any

import pytest

from evals_app.formats.snapshots.results_file import (
    CannotReadResultsError,
    NumbersInFile,
    read_results,
)


def a_case(**changes: Any) -> dict[str, Any]:
    case = {"name": "A", "verdict": "passed", "trials": 1, "passed": 1, "failed": 0, "errored": 0}
    return case | {"pass_rate": 1.0, "score": None} | changes


def a_run(**changes: Any) -> dict[str, Any]:
    run: dict[str, Any] = {"id": 12, "suite": "refunds", "agent": "shop", "model": None}
    run |= {"judge": None, "is_whole": True, "is_scripted": True, "status": "finished"}
    run |= dict.fromkeys(NumbersInFile.model_fields) | {"score": None}
    run |= {"verdict": "passed", "finished_at": "2026-11-27T20:00:00+00:00", "cases": [a_case()]}
    return run | changes


def document(*runs: dict[str, Any]) -> bytes:
    reports: list[dict[str, Any]] = [{"run": run, "executions": []} for run in runs]
    return json.dumps(reports[0] if len(reports) == 1 else {"runs": reports}).encode()


def test_one_run_is_read_and_several() -> None:
    one = read_results("results.json", document(a_run()))
    several = read_results("results.json", document(a_run(), a_run(id=13, suite="other")))

    assert [run.id for run in one.runs] == [12]
    assert several.run_of("other").id == 13


def test_the_last_whole_run_of_a_suite_counts() -> None:
    runs = [a_run(), a_run(id=13), a_run(id=14, is_whole=False), a_run(id=15, status="cancelled")]

    assert read_results("results.json", document(*runs)).run_of("refunds").id == 13


def test_files_of_older_versions_lack_the_content_of_cases() -> None:
    case = (read_results("r.json", document(a_run())).run_of("refunds").cases or [])[0]

    assert (case.digest, case.checks, case.turn_ms) == (None, None, [])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"PK\x03", "is not JSON", id="a workbook"),
        pytest.param(b"[]", "has no runs", id="a list"),
        pytest.param(b'{"runs": 3}', "has no runs", id="a number"),
        pytest.param(b'{"schema_version": 1, "suites": []}', "has no runs", id="another document"),
        pytest.param(document({"id": 1}), "Field required", id="a run without keys"),
        pytest.param(
            document(a_run(cases=[a_case(passed=-1)])), "cases.0.passed", id="a wrong case"
        ),
    ],
)
def test_anything_else_is_refused_with_what_writes_such_files(content: bytes, words: str) -> None:
    with pytest.raises(CannotReadResultsError, match="run_evals --output") as refused:
        read_results("results.json", content)

    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        pytest.param(a_run(suite="other"), "It has: other.", id="other suite"),
        pytest.param(a_run(is_whole=False), "no full run of suite refunds", id="a part"),
        pytest.param(a_run(cases=None), "no full run", id="no results"),
    ],
)
def test_a_file_without_a_whole_run_of_the_suite_is_refused(
    run: dict[str, Any], words: str
) -> None:
    with pytest.raises(CannotReadResultsError, match=r"results\.json") as refused:
        read_results("results.json", document(run)).run_of("refunds")

    assert words in str(refused.value)
