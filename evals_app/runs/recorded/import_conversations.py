"""Import the conversations of a file into a set: once each, however often it is started again.

A few hundred are written in each transaction, under a lock on the set, with the counters. An import
that was interrupted is continued by importing the file again; until it is complete, no page shows
what it wrote.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, timedelta
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.record.trial import Trial, Verdict
from evals_app.engine.specs.agent_spec import RECORDED
from evals_app.engine.verdicts.case_summary import turn_times
from evals_app.formats.conversations.recorded import ConversationFile, RecordedConversation
from evals_app.formats.snapshots.run_snapshot import SCHEMA_VERSION, Name, SnapshotSpec
from evals_app.models import (
    Activity,
    ConversationImport,
    ConversationSet,
    Execution,
    ImportedConversation,
    Run,
    Snapshot,
    Transcript,
)
from evals_app.models.fields.concurrency import let_others_write
from evals_app.models.people.activity import note_act
from evals_app.models.run_records.conversation_sets import added_up, as_topics
from evals_app.runs.recorded.uploads import remove_upload
from fixtures_app.ground.storable import storable

if TYPE_CHECKING:
    from evals_app.formats.masking.masker import Masker

AT_ONCE = 500  # conversations of one transaction
CLAIMED_FOR = timedelta(minutes=2)  # without a sign of life: then another process goes on
MAX_NAMED = 100  # ids, and problems, that a report names
MAX_ID = 200  # characters


class CannotImportConversationsError(CannotError):
    """Conversations cannot be imported as asked."""


class _Incoming(NamedTuple):
    """A conversation of the file as it is stored, and how often what was masked in it.

    `digest` is that of its content before it was masked, `original` its id before.
    """

    original: str
    id: str
    digest: str
    content: RecordedConversation
    masked: Counter[str]


@dataclass
class _Work:
    """An import under way: where it writes, and the ids that it has seen in the file.

    `claim` is what the row carries as long as no other process has taken it over.
    """

    row: ConversationImport
    masker: "Masker | None"
    claim: UUID = field(default_factory=uuid4)
    seen: set[str] = field(default_factory=set)


def import_conversations(
    target: ConversationSet,
    file: ConversationFile,
    *,
    masker: "Masker | None",
    by: User | None = None,
    columns: Mapping[str, str] | None = None,
) -> ConversationImport:
    """Import what the set does not have yet, and return the report; `masker` None masks nothing.

    A conversation that is there with other content stays as it is, and is named.

    Raises:
        CannotImportConversationsError: the same file is half imported in another way, or by another
            process that has just completed it.
    """
    row = begin_import(
        target,
        file.name,
        kind=file.kind,
        is_masked=masker is not None,
        by=by,
        columns=columns or {},
    )
    return continue_import(row, file, masker=masker)


def begin_import(
    target: ConversationSet,
    file_name: str,
    *,
    kind: str,
    is_masked: bool,
    columns: Mapping[str, str],
    by: User | None = None,
    upload: str = "",
    source_keys: Sequence[int] = (),
    **more: object,
) -> ConversationImport:
    """Return the interrupted import of a file of this name, or a new one; `more` are further columns.

    Raises:
        CannotImportConversationsError: it was interrupted with other choices.
    """
    how = {"is_masked": is_masked, "columns": dict(columns), "source_keys": list(source_keys)}
    name = storable(file_name)[-300:]
    with transaction.atomic():
        ConversationSet.objects.select_for_update().get(pk=target.pk)
        row = target.imports.filter(file_name=name, finished_at=None).first()
        if row is None:
            run = _create_run(target, by=by)
            row = target.imports.create(
                run=run, file_name=name, kind=kind[:60], created_by=by, upload=upload, **how, **more
            )
        elif any(getattr(row, key) != value for key, value in how.items()):
            raise CannotImportConversationsError(
                f"An import of {name} with other choices was interrupted. Import it with the same"
                " choices, or discard what it left behind first, on the page of the set."
            )
        else:
            before = row.upload
            transaction.on_commit(lambda: remove_upload(before))
            row.upload, row.failure, row.attempts, row.claim = upload, "", 0, None
            row.save(update_fields=["upload", "failure", "attempts", "claim"])
    return row


def continue_import(
    row: ConversationImport, file: ConversationFile, *, masker: "Masker | None"
) -> ConversationImport:
    """Import what is left of a file, and return the report.

    Raises:
        CannotImportConversationsError: another process has completed it, or has taken it over.
    """
    work = _Work(row, masker)
    _take_over(work, file)
    conversations = iter(file)
    work.seen.update(_id_of(done.id) for done in islice(conversations, work.row.read_count))
    while part := list(islice(conversations, AT_ONCE)):
        # Masking takes longer than writing, and others may write meanwhile.
        incoming = [_incoming(conversation, work.masker) for conversation in part]
        with transaction.atomic():
            _write(work, incoming)
        let_others_write()
    return _finish(work, file)


def _take_over(work: _Work, file: ConversationFile) -> None:
    """Claim the import; of a file with other content nothing is done yet."""
    with transaction.atomic():
        row = work.row = _lock_row(work, is_mine=False)
        if not file.digest or row.digest != file.digest:
            row.known = row.changed = row.repeated = row.continued = row.read_count = 0
            row.named = {}
        row.digest, row.kind = file.digest, file.kind[:60]
        row.claim, row.claimed_until = work.claim, timezone.now() + CLAIMED_FOR
        row.save()


def _lock_row(work: _Work, *, is_mine: bool = True) -> ConversationImport:
    """Return the import as it is now; its set is locked until the end of the transaction."""
    ConversationSet.objects.select_for_update().get(pk=work.row.conversation_set_id)
    row = ConversationImport.objects.filter(pk=work.row.pk).first()
    if row is None:
        raise CannotImportConversationsError(
            f"The import of {work.row.file_name} was discarded meanwhile."
        )
    if row.finished_at is not None:
        raise CannotImportConversationsError(
            f"Another import of {row.file_name} has just ended. Import the file again."
        )
    if is_mine and row.claim != work.claim:
        raise CannotImportConversationsError(
            f"Another process has taken over the import of {row.file_name}."
        )
    return row


def _create_run(target: ConversationSet, *, by: User | None) -> Run:
    content = {
        "suite": {"suite": target.name, "slug": target.slug, "agent": RECORDED, "cases": []},
        "agent": {"agent": "Recorded", "slug": RECORDED, "driver": RECORDED},
    }
    head = SnapshotSpec.model_validate(content, context=FROZEN).canonical()
    snapshot, _is_new = Snapshot.objects.get_or_create(
        sha256=Name().of(head), defaults={"schema_version": SCHEMA_VERSION, "content": head}
    )
    return Run.all_runs.create(
        snapshot=snapshot,
        conversation_set=target,
        is_import=True,
        suite_name=target.name,
        agent_slug=RECORDED,
        agent_name="Recorded",
        status=Run.PREPARING,
        concurrency=1,
        total=0,
        not_run=0,
        created_by=by,
    )


def _incoming(conversation: RecordedConversation, masker: "Masker | None") -> _Incoming:
    original, digest = conversation.id, _digest(conversation)
    masked = Counter[str]()
    if masker is not None:
        before = Counter(masker.counts)
        conversation = masker.of_conversation(conversation)
        masked = masker.counts - before
    return _Incoming(_id_of(original), _id_of(conversation.id), digest, conversation, masked)


def _id_of(written: str) -> str:
    """Return an id as it can be stored: if it is too long, its digest."""
    name = " ".join(storable(written).split())
    if name and len(name) <= MAX_ID:
        return name
    return hashlib.sha256(written.encode(errors="replace")).hexdigest()


def _digest(conversation: RecordedConversation) -> str:
    """Return a digest of the id and of what was said and done, before anything is masked.

    Samples go by it: without the id, conversations with the same words would be drawn together.
    """
    said = [
        [turn.user, [[message.text, *map(asdict, message.tool_calls)] for message in turn.messages]]
        for turn in conversation.turns
    ]
    history = [[message.role, message.text] for message in conversation.history]
    text = json.dumps([conversation.id, history, said], sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _write(work: _Work, part: list[_Incoming]) -> None:
    """Write what is new in a part of the file; the caller's transaction has all of it or nothing."""
    row = work.row = _lock_row(work)
    target = row.conversation_set
    fresh = _without_known(work, target, part)
    row.masked = dict(sum((item.masked for item in fresh), Counter(row.masked)))
    _create_rows(row, target, fresh)
    row.read_count += len(part)
    row.attempts, row.claimed_until = 0, timezone.now() + CLAIMED_FOR
    row.save()


