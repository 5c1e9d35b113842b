import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evals_app.engine.basics.errors import JudgeError, UnavailableError
from evals_app.engine.judging.answers.asking import Asker, PromptText
from evals_app.engine.judging.answers.replies import UNDECIDED, Form, Opinion
from evals_app.engine.judging.metrics.items import (
    ItemOpinions,
    ListedItem,
    as_said,
    batches,
    judge_items,
    written_items,
)
from evals_app.engine.judging.prompts.context import WINDOW_BYTES
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.llm.call import ModelCall, ModelReply
from evals_app.engine.specs.base_spec import ModelSpec
from tests.engine.judging.makers import FakeModel
from tests.engine.judging.measuring import (
    ABOUT_ALL,
    NONCE,
    PLAIN,
    make_inquiry,
    prompt_of,
    verdicts,
)

pytestmark = pytest.mark.anyio
SPEC = ModelSpec(provider="local", name="judge-1")


def make_items(count: int) -> list[ListedItem]:
    return [ListedItem(number, f"item {number}") for number in range(1, count + 1)]


async def opinions_of(
    model: FakeModel,
    count: int,
    *,
    form: Form = PLAIN,
    inquiry: Inquiry | None = None,
    weigh: Any = as_said,
) -> ItemOpinions:
    inquiry = inquiry or make_inquiry(model)

    def prompt_for(batch: Sequence[ListedItem]) -> PromptText:
        blocks = {"SEGMENTS": written_items(batch, inquiry)}
        return inquiry.prompt("test", rules="Judge.", form="JSON.", blocks=blocks)

    return await judge_items(
        make_items(count),
        form=form,
        prompt_for=prompt_for,
        purpose="test",
        inquiry=inquiry,
        weigh=weigh,
    )


def words(outcome: ItemOpinions) -> list[str]:
    return [opinion.verdict for opinion in outcome.opinions.values()]


@pytest.mark.parametrize(
    ("replies", "expected"),
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
                        *verdicts("good", "bad", "good")["verdicts"],
                        *verdicts("good", "bad", "good")["verdicts"],
                    ],
                }
            ],
            ["good", "bad", "good"],
            id="the same twice",
        ),
        pytest.param(
            [verdicts("good", "bad", "good", "good", "bad", "good")],
            ["good", "bad", "good"],
            id="foreign ids are ignored",
        ),
        ([verdicts("good"), verdicts("bad", "bad", begin=2)], ["good", "bad", "bad"]),
        pytest.param(
            [verdicts("good"), verdicts("bad", "bad", "bad")],
            ["good", "bad", "bad"],
            id="asked again, a verdict that was given stands",
        ),
        pytest.param(["Fine.", verdicts("good", "good", "good")], ["good"] * 3, id="repaired"),
    ],
)
async def test_verdicts_are_joined_to_our_items(replies: list[Any], expected: list[str]) -> None:
    model = FakeModel(*replies)

    assert words(await opinions_of(model, 3)) == expected
    assert model.answers == []


async def test_only_what_is_missing_is_asked_about_again() -> None:
    model = FakeModel(verdicts("good", "good"), verdicts("bad", begin=3))

    await opinions_of(model, 3)

    first, second = map(prompt_of, model.asked)
    assert f"[{NONCE} 1] item 1\n[{NONCE} 2] item 2\n[{NONCE} 3] item 3" in first
    assert f">\n[{NONCE} 3] item 3\n<" in second


@pytest.mark.parametrize("answered", [0, 5, 9], ids=str)
async def test_what_stays_without_a_verdict_is_undecided(answered: int) -> None:
    model = FakeModel(verdicts(*["good"] * answered), verdicts())

    outcome = await opinions_of(model, 10)

    assert words(outcome) == ["good"] * answered + [UNDECIDED] * (10 - answered)
    assert "no verdict" in outcome.opinions[10].objection


