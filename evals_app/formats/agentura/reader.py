"""An `agentura.yaml` and what it names: each entry of `evals` becomes a suite.

The agent has the name of the project's folder, unless the person who imports chooses another; a suite has
the slug of the agent, and then that of its entry.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from evals_app.formats.agentura.datasets import (
    Dataset,
    DatasetConversation,
    DatasetTurn,
    read_dataset,
    row_problems,
)
from evals_app.formats.agentura.shapes import (
    AGENT_KEYS,
    AGENTS,
    ENTRIES,
    ENTRY_KEYS,
    Ci,
    CliAgent,
    Config,
    EndpointAgent,
    GoldenSuite,
    JudgedSuite,
    PerformanceSuite,
    SdkAgent,
    SuiteEntry,
    ToolUseSuite,
)
from evals_app.formats.foreign.draft import Draft, cut_texts, make_draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import (
    ReaderContext,
    SourcePlaces,
    distinct_names,
    slug_of,
    suite_slug,
)
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Json, Loc
from fixtures_app.ground.words import near

_FILE = re.compile(r"[\w-][\w./-]{0,200}")  # what may be the path of a file, from another one

# Scorers that are finer than right and wrong.
_GRADUAL = ("fuzzy_match", "semantic_similarity")


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read agentura.yaml files, with the datasets and rubrics that they name."""
    for document in documents:
        yield from _Project(ForeignFile(document, around, cut_texts(document))).drafts()


