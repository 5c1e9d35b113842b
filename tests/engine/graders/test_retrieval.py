from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.agents.external.reply import AgentReply
from evals_app.engine.agents.session import Exchange
from evals_app.engine.graders.retrieval import ChunksFetched
from evals_app.engine.record.trial import Cause, Chunk
from evals_app.engine.record.view import View
from tests.engine.graders.makers import make_trial, view_of_chunks


@pytest.mark.parametrize(
    ("options", "fetched", "score", "passes"),
    [
        pytest.param({"chunks": ["a", "b"]}, ["b", "a"], 1.0, True, id="all"),
        pytest.param({"chunks": ["a", "b"]}, ["a", "b", "c"], 1.0, True, id="others too"),
        pytest.param({"chunks": ["a", "b"]}, ["a", "a"], 0.5, False, id="half"),
        pytest.param({"chunks": ["a"]}, [], 0.0, False, id="nothing"),
        pytest.param({"chunks": ["a", "a", "b"]}, ["a"], 0.5, False, id="listed twice"),
        pytest.param({"chunks": ["a"], "exact": True}, ["a", "a"], 1.0, True, id="exactly"),
        pytest.param({"chunks": ["a"], "exact": True}, ["a", "b"], 1.0, False, id="one too many"),
        pytest.param({"chunks": ["a"]}, ["A"], 0.0, False, id="case counts"),
    ],
)
def test_the_score_is_the_share_that_was_fetched(
    *, options: dict[str, Any], fetched: list[str], score: float, passes: bool
) -> None:
    grade = ChunksFetched.model_validate(options).grade(view_of_chunks(*fetched))

    assert (grade.score, grade.passed) == (score, passes)


@pytest.mark.parametrize(
    ("chunks", "fetched", "parts"),
    [
        pytest.param(["a", "b"], ["b", "c"], ["fetched b, c", "only a, b"], id="another"),
        pytest.param(["a"], ["a", "b"], ["also fetched b", "only a"], id="one more"),
        pytest.param(["a", "b"], ["a"], ["not fetch b", "fetched a"], id="one less"),
        pytest.param(["a"], [], ["nothing", "expected a"], id="none"),
    ],
)
def test_a_miss_says_what_was_fetched_and_what_was_expected(
    chunks: list[str], fetched: list[str], parts: list[str]
) -> None:
    grade = ChunksFetched(chunks=chunks, exact=True).grade(view_of_chunks(*fetched))

    assert [part for part in parts if part not in grade.reason] == []


@pytest.mark.parametrize(
    ("fetched", "exact", "cause"),
    [
        pytest.param(None, False, Cause.CASE, id="reports nothing"),
        pytest.param([], False, Cause.ASSERTION, id="reports that it found nothing"),
        pytest.param(["b"], False, Cause.ASSERTION, id="reports another"),
        pytest.param(["a"], True, None, id="reports exactly this"),
    ],
)
def test_silence_about_sources_is_not_that_there_were_none(
    *, fetched: list[str] | None, exact: bool, cause: Cause | None
) -> None:
    exchange = Exchange(1, "hello", 60)
    found = None if fetched is None else tuple(Chunk(name, name) for name in fetched)
    AgentReply("Done.", retrieved=found).put_down(exchange)

    grade = ChunksFetched(chunks=["a"], exact=exact).grade(View(make_trial(exchange.record())))

    assert grade.cause is cause


@pytest.mark.parametrize("chunks", [[], [""], "a", None])
def test_chunks_that_cannot_be_fetched_are_refused(chunks: object) -> None:
    with pytest.raises(ValidationError):
        ChunksFetched.model_validate({"chunks": chunks})


def test_a_closed_row_reads_as_a_sentence() -> None:
    assert ChunksFetched(chunks=["a", "b"]).summary() == "Fetches a, b"
    assert ChunksFetched(chunks=["a"], exact=True).summary() == "Fetches exactly a"