def _without_known(work: _Work, target: ConversationSet, part: list[_Incoming]) -> list[_Incoming]:
    """Return what the set does not have, and count the rest."""
    ids = [name for item in part for name in (item.id, _continued_id(item))]
    known = {
        external_id: (digest, run)
        for external_id, digest, run in target.conversations.filter(
            external_id__in=ids
        ).values_list("external_id", "digest", "execution__run")
    }
    row, fresh = work.row, []
    for item in part:
        digest, run = known.get(item.id, ("", None))
        is_more = row.inbox_id and run is not None and digest != item.digest
        if is_more and item.original not in work.seen:
            item = item._replace(id=_continued_id(item))  # noqa: PLW2901
            digest, run = known.get(item.id, ("", None))
            if run is None:
                row.continued += 1
                _name(row, "continued", item.id)
        if item.original in work.seen:
            row.repeated += 1
            _name(row, "repeated", item.id)
        elif run is None:
            fresh.append(item)
        elif digest != item.digest:
            row.changed += 1
            _name(row, "changed", item.id)
        elif run != row.run_id:
            row.known += 1
        work.seen.add(item.original)
    return fresh


def _continued_id(item: _Incoming) -> str:
    """Return the id of what came to a conversation that is here already: that stays as it was read."""
    return f"{item.id[: MAX_ID - 20]}, continued {item.digest[:8]}"


