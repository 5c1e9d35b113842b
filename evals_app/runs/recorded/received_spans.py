"""What agents send of real conversations: spans, kept until a conversation is complete.

A conversation is masked as a whole: who someone is may be said in the last message, and the same
person has the same mask in all of them. So spans are not masked one by one. They wait in a folder
of the uploads, which only the site's own account can read, and are never in the database or a log.

Each request is a file, and is answered once that is on disk. The traces of complete conversations
become one upload, which workers import as any other. That they are taken is noted in the transaction
that begins the import, and only then they leave the folder: a process that is killed in between
leaves traces that are known, and are not imported twice.
"""

import json
import logging
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from evals_app.engine.basics.errors import CannotError
from evals_app.models import Activity, ConversationSet, ReceivedTrace, SpanInbox, Trace
from evals_app.models.people.activity import note_act
from evals_app.models.run_records.conversation_sets import added_up
from evals_app.runs.ground.patience import AWAY
from evals_app.runs.ground.traces import ID_CHARS, receive
from evals_app.runs.recorded.import_conversations import begin_import
from evals_app.runs.recorded.uploads import upload_folder
from evals_app.runs.recorded.waiting_imports import KEEP_S, store_upload

if TYPE_CHECKING:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    from evals_app.engine.running.spans import AgentSpan

log = logging.getLogger(__name__)

MAX_BYTES = 200 * 1024 * 1024  # that wait for one set
MAX_FILES = 10_000  # requests that wait for one set
MAX_MINUTES = 24 * 60  # that a conversation may be quiet, and that it waits at most
RETRY_S = 5  # until a refused request may be accepted: SDKs give up after 10 s
_AT_ONCE = 32 * 1024 * 1024  # of files that become one import
_MIN_FREE = 200 * 1024 * 1024  # of the disk, for the database
_LOOK = timedelta(seconds=30)
_PROMPT = 24  # imports of a day; each can become a run, so more of them wait
_SELDOM = timedelta(hours=1)
_KEEP = timedelta(days=30)  # what is known of a trace: exporters give up long before
_TRACE_CHARS = 32
_LATE = "Traces that were imported already: more of them came late, or again."
_BROKEN = "Conversations that an internal error kept from being read."


class NoRoomError(CannotError):
    """What was sent cannot be kept now; it may be sent again later."""


class _Waiting(NamedTuple):
    """A request on disk: when it came, and the session of each trace, "" if its spans name none."""

    path: Path
    arrived: float
    size: int
    traces: Mapping[str, str]

    @classmethod
    def read(cls, path: Path) -> Self:
        with path.open("rb") as file:
            traces = json.loads(file.readline())
        return cls(path, _time_of(path.name), _size(path.name), traces)

    @property
    def request(self) -> "ExportTraceServiceRequest":
        from evals_app.formats.otlp import read_request  # noqa: PLC0415 - heavy

        return read_request(self.path.read_bytes().partition(b"\n")[2], is_json=False)


# What people do


def save_inbox(
    target: ConversationSet, *, is_open: bool, quiet_minutes: int, by: User
) -> SpanInbox:
    """Take what agents send to a set from now on, or stop; what waits is then imported."""
    with transaction.atomic():
        ConversationSet.objects.select_for_update().get(pk=target.pk)
        row = SpanInbox.objects.select_for_update().filter(conversation_set=target).first()
        row = row or SpanInbox(conversation_set=target)
        row.is_open, row.quiet_minutes, row.owner = is_open, quiet_minutes, by
        row.looked_at = None
        row.save()
        text = "Stopped taking what agents send."
        if is_open:
            text = (
                f"Takes what agents send; a conversation ends after {quiet_minutes} quiet minutes."
            )
        note_act(Activity.Kind.CHANGED, text, user=by, row=target)
    return row


def address_of_inbox(target: ConversationSet) -> str:
    """Return what exporters need: the address to which they add `/v1/traces`."""
    path = reverse("api:conversation-set-spans", args=[target.slug])
    return settings.SITE.rstrip("/") + path.removesuffix("/v1/traces")


def waiting_in(row: SpanInbox) -> tuple[int, float | None]:
    """Return how many bytes wait, and when the first of them came, in seconds."""
    names = _names(row)
    return sum(map(_size, names)), min(map(_time_of, names), default=None)


# The door


