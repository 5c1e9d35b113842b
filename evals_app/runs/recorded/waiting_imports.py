"""Large files that were sent by people: they wait on disk until a worker imports them.

A file has what is not masked yet, so it is never in the database, and is removed once it is
imported, refused or discarded.
"""

import logging
import os
import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from evals_app.models import Activity, ConversationImport, ConversationSet, Execution
from evals_app.models.people.activity import acts_from, note_act
from evals_app.runs.ground.patience import AWAY
from evals_app.runs.recorded.copied_runs import continue_copy
from evals_app.runs.recorded.import_conversations import (
    CLAIMED_FOR,
    CannotImportConversationsError,
    begin_import,
    continue_import,
)
from evals_app.runs.recorded.masking import site_masker
from evals_app.runs.recorded.uploads import remove_upload, upload_folder

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3  # without progress
KEEP_S = 24 * 3600  # files that no import names
_LOST_AFTER = timedelta(hours=1)
_DIED = "The worker died {} times while it read the file. Import it in parts."
_NO_MEMORY = (
    "The file needs more memory than a worker may use. Import it in parts, or as JSON Lines."
)
_LOST = (
    "No worker found the file. Workers on other machines need the data folder of the web server. Import"
    " it again."
)
_INTERNAL = "Internal error in Evalwell. The worker's log has the kind of error. Import it again."
NO_CONVERSATIONS = "No conversations were found."


def keep_upload(
    target: ConversationSet,
    file_name: str,
    chunks: Iterable[bytes],
    *,
    is_masked: bool,
    columns: Mapping[str, str] | None = None,
    by: User | None = None,
) -> ConversationImport:
    """Keep a file for the next worker, and return its import.

    Raises:
        CannotImportConversationsError: it was interrupted with other choices.
    """
    path = store_upload(chunks)
    try:
        return begin_import(
            target,
            file_name,
            kind="",
            is_masked=is_masked,
            columns=columns or {},
            by=by,
            upload=path.name,
        )
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def store_upload(chunks: Iterable[bytes]) -> Path:
    """Write a file that only the site reads, for an import that names it."""
    path = upload_folder() / uuid4().hex
    try:
        with path.open("xb") as stored:
            path.chmod(0o600)
            stored.writelines(chunks)
            stored.flush()
            os.fsync(stored.fileno())  # what it was made of may be removed next
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def has_waiting() -> bool:
    """Whether a file waits that this machine can import."""
    for row in _waiting():
        if _has_file(row):
            return True
        if row.created_at < timezone.now() - _LOST_AFTER:
            _fail(row, _LOST)
    return False


def _waiting() -> QuerySet[ConversationImport]:
    is_free = Q(claimed_until=None) | Q(claimed_until__lt=timezone.now())
    rows = ConversationImport.objects.filter(is_free, finished_at=None, failure="")
    return rows.filter(~Q(upload="") | Q(kind=ConversationImport.OF_RUN)).order_by("pk")


def import_waiting() -> None:
    """Import the files that wait, one after the other."""
    while row := next((row for row in _waiting() if _has_file(row)), None):
        until = timezone.now() + CLAIMED_FOR
        mine = _waiting().filter(pk=row.pk)
        if mine.update(claimed_until=until, attempts=F("attempts") + 1):
            with acts_from(Activity.Origin.WORKER):
                _import(row)


def _import(row: ConversationImport) -> None:
    """Import a file, or note why that cannot be done; what it says is in no log."""
    # Not above: a worker that only runs evals would load what reads tables and knows phone numbers.
    from evals_app.formats.conversations.read import read_conversations  # noqa: PLC0415

    if row.attempts >= MAX_ATTEMPTS:
        return _fail(row, _DIED.format(row.attempts))
    try:
        if row.kind == row.OF_RUN:
            continue_copy(row)
            return None
        content = (upload_folder() / row.upload).read_bytes()
        file = read_conversations(row.file_name, content, columns=row.columns or None)
        if not any(True for _ in file):
            return _fail(row, " ".join(file.problems[:3]) or NO_CONVERSATIONS)
        continue_import(row, file, masker=site_masker() if row.is_masked else None)
    except AWAY as error:
        log.warning("The database did not answer during import %d. (%s)", row.pk, type(error))
        raise
    except CannotImportConversationsError:
        return None  # discarded, or someone else's by now
    except MemoryError:
        return _fail(row, _NO_MEMORY)
    except Exception as error:  # noqa: BLE001 - its text may have what is not masked
        log.error("Import %d failed: %s.", row.pk, type(error).__name__)  # noqa: TRY400
        return _fail(row, _INTERNAL)
    return None


def _fail(row: ConversationImport, why: str) -> None:
    ConversationImport.objects.filter(pk=row.pk, finished_at=None).update(
        failure=why, claim=None, claimed_until=None, upload=""
    )
    remove_upload(row.upload)


def discard_import(row: ConversationImport, *, by: User | None = None) -> bool:
    """Remove an import that did not end, with its file; return whether there was one."""
    with transaction.atomic():
        ConversationSet.objects.select_for_update().get(pk=row.conversation_set_id)
        current = ConversationImport.objects.filter(pk=row.pk, finished_at=None).first()
        if current is None:
            return False
        Execution.objects.filter(run=current.run_id).delete()
        current.run.delete()
        text = f"Discarded the unfinished import of {row.file_name}."
        note_act(Activity.Kind.DELETED, text, user=by, row=row.conversation_set)
    remove_upload(current.upload)
    return True


def remove_unnamed_uploads() -> None:
    """Remove old files that no import names, for example of a site that was killed."""
    named = set(ConversationImport.objects.exclude(upload="").values_list("upload", flat=True))
    for path in upload_folder().iterdir():
        if (
            path.is_file()
            and path.name not in named
            and path.stat().st_mtime < time.time() - KEEP_S
        ):
            path.unlink(missing_ok=True)


def _has_file(row: ConversationImport) -> bool:
    return row.kind == row.OF_RUN or (upload_folder() / row.upload).is_file()