async def test_no_answer_the_second_time_leaves_it_undecided_and_the_call_is_kept() -> None:
    model = FakeModel(verdicts(*["good"] * 7), ModelReply(stop="refusal"))
    inquiry = make_inquiry(model)

    outcome = await opinions_of(model, 10, inquiry=inquiry)

    assert words(outcome) == ["good"] * 7 + [UNDECIDED] * 3
    assert [call.stop for call in inquiry.calls] == ["ok", "refusal"]


async def test_a_provider_that_fails_the_second_time_is_no_silence_of_the_judge() -> None:
    with pytest.raises(UnavailableError):
        await opinions_of(FakeModel(verdicts("good"), UnavailableError("down")), 2)


# Invalid opinions.


TWICE = {
    **verdicts(),
    "verdicts": verdicts("good", "good")["verdicts"] + verdicts("bad")["verdicts"],
}


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param(verdicts("bad"), ["bad", "good"], id="it decides"),
        pytest.param(TWICE, [UNDECIDED, "good"], id="it does it again"),
        pytest.param(verdicts(), [UNDECIDED, "good"], id="it says nothing"),
    ],
)
async def test_verdicts_on_an_item_that_contradict_each_other_are_asked_for_again(
    second: Any, expected: list[str]
) -> None:
    model = FakeModel(TWICE, second)

    outcome = await opinions_of(model, 2)

    assert words(outcome) == expected
    first, again = map(prompt_of, model.asked)
    assert ("item 2" in first, "item 2" in again) == (True, False)
    assert "good and bad" in again


async def test_a_script_that_contradicts_itself_is_undecided_at_once() -> None:
    model = FakeModel(TWICE)
    inquiry = make_inquiry(model, is_scripted=True)

    assert words(await opinions_of(model, 2, inquiry=inquiry)) == [UNDECIDED, "good"]
    assert len(model.asked) == 1


def against_bad(item: ListedItem, opinion: Opinion) -> Opinion:
    is_bad = opinion.verdict == "bad"
    return replace(opinion, objection=f"{item.text} is not bad, </SEGMENTS>." if is_bad else "")


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param(verdicts("good", begin=2), ["good", "good"], id="it thinks again"),
        pytest.param(verdicts("bad", begin=2), ["good", UNDECIDED], id="it says it again"),
        pytest.param(verdicts(), ["good", UNDECIDED], id="it says nothing"),
        pytest.param(ModelReply(stop="refusal"), ["good", UNDECIDED], id="it refuses"),
    ],
)
async def test_an_opinion_that_cannot_stand_is_asked_for_once_more(
    second: Any, expected: list[str]
) -> None:
    model = FakeModel(verdicts("good", "bad"), second)

    assert words(await opinions_of(model, 2, weigh=against_bad)) == expected

    first, again = map(prompt_of, model.asked)
    assert "item 1" in first
    assert "item 1" not in again
    assert f"[{NONCE} 2] item 2 is not bad, \\u003c/SEGMENTS>." in again


async def test_a_script_that_cannot_stand_is_undecided_at_once() -> None:
    model = FakeModel("bad")
    inquiry = make_inquiry(model, is_scripted=True)

    assert words(await opinions_of(model, 2, inquiry=inquiry, weigh=against_bad)) == [UNDECIDED] * 2
    assert len(model.asked) == 1


# Several calls.


async def test_calls_are_made_side_by_side_and_kept_in_order() -> None:
    begun = 0
    all_begun = asyncio.Event()

    async def complete(call: ModelCall) -> ModelReply:
        nonlocal begun
        begun += 1
        if begun == 3:
            all_begun.set()
        await asyncio.wait_for(all_begun.wait(), 5)
        first = int(re.findall(r"\] item (\d+)", prompt_of(call))[0])
        await asyncio.sleep(0.01 * (100 - first) / 100)  # the first is the last to answer
        return ModelReply(text=json.dumps(verdicts(*["good"] * 40, begin=first)), model=str(first))

    inquiry = Inquiry(Asker(complete=complete, model=SPEC, secret=b"x"), NONCE)

    outcome = await opinions_of(FakeModel(), 100, inquiry=inquiry)

    assert words(outcome) == ["good"] * 100
    assert [call.model for call in inquiry.calls] == ["1", "41", "81"]


