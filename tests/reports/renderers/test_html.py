import base64
import hashlib
import re
from typing import Any

import pytest
from lxml import html

from evals_app.reports.renderers import html as html_report
from evals_app.reports.renderers.html import html_page
from evals_app.reports.renderers.results import Results
from evals_app.reports.words.markup import tag
from tests.reports.makers import a_case, a_grade, a_run, an_execution, passed, results

CUT_SHORT = {"total": 2, "passed": 1, "failed": 0, "errored": 0, "cancelled": 0, "not_run": 1}


def page_of(*runs: Results) -> Any:
    return html.document_fromstring("".join(html_page(runs)))


def names(page: Any) -> list[str]:
    return [row.text_content() for row in page.find_class("name")]


def test_a_page_asks_nobody_for_anything() -> None:
    text = "".join(html_page([results(executions=[an_execution(url="https://host/3")])]))
    page = html.document_fromstring(text)

    assert not page.xpath("//link | //img | //iframe | //script[@src] | //object | //form[@action]")
    assert "url(" not in text
    assert "@import" not in text
    policy = page.xpath("//meta[@http-equiv]/@content")[0]
    (script,) = page.xpath("//script/text()")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"'sha256-{digest}'" in policy


def test_what_went_wrong_comes_first_in_all_runs() -> None:
    one = results(executions=[passed(case="A"), an_execution(case="B", id=4)])
    other = results(a_run(id=8), [passed(case="C"), an_execution(case="D", id=6, trial=2)])

    page = page_of(one, other)

    assert names(page) == ["B", "D (trial 2)", "A", "C"]
    assert "Refunds, run 8" in page.find_class("execution")[1].text_content()
    assert [row.get("data-state") for row in page.find_class("execution")] == [
        *("failed", "failed", "passed", "passed")
    ]
    assert list(page.xpath("//form//input[@type='radio']/@value")) == [*("", "passed", "failed")]


def test_an_execution_has_its_conversation_calls_checks_and_evidence() -> None:
    quote = {"quote": "its way", "turn": 1, "is_verified": False}
    whole = results(
        executions=[an_execution()],
        grades=[a_grade(evidence=[quote])],
        world_changes={"created": [{"id": "order-7"}]},
        warnings=["Careful."],
    )

    text = page_of(whole).find_class("execution")[0].text_content()

    for part in (
        "Where is it?",
        "order.get",
        '"paid": 1',
        "ReasoningSent?",
        "On its way.",
        "Careful.",
        "order-7",
    ):
        assert part in text
    assert "“its way” (not found" in text
    assert "The reply does not contain “refund”." in text
    assert "Judge tokens0" in text


def test_a_conversation_that_was_cut_short_is_shown_without_a_verdict() -> None:
    unknown = dict.fromkeys(("verdict", "cause", "reason", "score"))
    rows = [
        an_execution(id=1, status="cancelled", **unknown),
        an_execution(id=2, status="queued", **unknown),
    ]

    cut, waits = page_of(results(executions=rows, grades=None)).find_class("execution")

    assert cut.get("data-state") == "cancelled"
    assert "On its way." in cut.text_content()
    assert waits.get("data-state") == "not_run"
    assert "On its way." not in waits.text_content()


def test_whatever_was_written_stays_text() -> None:
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\x00\" ' &amp;"
    call = {"turn": 1, "message": 0, "name": hostile, "args": {hostile: 1}, "result": hostile}
    whole = results(
        a_run(suite_name=hostile, agent_name=hostile, notes=[hostile]),
        [an_execution(case=hostile, reason=hostile)],
        messages=[{"role": "user", "content": hostile, "reasoning": hostile, "turn": 1}],
        tool_calls=[call | {"error": hostile, "duration_ms": 1.0}],
        grades=[a_grade(name=hostile, reason=hostile)],
    )

    page = page_of(whole)

    assert len(page.xpath("//script")) == 1
    assert not page.xpath("//img")
    assert not [name for name in page.xpath("//@*") if "onerror" in getattr(name, "attrname", "")]
    assert names(page)[0].startswith("</script><script>alert(1)")
    assert "\x00" not in html.tostring(page, encoding="unicode")


@pytest.mark.parametrize(
    ("limit", "value", "listed", "with_conversation"),
    [
        pytest.param("MAX_EXECUTIONS", 2, ["B", "A"], 2, id="executions"),
        pytest.param("MAX_CONVERSATIONS", 1, ["B", "A", "C"], 1, id="conversations"),
        pytest.param("MAX_EXECUTIONS", 3, ["B", "A", "C"], 3, id="all fit"),
    ],
)
def test_what_does_not_fit_is_left_out_and_named(
    limit: str,
    value: int,
    listed: list[str],
    with_conversation: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(html_report, limit, value)
    rows = [passed(case="A", id=1), an_execution(case="B", id=2), passed(case="C", id=3)]

    page = page_of(results(executions=rows))

    assert names(page) == listed
    inside = [row for row in page.find_class("execution") if "On its way." in row.text_content()]
    assert len(inside) == with_conversation
    left_out = [note.text_content() for note in page.find_class("note")]
    missing = 3 - min(len(listed), with_conversation)
    assert [re.findall(r"\d+", note)[0] for note in left_out] == ([str(missing)] if missing else [])


def test_cases_with_several_trials_have_their_rates() -> None:
    often = a_case(trials=3, passed=2, failed=1, verdict="passed", interval=[0.2, 0.9])

    one = page_of(results(executions=[passed()], cases=[a_case()]))
    several = page_of(results(executions=[passed()], cases=[a_case(name="Other"), often]))

    assert not one.xpath("//*[@aria-label='Cases']")
    rows = [row.text_content() for row in several.xpath("//*[@aria-label='Cases']//tbody/tr")]
    assert "0 of 1" in rows[0]
    assert "2 of 3" in rows[1]
    assert "20\N{NO-BREAK SPACE}% to 90\N{NO-BREAK SPACE}%" in rows[1]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        pytest.param({"is_scripted": True}, "Scripted", id="agent"),
        pytest.param({"judge": "scripted/mild"}, "script", id="judge"),
        pytest.param({"covers": "1 of 38 cases"}, "1 of 38 cases", id="part"),
        pytest.param({"stand_in_note": "Words were counted."}, "Words", id="similarity"),
        pytest.param({"notes": ["Read this."]}, "Read this.", id="note"),
        pytest.param({"stop_reason": "budget", "counts": CUT_SHORT}, "cost limit", id="stopped"),
    ],
)
def test_what_makes_a_verdict_mean_less_is_shown(changes: dict[str, Any], word: str) -> None:
    (note,) = page_of(results(a_run(**changes))).find_class("note")

    assert word in note.text_content()


def test_attributes_are_escaped_and_left_out_if_there_is_none() -> None:
    written = tag("a", "x", href='"><b>', title=None, hidden=True, data_state="y")

    assert written == '<a href="&quot;&gt;&lt;b&gt;" hidden data-state="y">x</a>'
