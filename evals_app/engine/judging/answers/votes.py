"""Several answers to one question: which models are asked how often, and the joint result."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Generic, TypeVar

from evals_app.engine.basics.errors import JudgeError, ProviderError
from evals_app.engine.judging.answers.asking import Asker
from evals_app.engine.judging.answers.verdict import JudgeVerdict
from evals_app.engine.record.aids import Vote
from evals_app.engine.record.judge_call import JudgeCall

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ballot(Generic[T]):
    """The result of one vote: an answer, or the error."""

    model: str
    answer: T | None
    calls: tuple[JudgeCall, ...] = ()
    problem: JudgeError | ProviderError | None = None


# Asks one model, and returns its answer with the calls that it took.
Ask = Callable[[Asker], Awaitable[tuple[T, tuple[JudgeCall, ...]]]]


async def poll(
    voters: Sequence[Asker], ask: Ask[T], *, next_round: Callable[[Sequence[Ballot[T]], int], int]
) -> list[Ballot[T]]:
    """Run rounds of votes; `next_round` gets how many are left and returns how many to ask."""
    ballots: list[Ballot[T]] = []
    while count := next_round(ballots, len(voters) - len(ballots)):
        asked = voters[len(ballots) : len(ballots) + count]
        # Waits for all, so that an error in one leaves no others running.
        votes = await asyncio.gather(*(_vote(task, ask) for task in asked), return_exceptions=True)
        for vote in votes:
            if isinstance(vote, BaseException):
                raise vote
            ballots.append(vote)
    return ballots


async def _vote(asker: Asker, ask: Ask[T]) -> Ballot[T]:
    try:
        answer, calls = await ask(asker)
    except (JudgeError, ProviderError) as exc:
        return Ballot(str(asker.model), None, tuple(exc.calls), exc)
    return Ballot(str(asker.model), answer, calls)


def all_at_once(ballots: Sequence[Ballot[T]], left: int) -> int:  # noqa: ARG001 - see poll
    """Ask all voters at once."""
    return left


def until_decided(ballots: Sequence[Ballot[JudgeVerdict]], left: int) -> int:
    """Ask only until pass or fail is decided."""
    of = len(ballots) + left
    counts = Counter(ballot.answer.raw for ballot in ballots if ballot.answer is not None)
    ahead, behind = sorted((counts["pass"], counts["fail"]), reverse=True)
    ungraded = len(ballots) - ahead - behind
    is_lost = 2 * ungraded > of
    is_decided = ahead > behind + left and 2 * (ungraded + left) <= of
    if is_lost or is_decided:
        return 0
    return min(left, max(1, (behind + left - ahead) // 2 + 1))


def refuse_ungraded(ballots: Sequence[Ballot[T]], *, of: int) -> None:
    """Raise if over half of the `of` votes are not grades."""
    problems = [ballot.problem for ballot in ballots if ballot.problem is not None]
    if 2 * len(problems) <= of:
        return
    provider = next((problem for problem in problems if isinstance(problem, ProviderError)), None)
    problem = provider or problems[0]
    if of > 1 and provider is None:
        problem = JudgeError(f"{len(problems)} of {of} votes gave no grade. {problems[0]}")
    problem.calls = calls_of(ballots)
    raise problem


def calls_of(ballots: Sequence[Ballot[T]]) -> tuple[JudgeCall, ...]:
    """Return all calls, in the order of the votes."""
    return tuple(call for ballot in ballots for call in ballot.calls)


def votes_of(ballots: Sequence[Ballot[JudgeVerdict]]) -> tuple[Vote, ...]:
    """Return the votes for people."""
    return tuple(
        Vote(ballot.model, ballot.answer.raw, ballot.answer.critique, ballot.answer.score)
        if ballot.answer is not None
        else Vote(ballot.model, None, str(ballot.problem))
        for ballot in ballots
    )


def joint_verdict(ballots: Sequence[Ballot[JudgeVerdict]], *, of: int) -> JudgeVerdict:
    """Return the joint verdict: of pass and fail the majority, otherwise the median.

    The words are those of the vote that is nearest to it.

    Raises:
        JudgeError, ProviderError: over half of the votes are not grades, or they are tied.
    """
    refuse_ungraded(ballots, of=of)
    verdicts = [ballot.answer for ballot in ballots if ballot.answer is not None]
    score = median(verdict.score for verdict in verdicts)
    nearest = min(verdicts, key=lambda verdict: abs(verdict.score - score))
    if nearest.score == score:
        return nearest
    if isinstance(nearest.raw, str):
        votes = ", ".join(str(verdict.raw) for verdict in verdicts)
        raise JudgeError(f"The votes are tied: {votes}.", calls=calls_of(ballots))
    raw = median(verdict.raw for verdict in verdicts if not isinstance(verdict.raw, str))
    return replace(nearest, raw=raw, score=score)
