"""Vectors of texts: one way for every provider that has them."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.basics.errors import BadRequestError, ConfigurationError
from evals_app.engine.llm.budget import BudgetAccount, CallBudget, ModelUse
from evals_app.engine.llm.call import Embeddings
from evals_app.engine.llm.models import Models
from evals_app.engine.record.usage import Usage
from tests.engine.llm.makers import CHAT, KEY_VARIABLE, Lab, make_provider
from tests.messages_api import Json
from tests.model_server import KEY, Answer, Failure, Garbage, Vectors

pytestmark = pytest.mark.anyio


def vectors_of(request: Json) -> Vectors:
    """Embed each text as its length and whether it is the last of its call."""
    texts = request["input"]
    return Vectors(tuple((float(len(text)), float(text == texts[-1])) for text in texts))


async def embed(models: Models, texts: list[str], **changes: Any) -> Embeddings:
    return await models.embed(texts, provider="openai", model="embed-1", **changes)


async def test_each_text_has_its_vector(lab: Lab) -> None:
    lab.server.answers(vectors_of)

    async with lab.open(CHAT) as models:
        got = await embed(models, ["a", "abc"])

    assert got.vectors == ((1.0, 0.0), (3.0, 1.0))
    assert (got.model, got.usage, got.cost_usd) == ("embed-1", Usage(8, 0), None)
    assert got.latency_ms > 0


@pytest.mark.parametrize(
    ("kind", "texts", "sizes"),
    [
        pytest.param("openai", ["x"] * 600, [256, 256, 88], id="256 at a time"),
        pytest.param("gemini", ["x"] * 250, [100, 100, 50], id="fewer for Gemini"),
        pytest.param("openai", ["x" * 100_000] * 3, [2, 1], id="not too long together"),
        pytest.param("openai", ["x" * 300_000, "y"], [1, 1], id="a long one alone"),
        pytest.param("openai", [], [], id="none"),
    ],
)
async def test_many_texts_take_several_calls(
    lab: Lab, kind: str, texts: list[str], sizes: list[int]
) -> None:
    lab.server.answers(vectors_of)

    async with lab.open(CHAT, kind=kind) as models:
        got = await embed(models, texts)

    assert [len(body["input"]) for body in lab.server.bodies] == sizes
    assert [vector[0] for vector in got.vectors] == [len(text) for text in texts]
    assert got.usage == Usage(8 * len(sizes), 0)


async def test_embeddings_are_tried_again_paced_and_paid_like_all_calls(lab: Lab) -> None:
    lab.server.replies([Failure(500), Vectors(((1.0,),) * 256), Vectors(((1.0,),))])
    price = {"model": "embed-1", "valid_from": "2026-01-01", "input_usd": 2, "output_usd": 0}

    async with lab.open(CHAT, prices=[price], requests_per_minute=60) as models:
        got = await embed(models, ["x"] * 257)

    assert [attempt.waited_ms / 1000 for attempt in got.attempts] == pytest.approx([2], abs=0.5)
    assert got.cost_usd == Decimal("0.000032")
    assert len(lab.server.requests) == 3


async def test_embeddings_keep_to_the_money_of_a_run(lab: Lab) -> None:
    async def reserve_amounts(account: BudgetAccount, asked: Sequence[Decimal]) -> Sequence[bool]:
        return [True] * len(asked)

    budget = CallBudget(reserve_amounts, is_limited=True)
    lab.server.answers(vectors_of)
    price = {"model": "embed-1", "valid_from": "2026-01-01", "input_usd": 2, "output_usd": 0}
    provider = make_provider(f"{lab.server.url}/v1", slug="openai", kind="openai", prices=[price])

    async with Models([provider], budget=budget, environ={KEY_VARIABLE: KEY}) as models:
        await embed(models, ["x"])
        with pytest.raises(ConfigurationError, match="openai/other has no price"):
            await models.embed(["x"], provider="openai", model="other")

    # Only checks compare texts.
    assert budget.account.spent == {ModelUse("judge", "openai/embed-1"): Decimal("0.000016")}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        pytest.param(Vectors(()), "one vector for each", id="none"),
        pytest.param(Garbage("{}"), "one vector for each", id="no list"),
        pytest.param(Failure(404, message="No such model."), "No such model", id="unknown model"),
    ],
)
async def test_a_call_without_vectors_says_why(lab: Lab, answer: Answer, problem: str) -> None:
    async with lab.open(CHAT, answer) as models:
        with pytest.raises(BadRequestError, match=problem):
            await embed(models, ["x"])


@pytest.mark.parametrize("blank", ["", " \n"])
async def test_a_blank_text_has_no_embedding(lab: Lab, blank: str) -> None:
    async with lab.open(CHAT) as models:
        with pytest.raises(ValueError, match="blank text"):
            await embed(models, ["x", blank])

    assert lab.server.requests == []


@pytest.mark.parametrize("kind", ["anthropic", "groq"])
async def test_some_kinds_have_no_embeddings(lab: Lab, kind: str) -> None:
    async with lab.open(CHAT, kind=kind) as models:
        with pytest.raises(ConfigurationError, match="embeddings"):
            await embed(models, ["x"])

    assert lab.server.requests == []
