"""What a reader makes of one file, before files are compared with each other."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from evals_app.engine.spec import PREFIXES
from evals_app.engine.suite import AssertionSpec, SuiteSpec, TurnSpec
from evals_app.formats.explain import allows, annotation_at, explain
from evals_app.formats.problems import Loc, Problem, shortened, shown
from evals_app.formats.yaml_source import Document, Surprise

Kind = Literal["provider", "agent", "fixture", "suite"]
KINDS: tuple[Kind, ...] = ("provider", "agent", "fixture", "suite")

# Above this a worker gives a conversation up.
MAX_CASE_S = 1500


@dataclass(frozen=True, slots=True)
class Reference:
    """A name in a file that must exist elsewhere: an agent, a fixture, a tool, a provider.

    A `scripted judge` is an agent with driver scripted; an `asserted tool` may be missing, but then
    its check always ends the same way.
    """

    kind: Literal["agent", "fixture", "tool", "asserted tool", "provider", "scripted judge"]
    name: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Draft:
    """One object of one file: its spec if it is sound, and what it refers to even if it is not.

    `place` makes a Problem for a place in the spec, in the words and lines of the file.
    """

    kind: Kind
    dialect: Literal["native", "struere"]
    document: Document
    spec: Any
    references: tuple[Reference, ...] = ()
    problems: tuple[Problem, ...] = ()
    place: Callable[..., Problem] = field(repr=False, default=Document.problem)

    @property
    def slug(self) -> str | None:
        """The slug as written, even of a draft that is not sound."""
        data = self.document.data
        slug = data.get("slug") if isinstance(data, dict) else None
        return slug if isinstance(slug, str) else None


def validated(
    model: type[BaseModel],
    data: Any,  # noqa: ANN401 - JSON
    document: Document,
    *,
    place: Callable[..., Problem] | None = None,
) -> tuple[Any, list[Problem]]:
    """Give the spec (None if it is not sound) and everything that is wrong with it."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        return None, explain(error, model=model, data=data, document=document, place=place)


def surprises(document: Document, model: type[BaseModel]) -> list[Problem]:
    """Warn of unquoted words and numbers in places where anything is allowed.

    Where only text is meant they are errors already; where true or false is meant `yes` is right.
    """
    problems = []
    for each in document.surprises:
        if not _is_doubtful(each, annotation_at(model, each.loc, document.data)):
            continue
        written, read = shortened(each.raw, each.loc), shown(each.value, each.loc)
        message = (
            f'YAML reads the unquoted {written} as {read}; write "{written}" in quotes if text is '
            f"meant, else {read}."
        )
        problems.append(document.problem(each.loc, message, value=written, level="warning"))
    return problems


def _is_doubtful(surprise: Surprise, annotation: Any) -> bool:  # noqa: ANN401 - a type
    if annotation is Any:
        return True
    if isinstance(surprise.value, bool):
        return allows(annotation, bool) and allows(annotation, str)
    return allows(annotation, int) or allows(annotation, float)


def model_references(value: Any, loc: Loc) -> Iterator[Reference]:  # noqa: ANN401 - JSON
    """Give what a model name refers to: its provider, or the scripted agent that judges."""
    provider: Any
    name: Any
    if isinstance(value, str) and value != "agent":
        provider, slash, name = value.partition("/")
        if not slash:
            provider = next((p for begin, p in PREFIXES.items() if value.startswith(begin)), "")
        where = loc
    elif isinstance(value, Mapping):
        provider, name, where = value.get("provider"), value.get("name"), (*loc, "provider")
    else:
        return
    if provider == "scripted" and isinstance(name, str) and name:
        yield Reference("scripted judge", name, loc)
    elif isinstance(provider, str) and provider:
        yield Reference("provider", provider, where)


def tool_references(assertion: Mapping[str, Any], loc: Loc) -> Iterator[Reference]:
    """Give the tools that an assertion names in full."""
    kind, value = assertion.get("type"), assertion.get("value")
    if kind not in ("tool_called", "tool_not_called") or not isinstance(value, str):
        return
    if assertion.get("name_match", "exact") == "exact":
        yield Reference("asserted tool", value, (*loc, "value"))


def suite_warnings(suite: SuiteSpec, place: Callable[..., Problem]) -> Iterator[Problem]:
    """Give what is allowed in a suite and yet hardly meant."""
    for a, assertion in enumerate(suite.assertions):
        yield from _assertion_warnings(assertion, ("assertions", a), place)
    for c, case in enumerate(suite.cases):
        here: Loc = ("cases", c)
        for t, turn in enumerate(case.turns):
            there: Loc = (*here, "turns", t)
            for a, assertion in enumerate(turn.assertions or []):
                yield from _assertion_warnings(assertion, (*there, "assertions", a), place)
            for message in _expected_problems(suite, turn):
                yield place((*there, "expected"), message, level="warning")
        for a, assertion in enumerate(case.final_assertions):
            yield from _assertion_warnings(assertion, (*here, "final_assertions", a), place)
        if suite.asserts_nothing(case):
            message = (
                f"Nothing is asserted in case {case.name!r}: no check with a weight and no limit. "
                "Its executions will end in error."
            )
            yield place(here, message, value="", level="warning")
        if (longest := case.turn_timeout_s * len(case.turns)) > MAX_CASE_S:
            message = (
                f"The turns of case {case.name!r} may take {longest:g} s together; a conversation "
                f"is given up after {MAX_CASE_S} s."
            )
            yield place((*here, "turn_timeout_s"), message, level="warning")


def _expected_problems(suite: SuiteSpec, turn: TurnSpec) -> Iterator[str]:
    """Say which checks, the suite's among them, cannot work with the expected text of a turn."""
    if turn.expected is None:
        return
    for assertion in suite.assertions_for(turn):
        problem = assertion.grader.expected_problem(turn.expected)
        if assertion.lacks_expected and problem is not None:
            yield f"{assertion.type}: {problem}"


def _assertion_warnings(
    assertion: AssertionSpec, loc: Loc, place: Callable[..., Problem]
) -> Iterator[Problem]:
    written = getattr(assertion.grader, "value", None) is not None
    for message in assertion.grader.warnings():
        yield place((*loc, "value") if written else loc, message, level="warning")
