"""The similarity of texts: each way of measuring it, and what is never asked for."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.basics.errors import JudgeError, UnavailableError
from evals_app.engine.llm.call import Embeddings
from evals_app.engine.record.aids import TextSimilarity
from evals_app.engine.record.usage import Usage
from evals_app.engine.verdicts.similarity import SimilarityMeter, SimilaritySpec
from tests.engine.graders.makers import view_of
from tests.engine.judging.makers import FakeModel, make_asker, reply

pytestmark = pytest.mark.anyio

EMBEDDINGS = SimilaritySpec.model_validate({"way": "embeddings", "model": "openai/embed-1"})
JUDGE = SimilaritySpec.model_validate({"way": "judge", "model": "anthropic/claude-haiku-5-5"})
WORDS = SimilaritySpec(way="words")
VECTORS = {"yes": (1.0, 0.0), "certainly": (4.0, 3.0), "no": (0.0, 1.0), "long": (1.0, 0.0, 0.0)}


@dataclass
class FakeEmbedder:
    """Gives the vectors above, and remembers what it was asked."""

    problem: Exception | None = None
    asked: list[list[str]] = field(default_factory=list)

    async def __call__(self, texts: Sequence[str], *, provider: str, model: str) -> Embeddings:
        assert (provider, model) == ("openai", "embed-1")
        self.asked.append(list(texts))
        if self.problem:
            raise self.problem
        vectors = tuple(VECTORS[text] for text in texts)
        usage = Usage(len(texts), 0)
        return Embeddings(vectors=vectors, usage=usage, cost_usd=Decimal("0.1"), model="embed-1-x")


async def compare(
    text: str,
    other: str,
    *,
    by: SimilaritySpec = EMBEDDINGS,
    embedder: FakeEmbedder | None = None,
    similarity: SimilarityMeter | None = None,
    model: FakeModel | None = None,
) -> TextSimilarity:
    similarity = similarity or SimilarityMeter(embedder or FakeEmbedder())
    asker = make_asker(model) if model else None
    return await similarity.by(by, asker=asker)(text, other, view=view_of(text), key="0")


async def test_embeddings_are_compared_by_their_cosine() -> None:
    result = await compare("yes", "certainly")

    assert result.score == pytest.approx(0.8)
    assert (result.method, result.is_degraded) == ("embeddings openai/embed-1", False)


async def test_what_embeddings_cost_is_kept() -> None:
    (call,) = (await compare("yes", "no")).calls

    assert (call.purpose, call.provider, call.asked_model) == ("embedding", "openai", "embed-1")
    assert (call.model, call.usage.prompt_tokens, call.cost_usd) == ("embed-1-x", 2, Decimal("0.1"))
    assert (call.prompt, call.reply) == ("yes\n\nno", "2 vectors of 2 numbers")


async def test_a_text_that_is_known_is_not_paid_for_again() -> None:
    embedder = FakeEmbedder()
    similarity = SimilarityMeter(embedder)

    await compare("yes", "no", similarity=similarity)
    await compare("certainly", "no", similarity=similarity)
    again = await compare("yes", "certainly", similarity=similarity)

    assert embedder.asked == [["yes", "no"], ["certainly"]]
    assert again.score == pytest.approx(0.8)
    assert again.calls == ()


@pytest.mark.parametrize("by", [EMBEDDINGS, JUDGE, WORDS])
@pytest.mark.parametrize(
    ("text", "other", "score"),
    [
        pytest.param("", "", 1.0, id="both empty"),
        pytest.param(" \n", "", 1.0, id="both blank"),
        pytest.param("", "yes", 0.0, id="no answer"),
        pytest.param("yes", " ", 0.0, id="nothing expected"),
        pytest.param("yes", " yes\n", 1.0, id="the same text"),
    ],
)
async def test_what_is_plain_is_shown_without_asking(
    by: SimilaritySpec, text: str, other: str, score: float
) -> None:
    embedder, model = FakeEmbedder(), FakeModel()

    result = await compare(text, other, by=by, embedder=embedder, model=model)

    assert (result.score, result.method, result.calls) == (score, by.method, ())
    assert (embedder.asked, model.asked) == ([], [])


async def test_what_cannot_be_compared_is_no_score() -> None:
    with pytest.raises(JudgeError, match="the vectors have 2 and 3 numbers"):
        await compare("yes", "long")


async def test_a_failure_is_passed_on_and_nothing_else_is_tried() -> None:
    embedder, model = FakeEmbedder(UnavailableError("It is away.")), FakeModel()

    with pytest.raises(UnavailableError):
        await compare("yes", "no", embedder=embedder, model=model)

    assert model.asked == []


def judge_reply(score: int = 7, **changes: Any) -> str:
    data = {"critique": "The day differs.", "injection_suspected": False, "verdict": "graded"}
    return json.dumps({**data, "score": score, **changes})


async def test_a_judge_says_how_far_the_meaning_is_the_same() -> None:
    model = FakeModel(reply(judge_reply()))

    result = await compare("It comes on Friday.", "It comes on Monday.", by=JUDGE, model=model)

    assert (result.score, result.is_degraded, result.critique) == (0.7, True, "The day differs.")
    assert result.method == "semantic_equivalence anthropic/claude-haiku-5-5"
    assert [call.purpose for call in result.calls] == ["semantic_equivalence"]


async def test_without_a_judge_nothing_is_guessed() -> None:
    with pytest.raises(JudgeError, match="no judge model"):
        await compare("yes", "no", by=JUDGE)


async def test_shared_words_stand_in_for_embeddings() -> None:
    result = await compare("Certainly, yes!", "yes and no", by=WORDS)

    assert (result.score, result.method, result.is_degraded) == (0.25, "fuzzy_match", True)


@pytest.mark.parametrize(
    ("written", "method", "is_degraded"),
    [
        pytest.param({"way": "embeddings", "model": "a/b"}, "embeddings a/b", False, id="model"),
        ({"way": "static", "directory": "/models/tiny"}, "embeddings model2vec/tiny", False),
        ({"way": "judge", "model": "a/b"}, "semantic_equivalence a/b", True),
        pytest.param({"way": "words"}, "fuzzy_match", True, id="words"),
    ],
)
def test_each_way_has_a_name(written: dict[str, Any], method: str, *, is_degraded: bool) -> None:
    spec = SimilaritySpec.model_validate(written)

    assert (spec.method, spec.is_degraded) == (method, is_degraded)


@pytest.mark.parametrize("way", ["embeddings", "judge", "static"])
def test_half_a_choice_is_refused(way: str) -> None:
    with pytest.raises(ValidationError, match="needs a"):
        SimilaritySpec.model_validate({"way": way})
