"""What a reader makes of one file, before files are compared with each other."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError

from evals_app.engine.basics.template import statements
from evals_app.engine.llm.judge_plugins import PLUGIN
from evals_app.engine.specs.agent_spec import AgentSpec, ScriptedAgent
from evals_app.engine.specs.base_spec import PREFIXES, ProviderSpec
from evals_app.engine.suites.suite_spec import AssertionSpec, SuiteSpec
from evals_app.engine.verdicts.rehearsal import missed_by_expected
from evals_app.formats.reading.explain import allows, annotation_at, explain
from evals_app.formats.reading.parsed_file import ParsedFile, Surprise
from evals_app.formats.reading.problems import (
    Json,
    Level,
    Loc,
    MakeProblem,
    Problem,
    shorten,
    value_text,
)
from fixtures_app.spec import FixtureSpec

Kind = Literal["provider", "agent", "fixture", "suite"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MODELS: dict[Kind, type[BaseModel]] = {
    "provider": ProviderSpec,
    "agent": AgentSpec,
    "fixture": FixtureSpec,
    "suite": SuiteSpec,
}

# What people call a kind, where the key of files is another word.
NAMES = {"fixture": "test data"}

# Cases, turns and checks of an import together. Each takes between 1 and 2 kB of memory.
MAX_PARTS = 200_000
TOO_MANY_PARTS = (
    f"There are more than {MAX_PARTS:,} cases, turns and checks together, the limit of one "
    "import. Split the suite into several files, and import them one at a time."
)
# What people write for us; the rest was written for other systems.
_OURS: frozenset[str] = frozenset({"native", "table"})
# They have a list of cases; in the others cases come from elsewhere, and they say so themselves.
_SAY_CASES: frozenset[str] = frozenset({"native", "struere"})
# The end of the name of a file beside another one, with what that cannot say.
SIDECAR = ".evalwell.yaml"
_SET = re.compile(r"\bSet (\w+)")
# Above this a worker gives a conversation up.
MAX_CASE_S = 1500


@dataclass(frozen=True, slots=True)
class DraftReference:
    """A name in a file that must exist elsewhere: an agent, a fixture, a tool, a provider.

    A `scripted judge` is an agent with driver scripted, a `judge` one that a plug-in offers.
    """

    kind: Literal["agent", "fixture", "tool", "provider", "scripted judge", "judge"]
    name: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Draft:
    """One object of a file: its spec if it is valid, and what it refers to even if it is not.

    `data` is the object in our words, of which the spec is made. `place` makes a Problem for a
    place in it, in the words and lines of the file where it was written. `unsaid` are keys of
    `data` that the file does not set: the reader took what its system would take.
    """

    kind: Kind
    dialect: str
    document: ParsedFile
    data: Any
    spec: Any
    references: tuple[DraftReference, ...] = ()
    problems: tuple[Problem, ...] = ()
    place: Callable[..., Problem] = field(repr=False, default=ParsedFile.problem)
    unsaid: frozenset[str] = frozenset()

    @property
    def slug(self) -> str | None:
        """The slug as written, even of a draft that is invalid."""
        slug = self.data.get("slug") if isinstance(self.data, dict) else None
        return slug if isinstance(slug, str) else None

    @property
    def strictness(self) -> Level:
        """The level of checks that prove nothing: files of other systems must import."""
        return "error" if self.dialect in _OURS else "warning"

    def without_spec(self) -> "Draft":
        """Return the draft of a partly read object: errors without the warnings that follow."""
        errors = tuple(problem for problem in self.problems if problem.level == "error")
        return replace(self, spec=None, problems=errors)

    def without_agent(self) -> "Draft":
        """Return the draft of a suite that names no agent, which is reported elsewhere."""
        references = tuple(reference for reference in self.references if reference.kind != "agent")
        return replace(self, spec=None, references=references)


def make_draft(
    kind: Kind,
    dialect: str,
    document: ParsedFile,
    data: object,
    *,
    place: MakeProblem | None = None,
) -> Draft:
    """Make a draft of an object that is written in our words.

    `place` translates where these are not the words of the file.
    """
    put = place or document.problem
    if kind == "suite" and parts_in(data) > MAX_PARTS:
        problem = put((), TOO_MANY_PARTS, value="")
        return Draft(kind, dialect, document, data, None, (), (problem,), put)
    spec, problems = validate_part(MODELS[kind], data, document, place=place)
    if isinstance(spec, SuiteSpec):
        beside = "" if dialect == "native" else sidecar_of(document.path)
        problems += suite_warnings(spec, put, beside)
        problems += suite_advice(spec, put) if dialect == "native" else ()
    if isinstance(spec, ScriptedAgent):
        rule, message = spec.unreached_rules()
        problems += [put(("rules", rule), message, level="warning")] if message else []
    references = tuple(_references(kind, data)) if isinstance(data, dict) else ()
    return Draft(kind, dialect, document, data, spec, references, tuple(problems), put)


def validate_part(
    model: type[BaseModel], data: object, document: ParsedFile, *, place: MakeProblem | None = None
) -> tuple[Any, list[Problem]]:
    """Return the spec (None if it is invalid) and everything that is wrong with it."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        return None, explain(error, model=model, data=data, document=document, place=place)


