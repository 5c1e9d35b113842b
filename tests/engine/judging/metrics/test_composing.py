from typing import Any

import pytest

from evals_app.engine.judging.answers.replies import UNDECIDED
from evals_app.engine.judging.metrics.composing import MetricWording, of

CLAIMS = MetricWording("claim", "not in the context", "in the context")


def entries_of(*verdicts: str) -> list[dict[str, Any]]:
    return [{"text": f"text {n}", "verdict": word} for n, word in enumerate(verdicts, 1)]


@pytest.mark.parametrize(
    ("count", "total", "text"),
    [(1, 1, "1 of 1 claim"), (1, 2, "1 of 2 claims"), (0, 4, "0 of 4 claims")],
    ids=str,
)
def test_counts_have_their_noun(count: int, total: int, text: str) -> None:
    assert of(count, total, "claim") == text


@pytest.mark.parametrize(
    ("verdicts", "sentences"),
    [
        pytest.param(["yes"], ["The only claim is in the context."], id="one"),
        pytest.param(["yes", "yes"], ["All 2 claims are in the context."], id="all"),
        (["no", "yes"], ["1 of 2 claims is not in the context: “text 1”."]),
        pytest.param(
            ["no", "not_so", "yes"],
            ["2 of 3 claims are not in the context: “text 1” (no), “text 2” (not so)."],
            id="in different ways",
        ),
        pytest.param(
            ["no"] * 5,
            ["5 of 5 claims are not in the context: “text 1”, “text 2”, “text 3” and 2 more."],
            id="many",
        ),
        (["yes", UNDECIDED], ["The judge could not decide 1 of 2 claims: “text 2”."]),
        pytest.param(
            ["no", UNDECIDED],
            [
                "1 of 2 claims is not in the context: “text 1”.",
                "The judge could not decide 1 of 2 claims: “text 2”.",
            ],
            id="both",
        ),
    ],
)
def test_a_reason_says_how_many_and_which(verdicts: list[str], sentences: list[str]) -> None:
    reason = CLAIMS.sentences(entries_of(*verdicts), {"no", "not_so"}, is_explained=True)

    assert reason == sentences


def test_unexplained_it_names_none() -> None:
    sentences = CLAIMS.sentences(entries_of("no", UNDECIDED), {"no"}, is_explained=False)

    assert not any("“" in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("total", "says"),
    [(1, "The only claim is not wrong."), (3, "None of the 3 claims is wrong.")],
    ids=str,
)
def test_a_fault_without_an_opposite_is_denied(total: int, says: str) -> None:
    assert MetricWording("claim", "wrong").sentences(
        entries_of(*["yes"] * total), {"no"}, is_explained=True
    ) == [says]
