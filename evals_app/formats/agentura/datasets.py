"""Datasets: rows of JSON Lines, each a question or a conversation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evals_app.engine.basics.matchers import MATCHER_KEYS
from evals_app.formats.agentura.shapes import Assistant, Row, User
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.reading.json_lines import read_json_lines
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import FormatError, Loc, Problem
from fixtures_app.ground.words import near

MAX_ROWS = 25_000


@dataclass(frozen=True, slots=True)
class DatasetTurn:
    """A message of the user, what should be answered, and where in the row they are."""

    user: str
    expected: str | None
    user_loc: Loc
    expected_loc: Loc
    is_scored: bool = True


@dataclass(frozen=True, slots=True)
class DatasetConversation:
    """A row as the conversation that it is."""

    row: Row
    exchanges: list[DatasetTurn]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Dataset:
    """The rows that are valid on their own; what else they need depends on the suite."""

    document: ParsedFile
    conversations: list[DatasetConversation]
    is_valid: bool


def read_dataset(
    path: str, content: bytes, around: ReaderContext
) -> tuple[Dataset | None, Sequence[Problem]]:
    """Read a dataset; None if it has no rows, and everything that is wrong with it."""
    try:
        document = read_json_lines(path, content)
    except FormatError as error:
        return None, error.problems
    if not document.data:
        return None, [document.problem((), "This dataset has no rows, so there is nothing to ask.")]
    if len(document.data) > MAX_ROWS:
        message = (
            f"A dataset has at most {MAX_ROWS:,} rows. Split it into several datasets, each with "
            "its own suite."
        )
        return None, [document.problem((MAX_ROWS,), message, value="")]
    if len(document.data) == 1 and isinstance(document.data[0], list):
        message = (
            "Write one row per line, each as {...}, without a list around them or commas between "
            "them."
        )
        return None, [document.problem((0,), message)]
    rows = ForeignFile(document, around)
    read = (_conversation(rows, (n,)) for n in range(len(document.data)))
    conversations = list(filter(None, read))
    return Dataset(document, conversations, rows.is_valid), list(_losses_once(rows.problems))


def row_problems(dataset: Dataset, kind: str) -> Iterator[Problem]:
    """Report what a suite of this type needs and rows lack, and what it ignores."""
    return _losses_once(_row_problems(dataset, kind))


def _row_problems(dataset: Dataset, kind: str) -> Iterator[Problem]:
    for conversation in dataset.conversations:
        if conversation.row.expected_tool is not None and kind in ("golden_dataset", "llm_judge"):
            message = (
                f"A suite of type {kind} does not check calls. Use the type tool_use for that."
            )
            place = (*conversation.loc, "expected_tool")
            yield dataset.document.problem(place, message, at_key=True, level="loss")
        if kind == "golden_dataset":
            message = "The key `expected` is missing: golden_dataset compares the reply with it."
            for part in conversation.exchanges:
                if part.is_scored and part.expected is None:
                    place = part.expected_loc[:-1]
                    instead = _misspelt(dataset.document.value(place), "expected")
                    yield dataset.document.problem(place, f"{message}{instead}")
        elif kind == "tool_use":
            yield from _tool_problems(dataset.document, conversation.row, conversation.loc)


def _misspelt(part: Mapping[str, object], key: str) -> str:
    """Name what a part has in place of a key."""
    keys = [item for item in part if item not in Row.model_fields and near(item, [key])]
    if key == "expected" and "content" in part:
        keys.append("content")
    return f" Here it is written `{keys[0]}`." if keys else ""


def _tool_problems(document: ParsedFile, row: Row, loc: Loc) -> Iterator[Problem]:
    if row.conversation is not None:
        message = "Rows of tool_use have an `input`. Conversations are for other types."
        yield document.problem((*loc, "conversation"), message)
    elif row.expected_tool is None:
        message = "The key `expected_tool` is missing: the tool that should be called."
        instead = _misspelt(document.value(loc), "expected_tool")
        yield document.problem(loc, f"{message}{instead}")
    if row.expected is not None and row.conversation is None:
        message = (
            "A suite of type tool_use does not compare anything with `expected`. Write what the "
            "reply should contain as `expected_output`."
        )
        yield document.problem((*loc, "expected"), message, at_key=True, level="loss")
    for name, value in (row.expected_args or {}).items():
        operators = value.keys() & set(MATCHER_KEYS) if isinstance(value, dict) else ()
        if operators:
            message = (
                f"The key {min(operators)} makes this a matcher here, which says how an argument is"
                " compared; Agentura compares the mapping itself."
            )
            yield document.problem((*loc, "expected_args", name), message, level="warning")


def _conversation(rows: ForeignFile, loc: Loc) -> DatasetConversation | None:
    row = rows.part(Row, loc)
    if row is None:
        return None
    if (row.input is None) == (row.conversation is None):
        rows.say(loc, "A row has either an `input` or a `conversation`, not both.")
        return None
    if row.input is None:
        if row.expected is not None:
            message = "In a conversation each message of the assistant has the key `expected`."
            rows.say((*loc, "expected"), message, at_key=True)
        exchanges = _exchanges(rows, row, loc)
        return None if exchanges is None else DatasetConversation(row, exchanges, loc)
    if row.eval_turns:
        message = "`eval_turns` selects turns of a `conversation`. This row has one turn. Left out."
        rows.say((*loc, "eval_turns"), message, at_key=True, level="loss")
    whole = DatasetTurn(row.input, row.expected, (*loc, "input"), (*loc, "expected"))
    return DatasetConversation(row, [whole], loc)


def _exchanges(rows: ForeignFile, row: Row, loc: Loc) -> list[DatasetTurn] | None:
    """Pair the messages of a row.

    Report a problem and return None if they do not alternate, or are invalid.
    """
    here = (*loc, "conversation")
    count = len(row.conversation or [])
    if not _has_roles(rows, here, count):
        return None
    if count == 0 or count % 2:
        message = (
            "The last message of a conversation must be the assistant's, with the key `expected`."
        )
        rows.say(here, message)
    positions = range(2, count + 1, 2)
    for k, position in enumerate(row.eval_turns or ()):
        if position not in positions:
            message = (
                "eval_turns counts all messages from 1 and may only name messages of the "
                f"assistant, here {', '.join(map(str, positions)) or 'none'}."
            )
            rows.say((*loc, "eval_turns", k), message)
    scored = row.eval_turns or [count]
    pairs = [
        (rows.part(User, (*here, at)), rows.part(Assistant, (*here, at + 1)))
        for at in range(0, count - 1, 2)
    ]
    exchanges = [
        DatasetTurn(
            user.content,
            assistant.expected,
            user_loc=(*here, 2 * k, "content"),
            expected_loc=(*here, 2 * k + 1, "expected"),
            is_scored=2 * k + 2 in scored,
        )
        for k, (user, assistant) in enumerate(pairs)
        if user is not None and assistant is not None
    ]
    return exchanges if len(exchanges) == len(pairs) else None


def _has_roles(rows: ForeignFile, here: Loc, count: int) -> bool:
    """Whether the user and the assistant take turns; the first message out of turn is reported."""
    for at in range(count):
        role = "assistant" if at % 2 else "user"
        written = rows.document.value((*here, at, "role"))
        if written != role:
            message = f"Messages alternate and the user begins, so this one needs the role {role}."
            if written in ("system", "developer"):
                message = f"{message} The agent's own instructions belong to the agent."
            rows.say((*here, at, "role"), message)
            return False
    return True


def _losses_once(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Report what all rows lose, once, at the first of them."""
    reported: set[str] = set()
    for problem in problems:
        if problem.level == "loss" and problem.message in reported:
            continue
        reported.add(problem.message)
        yield problem
