from collections.abc import Sequence
from typing import Any

import pytest

from evals_app.engine.errors import JudgeError, UnavailableError
from evals_app.engine.judging.asking import Prompt
from evals_app.engine.judging.context import WINDOW_BYTES
from evals_app.engine.judging.inquiry import Inquiry
from evals_app.engine.judging.items import (
    MISSING,
    Item,
    Judged,
    batches,
    judge_items,
    written_items,
)
from evals_app.engine.judging.replies import Form, Opinion
from evals_app.engine.llm.call import ModelReply
from tests.engine.judging.measuring import (
    ABOUT_ALL,
    NONCE,
    PLAIN,
    PlayedModel,
    make_inquiry,
    prompt_of,
    verdicts,
)

pytestmark = pytest.mark.anyio


def make_items(count: int) -> list[Item]:
    return [Item(number, f"item {number}") for number in range(1, count + 1)]


async def judged(
    model: PlayedModel, count: int, *, form: Form = PLAIN, inquiry: Inquiry | None = None
) -> Judged:
    inquiry = inquiry or make_inquiry(model)

    def prompt_for(batch: Sequence[Item]) -> Prompt:
        blocks = {"SEGMENTS": written_items(batch, inquiry)}
        return inquiry.prompt("test", rules="Judge.", form="JSON.", blocks=blocks)

    return await judge_items(
        make_items(count), form=form, prompt_for=prompt_for, purpose="test", inquiry=inquiry
    )


def words(found: Judged) -> list[str]:
    return [opinion.verdict for opinion in found.opinions.values()]


@pytest.mark.parametrize(
    ("replies", "found"),
    [
        pytest.param([verdicts("good", "bad", "good")], ["good", "bad", "good"], id="all at once"),
        pytest.param(
            [{**verdicts(), "verdicts": verdicts("good", "bad", "good")["verdicts"][::-1]}],
            ["good", "bad", "good"],
            id="in another order",
        ),
        pytest.param(
            [
                {
                    **verdicts(),
                    "verdicts": [
                        *verdicts("good", "good", "good")["verdicts"],
                        *verdicts("bad", "bad", "bad")["verdicts"],
                    ],
                }
            ],
            ["good", "good", "good"],
            id="of two verdicts the first counts",
        ),
        pytest.param(
            [verdicts("good", "bad", "good", "good", "bad", "good")],
            ["good", "bad", "good"],
            id="foreign ids are ignored",
        ),
        pytest.param(
            [verdicts("good"), verdicts("bad", "bad", begin=2)],
            ["good", "bad", "bad"],
            id="missing ones are asked about again",
        ),
        pytest.param(
            [verdicts("good"), verdicts("bad", "bad", "bad")],
            ["good", "bad", "bad"],
            id="asked again, a verdict that was given stands",
        ),
        pytest.param(
            ["Fine.", verdicts("good", "good", "good")], ["good"] * 3, id="repaired like any reply"
        ),
    ],
)
async def test_verdicts_are_joined_to_our_items(replies: list[Any], found: list[str]) -> None:
    model = PlayedModel(*replies)

    assert words(await judged(model, 3)) == found
    assert model.answers == []


async def test_only_what_is_missing_is_asked_about_again() -> None:
    model = PlayedModel(verdicts("good", "good"), verdicts("bad", begin=3))

    await judged(model, 3)

    first, second = map(prompt_of, model.asked)
    assert f"[{NONCE} 1] item 1\n[{NONCE} 2] item 2\n[{NONCE} 3] item 3" in first
    assert f">\n[{NONCE} 3] item 3\n<" in second


@pytest.mark.parametrize("told", [pytest.param(8, id="a fifth"), pytest.param(9, id="a tenth")])
async def test_up_to_a_fifth_may_stay_missing_and_counts_as_nothing(told: int) -> None:
    model = PlayedModel(verdicts(*["good"] * told), verdicts())

    found = await judged(model, 10)

    assert words(found) == ["good"] * told + [MISSING] * (10 - told)