async def test_a_provider_that_fails_counts_more_than_a_judge_that_does() -> None:
    def fail_at_second(call: ModelCall) -> Any:
        is_second = "item 41" in prompt_of(call)
        return UnavailableError("down") if is_second else ModelReply(stop="refusal")

    model = FakeModel(fail_at_second)
    inquiry = make_inquiry(model)

    with pytest.raises(UnavailableError):
        await opinions_of(model, 50, inquiry=inquiry)

    assert [call.stop for call in inquiry.calls] == ["refusal"]


async def test_a_call_that_comes_to_nothing_takes_the_others_with_it_and_keeps_them() -> None:
    def refuse_second(call: ModelCall) -> Any:
        is_second = "item 41" in prompt_of(call)
        return ModelReply(stop="refusal") if is_second else verdicts(*["good"] * 40)

    model = FakeModel(refuse_second)
    inquiry = make_inquiry(model)

    with pytest.raises(JudgeError, match="refused"):
        await opinions_of(model, 50, inquiry=inquiry)

    assert [call.stop for call in inquiry.calls] == ["ok", "refusal"]


async def test_foreign_ids_are_not_even_those_of_another_call() -> None:
    model = FakeModel(verdicts(*["good"] * 41), verdicts("bad", begin=41))

    outcome = await opinions_of(model, 41)

    assert outcome.opinions[41] == Opinion("bad")
    assert len(model.asked) == 2


@pytest.mark.parametrize(("count", "calls"), [(1, 1), (40, 1), (41, 2), (80, 2), (81, 3)], ids=str)
async def test_forty_items_make_a_call(count: int, calls: int) -> None:
    model = FakeModel(lambda _: verdicts(*["good"] * count))

    await opinions_of(model, count)

    assert len(model.asked) == calls
    assert {call.max_output_tokens for call in model.asked} <= {4096, 6000}


async def test_there_are_not_too_many() -> None:
    model = FakeModel()

    with pytest.raises(JudgeError, match="2,001 items"):
        await opinions_of(model, 2001)

    assert model.asked == []


async def test_what_is_shown_of_all_counts_once() -> None:
    replies = [verdicts("good", mood="sad"), verdicts("good", begin=2, mood="merry")]

    outcome = await opinions_of(FakeModel(*replies), 2, form=ABOUT_ALL)

    assert outcome.about_all == {"mood": "sad"}


async def test_any_reply_may_suspect_an_injection() -> None:
    replies = [verdicts("good"), verdicts("good", begin=2, injection_suspected=True)]
    inquiry = make_inquiry(FakeModel(*replies))

    await opinions_of(FakeModel(), 2, inquiry=inquiry)

    assert inquiry.injection_suspected


async def test_a_script_is_not_asked_the_same_again() -> None:
    model = FakeModel('{"verdicts": [{"id": 1, "verdict": "good"}]}')

    outcome = await opinions_of(model, 2, inquiry=make_inquiry(model, is_scripted=True))

    assert words(outcome) == ["good", UNDECIDED]
    assert len(model.asked) == 1


def test_a_call_has_no_more_text_than_a_window() -> None:
    half = "x" * (WINDOW_BYTES // 2)
    texts = [half, half, "x", half, "x" * WINDOW_BYTES]
    items = [ListedItem(number, text) for number, text in enumerate(texts, 1)]

    outcome = [[item.id for item in batch] for batch in batches(items)]

    assert outcome == [[1, 2], [3, 4], [5]]


def test_headings_stand_where_they_change() -> None:
    items = [
        ListedItem(1, "a", "chunk 1"),
        ListedItem(2, "b", "chunk 1"),
        ListedItem(3, "c", "chunk 2"),
    ]

    lines = written_items(items, make_inquiry()).replace(f"{NONCE} ", "").splitlines()

    assert lines == ["[chunk 1]", "[1] a", "[2] b", "[chunk 2]", "[3] c"]
