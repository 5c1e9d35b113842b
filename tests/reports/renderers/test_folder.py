from typing import Any

import pytest

from evals_app.reports.renderers.folder import folder
from evals_app.reports.renderers.results import Results
from tests.reports.makers import a_case, a_grade, a_run, an_execution, passed, results

STARTED = "2026-05-01T09:30:00+00:00"


def files(*runs: Results) -> dict[str, str]:
    return {path: "".join(content) for path, content in folder(runs)}


def of_a_case(**changes: Any) -> str:
    """Return the file of a case with one conversation."""
    whole = results(a_run(started_at=STARTED), [an_execution()], cases=[a_case()], **changes)
    return next(text for path, text in files(whole).items() if "FAIL_" in path)


def test_a_run_is_a_folder_with_a_summary_and_a_file_for_each_case() -> None:
    waits = {"status": "queued", "verdict": None, "cause": None, "reason": None}
    rows = [
        passed(case="Hello"),
        an_execution(),
        an_execution(case="Silent", verdict="errored", cause="judge"),
        an_execution(case="Later", **waits),
    ]
    cases = [
        a_case(name="Hello", verdict="passed"),
        a_case(),
        a_case(name="Silent", verdict="errored"),
        a_case(name="Later", verdict=None),
    ]

    written = files(results(a_run(started_at=STARTED), rows, cases=cases))

    top = "2026-05-01T09-30-00-refunds-7".replace("T", "-")
    assert list(written) == [
        f"{top}/_summary.md",
        f"{top}/PASS_hello.md",
        f"{top}/FAIL_angry-customer.md",
        f"{top}/ERROR_silent.md",
        f"{top}/NOTRUN_later.md",
    ]
    assert "[Angry customer](<FAIL_angry-customer.md>)" in written[f"{top}/_summary.md"]


@pytest.mark.parametrize(
    ("names", "stems"),
    [
        pytest.param(["A b", "a B", "a-b"], ["a-b", "a-b-2", "a-b-3"], id="alike"),
        pytest.param(["../../etc/passwd"], ["etc-passwd"], id="a path"),
        pytest.param(["Grüße 你好"], ["grüße-你好"], id="other letters"),
        pytest.param(["?!", "CON"], ["case", "con"], id="no letters"),
        pytest.param(["x" * 200], ["x" * 80], id="long"),
    ],
)
def test_a_file_is_named_after_its_case_and_no_two_are_alike(
    names: list[str], stems: list[str]
) -> None:
    rows = [an_execution(case=name) for name in names]

    _, *written = files(results(a_run(started_at=STARTED), rows, cases=[a_case() for _ in rows]))

    assert [path.partition("/")[2] for path in written] == [f"FAIL_{stem}.md" for stem in stems]


def test_a_case_has_its_conversation_tool_calls_and_checks() -> None:
    quote = {"quote": "its way", "turn": 1, "is_verified": True}
    text = of_a_case(
        grades=[a_grade(evidence=[quote]), a_grade(turn=None, passed=None, score=None)],
        world_changes={"created": [], "deleted": [{"id": "order-7"}]},
    )

    places = [
        text.index(part)
        for part in (
            "# FAIL: Angry customer",
            "Where is it?",
            "order.get",
            '"paid": 1',
            "**Reasoning**\n\n> Sent?",
            "On its way",
        )
    ]
    assert places == sorted(places)
    assert "| Reply contains “refund” | 1 | ❌ failed | 0.00 |" in text
    assert "| Reply contains “refund” | all | informational | — |" in text
    assert "“its way”" in text
    assert "order-7" in text
    assert "| Judge tokens | 0 |" in text


def test_several_trials_are_in_the_file_of_their_case() -> None:
    rows = [passed(id=1), an_execution(id=2, trial=2)]

    written = files(results(a_run(started_at=STARTED), rows, cases=[a_case()]))

    (text,) = [text for path, text in written.items() if "FAIL_" in path]
    assert text.index("## Trial 1: ✅ passed") < text.index("## Trial 2: ❌ failed")


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        pytest.param({"messages": None, "tool_calls": None}, "removed", id="transcript removed"),
        pytest.param({"tool_calls": None}, "does not report", id="calls not reported"),
        pytest.param({"warnings": ["Careful."]}, "> Careful.", id="warning"),
        pytest.param({"turns": [{"turn": 1, "error": "Crashed."}]}, "> Crashed.", id="error"),
    ],
)
def test_what_is_unknown_or_went_wrong_is_said(changes: dict[str, Any], shown: str) -> None:
    assert shown in of_a_case(**changes)


def test_no_reply_becomes_markup() -> None:
    hostile = "<script>x</script>\n# Title\n| a | b |\n```\n[x](http://y.test)"
    call = {"turn": 1, "message": 0, "name": "t", "args": {}, "error": None, "duration_ms": 1.0}
    text = of_a_case(
        messages=[{"role": "assistant", "content": hostile, "reasoning": hostile, "turn": 1}],
        tool_calls=[call | {"result": "````\n# out\n````"}],
    )

    assert "<script>" not in text
    assert "\n# Title" not in text
    assert "> \\# Title" in text
    assert "\n`````\n````\n# out\n````\n`````\n" in text
