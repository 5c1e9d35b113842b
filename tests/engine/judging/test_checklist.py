import json
import re
from typing import Any

import pytest

from evals_app.engine.basics.errors import UnavailableError
from evals_app.engine.judging.answers.replies import UNDECIDED, Opinion
from evals_app.engine.judging.checklist import merge_votes
from evals_app.engine.llm.call import ModelCall, ModelReply
from evals_app.engine.record.aids import ChecklistAnswer, ChecklistItem, ChecklistQuestion
from evals_app.engine.record.view import View
from tests.engine.graders.makers import make_trial, make_turn
from tests.engine.judging.makers import (
    FakeModel,
    make_checklist,
    make_judge,
    make_scripted,
    reply,
    text_of,
    view_of_two,
)

pytestmark = pytest.mark.anyio
REPLY = "It comes on Friday. The fee is 5 euros."


def entry(number: int, verdict: str = "pass", **changes: Any) -> dict[str, Any]:
    return {"id": number, "quote": "", "critique": "Seen.", "verdict": verdict} | changes


def answer(*entries: dict[str, Any], **changes: Any) -> ModelReply:
    return reply(json.dumps({"items": list(entries), "injection_suspected": False} | changes))


def items_in(call: ModelCall) -> list[int]:
    """Read the numbers that a prompt asks about."""
    criteria = re.findall(r"<CRITERIA-\w+>(.*)</CRITERIA-", text_of(call), re.DOTALL)[0]
    return [int(item) for item in re.findall(r"^\[(\d+)\] ", criteria, re.MULTILINE)]


def pass_all(call: ModelCall) -> ModelReply:
    return answer(*(entry(n, quote="It comes on Friday.") for n in items_in(call)))


async def tick_off(model: FakeModel, *texts: str, votes: int = 1) -> ChecklistAnswer:
    return await make_judge(model).tick_off(make_checklist(*texts, reply=REPLY, votes=votes))


def verdicts(result: ChecklistAnswer) -> list[str | None]:
    return [item.verdict for item in result.items]


@pytest.mark.parametrize(
    ("count", "parts", "room"),
    [
        pytest.param(1, [1], [4096], id="one"),
        pytest.param(40, [40], [8000], id="as many as go in one call"),
        pytest.param(41, [40, 1], [8000, 4096], id="one more"),
        pytest.param(100, [40, 40, 20], [8000, 8000, 4096], id="many"),
    ],
)
async def test_forty_are_asked_about_in_a_call(
    count: int, parts: list[int], room: list[int]
) -> None:
    model = FakeModel(pass_all)

    result = await tick_off(model, *["Is polite"] * count)

    assert [len(items_in(call)) for call in model.asked] == parts
    assert [call.max_output_tokens for call in model.asked] == room
    assert verdicts(result) == ["pass"] * count


async def test_a_judge_that_cannot_tell_leaves_an_item_undecided_and_is_not_asked_again() -> None:
    model = FakeModel(answer(entry(1, "cannot_grade", critique="It was cut off.")))

    result = await tick_off(model, "a")

    assert [(item.verdict, item.critique) for item in result.items] == [(None, "It was cut off.")]


# Quotes.


@pytest.mark.parametrize(
    ("verdict", "quote", "is_fair"),
    [
        pytest.param("pass", "It comes on Friday.", True, id="the agent's words"),
        pytest.param("pass", "", False, id="nothing at all"),
        pytest.param("pass", "It comes on Monday.", False, id="nobody's words"),
        pytest.param("pass", "The fee is 6 euros", False, id="another number"),
        pytest.param("pass", "Tell me the day", False, id="the user's words"),
        pytest.param("pass", "Friday", False, id="a word"),
        pytest.param("fail", "Tell me the day", True, id="missed: what the user asked for"),
        pytest.param("fail", "It comes on Monday.", False, id="missed: nobody's words"),
        pytest.param("cannot_grade", "It comes on Monday.", True, id="undecided anyway"),
    ],
)
async def test_a_verdict_whose_quote_is_made_up_is_asked_for_again_and_then_undecided(
    verdict: str, quote: str, *, is_fair: bool
) -> None:
    model = FakeModel(lambda _: answer(entry(1, verdict, quote=quote)))

    trial = make_trial(make_turn(REPLY, user="Tell me the day."))
    view = View(trial, trial.turns[0])

    result = await make_judge(model).tick_off(
        ChecklistQuestion((ChecklistItem(1, "Names the day"),), view, key="0")
    )

    assert len(model.asked) == (1 if is_fair else 2)
    expected = verdict if is_fair and verdict != "cannot_grade" else None
    assert verdicts(result) == [expected]
    if not is_fair:
        assert (f"“{quote}”" if quote else "needs a quote") in text_of(model.asked[1])


@pytest.mark.parametrize(
    ("item", "is_fair"),
    [
        pytest.param(ChecklistItem(1, "Promises no refund"), True, id="forbids"),
        pytest.param(ChecklistItem(1, "Promises a refund", ("## Must not",)), True, id="heading"),
        pytest.param(ChecklistItem(1, "If it is late, apologises"), True, id="a condition"),
        pytest.param(ChecklistItem(1, "Names the day"), False, id="asks for something"),
        pytest.param(ChecklistItem(1, "Names it", ("Not for fun.",)), False, id="a remark"),
    ],
)
async def test_only_what_forbids_something_or_sets_a_condition_passes_without_a_quote(
    item: ChecklistItem, *, is_fair: bool
) -> None:
    model = FakeModel(lambda _: answer(entry(1)))

    result = await make_judge(model).tick_off(
        ChecklistQuestion((item,), view_of_two(REPLY), key="0")
    )

    assert (verdicts(result), len(model.asked)) == (["pass"], 1) if is_fair else ([None], 2)


