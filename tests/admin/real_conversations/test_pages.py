"""Real conversations on pages: imported in three decisions, looked at, filtered, graded, removed."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, TestCase
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from evals_app.admin.real_conversations import import_page, set_page
from evals_app.models import (
    Activity,
    Assertion,
    ConversationImport,
    ConversationSet,
    Execution,
    Run,
    SpanInbox,
    Suite,
)
from evals_app.runs.process.worker_loop import work
from evals_app.runs.recorded import waiting_gradings
from evals_app.runs.recorded.received_spans import keep_spans
from evals_app.runs.recorded.waiting_gradings import start_waiting_gradings
from evals_app.runs.recorded.waiting_imports import import_waiting, keep_upload
from tests.runs.recorded.conversations import content_of, imported, make_set, row_of, rows_of
from tests.runs.recorded.sent_spans import request_of, turn
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db

ANN = row_of("ann", ("user", "I am ann@example.org"), ("assistant", "It is 6.90."))


def url(what: str, *keys: int) -> str:
    return reverse(f"admin:evals_app_conversationset_{what}", args=keys)


def upload(rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    file = SimpleUploadedFile("week.jsonl", content_of(rows))
    return {"name": "Help desk", "file": file, "is_masked": "on", **more}


def general_suite() -> Suite:
    suite = make_suite()
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})
    Assertion.objects.create(suite=suite, type="exact_match", options={}, position=1)
    return suite


def test_a_file_is_looked_at_imported_and_graded(admin_client: Client) -> None:
    looked = admin_client.post(url("look"), upload([*rows_of(2), ANN]))
    assert looked.context["count"] == 3
    assert looked.context["masked"] != []
    assert b"ann@example.org" in looked.content  # as an example of what is masked
    assert not ConversationSet.objects.exists()

    page = admin_client.post(url("import"), upload([*rows_of(2), ANN]), follow=True)
    target = ConversationSet.objects.get()
    assert page.context["target"] == target
    assert [line.words for line in page.context["lines"]][1:] == ["Question 1", "Question 0"]
    assert b"ann@example.org" not in page.content

    suite = general_suite()
    chosen = {"suite": suite.pk, "count": 2}
    price = admin_client.post(url("price", target.pk), chosen)
    assert len(price.context["unused"]) == len(price.context["checks"]) == 1
    assert price.context["left_out"] == []
    with TestCase.captureOnCommitCallbacks(execute=True):
        admin_client.post(url("grade", target.pk), chosen)
    work()
    run = Run.objects.get()
    assert (run.total, run.suite) == (2, suite)
    page = admin_client.get(url("change", target.pk))
    assert page.context["runs"] == [run]
    assert sum(line.sign is not None for line in page.context["lines"]) == 2


def test_conversations_are_filtered_and_come_in_pages(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_page, "AT_ONCE", 2)
    rows = rows_of(3, date="2026-11-16")
    rows[1]["channel"] = "chat"
    row = imported([*rows, row_of("x", tags=["price"])])

    def ids(query: str = "") -> list[str]:
        page = admin_client.get(url("change", row.conversation_set_id) + query)
        assert page.status_code == 200
        return [line.row.external_id for line in page.context["lines"]]

    assert ids() == ["x", "2"]
    second = Execution.objects.get(case="2").imported_conversation.pk
    assert ids(f"?before={second}") == ["1", "0"]
    assert ids("?topic=price") == ["x"]
    assert ids("?flag=channel%3Dchat") == ["1"]
    assert ids("?since=2026-11-16&id=1") == ["1"]
    assert ids("?verdict=failed") == []
    for nonsense in ("before=x", "since=never", "flag==", "verdict=x", f"before={'9' * 30}"):
        ids(f"?{nonsense}")


def test_the_page_of_a_set_takes_few_queries(
    admin_client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    row = imported(rows_of(60))
    with django_assert_max_num_queries(12):
        admin_client.get(url("change", row.conversation_set_id))


def test_an_imported_conversation_and_a_graded_one_can_be_read(admin_client: Client) -> None:
    row = imported(rows_of(1))
    suite = general_suite()
    data = {"suite": suite.pk}
    with TestCase.captureOnCommitCallbacks(execute=True):
        admin_client.post(url("grade", row.conversation_set_id), data)
    work()

    for execution in Execution.objects.all():
        page = admin_client.get(reverse("admin:evals_app_execution_change", args=[execution.pk]))
        assert page.status_code == 200
        origin = page.context["origin"]  # of the graded one, too
        assert (origin.row.external_id, origin.file) == ("0", row)
        assert b"week.jsonl" in page.content
        assert b"Question 0" in page.content
    listed = admin_client.get(reverse("admin:evals_app_execution_changelist"))
    assert listed.context["cl"].result_list[0].run == Run.objects.get()
    assert len(listed.context["cl"].result_list) == 1
    run = Run.objects.get()
    assert admin_client.get(reverse("admin:evals_app_run_change", args=[run.pk])).status_code == 200


def test_a_grading_is_shown_as_what_it_is(admin_client: Client) -> None:
    target = imported(rows_of(3)).conversation_set
    suite = general_suite()
    with TestCase.captureOnCommitCallbacks(execute=True):
        admin_client.post(url("grade", target.pk), {"suite": suite.pk, "max_cost_usd": ""})
    work()
    run = Run.objects.get()

    page = admin_client.get(reverse("admin:evals_app_run_change", args=[run.pk]))

    assert page.context["counted"].headline == "3 of 3 conversations passed"
    assert page.context["tested"] == target.name
    assert page.context["release"] is None
    assert page.context["rerun_buttons"] == []
    assert page.context["retest_url"] == ""
    assert not page.context["may_be_baseline"]
    assert "changed_in_short" not in page.context
    assert "decision" not in dict(page.context["report_kinds"])
    for dialog in ("decide", "accept"):
        args = [run.pk, "shipped"][: 2 if dialog == "decide" else 1]
        asked = admin_client.get(reverse(f"admin:evals_app_run_{dialog}", args=args))
        assert asked.status_code == 404
    results = admin_client.get(reverse("admin:evals_app_run_changelist"))
    assert [row.pk for row in results.context["cl"].result_list] == [run.pk]


@pytest.mark.parametrize(
    "data",
    [{}, {"name": "Help desk"}, {"name": "", "pasted": "{}"}, {"name": "x" * 201, "pasted": "{}"}],
)
def test_what_is_missing_is_asked_for(admin_client: Client, data: dict[str, str]) -> None:
    page = admin_client.post(url("import"), data)
    assert page.context["form"].errors
    assert not ConversationSet.objects.exists()


def test_a_set_is_removed_after_a_question(admin_client: Client) -> None:
    target = make_set()
    assert admin_client.get(url("remove", target.pk)).context["dialog"]["submit"]
    admin_client.post(url("remove", target.pk))
    assert not ConversationSet.objects.exists()


def test_columns_of_a_table_are_shown_as_guessed_and_imported_as_chosen(
    admin_client: Client,
) -> None:
    rows = b"Fall,x,y\n7,Where is it?,In Rome.\n"
    looked = admin_client.post(url("look"), _table(rows))
    assert looked.context["columns"] == [
        ("Fall", "id", ["7"]),
        ("x", "", ["Where is it?"]),
        ("y", "", ["In Rome."]),
    ]
    assert looked.context["problems"][0].startswith("fall.csv: Say which columns")
    refused = admin_client.post(url("import"), _table(rows))
    assert "Say which columns" in refused.content.decode()
    assert not ConversationSet.objects.exists()

    chosen = {"header": ["Fall", "x", "y"], "meaning": ["id", "question", "answer"]}
    assert admin_client.post(url("look"), _table(rows) | chosen).context["count"] == 1
    admin_client.post(url("import"), _table(rows) | chosen)

    (found,) = ConversationSet.objects.get().conversations.all()
    assert found.external_id == "7"


def _table(rows: bytes) -> dict[str, object]:
    return {"name": "Desk", "is_masked": "on", "file": SimpleUploadedFile("fall.csv", rows)}


def test_ticked_conversations_become_cases(admin_client: Client) -> None:
    target = imported(rows_of(3)).conversation_set
    suite = general_suite()
    first = Execution.objects.order_by("pk")[0]
    page = admin_client.get(f"{url('cases', target.pk)}?id=0")
    assert [line.row.external_id for line in page.context["lines"]] == ["0"]

    nothing = admin_client.post(url("cases", target.pk), {"suite": suite.pk})
    assert b"Tick the conversations" in nothing.content
    form = {"suite": suite.pk, "conversation": [first.pk]}
    before = suite.cases.count()
    made = admin_client.post(url("cases", target.pk), form, follow=True)
    assert b"Made 1 case." in made.content
    assert suite.cases.count() == before + 1
    again = admin_client.post(url("cases", target.pk), form)
    assert b"0 was left out: the case" in again.content


def test_a_large_file_is_looked_at_in_part_and_imported_by_a_worker(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    monkeypatch.setattr(import_page, "MAX_AT_ONCE", 1_000)
    rows = rows_of(30)
    looked = admin_client.post(url("look"), upload(rows))
    assert (looked.context["problems"], looked.context["count"]) == ([], 8)
    part = SimpleUploadedFile("week.jsonl", content_of(rows)[:200])
    looked = admin_client.post(url("look"), upload([], file=part, is_part="1"))
    assert (looked.context["problems"], looked.context["count"]) == ([], 1)

    page = admin_client.post(url("import"), upload(rows), follow=True)
    assert page.context["is_importing"]
    assert b"every 3s" in page.content
    import_waiting()
    page = admin_client.get(url("change", page.context["target"].pk))
    assert not page.context["is_importing"]
    assert (page.context["target"].count, len(page.context["lines"])) == (30, 30)


def test_an_import_that_failed_says_why_and_is_discarded(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    row = keep_upload(make_set(), "week.json", [b"[]"], is_masked=True)
    import_waiting()
    page = admin_client.get(url("change", row.conversation_set_id))
    assert b"No conversations" in page.content

    assert admin_client.get(url("discard", row.pk)).context["dialog"]["submit"]
    admin_client.post(url("discard", row.pk))
    assert not ConversationImport.objects.exists()


def test_many_are_graded_by_a_worker_and_the_page_shows_how_far_it_is(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_gradings, "MAX_AT_ONCE", 2)
    target = imported(rows_of(3)).conversation_set
    suite = general_suite()

    def start() -> Any:
        return admin_client.post(url("grade", target.pk), {"suite": suite.pk}, follow=True)

    page = start()
    assert page.context["is_starting"]
    assert b"3 conversations wait for a worker" in page.content
    [row] = page.context["gradings"]
    assert admin_client.get(url("cancel", row.pk)).context["dialog"]["submit"]
    admin_client.post(url("cancel", row.pk))
    page = admin_client.get(url("change", target.pk))
    assert (list(page.context["gradings"]), page.context["is_starting"]) == ([], False)

    start()
    start_waiting_gradings()
    page = admin_client.get(url("change", target.pk))
    assert (len(page.context["runs"]), page.context["is_starting"]) == (1, False)


def test_conversations_of_the_list_are_copied_the_chosen_ones_or_all_as_it_is_filtered(
    admin_client: Client,
) -> None:
    first = make_suite(["hello", "bye"], slug="one")
    second = make_suite(["hello", "bye"], slug="two", agent=first.agent)
    runs = [finished(suite) for suite in (first, second)]
    listed = reverse("admin:evals_app_execution_changelist")
    chosen = [run.executions.get(verdict="failed").pk for run in runs]
    action = {"action": "copy_chosen", "_selected_action": chosen, "index": "0"}
    asked = admin_client.post(f"{listed}?verdict__exact=failed", action)
    address = asked.headers["Location"]
    assert address.startswith(reverse("admin:evals_app_execution_copy"))
    assert "2 conversations" in admin_client.get(address).content.decode()

    page = admin_client.post(address, {"name": "Ours", "is_masked": "on"}, follow=True)
    assert page.context["target"].count == 2
    page = admin_client.post(address, {"name": "Ours", "which": "list"}, follow=True)
    assert page.context["target"].count == 2
    every = address.replace("verdict__exact=failed", "suite_slug=two")
    page = admin_client.post(every, {"name": "Ours", "which": "list"}, follow=True)
    assert page.context["target"].count == 3

    wrong = address.replace("verdict__exact=failed", "nothing__exact=failed")
    refused = admin_client.post(wrong, {"name": "Nowhere", "which": "list"})
    assert b"cannot be filtered" in refused.content
    assert not ConversationSet.objects.filter(name="Nowhere").exists()


def test_conversations_of_a_run_are_copied_and_say_which_they_are_a_copy_of(
    admin_client: Client,
) -> None:
    run = finished(make_suite(["hello", "bye"]))
    menu = admin_client.get(reverse("admin:evals_app_run_change", args=[run.pk]))
    address = reverse("admin:evals_app_run_copy", args=[run.pk])
    assert address.encode() in menu.content
    assert admin_client.get(f"{address}?verdict=failed").context["form"].initial["which"]
    nothing = admin_client.post(address, {"name": "Ours", "which": "errored"})
    assert b"fits" in nothing.content
    assert not ConversationSet.objects.exists()

    page = admin_client.post(address, {"name": "Ours", "is_masked": "on"}, follow=True)
    assert page.context["target"].count == 2
    [line, _] = page.context["lines"]
    shown = admin_client.get(
        reverse("admin:evals_app_execution_change", args=[line.row.execution_id])
    )
    source = run.executions.get(case="case 2")
    assert shown.context["origin"].source == source
    assert reverse("admin:evals_app_execution_change", args=[source.pk]).encode() in shown.content


def test_what_agents_send_is_switched_on_and_what_was_left_out_is_named(
    admin_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    target = make_set()

    def press(action: str, minutes: str = "5") -> str:
        given = {"action": action, "quiet_minutes": minutes}
        page = admin_client.post(url("agents_do", target.pk), given, follow=True)
        return " ".join(page.content.decode().split())

    assert (
        b"can send their conversations here" in admin_client.get(url("change", target.pk)).content
    )
    assert "a whole number from 1 to 1,440" in press("take", "0")
    assert not SpanInbox.objects.exists()

    page = press("take")
    assert "/api/conversation-sets/help-desk/otlp</code>" in page
    assert "quiet for 5 minutes" in page
    row = SpanInbox.objects.get()
    keep_spans(row, request_of(*turn(1, "Why?", "So.")), may_run=False)
    SpanInbox.objects.update(left_out={"Traces without a call of a model.": 1_200})
    page = press("take")
    assert "bytes wait, the first of it since" in page
    assert "Left out: Traces without a call of a model. (1,200 times)" in page

    page = press("stop")
    assert "It no longer takes what agents send." in page
    assert "wait for a worker" in page
    texts = Activity.objects.filter(object_name="Help desk").order_by("pk")
    assert [act.text for act in texts] == [
        *["Takes what agents send; a conversation ends after 5 quiet minutes."] * 2,
        "Stopped taking what agents send.",
    ]


def test_days_and_topics_that_are_not_shown_are_counted_and_no_bar_covers_the_page(
    admin_client: Client,
) -> None:
    rows = [row_of(str(n), date=f"2026-11-{n + 1:02d}", tags=[f"topic {n}"]) for n in range(14)]
    target = imported(rows).conversation_set
    page = admin_client.get(reverse("admin:evals_app_conversationset_change", args=[target.pk]))
    text = " ".join(page.content.decode().split())
    assert "and 2 earlier days" in text
    assert "and 2 rarer topics" in text
    assert "submit-row" not in text


def test_the_first_part_of_a_large_file_in_utf_16_is_looked_at(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_page, "MAX_AT_ONCE", 2_000)
    table = "id\tquestion\tanswer\n" + "".join(f"{n}\tWhy {n}?\tSo.\n" for n in range(200))
    for encoding in ("utf-16-le", "utf-16-be"):
        content = f"\ufeff{table}".encode(encoding)
        page = admin_client.post(
            reverse("admin:evals_app_conversationset_look"),
            {"file": SimpleUploadedFile("week.csv", content), "is_masked": "on"},
        )
        assert (page.context["problems"], page.context["is_part"]) == ([], True), encoding
        assert page.context["count"] > 5
