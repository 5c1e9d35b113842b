"""From 100 conversations that two people read to a check whose calibration begins with 10 labels."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, TestCase
from django.urls import reverse

from evals_app.models import (
    Activity,
    Agent,
    Assertion,
    GradeResult,
    NoteGroup,
    Reading,
    ReadingNote,
    Review,
    Run,
    Suite,
)
from evals_app.runs.forgetting.conversations import forget_conversation
from evals_app.runs.judges.calibration import find_calibration
from evals_app.runs.process.worker_loop import work
from evals_app.runs.recorded.grade_conversations import WantedConversations
from evals_app.runs.recorded.group_checks import trial_of
from evals_app.runs.recorded.readings import draw, write_note
from tests.runs.recorded.conversations import imported, row_of
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db

WRONG = {"price": "It is 9 euros", "late": "Please wait", "language": "Nein", "rude": "Whatever"}
FINE = "It is 6.90"
CRITERION = "Every price is 6.90."
NOTES = {"price": "Wrong price", "late": "No refund", "language": "English asked", "rude": "Rude"}


def url(what: str, *keys: int) -> str:
    return reverse(f"admin:evals_app_{what}", args=keys)


def talks(count: int) -> list[dict[str, Any]]:
    """Return conversations of two turns: half are fine, the others go wrong in four ways."""
    kinds = list(WRONG)
    rows = []
    for n in range(count):
        reply = FINE if n % 2 else WRONG[kinds[n // 2 % 4]]
        said = (("user", "Hello"), ("assistant", "Hello"), ("user", f"Price {n}?"))
        rows.append(row_of(n, *said, ("assistant", reply), ("user", "Bye"), date="2026-11-16"))
    return rows


def read_all(reading: Reading, *readers: User) -> None:
    for item in reading.items.select_related("execution__transcript"):
        reply = item.execution.transcript.to_trial().turns[1].reply  # type: ignore[union-attr]
        kind = next((kind for kind, words in WRONG.items() if words == reply), None)
        for reader in readers:
            text = NOTES[kind] if kind else ""
            write_note(item, by=reader, kind="wrong" if kind else "fine", text=text)


@pytest.fixture
def reading(admin_user: User) -> Reading:
    target = imported(talks(100)).conversation_set
    reading = draw(target, WantedConversations(count=100), by=admin_user)
    read_all(reading, admin_user, User.objects.create_user("ben"))
    return reading


@pytest.fixture
def suite() -> Suite:
    make_agent(
        "judge", name="Judge", rules=[{"when": "9 euros", "reply": "fail"}, {"reply": "pass"}]
    )
    return make_suite(judge_model="scripted/judge")


def post(client: Client, address: str, **data: Any) -> Any:
    with TestCase.captureOnCommitCallbacks(execute=True):
        answer = client.post(address, data)
    work()
    return answer


def group_by_text(client: Client, reading: Reading) -> None:
    for name in NOTES.values():
        keys = list(ReadingNote.objects.filter(text=name).values_list("pk", flat=True))
        client.post(url("reading_groups", reading.pk), {"notes": keys, "group": name})


def test_a_check_of_a_group_begins_with_ten_labels_and_grades_the_whole_set(
    admin_client: Client, reading: Reading, suite: Suite
) -> None:
    group_by_text(admin_client, reading)
    page = admin_client.get(url("reading_groups", reading.pk))
    counts = page.context["counts"]
    assert (counts.read, counts.fine, counts.wrong, page.context["readers"]) == (100, 50, 50, 2)
    assert sorted(len(one.notes) for one in counts.groups) == [24, 24, 26, 26]
    group = NoteGroup.objects.get(name="Wrong price")

    check = url("notegroup_check", group.pk)
    form = {"criterion": CRITERION, "suite": suite.pk, "each": 5}
    price = admin_client.post(url("notegroup_price", group.pk), form)
    assert price.context["sentence"]
    post(admin_client, check, action="save")  # not tried yet
    assert not Review.objects.exists()

    post(admin_client, check, **form)
    page = admin_client.get(check)
    trial = page.context["trial"]
    assert (trial.agreement.n, trial.agreement.same_verdict.count) == (10, 10)
    assert trial.is_scripted
    assert not Assertion.objects.filter(suite=suite).exists()  # the agreement is shown before
    assert GradeResult.objects.count() == 10  # once for a whole conversation
    assert Run.objects.get().is_tryout

    post(admin_client, check, action="save")
    saved = Assertion.objects.get(suite=suite)
    assert (saved.name, saved.options, saved.scope) == (
        "Wrong price",
        {"criteria": CRITERION},
        "conversation",
    )
    known = find_calibration(page.context["yardstick"].digest)
    assert known is not None
    assert (known.agreement.n, known.blind, known.agreement.people_failed) == (10, 10, 5)
    assert set(Review.objects.values_list("by_name", flat=True)) == {"admin", "ben"}
    post(admin_client, check, action="save")  # once is enough
    assert Assertion.objects.filter(suite=suite).count() == 1
    assert (
        Activity.objects.filter(kind="decided", by_name="ben", text__contains="Wrong").count() == 0
    )

    grade = url("conversationset_grade", reading.conversation_set_id or 0)
    asked = admin_client.get(grade, {"suite": suite.pk}).context["form"]
    assert asked.initial == {"suite": str(suite.pk)}
    post(admin_client, grade, suite=suite.pk)
    run = Run.objects.latest("pk")
    assert (run.total, run.failed, run.passed) == (100, 13, 87)
    again = find_calibration(page.context["yardstick"].digest)
    assert again is not None
    assert again.agreement.n == 10


def test_the_judge_drafts_and_people_decide(
    admin_client: Client, reading: Reading, suite: Suite, settings: Any
) -> None:
    settings.EVALS_JUDGE_MODEL = "scripted/judge"
    keys = list(ReadingNote.objects.filter(text="Rude").values_list("pk", flat=True))
    proposal = {
        "groups": [{"name": "Tone", "notes": [*keys[:3], 10**9]}],
        "injection_suspected": False,
    }
    rules = [
        {
            "when": "Group: Tone",
            "reply": '{"criterion": "Stay polite.", "injection_suspected": false}',
        },
        {"reply": f"Here: {json.dumps(proposal)}"},
    ]
    Agent.objects.filter(slug="judge").update(connection={"rules": rules})

    ask = url("reading_propose", reading.pk)
    assert admin_client.get(ask).context["price"]
    assert not Activity.objects.filter(text__startswith="Wrote").exists()
    assert "problems" in admin_client.post(ask, {"judge": "scripted/nobody"}).context
    assert admin_client.get(url("reading_proposals", reading.pk)).status_code == 204
    post(admin_client, ask, judge="scripted/judge")
    live = admin_client.get(url("reading_proposals", reading.pk))
    assert live.headers["HX-Refresh"] == "true"
    groups = url("reading_groups", reading.pk)
    [proposed] = admin_client.get(groups).context["proposed"]
    assert (proposed.name, [note.pk for note in proposed.notes]) == ("Tone", keys[:3])
    assert not NoteGroup.objects.exists()  # it only proposes
    admin_client.post(groups, {"group": proposed.name, "notes": keys[:3]})
    assert admin_client.get(groups).context["proposed"] == []

    group = NoteGroup.objects.get()
    draft = url("notegroup_draft", group.pk)
    assert admin_client.get(draft).context["price"]
    post(admin_client, draft, judge="scripted/judge")
    page = admin_client.get(url("notegroup_check", group.pk))
    assert page.context["form"].initial["criterion"] == "Stay polite."
    assert Agent.objects.count() == 2  # no agent is left behind

    # What is removed is also gone from the questions.
    asked = Run.objects.filter(suite_name__startswith="Propose").get()
    noted = ReadingNote.objects.filter(text="Rude")[0].item.execution
    assert any("Rude" in case.content for case in asked.snapshot.cases.all())
    forget_conversation(noted, by=User.objects.get(username="admin"))
    assert not any("Rude" in case.content for case in asked.snapshot.cases.all())
    admin_client.post(url("reading_proposals", reading.pk))
    assert b"proposed-title" not in admin_client.get(groups).content


def test_what_keeps_a_check_from_being_tried_is_said(
    admin_client: Client, admin_user: User, reading: Reading, suite: Suite
) -> None:
    group = NoteGroup.objects.create(reading=reading, name="Prices")
    form = {"criterion": CRITERION, "suite": suite.pk, "each": 5}
    price = url("notegroup_price", group.pk)
    assert len(admin_client.post(price, form).context["problems"]) == 1  # it has no notes
    assert admin_client.post(price, {}).context["problems"]
    opened = admin_client.get(url("notegroup_check", group.pk))
    assert "there are 0 and 50" in opened.context["too_few"]  # before anything is written
    failed = admin_client.post(url("notegroup_check", group.pk), form)
    assert failed.context["form"].errors
    group_by_text(admin_client, reading)
    suite.judge_model = "provider/model"
    suite.save()
    other = NoteGroup.objects.get(name="Rude")
    assert admin_client.post(url("notegroup_price", other.pk), form).context["problems"]
    ask = url("notegroup_draft", group.pk)
    assert admin_client.post(ask, {"judge": "nonsense"}).context["problems"]


def test_the_conversations_of_a_run_make_a_check_too(
    admin_client: Client, admin_user: User, suite: Suite
) -> None:
    run = finished(make_suite(["9 euros", "6.90"] * 5, slug="other", agent=suite.agent))
    reading = draw(run, WantedConversations(count=10), by=admin_user)
    group = NoteGroup.objects.create(reading=reading, name="Price")
    for item in reading.items.select_related("execution"):
        is_wrong = item.execution.position % 2 == 0
        kind, text = ("wrong", "Hm") if is_wrong else ("fine", "")
        write_note(item, by=admin_user, kind=kind, text=text, group=group)
    check = url("notegroup_check", group.pk)
    post(admin_client, check, criterion=CRITERION, suite=suite.pk, each=5)
    trial = trial_of(NoteGroup.objects.get())
    assert trial is not None
    assert (trial.agreement.n, trial.agreement.same_verdict.count) == (10, 10)
    post(admin_client, check, action="save")
    assert Assertion.objects.get(suite=suite).name == "Price"
    assert Run.objects.filter(conversation_set=None, is_tryout=True).count() == 1
