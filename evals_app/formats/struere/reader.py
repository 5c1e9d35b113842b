"""The Struere dialect: `evals/*.eval.yaml` and `fixtures/*.fixture.yaml` with camelCase keys.

Source: the Struere documentation, page Evaluations. What it leaves to defaults (scale 1-5, its
judge) is written out, so that the imported suite says what it does.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.foreign.draft import (
    Draft,
    DraftReference,
    model_references,
    repeated_names,
    rows,
    sidecar_of,
    suite_warnings,
    surprises,
    validate_part,
    written_assertions,
)
from evals_app.formats.foreign.prompt_variables import with_plain_variables
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import (
    Json,
    Loc,
    MakeProblem,
    Problem,
    ProblemDetails,
    holds,
)
from evals_app.formats.struere import share_project
from evals_app.formats.struere.shapes import (
    CHANNELS,
    FIXTURE_KEYS,
    JUDGE,
    JUDGE_SCALE,
    READS_TEXT,
    RENAMED,
    Assertion,
    Suite,
    Turn,
)
from fixtures_app.spec import FixtureSpec

# Two backslashes before what is special with one.
_DOUBLED = re.compile(r"\\\\[dDwWsSbB.+*?()\[\]{}^$|]")


@dataclass(slots=True)
class _Lint:
    """Known errors, each explained once; `covered` are the places whose other errors follow."""

    problems: list[Problem] = field(default_factory=list)
    covered: set[Loc] = field(default_factory=set)


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read eval files and fixtures; a suite gets the fixtures of its project folder."""
    for document in documents:
        if document.path in around.fixtures:
            yield read_fixture(document)
            continue
        slugs = {
            slug
            for path, slug in around.fixtures.items()
            if slug is not None and share_project(document.path, path)
        }
        yield read_suite(document, fixtures=sorted(slugs), had=around.fixtures_of)


def read_suite(
    document: ParsedFile, *, fixtures: Sequence[str], had: Callable[[str], Sequence[str]]
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
    written, problems = validate_part(Suite, data, document)
    spec = None
    if written is not None:
        ours, lost = with_plain_variables(_suite(written, fixtures or kept), "judge_context", place)
        spec, problems = validate_part(SuiteSpec, ours, document, place=place)
        problems += lost
    elif isinstance(data, dict):
        problems += _find_hidden(document, place, problems)
    covered = {document.problem(loc, "").keys for loc in lint.covered}
    problems = [problem for problem in problems if problem.keys not in covered] + lint.problems
    problems += surprises(document, Suite)
    if isinstance(spec, SuiteSpec):
        linted = {problem.keys for problem in lint.problems}
        beside = sidecar_of(document.path)
        # The lint and the grader may see the same pattern.
        problems += (
            item for item in suite_warnings(spec, place, beside) if item.keys not in linted
        )
        problems += _channel_warnings(spec, place)
        if kept:
            message = (
                "No test data of its project is among these files, so the suite keeps what it "
                f"has: {', '.join(kept)}."
            )
            problems.append(document.problem(("slug",), message, level="warning"))
    references = tuple(_references(data)) if isinstance(data, dict) else ()
    says_judge = isinstance(data, dict) and "judgeModel" in data
    unsaid = frozenset() if says_judge else frozenset({"judge_model"})
    return Draft(
        "suite", "struere", document, data, spec, references, tuple(problems), place, unsaid
    )


def read_fixture(document: ParsedFile) -> Draft:
    """Read a fixture file; its entity types need not be declared."""
    data = document.data
    spec, problems = validate_part(FixtureSpec, data, document)
    for key in data if isinstance(data, dict) else ():
        if key not in FIXTURE_KEYS and key in FixtureSpec.model_fields:
            spec = None
            message = f"Test data of Struere has no `{key}`. Known keys: {', '.join(FIXTURE_KEYS)}."
            problems.append(document.problem((key,), message, at_key=True))
    if isinstance(data, dict) and "entities" not in data:
        problems = [problem for problem in problems if problem.keys != "entities"]
        message = "Test data needs the key `entities`. Write `entities: []` if there are none."
        problems.append(document.problem(("entities",), message))
    problems += surprises(document, FixtureSpec)
    return Draft("fixture", "struere", document, data, spec, (), tuple(problems), document.problem)


def _find_hidden(
    document: ParsedFile, place: MakeProblem, reported: Sequence[Problem]
) -> Iterator[Problem]:
    """Find what is wrong besides what the shape of a file already says."""
    _, problems = validate_part(SuiteSpec, _in_our_words(document.data), document, place=place)
    problems += repeated_names(document, problems)
    # Of a check without a type nothing else can be known.
    known = {item.keys for item in reported} | {
        item.keys.removesuffix(".type") for item in reported
    }
    below = tuple(f"{keys}{sign}" for keys in known for sign in ".[")
    return (item for item in problems if item.keys not in known and not item.keys.startswith(below))


def _in_our_words(data: Mapping[str, object]) -> dict[str, object]:
    """Rename the keys of a suite that is invalid, and of its cases."""
    ours = {theirs: key for key, theirs in RENAMED.items()}

    def rename_keys(written: Any) -> Any:
        is_mapping = isinstance(written, Mapping)
        return {ours.get(k, k): v for k, v in written.items()} if is_mapping else written

    suite: dict[str, object] = rename_keys(data)
    if isinstance(cases := suite.get("cases"), list):
        suite["cases"] = list(map(rename_keys, cases))
    return suite


def _suite(written: Suite, fixtures: Sequence[str]) -> Json:
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
                    _assertion(assertion, is_final=True) for assertion in case.final_assertions
                ],
            }
            for case in written.cases
        ],
    }


