"""Write a case that has the same conversation again, with the checks that people chose."""

from typing import Any

from evals_app.engine.basics.template import plain, written
from evals_app.engine.proposing.proposals import Chosen
from evals_app.engine.record.trial import Trial
from evals_app.engine.suites.case_spec import CaseSpec, HistoryMessage, LimitsSpec, TurnSpec


def case_made(
    trial: Trial,
    chosen: Chosen,
    *,
    name: str,
    description: str = "",
    frozen: CaseSpec | None = None,
    asks_again: bool = False,
) -> CaseSpec:
    """Return the case; `frozen` is the one that was run, which also knows files and facts for judges.

    Each turn has the checks of the suite, too. With `asks_again` the earlier messages of the user are
    turns of their own.
    """
    seen = frozen if frozen is not None and _is_about(frozen, trial) else _as_seen(trial)
    turns = [
        _turn(turn, chosen, number).model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for number, turn in enumerate(seen.turns, 1)
    ]
    history = seen.history
    if asks_again:
        earlier = [{"user": message.content} for message in history if message.role == "user"]
        turns, history = [*earlier, *turns], []
    whole = seen.model_copy(
        update={
            "name": name,
            "description": description,
            "enabled": True,
            "trials": None,
            "history": history,
            "turns": [],
            "limits": LimitsSpec.model_validate(chosen.limits),
            "final_assertions": chosen.checks.get(None, []),
        }
    )
    dumped: dict[str, Any] = whole.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return CaseSpec.model_validate(dumped | {"turns": turns})


def _turn(turn: TurnSpec, chosen: Chosen, number: int) -> TurnSpec:
    own = chosen.checks.get(number)
    changes: dict[str, Any] = {"assertions": own, "inherit": own is not None}
    if number in chosen.expected:
        changes["expected"] = chosen.expected[number]
    return turn.model_copy(update=changes)


def _is_about(case: CaseSpec, trial: Trial) -> bool:
    """Whether a case asks what was asked; the rest may not have been asked any more."""
    asked = [turn.user for turn in trial.turns]
    return [plain(turn.user) for turn in case.turns][: len(asked)] == asked


def _as_seen(trial: Trial) -> CaseSpec:
    return CaseSpec(
        name="A conversation",
        channel=trial.channel or None,
        context_params=trial.context_params,
        clock=trial.clock or None,
        history=[
            HistoryMessage(role=message.role, content=written(message.text))
            for message in trial.history
        ],
        turns=[TurnSpec(user=written(turn.user)) for turn in trial.turns],
    )
