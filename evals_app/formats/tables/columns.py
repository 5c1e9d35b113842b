"""The columns of a table of cases: their headers, and what a cell under them says."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import ValidationError

from evals_app.engine.graders import GRADERS
from evals_app.formats.foreign import words
from evals_app.formats.foreign.words import plain
from evals_app.formats.reading.problems import Json
from evals_app.formats.tables.values import (
    CHECKS,
    DATA,
    FLAG,
    LINES,
    NAME,
    NUMBER,
    OPTIONS,
    PASSAGES,
    SCALAR,
    TAGS,
    TEXT,
    WHOLE,
    CellKind,
)
from evals_app.formats.tables.wanted import (
    ANY_NUMBER,
    USUAL,
    WHOLE_WORDS,
    Wanted,
    looks_like_data,
    means,
    number_check,
    one_of,
    read_wanted,
)
from fixtures_app.ground.words import near, nearest
from fixtures_app.ground.written_data import data_in

Owner = Literal["suite", "case", "turn"]

_PARAM = re.compile(r"\s*param(?:eter)?\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
# Headers that say what the reply must or must not have: must_say, should not mention.
_SAY = "(?:contain|include|mention|say|have)s?"
_MUST = re.compile(
    rf"(?P<not>(?:must|should|may|does|do) (?:not|never)(?: {_SAY})?|never(?: {_SAY})?|not {_SAY})"
    rf"|(?:must|should)(?: {_SAY})?|includes?|mentions?"
)
# A comma within a number is none: 1,234.
_COMMAS = re.compile(r"\s*(?:;|,(?!\d)|(?<!\d),)\s*")
_THRESHOLD = re.compile(r"(?:\s*>=\s*|\s+)([01]?\.\d+|[01])\s*$")


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """A column; `path` is where its value belongs in the suite, the case or the turn."""

    header: str
    owner: Owner
    path: tuple[str, ...]
    kind: CellKind = TEXT
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckColumn:
    """A column whose cells contain a text or a list of texts: `option` of a check of this type each.

    `any_of` makes one check of several texts of which any one is enough; without it each is a check
    of its own. `one` makes the check of one text, if that depends on the text.
    """

    header: str
    check: Mapping[str, Any]
    option: str
    others: tuple[str, ...] = ()
    any_of: Callable[[Sequence[str]], dict[str, object]] | None = None
    one: Callable[[str], dict[str, object]] | None = None
    # Between the texts of a cell; by the header alone, so the column is the same one.
    has_commas: bool = field(default=False, compare=False)

    def parts(self, cell: str) -> list[Wanted]:
        """Return what a cell says; each part is read by itself."""
        if self.has_commas and data_in(cell) is None:
            cell = _COMMAS.sub("\n", cell)
        wanted = read_wanted(cell)
        if self.is_whole_reply and len(wanted) > 1 and data_in(cell) is not None:
            raise ValueError(
                "No reply is exactly two texts. If any one of them is right, write a list in the "
                'list: [["...", "..."]].'
            )
        return wanted

    @property
    def is_whole_reply(self) -> bool:
        return bool(self.check["type"] == "exact_match")

    @property
    def is_pattern(self) -> bool:
        return self.check["type"] in {"matches", "not_matches"}

    def read(self, part: Wanted) -> list[Json]:
        """Return the checks that a part of a cell means."""
        if isinstance(part, tuple) and self.any_of:
            return [self.any_of(part)]
        texts = part if isinstance(part, tuple) else (part,)
        return [self.one(text) if self.one else {**self.check, self.option: text} for text in texts]

    def write(self, assertion: Mapping[str, object]) -> str | None:
        """Return the line of a check; None if it says more, or something else."""
        line = assertion.get(self.option)
        if not isinstance(line, str) or read_wanted(line) != [line]:
            return None
        # With the lines below it this may be a list. The brackets of a pattern are closed.
        if looks_like_data(line) and not self.is_pattern:
            return None
        return line if self.read(line) == [assertion] else None


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """The column whose cells say how a reply is compared with the expected text, one way a line."""

    header: str
    others: tuple[str, ...] = ()

    def parts(self, cell: str) -> list[Wanted]:
        """Return the lines of a cell."""
        return [stripped for line in cell.splitlines() if (stripped := line.strip())]

    def read(self, part: Wanted) -> list[Json]:
        """Return the check of a line; with a number after it, what its score must reach."""
        line = str(part)
        if line.casefold() == NO_CHECK:
            return []
        check = read_way(line)
        if check is None:
            hint = near(plain(line), _WAYS)
            raise ValueError(
                f"Unknown way to check a reply.{hint} Known: {NO_CHECK}, {', '.join(_WAYS)}."
            )
        return [check]

    def write(self, assertion: Mapping[str, object]) -> str | None:
        """Return the line of a check; None if it says more, or something else."""
        bare = {key: value for key, value in assertion.items() if key != "threshold"}
        name = next((name for name, way in _WAYS.items() if way == bare), None)
        line = f"{name} {assertion['threshold']}" if "threshold" in assertion else name
        return line if line and read_way(line) == assertion else None


def read_way(line: str) -> dict[str, object] | None:
    """Return the check that a way to compare means, with the number after it; None: it is unknown."""
    least = _THRESHOLD.search(line)
    way = _WAYS.get(plain(line[: least.start()] if least else line))
    return {**way, "threshold": float(least[1])} if way and least else way


def _needs_no_option(kind: str) -> bool:
    try:
        GRADERS[kind].model_validate({})
    except ValidationError:
        return False
    return True


def _any_true(criteria: Sequence[str]) -> dict[str, object]:
    listed = "\n".join(f"- {criterion}" for criterion in criteria)
    text = f"At least one of these is true of the reply:\n{listed}"
    return {"type": "llm_judge", "scale": "pass_fail", "criteria": text}


def _any_pattern(patterns: Sequence[str]) -> dict[str, object]:
    return {"type": "matches", "value": "|".join(f"(?:{pattern})" for pattern in patterns)}


def _any_exact(texts: Sequence[str]) -> dict[str, object]:
    pattern = "|".join(map(re.escape, texts))
    return {
        "type": "matches",
        "value": rf"\A(?:{pattern})\z",
        "case_sensitive": True,
        "means": means(texts),
    }


def _any_tool(_: Sequence[str]) -> dict[str, object]:
    raise ValueError(
        "A list in a list means that any one is enough, and a check is about one tool. Write the "
        "names in one list if all of them must be called."
    )


NO_CHECK = "none"
SAME_MEANING: dict[str, object] = {
    "type": "llm_judge",
    "criteria": "The reply says the same as the expected answer.",
    "scale": "pass_fail",
}
# Our own names first: exports write these.
_WAYS: dict[str, dict[str, object]] = {
    **{plain(kind): {"type": kind} for kind in GRADERS if _needs_no_option(kind)},
    "same meaning": SAME_MEANING,
    "whole words": WHOLE_WORDS,
    "exact": {"type": "exact_match"},
    "equals": {"type": "exact_match"},
    "number": {"type": "numeric", "extract": "last"},
    "last number": {"type": "numeric", "extract": "last"},
    "any number": ANY_NUMBER,
    "number comma": {"type": "numeric", "extract": "last", "decimal": "comma"},
    "meaning": SAME_MEANING,
}


@dataclass(frozen=True, slots=True)
class ToolsColumn:
    """The column of the tools that the agent is to call: their names, or calls with their arguments."""

    header: str
    others: tuple[str, ...] = ()
    is_pattern = False

    def parts(self, cell: str) -> list[Wanted]:
        """Return the names in a cell, or the whole cell if it is about arguments."""
        data = data_in(cell)
        calls = data if isinstance(data, list) else [data]
        return [cell] if any(isinstance(call, dict) for call in calls) else read_wanted(cell)

    def read(self, part: Wanted) -> list[Json]:
        """Return the check that the tools of a part were called."""
        data = None if isinstance(part, tuple) else data_in(part)
        if data is None:
            return (
                [{"type": "tool_called", "value": part}]
                if isinstance(part, str)
                else [_any_tool(part)]
            )
        calls = data if isinstance(data, list) else [data]
        return [{"type": "tool_calls", "tools": [_tool_call(call) for call in calls]}]

    def write(self, assertion: Mapping[str, object]) -> str | None:
        """Exports write calls in the column of checks."""
        return None


def _tool_call(call: object) -> dict[str, object]:
    """Read a call as tools and frameworks write it.

    Raises:
        ValueError: it names no tool, or its arguments are not keys with values.
    """
    if isinstance(call, str):
        return {"name": call}
    inner = call.get("function", call) if isinstance(call, dict) else {}
    written = inner if isinstance(inner, dict) else call
    named = (
        {plain(key): value for key, value in written.items()} if isinstance(written, dict) else {}
    )
    name = next((named[key] for key in _TOOL_NAMES if isinstance(named.get(key), str)), None)
    args: Any = next((named[key] for key in _TOOL_ARGS if named.get(key)), {})
    args = data_in(args) if isinstance(args, str) else args
    if not name or not isinstance(args, dict):
        raise ValueError(
            'Write each call as {"name": "...", "arguments": {...}}, or only its name.'
        )
    return {"name": name, **({"args": args} if args else {})}


_TOOL_NAMES = ("name", "tool", "tool name", "function", "function name")
_TOOL_ARGS = (
    "args",
    "arguments",
    "input",
    "inputs",
    "input parameters",
    "tool input",
    "parameters",
)

# What compares any expected text, whatever it is.
COMPARING: tuple[dict[str, object], ...] = (WHOLE_WORDS, ANY_NUMBER, USUAL, SAME_MEANING)

AnyColumn = SheetColumn | CheckColumn | ComparedColumn | ToolsColumn

# Headers that may mean two things, and which: asked, if nothing else in the table says it.
AMBIGUOUS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("label", "labels", "category", *words.ANSWERS_OR_TAGS), ("expected", "tags")),
    "tools": ("tool called", ""),
}

# In the order in which exports write them; the checks of a turn are also read in this order.
COLUMNS: tuple[AnyColumn, ...] = (
    SheetColumn("case", "case", ("name",), NAME, words.NAME[1:]),
    SheetColumn(
        *("description", "case", ("description",), TEXT),
        words.NOTES,
    ),
    SheetColumn(
        *("tags", "case", ("tags",), TAGS),
        words.TAGS,
    ),
    SheetColumn("enabled", "case", ("enabled",), FLAG),
    SheetColumn("channel", "case", ("channel",), NAME),
    SheetColumn("context params", "case", ("context_params",), DATA),
    SheetColumn(
        *("history", "case", ("history",), DATA),
        ("chat history", "conversation history", "previous messages", "message history", "verlauf"),
    ),
    SheetColumn("user", "turn", ("user",), TEXT, words.USER[1:]),
    SheetColumn("files", "turn", ("files",), LINES, ("file",)),
    SheetColumn("expected", "turn", ("expected",), TEXT, words.EXPECTED[1:]),
    SheetColumn(
        *("choices", "turn", ("choices",), OPTIONS),
        ("options", "answer choices", "answer options", "possible answers"),
    ),
    SheetColumn("context", "turn", ("context",), PASSAGES, ("facts",)),
    SheetColumn(
        *("retrieval context", "turn", ("retrieval_context",), PASSAGES),
        ("contexts", "retrieved contexts", "retrieved context", "documents", "passages", "passage"),
    ),
    SheetColumn("config", "turn", ("config",), DATA),
    ComparedColumn("check", ("compare", "comparison", "compare by", "metric")),
    CheckColumn(
        *("contains", {"type": "contains"}, "value"),
        words.MUST_SAY,
        any_of=one_of,
    ),
    CheckColumn(
        *("not contains", {"type": "not_contains"}, "value"),
        words.MUST_NOT_SAY,
    ),
    CheckColumn(
        *("number", dict(ANY_NUMBER), "value"),
        words.NUMBERS,
        any_of=one_of,
        one=number_check,
    ),
    CheckColumn("matches", {"type": "matches"}, "value", ("regex", "pattern"), _any_pattern),
    CheckColumn("not matches", {"type": "not_matches"}, "value"),
    CheckColumn(
        *("exact match", {"type": "exact_match"}, "value", ("equals", "exactly")),
        any_of=_any_exact,
    ),
    CheckColumn("tool called", {"type": "tool_called"}, "value", ("tool", "tools"), _any_tool),
    ToolsColumn(
        "tool calls",
        words.EXPECTED_TOOLS,
    ),
    CheckColumn("tool not called", {"type": "tool_not_called"}, "value"),
    CheckColumn(
        *("criteria", {"type": "llm_judge", "scale": "pass_fail"}, "criteria"),
        words.CRITERIA,
        _any_true,
    ),
    SheetColumn("checks", "turn", ("assertions",), CHECKS, ("assertions",)),
    SheetColumn("inherit", "turn", ("inherit",), FLAG),
    SheetColumn("final checks", "case", ("final_assertions",), CHECKS, ("final assertions",)),
    SheetColumn("max prompt tokens", "case", ("limits", "max_prompt_tokens"), WHOLE),
    SheetColumn("max response tokens", "case", ("limits", "max_response_tokens"), WHOLE),
    SheetColumn("max time ms", "case", ("limits", "max_time_ms"), WHOLE),
    SheetColumn("max cost usd", "case", ("limits", "max_cost_usd"), NUMBER),
    SheetColumn("max tool calls", "case", ("limits", "max_tool_calls"), WHOLE),
    SheetColumn("turn timeout s", "case", ("turn_timeout_s",), NUMBER, ("timeout s",)),
    SheetColumn("streaming", "case", ("streaming",), FLAG),
    SheetColumn("replay", "case", ("replay",), FLAG),
    SheetColumn("simulated user", "case", ("simulated_user",), DATA),
    SheetColumn("trials", "case", ("trials",), WHOLE),
    SheetColumn("pass threshold", "case", ("pass_threshold",), NUMBER),
    SheetColumn("clock", "case", ("clock",), NAME),
    SheetColumn("suite", "suite", ("suite",), NAME, ("suite name",)),
    SheetColumn("slug", "suite", ("slug",), NAME),
    SheetColumn("agent", "suite", ("agent",), NAME),
    SheetColumn("settings", "suite", (), DATA, ("suite settings",)),
)
CHOICES = next(column for column in COLUMNS if column.header == "choices")
CHECK_COLUMNS = tuple(column for column in COLUMNS if not isinstance(column, SheetColumn))

_BY_HEADER = {plain(name): column for column in COLUMNS for name in (column.header, *column.others)}
_BY_HEADER |= {
    word: replace(column, has_commas=True)
    for word in words.KEYWORDS
    if isinstance(column := _BY_HEADER[word], CheckColumn)
}
# What other tools write into their tables, and means nothing for a case.
LEFT_OUT = frozenset(
    {"actual output", "additional metadata", "available tools", "functions", "tool definitions"}
    | {"tools called", "created at", "custom column key values", "dataset id"}
    | {"dataset item id", "evaluators", "meta", "metadata", "reasoning", "source", "source file"}
    | {"source observation id", "source run id", "source trace id", "split", "span id", "status"}
    | {"trace id", "updated at", "version", "idx", "index", "nr", "no", "lfd nr"}
)
FOR_PEOPLE = "#"  # begins the header of a column that says nothing to us
HEADERS = (*(column.header for column in COLUMNS), "param:NAME")


def column_of(header: str) -> AnyColumn | None:
    """Return the column that a header means; None: it means none."""
    if is_for_people(header) or is_of_promptfoo(header):
        return None
    if (match := _PARAM.fullmatch(header)) and (name := match[1].strip()):
        return param_column(name)
    word = plain(header)
    if (column := _BY_HEADER.get(word)) is None and (said := _MUST.fullmatch(word)):
        column = _BY_HEADER["not contains" if said["not"] else "contains"]
    return column


def is_for_people(header: str) -> bool:
    """Whether a column is a note that is for people only."""
    return header.strip().startswith(FOR_PEOPLE)


def is_of_promptfoo(header: str) -> bool:
    """Whether a column is promptfoo's, such as `__expected`: its cells say how they are compared."""
    return header.strip().startswith(("__expected", "__config:__expected"))


def param_column(name: str) -> SheetColumn:
    """Return the column of a context parameter."""
    return SheetColumn(f"param:{name}", "case", ("context_params", name), SCALAR)


def option_column(label: str) -> SheetColumn:
    """Return the column of one option of a question."""
    return SheetColumn(f"option {label}", "turn", ("choices", label), TEXT)


def near_header(header: str) -> str:
    """Return the header that may be meant."""
    return near(plain(header), [*_BY_HEADER])


def ways() -> list[str]:
    """Return the ways to compare a reply, each once, the most usual first."""
    usual = ("contains", "whole words", "exact match", "number", "any number", "same meaning")
    again = ("exact", "equals", "last number", "meaning")
    return list(dict.fromkeys([*usual, *(way for way in _WAYS if way not in again)]))


def nearest_header(header: str) -> str:
    """Return the known header that a misspelt one means, as exports write it; else nothing."""
    meant = nearest(plain(header), _BY_HEADER, is_slip=True)
    return _BY_HEADER[meant].header if meant else ""


def is_misspelt(header: str) -> bool:
    """Whether a header differs from a known one by a slip, rather than by being another word."""
    return bool(nearest_header(header))
