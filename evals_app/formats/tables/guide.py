"""What people read about the columns of a table: a sentence for each, and the values of some."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evals_app.formats.tables.columns import NO_CHECK, column_of, ways

# Each sentence also helps to choose a column for a header that is unknown.
ABOUT: Mapping[str, str] = {
    "user": "The message of the user. This is the only column that every table needs.",
    "expected": "The expected answer.",
    "choices": "The options of a question, one per line. They are sent with the message.",
    "check": (
        "How the reply is compared with the expected answer. Leave blank for the usual way, which "
        "depends on the kind of answer: a number, a label, a sentence."
    ),
    "contains": "Texts that the reply must contain, one per line.",
    "number": "Numbers that the reply must give, one per line.",
    "not contains": "Texts that the reply must not contain, one per line.",
    "matches": "Patterns that the reply must match, one per line.",
    "not matches": "Patterns that the reply must not match, one per line.",
    "exact match": "The whole reply, to the letter.",
    "tool called": "Names of tools that the agent must call, one per line.",
    "tool calls": "Names of tools that the agent must call, or calls with arguments, as JSON.",
    "tool not called": "Names of tools that the agent must not call, one per line.",
    "criteria": "What a judge must find true of the reply, one criterion per line.",
    "checks": "Other checks with all their options, as YAML.",
    "inherit": "TRUE applies the suite's checks too. Leave blank for FALSE.",
    "case": "The name of the case. Rows with the same name are one conversation.",
    "description": "A text for people.",
    "tags": "Words for filtering, separated by commas.",
    "enabled": "FALSE leaves the case out of runs. Leave blank for TRUE.",
    "channel": "The channel of the conversation, for prompts.",
    "context params": "Parameters for prompts, as YAML: {name: value}.",
    "history": "Earlier messages, as YAML: [{role: user, content: Hi}].",
    "files": "Files that the user shows, one path per line.",
    "context": "A fact that judges may rely on.",
    "retrieval context": "The text that the reply must be based on.",
    "config": "Options for checks by your own code, as YAML.",
    "final checks": "Checks of the whole conversation, as YAML.",
    "max prompt tokens": "The most prompt tokens that the case may use.",
    "max response tokens": "The most response tokens that the case may use.",
    "max time ms": "The most time that the case may take, in milliseconds.",
    "max cost usd": "The most that the case may cost, in US dollars.",
    "max tool calls": "The most tool calls that the case may make.",
    "turn timeout s": "How long the agent may take for each turn, in seconds.",
    "streaming": "TRUE streams the replies, FALSE does not.",
    "replay": "TRUE says a real user's words only while they fit.",
    "simulated user": "The user whom a model plays, as YAML: {goal: A refund}.",
    "trials": "How often the case is run.",
    "pass threshold": "The score that the case has to reach, such as 0.9, where the score decides.",
    "clock": "The time in the conversation, such as 2026-05-01T09:30:00+00:00.",
    "suite": "The name of the suite, in the first row.",
    "slug": "The slug of the suite, in the first row.",
    "agent": "The slug of the agent, in the first row.",
    "settings": "Other settings of the suite, as YAML, in the first row.",
}
ABOUT_PARAM = "A parameter of the case, for prompts."

_MAX_CHARS = 255  # of the values of a drop-down, as Excel allows
_FLAGS = ("TRUE", "FALSE")
_FLAG_COLUMNS = ("inherit", "enabled", "streaming", "replay")


@dataclass(frozen=True, slots=True)
class Guide:
    """What a workbook shows about a column: a note at its header, and values in a drop-down."""

    note: str
    values: tuple[str, ...] = ()


def guides_of(rows: Sequence[Sequence[str]], *, tools: Collection[str] = ()) -> list[Guide | None]:
    """Return a guide for each column of a table of cases; None for a column that is not ours.

    `tools` are those of the agent. They and those that a column names are offered in all its rows.
    """
    headers, *others = rows
    return [_guide(header, [row[n] for row in others], tools) for n, header in enumerate(headers)]


def _guide(header: str, cells: Iterable[str], tools: Collection[str]) -> Guide | None:
    column = column_of(header)
    if column is None:
        return None
    known = column.header
    if known == "check":
        values = _fitting([NO_CHECK, *ways()])
    elif known in _FLAG_COLUMNS:
        values = _FLAGS
    elif known in {"tool called", "tool calls", "tool not called"}:
        lines = (line.strip() for cell in cells for line in cell.splitlines())
        values = _fitting(sorted({*tools, *filter(None, lines)}))
    else:
        values = ()
    return Guide(ABOUT.get(known, ABOUT_PARAM), values)


def _fitting(values: Iterable[str]) -> tuple[str, ...]:
    """Return as many values as a drop-down can have."""
    fitting: list[str] = []
    for value in values:
        is_plain = value.isprintable() and "," not in value
        if is_plain and len(",".join([*fitting, value])) <= _MAX_CHARS:
            fitting.append(value)
    return tuple(fitting)
