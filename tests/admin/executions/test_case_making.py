"""The pages that make a case of a conversation, and that add checks to the case that ran."""

import re
from typing import Any

import pytest
from django.test import Client, TestCase
from django.urls import reverse

from evals_app.engine.record.trial import Message
from evals_app.models import Agent, Case, Execution, Suite
from evals_app.runs.process.worker_loop import work
from tests.authored import a_case, client_who_may, write_suite
from tests.library.making.test_case_making import (
    ASKS_THE_SAME,
    FIND,
    found,
    run_of,
    trial_with_changes,
)
from tests.makers import make_execution, make_run
from tests.runs.suites import make_agent

pytestmark = pytest.mark.django_db


@pytest.fixture
def execution() -> Execution:
    suite = write_suite([a_case()])
    Agent.objects.update(tools=["entity.query", FIND])
    return run_of(suite, found("RF-1"), found("RF-2"))[0]


def page_of(execution: Execution) -> str:
    return reverse("admin:evals_app_execution_case", args=[execution.pk])


def ticked(html: str) -> list[str]:
    return re.findall(r'name="keep" value="([\w-]+)"[^>]* checked', html)


def form_of(execution: Execution, **changes: Any) -> dict[str, Any]:
    suite: Any = execution.run.suite
    return {"name": "Again", "suite": suite.pk, "keep": [], **changes}


def test_the_page_ticks_what_other_trials_did_too(
    admin_client: Client, execution: Execution
) -> None:
    html = admin_client.get(page_of(execution)).content.decode()

    assert ticked(html) == ["turn-1-call-1", "turn-1-call-1-1", "turn-1-phrase-1"]
    assert "differs between trials" in html
    assert "1 other passed trial" in " ".join(html.split())


def test_what_is_ticked_becomes_the_case_and_its_editor_opens(
    admin_client: Client, execution: Execution
) -> None:
    keep = ["turn-1-call-1", "turn-1-expected", "limit-max_tool_calls"]

    answer = admin_client.post(page_of(execution), form_of(execution, keep=keep))

    case = Case.objects.get(name="Again")
    assert answer.headers["Location"] == reverse("admin:evals_app_case_change", args=[case.pk])
    spec = case.to_spec()
    assert [check.type for check in spec.turns[0].assertions or []] == ["tool_called"]
    assert spec.turns[0].expected == found("RF-1").turns[0].reply
    assert spec.limits.max_tool_calls == 1
    assert admin_client.get(answer.headers["Location"]).status_code == 200


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"name": ""}, "required", id="no name"),
        pytest.param({"name": "Where is it"}, "already has", id="a name that is taken"),
        pytest.param({"suite": "999"}, "not one of", id="no such suite"),
    ],
)
def test_what_does_not_fit_comes_back_as_it_was_ticked(
    admin_client: Client, execution: Execution, changes: dict[str, Any], says: str
) -> None:
    sent = form_of(execution, keep=["turn-1-phrase-1"], **changes)

    html = admin_client.post(page_of(execution), sent).content.decode()

    assert says in html
    assert ticked(html) == ["turn-1-phrase-1"]
    assert Case.objects.count() == 1


def test_tools_answer_as_recorded_if_wished(admin_client: Client, execution: Execution) -> None:
    html = admin_client.get(page_of(execution)).content.decode()

    admin_client.post(
        page_of(execution), form_of(execution, is_recorded="on", recorded_suite="new")
    )

    assert "orders.find answers as recorded" in html
    assert Case.objects.get(name="Again").suite.agent.slug == "shop-recorded"


def test_of_a_failed_conversation_nothing_is_ticked(admin_client: Client) -> None:
    (execution,) = run_of(write_suite([a_case()]), found("RF-1"), state="failed")

    html = admin_client.get(page_of(execution)).content.decode()

    admin_client.post(page_of(execution), form_of(execution, keep=ticked(html)))

    assert "did not pass" in html
    assert list(Case.objects.get(name="Again").to_spec().assertions()) == []


def test_the_button_is_there_for_conversations_that_ended(admin_client: Client) -> None:
    run = make_run(["passed", "cancelled", "queued"], suite=write_suite([a_case()]))

    shown = {
        row.status: page_of(row)
        in admin_client.get(
            reverse("admin:evals_app_execution_change", args=[row.pk])
        ).content.decode()
        for row in run.executions.all()
    }
    answers = {
        row.status: admin_client.get(page_of(row)).status_code for row in run.executions.all()
    }

    assert shown == {"finished": True, "cancelled": False, "queued": False}
    assert answers == {"finished": 200, "cancelled": 404, "queued": 404}


def test_a_new_suite_and_a_copy_take_rights_of_their_own(execution: Execution) -> None:
    client = client_who_may("view_execution", "add_case")

    html = client.get(page_of(execution)).content.decode()
    refused = client.post(page_of(execution), form_of(execution, suite="new"))
    made = client.post(page_of(execution), form_of(execution, is_recorded="on"))

    assert 'value="new"' not in html
    assert "is_recorded" not in html
    assert refused.status_code == 200
    assert made.headers["Location"].endswith(f"/execution/{execution.pk}/change/")
    assert (Case.objects.get(name="Again").suite, Suite.objects.count()) == (execution.run.suite, 1)


def test_earlier_messages_become_turns_if_wished(admin_client: Client) -> None:
    history = (Message("user", "Hi"), Message("assistant", "Hello."))
    suite = write_suite([a_case()])
    (execution,) = run_of(suite, found("RF-1").but(history=history))

    admin_client.post(page_of(execution), form_of(execution, asks_again="on"))

    assert [turn.user for turn in Case.objects.get(name="Again").to_spec().turns] == [
        "Hi",
        "Where is my order A-1?",
    ]