@pytest.mark.parametrize("told", [pytest.param(8, id="a fifth"), pytest.param(7, id="more")])
async def test_no_answer_the_second_time_is_no_verdict_on_what_was_missing(told: int) -> None:
    model = PlayedModel(verdicts(*["good"] * told), ModelReply(stop="refusal"))
    inquiry = make_inquiry(model)

    if told == 8:
        found = await judged(model, 10, inquiry=inquiry)
        assert words(found) == ["good"] * 8 + [MISSING] * 2
    else:
        with pytest.raises(JudgeError, match="no verdict on 3 of 10 items"):
            await judged(model, 10, inquiry=inquiry)

    assert [call.stop for call in inquiry.calls] == ["ok", "refusal"]


async def test_a_provider_that_fails_the_second_time_is_no_silence_of_the_judge() -> None:
    with pytest.raises(UnavailableError):
        await judged(PlayedModel(verdicts("good"), UnavailableError("down")), 2)


async def test_if_more_is_missing_the_judge_has_failed() -> None:
    model = PlayedModel(verdicts(*["good"] * 7), verdicts())
    inquiry = make_inquiry(model)

    with pytest.raises(JudgeError, match="no verdict on 3 of 10 items"):
        await judged(model, 10, inquiry=inquiry)

    assert len(inquiry.calls) == 2


async def test_foreign_ids_are_not_even_those_of_another_call() -> None:
    model = PlayedModel(verdicts(*["good"] * 41), verdicts("bad", begin=41))

    found = await judged(model, 41)

    assert found.opinions[41] == Opinion("bad")
    assert len(model.asked) == 2


@pytest.mark.parametrize(("count", "calls"), [(1, 1), (40, 1), (41, 2), (80, 2), (81, 3)], ids=str)
async def test_forty_items_make_a_call(count: int, calls: int) -> None:
    model = PlayedModel(lambda _: verdicts(*["good"] * count))

    await judged(model, count)

    assert len(model.asked) == calls
    assert {call.max_output_tokens for call in model.asked} <= {4096, 6000}


async def test_there_are_not_too_many() -> None:
    model = PlayedModel()

    with pytest.raises(JudgeError, match="2,001 items"):
        await judged(model, 2001)

    assert model.asked == []


async def test_what_is_said_of_all_counts_once() -> None:
    replies = [verdicts("good", mood="sad"), verdicts("good", begin=2, mood="merry")]

    found = await judged(PlayedModel(*replies), 2, form=ABOUT_ALL)

    assert found.about_all == {"mood": "sad"}


async def test_any_reply_may_suspect_an_injection() -> None:
    replies = [verdicts("good"), verdicts("good", begin=2, injection_suspected=True)]
    inquiry = make_inquiry(PlayedModel(*replies))

    await judged(PlayedModel(), 2, inquiry=inquiry)

    assert inquiry.injection_suspected


async def test_a_script_is_not_asked_the_same_again() -> None:
    model = PlayedModel('{"verdicts": [{"id": 1, "verdict": "good"}]}')

    with pytest.raises(JudgeError, match="no verdict on 1 of 2"):
        await judged(model, 2, inquiry=make_inquiry(model, is_scripted=True))

    assert len(model.asked) == 1


def test_a_call_has_no_more_text_than_a_window() -> None:
    half = "x" * (WINDOW_BYTES // 2)
    texts = [half, half, "x", half, "x" * WINDOW_BYTES]
    items = [Item(number, text) for number, text in enumerate(texts, 1)]

    found = [[item.id for item in batch] for batch in batches(items)]

    assert found == [[1, 2], [3, 4], [5]]


def test_headings_stand_where_they_change() -> None:
    items = [Item(1, "a", "chunk 1"), Item(2, "b", "chunk 1"), Item(3, "c", "chunk 2")]

    lines = written_items(items, make_inquiry()).replace(f"{NONCE} ", "").splitlines()

    assert lines == ["[chunk 1]", "[1] a", "[2] b", "[chunk 2]", "[3] c"]
