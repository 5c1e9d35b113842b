import json
import re
from typing import Any

import jsonschema
import pytest

from evals_app.engine.aids import ChecklistItem
from evals_app.engine.errors import JudgeError, UnavailableError
from evals_app.engine.judging.asking import UnreadableError
from evals_app.engine.judging.checklist import (
    Found,
    ask_items,
    checklist_schema,
    merged,
    read_checklist,
    read_scripted_checklist,
)
from evals_app.engine.judging.prompt import build_prompt
from evals_app.engine.llm.call import ModelCall, ModelReply
from tests.engine.judging.makers import FakeModel, make_asker, make_checklist, reply, text_of

ITEMS = [ChecklistItem(number, f"Item {number}") for number in (1, 2, 3)]


def entry(number: int, verdict: str = "pass", **changes: Any) -> dict[str, Any]:
    return {"id": number, "quote": "", "critique": "Seen.", "verdict": verdict} | changes


def answer(*entries: dict[str, Any], **changes: Any) -> str:
    return json.dumps({"items": list(entries), "injection_suspected": False} | changes)


# Reading.


def test_an_answer_is_read_by_its_numbers() -> None:
    text = answer(
        entry(2, "fail", quote=" Hi "),
        entry(1),
        entry(3, "cannot_grade", critique=" "),
        injection_suspected=True,
    )

    ticks = read_checklist(f"Sure! {text}")

    assert ticks.by_id == {
        1: Found("pass", "Seen."),
        2: Found("fail", "Seen.", " Hi "),
        3: Found(None),
    }
    assert ticks.is_suspected


def test_of_two_verdicts_on_one_item_the_first_counts() -> None:
    ticks = read_checklist(answer(entry(1, "fail"), entry(1, "pass")))

    assert ticks.by_id[1].verdict == "fail"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("All of them.", "no JSON object", id="prose"),
        pytest.param(answer(entry(1, "good")), "items.0.verdict", id="another verdict"),
        pytest.param(answer(entry("1")), "items.0.id", id="a number as text"),  # type: ignore[arg-type]
        pytest.param(answer({"id": 1, "verdict": "pass"}), "critique", id="keys missing"),
        pytest.param(answer(entry(1, score=1)), "items.0.score", id="a key too many"),
        pytest.param('{"1": "pass"}', "items: Field required", id="short"),
    ],
)
def test_an_answer_off_the_schema_is_refused(text: str, says: str) -> None:
    with pytest.raises(UnreadableError, match=says):
        read_checklist(text)


def test_the_schema_has_the_order_of_thinking_and_accepts_what_is_read() -> None:
    schema = checklist_schema()

    item = schema["properties"]["items"]["items"]
    assert item["required"] == ["id", "quote", "critique", "verdict"]
    assert jsonschema.Draft202012Validator(schema).is_valid(json.loads(answer(entry(1))))
    assert not jsonschema.Draft202012Validator(schema).is_valid(json.loads(answer(entry(1, "x"))))


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        pytest.param("pass", {1: "pass", 2: "pass", 3: "pass"}, id="one word for all"),
        pytest.param(" Fail.\n", {1: "fail", 2: "fail", 3: "fail"}, id="as people write"),
        pytest.param("cannot_grade", {1: None, 2: None, 3: None}, id="no grade"),
        pytest.param('{"1": "pass", "3": "fail"}', {1: "pass", 3: "fail"}, id="by number"),
        pytest.param('{"2": {"verdict": "not_applicable"}}', {2: "not_applicable"}, id="objects"),
        pytest.param(answer(entry(2, "fail")), {2: "fail"}, id="in full"),
    ],
)
def test_a_script_may_answer_in_short(text: str, verdicts: dict[int, str | None]) -> None:
    ticks = read_scripted_checklist(text, ITEMS)

    assert {number: each.verdict for number, each in ticks.by_id.items()} == verdicts


def test_a_script_says_that_it_is_one_and_may_say_why() -> None:
    text = '{"1": "pass", "2": {"verdict": "fail", "critique": "Late.", "quote": "Monday"}}'

    ticks = read_scripted_checklist(text, ITEMS)

    assert ticks.by_id[1].critique == "Scripted verdict."
    assert ticks.by_id[2] == Found("fail", "Scripted verdict: Late.", "Monday")


@pytest.mark.parametrize("text", ["perhaps", "", '{"1": "good"}', '{"one": "pass"}', '{"1": []}'])
def test_a_script_that_says_something_else_is_told_what_to_write(text: str) -> None:
    with pytest.raises(UnreadableError, match="pass, fail, not_applicable or cannot_grade"):
        read_scripted_checklist(text, ITEMS)


# Asking.


def asked_about(call: ModelCall) -> list[int]:
    """Read the numbers that a prompt asks about."""
    return [int(each) for each in re.findall(r"^\[(\d+)\] ", text_of(call), re.MULTILINE)]


def passing(call: ModelCall) -> ModelReply:
    return reply(answer(*map(entry, asked_about(call))))


