"""What agents send of real conversations: kept on disk until complete, then imported once, masked."""

import shutil
import stat
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.test import TestCase
from django.utils import timezone

from evals_app.engine.running.spans import AgentSpan
from evals_app.formats.conversations import traces
from evals_app.formats.conversations.recorded import ConversationFile
from evals_app.models import (
    ConversationImport,
    ConversationSet,
    Execution,
    ReceivedTrace,
    SpanInbox,
    TraceSpan,
    Transcript,
)
from evals_app.runs.ground.traces import open_trace
from evals_app.runs.recorded import received_spans
from evals_app.runs.recorded.received_spans import (
    forget_spans,
    has_spans_to_import,
    import_what_was_sent,
    save_inbox,
)
from evals_app.runs.recorded.sets import remove_set
from evals_app.runs.recorded.waiting_imports import import_waiting
from tests.api.clients import make_client, make_user
from tests.makers import make_execution, make_run
from tests.runs.recorded.conversations import make_set
from tests.runs.recorded.sent_spans import URL, bodies_of, body_of, refused_in, span, trace_of, turn

pytestmark = pytest.mark.django_db

RIGHTS = ["evals_app.add_conversationset"]
MINUTE = 60.0
HELLO = turn(1, "I am Jane Miller.", "Hello Jane Miller.", session="s-1")
Wait = Callable[[float], None]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    return tmp_path / "uploads" / "spans"


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Wait:
    """Let time pass for the folder, and let workers look as often as they want."""
    passed = [0.0]
    clock = SimpleNamespace(time=lambda: time.time() + sum(passed))
    monkeypatch.setattr(received_spans, "time", clock)
    monkeypatch.setattr(received_spans, "_LOOK", timedelta(0))
    return passed.append


@pytest.fixture
def inbox() -> SpanInbox:
    return save_inbox(make_set(), is_open=True, quiet_minutes=10, by=make_user())


def send(*spans: dict[str, Any], rights: list[str] = RIGHTS) -> Any:
    client: Any = make_client("spans", rights)
    return client.generic("POST", URL, body_of(*spans), content_type="application/json")


def kept(*spans: dict[str, Any]) -> None:
    answer = send(*spans)
    assert (answer.status_code, answer.json()) == (200, {})


def look() -> None:
    """Do what workers do."""
    with TestCase.captureOnCommitCallbacks(execute=True):
        import_what_was_sent()
        import_waiting()


def files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("**/*") if path.is_file()]


def said() -> dict[str, list[tuple[str, str]]]:
    """Return the turns of all conversations by their ids."""
    rows = Transcript.objects.order_by("pk").select_related("execution__imported_conversation")
    return {
        row.execution.imported_conversation.external_id: [
            (turn["user"], turn["reply"]) for turn in row.trial["turns"]
        ]
        for row in rows
    }


@pytest.mark.parametrize("encoding", [0, 1], ids=["JSON", "Protobuf"])
def test_a_conversation_is_imported_and_masked_once_it_is_quiet(
    inbox: SpanInbox, folder: Path, wait: Wait, caplog: pytest.LogCaptureFixture, encoding: int
) -> None:
    client: Any = make_client("spans", RIGHTS)
    parts = [[HELLO[0]], [HELLO[1]], turn(2, "Jane Miller again.", "Yes.", session="s-1")]
    for part in parts:
        kind, body = list(bodies_of(*part))[encoding]
        assert client.generic("POST", URL, body, content_type=kind).status_code == 200
        wait(9 * MINUTE)
        look()
    assert not ConversationImport.objects.exists()
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files(folder))
    assert stat.S_IMODE(files(folder)[0].parent.stat().st_mode) == 0o700

    wait(2 * MINUTE)
    assert has_spans_to_import()
    look()

    assert said() == {"s-1": [("I am [name 1].", "Hello [name 1]."), ("[name 1] again.", "Yes.")]}
    row = ConversationImport.objects.get()
    assert (row.added, row.is_masked, row.created_by) == (1, True, inbox.owner)
    assert files(folder.parent) == []
    assert not has_spans_to_import()
    assert "Miller" not in caplog.text