def _turn(turn: Turn) -> dict[str, object]:
    # Without assertions a turn is unscored: these suites have no defaults that it could take.
    if turn.assertions is None:
        return {"user": turn.user}
    return {"user": turn.user, "assertions": list(map(_assertion, turn.assertions))}


def _assertion(assertion: Assertion, *, is_final: bool = False) -> dict[str, object]:
    options = assertion.model_dump(exclude_none=True)
    if assertion.type == "llm_judge":
        options["scale"] = JUDGE_SCALE
    if is_final and assertion.type in READS_TEXT:
        options["scope"] = "conversation"
    return options


def _placer(document: ParsedFile) -> MakeProblem:
    """Find the place of our key under the name that it has in the file."""

    def place(loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> Problem:
        steps: list[str | int] = []
        value = document.data
        for step in loc:
            here = step
            if isinstance(step, str) and isinstance(value, dict) and step not in value:
                here = RENAMED.get(step, step)
            steps.append(here)
            value = value[here] if holds(value, here) else None
        return document.problem(tuple(steps), message, **about)

    return place


def _channel_warnings(suite: SuiteSpec, place: MakeProblem) -> Iterator[Problem]:
    for c, case in enumerate(suite.cases):
        if case.channel is not None and case.channel not in CHANNELS:
            message = (
                f"Struere knows the channels {', '.join(CHANNELS)}. This one is kept as it is."
            )
            yield place(("cases", c, "channel"), message, level="warning")


def _references(data: Mapping[str, Any]) -> Iterator[DraftReference]:
    if isinstance(data.get("agent"), str):
        yield DraftReference("agent", data["agent"], ("agent",))
    yield from model_references(data.get("judgeModel", JUDGE), ("judgeModel",))


def _lint_suite(document: ParsedFile) -> _Lint:
    lint = _Lint()
    if not isinstance(document.data, dict):
        return lint
    for case, here in rows(document.data, "cases", ()):
        for turn, loc in rows(case, "turns", here):
            _lint_turn(document, turn, loc, lint)
    for assertion, loc in written_assertions(document.data, final="finalAssertions"):
        _lint_assertion(document, assertion, loc, lint)
    return lint


def _lint_turn(document: ParsedFile, turn: Mapping[str, object], loc: Loc, lint: _Lint) -> None:
    if "user" in turn or not {"role", "content"} & turn.keys():
        return
    lint.covered |= {(*loc, "user"), (*loc, "role"), (*loc, "content")}
    if turn.get("role") in (None, "user"):
        message = "Write a turn as `user: ...` with the message itself, not as role and content."
    else:
        message = (
            "Only the user's messages are turns, written as `user: ...`. The agent writes its "
            "own replies. Remove this entry and check what the reply should contain."
        )
    lint.problems.append(document.problem(loc, message, value=", ".join(turn)))


def _lint_assertion(
    document: ParsedFile, assertion: Mapping[str, object], loc: Loc, lint: _Lint
) -> None:
    kind, value = assertion.get("type"), assertion.get("value")
    if kind == "regex":
        lint.covered.add((*loc, "type"))
        message = "Struere has no check `regex`. Use `type: matches` with the pattern as its value."
        lint.problems.append(document.problem((*loc, "type"), message))
    if not isinstance(kind, str):
        return
    if "tool" in assertion and kind in {"tool_called", "tool_not_called"}:
        lint.covered |= {(*loc, "tool"), (*loc, "value"), loc}
        message = "Write the name of the tool under `value:`, not under `tool:`."
        lint.problems.append(document.problem((*loc, "tool"), message, at_key=True))
    if kind in {"matches", "regex"} and isinstance(value, str) and _DOUBLED.search(value):
        message = (
            "This pattern has two backslashes, so it searches the reply for a backslash and will "
            "hardly ever match. Double a backslash only inside double quotes. Here write it once."
        )
        lint.problems.append(document.problem((*loc, "value"), message, level="warning"))
