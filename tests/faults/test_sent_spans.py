"""The web server is killed while agents send spans, workers while they import them: none is lost or doubled."""

import random
import signal
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from evals_app.models import ApiToken, ConversationImport, ConversationSet, SpanInbox, Transcript
from evals_app.runs.recorded.received_spans import save_inbox
from tests.faults.crew import crew, eventually, send
from tests.faults.test_connected import kill, processes
from tests.runs.recorded.conversations import make_set
from tests.runs.recorded.sent_spans import URL, body_of, turn

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both]

COUNT = 400
KILLS = 3


def post(host: str, body: bytes, token: str) -> bool:
    """Send as an exporter does; return whether it was accepted."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    web = HTTPConnection(host, timeout=20)
    try:
        web.request("POST", URL, body, headers)
        answer = web.getresponse()
        assert answer.status == 200 or answer.status >= 500, answer.read()
        return answer.read() == b"{}"
    except (OSError, HTTPException):
        return False
    finally:
        web.close()


def test_what_was_accepted_is_imported_once(
    child_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(30)
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    environment = child_environment | {"EVALWELL_DATA_DIR": str(tmp_path)}
    with processes(environment, tmp_path) as running:
        owner = User.objects.get(username="ana")
        _, token = ApiToken.issue(name="agents", user=owner, scope="spans")
        target = make_set()
        save_inbox(target, is_open=True, quiet_minutes=10, by=owner)
        web = running.serve()
        killed_at = {chance.randrange(COUNT) for _ in range(KILLS)}
        for part in (1, 2):  # first what the model did, then what is around it
            for n in range(COUNT):
                both = [
                    *turn(2 * n + 1, f"First {n}", "So."),
                    *turn(2 * n + 2, f"Second {n}", "So."),
                ]
                spans = [{**span, "attributes": _named(span, f"s-{n}")} for span in both]
                body = body_of(*(spans[0::2] if part == 1 else spans[1::2]))
                if n in killed_at:
                    post(running.bind, body, token)  # its answer may get lost
                    kill(web)
                    web = running.serve()
                eventually(
                    lambda body=body: post(running.bind, body, token),  # type: ignore[misc]
                    "an answer",
                )
        kill(web)
    save_inbox(target, is_open=False, quiet_minutes=10, by=owner)

    for step in range(KILLS):
        with crew(environment, tmp_path) as hurt:
            if step:
                eventually(ConversationImport.objects.exists, "an import")
            time.sleep(chance.uniform(0, 0.5))
            send(signal.SIGKILL, *hurt.tree)
            hurt.wait()
        # As if the time for a sign of life had passed.
        ConversationImport.objects.update(claimed_until=None)
        SpanInbox.objects.update(looked_at=None)
    with crew(environment, tmp_path):
        eventually(lambda: ConversationSet.objects.get().count == COUNT, "all conversations")
        eventually(lambda: not _files(tmp_path), "an empty folder")

    rows = Transcript.objects.values_list("execution__case", "trial")
    said = {name: [turn["user"] for turn in trial["turns"]] for name, trial in rows}
    assert said == {f"s-{n}": [f"First {n}", f"Second {n}"] for n in range(COUNT)}
    assert len(rows) == COUNT
    assert not ConversationImport.objects.exclude(continued=0, failure="").exists()


def _named(span: dict[str, object], session: str) -> list[object]:
    attributes = span["attributes"]
    assert isinstance(attributes, list)
    name = {"key": "gen_ai.conversation.id", "value": {"stringValue": session}}
    return attributes if span["parentSpanId"] else [*attributes, name]


def _files(folder: Path) -> list[Path]:
    return [path for path in (folder / "uploads").glob("**/*") if path.is_file()]
