"""Test cases: what is said, what is expected, and by which checks."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from evals_app.engine.basics.matchers import MATCHER_KEYS
from evals_app.formats.foreign.shapes import SourcePlaces, distinct_names
from evals_app.formats.holodeck.metrics import Check, read_metrics
from evals_app.formats.holodeck.models import ModelTranslator
from evals_app.formats.holodeck.shapes import Case, File, Tool, Turn
from evals_app.formats.holodeck.source import HolodeckFile
from evals_app.formats.reading.problems import Json, Loc

# Our names for what HoloDeck says of a turn.
_SAID = {
    "input": "user",
    "ground_truth": "expected",
    "retrieval_context": "retrieval_context",
    "turn_config": "config",
}
# What is about one turn, so that it does not go with several.
_OF_ONE_TURN = [key for key in Turn.model_fields if key != "evaluations"]
_MATCHERS_OF_OURS = frozenset(MATCHER_KEYS) - {"fuzzy", "regex"}


@dataclass(frozen=True, slots=True)
class CaseReader:
    """Translates cases into our format, and notes in `places` where they were written."""

    source: HolodeckFile
    places: SourcePlaces
    models: ModelTranslator

    def read(self, loc: Loc) -> list[Json]:
        """Read the list in a place; cases that are invalid are left out, and reported."""
        cases: list[dict[str, object]] = []
        names = []
        for position, here in enumerate(self.source.rows(loc), 1):
            written = self.source.part(Case, here)
            turns = self._turns(written, here, ("cases", len(cases)))
            if written is not None and turns:
                self.places.note(("cases", len(cases)), self.source.document, here)
                cases.append({"turns": turns})
                names.append(written.name or f"row-{position:04}")
        distinct = zip(distinct_names(names), cases, strict=True)
        return [{"name": name, **case} for name, case in distinct]

    def _turns(self, case: Case | None, loc: Loc, ours: Loc) -> list[dict[str, object]]:
        shared = self._checks(loc)
        turns: list[dict[str, object]] = []
        for here in self.source.rows((*loc, "turns")):
            turn = self.source.part(Turn, here)
            own = self._checks(here)
            if turn is not None:
                there = (*ours, "turns", len(turns))
                turns.append(self._turn(turn, here, there, shared if own is None else own))
        if case is None:
            return []
        if case.turns is not None:
            for key in (key for key in _OF_ONE_TURN if getattr(case, key) is not None):
                message = f"A case with `turns` has no `{key}` of its own. Move it into a turn."
                self.source.say((*loc, key), message, at_key=True)
        elif case.input is None:
            message = "A case needs `input`, the user's message, or `turns`, a list of them."
            self.source.say(loc, message)
        else:
            turns.append(self._turn(case, loc, (*ours, "turns", 0), shared))
        return turns

    def _checks(self, loc: Loc) -> list[Check] | None:
        """Read the metrics of a case or a turn; None if it has none."""
        own = (*loc, "evaluations")
        if self.source.value(own) is None:
            return None
        return read_metrics(self.source, own, self.models)

    def _turn(
        self, turn: Turn | Case, loc: Loc, ours: Loc, checks: Sequence[Check] | None
    ) -> dict[str, object]:
        document = self.source.document
        self.places.note(ours, document, loc)
        data: dict[str, object] = {}
        for theirs, key in _SAID.items():
            if (value := getattr(turn, theirs)) is not None:
                data[key] = value
                self.places.note((*ours, key), document, (*loc, theirs))
        if turn.files:
            data["files"] = self._files(turn.files, (*loc, "files"))
        asserted = self._expected_calls(turn, loc)
        if checks is not None:
            asserted = [*self._able(checks, turn, loc, asserted), *asserted]
        elif asserted:
            data["inherit"] = True
        if checks is not None or asserted:
            data["assertions"] = [item.data for item in asserted]
        for n, item in enumerate(asserted):
            item.note(self.places, (*ours, "assertions", n), document)
        return data

    def _able(
        self, checks: Sequence[Check], turn: Turn | Case, loc: Loc, others: Sequence[Check]
    ) -> list[Check]:
        """Return the checks that can work on a turn, and name the others."""
        if turn.ground_truth is not None:
            return [*checks]
        able = [check for check in checks if not check.needs_expected]
        alone = "" if able or others else " This turn has no other check."
        for check in (check for check in checks if check.needs_expected):
            is_own = check.loc[: len(loc)] == loc
            message = (
                f"This turn has no ground_truth, which {check.title} needs, so the check is left"
                f" out of it.{alone}"
            )
            self.source.say(check.loc if is_own else loc, message, level="loss")
        return able

    def _files(self, files: Sequence[File], loc: Loc) -> list[dict[str, object]]:
        paths: dict[str, dict[str, object]] = {}
        for n, file in enumerate(files):
            here = (*loc, n)
            if file.url is not None:
                message = (
                    "Files are not fetched. Put the file next to this one, and write its `path`."
                )
                self.source.say((*here, "url"), message)
            elif file.path is None:
                self.source.say(here, "A file needs its `path`, from the folder of agent.yaml.")
            elif (path := posixpath.normpath(file.path)) in paths:
                self.source.say(here, "This turn already shows this file. Left out.", level="loss")
            else:
                paths[path] = {"path": file.path}
        return list(paths.values())

    def _expected_calls(self, turn: Turn | Case, loc: Loc) -> list[Check]:
        here = (*loc, "expected_tools")
        if turn.expected_tools == []:
            message = (
                "An empty list checks nothing. To forbid calls, add this check to the turn here: "
                "{type: tool_calls, tools: [], exact: true}."
            )
            self.source.say(here, message, level="warning")
        return [
            self._expected_call(tool, (*here, n))
            for n, tool in enumerate(turn.expected_tools or [])
        ]

    def _expected_call(self, tool: str | Tool, loc: Loc) -> Check:
        if isinstance(tool, str):
            return Check(
                {"type": "tool_called", "value": tool, "name_match": "contains"}, loc, tool
            )
        data = {"type": "tool_called", "value": tool.name, "name_match": "contains"}
        options: dict[str, object] = {"args": tool.args} if tool.args else {}
        options |= {"min_count": tool.count} if tool.count > 1 else {}
        for name, value in (tool.args or {}).items():
            if isinstance(value, dict) and value.keys() <= _MATCHERS_OF_OURS and value:
                message = (
                    "HoloDeck compares this text literally. Here it is a matcher: see `args` of "
                    "tool_called in the reference."
                )
                self.source.say((*loc, "args", name), message, level="warning")
        return Check({**data, **options}, loc, tool.name, {"value": "name", "min_count": "count"})