def test_what_is_sent_again_is_kept_once_before_the_import_and_refused_after_it(
    inbox: SpanInbox, folder: Path, wait: Wait
) -> None:
    kept(*HELLO)
    kept(HELLO[0])
    kept(*HELLO)
    wait(11 * MINUTE)
    look()
    assert said()["s-1"] == [("I am [name 1].", "Hello [name 1].")]

    assert refused_in(send(*HELLO)) == 2
    assert files(folder) == []
    inbox.refresh_from_db()
    assert list(inbox.left_out.values()) == [1]
    wait(11 * MINUTE)
    look()
    assert ConversationImport.objects.count() == 1


def test_what_comes_to_an_imported_conversation_is_one_of_its_own(
    inbox: SpanInbox, wait: Wait
) -> None:
    kept(*HELLO)
    wait(11 * MINUTE)
    look()
    kept(*turn(2, "One more thing.", "Yes?", session="s-1"))
    wait(11 * MINUTE)
    look()

    first, second = said().items()
    assert first == ("s-1", [("I am [name 1].", "Hello [name 1].")])
    assert second[0].startswith("s-1, continued ")
    assert second[1] == [("One more thing.", "Yes?")]
    last = ConversationImport.objects.latest("pk")
    assert (last.added, last.continued, last.changed) == (1, 1, 0)
    assert last.named == {"continued": [second[0]]}


def test_only_what_is_complete_leaves_a_request_that_has_more(
    inbox: SpanInbox, folder: Path, wait: Wait
) -> None:
    kept(*HELLO, *turn(2, "First.", "So.", session="s-2"))
    wait(9 * MINUTE)
    kept(*turn(3, "Second.", "So.", session="s-2"))
    wait(2 * MINUTE)
    look()
    assert list(said()) == ["s-1"]
    assert len(files(folder)) == 2
    assert not any(b"Miller" in path.read_bytes() for path in files(folder))

    wait(9 * MINUTE)
    look()
    assert said()["s-2"] == [("First.", "So."), ("Second.", "So.")]
    assert files(folder) == []


def test_a_conversation_that_never_ends_is_imported_after_a_day(
    inbox: SpanInbox, wait: Wait
) -> None:
    for n in range(1, 4):
        kept(*turn(n, f"Question {n}", "So.", session="always"))
        wait(12 * 3600)
        SpanInbox.objects.update(quiet_minutes=received_spans.MAX_MINUTES)
        look()
    assert next(iter(said().values())) == [("Question 1", "So."), ("Question 2", "So.")]