def surprises(document: ParsedFile, model: type[BaseModel]) -> list[Problem]:
    """Warn of texts that may be cut off, and of unquoted words where anything is allowed.

    Where only text is meant such words are errors already; where true or false is meant `yes` is
    right.
    """
    problems = cut_texts(document)
    for surprise in document.surprises:
        annotation = annotation_at(model, surprise.loc, document.data)
        if not _may_be_cut(surprise) and _is_doubtful(surprise, annotation):
            written = shorten(surprise.raw, surprise.loc)
            read = value_text(surprise.value, surprise.loc)
            message = (
                f'YAML reads the unquoted {written} as {read}. Write "{written}" in quotes if '
                f"you mean text, otherwise write {read}."
            )
            problems.append(document.problem(surprise.loc, message, value=written, level="warning"))
    return problems


def cut_texts(document: ParsedFile) -> list[Problem]:
    """Warn of texts that perhaps continue after what YAML takes for the beginning of a comment."""
    problems = []
    for surprise in filter(_may_be_cut, document.surprises):
        message = (
            "A # after a space begins a comment, so this is read as "
            f"{value_text(surprise.value, surprise.loc)}. Put all of it in quotes if it is text. Otherwise "
            "write a space after the #."
        )
        written = shorten(surprise.raw, surprise.loc)
        problems.append(document.problem(surprise.loc, message, value=written, level="warning"))
    return problems


def _may_be_cut(surprise: Surprise) -> bool:
    return surprise.value is None or isinstance(surprise.value, str)


def _is_doubtful(surprise: Surprise, annotation: object) -> bool:
    if annotation is Any:
        return True
    if isinstance(surprise.value, bool):
        return allows(annotation, bool) and allows(annotation, str)
    return allows(annotation, int) or allows(annotation, float)


def _references(kind: Kind, data: Mapping[str, object]) -> Iterator[DraftReference]:
    if kind == "agent":
        yield from model_references(data.get("model"), ("model",))
        yield from _references_to(data, "tools", "tool")
    if kind != "suite":
        return
    if isinstance(agent := data.get("agent"), str):
        yield DraftReference("agent", agent, ("agent",))
    if isinstance(fixture := data.get("fixtures"), str):
        yield DraftReference("fixture", fixture, ("fixtures",))
    yield from _references_to(data, "fixtures", "fixture")
    yield from model_references(data.get("judge_model"), ("judge_model",))
    for assertion, loc in written_assertions(data):
        yield from model_references(assertion.get("model"), (*loc, "model"))
        for n, juror in enumerate(_list(assertion, "jury")):
            yield from model_references(juror, (*loc, "jury", n))


def _references_to(
    data: Mapping[str, object], key: str, kind: Literal["fixture", "tool"]
) -> Iterator[DraftReference]:
    for n, name in enumerate(_list(data, key)):
        if isinstance(name, str):
            yield DraftReference(kind, name, (key, n))


def written_assertions(
    data: object, *, final: str = "final_assertions"
) -> Iterator[tuple[dict[str, object], Loc]]:
    """Find every assertion of a suite that may be invalid; `final` is the key of final ones."""
    yield from rows(data, "assertions", ())
    for case, here in rows(data, "cases", ()):
        for turn, there in rows(case, "turns", here):
            yield from rows(turn, "assertions", there)
        yield from rows(case, final, here)


def parts_in(data: object) -> int:
    """Count the cases, turns and checks of a suite that may be invalid."""
    cases = [case for case, _ in rows(data, "cases", ())]
    turns = sum(1 for case in cases for _ in rows(case, "turns", ()))
    return len(cases) + turns + sum(1 for _ in written_assertions(data))