@dataclass(slots=True)
class _Project:
    """A file while its suites are made."""

    reading: ForeignFile
    agent: str = ""
    timeout_ms: int | None = None
    max_score_drop: float | None = None
    datasets: dict[str, Dataset | None] = field(default_factory=dict)

    @property
    def document(self) -> ParsedFile:
        return self.reading.document

    def drafts(self) -> Iterator[Draft]:
        """Return the agent, if the file describes it, and the suites."""
        yield from self._agent()
        entries = self._entries()
        for n, loc in enumerate(entries, 1):
            if not self._is_lost(loc):
                yield self._suite(loc, instead=f"eval-{n}")
        if entries and all(map(self._is_lost, entries)):
            self.reading.say((), "None of these entries can be read, so no suite is made.")
        yield self.reading.remarks("agentura")

    def _entries(self) -> list[Loc]:
        # The documentation's examples are lists of entries, without what is around them.
        is_list = isinstance(self.document.data, list)
        if not is_list:
            self.reading.part(Config, ())
            self._say_what_is_not_indented()
            self._ci()
        above: Loc = () if is_list else ("evals",)
        entries = self.document.value(above)
        return [(*above, n) for n in range(len(entries))] if isinstance(entries, list) else []

    def _ci(self) -> None:
        """Read how far the score of a suite may fall."""
        if self.document.value(("ci",)) in ([], None):
            return
        ci = self.reading.part(Ci, ("ci",))
        if ci is not None and ci.max_score_drop is not None:
            self.max_score_drop = ci.max_score_drop
            message = (
                "Each suite gets the gate max_score_drop. Make a good run of each its released version; "
                "until then there is nothing to compare with, and the gate does not apply."
            )
            self.reading.say(("ci", "block_on_regression"), message, level="warning")

    def _say_what_is_not_indented(self) -> None:
        written = self.document.data if isinstance(self.document.data, dict) else {}
        entries = written.get("evals")
        has_gap = not isinstance(entries, list) or any(
            isinstance(entry, dict) and not entry.keys() >= {"name", "type", "dataset"}
            for entry in entries
        )
        lacking = {
            **dict.fromkeys(ENTRY_KEYS if has_gap else (), "an entry"),
            **dict.fromkeys(AGENT_KEYS if written.get("agent", ...) is None else (), "the agent"),
        }
        for key in written.keys() & lacking.keys():
            message = (
                f"`{key}` belongs to {lacking[key]}: indent it to the column of the other keys "
                "there."
            )
            self.reading.say((key,), message, at_key=True)

    def _agent(self) -> Iterator[Draft]:
        """Find out which agent is tested, and draft it if the file describes it."""
        around = self.reading.around
        self.agent = around.agent or slug_of(around.folder(self.document), instead="agentura")
        has_agent = self.document.value(("agent",)) not in ([], None)
        if around.agent is not None:
            if has_agent:
                message = (
                    f"The suites test {around.agent} because of --agent, so this one is left out."
                )
                self.reading.say(("agent",), message, at_key=True, level="loss")
        elif has_agent:
            yield self._described_agent()
        elif self.agent not in around.agents:
            message = (
                "No agent is named. Write one under `agent`, with its `type` (http, cli or sdk), "
                f"choose one with --agent, or import an agent file with the slug {self.agent}."
            )
            self.reading.say((), message)
            yield self._unsound_agent()

    def _described_agent(self) -> Draft:
        loc: Loc = ("agent",)
        agent = self.reading.one_of(AGENTS, loc)
        places = SourcePlaces(self.document, loc)
        data: Json = {"agent": self.agent, "slug": self.agent}
        match agent:
            case EndpointAgent():
                data |= {"driver": "http", "url": agent.endpoint, "headers": agent.headers}
                places.note(("url",), self.document, (*loc, "endpoint"))
            case CliAgent():
                data |= {"driver": "command", "command": shlex.split(agent.command)}
                self._warn_of_relative_paths(data["command"])
            case SdkAgent():
                data |= {"driver": "python", "callable": agent.module}
                places.note(("callable",), self.document, (*loc, "module"))
            case _:
                return self._unsound_agent()
        self.timeout_ms = agent.timeout_ms
        return make_draft("agent", "agentura", self.document, data, place=places)

    def _warn_of_relative_paths(self, words: Sequence[str]) -> None:
        """Warn that programs do not start in the folder of this file if one relies on it."""
        for word in words:
            is_here = _FILE.fullmatch(word) and self.reading.around.content(self.document, word)
            if is_here or word.startswith(("./", "../")):
                message = (
                    f"Programs start in Evalwell's own folder, where {word} is not this file. "
                    "Write its full path."
                )
                self.reading.say(("agent", "command"), message, level="warning")

    def _is_lost(self, loc: Loc) -> bool:
        """Whether an entry is of a type that has no equal here, which is reported."""
        kind = self.document.value((*loc, "type"))
        if not isinstance(kind, str) or kind in ENTRIES or near(kind, ENTRIES):
            return False
        message = (
            f"There are no suites of the type {kind} here, so this one is left out. Known types: "
            f"{', '.join(ENTRIES)}."
        )
        problem = self.document.problem((*loc, "type"), message, level="loss", checks=1)
        if problem not in self.reading.problems:
            self.reading.problems.append(problem)
        return True

    def _suite(self, loc: Loc, *, instead: str) -> Draft:
        entry = self.reading.one_of(ENTRIES, loc)
        kind, name = (self.document.value((*loc, key)) for key in ("type", "name"))
        rubric = self.reading.text((*loc, "rubric")) if kind == "llm_judge" else ""
        dataset = self._dataset(loc, kind)
        places = SourcePlaces(self.document, loc)
        places.note(("suite",), self.document, (*loc, "name"))
        places.note(("slug",), self.document, (*loc, "name"))
        places.note(("assertions", 0, "criteria"), self.document, (*loc, "rubric"))
        slug = suite_slug(self.agent, name, instead=instead) if isinstance(name, str) else None
        if entry is None:
            known = {} if slug is None else {"slug": slug}
            return Draft("suite", "agentura", self.document, known, None, place=places)
        if isinstance(entry, JudgedSuite) and entry.runs != entry.votes:
            message = (
                "A judge is asked 1, 3 or 5 times here, and the median score counts, so it is "
                f"asked {entry.votes} times."
            )
            self.reading.say((*loc, "runs"), message, level="loss")
        project = self.reading.around.folder(self.document)
        data = {
            # The project distinguishes it from suites of other projects.
            "suite": f"{project} - {entry.name}" if project else entry.name,
            "slug": slug,
            "agent": self.agent,
            # The rest is checked even if something is missing.
            **_rules(entry, rubric or "missing", max_score_drop=self.max_score_drop),
            "cases": [] if dataset is None else self._cases(entry, dataset, places),
        }
        draft = make_draft("suite", "agentura", self.document, data, place=places)
        return draft.without_spec() if dataset is None or rubric is None else draft

    def _unsound_agent(self) -> Draft:
        return Draft("agent", "agentura", self.document, {"slug": self.agent}, None)

    def _dataset(self, loc: Loc, kind: Any) -> Dataset | None:
        """Return the dataset of an entry.

        Report a problem and return None if it is not there or does not fit.
        """
        here = (*loc, "dataset")
        written = self.document.value(here)
        if isinstance(written, str) and not written.isprintable():
            return None  # reported where the entry is read
        path = self.reading.path(written) if isinstance(written, str) else ""
        if path not in self.datasets:
            content = self.reading.content(here)
            if content is None:
                return None
            self.datasets[path], problems = read_dataset(path, content, self.reading.around)
            self.reading.problems += problems
        dataset = self.datasets[path]
        if dataset is None:
            return None
        problems = list(row_problems(dataset, kind))
        self.reading.problems += problems
        has_errors = any(problem.level == "error" for problem in problems)
        return dataset if dataset.is_valid and not has_errors else None

    def _cases(
        self, entry: SuiteEntry, dataset: Dataset, places: SourcePlaces
    ) -> list[dict[str, object]]:
        rows = [conversation.row for conversation in dataset.conversations]
        names = distinct_names([row.id or f"row-{n:04}" for n, row in enumerate(rows, 1)])
        timeout = {} if self.timeout_ms is None else {"turn_timeout_s": self.timeout_ms / 1000}
        cases = []
        for n, (name, item) in enumerate(zip(names, dataset.conversations, strict=True)):
            _note(places, ("cases", n), dataset.document, item)
            turns = [_turn(entry, item, exchange) for exchange in item.exchanges]
            cases.append({"name": name, **timeout, "turns": turns})
        return cases