def keep_spans(
    row: SpanInbox, request: "ExportTraceServiceRequest", *, may_run: bool
) -> Counter[str]:
    """Keep the spans of a request, on disk when this returns; return how many were not, by reason.

    Those of a run that is going on are for that run: with `may_run` they are stored with it.

    Raises:
        NoRoomError: too much waits, or the disk is full.
    """
    from evals_app.formats.conversations.traces import session_of  # noqa: PLC0415 - heavy
    from evals_app.formats.otlp import spans_in, without_others  # noqa: PLC0415

    refused, counts = Counter[str](), Counter[str]()
    traces: dict[str, str] = {}
    spans = spans_in(request)
    for trace_id, span in spans:
        if len(trace_id) != _TRACE_CHARS or len(span.span_id) != ID_CHARS:
            refused["without the id of a trace and of a span"] += 1
            continue
        counts[trace_id] += 1
        traces[trace_id] = traces.get(trace_id) or session_of(span)
    of_runs = set(Trace.objects.filter(pk__in=traces).values_list("pk", flat=True))
    late = _known_traces(row, traces) - of_runs
    wanted = {key: traces[key] for key in traces.keys() - of_runs - late}
    if wanted:
        _store(row, wanted, without_others(request, wanted, set()))
    if of_runs and may_run:
        refused += receive([span for span in spans if span[0] in of_runs])
    elif of_runs:
        refused["of runs, which take the right to start runs"] += sum(
            counts[key] for key in of_runs
        )
    if late:
        refused["of traces that were imported already"] += sum(counts[key] for key in late)
        with transaction.atomic():
            _leave_out(row, {_LATE: len(late)})
    return refused


def _known_traces(row: SpanInbox, traces: Mapping[str, str]) -> set[str]:
    return set(row.traces.filter(trace_id__in=traces).values_list("trace_id", flat=True))


def _leave_out(row: SpanInbox, more: Mapping[str, int]) -> None:
    current = SpanInbox.objects.select_for_update().get(pk=row.pk)
    current.left_out = added_up(current.left_out, more)
    current.save(update_fields=["left_out"])


def _store(row: SpanInbox, traces: Mapping[str, str], body: bytes) -> None:
    try:
        names, folder = _names(row), _folder(row)
        if len(names) >= MAX_FILES or sum(map(_size, names)) + len(body) > MAX_BYTES:
            raise NoRoomError("Too much waits for this set to be imported. Send it again later.")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if shutil.disk_usage(folder).free < _MIN_FREE:
            raise NoRoomError("The disk of the site is almost full. Send it again later.")
        _write(folder, time.time(), traces, body)
    except OSError as error:
        raise NoRoomError("The site cannot write to its disk. Send it again later.") from error


def _write(folder: Path, arrived: float, traces: Mapping[str, str], body: bytes) -> None:
    """Write a file that is either there as a whole, also after the power failed, or not at all."""
    content = json.dumps(traces).encode() + b"\n" + body
    path = folder / f"{arrived:017.6f}-{len(content)}-{uuid4().hex}"
    part = path.with_name(f".{path.name}")
    with part.open("xb") as file:
        part.chmod(0o600)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _all_folders() -> Path:
    return upload_folder() / "spans"


def _folder(row: SpanInbox) -> Path:
    return _all_folders() / row.folder.hex


def _names(row: SpanInbox) -> list[str]:
    try:
        names = [path.name for path in _folder(row).iterdir()]
        return sorted(name for name in names if not name.startswith("."))
    except FileNotFoundError:
        return []


def _time_of(name: str) -> float:
    return float(name.partition("-")[0])


def _size(name: str) -> int:
    return int(name.split("-")[1])


# The workers


def has_spans_to_import() -> bool:
    """Whether it is time to look for conversations that are complete."""
    return any(True for _ in _due())


def _due() -> Iterator[SpanInbox]:
    now = timezone.now()
    for row in SpanInbox.objects.select_related("conversation_set", "owner").order_by("pk"):
        if row.looked_at and row.looked_at > now - _LOOK:
            continue
        waiting, _first = waiting_in(row)
        if not waiting:
            continue
        last = row.imports.filter(created_at__gt=now - timedelta(days=1)).order_by("-pk")
        is_busy = len(times := last.values_list("created_at", flat=True)[:_PROMPT]) == _PROMPT
        may_wait = is_busy and times[0] > now - _SELDOM and waiting < MAX_BYTES / 2
        if not (may_wait and row.is_open):
            yield row


def import_what_was_sent() -> None:
    """Begin imports of the conversations that are complete, of each set in one process."""
    for row in _due():
        mine = SpanInbox.objects.filter(pk=row.pk, looked_at=row.looked_at)
        if not mine.update(looked_at=timezone.now()):
            continue
        try:
            number = 1
            while _import_complete(row, number):
                number += 1
        except AWAY:
            raise
        except Exception as error:  # noqa: BLE001 - its text may have what is not masked
            kind = type(error).__name__
            log.error("What agents sent to set %d was not imported: %s.", row.pk, kind)  # noqa: TRY400


def _import_complete(row: SpanInbox, number: int) -> bool:
    """Begin an import of conversations that are complete; return whether there were any."""
    files = [_Waiting.read(_folder(row) / name) for name in _names(row)]
    sessions: dict[str, str] = {}
    for file in files:
        for trace, session in file.traces.items():
            sessions[trace] = sessions.get(trace) or session
    talks: dict[str, list[_Waiting]] = {}
    for file in files:
        for key in {sessions[trace] or trace for trace in file.traces}:
            talks.setdefault(key, []).append(file)
    talks = _part(row, talks)
    traces = {trace for trace, session in sessions.items() if (session or trace) in talks}
    if not traces:
        return False
    taken = list({file.path: file for of_talk in talks.values() for file in of_talk}.values())
    _begin(row, taken, {trace: sessions[trace] for trace in traces}, number)
    for file in taken:
        _take_out(file, traces)
    return True