async def ask(model: FakeModel, count: int, **changes: Any) -> Any:
    question = make_checklist(*(f"Item {number}" for number in range(1, count + 1)))

    def write(items: Any) -> Any:
        return build_prompt(question, secret=b"of the run", items=items)

    return await ask_items(make_asker(model, **changes), items=question.items, write=write)


@pytest.mark.anyio
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
    model = FakeModel(answer=passing)

    ticks, calls = await ask(model, count)

    assert [len(asked_about(call)) for call in model.asked] == parts
    assert [call.max_output_tokens for call in model.asked] == room
    assert sorted(ticks.by_id) == list(range(1, count + 1))
    assert len(calls) == len(parts)


@pytest.mark.anyio
async def test_what_is_left_out_is_asked_about_once_more_and_foreign_numbers_are_ignored() -> None:
    model = FakeModel(
        reply(answer(entry(1), entry(99), entry(3, "fail"), injection_suspected=True)),
        reply(answer(entry(2, "fail"), entry(1, "fail"), entry(7))),
    )

    ticks, calls = await ask(model, 4)

    assert [asked_about(call) for call in model.asked] == [[1, 2, 3, 4], [2, 4]]
    assert {number: each.verdict for number, each in ticks.by_id.items()} == {
        1: "pass",
        2: "fail",
        3: "fail",
    }
    assert ticks.is_suspected
    assert len(calls) == 2


@pytest.mark.anyio
async def test_a_script_is_not_asked_again() -> None:
    model = FakeModel(reply('{"1": "pass"}'))

    ticks, _ = await ask(model, 2, is_scripted=True)

    assert list(ticks.by_id) == [1]


@pytest.mark.anyio
async def test_what_nobody_answers_the_second_time_stays_missing() -> None:
    model = FakeModel(reply(answer(entry(1))), reply(stop="refusal"))

    ticks, calls = await ask(model, 2)

    assert list(ticks.by_id) == [1]
    assert [call.stop for call in calls] == ["ok", "refusal"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("replies", "error", "kept"),
    [
        pytest.param([reply(stop="refusal")], JudgeError, 1, id="refused"),
        pytest.param(
            [reply(answer(entry(1))), UnavailableError("down")], UnavailableError, 1, id="down"
        ),
    ],
)
async def test_without_an_answer_there_is_an_error_with_the_calls(
    replies: list[Any], error: type[Any], kept: int
) -> None:
    with pytest.raises(error) as failed:
        await ask(FakeModel(*replies), 2)

    assert len(failed.value.calls) == kept


@pytest.mark.anyio
async def test_a_part_that_comes_to_nothing_takes_the_whole_with_it_and_keeps_the_calls() -> None:
    def refusing(call: ModelCall) -> ModelReply:
        return reply(stop="refusal") if 41 in asked_about(call) else passing(call)

    with pytest.raises(JudgeError, match="refused") as failed:
        await ask(FakeModel(answer=refusing), 50)

    assert sorted(call.stop for call in failed.value.calls) == ["ok", "refusal"]


@pytest.mark.anyio
async def test_a_provider_that_fails_counts_more_than_a_judge_that_does() -> None:
    def failing(call: ModelCall) -> ModelReply | Exception:
        return UnavailableError("down") if 41 in asked_about(call) else reply(stop="refusal")

    with pytest.raises(UnavailableError) as failed:
        await ask(FakeModel(answer=failing), 50)

    assert [call.stop for call in failed.value.calls] == ["refusal"]


# Merging votes.


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        pytest.param(["pass"], "pass", id="one"),
        pytest.param(["pass", "fail", "pass"], "pass", id="two of three"),
        pytest.param(["not_applicable", "fail", "not_applicable"], "not_applicable", id="na"),
        pytest.param(["pass", "pass", "fail", "fail", "not_applicable"], None, id="a tie"),
        pytest.param(["pass", "pass", "fail", "not_applicable", "fail"], None, id="in any order"),
        pytest.param(["pass", "fail", None], None, id="a tie with one missing"),
        pytest.param(["pass", "pass", None], "pass", id="one is missing"),
        pytest.param(["pass", None, None], None, id="most are missing"),
        pytest.param([None], None, id="nothing"),
    ],
)
def test_the_majority_of_votes_decides_on_an_item(words: list[Any], verdict: str | None) -> None:
    assert merged([word and Found(word) for word in words]).verdict == verdict


def test_the_words_on_an_item_are_those_of_a_vote_like_the_outcome() -> None:
    found = merged([Found("fail", "No."), Found("pass", "Yes."), Found("pass", "Sure.")])

    assert found.critique == "Yes."


@pytest.mark.parametrize(
    ("found", "says"),
    [
        pytest.param([None], "said nothing", id="nothing was said"),
        pytest.param([Found(None, "It was cut off.")], "It was cut off.", id="it cannot tell"),
        pytest.param([Found("pass"), Found("fail")], "tied", id="tied"),
    ],
)
def test_why_an_item_is_undecided_is_said(found: list[Found | None], says: str) -> None:
    assert says in merged(found).critique
