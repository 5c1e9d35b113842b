from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from lxml import html

from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Cause, Message, ToolCall
from evals_app.engine.record.usage import Usage
from evals_app.models import Case, Execution, Review, Run, Transcript
from tests.authored import client_who_may
from tests.makers import failed_trial, make_execution, make_grade, make_run, make_suite, make_trial

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/execution/"


def page_of(execution: Execution) -> str:
    return reverse("admin:evals_app_execution_change", args=[execution.pk])


def read(client: Client, execution: Execution) -> str:
    return client.get(page_of(execution)).content.decode()


# The list


def test_of_unknown_tokens_it_is_shown_how_many_are_known(admin_client: Client) -> None:
    trial = make_trial(turns=2)
    silent = replace(trial.turns[1], usage=Usage())
    trial = trial.but(turns=(trial.turns[0], silent))
    execution = make_execution(make_run(["passed"]), trial=trial, agent_prompt_tokens=None)

    text = read(admin_client, execution)

    assert "at least 120" in text


@pytest.mark.parametrize("judge", ["", "acme/judge"])
def test_numbers_that_say_nothing_are_left_out_or_named_as_unknown(
    admin_client: Client, judge: str
) -> None:
    execution = make_execution(make_run(["passed"], judge=judge), agent_cost_usd=None)

    context = admin_client.get(page_of(execution)).context

    names = {name for name, _ in context["numbers"]} | set(context["unknown_numbers"])
    assert ("Judge cost" in names) == bool(judge)
    assert "Cost" in context["unknown_numbers"]
    assert not context["limits"]  # none is set


def test_a_line_of_the_list_says_what_failed_or_has_the_known_numbers(
    admin_client: Client,
) -> None:
    run = make_run(["passed"], judge="acme/judge")
    known = {"score": 0.75, "judge_prompt_tokens": 1200, "judge_response_tokens": 34}
    run.executions.update(**known, time_ms=None, agent_prompt_tokens=None)
    reason = "No day is named. Score 0.20, needs 0.50."
    make_execution(run, "late", state="failed", cause="assertion", reason=reason)

    page = html.fromstring(admin_client.get(LIST).content)

    lines = page.xpath("//*[@id='result_list']//span[@class='ew-why']/text()")
    assert lines == ["No day is named.", "Score 0.75, judge tokens 1,234"]
    assert page.xpath("//*[@id='result_list']//i/@aria-label") == ["Failed", "Passed"]


@pytest.mark.parametrize(
    ("query", "cases"),
    [
        pytest.param("", ["crash", "case 2", "case 1"], id="all, newest first"),
        pytest.param("?verdict__exact=failed", ["crash", "case 2"], id="verdict"),
        pytest.param("?cause__exact=agent", ["crash"], id="cause"),
        pytest.param("?suite_slug=refunds", ["crash", "case 2", "case 1"], id="suite"),
        pytest.param("?suite_slug=other", [], id="another suite"),
        pytest.param("?q=CRA", ["crash"], id="part of the name"),
    ],
)
def test_the_list_is_filtered_and_searched(
    admin_client: Client, query: str, cases: list[str]
) -> None:
    make_suite("other")
    make_execution(make_run(["passed", "failed"]), "crash", state="failed", cause="agent")

    results = admin_client.get(LIST + query).context["cl"].result_list

    assert [row.case for row in results] == cases


def test_the_list_shows_one_run_to_who_comes_from_it(admin_client: Client) -> None:
    first, second = make_run(["passed"]), make_run(["passed", "passed"])

    results = admin_client.get(f"{LIST}?run={second.pk}").context["cl"].result_list

    assert {row.run_id for row in results} == {second.pk} != {first.pk}


