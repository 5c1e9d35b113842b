"""Write a case that repeats a conversation, with the checks that people chose."""

from collections.abc import Sequence
from typing import Any

from evals_app.engine.basics.template import escape_braces, plain
from evals_app.engine.proposing.proposals import KeptChecks
from evals_app.engine.record.trial import Trial
from evals_app.engine.suites.assertion_spec import AssertionSpec
from evals_app.engine.suites.case_spec import CaseSpec, HistoryMessage, LimitsSpec, TurnSpec


def case_made(
    trial: Trial,
    chosen: KeptChecks,
    *,
    name: str,
    description: str = "",
    frozen: CaseSpec | None = None,
    asks_again: bool = False,
    replays: bool = False,
) -> CaseSpec:
    """Return the case; `frozen` is the one that was run, which also knows files and facts for judges.

    Each turn has the checks of the suite, too. With `asks_again` the earlier messages of the user are
    turns of their own. With `replays` the user's words are said only while they fit.
    """
    if frozen is not None:
        frozen = frozen.as_played([escape_braces(turn.user) for turn in trial.turns])
    seen = frozen if frozen is not None and is_about(frozen, trial) else _as_seen(trial)
    unchecked = seen.model_copy(
        update={
            "name": name,
            "description": description,
            "enabled": True,
            "trials": None,
            "turns": [
                turn.model_copy(update={"assertions": None, "inherit": False})
                for turn in seen.turns
            ],
            "limits": LimitsSpec(),
            "replay": replays,
            "simulated_user": None,
            "final_assertions": [],
        }
    )
    made: dict[str, Any] = case_with(unchecked, chosen).model_dump(
        mode="json", by_alias=True, exclude_defaults=True
    )
    if asks_again:
        earlier = [{"user": message.content} for message in seen.history if message.role == "user"]
        made |= {"turns": [*earlier, *made["turns"]], "history": []}
    return CaseSpec.model_validate(made)


def case_with(case: CaseSpec, chosen: KeptChecks) -> CaseSpec:
    """Return a case with what was chosen, added to what it has; no check is there twice."""
    return case.model_copy(
        update={
            "turns": [_turn(turn, chosen, number) for number, turn in enumerate(case.turns, 1)],
            "limits": LimitsSpec.model_validate(case.limits.model_dump() | chosen.limits),
            "final_assertions": _join_checks(case.final_assertions, chosen.checks.get(None, [])),
        }
    )


def _turn(turn: TurnSpec, chosen: KeptChecks, number: int) -> TurnSpec:
    changes: dict[str, object] = {}
    if number in chosen.checks:
        changes["assertions"] = _join_checks(turn.assertions or [], chosen.checks[number])
        changes["inherit"] = turn.inherit or turn.assertions is None
    if number in chosen.expected:
        changes["expected"] = chosen.expected[number]
    return turn.model_copy(update=changes)


def _join_checks(
    checks: Sequence[AssertionSpec], more: Sequence[AssertionSpec]
) -> list[AssertionSpec]:
    return [*checks, *(check for check in more if check not in checks)]


def is_about(case: CaseSpec, trial: Trial) -> bool:
    """Return whether a case asks what was asked; the rest may not have been asked any more."""
    asked = [turn.user for turn in trial.turns]
    return [plain(turn.user) for turn in case.turns][: len(asked)] == asked


def _as_seen(trial: Trial) -> CaseSpec:
    return CaseSpec(
        name="A conversation",
        channel=trial.channel or None,
        context_params=trial.context_params,
        clock=trial.clock or None,
        history=[
            HistoryMessage(role=message.role, content=escape_braces(message.text))
            for message in trial.history
        ],
        turns=[TurnSpec(user=escape_braces(turn.user)) for turn in trial.turns],
    )
