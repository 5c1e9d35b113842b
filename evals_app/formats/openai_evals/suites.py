"""Suites made of cases from either form of OpenAI Evals."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from evals_app.engine.basics.template import escape_braces as with_backslashes
from evals_app.formats.foreign.building import Placed, placed_draft, with_distinct_names
from evals_app.formats.foreign.chats import INSTRUCTIONS, Chat
from evals_app.formats.foreign.draft import Draft
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.problems import Json


@dataclass(frozen=True, slots=True)
class SampleCase:
    """A case: where it is written, what is asked, and its checks with the place of each.

    The flag next to a check says that its text is the expected answer.
    """

    spot: Spot
    name: str
    chat: Chat
    asked_at: Spot
    checks: Sequence[tuple[Json, Spot, bool]]


@dataclass(frozen=True, slots=True)
class SampleSuite:
    """A suite: its name, slug, agent, tags and cases."""

    name: str
    slug: str
    agent: str
    tags: Sequence[str] = ()
    cases: Sequence[SampleCase] = field(default=(), repr=False)
    description: str = ""
    # Whether the agent gets the system prompts case by case, or may.
    has_parameters: bool = True


def suite_draft(suite: SampleSuite, spot: Spot) -> Draft:
    """Make the suite; checks that all cases share become those of the suite."""
    _tell_remarks(suite.cases)
    names = [case.name or f"row-{n:04}" for n, case in enumerate(suite.cases, 1)]
    expected = [
        next((check["value"] for check, _, expects in case.checks if expects), None)
        for case in suite.cases
    ]
    checks = [_checks(case, text) for case, text in zip(suite.cases, expected, strict=True)]
    shared = [
        (check, at)
        for check, at in (checks[0] if checks else [])
        if all(any(check == other for other, _ in item) for item in checks)
    ]
    cases = [
        Placed(_case(case, text, has_parameters=suite.has_parameters), case.spot)
        for case, text in zip(suite.cases, expected, strict=True)
    ]
    inherited = [check for check, _ in shared]
    for case, pairs in zip(cases, checks, strict=True):
        own = [Placed(*pair) for pair in pairs if pair[0] not in inherited]
        case.part["turns"][0] |= _checks_of_turn(own, is_graded=bool(shared))
    data: Json = {
        "suite": suite.name,
        "slug": suite.slug,
        "agent": suite.agent or "nobody",
        "description": suite.description,
        "tags": list(suite.tags),
        "assertions": [Placed(*pair) for pair in shared],
        "cases": with_distinct_names(cases, names),
    }
    draft = placed_draft("suite", "openai-evals", spot, data)
    return draft if suite.agent else draft.without_agent()


def _tell_remarks(cases: Sequence[SampleCase]) -> None:
    """Report what became of messages, each thing in the first case that has it."""
    reported: set[str] = set()
    for case in cases:
        for remark in case.chat.remarks:
            if remark not in reported:
                reported.add(remark)
                case.asked_at.lose(remark)


def _checks(case: SampleCase, expected: str | None) -> list[tuple[Json, Spot]]:
    """Return the checks of a case; those of its expected answer do not repeat it."""
    return [
        (_without_value(check) if expects and check["value"] == expected else check, at)
        for check, at, expects in case.checks
    ]


def _without_value(check: Json) -> Json:
    return {key: value for key, value in check.items() if key != "value"}


def _checks_of_turn(own: list[Placed], *, is_graded: bool) -> Json:
    """Return the checks of a turn besides those of the suite, if that has any."""
    if own or not is_graded:
        return {"assertions": own, "inherit": bool(own) and is_graded}
    return {}


def _case(case: SampleCase, expected: str | None, *, has_parameters: bool) -> Json:
    system = case.chat.system if has_parameters else ""
    turn: Json = {"user": Placed(with_backslashes(case.chat.user), case.asked_at)}
    return {
        "context_params": {INSTRUCTIONS: system} if system else {},
        "history": case.chat.history_in_case,
        "turns": [turn | ({} if expected is None else {"expected": expected})],
    }
