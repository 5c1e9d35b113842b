"""The evals of a project as one suite: each becomes a case, with its own trials, score and rubric."""

import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

from evals_app.engine.suites.suite_spec import AssertionSpec, CaseSpec, SuiteSpec, TurnSpec
from evals_app.formats.foreign.attached import ambiguous_files
from evals_app.formats.foreign.draft import Draft, validate_part
from evals_app.formats.foreign.kept import unsaid
from evals_app.formats.foreign.shapes import ReaderContext, distinct_names, slug_of
from evals_app.formats.reading.parsed_file import Node, ParsedFile
from evals_app.formats.reading.problems import Json, Loc, Problem, ProblemDetails

# What a case has no key for, so all evals of one suite must say the same.
_SHARED = (
    *("fixtures", "judge_model", "judge_prompt", "judge_context"),
    *("gates", "run_rule", "pass_rule", "min_pass_rate"),
)
_SEPARATOR = " - "
_MAX_NAME = 200
_MAX_WEIGHT = 1e6


def joined_suites(drafts: Sequence[Draft], around: ReaderContext) -> list[Draft]:
    """Return drafts with one suite for each agent in place of all that test it.

    If one of the suites has errors, nothing is joined: they are reported.
    """
    groups: dict[tuple[str, str], list[Draft]] = defaultdict(list)
    for draft in drafts:
        if isinstance(draft.spec, SuiteSpec):
            groups[draft.dialect, draft.spec.agent].append(draft)
        elif draft.kind == "suite" and draft.slug:
            return list(drafts)
    joined, rest = [], list(drafts)
    names = Counter(_name(group, around) for group in groups.values())
    for (_, agent), group in groups.items():
        if len(group) == 1 and len(group[0].spec.cases) > 1:
            continue  # it is one suite already
        name = _name(group, around)
        paths = {draft.document.path for draft in group}
        # Drafts without an object bring what was found wrong in a file.
        remarks = [draft for draft in rest if draft.slug is None and draft.document.path in paths]
        gone = {id(draft) for draft in (*group, *remarks)}
        rest = [draft for draft in rest if id(draft) not in gone]
        suite = _Joined(group, name if names[name] == 1 else f"{name}{_SEPARATOR}{agent}")
        joined.append(suite.draft(problem for draft in remarks for problem in draft.problems))
    return [*rest, *joined]


def _name(group: Sequence[Draft], around: ReaderContext) -> str:
    """Return what the names of all suites begin with, else the name of their project."""
    return _prefix(group) or around.project(group[0].document) or str(group[0].spec.agent)


def _prefix(group: Sequence[Draft]) -> str:
    """Return what comes before a dash in the names of all suites, if it is the same."""
    begins = {_split(draft.spec.suite)[0] for draft in group}
    return begins.pop() if len(begins) == 1 else ""


def _split(title: str) -> tuple[str, str]:
    begin, separator, end = title.partition(_SEPARATOR)
    return (begin, end) if separator and end else ("", title)


def _usual(values: Iterable[object]) -> object:
    return Counter(values).most_common(1)[0][0]


