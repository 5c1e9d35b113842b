"""Conversations in tables: one row for each message, or one for each conversation."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from evals_app.formats.conversations.messages import (
    AGENT,
    NOTE,
    OTHER,
    ROLES,
    SAYS_WHO,
    USER,
    MessageReader,
    in_turns,
)
from evals_app.formats.conversations.pasted import read_spoken
from evals_app.formats.conversations.recorded import ConversationFile, RecordedConversation
from evals_app.formats.conversations.records import MAX_TAGS, digest_of
from evals_app.formats.conversations.times import TimeReader
from evals_app.formats.foreign.words import plain
from evals_app.formats.tables.table import TITLES
from fixtures_app.ground.words import near

FIRST_ROWS = 5
_MIN_HEADERS = 2  # known ones, below a title

# What a column can be, as a person reads it, and headers that mean it, in small letters.
MEANINGS = {
    "id": "Number of the conversation",
    "author": "Who wrote the message",
    "text": "The message",
    "time": "When",
    "question": "What the customer wrote",
    "answer": "What the agent answered",
    "transcript": "The whole conversation",
    "tags": "Topics",
    "name": "Name of a person",
}
_HEADERS = {
    "id": "id|conversation|conversation id|ticket|ticket id|ticket number|case id|case number|chat id|thread|thread id"
    "|session|session id|konversation|vorgang|ticketnummer|fall|gespräch|conversation no|n de ticket|numéro|numero"
    "|numéro de ticket|caso|número de ticket|ticket no|ticket #|conversacion|conversación|interaction id",
    "author": "author|from agent|is agent|from customer|is customer|incoming|inbound|is inbound|outgoing|role|from|sender|speaker|author type|sender type|direction|written by|actor|von|absender|autor"
    "|rolle|verfasser|auteur|de|expéditeur|rôle|remitente|rol|user type|author role|participant",
    "text": "text|message|body|body text|content|comment|message text|message body|nachricht|inhalt|mitteilung|contenu|texte"
    "|mensaje|contenido|texto|utterance|plain body|message content",
    "time": "time|date|sent datetime|message date|created|created at|timestamp|sent at|sent|datum|zeit|uhrzeit|zeitpunkt|erstellt|erstellt am"
    "|heure|créé le|fecha|hora|creado|date time|datetime|created on|message time",
    "question": "question|customer message|user message|prompt|query|input|customer|user|frage|anfrage|kundenanfrage"
    "|pregunta|consulta|request|first message|description|kunde|demande",
    "answer": "answer|reply|response|agent reply|agent message|assistant|output|completion|antwort|réponse|respuesta"
    "|bot reply|bot response|agent|bot|agent answer",
    "transcript": "transcript|chat transcript|conversation transcript|full conversation|chat log|chat|verlauf"
    "|gesprächsverlauf|chatverlauf|transcription|transcripción|messages|conversation text|dialog|dialogue",
    "tags": "tags|tag|topic|topics|category|labels|label|thema|kategorie|schlagwort|schlagworte|catégorie|étiquettes"
    "|categoría|etiquetas|reason|subject area",
    "name": "name|customer name|requester|requester name|author name|sender name|agent name|kundenname|name des kunden"
    "|nom|nom du client|nombre|nombre del cliente|contact|contact name|assignee|full name",
}
_MEANING_OF = {
    header: meaning for meaning, written in _HEADERS.items() for header in written.split("|")
}
# Authors such as “Interne Notiz” and “Anna (internal)”; columns that say who sees a message.
_INTERNAL = re.compile(
    r"\b(?:intern(?:al|ally|e[rs]?|o|a)?|private?|priv[ée]e?|privado|privada|note|notiz|nota)\b",
    re.IGNORECASE,
)
_PUBLIC = re.compile(r"(?:is )?public|öffentlich|ist öffentlich|publique|p[uú]blic[oa]")
_PRIVATE = re.compile(
    r"(?:is )?(?:private|internal)|intern|privat|interne?|priv[ée]e?|intern[oa]|privad[oa]"
)
_VISIBILITY = re.compile(r"visibility|sichtbarkeit|visibilit[ée]|visibilidad")
_YES = frozenset(
    {"true", "yes", "y", "1", "x", "ja", "wahr", "oui", "vrai", "sí", "si", "verdadero"}
)
_NO = frozenset({"false", "no", "n", "0", "nein", "falsch", "non", "faux", "falso"})
SEVERAL = frozenset({"name"})  # meanings that more than one column may have
_NEEDS = (("text", "author"), ("question",), ("transcript",))
_ASKS = "Say which columns have what was said: the message and who wrote it; or what the customer wrote and the answer"


class ColumnsError(ValueError):
    """The columns of a table cannot be read as conversations; the message says what is missing."""


@dataclass(slots=True)
class ConversationTable:
    """Rows of a file. `columns` says by meaning which columns have it, counted from 0."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    first_line: int = 2
    columns: dict[str, list[int]] = field(default_factory=dict)

    @property
    def meanings(self) -> dict[str, str]:
        """The meaning of each column that has one, by its header."""
        return {
            self.headers[place]: meaning
            for meaning, places in self.columns.items()
            for place in places
        }

    def require_messages(self) -> None:
        """Raise ColumnsError if no column has what was said."""
        if not any(all(part in self.columns for part in needed) for needed in _NEEDS):
            known = ", ".join(filter(None, self.headers))
            raise ColumnsError(f"{_ASKS}; or the whole conversation. The columns are: {known}.")

    def cell(self, row: Sequence[str], meaning: str) -> str:
        """Return the cell of a row with this meaning; empty if there is none."""
        places = self.columns.get(meaning) or [len(row)]
        return row[places[0]].strip() if places[0] < len(row) else ""


