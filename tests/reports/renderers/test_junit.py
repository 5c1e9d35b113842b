from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from evals_app.reports.renderers.junit import junit
from evals_app.reports.renderers.results import Results
from tests.reports.makers import a_case, a_run, an_execution, passed, results

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).with_name("junit.xsd")))


def tree(*runs: Results, root: str = "") -> Any:
    """Return a document that is valid by the schema."""
    document = etree.fromstring("".join(junit(runs, root=root)).encode())
    SCHEMA.assertValid(document)
    return document


def waits(**changes: Any) -> dict[str, Any]:
    return an_execution(
        **{"status": "queued", "verdict": None, "cause": None, "reason": None, "time_ms": None}
        | changes
    )


def errored(**changes: Any) -> dict[str, Any]:
    return an_execution(**{"verdict": "errored", "cause": "judge", "reason": "Silent."} | changes)


@pytest.mark.parametrize(
    ("case", "executions", "element"),
    [
        pytest.param({"verdict": "passed"}, [passed()], None, id="passed"),
        pytest.param({}, [an_execution()], "failure", id="failed"),
        pytest.param({"verdict": "errored"}, [errored()], "error", id="errored"),
        pytest.param({"verdict": None}, [waits()], "skipped", id="not run"),
        ({"verdict": "passed"}, [passed(), an_execution(trial=2)], None),
        ({"verdict": "passed"}, [passed(), errored(trial=2)], "error"),
        ({"verdict": "passed"}, [passed(), waits(trial=2)], "skipped"),
        ({"verdict": "passed"}, [passed(), waits(trial=2, status="skipped")], None),
    ],
)
def test_a_case_is_a_test_that_passes_only_if_nothing_is_wrong_or_missing(
    case: dict[str, Any], executions: list[dict[str, Any]], element: str | None
) -> None:
    (suite,) = tree(results(executions=executions, cases=[a_case(**case)]))
    (test,) = suite.findall("testcase")

    assert test.attrib["name"] == "Angry customer"
    assert [child.tag for child in test] == ([element] if element else [])
    counts = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    assert {name: suite.attrib[name] for name in counts.values()} == {
        name: str(int(kind == element)) for kind, name in counts.items()
    }


def test_the_text_of_a_failure_begins_with_its_place_because_no_schema_has_lines() -> None:
    run = a_run(source="/srv/evals/refunds.suite.yaml")
    one = results(run, [an_execution()], cases=[a_case()], lines={"Angry customer": 12})

    (failure,) = tree(one, root="/srv").iter("failure")
    (elsewhere,) = tree(one, root="/home").iter("failure")

    assert failure.text.startswith("evals/refunds.suite.yaml:12\nAngry customer: failed")
    assert elsewhere.text.startswith("Angry customer: failed")


def test_a_failure_has_the_reason_of_each_trial_its_judge_tokens_and_its_page() -> None:
    tokens = {"agent": {"prompt": 1, "response": 1}, "judge": {"prompt": 900, "response": 100}}
    rows = [
        an_execution(tokens=tokens, url="https://host/3"),
        an_execution(trial=2, cause="limit", reason="Too slow."),
    ]

    (failure,) = tree(results(executions=rows, cases=[a_case()])).iter("failure")

    assert failure.attrib["message"].startswith("2 ")
    assert failure.attrib["message"].endswith(": It does not say “refund”.")
    assert failure.attrib["type"] == "assertion"
    for part in ("1,000", "https://host/3", "(trial 2)", "limit", "Too slow."):
        assert part in failure.text


def test_a_gate_is_a_test_too_so_that_the_file_agrees_with_the_run() -> None:
    gate = {"name": "min_score", "limit": 0.9, "actual": 0.5, "passed": False, "reason": None}
    unknown = gate | {"name": "max_cost_usd", "actual": None, "passed": None, "reason": "No price."}

    (suite,) = tree(results(a_run(gates=[gate, unknown]), [passed()], cases=[a_case()]))

    gates = [test for test in suite.findall("testcase") if test.attrib["classname"] != "refunds"]
    assert [[child.tag for child in test] for test in gates] == [["failure"], ["error"]]
    assert "No price." in gates[1][0].attrib["message"]
    assert suite.attrib["tests"] == "3"


def test_several_runs_are_several_suites() -> None:
    document = tree(
        results(), results(a_run(id=8, suite="orders", started_at="2026-05-01T09:30:00+00:00"))
    )

    assert [suite.attrib["name"] for suite in document] == ["refunds", "orders"]
    assert [suite.attrib["id"] for suite in document] == ["0", "1"]
    assert document[1].attrib["timestamp"] == "2026-05-01T09:30:00"


def test_whatever_a_reply_contains_the_document_is_valid() -> None:
    hostile = "a\x00b\x1b[31m\ud800 ]]></failure> & <x> \"'\n\tend"
    row = an_execution(case=hostile, reason=hostile)

    (failure,) = tree(results(executions=[row], cases=[a_case(name=hostile)])).iter("failure")

    assert failure.attrib["message"] == hostile.replace("\x00", "\ufffd").replace(
        "\x1b", "\ufffd"
    ).replace("\ud800", "\ufffd")


def test_what_is_unknown_is_not_0_and_a_script_is_labelled() -> None:
    (suite,) = tree(results(a_run(is_scripted=True, score=None)))

    properties = {prop.attrib["name"]: prop.attrib["value"] for prop in suite.iter("property")}
    assert (properties["agent_tokens"], properties["cost_usd"], properties["score"]) == (
        "unknown",
        "unknown",
        "—",
    )
    assert properties["is_scripted"] == "true"