@dataclass(slots=True)
class _Joined:
    """Suites that become one: what they share, and where each case of it comes from."""

    drafts: Sequence[Draft]
    name: str
    origins: list[tuple[Draft, int]] = field(default_factory=list)
    # The places in `assertions` of the checks that a turn has from its suite, by case and turn.
    inherited: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    @property
    def specs(self) -> list[SuiteSpec]:
        return [draft.spec for draft in self.drafts]

    def draft(self, remarks: Iterable[Problem]) -> Draft:
        first = self.drafts[0]
        problems = [problem for draft in self.drafts for problem in draft.problems]
        problems += [*remarks, *self._differences()]
        data = self._data()
        spec, wrong = validate_part(SuiteSpec, data, first.document, place=self.place)
        joined = Draft(
            "suite",
            first.dialect,
            self._folder(),
            data,
            spec,
            tuple(
                replace(reference, loc=("of", n, *reference.loc))
                for n, draft in enumerate(self.drafts)
                for reference in draft.references
            ),
            (*problems, *wrong),
            self.place,
            frozenset.intersection(*map(unsaid, self.drafts)),
        )
        ambiguous = ambiguous_files(joined, spec) if spec else ()
        return replace(joined, problems=(*joined.problems, *ambiguous))

    def place(self, loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> Problem:
        """Make a Problem in the file of the eval that a part comes from."""
        match loc:
            case ():
                return self._folder().problem((), message, **about)
            case ("of", int(n), *rest):
                return self.drafts[n].place(tuple(rest), message, **about)
            case ("cases", int(c), "turns", int(t), "assertions", int(a), *rest):
                draft, case = self.origins[c]
                taken = self.inherited.get((c, t), [])
                own: Loc = ("cases", case, "turns", t, "assertions", a - len(taken))
                written = ("assertions", taken[a]) if a < len(taken) else own
                return draft.place((*written, *rest), message, **about)
            case ("cases", int(c), *rest) if c < len(self.origins):
                draft, case = self.origins[c]
                return draft.place(("cases", case, *rest), message, **about)
        return self.drafts[0].place(loc, message, **about)

    def _folder(self) -> ParsedFile:
        folders = [posixpath.dirname(draft.document.path) for draft in self.drafts]
        is_one = len({folder.startswith("/") for folder in folders}) == 1
        return ParsedFile(posixpath.commonpath(folders) if is_one else "", {}, Node(0, 0))

    def _differences(self) -> Iterator[Problem]:
        first = self.drafts[0]
        for draft in self.drafts[1:]:
            for key in _SHARED:
                if getattr(draft.spec, key) != getattr(first.spec, key):
                    message = (
                        f"One suite has one `{key}`, and {first.document.path} has another. Make them "
                        "the same, or import these files as suites of their own."
                    )
                    yield draft.place((key,), message, value="")

    def _data(self) -> Json:
        first, specs = self.drafts[0].spec, self.specs
        head = {
            "suite": self.name[:_MAX_NAME],
            "slug": slug_of(self.name, instead=first.agent),
            "description": "" if len(specs) > 1 else first.description,
            "tags": [tag for tag in first.tags if all(tag in spec.tags for spec in specs)],
            "trials": _usual(spec.trials for spec in specs),
            # With 0 nothing would decide, in no case.
            "pass_threshold": _usual(
                [spec.pass_threshold for spec in specs if spec.pass_threshold] or [0]
            ),
            "stop_when_decided": all(spec.stop_when_decided for spec in specs),
            "concurrency": max(spec.concurrency for spec in specs),
            "cases": [],
        }
        if any(spec.assertions != first.assertions for spec in specs):
            head["assertions"] = []
        rubrics = {(spec.rubric, spec.rubric_weight, spec.pass_threshold) for spec in specs}
        if len(rubrics) > 1:
            head["rubric"] = ""
        suite: SuiteSpec = first.model_copy(update=head)
        has_prefix = _prefix(self.drafts) != ""
        names: list[str] = []
        cases: list[CaseSpec] = []
        for draft in self.drafts:
            spec, title = draft.spec, _split(draft.spec.suite)[1]
            for c, case in enumerate(spec.cases):
                self.origins.append((draft, c))
                own = title if has_prefix else spec.suite
                names.append(own if len(spec.cases) == 1 else f"{own}{_SEPARATOR}{case.name}")
                cases.append(self._case(suite, spec, case))
        named = distinct_names([name[:_MAX_NAME] for name in names])
        whole = suite.model_dump(mode="json", by_alias=True)
        whole["cases"] = [
            {**case.model_dump(mode="json", by_alias=True), "name": name}
            for name, case in zip(named, cases, strict=True)
        ]
        return whole

    def _case(self, suite: SuiteSpec, own: SuiteSpec, case: CaseSpec) -> CaseSpec:
        """Return a case that says itself what its suite said, where the joined one does not."""
        trials = own.trials_of(case)
        threshold = own.threshold_of(case)
        is_plain = not own.passes_by_score or threshold == suite.pass_threshold
        turns = case.turns
        if own.assertions != suite.assertions:
            turns = [self._turn(own, turn, t) for t, turn in enumerate(turns)]
        rubric = [] if suite.rubric else _rubric(own, case)
        return case.model_copy(
            update={
                "description": case.description or (own.description * (len(own.cases) == 1)),
                "tags": list(
                    dict.fromkeys(tag for tag in (*own.tags, *case.tags) if tag not in suite.tags)
                ),
                "trials": None if trials == suite.trials else trials,
                "pass_threshold": None if is_plain else threshold,
                "turns": turns,
                "final_assertions": [*case.final_assertions, *rubric],
            }
        )

    def _turn(self, own: SuiteSpec, turn: TurnSpec, number: int) -> TurnSpec:
        if turn.assertions is not None and not turn.inherit:
            return turn
        taken = [n for n, check in enumerate(own.assertions) if check.lacks(turn) is None]
        self.inherited[len(self.origins) - 1, number] = taken
        checks = [*(own.assertions[n] for n in taken), *(turn.assertions or ())]
        return turn.model_copy(update={"assertions": checks, "inherit": False})


def _rubric(suite: SuiteSpec, case: CaseSpec) -> list[AssertionSpec]:
    """Return the rubric of a suite as a check of a case, with the same share of its score."""
    if (check := suite.rubric_check) is None:
        return []
    others = sum(
        placed.check.counted_weight
        for placed in suite.placed_checks(case)
        if placed.applies and placed.check is not check
    )
    share = suite.rubric_weight
    weight = others * share / (1 - share) if share < 1 else _MAX_WEIGHT
    own = min(weight, _MAX_WEIGHT) if others else float(share > 0)
    return [check.model_copy(update={"weight": own, "name": "Rubric"})]