def table_of(
    rows: Sequence[Sequence[str]], chosen: Mapping[str, str] | None = None
) -> ConversationTable:
    """Return rows with their headers, and what each column is: as chosen by header, else as guessed.

    Raises:
        ColumnsError: there are none, or a chosen column is not there.
    """
    head = header_row(rows, chosen or {})
    table = ConversationTable([cell.strip() for cell in rows[head]], rows[head + 1 :], head + 2)
    for header, meaning in (chosen or {}).items():
        if header not in table.headers:
            raise ColumnsError(f"There is no column {header!r}.{near(header, table.headers)}")
        if meaning and meaning not in MEANINGS:
            raise ColumnsError(f"A column cannot be {meaning!r}.{near(meaning, MEANINGS)}")
        if meaning:
            table.columns.setdefault(meaning, []).append(table.headers.index(header))
    _guess(table, chosen or {})
    return table


def header_row(rows: Sequence[Sequence[str]], chosen: Collection[str] = ()) -> int:
    """Return which row has the headers, counted from 0: titles may be above it.

    Raises:
        ColumnsError: there are no rows.
    """
    filled = [n for n, row in enumerate(rows) if any(cell.strip() for cell in row)]
    if not filled:
        raise ColumnsError("The table is empty.")
    for place in filled[:TITLES]:
        cells = {cell.strip() for cell in rows[place]}
        known = {_meaning(cell) for cell in cells} - {None}
        if len(known) + len(cells.intersection(chosen)) >= _MIN_HEADERS:
            return place
    return filled[0]


def _meaning(header: str) -> str | None:
    return _MEANING_OF.get(plain(header).replace("_", " ").strip())


def _guess(table: ConversationTable, chosen: Mapping[str, str]) -> None:
    """Guess what the other columns are by their headers."""
    for place, header in enumerate(table.headers):
        meaning = _meaning(header)
        is_free = meaning in SEVERAL or meaning not in table.columns
        if meaning and is_free and header not in chosen:
            table.columns.setdefault(meaning, []).append(place)
    guessed = table.columns.keys() - set(chosen.values())
    if {"text", "author"} <= table.columns.keys():
        for other in guessed & {"question", "answer", "transcript"}:
            table.columns.pop(other)
    elif "text" in guessed and "question" not in table.columns:
        is_spoken = "answer" not in table.columns
        table.columns["transcript" if is_spoken else "question"] = table.columns.pop("text")


