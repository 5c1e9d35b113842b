import asyncio
from typing import Any

import pytest

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.judging.metrics.claims import ClaimMemory, Claims, list_claims
from evals_app.engine.judging.prompts.dialogue import dialogue_of
from tests.engine.judging.makers import FakeModel
from tests.engine.judging.measuring import claims, make_inquiry, prompt_of, rag_view

pytestmark = pytest.mark.anyio
ANSWER = "Hello! Books can be returned within 30 days. Shipping is free."


async def claims_in(*replies: Any, answer: str = ANSWER, **changes: Any) -> Claims:
    inquiry = make_inquiry(FakeModel(*replies), **changes)
    return await list_claims(dialogue_of(rag_view(answer)), inquiry)


@pytest.mark.parametrize(
    ("reply", "expected", "left_out"),
    [
        pytest.param(claims(), (), (), id="none"),
        pytest.param(
            claims("Returns take 30 days < returned within 30 days", "Shipping is free."),
            ("Returns take 30 days", "Shipping is free."),
            (),
            id="with what they come from",
        ),
        (claims("Shipping is free.", "shipping  is FREE."), ("Shipping is free.",), ()),
        pytest.param(
            claims("Shipping is free.", "Tea is free < We give tea away"),
            ("Shipping is free.",),
            ("Tea is free",),
            id="what the answer does not say is left out",
        ),
        pytest.param(
            claims("Shipping is free.", "Tea is free < "),
            ("Shipping is free.",),
            ("Tea is free",),
            id="what comes from nothing is left out",
        ),
    ],
)
async def test_claims_are_those_that_the_answer_makes(
    reply: dict[str, Any], expected: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    assert await claims_in(reply) == Claims(expected, left_out)


async def test_a_judge_that_makes_all_of_them_up_has_failed() -> None:
    with pytest.raises(JudgeError, match="claims that the reply does not make"):
        await claims_in(claims("Tea is free < We give tea away"))


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param({"claims": ["Shipping"]}, id="bare texts"),
        pytest.param(claims("  < Hello!"), id="a blank claim"),
    ],
)
async def test_a_reply_off_the_schema_is_repaired(reply: dict[str, Any]) -> None:
    assert (await claims_in(reply, claims("Shipping is free."))).claims == ("Shipping is free.",)


async def test_the_judge_sees_question_and_answer_and_no_context() -> None:
    model = FakeModel(claims())

    await list_claims(dialogue_of(rag_view(ANSWER)), make_inquiry(model))

    text = prompt_of(model.asked[0])
    assert text.startswith("TASK: claims\n")
    assert "How long may I return books?" in text
    assert "Shipping is free." in text
    assert "Returns are accepted" not in text


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param("none", (), id="none"),
        pytest.param(" One.\n\nTwo. ", ("One.", "Two."), id="lines"),
    ],
)
async def test_a_script_writes_claims_on_lines(reply: str, expected: tuple[str, ...]) -> None:
    assert (await claims_in(reply, is_scripted=True)).claims == expected


async def recall(store: ClaimMemory, model: FakeModel, answer: str, **changes: Any) -> Claims:
    inquiry = make_inquiry(model)
    inquiry.advice = changes.pop("advice", "")
    return await store.of(dialogue_of(rag_view(answer, **changes)), inquiry)


async def test_the_same_answer_is_read_once() -> None:
    store, model = ClaimMemory(), FakeModel(lambda _: claims("Shipping is free."))

    answers = await asyncio.gather(*(recall(store, model, ANSWER) for _ in range(3)))

    assert len(model.asked) == 1
    assert {claims.claims for claims in answers} == {("Shipping is free.",)}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"answer": f"{ANSWER} Tea."}, id="another answer"),
        pytest.param({"question": "And tea?"}, id="another question"),
        pytest.param({"advice": "Be strict."}, id="another advice"),
    ],
)
async def test_what_differs_is_read_again(changes: dict[str, Any]) -> None:
    store, model = ClaimMemory(), FakeModel(lambda _: claims())

    await recall(store, model, ANSWER)
    await recall(store, model, **{"answer": ANSWER, **changes})

    assert len(model.asked) == 2


async def test_another_context_is_no_other_answer() -> None:
    store, model = ClaimMemory(), FakeModel(lambda _: claims())

    await recall(store, model, ANSWER)
    await recall(store, model, ANSWER, chunks=("Other",))

    assert len(model.asked) == 1