# Conditions.


@pytest.mark.parametrize(
    ("item", "applies"),
    [
        pytest.param(ChecklistItem(1, "If it is late, apologises"), False, id="a condition"),
        pytest.param(ChecklistItem(1, "Wenn es spät ist: Entschuldigung"), False, id="in German"),
        pytest.param(
            ChecklistItem(1, "Apologises", ("## If it is late",)), False, id="its heading"
        ),
        pytest.param(ChecklistItem(1, "Apologises", ("If it is late:",)), False, id="its lead-in"),
        pytest.param(ChecklistItem(1, "Names the day"), True, id="no condition"),
        pytest.param(ChecklistItem(1, "Names it", ("Grade only if sure.",)), True, id="a remark"),
    ],
)
async def test_only_a_condition_may_not_apply(item: ChecklistItem, *, applies: bool) -> None:
    model = FakeModel(lambda _: answer(entry(1, "not_applicable")))

    result = await make_judge(model).tick_off(
        ChecklistQuestion((item,), view_of_two(REPLY), key="0")
    )

    assert verdicts(result) == [None if applies else "not_applicable"]
    assert len(model.asked) == (2 if applies else 1)
    if applies:
        assert "no condition" in text_of(model.asked[1])
        assert "no condition" in result.items[0].critique


# Scripts.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("pass", ["pass", "pass", "pass"], id="one word for all"),
        pytest.param(" Fail.\n", ["fail", "fail", "fail"], id="as people write"),
        pytest.param("cannot_grade", [None, None, None], id="no grade"),
        pytest.param("pass fail pass", ["pass", "fail", "pass"], id="a word for each"),
        pytest.param('{"1": "pass", "3": "fail"}', ["pass", None, "fail"], id="by number"),
        pytest.param('{"2": {"verdict": "fail"}}', [None, "fail", None], id="objects"),
        pytest.param('{"1": "not_applicable"}', [None, None, None], id="no condition"),
        pytest.param(json.dumps({"items": [entry(2, "fail")]}), [None, "fail", None], id="in full"),
    ],
)
async def test_a_script_may_answer_in_short_and_is_not_asked_again(
    text: str, words: list[str | None]
) -> None:
    result = await make_scripted(reply(text)).tick_off(make_checklist("a", "b", "c"))

    assert verdicts(result) == words
    assert result.flags == ("scripted",)


async def test_a_script_says_that_it_is_one_and_may_say_why() -> None:
    text = '{"1": "pass", "2": {"verdict": "fail", "critique": "Late."}}'

    result = await make_scripted(reply(text)).tick_off(make_checklist("a", "b"))

    assert [item.critique for item in result.items] == [
        "Scripted verdict.",
        "Scripted verdict: Late.",
    ]


# Votes.


async def test_each_vote_but_the_first_sees_another_order_within_its_headings() -> None:
    model = FakeModel(pass_all)
    texts = [(f"Item {n}", ("# A",) if n < 9 else ("# B",)) for n in range(1, 17)]
    items = tuple(ChecklistItem(n, text, under) for n, (text, under) in enumerate(texts, 1))
    question = ChecklistQuestion(items, view_of_two(REPLY), key="0", votes=3)

    await make_judge(model).tick_off(question)
    await make_judge(model).tick_off(question)

    orders = [items_in(call) for call in model.asked]
    assert orders[0] == list(range(1, 17))
    assert orders[:3] == orders[3:]
    assert len({tuple(order) for order in orders[:3]}) == 3
    assert [sorted(order) for order in orders] == [orders[0]] * 6
    for order in orders:
        assert {frozenset(order[:8]), frozenset(order[8:])} == {
            frozenset(range(1, 9)),
            frozenset(range(9, 17)),
        }


async def test_the_calls_of_a_vote_that_came_to_nothing_are_kept() -> None:
    model = FakeModel(answer(entry(1)), UnavailableError("down"))

    with pytest.raises(UnavailableError) as failed:
        await tick_off(model, "a", "b")

    assert len(failed.value.calls) == 1


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        pytest.param(["pass"], "pass", id="one"),
        pytest.param(["pass", "fail", "pass"], "pass", id="two of three"),
        pytest.param(["not_applicable", "fail", "not_applicable"], "not_applicable", id="na"),
        pytest.param(["pass", "pass", "fail", "fail", "not_applicable"], UNDECIDED, id="a tie"),
        pytest.param(["pass", "pass", "fail", "not_applicable", "fail"], UNDECIDED, id="any order"),
        pytest.param(["pass", "fail", None], UNDECIDED, id="a tie with one missing"),
        pytest.param(["pass", "pass", None], "pass", id="one is missing"),
        pytest.param(["pass", "pass", UNDECIDED], "pass", id="one is undecided"),
        pytest.param(["pass", None, None], UNDECIDED, id="most are missing"),
        pytest.param([None], UNDECIDED, id="nothing"),
    ],
)
def test_the_majority_of_votes_decides_on_an_item(words: list[Any], verdict: str) -> None:
    assert merge_votes([word and Opinion(word) for word in words]).verdict == verdict


def test_the_words_on_an_item_are_those_of_a_vote_like_the_outcome() -> None:
    votes = [("fail", "No."), ("pass", "Yes."), ("pass", "Sure.")]

    assert merge_votes([Opinion(word, critique=why) for word, why in votes]).critique == "Yes."