def conversations_of(
    table: ConversationTable, file: ConversationFile
) -> Iterator[RecordedConversation]:
    """Read the conversations of a table, in the order in which they begin."""
    times = TimeReader(table.cell(row, "time") for row in table.rows)
    if times.is_guess:
        first = "month" if times.is_month_first else "day"
        file.remark(f"Dates such as 3/4/2026 are read with the {first} first.")
    is_by_message = {"text", "author"} <= table.columns.keys()
    if is_by_message and "time" not in table.columns:
        file.remark(
            "No column says when messages were written, so they are in the order of the file."
        )
    if any(map(times.read, filter(None, table.headers))):
        file.remark(
            "The first row looks like a conversation. Write headings above it: it is taken as them."
        )
    groups = _groups(table, file, times)
    roles = _roles(table, groups, file) if is_by_message else {}
    for rows in groups.values():
        if not is_by_message and len(rows) > 1:
            _sort(rows, table, times)
        reader = MessageReader(file, times)
        for line, row in rows:
            reader.read(_messages(table, row, line, file, roles))
        if found := _conversation(table, reader, rows, file):
            yield found


def _groups(
    table: ConversationTable, file: ConversationFile, times: TimeReader
) -> dict[str, list[tuple[int, Sequence[str]]]]:
    """Return the rows of each conversation with their lines, and count what is left out of them."""
    is_by_message = {"text", "author"} <= table.columns.keys()
    groups: dict[str, list[tuple[int, Sequence[str]]]] = {}
    seen: set[int] = set()
    for line, row in enumerate(table.rows, table.first_line):
        if not any(cell.strip() for cell in row):
            continue
        key, at = table.cell(row, "id"), table.cell(row, "time")
        if is_by_message and not key and "id" in table.columns:
            file.problems.append(f"{file.name}:{line}: the row has no number of a conversation.")
            continue
        # Without a time, people may well have written the same twice.
        if key and (at or not is_by_message):
            if (whole := hash(tuple(row))) in seen:
                file.lose("Rows that are in the file twice were left out.")
                continue
            seen.add(whole)
        if at and times.read(at) is None:
            file.lose("Times that cannot be read were left out.")
        if any(cell.strip() for cell in row[len(table.headers) :]):
            file.lose("Cells without a heading were left out.")
        if not is_by_message and key in groups:
            file.remark("Rows with the same number are one conversation.")
        groups.setdefault(key if key or is_by_message else str(line), []).append((line, row))
    return groups


def _sort(
    rows: list[tuple[int, Sequence[str]]], table: ConversationTable, times: TimeReader
) -> None:
    """Put questions with their answers into the order of their times, if all have one."""
    found = {line: times.read(table.cell(row, "time")) for line, row in rows}
    known = {line: at for line, at in found.items() if at is not None}
    if len(known) == len(rows):
        rows.sort(key=lambda item: known[item[0]])


def _roles(
    table: ConversationTable,
    groups: Mapping[str, Sequence[tuple[int, Sequence[str]]]],
    file: ConversationFile,
) -> dict[str, str]:
    """Return the role of each author: by its words, else by those of the others; "" if it is unknown."""
    authors = {table.cell(row, "author") for lines in groups.values() for _, row in lines}
    header = plain(table.headers[table.columns["author"][0]]).replace(" ", "_")
    if role := SAYS_WHO.get(header):
        return {
            author: role if author.lower() in _YES else OTHER[role] if author.lower() in _NO else ""
            for author in authors
        }
    found = {author: _role_in_words(author) for author in authors}
    names = [author for author, role in found.items() if not role]
    has_user, has_agent = USER in found.values(), AGENT in found.values()
    if has_user != has_agent:
        return found | dict.fromkeys(names, AGENT if has_user else USER)
    if not has_user and names:
        askers = _askers(table, groups)
        file.remark("Authors are names, so who asks and who answers is a guess.")
        found |= {name: USER if name in askers else AGENT for name in names}
    return found