def test_large_parts_are_imported_one_after_the_other(
    inbox: SpanInbox, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(received_spans, "_AT_ONCE", 1)
    for n in range(1, 4):
        kept(*turn(n, f"Question {n}", "So."))
    wait(11 * MINUTE)
    look()
    assert ConversationImport.objects.count() == 3
    assert len(said()) == 3


def test_what_is_no_conversation_is_named(inbox: SpanInbox, folder: Path, wait: Wait) -> None:
    kept(span(1, 1, http__route="/healthz"), span(2, 1, gen_ai__operation__name="chat"))
    wait(11 * MINUTE)
    look()

    inbox.refresh_from_db()
    reasons = sorted(inbox.left_out)
    assert reasons[0] == "Traces without a call of a model."
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in reasons[1]
    assert list(inbox.left_out.values()) == [1, 1]
    assert not ConversationImport.objects.exists()
    assert files(folder.parent) == []


def test_spans_without_ids_are_counted(inbox: SpanInbox, folder: Path) -> None:
    assert refused_in(send({**HELLO[0], "spanId": "00"}, {**HELLO[1], "traceId": "00"})) == 2
    assert files(folder) == []


@pytest.mark.parametrize("reason", ["bytes", "files", "full", "broken"])
def test_what_cannot_be_kept_is_refused_for_a_while(
    inbox: SpanInbox, folder: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    kept(*HELLO)
    if reason == "bytes":
        monkeypatch.setattr(received_spans, "MAX_BYTES", 500)
    elif reason == "files":
        monkeypatch.setattr(received_spans, "MAX_FILES", 1)
    elif reason == "full":
        monkeypatch.setattr(received_spans, "_MIN_FREE", shutil.disk_usage("/").total * 1000)
    else:
        shutil.rmtree(folder)
        folder.write_text("no folder")
    answer = send(*turn(2, "More.", "So."))

    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    assert len(files(folder)) == (reason != "broken")


def test_a_set_that_is_closed_takes_nothing(inbox: SpanInbox) -> None:
    SpanInbox.objects.update(is_open=False)
    assert send(*HELLO).status_code == 409
    SpanInbox.objects.all().delete()
    answer = send(*HELLO)
    assert answer.status_code == 409
    assert "does not take what agents send" in answer.json()["detail"]


def test_what_waits_is_imported_when_the_set_is_closed(inbox: SpanInbox, wait: Wait) -> None:
    kept(*HELLO)
    save_inbox(inbox.conversation_set, is_open=False, quiet_minutes=10, by=make_user())
    look()
    assert list(said()) == ["s-1"]


@pytest.mark.parametrize("may_run", [True, False])
def test_spans_of_a_run_are_no_real_conversation(
    inbox: SpanInbox, folder: Path, *, may_run: bool
) -> None:
    execution: Execution = make_execution(make_run(["queued"]), state="running", counts=False)
    open_trace(execution.pk, trace_of(1))

    refused = refused_in(send(*HELLO, rights=[*RIGHTS, *["evals_app.add_run"] * may_run]))

    assert (refused, TraceSpan.objects.count()) == ((0, 2) if may_run else (2, 0))
    assert files(folder) == []


def test_a_worker_that_dies_before_it_clears_the_folder_imports_nothing_twice(
    inbox: SpanInbox, folder: Path, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(*HELLO)
    wait(11 * MINUTE)

    def die(*_: object) -> None:
        raise OSError

    with monkeypatch.context() as dying:
        dying.setattr(received_spans, "_take_out", die)
        look()
    assert len(files(folder)) == 1
    look()

    assert said() == {"s-1": [("I am [name 1].", "Hello [name 1].")]}
    assert files(folder) == []


def test_one_that_dies_while_it_begins_the_import_loses_nothing(
    inbox: SpanInbox, folder: Path, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(*HELLO)
    wait(11 * MINUTE)
    with monkeypatch.context() as dying:
        dying.setattr(received_spans, "_leave_out", lambda *_: 1 / 0)
        look()
    assert not ReceivedTrace.objects.exists()
    assert len(files(folder.parent)) == 1
    look()
    assert list(said()) == ["s-1"]


def test_a_conversation_that_breaks_the_reader_keeps_no_other_back(
    inbox: SpanInbox, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(*HELLO, *turn(2, "Fine?", "So.", session="s-2"))
    wait(11 * MINUTE)
    read = traces.conversations_in_traces

    def broken(spans: Sequence[tuple[str, AgentSpan]], file: ConversationFile) -> Any:
        if spans[0][0] == trace_of(1):
            raise ValueError
        return read(spans, file)

    monkeypatch.setattr(traces, "conversations_in_traces", broken)
    look()
    assert list(said()) == ["s-2"]
    inbox.refresh_from_db()
    assert list(inbox.left_out.values()) == [1]


def test_a_busy_set_is_imported_every_hour(
    inbox: SpanInbox, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(received_spans, "_PROMPT", 1)
    kept(*turn(1, "One.", "So."))
    wait(11 * MINUTE)
    look()
    kept(*turn(2, "Two.", "So."))
    wait(11 * MINUTE)
    assert not has_spans_to_import()

    ConversationImport.objects.update(created_at=timezone.now() - timedelta(minutes=61))
    look()
    assert len(said()) == 2


def test_what_waits_goes_with_its_set(inbox: SpanInbox, folder: Path) -> None:
    kept(*HELLO)
    remove_set(inbox.conversation_set)
    assert files(folder) == []
    assert not ConversationSet.objects.exists()


def test_what_no_set_takes_and_halves_are_removed_at_night(
    inbox: SpanInbox, folder: Path, wait: Wait
) -> None:
    kept(*HELLO)
    mine = files(folder)
    half = mine[0].with_name(".half")
    half.write_bytes(b"")
    (folder / "other").mkdir()
    (folder / "other" / "file").write_bytes(b"")
    ReceivedTrace.objects.create(inbox=inbox, trace_id=trace_of(9))
    forget_spans()
    assert sorted(files(folder)) == sorted([*mine, half])

    wait(25 * 3600)
    ReceivedTrace.objects.update(created_at=timezone.now() - timedelta(days=31))
    forget_spans()
    assert files(folder) == mine
    assert not ReceivedTrace.objects.exists()
