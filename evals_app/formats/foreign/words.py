"""What tools and data sets call the parts of a case."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any

from evals_app.formats.foreign.chats import is_chat, is_conversation
from evals_app.formats.reading.problems import Loc

_LOOKED_AT = 10  # rows
_MAX_LEVELS = 6  # above the rows of a data set
_WRAPPERS = ("item", "row")
# Lists of records in records, as SQuAD has questions in paragraphs in articles.
_NESTED = ("articles", "paragraphs", "qas", "qa pairs")
_SEPARATORS = re.compile(r"[\W_]+")
# expectedOutput, as JavaScript programs write it.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# In English first, then in German, Spanish and French.
NAME = (
    *("case", "case name", "name", "test", "test case", "title", "id", "case id", "test id"),
    *("fall", "testfall", "titel", "caso", "título", "cas", "cas de test", "titre"),
)
USER = (
    *("user", "question", "input", "inputs", "prompt", "message", "user message", "query"),
    *("request", "user input", "user says", "user query", "user prompt", "user question"),
    *("customer question", "customer message", "utterance", "frage", "kundenfrage", "anfrage"),
    *("nachricht", "eingabe", "pregunta", "consulta", "mensaje", "entrada", "demande", "requête"),
)
EXPECTED = (
    *("expected", "answer", "expected answer", "expected output", "expected response", "expect"),
    *("expected result", "expected completion", "expected reply", "ground truth", "correct answer"),
    *("reference", "reference answer", "reference output", "ideal", "ideal answer", "gold"),
    *("gold answer", "golden answer", "model answer", "right answer", "answers"),
    *("expected answers", "correct answers", "accepted answers", "references", "target"),
    *("output", "outputs", "completion"),
    *("antwort", "erwartet", "erwartete antwort", "musterantwort", "soll antwort", "sollantwort"),
    *("answer key", "best answer", "reference response", "assistant"),
    *("lösung", "respuesta", "respuesta esperada", "esperado", "réponse", "réponse attendue"),
    "attendu",
)
# Rows of one conversation have the same value under one of these.
SESSIONS = frozenset(
    {"session", "session id", "conversation id", "thread id", "dialogue id", "dialog id", "chat id"}
)
NOTES = (
    *("notes", "note", "comment", "comments", "bemerkung", "bemerkungen", "notiz", "kommentar"),
    *("hinweis", "beschreibung", "nota", "comentario", "descripción", "remarque", "commentaire"),
)
# The answer of a sorting task, or a topic to filter by.
ANSWERS_OR_TAGS = ("class", "intent", "sentiment", "classification")
TAGS = (
    *("tag", "category", "categories", "label", "labels", "topic", "kategorie", "thema"),
    *("categoría", "tema", "etiqueta", "catégorie", "thème", "étiquette", *ANSWERS_OR_TAGS),
)
MUST_SAY = (
    *("must contain", "reply contains", "keywords", "expected keywords", "key facts"),
    *("required keywords", "must have keywords"),
    *("required facts", "expected facts", "enthält", "muss enthalten", "muss vorkommen"),
    *("soll enthalten", "debe contener", "debe aparecer", "contiene"),
    *("doit contenir", "doit apparaître", "contient"),
)
# Under these a cell has several words, with commas between them.
KEYWORDS = (
    *("keywords", "expected keywords", "required keywords", "must have keywords"),
    *("forbidden words", "banned words", "forbidden keywords", "banned keywords"),
    *("forbidden", "banned", "verboten", "prohibido", "interdit"),
)
NUMBERS = (
    *("expected number", "expected amount", "expected value", "erwartete zahl"),
    *("erwarteter betrag", "número esperado", "nombre attendu"),
)
MUST_NOT_SAY = (
    *("must not contain", "forbid", "forbids", "forbidden", "forbidden facts", "banned"),
    *("forbidden words", "forbidden phrases", "banned words", "banned phrases", "nicht sagen"),
    *("forbidden keywords", "banned keywords"),
    *("darf nicht enthalten", "darf nicht vorkommen", "enthält nicht", "verboten"),
    *("no debe contener", "no debe aparecer", "prohibido"),
    *("ne doit pas contenir", "ne doit pas apparaître", "interdit"),
)
EXPECTED_TOOLS = (
    *("expected tools", "expected tool", "expected tool calls", "expected tool call"),
    *("expected tool use", "expected function calls", "expected calls"),
)
CRITERIA = (
    *("criterion", "judge", "criteria judge", "judge criteria", "rubric", "rubrics"),
    *("expectations", "grading notes", "grading criteria", "evaluation criteria"),
    *("success criteria", "pass criteria", "acceptance criteria", "expected behavior"),
    *("expected behaviour", "kriterium", "kriterien", "criterio", "criterios", "critère"),
    "critères",
)
# Of the words for an answer some mean what a model answered once.
OUTPUTS = ("output", "outputs", "completion", "assistant")
# Beside an output they say that it is the result of an earlier run.
RESULTS = frozenset(
    {"passed", "pass", "score", "scores", "success", "grade", "verdict", "is correct", "correct"}
    | {"failed", "failure reason", "latency", "latency ms", "metrics data", "pass fail"}
)
# Words of a key under which someone may have written what is checked.
_CHECKS = re.compile(
    r"\b(?:expect|must|should|forb|assert|criteri|rubric|evaluators?\b|checks?\b"
    r"|soll|erwart|muss|darf|verbot|debe|esperad|prohib|doit|attendu|interdi)"
)
# Under these a data set has a list of chat messages.
CONVERSATIONS = ("turns", "conversation", "conversations", "dialogue", "dialog")
MESSAGES = ("messages", "chat", *CONVERSATIONS)


@lru_cache(maxsize=4096)  # the same keys are in each of many records
def plain(word: str) -> str:
    """Normalize the case and punctuation of a word: `maxTime_(ms)` is max time ms."""
    return _SEPARATORS.sub(" ", _HUMP.sub(" ", word)).strip().casefold()


def sounds_like_check(word: str) -> bool:
    """Whether a key that is not known may say what is checked: expected_tool, must_include."""
    return _CHECKS.search(plain(word)) is not None


def text_of(value: object) -> str:
    """Write a value of a data set as text."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def rows_place(data: object, chosen: Collection[str] = ()) -> Loc | None:
    """Return the place of the rows of a data set: the one list of records that asks something.

    Without one it is the one list whose rows are wrapped, or the one list of records that there is;
    `chosen` are keys that a person gave a meaning. A mapping of records by their names, or of lists
    of the same length, is a list, too.
    """
    places = record_places(data)
    asking = [loc for loc, rows in places if _ask_something(rows, chosen)]
    wrapped = [loc for loc, rows in places if any(map(wrapper_of, rows[:_LOOKED_AT]))]
    found = asking or wrapped or [loc for loc, _ in places]
    return found[0] if len(found) == 1 or (asking and asking[0] == ()) else None