def _part(row: SpanInbox, talks: Mapping[str, list[_Waiting]]) -> dict[str, list[_Waiting]]:
    """Return the conversations that are complete, as many as one import may have."""
    now = time.time()
    found: dict[str, list[_Waiting]] = {}
    sizes: dict[Path, int] = {}
    for key, files in talks.items():
        is_quiet = files[-1].arrived <= now - row.quiet_minutes * 60
        is_old = files[0].arrived <= now - MAX_MINUTES * 60
        if not (is_quiet or is_old or not row.is_open):
            continue
        more = sizes | {file.path: file.size for file in files}
        if found and sum(more.values()) > _AT_ONCE:
            break
        found[key], sizes = files, more
    return found


def _begin(row: SpanInbox, files: list[_Waiting], traces: Mapping[str, str], number: int) -> None:
    """Begin the import of traces, and note that they are taken, at once."""
    from evals_app.formats.otlp import read_request, without_others  # noqa: PLC0415 - heavy

    known = _known_traces(row, traces)
    fresh = {trace: session for trace, session in traces.items() if trace not in known}
    seen: set[tuple[bytes, bytes]] = set()
    content = b"".join(without_others(file.request, fresh, seen) for file in files)
    request = read_request(content, is_json=False)
    said, left_out = _useful_traces(request, fresh)
    if known:
        left_out[_LATE] += len(known)
    upload = store_upload([without_others(request, said, set())]) if said else None
    try:
        with transaction.atomic():
            if upload is not None:
                begin_import(
                    row.conversation_set,
                    f"Sent by agents {timezone.now():%Y-%m-%d %H.%M.%S} {number}.otlp",
                    kind="",
                    is_masked=True,
                    columns={},
                    by=row.owner,
                    upload=upload.name,
                    inbox=row,
                )
            _leave_out(row, +left_out)
            ReceivedTrace.objects.bulk_create(
                [ReceivedTrace(inbox=row, trace_id=trace) for trace in fresh], batch_size=1000
            )
    except BaseException:
        if upload is not None:
            upload.unlink(missing_ok=True)
        raise


def _useful_traces(
    request: "ExportTraceServiceRequest", sessions: Mapping[str, str]
) -> tuple[set[str], Counter[str]]:
    """Return the traces of conversations in which something is said, and what others lack."""
    from evals_app.formats.conversations.recorded import ConversationFile  # noqa: PLC0415 - heavy
    from evals_app.formats.conversations.traces import (  # noqa: PLC0415
        NO_MESSAGE,
        NO_MODEL,
        conversations_in_traces,
    )
    from evals_app.formats.otlp import spans_in  # noqa: PLC0415

    file = ConversationFile("", "", ())
    talks: dict[str, list[tuple[str, AgentSpan]]] = {}
    for trace, span in spans_in(request):
        talks.setdefault(sessions[trace] or trace, []).append((trace, span))
    said: set[str] = set()
    for spans in talks.values():
        try:
            if any(True for _ in conversations_in_traces(spans, file)):
                said.update(trace for trace, _ in spans)
        except Exception as error:  # noqa: BLE001 - others are imported
            kind = type(error).__name__
            log.error("A conversation that agents sent was not read: %s.", kind)  # noqa: TRY400
            file.lose(_BROKEN)
    # Others may quote, and are in the report of the import, masked.
    return said, Counter({why: file.losses.get(why, 0) for why in (NO_MODEL, NO_MESSAGE, _BROKEN)})


def _take_out(file: _Waiting, traces: set[str]) -> None:
    """Remove traces from a file that waits, with the file if nothing is left."""
    from evals_app.formats.otlp import without_others  # noqa: PLC0415 - heavy

    rest = {trace: session for trace, session in file.traces.items() if trace not in traces}
    if rest:
        _write(file.path.parent, file.arrived, rest, without_others(file.request, rest, set()))
    file.path.unlink(missing_ok=True)


# At night, and when a set is removed


def forget_spans() -> None:
    """Remove what no set takes any more, halves of files, and what is known of old traces."""
    ReceivedTrace.objects.filter(created_at__lt=timezone.now() - _KEEP).delete()
    folders = list(_all_folders().glob("*"))  # before the sets: one may be made meanwhile
    known = {folder.hex for folder in SpanInbox.objects.values_list("folder", flat=True)}
    for folder in folders:
        if folder.name not in known:
            shutil.rmtree(folder, ignore_errors=True)
    for part in _all_folders().glob("*/.*"):
        if part.stat().st_mtime < time.time() - KEEP_S:
            part.unlink(missing_ok=True)


def remove_waiting_spans(row: SpanInbox) -> None:
    """Remove what waits for a set."""
    shutil.rmtree(_folder(row), ignore_errors=True)