BIG = "9" * 30


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"?run={BIG}", 200),
        ("?run=x", 200),
        ("?p=9", 200),
        (f"{BIG}/change/", 302),
        ("\u0661/change/", 302),
        (f"{BIG}/live/", 404),
        (f"{BIG}/judge/1/", 404),
        (f"1/judge/{BIG}/", 404),
        (f"{BIG}/checks/", 404),
    ],
)
def test_a_number_that_no_row_can_have_finds_none(
    admin_client: Client, path: str, status: int
) -> None:
    assert admin_client.get(LIST + path).status_code == status


# The page


def test_the_page_shows_what_was_said_and_done(admin_client: Client) -> None:
    call = ToolCall("order.get", {"id": "A-1"}, {"state": "sent"})
    trial = make_trial(
        user="Where is it?", reply="It was sent.", calls=[call], system_prompt="Be kind.",
        warnings=("A parameter is empty.",),
    )  # fmt: skip
    grade = make_grade(1, label="Says sent", reason="It says so.", threshold=0.5)
    execution = make_execution(make_run(["passed"]), trial=trial, grades=[grade])

    text = read(admin_client, execution)

    for expected in ("Where is it?", "It was sent.", "order.get", "&quot;state&quot;: &quot;sent"):
        assert expected in text
    for expected in ("Be kind.", "A parameter is empty.", "Says sent", "It says so."):
        assert expected in text


def test_what_the_agent_thought_is_beside_its_reply(admin_client: Client) -> None:
    trial = make_trial(reply="It was sent.")
    thinking = replace(trial.turns[0], messages=(Message.of_agent("<think>So?</think> Sent."),))
    execution = make_execution(make_run(["passed"]), trial=trial.but(turns=(thinking,)))

    page = html.fromstring(read(admin_client, execution))

    (reasoning,) = page.xpath("//details[contains(summary, 'Reasoning')]/p")
    assert reasoning.text == "So?"
    (bubble,) = page.xpath("//div[contains(@class, 'is-agent')]/p")
    assert bubble.text == "Sent."


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        pytest.param("It is <b>paid</b>.", "It is &lt;b&gt;paid&lt;/b&gt;.", id="text"),
        pytest.param("", "Empty reply", id="empty"),
    ],
)
def test_what_a_turn_expects_stands_beside_the_reply(
    admin_client: Client, expected: str, shown: str
) -> None:
    text = read(admin_client, make_execution(make_run(), trial=make_trial(expected=expected)))

    assert text.index("on its way") < text.index("<h4>Expected</h4>")
    assert shown in text
    assert "<h4>Expected</h4>" not in read(admin_client, make_execution(make_run()))


def test_words_that_only_the_reply_or_only_the_expected_answer_has_are_marked(
    admin_client: Client,
) -> None:
    trial = make_trial(reply="Your order is late.", expected="Your order is on its way.")

    page = html.fromstring(read(admin_client, make_execution(make_run(), trial=trial)))

    assert page.xpath("//div[@class='versus']//mark/text()") == ["late"]
    assert page.xpath("//div[@class='versus']//ins/text()") == ["on its way"]


def test_what_failed_comes_first_and_is_the_headline(admin_client: Client) -> None:
    grades = [
        make_grade(1, label="Is kind"),
        make_grade(1, label="Names the day", passed=False, reason="No day is named."),
        make_grade(None, family="limit", type="max_tool_calls", details={"limit": 2, "actual": 1}),
    ]
    reason = "No day is named. Score 0.00, needs 0.50."
    execution = make_execution(
        make_run(), state="failed", cause="assertion", reason=reason, grades=grades
    )

    context = admin_client.get(page_of(execution)).context

    assert context["headline"] == "No day is named."
    assert [line.grade.label for line in context["checks"].wrong] == ["Names the day"]
    assert len(context["checks"].rest) == 2
    assert context["checks"].in_short == "1 failed, 2 passed"


