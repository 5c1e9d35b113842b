import json
from typing import Any

import pytest

from evals_app.reports.renderers.gitlab import code_quality, section_end, section_start
from tests.reports.makers import a_run, an_execution, passed, results


def findings_of(*executions: dict[str, Any], **run: Any) -> list[dict[str, Any]]:
    text = "".join(code_quality([results(a_run(**run), executions)], root="/srv"))
    findings: list[dict[str, Any]] = json.loads(text)
    return findings


def test_each_failure_is_a_finding_with_what_gitlab_requires() -> None:
    (finding,) = findings_of(passed(), an_execution(), source="/srv/evals/refunds.suite.yaml")

    assert finding["location"] == {"path": "evals/refunds.suite.yaml", "lines": {"begin": 1}}
    assert finding["severity"] == "major"
    assert finding["check_name"] == "evalwell/assertion"
    assert "refund" in finding["description"]


@pytest.mark.parametrize(("folder", "line"), [("/srv", 12), ("/elsewhere", 1)])
def test_a_finding_in_the_repository_is_at_the_line_of_its_case(folder: str, line: int) -> None:
    run = a_run(source=f"{folder}/refunds.suite.yaml")
    one = results(run, [an_execution()], lines={"Angry customer": 12})

    (finding,) = json.loads("".join(code_quality([one], root="/srv")))

    assert finding["location"]["lines"] == {"begin": line}


def test_the_same_failure_has_the_same_fingerprint_in_the_next_run() -> None:
    one, other, trial = findings_of(
        an_execution(reason="This time so."),
        an_execution(reason="This time otherwise."),
        an_execution(trial=2),
    )

    assert one["fingerprint"] == other["fingerprint"] != trial["fingerprint"]


def test_nothing_wrong_is_an_empty_list() -> None:
    assert findings_of(passed()) == []


def test_without_a_file_in_the_repository_the_suite_is_the_place() -> None:
    (finding,) = findings_of(an_execution(), source="/elsewhere/refunds.suite.yaml")

    assert finding["location"]["path"] == "refunds"


def test_sections_of_a_log_begin_and_end_by_the_same_name() -> None:
    begins = section_start("run 7", "Refunds: Failed", at=5)

    assert begins == "\x1b[0Ksection_start:5:run_7[collapsed=true]\r\x1b[0KRefunds: Failed"
    assert section_end("run 7", at=9) == "\x1b[0Ksection_end:9:run_7\r\x1b[0K"
