"""Reads conversations out of a file, whatever kind it is."""

from collections.abc import Iterator, Mapping

from evals_app.formats.conversations import json_lines
from evals_app.formats.conversations.recorded import ConversationFile, RecordedConversation


def read_conversations(
    name: str, content: bytes, *, columns: Mapping[str, str] | None = None
) -> ConversationFile:
    """Read the conversations of a file; `columns` says what its columns are, where it has any."""
    _ = columns  # lines of JSON have none
    file = ConversationFile(name, json_lines.KIND, ())
    file.conversations = _Lazy(file, content)
    return file


class _Lazy:
    """The conversations of a file, read again each time that someone goes through them."""

    def __init__(self, file: ConversationFile, content: bytes) -> None:
        self._file = file
        self._content = content

    def __iter__(self) -> Iterator[RecordedConversation]:
        return json_lines.conversations_in(self._file, self._content)