def record_places(data: object) -> list[tuple[Loc, list[object]]]:
    """Return the lists of records in some data, with their places."""
    return list(_record_places(data, (), _MAX_LEVELS))


def _record_places(data: object, loc: Loc, levels: int) -> Iterator[tuple[Loc, list[object]]]:
    """Find the lists of mappings in some data, the outermost ones."""
    rows = rows_in(data)
    if any(isinstance(record_in(row), dict) for row in rows[:_LOOKED_AT]):
        yield loc, rows
    elif isinstance(data, dict) and levels:
        for key, value in data.items():
            yield from _record_places(value, (*loc, key), levels - 1)


def rows_in(data: object) -> list[object]:
    """Return the rows that some data is: a list, records by name, or lists of the same length.

    One conversation is one row.
    """
    if isinstance(data, list):
        return [data] if is_conversation(data) else data
    if not isinstance(data, dict) or not data:
        return []
    if any(plain(key) in MESSAGES and is_conversation(value) for key, value in data.items()):
        return [data]
    values = list(data.values())
    if len(values) > 1 and all(
        isinstance(value, dict) and _ask_something([value]) for value in values
    ):
        return [{"id": key, **value} for key, value in data.items()]
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) == len(values) > 1 and len(set(map(len, lists))) == 1 and _ask_something([data]):
        return [dict(zip(data, row, strict=True)) for row in zip(*lists, strict=True)]
    return []


def flat_rows(rows: Sequence[object]) -> list[tuple[Loc, object]]:
    """Return rows with their places in a list; one with a list of rows in it is those, with its keys."""
    flat: list[tuple[Loc, object]] = []
    for n, row in enumerate(rows):
        keys = row if isinstance(row, dict) else {}
        inner = next((key for key in keys if plain(key) in _NESTED and rows_in(keys[key])), None)
        if inner is None:
            flat.append(((n,), row))
            continue
        above = {key: value for key, value in keys.items() if key != inner}
        flat += [
            ((n, inner, *steps), {**below, **{key: above[key] for key in above.keys() - below}})
            for steps, below in flat_rows(keys[inner])
            if isinstance(below, dict)
        ]
    return flat


def _ask_something(rows: Sequence[object], chosen: Collection[str] = ()) -> bool:
    """Whether one of the first rows has a column of messages."""
    words = {*USER, *MESSAGES, *chosen}
    flat = (row for _, row in flat_rows(rows[:_LOOKED_AT]))
    records = (row for row in map(record_in, flat) if isinstance(row, dict))
    return any(plain(key) in words for row in records for key in row)


def wrapper_of(row: object) -> str:
    """Return the key under which a row has its record, as exports of tools wrap it; else nothing."""
    keys = (key for key in _WRAPPERS if isinstance(row, dict) and isinstance(row.get(key), dict))
    return next(keys, "")


def record_in(row: Any) -> object:
    """Return the record that a row is: `{"item": {...}}`, `{"row_idx": 0, "row": {...}}`, or a chat."""
    wrapper = wrapper_of(row)
    if is_chat(row):
        return {CONVERSATIONS[0]: row}
    return row[wrapper] if wrapper else row
