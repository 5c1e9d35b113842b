"""The page of a decision: what it says, that it is safe, and what it leaves out."""

import re
from dataclasses import replace
from typing import Any

import pytest
from lxml import html

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import CaseOutcome, CasePair
from evals_app.engine.verdicts.release_check import ReasonKind, ReleaseCheck, ReleaseReason
from evals_app.formats.snapshots.key_differences import KeyDifference
from evals_app.formats.snapshots.snapshot_differences import PartDifferences, SnapshotPart
from evals_app.reports.answers.comparison import MatrixRow
from evals_app.reports.renderers.decision_html import decision_page
from evals_app.reports.renderers.decision_replies import MAX_REPLY
from evals_app.reports.renderers.sent_decision import (
    SentCase,
    SentCases,
    SentChanges,
    SentDecision,
    SentRun,
    SentSide,
)
from tests.reports.makers import a_grade, an_execution, details

BEFORE = "Yes. You can return it within 14 days of delivery."
NOW = "Yes. You can return it. See our returns page."


def an_outcome(name: str = "Return", *, passed: int = 0, failed: int = 0) -> CaseOutcome:
    verdict = Verdict.FAILED if failed else Verdict.PASSED
    return CaseOutcome(name, "digest", verdict, passed, failed, 0, None)


def a_conversation(*replies: str, **changes: Any) -> dict[str, Any]:
    """Return a conversation with a turn for each reply."""
    messages = [
        {"role": role, "content": text, "reasoning": None, "turn": turn}
        for turn, reply in enumerate(replies, 1)
        for role, text in (("user", f"Question {turn}?"), ("assistant", reply))
    ]
    return details(
        an_execution(),
        **{
            "messages": messages,
            "tool_calls": [],
            "turns": [{"turn": turn, "error": None} for turn in range(1, len(replies) + 1)],
        }
        | changes,
    )


def a_sent_case(
    base: dict[str, Any] | None, head: dict[str, Any] | None, *, name: str = "Return"
) -> SentCase:
    return SentCase(
        name,
        ReasonKind.REALLY_WORSE,
        SentSide(an_outcome(name, passed=3), base),
        SentSide(an_outcome(name, failed=3), head),
    )


def a_sent_run(number: int, **changes: Any) -> SentRun:
    usual = {"agent": "Shop agent", "model": "acme/one", "judge": "acme/judge", "url": ""}
    return SentRun(number=number, finished_at="2026-05-01T09:30:00+00:00", **usual | changes)


def a_check() -> ReleaseCheck:
    pair = CasePair(an_outcome(passed=3), an_outcome(failed=3))
    worse = ReleaseReason(ReasonKind.REALLY_WORSE, 1, cases=(pair,))
    renamed = CasePair(an_outcome("Old", passed=3), an_outcome("New", passed=3))
    note = ReleaseReason(ReasonKind.RENAMED, 1, cases=(renamed,))
    return ReleaseCheck("no", (worse,), (note,), better=2)


def a_decision(*cases: SentCase, **changes: Any) -> SentDecision:
    given: dict[str, Any] = {
        "suite": "Refunds",
        "scale": "0-1",
        "check": a_check(),
        "written_at": "2026-05-02T10:00:00+00:00",
        "run": a_sent_run(15),
        "base": a_sent_run(14, role="released"),
        "changes": SentChanges(()),
        "cases": SentCases(cases or (a_sent_case(a_conversation(BEFORE), a_conversation(NOW)),)),
    }
    return SentDecision(**given | changes)


def page_of(*decisions: SentDecision) -> Any:
    return html.document_fromstring("".join(decision_page(decisions)))


def text_of(element: Any) -> str:
    return re.sub(r"\s+", " ", element.text_content()).strip()


def section(page: Any, title: str) -> Any:
    """Return the section whose title begins so."""
    (found,) = page.xpath(f"//section[h2[starts-with(., '{title}')]]")
    return found