def rows(data: object, key: str, loc: Loc) -> Iterator[tuple[Json, Loc]]:
    """Return the mappings in a list of something that may be invalid, each with its place."""
    for n, row in enumerate(_list(data, key)):
        if isinstance(row, dict):
            yield row, (*loc, key, n)


def _list(data: object, key: str) -> list[object]:
    entries = data.get(key) if isinstance(data, dict) else None
    return entries if isinstance(entries, list) else []


def repeated_names(document: ParsedFile, problems: Sequence[Problem]) -> list[Problem]:
    """Find cases with the same name; pydantic looks only if everything else is right."""
    first: dict[str, int] = {}
    repeated = []
    for case, loc in rows(document.data, "cases", ()):
        name, position = case.get("name"), loc[-1]
        if isinstance(name, str) and isinstance(position, int):
            known = first.setdefault(name, position)
            if known != position:
                message = f"Case {known + 1} has the same name. The names of cases must differ."
                repeated.append(document.problem((*loc, "name"), message))
    reported = {problem.keys for problem in problems}
    return [item for item in repeated if item.keys not in reported]


def model_references(value: object, loc: Loc) -> Iterator[DraftReference]:
    """Return what a model name refers to: its provider, or the scripted agent that judges."""
    provider: Any = None
    name: Any = None
    where = loc
    if isinstance(value, str) and value != "agent":
        provider, slash, name = value.partition("/")
        if not slash:
            provider = next((p for begin, p in PREFIXES.items() if value.startswith(begin)), "")
    elif isinstance(value, Mapping):
        provider, name, where = value.get("provider"), value.get("name"), (*loc, "provider")
    if provider == "scripted" and isinstance(name, str) and name:
        yield DraftReference("scripted judge", name, loc)
    elif provider == PLUGIN and isinstance(name, str) and name:
        yield DraftReference("judge", name, loc)
    elif isinstance(provider, str) and provider:
        yield DraftReference("provider", provider, where)


def placed_assertions(suite: SuiteSpec) -> Iterator[tuple[AssertionSpec, Loc]]:
    """Return every assertion of a suite with its place."""
    for a, assertion in enumerate(suite.assertions):
        yield assertion, ("assertions", a)
    for c, case in enumerate(suite.cases):
        for t, turn in enumerate(case.turns):
            for a, assertion in enumerate(turn.assertions or []):
                yield assertion, ("cases", c, "turns", t, "assertions", a)
        for a, assertion in enumerate(case.final_assertions):
            yield assertion, ("cases", c, "final_assertions", a)


def parts_that_cannot_fail(draft: Draft) -> Iterator[Problem]:
    """Find checks and gates that cannot fail, and a suite without cases.

    Files of other systems must import, so there each is a warning.
    """
    suite = draft.spec
    if not isinstance(suite, SuiteSpec):
        return
    if not suite.cases and draft.dialect in _SAY_CASES:
        message = "There are no cases yet, so there is nothing to run."
        yield draft.place(("cases",), message, level="warning")
    places = list(suite.checks_that_cannot_fail())
    for assertion, loc in placed_assertions(suite):
        if fault := assertion.cannot_fail_at():
            places.append(((*loc, *fault[0]), fault[1]))
    for loc, message in places:
        yield draft.place(loc, message, level=draft.strictness)


def as_informational(draft: Draft) -> Draft:
    """Return the draft with checks of other systems that cannot fail made informational."""
    if not isinstance(draft.spec, SuiteSpec) or draft.strictness == "error":
        return draft
    return replace(draft, spec=draft.spec.as_informational())


def sidecar_of(path: str) -> str:
    """Return the path of what may be written beside a file."""
    return f"{PurePosixPath(path).with_suffix('')}{SIDECAR}"