def _name(row: ConversationImport, what: str, external_id: str) -> None:
    names = row.named.setdefault(what, [])
    if len(names) < MAX_NAMED:
        names.append(external_id)


def _create_rows(row: ConversationImport, target: ConversationSet, fresh: list[_Incoming]) -> None:
    trials = [_trial(item.id, item.content) for item in fresh]
    executions = Execution.objects.bulk_create(
        [_execution(row.run_id, row.added + n, trial) for n, trial in enumerate(trials)]
    )
    Transcript.objects.bulk_create(
        [
            Transcript(execution=execution, trial=storable(trial.to_json()))
            for execution, trial in zip(executions, trials, strict=True)
        ]
    )
    rows = [
        _row_of(target, execution, item) for execution, item in zip(executions, fresh, strict=True)
    ]
    ImportedConversation.objects.bulk_create(rows)
    row.added += len(rows)
    row.days = added_up(row.days, Counter(_day(found) for found in rows))
    row.topics = added_up(row.topics, Counter(name for found in rows for name in found.topic_list))
    Run.all_runs.filter(pk=row.run_id).update(
        total=F("total") + len(rows), measured=F("measured") + len(rows)
    )


def _trial(name: str, said: RecordedConversation) -> Trial:
    return Trial(
        case=name,
        number=1,
        planned_turns=len(said.turns),
        agent=said.agent or RECORDED,
        system_prompt=said.system_prompt,
        history=said.history,
        turns=tuple(replace(turn, index=n) for n, turn in enumerate(said.turns, 1)),
        started_at=said.happened_at.isoformat() if said.happened_at else "",
        is_outside=True,
    )


def _execution(run_id: int, position: int, trial: Trial) -> Execution:
    return Execution(
        run_id=run_id,
        case=trial.case,
        position=position,
        trial=1,
        status=Execution.Status.FINISHED,
        verdict=Verdict.MEASURED,
        agent_prompt_tokens=trial.usage.prompt_tokens,
        agent_response_tokens=trial.usage.response_tokens,
        agent_cost_usd=trial.cost_usd,
        time_ms=trial.time_ms,
        tool_calls=len(trial.tool_calls) if trial.reports_calls else None,
        turn_ms=turn_times(trial),
        finished_at=timezone.now(),
    )


def _row_of(target: ConversationSet, execution: Execution, item: _Incoming) -> ImportedConversation:
    said = item.content
    return ImportedConversation(
        conversation_set=target,
        execution=execution,
        external_id=item.id,
        digest=item.digest,
        happened_at=said.happened_at,
        topics=storable(as_topics(said.tags)),
        facts=storable(dict(said.facts)),
        grades=storable([asdict(grade) for grade in said.grades]),
    )


def _day(found: ImportedConversation) -> str:
    return found.happened_at.astimezone(UTC).date().isoformat() if found.happened_at else ""


def _finish(work: _Work, file: ConversationFile) -> ConversationImport:
    """Count the import in its set, and let everyone see it."""
    with transaction.atomic():
        row = _lock_row(work)
        target = row.conversation_set
        mask = work.masker.of_text if work.masker else str  # they may quote who wrote
        losses = Counter[str]()
        for what, count in islice(file.losses.items(), MAX_NAMED):
            losses[mask(what)] += count
        row.losses = storable(dict(losses))
        row.problems = storable([mask(problem) for problem in _first(file.problems)])
        row.claim = row.claimed_until = None
        upload, row.upload = row.upload, ""
        transaction.on_commit(lambda: remove_upload(upload))
        row.finished_at = timezone.now()
        row.save()
        target.count += row.added
        target.days = added_up(target.days, row.days)
        target.topics = added_up(target.topics, row.topics)
        target.save(update_fields=["count", "days", "topics"])
        Run.all_runs.filter(pk=row.run_id).update(
            status=Run.Status.FINISHED,
            verdict=Run.Verdict.MEASURED,
            case_count=row.added,
            finished_at=row.finished_at,
        )
        how = "masked" if row.is_masked else "not masked"
        text = f"Imported conversations from {row.file_name}: {row.added:,}, {how}."
        note_act(Activity.Kind.IMPORTED, text, user=row.created_by, row=target)
    return row


def _first(problems: list[str]) -> Iterator[str]:
    yield from problems[:MAX_NAMED]
    if (more := len(problems) - MAX_NAMED) > 0:
        yield f"{more:,} more problems."