def _role_in_words(author: str) -> str:
    return NOTE if _INTERNAL.search(author) else ROLES.get(author.lower(), "")


def _is_hidden(table: ConversationTable, row: Sequence[str]) -> bool:
    """Whether a column says that customers do not see a row."""
    for header, cell in zip(table.headers, row, strict=False):
        word, value = plain(header).replace("_", " ").strip(), cell.strip().lower()
        if (_PUBLIC.fullmatch(word) and value in _NO) or (
            _PRIVATE.fullmatch(word) and value in _YES
        ):
            return True
        if _VISIBILITY.fullmatch(word) and _INTERNAL.search(value):
            return True
    return False


def _askers(
    table: ConversationTable, groups: Mapping[str, Sequence[tuple[int, Sequence[str]]]]
) -> set[str]:
    """Return the authors that are customers, where the file has names instead of roles.

    A name that is in most conversations answers; if none is, who begins a conversation asks.
    """
    seen = Counter(
        author
        for rows in groups.values()
        for author in {table.cell(row, "author") for _, row in rows}
    )
    busy = {name for name, count in seen.items() if count > max(1, len(groups) / 2)}
    return seen.keys() - busy if busy else {table.cell(r[0][1], "author") for r in groups.values()}


def _messages(
    table: ConversationTable,
    row: Sequence[str],
    line: int,
    file: ConversationFile,
    roles: Mapping[str, str],
) -> list[dict[str, str]]:
    at = table.cell(row, "time")
    if "transcript" in table.columns:
        spoken = read_spoken(table.cell(row, "transcript"))
        if not spoken:
            file.problems.append(f"{file.name}:{line}: nothing in it says who wrote what.")
        return spoken
    if "author" not in table.columns or "text" not in table.columns:
        pair = (("user", table.cell(row, "question")), ("assistant", table.cell(row, "answer")))
        return [{"role": role, "content": text} for role, text in pair if text]
    if not table.cell(row, "text"):
        file.lose("Messages without a text were left out.")
        return []
    role = NOTE if _is_hidden(table, row) else roles[table.cell(row, "author")]
    if not role:
        file.lose("Messages of authors who are neither customer nor agent were left out.")
        return []
    return [{"role": role, "content": table.cell(row, "text"), "created_at": at}]


def _conversation(
    table: ConversationTable,
    reader: MessageReader,
    rows: Sequence[tuple[int, Sequence[str]]],
    file: ConversationFile,
) -> RecordedConversation | None:
    line, row = rows[0]
    if all(one.at for one in reader.said):
        reader.said.sort(key=_time)
    history, turns = in_turns(reader.said, reports_calls=False)
    if not turns:
        file.lose("Conversations without a message of a customer were left out.")
        return None
    people = [row[place].strip() for _, row in rows for place in table.columns.get("name", ())]
    authors = [table.cell(row, "author") for _, row in rows]
    known = {place for places in table.columns.values() for place in places}
    tags = [tag.strip() for tag in table.cell(row, "tags").replace(";", ",").split(",")]
    return RecordedConversation(
        id=table.cell(row, "id") or digest_of(turns),
        turns=turns,
        history=history,
        happened_at=_first_time(reader, table.cell(row, "time")),
        tags=tuple(dict.fromkeys(filter(None, tags)))[:MAX_TAGS],
        names=tuple(
            dict.fromkeys(filter(None, [*people, *(a for a in authors if a.lower() not in ROLES)]))
        ),
        facts={
            header: row[place].strip()
            for place, header in enumerate(table.headers)
            if header and place not in known and place < len(row) and row[place].strip()
        },
        place=f"{file.name}:{line}",
    )


def _time(said: object) -> datetime:
    found: datetime = said.at  # type: ignore[attr-defined]
    return found


def _first_time(reader: MessageReader, written: str) -> datetime | None:
    return next((one.at for one in reader.said if one.at), None) or reader.times.read(written)
