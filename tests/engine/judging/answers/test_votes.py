from itertools import product

import pytest

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.answers.verdict import JudgeVerdict
from evals_app.engine.judging.answers.votes import Ballot, joint_verdict, until_decided

SCORES = {"pass": 1.0, "fail": 0.0}


def ballots(words: tuple[str, ...]) -> list[Ballot[JudgeVerdict]]:
    return [
        Ballot("m", JudgeVerdict(word, SCORES[word], word))
        if word in SCORES
        else Ballot("m", None, problem=JudgeError("No."))
        for word in words
    ]


def outcome(votes: list[Ballot[JudgeVerdict]], *, of: int) -> float | str | None:
    try:
        return joint_verdict(votes, of=of).raw
    except JudgeError:
        return None


@pytest.mark.parametrize("count", [1, 3, 5])
def test_stopping_early_never_changes_the_outcome(count: int) -> None:
    for words in product(["pass", "fail", "none"], repeat=count):
        asked = 0
        while more := until_decided(ballots(words[:asked]), count - asked):
            asked += more

        assert outcome(ballots(words[:asked]), of=count) == outcome(ballots(words), of=count), words


@pytest.mark.parametrize(
    ("words", "left", "more"),
    [
        pytest.param((), 1, 1, id="the only one"),
        pytest.param((), 3, 2, id="two may decide"),
        pytest.param((), 5, 3, id="three may decide"),
        pytest.param(("pass", "fail"), 1, 1, id="the third does"),
        pytest.param(("pass", "pass"), 1, 0, id="decided"),
        pytest.param(("none", "none"), 1, 0, id="lost"),
        pytest.param(("pass", "none"), 1, 1, id="not yet decided"),
        pytest.param(("pass", "pass", "fail"), 2, 1, id="one may decide"),
        pytest.param(("pass", "fail", "none"), 2, 2, id="two must"),
        pytest.param(("pass", "fail", "none"), 0, 0, id="nobody is left"),
    ],
)
def test_no_more_are_asked_than_may_decide(words: tuple[str, ...], left: int, more: int) -> None:
    assert until_decided(ballots(words), left) == more