def test_it_begins_with_the_answer_its_reason_and_its_notes() -> None:
    page = page_of(a_decision())

    assert text_of(page.xpath("//h1")[0]) == "No: 1 case is really worse, 2 better."
    assert page.xpath("//title/text()") == ["Refunds: No: 1 case is really worse, 2 better."]
    answer = text_of(page.find_class("answer")[0])
    assert "A retest found it: “Return”." in answer
    assert "“Old” is now “New”" in answer
    assert "Run 15, compared with run 14, released" in text_of(page.xpath("//header")[0])
    assert "2026-05-02 10:00:00 UTC" in text_of(page.xpath("//header")[0])


def test_it_needs_nothing_else() -> None:
    text = "".join(decision_page([a_decision(run=a_sent_run(15, url="https://host/15"))]))
    page = html.document_fromstring(text)

    assert not page.xpath("//link | //img | //iframe | //script | //object | //form")
    assert "url(" not in text
    assert "@import" not in text
    (policy,) = page.xpath("//meta[@http-equiv]/@content")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_words_that_only_one_reply_has_are_marked() -> None:
    case = page_of(a_decision()).find_class("case")[0]

    assert [text_of(mark) for mark in case.xpath(".//del")] == ["within 14 days of delivery"]
    assert [text_of(mark) for mark in case.xpath(".//ins")] == ["See our returns page."]
    assert [text_of(reply) for reply in case.find_class("reply")] == [BEFORE, NOW]
    assert text_of(case.find_class("asked")[0]) == "“Question 1?”"
    assert "Failed: Reply contains “refund”" in text_of(case.find_class("checks")[0])


HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x00"


def test_nothing_that_people_or_agents_wrote_becomes_markup() -> None:
    reply = a_conversation(
        HOSTILE,
        grades=[a_grade(name=HOSTILE, reason=HOSTILE)],
        tool_calls=[{"turn": 1, "message": 1, "name": HOSTILE}],
        turns=[{"turn": 1, "error": HOSTILE}],
    )
    told = {"reason": HOSTILE, "by": HOSTILE, "created_at": "2026-05-02T10:00:00+00:00"}
    value = KeyDifference("agent.name", HOSTILE, HOSTILE)
    sent = a_decision(
        a_sent_case(None, reply, name=HOSTILE),
        suite=HOSTILE,
        run=a_sent_run(15, agent=HOSTILE, model=HOSTILE, judge=HOSTILE, url=f"https://a/{HOSTILE}"),
        decision={"shipped": False, "answered": HOSTILE, **told},
        accepted=[{"case": HOSTILE, "until": None, "run": 15, **told}],
        changes=SentChanges(
            (PartDifferences(SnapshotPart.AGENT, (value,)),), prompts=(HOSTILE, "b")
        ),
        settlements=[a_settlement(case=HOSTILE, check=HOSTILE)],
    )

    text = "".join(decision_page([sent]))

    page = html.document_fromstring(text)
    assert not page.xpath("//script | //img | //*[@onerror]")
    assert len(page.xpath("//style")) == 1
    assert "<script" not in text
    assert "\x00" not in text


def a_settlement(**case: Any) -> dict[str, Any]:
    tested = {"base": {"passed": 6, "failed": 0}, "head": {"passed": 1, "failed": 5}}
    given = {"case": "Return", "check": None, "finding": "really_worse", "tested": tested}
    return {
        "base": 14,
        "head": 15,
        "summary": "1 case is really worse.",
        "why_stopped": None,
        "stand_in": None,
        "few": 0,
        "compared": 40,
        "hopeless": 0,
        "cases": [given | case],
    }


def test_a_retest_is_a_table() -> None:
    retest = section(page_of(a_decision(settlements=[a_settlement()])), "Retest")

    assert "1 case is really worse." in text_of(retest)
    cells = [text_of(cell) for cell in retest.xpath(".//tbody/tr/*")]
    assert cells == ["Return", "6 of 6 passed", "1 of 6 passed", "Really worse"]
    assert retest.xpath(".//td/@data-label")[:2] == ["Run 14, fresh trials", "Run 15, fresh trials"]


