"""What is removed is nowhere in the database: a text is planted in every place, and looked for."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connection
from django.test import Client

from evals_app.library.baselines import set_baseline
from evals_app.models import (
    Activity,
    AgentCall,
    ApiToken,
    ConversationSet,
    Execution,
    GradeResult,
    ImportedConversation,
    PaidCalls,
    Profile,
    Review,
    ReviewedVerdict,
    Run,
    SavedView,
    Snapshot,
    Trace,
    TraceSpan,
    Transcript,
)
from evals_app.runs.forgetting.conversations import (
    CannotForgetError,
    forget_conversation,
    forget_conversations_of,
)
from evals_app.runs.forgetting.finding import find_text
from evals_app.runs.forgetting.overwriting import overwriting
from evals_app.runs.forgetting.people import forget_person
from evals_app.runs.forgetting.whole_runs import delete_run
from evals_app.runs.reviews.reviewing import comment
from tests.authored import a_case, write_suite
from tests.makers import make_execution, make_grade, make_run, make_trial

pytestmark = pytest.mark.django_db

SAID = "Zoë-Quillfeather-7731"


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root")


def planted(root: User) -> Execution:
    """Return a conversation with the text in every place that what was said can get to."""
    suite = write_suite([a_case()])
    run = make_run({"Where is it": ["failed"]}, suite=suite)
    item = {"id": 1, "text": SAID, "verdict": "fail", "critique": SAID, "evidence": {"quote": SAID}}
    grade = make_grade(
        reason=f"It says {SAID}.",
        evidence=[{"quote": SAID}],
        details={"scale": "rubric", "met": 0, "items": [item], SAID: SAID, "votes": [SAID]},
        calls=[{"prompt": SAID, "answer": SAID}],
    )
    trial = make_trial(reply=SAID)
    execution = make_execution(run, "Where is it", number=2, trial=trial, grades=[grade])
    Execution.objects.filter(pk=execution.pk).update(
        reason=SAID, summary={"response_criteria_failure_reason": SAID, "tool_calls": [SAID]}
    )
    PaidCalls.objects.create(execution=execution, calls=[SAID])
    trace = Trace.objects.create(trace_id="1" * 32, execution=execution)
    TraceSpan.objects.create(trace=trace, span_id="2" * 16, content={"text": SAID})
    AgentCall.objects.create(
        execution=execution, turn=1, agent="shop", session_id="-", request={"a": SAID}, offers=1
    )
    ImportedConversation.objects.create(
        conversation_set=ConversationSet.objects.create(name="Help desk", slug="help-desk"),
        execution=execution,
        external_id="7",
        digest="-",
        topics=SAID,
        facts={"name": SAID},
        grades=[SAID],
    )
    again = make_run({"Where is it": ["failed"]}, suite=suite, grades_of=run)
    regraded = again.executions.get()
    Execution.objects.filter(pk=regraded.pk).update(source=execution, reason=SAID)
    comment(execution, by=root, reason=f"I know {SAID}.")
    ReviewedVerdict.objects.create(
        execution=execution, verdict="failed", cause="agent", reason=SAID
    )
    return execution


def dump() -> str:
    rows = connection.connection.iterdump() if connection.vendor == "sqlite" else ()
    return "\n".join([*rows, *map(str, find_text(SAID))])


def is_anywhere() -> bool:
    text = dump()
    return SAID in text or SAID.replace("ë", "\\u00eb") in text


def test_what_was_said_is_nowhere_afterwards_and_the_figures_stay(root: User) -> None:
    execution = planted(root)
    assert {found.kind for found in find_text(SAID)} >= {
        *("conversation", "transcript", "grade result", "paid calls", "trace span", "review"),
        *("reviewed verdict", "log entry", "act"),
    }
    before = (execution.verdict, execution.score, execution.grades.get().score)

    forget_conversation(execution, by=root)

    assert [str(found) for found in find_text(SAID)] == []
    assert not is_anywhere()
    execution.refresh_from_db()
    assert (execution.verdict, execution.score, execution.grades.get().score) == before
    assert execution.content_removed_by == "root"
    assert execution.content_removed_at is not None
    assert Review.objects.filter(execution=execution, withdrawn_at=None).count() == 1
    assert execution.grades.get().details["items"] == [{"id": 1, "verdict": "fail"}]
    assert LogEntry.objects.filter(change_message="What was said was removed.").count() == 1


def test_every_table_about_a_conversation_is_known_here() -> None:
    related = {field.related_model for field in Execution._meta.related_objects}  # noqa: SLF001 - documented

    assert related - {Execution} == {
        # Emptied or removed.
        *(Transcript, PaidCalls, Trace, AgentCall, GradeResult, Review, ReviewedVerdict),
        ImportedConversation,
    }


def test_a_page_says_who_removed_what_was_said(root: User, client: Client) -> None:
    execution = planted(root)
    client.force_login(root)

    client.post(f"/admin/evals_app/execution/{execution.pk}/forget/")

    page = client.get(f"/admin/evals_app/execution/{execution.pk}/change/").content.decode()
    assert "root removed what was said on" in " ".join(page.split())
    assert SAID not in page


def test_all_of_a_run(root: User) -> None:
    execution = planted(root)

    assert forget_conversations_of(execution.run, by=root) == 2

    assert not is_anywhere()
    assert not Transcript.objects.exists()


def test_a_run_is_gone_with_its_regrades_and_its_snapshot(root: User) -> None:
    execution = planted(root)

    assert delete_run(execution.run, by=root) == 2

    assert not Run.all_runs.exists()
    assert not Snapshot.objects.exists()
    assert not is_anywhere()
    act = Activity.objects.filter(object_type="run").latest("pk")
    assert (act.kind, act.by_name) == ("deleted", "root")


@pytest.mark.parametrize("what", ["open", "released"])
def test_what_is_in_use_stays(root: User, what: str) -> None:
    suite = write_suite([a_case()])
    run = make_run({"Where is it": ["queued" if what == "open" else "passed"]}, suite=suite)
    if what == "released":
        set_baseline(run)

    with pytest.raises(CannotForgetError, match="Cancel it" if what == "open" else "released"):
        delete_run(run, by=root)

    assert Run.objects.filter(pk=run.pk).exists()


def test_rest_removes_and_refuses(root: User) -> None:
    execution = planted(root)
    _, text = ApiToken.issue(name="CI", user=root, scope="author")
    client = Client(headers={"Authorization": f"Bearer {text}"})
    open_run = make_run(["queued"])

    statuses = [
        client.delete(f"/api/executions/{execution.pk}/content/").status_code,
        client.delete(f"/api/runs/{execution.run_id}/content/").status_code,
        client.delete(f"/api/runs/{open_run.pk}/").status_code,
        client.delete(f"/api/runs/{execution.run_id}/").status_code,
        client.delete(f"/api/runs/{execution.run_id}/").status_code,
        client.delete("/api/people/nobody/").status_code,
    ]

    assert statuses == [204, 204, 422, 204, 404, 404]
    assert not is_anywhere()


def test_a_person_is_nowhere_afterwards_and_what_they_did_stays(root: User, client: Client) -> None:
    name = "quillfeather"
    ann = User.objects.create_user(
        name, f"{name}@example.org", "a-long-one-1", first_name=f"Zo {name}", is_staff=True
    )
    ann.groups.set(Group.objects.filter(name="Admin"))
    client.post("/admin/login/", {"username": name, "password": "wrong"})
    client.post("/admin/login/", {"username": name, "password": "a-long-one-1"})
    assert client.get("/admin/profile/").status_code == 200
    run = make_run(["failed"], created_by=ann)
    comment(run.executions.get(), by=ann, reason="Hm.")
    ApiToken.issue(name="CI", user=ann, scope="read")
    Profile.objects.update_or_create(user=ann, defaults={"time_zone": "Europe/Zurich"})
    SavedView.objects.create(person=ann, list="evals_app.run", name="Mine", query="q=a")
    LogEntry.objects.log_actions(root.pk, [ann], 2, f"Made a link for {name}.", single_object=True)

    forget_person(ann, by=root)

    assert [str(found) for found in find_text(name)] == []
    assert client.get("/admin/profile/").status_code == 302
    assert not ApiToken.objects.exists()
    former = f"Former person {ann.pk}"
    assert Review.objects.get().by_name == former
    assert Run.objects.get(pk=run.pk).created_by == ann
    assert not User.objects.get(pk=ann.pk).is_active


def test_nobody_removes_their_own_data_or_that_of_someone_with_more_rights(root: User) -> None:
    admin = User.objects.create_user("admin-1", is_staff=True)
    admin.groups.set(Group.objects.filter(name="Admin"))
    for person, by in ((root, root), (root, admin)):
        with pytest.raises(CannotForgetError):
            forget_person(person, by=by)


def test_the_command_finds_a_text(root: User, capsys: Any) -> None:
    planted(root)

    with pytest.raises(SystemExit) as ended:
        call_command("find_text", SAID.upper().replace("Ë", "ë"))

    assert ended.value.code == 1
    assert "conversation" in capsys.readouterr().out
    call_command("find_text", "nothing-has-it")


def test_sqlite_overwrites_what_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("for SQLite")
    with overwriting(), connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete")
        assert cursor.fetchone() == (1,)
    assert sqlite3.sqlite_version_info