def _rules(entry: SuiteEntry, rubric: str, *, max_score_drop: float | None) -> dict[str, object]:
    """Return what is graded, and the rule by which a run passes."""
    least = entry.least_score
    checks: list[dict[str, object]] = []
    gates: dict[str, object] = {} if least is None else {"min_score": least}
    if max_score_drop is not None:
        gates["max_score_drop"] = max_score_drop
    more: dict[str, object] = (
        {"pass_rule": "all"} if least is None else {"pass_rule": "score", "pass_threshold": least}
    )
    match entry:
        case GoldenSuite():
            threshold = {"threshold": least} if entry.scorer in _GRADUAL else {}
            checks.append({"type": entry.scorer, **threshold})
        case JudgedSuite():
            question = {"criteria": rubric, "scale": "0-1", "votes": entry.votes}
            checks.append({"type": "llm_judge", **question, "threshold": least})
            more |= {"judge_model": entry.judge_model} if entry.judge_model else {}
        case PerformanceSuite():
            if entry.max_ms is not None:
                checks.append({"type": "latency", "max_ms": entry.max_ms})
                gates["max_p95_ms"] = entry.max_ms
            if entry.max_cost_per_call_usd is not None:
                checks.append({"type": "cost", "max_usd": entry.max_cost_per_call_usd})
                gates["max_cost_per_call_usd"] = entry.max_cost_per_call_usd
    return {"run_rule": "gates", "gates": gates, "assertions": checks} | more


def _turn(
    entry: SuiteEntry, conversation: DatasetConversation, exchange: DatasetTurn
) -> dict[str, object]:
    row = conversation.row
    turn: dict[str, object] = {"user": exchange.user, "expected": exchange.expected}
    if row.context is not None:
        turn["context"] = [row.context]
    if isinstance(entry, ToolUseSuite):
        call = {"tool": row.expected_tool, "args": row.expected_args}
        output = {"expected_output": row.expected_output, "threshold": entry.least_score}
        turn["assertions"] = [{"type": "tool_use", **call, **output}]
    elif not exchange.is_scored:
        turn["assertions"] = []
    return turn


def _note(
    places: SourcePlaces, case: Loc, document: ParsedFile, written: DatasetConversation
) -> None:
    """Remember where in its dataset a case was written."""
    places.note(case, document, written.loc)
    places.note((*case, "name"), document, (*written.loc, "id"))
    for t, exchange in enumerate(written.exchanges):
        turn = (*case, "turns", t)
        places.note((*turn, "user"), document, exchange.user_loc)
        places.note((*turn, "expected"), document, exchange.expected_loc)
        if written.row.expected_tool is not None:
            for ours in ("tool", "args", "expected_output"):
                theirs = f"expected_{ours.removeprefix('expected_')}"
                places.note((*turn, "assertions", 0, ours), document, (*written.loc, theirs))