def test_who_decided_and_what_was_accepted_is_part_of_it() -> None:
    decision = {
        "shipped": False,
        "reason": "The window is missing.",
        "by": "Ana",
        "created_at": "2026-05-02T10:00:00+00:00",
        "answered": "Not yet: 1 case got worse.",
    }
    accepted = {"case": "Late", "reason": "Moved.", "by": "Bo", "run": 15, "until": "2026-12-31"}

    decided = section(page_of(a_decision(decision=decision, accepted=[accepted])), "Decided")

    assert list(decided.itertext()) == [
        "Decided: not shipped",
        "The window is missing.",
        "Ana, 2026-05-02 10:00:00\u00a0UTC",
        "The answer at that time: Not yet: 1 case got worse.",
        "Known failures that a person accepted",
        *("Late", ": “Moved.” (Bo, after run 15, until 2026-12-31)"),
    ]
    assert section(page_of(a_decision()), "Not decided yet") is not None


def test_what_was_changed_is_said_in_words_and_a_prompt_in_full() -> None:
    prompts = ("Answer in full sentences. Be kind.", "Answer in two short sentences. Be kind.")
    changes = (
        KeyDifference("agent.system_prompt", '"Answer …"', '"Answer …"'),
        KeyDifference("agent.tools[0].name", "", '"refund"'),
    )
    parts = (PartDifferences(SnapshotPart.AGENT, changes, more=2),)

    changed = section(page_of(a_decision(changes=SentChanges(parts, prompts))), "What was changed")

    assert [text_of(mark) for mark in changed.xpath(".//del")] == ["full"]
    assert [text_of(mark) for mark in changed.xpath(".//ins")] == ["two short", '"refund"']
    assert "tool 1, name added" in text_of(changed)
    assert "2 more values differ" in text_of(changed)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param(SentChanges(()), "settings are the same", id="nothing"),
        pytest.param(SentChanges(None), "is unknown", id="unknown"),
        pytest.param(
            SentChanges((PartDifferences(SnapshotPart.AGENT, (), 1),), shows_values=False),
            "1 value differs",
            id="counted",
        ),
        pytest.param(
            SentChanges((PartDifferences(SnapshotPart.JUDGE, (), 2),)),
            "not comparable",
            id="measured in another way",
        ),
        pytest.param(None, "Too large.", id="not compared"),
    ],
)
def test_what_is_not_known_of_changes_is_said(changes: SentChanges | None, words: str) -> None:
    sent = a_decision(changes=changes, why_not_compared="Too large.")

    assert words in text_of(section(page_of(sent), "What was changed"))


def test_a_long_reply_is_shortened_and_what_is_left_out_is_counted() -> None:
    same, old, new = "same " * 400, "old " * 500, "new " * 500

    case = page_of(
        a_decision(a_sent_case(a_conversation(same + old), a_conversation(same + new)))
    ).find_class("case")[0]

    before, now = (text_of(reply) for reply in case.find_class("reply"))
    assert "1,760 characters that both have" in before
    assert "more characters" in now
    assert max(len(before), len(now)) < MAX_REPLY + 200
    shown = sum(len(mark.text_content()) for mark in case.xpath(".//ins"))
    (left_out,) = re.findall(r"…([\d,]+) more characters…", now)
    assert shown + int(left_out.replace(",", "")) == len(new)


def test_turns_that_are_the_same_are_counted() -> None:
    base, head = a_conversation("A", BEFORE, "C"), a_conversation("A", NOW, "C")

    case = text_of(page_of(a_decision(a_sent_case(base, head))).find_class("case")[0])

    assert "Turn 2: “Question 2?”" in case
    assert "Question 1?" not in case
    assert "2 more turns not shown." in case


