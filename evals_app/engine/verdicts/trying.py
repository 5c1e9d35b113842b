"""Try one check on a pasted reply, through the code that grades runs."""

from dataclasses import replace

from evals_app.engine.basics.reasoning import without_reasoning
from evals_app.engine.graders import PlainGrader
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Trial, TurnRecord
from evals_app.engine.suites.suite_spec import AssertionSpec, CaseSpec, TurnSpec
from evals_app.engine.verdicts.grading import NO_AIDS, grade_check

MAX_CHARS = 20_000  # some checks would take seconds for more
_TOO_LONG = "The {} is too long to try this check here. Save the case and run it to see this check's result."
_NEEDS_RUN = {
    "judged": "A judge must read the reply, which costs model calls.",
    "code": "Your own function runs only in a run.",
}


def needs_run(check: AssertionSpec) -> str | None:
    """Explain why a check can be tried only in a run; None if it is free and always the same."""
    if isinstance(check.grader, PlainGrader):
        return None
    why = _NEEDS_RUN.get(check.grader.family, "A model must compare the texts.")
    return f"{why} Save the case and run it to see this check's result."


def reads_more(check: AssertionSpec) -> bool:
    """Return whether a check reads more of a conversation than one reply."""
    return check.grader.reads_more() or check.scope == "conversation"


async def try_check(
    check: AssertionSpec,
    *,
    reply: str,
    turn: int | None,
    expected: str | None = None,
    last: Trial | None = None,
) -> Grade:
    """Grade a check as if the agent had just given this reply in a turn (None: the last one).

    `last` is the conversation that happened last; checks that read more than the reply see it, with
    this reply in the place of its own.
    """
    if why := needs_run(check):
        return Grade.not_applicable(why)
    if len(reply) > MAX_CHARS:
        return Grade.not_applicable(f"Paste at most {MAX_CHARS:,} characters.")
    if len(expected or "") > MAX_CHARS:
        return Grade.not_applicable(_TOO_LONG.format("expected answer"))
    reply = without_reasoning(reply).reply
    number = turn or (len(last.turns) if last else 0) or 1
    if reads_more(check) and last is not None and number <= len(last.turns):
        trial = _with_reply(last, number, reply)
    elif not check.grader.reads_more():
        number = 1
        record = TurnRecord(index=1, user="", reply=reply)
        trial = Trial(case="", number=1, planned_turns=1, agent="", turns=(record,))
    else:
        return Grade.not_applicable(
            "This check reads more than the reply, such as tool calls, and there is no stored"
            " conversation of this turn. Save the case, run it once, then try again."
        )
    read = trial.turns[:number] if check.grader.reads_text else ()
    if sum(len(record.reply) for record in read) > MAX_CHARS:
        return Grade.not_applicable(_TOO_LONG.format("stored conversation"))
    given = TurnSpec(user="-", expected=expected, assertions=[])
    return await grade_check(
        check,
        trial=trial,
        case=CaseSpec(name="-", turns=[given] * number),
        turn=None if turn is None else number,
        aids_for=lambda _check, _key: NO_AIDS,
        key="",
    )


def _with_reply(trial: Trial, number: int, reply: str) -> Trial:
    """Return a conversation in which the agent gave another reply and nothing went wrong."""
    record = replace(trial.turns[number - 1], reply=reply, error=None)
    turns = (*trial.turns[: number - 1], record, *trial.turns[number:])
    return replace(trial, turns=turns, failure=None)
