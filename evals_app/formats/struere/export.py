"""Write suites and fixtures as Struere files, and name everything that those cannot say."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import get_args

from evals_app.engine.specs.base_spec import PREFIXES, ModelSpec
from evals_app.engine.suites.suite_spec import AssertionSpec, CaseSpec, SuiteSpec, TurnSpec
from evals_app.formats.reading.problems import Loc, Problem, keys_text
from evals_app.formats.reading.yaml_text import write_yaml
from evals_app.formats.struere.shapes import (
    CHANNELS,
    FIXTURE_KEYS,
    JUDGE,
    JUDGE_SCALE,
    READS_TEXT,
    Assertion,
    Case,
    Suite,
    Turn,
    Type,
)
from fixtures_app.spec import FixtureSpec

# What is written, in their words or otherwise, and so is not a loss.
_CASE_KEYS = Case.model_fields.keys()
_TURN_KEYS = Turn.model_fields.keys() | {"expected", "inherit"}
_SUITE_KEYS = Suite.model_fields.keys() | {"fixtures", "assertions", "score_scale"}
_OWN_OPTIONS = Assertion.model_fields.keys()


def write_project(
    suites: Sequence[SuiteSpec], fixtures: Sequence[FixtureSpec]
) -> tuple[dict[str, bytes], list[Problem]]:
    """Write the files of a project, by their path, and give what is lost."""
    files: dict[str, bytes] = {}
    losses: list[Problem] = []
    slugs = [fixture.slug for fixture in fixtures]
    for suite in suites:
        files[suite_file(suite)], lost = write_suite(suite, fixtures=slugs)
        losses += lost
    for fixture in fixtures:
        files[fixture_file(fixture)], lost = write_fixture(fixture)
        losses += lost
    return files, losses


def suite_file(suite: SuiteSpec) -> str:
    """Return the path of a suite in its project."""
    return f"evals/{suite.slug}.eval.yaml"


def fixture_file(fixture: FixtureSpec) -> str:
    """Return the path of a fixture in its project."""
    return f"fixtures/{fixture.slug}.fixture.yaml"


def write_suite(
    suite: SuiteSpec, *, fixtures: Sequence[str] | None = None
) -> tuple[bytes, list[Problem]]:
    """Write a suite, and give what is lost, by our keys; `fixtures` are those of the project.

    Defaults of the suite are written out for each turn, so nothing of them is lost.
    """
    lost = _Losses(suite_file(suite))
    _check_suite(suite, set(suite.fixtures if fixtures is None else fixtures), lost)
    cases = [_case(suite, case, ("cases", c), lost) for c, case in enumerate(suite.cases)]
    turns = [turn for case in suite.cases for turn in case.turns]
    for a, assertion in enumerate(suite.assertions):
        if not any(_takes(turn, assertion) for turn in turns):
            reason = "A Struere suite has no default checks, and no turn uses this one."
            lost.add(("assertions", a), reason)
    data = {
        "suite": suite.suite,
        "slug": suite.slug,
        "agent": suite.agent,
        "description": suite.description,
        "tags": suite.tags,
        "judgeModel": _judge(suite),
        "judgePrompt": suite.judge_prompt,
        "judgeContext": suite.judge_context,
    }
    return write_yaml({**_without_empty(data), "cases": cases}), [*lost.problems]


def write_fixture(fixture: FixtureSpec) -> tuple[bytes, list[Problem]]:
    """Write a fixture, and give what is lost."""
    lost = _Losses(fixture_file(fixture))
    data = fixture.model_dump(mode="json", exclude_defaults=True)
    lost.others(data, {*FIXTURE_KEYS, "entity_types"}, ())
    used = {entity.type for entity in fixture.entities}
    for n, item in enumerate(fixture.entity_types):
        if item.json_schema or item.slug not in used:  # else an import makes the same type again
            reason = f"Test data of Struere declares no entity types, so {item.slug!r} is left out."
            lost.add(("entity_types", n), reason)
    kept = {key: data[key] for key in FIXTURE_KEYS if key in data}
    return write_yaml(kept), [*lost.problems]


class _Losses:
    def __init__(self, path: str) -> None:
        self._path = path
        # Once: a default of the suite is lost in each turn.
        self.problems: dict[Problem, None] = {}

    def add(self, loc: Loc, reason: str) -> None:
        self.problems[Problem(self._path, 0, 0, keys_text(loc), "", reason, "loss")] = None

    def others(self, data: Iterable[str], known: Collection[str], loc: Loc) -> None:
        """Report the keys that Struere's shape does not have."""
        for key in data:
            if key not in known:
                self.add((*loc, key), f"Struere has no `{key}` here.")


def _without_empty(data: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in data.items() if value not in ("", [], {}, None)}