def suite_warnings(suite: SuiteSpec, place: MakeProblem, beside: str = "") -> Iterator[Problem]:
    """Return warnings about what is allowed in a suite but probably not intended.

    `beside` is where options are written that the file of the suite does not know.
    """
    for assertion, loc in placed_assertions(suite):
        yield from _assertion_warnings(assertion, loc, place, beside)
    yield from _warn_of_heavy_checks(suite, place)
    yield from _statements_sent(suite, place)
    for c, case in enumerate(suite.cases):
        here: Loc = ("cases", c)
        for loc, problem in case.placeholders():
            message = f"{problem} Runs with this case do not start."
            yield place((*here, *loc), message, level="warning")
        for t, turn in enumerate(case.turns):
            there: Loc = (*here, "turns", t)
            for check, message in missed_by_expected(turn.expected, suite.assertions_for(turn)):
                said = _with_place(message, check, beside)
                yield place((*there, "expected"), said, level="warning")
        if case.pass_threshold is not None and not suite.passes_by_score:
            message = "A score to reach has no effect here: the suite needs `pass_rule: score`."
            yield place((*here, "pass_threshold"), message, level="warning")
        if problem := case.unreachable_time():
            yield place((*here, "limits", "max_time_ms"), problem, level="warning")
        if (longest := case.turn_timeout_s * len(case.turns)) > MAX_CASE_S:
            message = (
                f"The turns of case {case.name!r} may take {longest:g} s together. A "
                f"conversation is stopped after {MAX_CASE_S} s."
            )
            yield place((*here, "turn_timeout_s"), message, level="warning")


def _statements_sent(suite: SuiteSpec, place: MakeProblem) -> Iterator[Problem]:
    """Warn once of messages that are templates of another system: nothing runs what is in them."""
    found = [
        (("cases", c, *loc), statements(message)[0])
        for c, case in enumerate(suite.cases)
        for loc, message in case.messages()
        if statements(message)
    ]
    if found:
        loc, named = found[0]
        more = f" So it does with {len(found) - 1:,} more." if len(found) > 1 else ""
        message = (
            f"The agent receives this message with {shorten(named)} in it: messages are not templates "
            f"here.{more} Write out the text, if that is not what you mean."
        )
        yield place(loc, message, level="warning")


def unchecked_cases(draft: Draft) -> Iterator[Problem]:
    """Warn of cases that cannot pass or fail: of each, or once if it is true of all."""
    suite = draft.spec
    if not isinstance(suite, SuiteSpec):
        return
    idle = [(c, case) for c, case in enumerate(suite.cases) if suite.asserts_nothing(case)]
    for only_informs in (False, True):
        cases = [(c, case) for c, case in idle if suite.only_informs(case) is only_informs]
        why, end = _IDLE[only_informs]
        if 1 < len(suite.cases) == len(cases):
            message = f"None of the {len(cases):,} cases can pass or fail: {why}. {end}"
            yield draft.place(("cases", 0), message, value="", level="warning")
            continue
        for c, case in cases:
            message = f"Case {case.name!r} cannot pass or fail: {why}. {end}"
            yield draft.place(("cases", c), message, value="", level="warning")


# Why a case cannot pass or fail, and how it ends; by whether it has checks that inform.
_IDLE = {
    False: ("it has no check and no limit", "It checks nothing, and ends in an error."),
    True: ("all checks only inform", "Scores are shown, and it ends measured."),
}


def _warn_of_heavy_checks(suite: SuiteSpec, place: MakeProblem) -> Iterator[Problem]:
    """Warn of the first case in which the weight of one check leaves the others no say."""
    for c, case in enumerate(suite.cases):
        if heavy := suite.swamping(case):
            message = (
                f"In case {case.name!r} the check {heavy.label!r} has so much weight that it "
                "alone decides the score. Give the others more weight, or remove them."
            )
            yield place(("cases", c), message, value="", level="warning")
            return


def suite_advice(suite: SuiteSpec, place: MakeProblem) -> Iterator[Problem]:
    """Return what would make the checks of a suite better, each once: at the first that it is about."""
    about: dict[str, list[Loc]] = defaultdict(list)
    for check, loc in placed_assertions(suite):
        for message in check.grader.advice():
            about[message].append(loc)
    for message, places in about.items():
        more = f" This applies to {len(places)} checks of this suite." if len(places) > 1 else ""
        yield place(places[0], f"{message}{more}", level="warning")


def _assertion_warnings(
    assertion: AssertionSpec, loc: Loc, place: MakeProblem, beside: str
) -> Iterator[Problem]:
    key = "args" if getattr(assertion.grader, "args", None) else "value"
    is_written = getattr(assertion.grader, key, None) is not None
    for message in assertion.grader.warnings():
        said = _with_place(message, assertion, beside)
        yield place((*loc, key) if is_written else loc, said, level="warning")


def _with_place(message: str, check: AssertionSpec, beside: str) -> str:
    """Add to advice about an option where it is written, if the file of the check does not know it."""
    options = type(check.grader).model_fields
    if not beside or not any(name in options for name in _SET.findall(message)):
        return message
    return f"{message} Write it in {PurePosixPath(beside).name}, next to this file."