def test_what_an_agent_did_instead_of_replying_is_named() -> None:
    calls = [{"turn": 1, "message": 1, "name": "order.cancel"}]
    base = a_conversation("Shall I?")
    head = a_conversation("", tool_calls=calls, turns=[{"turn": 1, "error": "Timed out."}])

    case = text_of(page_of(a_decision(a_sent_case(base, head))).find_class("case")[0])

    assert "Called order.cancel" in case
    assert "Timed out." in case


def test_without_the_right_to_read_conversations_there_are_none() -> None:
    sent = a_decision(a_sent_case(None, None), shows_replies=False)

    cases = text_of(section(page_of(sent), "1 case that got worse or failed"))

    assert "Replies are left out" in cases
    assert "failed, 0 of 3 passed" in cases
    assert "removed" not in cases


def test_a_removed_transcript_is_named() -> None:
    gone = a_conversation(messages=None, tool_calls=None, turns=None)

    assert "was removed" in text_of(page_of(a_decision(a_sent_case(gone, gone))))


def test_of_one_conversation_that_is_left_nothing_is_marked() -> None:
    case = page_of(a_decision(a_sent_case(None, a_conversation(NOW)))).find_class("case")[0]

    assert "was removed" in text_of(case)
    assert [text_of(reply) for reply in case.find_class("reply")] == [NOW]
    assert not case.xpath(".//ins | .//del")


def test_results_in_a_file_are_named_by_it() -> None:
    page = page_of(a_decision(base=a_sent_run(14, name="run 3 of main.json")))

    assert "compared with run 3 of main.json" in text_of(page.xpath("//header")[0])
    assert "Run 3 of main.json: ended" in text_of(page.xpath("//footer")[0])


def test_more_cases_are_named_and_the_rest_is_counted() -> None:
    sent = a_decision()
    cases = replace(sent.cases, named=[f"Case {number}" for number in range(60)], unnamed=5)

    found = section(page_of(replace(sent, cases=cases)), "66 cases")

    assert "Case 39" in text_of(found)
    assert "Case 40" not in text_of(found)
    assert "and 25 more" in text_of(found)


def test_a_first_run_has_its_failed_cases_and_compares_nothing() -> None:
    head = SentSide(an_outcome(failed=1), a_conversation(NOW))
    failed = SentCase("Return", ReasonKind.CASES_FAILED, None, head)

    page = page_of(a_decision(failed, base=None, changes=None, numbers=[]))

    assert "with its reply" in text_of(section(page, "1 case that failed"))
    assert [text_of(reply) for reply in page.find_class("reply")] == [NOW]
    assert not page.xpath("//del | //ins | //h2[contains(., 'changed')]")


def test_numbers_of_both_runs_are_side_by_side() -> None:
    numbers = [MatrixRow("Cases passed", ("34 of 40", "33 of 40"))]

    table = section(page_of(a_decision(numbers=numbers)), "Numbers")

    assert [text_of(cell) for cell in table.xpath(".//tbody/tr/*")] == [
        *("Cases passed", "34 of 40", "33 of 40")
    ]


def test_a_suite_that_never_ran_has_an_answer_alone() -> None:
    check = ReleaseCheck("not_yet", (ReleaseReason(ReasonKind.NEVER_RUN),))
    sent = a_decision(check=check, run=None, base=None, changes=None, cases=SentCases())

    page = page_of(sent)

    assert text_of(page.xpath("//h1")[0]) == "Not yet: The suite has not been run as a whole."
    assert page.xpath("//h2/text()") == ["Not decided yet"]


def test_several_decisions_are_one_page() -> None:
    page = page_of(a_decision(), a_decision(suite="Orders"))

    assert [text_of(name) for name in page.xpath("//header//strong")] == ["Refunds", "Orders"]
    assert len(page.xpath("//h1")) == 2