def test_a_talk_can_become_a_case(admin_client: Client) -> None:
    agent = make_agent(rules=[{"reply": "It ships in 14 days."}])
    talk = reverse("admin:evals_app_agent_talk", args=[agent.pk])
    for message in ("Hello", "My order"):
        with TestCase.captureOnCommitCallbacks(execute=True):
            admin_client.post(talk, {"message": message})
        work()
    execution = Execution.objects.latest("pk")

    html = admin_client.get(talk).content.decode()
    page = admin_client.get(page_of(execution)).content.decode()
    admin_client.post(page_of(execution), {"name": "A talk", "suite": "new", "keep": ticked(page)})

    assert html.count(page_of(execution)) == 1
    spec = Case.objects.get(name="A talk").to_spec()
    assert [turn.user for turn in spec.turns] == ["Hello", "My order"]
    assert [len(turn.assertions or []) for turn in spec.turns] == [1, 1]


def test_text_of_the_agent_is_shown_and_not_obeyed(admin_client: Client) -> None:
    trial = found("<script>alert(1)</script>", **{"<b>": "<i>x</i>"})
    (execution,) = run_of(write_suite([a_case()]), trial)

    html = admin_client.get(page_of(execution)).content.decode()

    assert "<script>alert" not in html
    assert "<i>x" not in html
    assert "&lt;i&gt;x" in html


def test_a_conversation_that_was_removed_is_not_found(admin_client: Client) -> None:
    run = make_run([], suite=write_suite([a_case()]), total=0, not_run=0)
    execution = make_execution(run)
    execution.transcript.delete()

    assert admin_client.get(page_of(execution)).status_code == 404


# Checks for the case that ran

BUTTON = "Add checks to the case"
CREATE = ("entity.create", {"type": "order", "data": {"total": 5, "made": "2026-05-01T09:30:00Z"}})


@pytest.fixture
def changing() -> Execution:
    """Write an execution that changed the data."""
    return run_of(write_suite([a_case(turns=ASKS_THE_SAME)]), trial_with_changes(CREATE))[0]


def checks_of(execution: Execution) -> str:
    return reverse("admin:evals_app_execution_checks", args=[execution.pk])


def conversation(execution: Execution) -> str:
    return reverse("admin:evals_app_execution_change", args=[execution.pk])


def test_changes_of_the_data_are_ticked_and_added_to_the_case(
    admin_client: Client, changing: Execution
) -> None:
    html = admin_client.get(checks_of(changing)).content.decode()

    answer = admin_client.post(checks_of(changing), {"keep": ticked(html)})

    assert [key for key in ticked(html) if "-call-" not in key] == [
        *("created-1", "created-1-1", "nothing_else")
    ]
    assert "edited after this conversation" not in html
    case = Case.objects.get()
    assert answer.headers["Location"] == reverse("admin:evals_app_case_change", args=[case.pk])
    (check,) = case.to_spec().final_assertions
    assert check.grader.model_dump(exclude_defaults=True) == {
        "created": [{"type": "order", "data": {"total": 5}}],
        "nothing_else": True,
    }
    editor = admin_client.get(answer.headers["Location"]).content.decode()
    assert "were added to the case" in editor


@pytest.mark.parametrize(
    ("keep", "says"),
    [
        pytest.param([], "does not have yet", id="nothing"),
        pytest.param(["nothing_else"], "not selected", id="not all"),
    ],
)
def test_what_cannot_be_added_comes_back_as_it_was_ticked(
    admin_client: Client, changing: Execution, keep: list[str], says: str
) -> None:
    html = admin_client.post(checks_of(changing), {"keep": keep}).content.decode()

    assert says in html
    assert ticked(html) == keep
    assert not Case.objects.get().to_spec().final_assertions


def test_an_edit_since_is_mentioned(admin_client: Client, changing: Execution) -> None:
    Case.objects.update(description="Changed.")
    edited = admin_client.get(checks_of(changing)).content.decode()
    Case.objects.get().turns.update(user="Something else")
    asking_else = admin_client.get(checks_of(changing)).content.decode()

    assert "edited after this conversation" in edited
    assert "other messages now" not in edited
    assert "other messages now" in asking_else


def test_more_changes_than_boxes_lead_to_the_editor(admin_client: Client) -> None:
    calls = [("entity.create", {"type": "order", "data": {"total": n}}) for n in range(251)]
    (execution,) = run_of(write_suite([a_case()]), trial_with_changes(*calls))

    html = admin_client.get(checks_of(execution)).content.decode()

    assert "No check can be made of these changes" in html


def test_checks_can_be_added_to_a_case_that_is_still_there(
    admin_client: Client, changing: Execution
) -> None:
    live = reverse("admin:evals_app_execution_live", args=[changing.pk])
    pages = [admin_client.get(url).content.decode() for url in (conversation(changing), live)]
    (failing,) = run_of(Suite.objects.get(), trial_with_changes(CREATE), state="failed")
    failed = admin_client.get(conversation(failing)).content.decode()
    Case.objects.all().delete()
    gone = admin_client.get(conversation(changing)).content.decode()

    assert all(BUTTON in html and "World changes" in html for html in pages)
    assert BUTTON not in failed
    assert BUTTON not in gone
    assert admin_client.get(checks_of(changing)).status_code == 404