def _check_suite(suite: SuiteSpec, fixtures: set[str], lost: _Losses) -> None:
    lost.others(suite.model_dump(mode="json", exclude_defaults=True), _SUITE_KEYS, ())
    if suite.score_scale != "1-5":
        lost.add(("score_scale",), "Struere shows scores from 1 to 5.")
    if suite.judge_model is None:
        lost.add(("judge_model",), f"Struere has no judge of the site, so it asks {JUDGE}.")
    elif not isinstance(suite.judge_model, ModelSpec):
        lost.add(
            ("judge_model",), f"Struere's judge is never the agent's model, so it asks {JUDGE}."
        )
    elif suite.judge_model.model_dump(exclude_none=True).keys() > {"provider", "name"}:
        lost.add(("judge_model",), "Struere has no settings for a judge.")
    if set(suite.fixtures) != fixtures:
        given = ", ".join(sorted(fixtures)) or "none"
        lost.add(
            ("fixtures",), f"A Struere suite uses all test data of its project, here: {given}."
        )


def _judge(suite: SuiteSpec) -> str:
    """Name the judge as Struere does, without a provider where the name implies it."""
    judge = str(suite.judge_model) if isinstance(suite.judge_model, ModelSpec) else JUDGE
    provider, _, name = judge.partition("/")
    prefixed = next((prefix for begin, prefix in PREFIXES.items() if name.startswith(begin)), "")
    return name if provider == prefixed and "/" not in name else judge


def _case(suite: SuiteSpec, case: CaseSpec, loc: Loc, lost: _Losses) -> dict[str, object]:
    lost.others(case.model_dump(mode="json", exclude_defaults=True), _CASE_KEYS, loc)
    if case.channel is not None and case.channel not in CHANNELS:
        lost.add((*loc, "channel"), f"Struere knows the channels {', '.join(CHANNELS)}.")
    checks = [
        _final(assertion, (*loc, "final_assertions", a), lost)
        for a, assertion in enumerate(case.final_assertions)
    ]
    final = [check for check in checks if check is not None]
    data = _without_empty(
        {
            "name": case.name,
            "description": case.description,
            "tags": case.tags,
            "channel": case.channel if case.channel in CHANNELS else None,
            "contextParams": case.context_params,
        }
    )
    turns = [_turn(suite, turn, (*loc, "turns", t), lost) for t, turn in enumerate(case.turns)]
    return {**data, "turns": turns, **_without_empty({"finalAssertions": final})}


def _turn(suite: SuiteSpec, turn: TurnSpec, loc: Loc, lost: _Losses) -> dict[str, object]:
    lost.others(turn.model_dump(mode="json", exclude_defaults=True), _TURN_KEYS, loc)
    checks = [
        _assertion(check, turn, place, lost) for place, check in _assertions(suite, turn, loc)
    ]
    written = [check for check in checks if check is not None]
    is_value = turn.expected in (item.get("value") for item in written)
    is_shown = any(item["type"] == "llm_judge" for item in written)  # to the judge
    if turn.expected is not None and (is_shown or not is_value):
        lost.add((*loc, "expected"), "Struere has no expected answers.")
    if written or turn.assertions == []:
        return {"user": turn.user, "assertions": written}
    return {"user": turn.user}


def _assertions(suite: SuiteSpec, turn: TurnSpec, loc: Loc) -> Iterator[tuple[Loc, AssertionSpec]]:
    """Return what is graded after a turn, each with the place where it is written."""
    for a, assertion in enumerate(suite.assertions):
        if _takes(turn, assertion):
            yield ("assertions", a), assertion
    for a, assertion in enumerate(turn.assertions or ()):
        yield (*loc, "assertions", a), assertion


def _takes(turn: TurnSpec, assertion: AssertionSpec) -> bool:
    """Whether a default of the suite is graded after a turn."""
    return (turn.assertions is None or turn.inherit) and assertion.lacks(turn) is None


def _final(assertion: AssertionSpec, loc: Loc, lost: _Losses) -> dict[str, object] | None:
    written = _assertion(assertion, None, loc, lost)
    reads_last = assertion.scope != "conversation"
    if written is not None and assertion.type in READS_TEXT and reads_last:
        lost.add((*loc, "scope"), "Struere reads the whole conversation here, not the last reply.")
    return written


def _assertion(
    assertion: AssertionSpec, turn: TurnSpec | None, loc: Loc, lost: _Losses
) -> dict[str, object] | None:
    """Say an assertion in Struere's words; None: it has none for it."""
    if assertion.type not in get_args(Type):
        lost.add(loc, f"Struere has no check {assertion.type}, so it is left out.")
        return None
    if not assertion.enabled:
        lost.add(loc, "Struere cannot disable a check, so it is left out.")
        return None
    data = assertion.model_dump(mode="json", exclude_defaults=True)
    if assertion.type == "llm_judge" and data.pop("scale", "pass_fail") != JUDGE_SCALE:
        lost.add((*loc, "scale"), "Struere's judge grades from 1 to 5, and 3 passes.")
    known = _OWN_OPTIONS if turn is not None else _OWN_OPTIONS | {"scope"}
    lost.others(data, known, loc)
    if "value" not in data and "criteria" not in data and turn is not None:
        data["value"] = turn.expected
    if assertion.weight.is_integer() and "weight" in data:
        data["weight"] = int(assertion.weight)  # 3, as people write it, not 3.0
    return {key: data[key] for key in ("type", "criteria", "value", "weight") if key in data}
