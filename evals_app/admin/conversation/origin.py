"""Where a real conversation came from."""

from typing import NamedTuple

from django.http import HttpRequest

from evals_app.models import ConversationImport, Execution, ImportedConversation


class ConversationOrigin(NamedTuple):
    """The row of a real conversation, its import, and what was masked in the whole file."""

    row: ImportedConversation
    file: ConversationImport
    masked: str
    source: Execution | None  # of ours, of which it is a copy


def origin_of(request: HttpRequest, execution: Execution) -> ConversationOrigin | None:
    """Return where a conversation came from; None unless it is a real one that the reader may see."""
    if execution.run.conversation_set_id is None:
        return None
    if not request.user.has_perm("evals_app.view_conversationset"):
        return None
    real = execution.source_id or execution.pk  # graded runs refer to it
    row = (
        ImportedConversation.objects.filter(execution=real)
        .select_related("conversation_set")
        .first()
    )
    files = ConversationImport.objects.filter(run__executions=real).select_related("created_by")
    file = files.first()
    if row is None or file is None:
        return None
    masked = ", ".join(f"{kind} {count:,}" for kind, count in file.masked.items())
    return ConversationOrigin(row, file, masked, _source_of(row, file))


def _source_of(row: ImportedConversation, file: ConversationImport) -> Execution | None:
    """Return the conversation of a run that was copied, as long as it exists."""
    key = row.external_id.removeprefix("conversation-")
    if file.kind != file.OF_RUN or not key.isdecimal():
        return None
    return Execution.objects.select_related("run").filter(pk=int(key)).first()