def test_a_limit_is_arithmetic_and_what_was_said_of_it_stays(admin_client: Client) -> None:
    limit = make_grade(
        None, family="limit", type="max_tool_calls", passed=False, details={"limit": 2, "actual": 3}
    )
    execution = make_execution(make_run(), state="failed", grades=[limit])
    grade = execution.grades.get()

    before = read(admin_client, execution)
    Review.objects.create(
        execution=execution, grade=grade, kind="comment", reason="It had to.", by_name="Ann"
    )
    after = read(admin_client, execution)

    assert f"people-{grade.pk}" not in before
    page = html.fromstring(after)
    (said,) = page.xpath(f"//*[@id='people-{grade.pk}']")
    assert "It had to." in said.text_content()
    assert not said.xpath(".//button[contains(@class, 'people-button')]")


@pytest.mark.parametrize("state", ["passed", "failed", "errored"])
def test_the_summary_has_the_verdict_of_the_whole(admin_client: Client, state: str) -> None:
    execution = make_execution(make_run(), state=state)

    (overall, *_) = admin_client.get(page_of(execution)).context["summary"]

    assert overall[0] == "Overall"
    assert overall[2] == state.capitalize()


@pytest.mark.parametrize(
    ("statuses", "word"),
    [
        pytest.param(["ok"], "Failed", id="exceeded"),
        pytest.param(["ungraded"], "Ungraded", id="unknown"),
        pytest.param(["error"], "Check error", id="broken"),
        pytest.param(["ungraded", "ok"], "Failed", id="one of them exceeded"),
    ],
)
def test_what_could_not_be_graded_has_the_same_word_in_every_box(
    admin_client: Client, statuses: list[str], word: str
) -> None:
    limit: dict[str, Any] = {
        "family": "limit",
        "type": "max_response_tokens",
        "score": None,
        "details": {},
    }
    grades = [
        make_grade(None, **limit, status=status, passed=False if status == "ok" else None)
        for status in statuses
    ]
    execution = make_execution(make_run(), state="failed", grades=grades)
    summary = execution.summary | {"response_tokens_passed": False}
    Execution.objects.filter(pk=execution.pk).update(summary=summary)

    context = admin_client.get(page_of(execution)).context

    words = {label: shown for label, _, shown in context["summary"]}
    assert words["Response tokens within the limit"] == word
    if len(statuses) == 1:
        assert context["limits"][0].sign.word == word


def test_an_empty_list_says_how_to_fill_it_or_leads_back_to_all(admin_client: Client) -> None:
    empty = admin_client.get(LIST).content.decode()
    make_run(["passed"])
    filtered = admin_client.get(f"{LIST}?verdict__exact=failed").content.decode()

    assert "No conversations yet" in empty
    assert "Open a suite and press Run." in empty
    assert "No results" in filtered
    assert "Show all conversations" in filtered


def test_untrusted_text_is_escaped_and_in_no_active_attribute(admin_client: Client) -> None:
    attack = "\"'><script>alert(1)</script>{{ x }}"
    call = ToolCall(attack, {attack: attack}, attack, attack)
    trial = make_trial(
        case=attack, user=attack, reply=attack, calls=[call], system_prompt=attack,
        warnings=(attack,), channel=attack, context_params={attack: attack},
    )  # fmt: skip
    quote = {"quote": attack, "turn": 1, "bears_on": attack, "is_verified": True}
    grade = make_grade(1, label=attack, reason=attack, evidence=[quote], details={attack: attack})
    execution = make_execution(
        make_run(["passed"], agent_name=attack), attack, state="failed", reason=attack, trial=trial,
        grades=[grade],
    )  # fmt: skip

    text = read(admin_client, execution)

    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert(1)") > 10
    active = [part for part in text.split("<") if " hx-" in part or " x-" in part]
    assert not [part for part in active if "alert" in part]


