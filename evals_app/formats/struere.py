"""The Struere dialect: `evals/*.eval.yaml` and `fixtures/*.fixture.yaml` with camelCase keys.

Source: the Struere documentation, page Evaluations. What it leaves to defaults (scale 1-5, its
judge) is written out, so that the imported suite says what it does.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from evals_app.engine.suite import SuiteSpec
from evals_app.formats.document import Document
from evals_app.formats.draft import (
    Draft,
    Reference,
    model_references,
    repeated_names,
    rows,
    suite_warnings,
    surprises,
    validated,
)
from evals_app.formats.problems import Loc, Problem, holds
from evals_app.formats.prompt_variables import with_plain_variables
from fixtures_app.spec import FixtureSpec

JUDGE = "anthropic/claude-haiku-4-5-20251001"
CHANNELS = ("widget", "whatsapp", "api", "dashboard")

_RENAMED = {
    "judge_model": "judgeModel",
    "judge_prompt": "judgePrompt",
    "judge_context": "judgeContext",
    "context_params": "contextParams",
    "final_assertions": "finalAssertions",
}
# Their final forms read the conversation; tool assertions see all calls anyway.
JUDGE_SCALE = "1-5"  # on which 3 passes
READS_TEXT = {"contains", "matches", "llm_judge"}
Type = Literal["llm_judge", "contains", "matches", "tool_called", "tool_not_called"]
# Two backslashes before what is special with one.
_DOUBLED = re.compile(r"\\\\[dDwWsSbB.+*?()\[\]{}^$|]")


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel)


class _Assertion(_Written):
    type: Type
    criteria: str | None = None
    value: str | None = None
    weight: Annotated[float, Field(ge=0)] = 1

    @model_validator(mode="after")
    def _has_its_option(self) -> Self:
        needed, foreign = (
            ("criteria", "value") if self.type == "llm_judge" else ("value", "criteria")
        )
        if getattr(self, needed) is None:
            msg = f"The check {self.type} needs the key `{needed}`."
            raise ValueError(msg)
        if getattr(self, foreign) is not None:
            msg = f"The check {self.type} has `{needed}`, it knows no `{foreign}`."
            raise ValueError(msg)
        return self


class _Turn(_Written):
    user: str
    assertions: list[_Assertion] | None = None


class _Case(_Written):
    name: str
    description: str = ""
    tags: list[str] = Field(default_factory=list)
    turns: list[_Turn]
    final_assertions: list[_Assertion] = Field(default_factory=list)
    channel: str | None = None
    context_params: dict[str, str | int | float | bool | None] = Field(default_factory=dict)


class _Suite(_Written):
    suite: str
    slug: str
    agent: str
    description: str = ""
    tags: list[str] = Field(default_factory=list)
    judge_model: str = JUDGE
    judge_prompt: str = ""
    judge_context: str = ""
    cases: list[_Case]


# The shape of a fixture is that of ours, with fewer keys.
FIXTURE_KEYS = ("name", "slug", "entities", "relations")


@dataclass(slots=True)
class _Lint:
    """Known mistakes, each explained once; `covered` are the places whose other errors follow."""

    problems: list[Problem] = field(default_factory=list)
    covered: set[Loc] = field(default_factory=set)


def read_suite(
    document: Document, *, fixtures: Sequence[str], had: Callable[[str], Sequence[str]]
) -> Draft:
    """Read an eval file; the suite gets the fixtures of its project folder.

    If none of these is among the files it keeps those that it `had`, by its slug: who imports one
    changed file alone means the same data.
    """
    data = document.data
    place = _placer(document)
    slug = data.get("slug") if isinstance(data, dict) else None
    kept = had(slug) if isinstance(slug, str) and not fixtures else ()
    lint = _lint_suite(document)
    written, problems = validated(_Suite, data, document)
    spec = None
    if written is not None:
        ours, lost = with_plain_variables(_suite(written, fixtures or kept), "judge_context", place)
        spec, problems = validated(SuiteSpec, ours, document, place=place)
        problems += lost
    elif isinstance(data, dict):
        problems += _hidden(document, place, problems)
    covered = {document.problem(loc, "").keys for loc in lint.covered}
    problems = [each for each in problems if each.keys not in covered] + lint.problems
    problems += surprises(document, _Suite)
    if isinstance(spec, SuiteSpec):
        problems += suite_warnings(spec, place)
        problems += _channel_warnings(spec, place)
        if kept:
            message = (
                "No fixture of its project is among these files, so the suite keeps those that it "
                f"has: {', '.join(kept)}."
            )
            problems.append(document.problem(("slug",), message, level="warning"))
    references = tuple(_references(data)) if isinstance(data, dict) else ()
    return Draft("suite", "struere", document, data, spec, references, _unique(problems), place)


def read_fixture(document: Document) -> Draft:
    """Read a fixture file; its entity types need not be declared."""
    data = document.data
    spec, problems = validated(FixtureSpec, data, document)
    for key in data if isinstance(data, dict) else ():
        if key not in FIXTURE_KEYS and key in FixtureSpec.model_fields:
            spec = None
            message = f"Struere fixtures have no `{key}`. Known keys: {', '.join(FIXTURE_KEYS)}."
            problems.append(document.problem((key,), message, at_key=True))
    if isinstance(data, dict) and "entities" not in data:
        problems = [each for each in problems if each.keys != "entities"]
        message = "A fixture needs the key `entities`; write `entities: []` for an empty one."
        problems.append(document.problem(("entities",), message))
    problems += surprises(document, FixtureSpec)
    return Draft("fixture", "struere", document, data, spec, (), tuple(problems), document.problem)


def _hidden(
    document: Document, place: Callable[..., Problem], said: Sequence[Problem]
) -> Iterator[Problem]:
    """Find what is wrong beside what the shape of a file already says."""
    _, found = validated(SuiteSpec, _in_our_words(document.data), document, place=place)
    found += repeated_names(document, found)
    # Of a check without a type nothing else can be told.
    known = {each.keys for each in said} | {each.keys.removesuffix(".type") for each in said}
    below = tuple(f"{keys}{sign}" for keys in known for sign in ".[")
    return (each for each in found if each.keys not in known and not each.keys.startswith(below))


def _in_our_words(data: Mapping[str, Any]) -> dict[str, Any]:
    """Rename the keys of a suite that is not sound, and of its cases."""
    ours = {theirs: key for key, theirs in _RENAMED.items()}
    suite = {ours.get(key, key): value for key, value in data.items()}
    if isinstance(cases := suite.get("cases"), list):
        suite["cases"] = [
            {ours.get(key, key): value for key, value in case.items()}
            if isinstance(case, dict)
            else case
            for case in cases
        ]
    return suite


def _suite(written: _Suite, fixtures: Sequence[str]) -> dict[str, Any]:
    """Say the same in our words."""
    return {
        "suite": written.suite,
        "slug": written.slug,
        "agent": written.agent,
        "description": written.description,
        "tags": written.tags,
        "fixtures": list(fixtures),
        "score_scale": "1-5",
        "judge_model": written.judge_model,
        "judge_prompt": written.judge_prompt,
        "judge_context": written.judge_context,
        "cases": [
            {
                "name": case.name,
                "description": case.description,
                "tags": case.tags,
                "channel": case.channel,
                "context_params": case.context_params,
                "turns": [_turn(turn) for turn in case.turns],
                "final_assertions": [
                    _assertion(each, is_final=True) for each in case.final_assertions
                ],
            }
            for case in written.cases
        ],
    }


def _turn(turn: _Turn) -> dict[str, Any]:
    # Without assertions a turn is unscored: these suites have no defaults that it could take.
    if turn.assertions is None:
        return {"user": turn.user}
    return {"user": turn.user, "assertions": [_assertion(each) for each in turn.assertions]}


def _assertion(assertion: _Assertion, *, is_final: bool = False) -> dict[str, Any]:
    options = assertion.model_dump(exclude_none=True)
    if assertion.type == "llm_judge":
        options["scale"] = JUDGE_SCALE
    if is_final and assertion.type in READS_TEXT:
        options["scope"] = "conversation"
    return options


def _placer(document: Document) -> Callable[..., Problem]:
    """Find the place of our key under the name that it has in the file."""

    def place(loc: Loc, message: str, **options: Any) -> Problem:
        steps: list[str | int] = []
        value = document.data
        for step in loc:
            here = step
            if isinstance(step, str) and isinstance(value, dict) and step not in value:
                here = _RENAMED.get(step, step)
            steps.append(here)
            value = value[here] if holds(value, here) else None
        return document.problem(tuple(steps), message, **options)

    return place


def _channel_warnings(suite: SuiteSpec, place: Callable[..., Problem]) -> Iterator[Problem]:
    for c, case in enumerate(suite.cases):
        if case.channel is not None and case.channel not in CHANNELS:
            message = (
                f"Struere knows the channels {', '.join(CHANNELS)}; this one is kept as it is."
            )
            yield place(("cases", c, "channel"), message, level="warning")


def _references(data: Mapping[str, Any]) -> Iterator[Reference]:
    if isinstance(data.get("agent"), str):
        yield Reference("agent", data["agent"], ("agent",))
    yield from model_references(data.get("judgeModel", JUDGE), ("judgeModel",))


def _assertions(data: Any) -> Iterator[tuple[Mapping[str, Any], Loc]]:  # noqa: ANN401 - JSON
    for case, here in rows(data, "cases", ()):
        for turn, there in rows(case, "turns", here):
            yield from rows(turn, "assertions", there)
        yield from rows(case, "finalAssertions", here)


def _lint_suite(document: Document) -> _Lint:
    lint = _Lint()
    if not isinstance(document.data, dict):
        return lint
    for case, here in rows(document.data, "cases", ()):
        for turn, loc in rows(case, "turns", here):
            _lint_turn(document, turn, loc, lint)
    for assertion, loc in _assertions(document.data):
        _lint_assertion(document, assertion, loc, lint)
    return lint


def _lint_turn(document: Document, turn: Mapping[str, Any], loc: Loc, lint: _Lint) -> None:
    if "user" in turn or not {"role", "content"} & turn.keys():
        return
    lint.covered |= {(*loc, "user"), (*loc, "role"), (*loc, "content")}
    if turn.get("role") in (None, "user"):
        message = "A turn is written `user: ...` with the message itself, not as role and content."
    else:
        message = (
            "Only the user's messages are turns, written `user: ...`; the agent's replies come "
            "from the agent. Remove this entry and assert what it should say."
        )
    lint.problems.append(document.problem(loc, message, value=", ".join(turn)))


def _lint_assertion(
    document: Document, assertion: Mapping[str, Any], loc: Loc, lint: _Lint
) -> None:
    kind, value = assertion.get("type"), assertion.get("value")
    if kind == "regex":
        lint.covered.add((*loc, "type"))
        message = "Struere has no check `regex`; use `type: matches`, its value is the pattern."
        lint.problems.append(document.problem((*loc, "type"), message))
    if not isinstance(kind, str):
        return
    if "tool" in assertion and kind in {"tool_called", "tool_not_called"}:
        lint.covered |= {(*loc, "tool"), (*loc, "value"), loc}
        message = "The name of the tool stands under `value:`, not under `tool:`."
        lint.problems.append(document.problem((*loc, "tool"), message, at_key=True))
    if kind in {"matches", "regex"} and isinstance(value, str) and _DOUBLED.search(value):
        message = (
            "This pattern has two backslashes, so it looks for a backslash in the reply and will "
            "hardly ever match. A backslash is doubled inside double quotes only; here write it once."
        )
        lint.problems.append(document.problem((*loc, "value"), message, level="warning"))


def _unique(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Keep one warning for each place: the lint and the grader may see the same pattern."""
    warned: set[tuple[int, int]] = set()
    kept = []
    for each in problems:
        if each.level == "warning":
            if (each.line, each.column) in warned:
                continue
            warned.add((each.line, each.column))
        kept.append(each)
    return tuple(kept)