def test_an_agent_that_said_nothing_is_reported_with_the_cause(admin_client: Client) -> None:
    message = "The provider answered 529 five times."
    execution = make_execution(
        make_run(["passed"]), state="errored", cause="provider", reason=message,
        trial=failed_trial(message, cause=Cause.PROVIDER), grades=[make_grade(1, passed=None,
        status="ungraded", reason="Not graded.")],
    )  # fmt: skip

    text = read(admin_client, execution)

    assert "The agent did not reply." in text
    assert "provider was unavailable: <span" in text
    assert message in text
    assert "Turn 1 did not run" in text
    assert "Ungraded" in text


@pytest.mark.parametrize(
    ("state", "expected", "is_open"),
    [
        pytest.param("cancelled", "The run was cancelled during", False, id="cancelled"),
        pytest.param("not_run", "did not run", False, id="not run"),
        pytest.param("queued", "has not started yet", True, id="queued"),
        pytest.param("running", "", True, id="running"),
    ],
)
def test_what_was_not_finished_reads_well_and_asks_again_only_while_it_may_end(
    admin_client: Client, state: str, expected: str, *, is_open: bool
) -> None:
    execution = make_run(["passed", state]).executions.get(case="case 2")

    text = read(admin_client, execution)

    assert expected in " ".join(text.split())
    assert "The agent did not reply" not in text
    assert ('hx-trigger="every 2s"' in text) is is_open


def test_the_live_part_brings_the_result(admin_client: Client) -> None:
    execution = make_execution(make_run(["passed"]), trial=make_trial(reply="Here it is."))

    response = admin_client.get(reverse("admin:evals_app_execution_live", args=[execution.pk]))
    text = response.content.decode()

    assert "Here it is." in text
    assert "every 2s" not in text


# What the judge was asked


def test_the_judges_words_come_only_when_asked_for(admin_client: Client) -> None:
    call = JudgeCall("verdict", "scripted/mild", "PROMPT <b>", "ANSWER", is_scripted=True)
    grade = make_grade(1, family="judged", type="llm_judge", calls=[call.to_json()])
    execution = make_execution(make_run(["passed"]), grades=[grade])
    address = reverse("admin:evals_app_execution_judge", args=[execution.pk, grade.pk])

    page = read(admin_client, execution)
    text = admin_client.get(address).content.decode()
    other = make_execution(execution.run, "other")
    elsewhere = reverse("admin:evals_app_execution_judge", args=[other.pk, grade.pk])

    assert admin_client.get(elsewhere).status_code == 404
    assert address in page
    assert "PROMPT" not in page
    assert "PROMPT &lt;b&gt;" in text
    assert "ANSWER" in text
    assert "scripted/mild (scripted)" in text


# Ways to others


def neighbours(client: Client, execution: Execution) -> dict[str, str | None]:
    rows = client.get(page_of(execution)).context["neighbours"]
    return {key: str(row) if row else None for key, row in rows.items()}


def test_executions_of_a_run_lead_to_each_other(admin_client: Client) -> None:
    run = make_run({"a": ["passed", "passed"], "b": ["passed"], "c": ["errored"]})
    rows = list(run.executions.order_by("position", "trial"))

    assert [neighbours(admin_client, row) for row in rows] == [
        {"previous": None, "next": "a (trial 2)", "next_failure": "c"},
        {"previous": "a", "next": "b", "next_failure": "c"},
        {"previous": "a (trial 2)", "next": "c", "next_failure": "c"},
        {"previous": "b", "next": None, "next_failure": None},
    ]


def test_a_failure_says_which_of_its_run_it_is(admin_client: Client) -> None:
    other = make_run(["failed", "failed"])
    run = make_run({"a": ["failed", "passed", "failed"], "b": ["passed"], "c": ["errored"]})
    alone = make_run(["passed", "failed"])

    def places(run: Run) -> list[str]:
        rows = run.executions.order_by("position", "trial")
        return [admin_client.get(page_of(row)).context["failure_place"] for row in rows]

    assert places(run) == ["Failure 1 of 3", "", "Failure 2 of 3", "", "Failure 3 of 3"]
    assert places(other) == ["Failure 1 of 2", "Failure 2 of 2"]
    assert places(alone) == ["", ""]


def test_the_result_before_is_of_the_same_case_and_suite(admin_client: Client) -> None:
    earlier = make_run(["failed", "passed"])
    make_run(["passed"], suite=make_suite("other"))
    make_run(["passed"], is_tryout=True)
    make_run(["queued"])
    execution = make_run(["passed"]).executions.get()

    before = admin_client.get(page_of(execution)).context["previous_result"]

    assert before["pk"] == earlier.executions.get(case="case 1").pk
    assert before["sign"].word == "Failed"


def test_after_an_edit_the_result_before_is_the_one_that_a_person_came_from(
    admin_client: Client,
) -> None:
    make_run(["passed"])
    reason = "No day is named. Score 0.00."
    came_from = make_execution(
        make_run(is_tryout=True), "Old name", state="failed", cause="assertion", reason=reason
    )
    execution = make_run(["passed"], is_tryout=True).executions.get()

    context = admin_client.get(f"{page_of(execution)}?before={came_from.pk}").context
    other = admin_client.get(f"{page_of(execution)}?before=x").context

    before = context["previous_result"]
    assert (before["pk"], before["headline"]) == (came_from.pk, "No day is named.")
    assert before["label"] == "Before the edit"
    assert other["previous_result"]["sign"].word == "Passed"


def test_the_result_before_is_of_a_whole_run_and_names_another_agent_and_model(
    admin_client: Client,
) -> None:
    whole = make_run(["failed"], model="acme/large", similarity="fuzzy_match")
    make_run(["passed"], is_whole=False, suite_case_count=38)
    same = make_run(["passed"], model="acme/large", similarity="fuzzy_match", is_whole=False)
    edge = make_run(
        ["passed"], is_whole=False, agent_slug="edge", model="acme/small", similarity="embeddings x"
    )

    alike, different = (
        admin_client.get(page_of(run.executions.get())).context["previous_result"]
        for run in (same, edge)
    )

    assert (alike["run_id"], alike["differs"]) == (whole.pk, "")
    assert different["differs"] == "agent Shop agent, model acme/large, measured differently"


def test_the_case_is_linked_for_as_long_as_it_exists(admin_client: Client) -> None:
    suite = make_suite()
    execution = make_run(["passed"], suite=suite).executions.get()
    before = read(admin_client, execution)
    case = Case.objects.create(suite=suite, name="case 1")

    after = read(admin_client, execution)

    link = reverse("admin:evals_app_case_change", args=[case.pk])
    assert link in after
    assert link in read(client_who_may("view_execution", "change_case"), execution)
    assert "Edit the case" not in before


def test_a_run_outlives_its_suite(admin_client: Client) -> None:
    run = make_run(["failed"])
    Run.objects.update(suite=None)

    assert admin_client.get(page_of(run.executions.get())).status_code == 200
    assert admin_client.get(LIST).status_code == 200


def test_what_cannot_be_read_any_more_is_shown_above_its_grades(admin_client: Client) -> None:
    execution = make_execution(make_run(["passed"]), grades=[make_grade(1, reason="Kept.")])
    Transcript.objects.filter(pk=execution.pk).update(trial={"turns": "of another shape"})

    page = read(admin_client, execution)

    assert "another version of Evalwell" in page
    assert "The agent did not reply" not in page
    assert "Kept." in page
    assert admin_client.get(f"{LIST}{execution.pk}/checks/").status_code == 404


def test_a_removed_transcript_is_not_taken_for_silence(admin_client: Client) -> None:
    execution = make_execution(make_run(["passed"]))
    Transcript.objects.all().delete()
    Run.objects.update(pruned_at=timezone.now())

    text = read(admin_client, execution)

    assert "transcript was removed" in text
    assert "The agent did not reply" not in text
