from dataclasses import replace
from typing import Any

import pytest

from evals_app.engine.basics.errors import BadRequestError, JudgeError, UnavailableError
from evals_app.engine.judging.answers.asking import (
    PromptText,
    ReadableAnswer,
    UnreadableAnswerError,
)
from evals_app.engine.llm.call import (
    AssistantMessage,
    FileContent,
    ModelReply,
    NativeTurn,
    UserMessage,
)
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.base_spec import ModelSpec
from tests.engine.judging.makers import MODEL, FakeModel, make_asker, reply
from tests.offered import Offer

pytestmark = pytest.mark.anyio
PROMPT = PromptText("Be fair.", "<Q-abc123>\nHow many?\n</Q-abc123>", nonce="abc123", version=7)
SCHEMA = {"type": "object"}


def read_number(text: str) -> int:
    if text == "none":
        raise JudgeError("There is no number.")
    if not text.isdecimal():
        raise UnreadableAnswerError("That is no number.")
    return int(text)


async def ask(fake: FakeModel, **changes: Any) -> ReadableAnswer[int]:
    asker = make_asker(fake, **changes)
    return await asker.ask(PROMPT, schema=SCHEMA, read=read_number, purpose="count")


async def test_what_was_asked_and_answered_is_kept() -> None:
    given = reply(
        "4",
        usage=Usage(input_uncached=900, output=80),
        latency_ms=12,
        waited_ms=30_000,
        first_token_ms=5,
        attempts=(Attempt("429", 30_000),),
        request_id="req_1",
        sent={"max_output_tokens": 4096},
        dropped=("temperature",),
        is_replayed=True,
    )

    asked = await ask(FakeModel(given))

    assert (asked.answer, asked.reply) == (4, given)
    (call,) = asked.calls
    assert (call.purpose, call.provider, call.asked_model) == ("count", "anthropic", MODEL.name)
    assert (call.model, call.prompt, call.reply) == ("claude-haiku-5-5-x", PROMPT.text, "4")
    assert (call.prompt_version, call.stop, call.refusal_category) == (7, "ok", None)
    assert (call.usage, call.cost_usd, call.latency_ms) == (given.usage, None, 12)
    assert (call.waited_ms, call.first_token_ms, call.attempts) == (30_000, 5, given.attempts)
    assert (call.request_id, call.sent, call.dropped) == ("req_1", given.sent, ("temperature",))
    assert (call.is_replayed, call.is_scripted) == (True, False)


async def test_what_a_judge_thinks_is_kept_and_not_read() -> None:
    asked = await ask(FakeModel(reply("<think>3? No.</think>\n4")))

    assert asked.answer == 4
    assert "3? No." in asked.calls[0].reply


async def test_the_hash_of_a_prompt_blanks_its_nonce_wherever_it_stands() -> None:
    other = PromptText(PROMPT.system, PROMPT.user.replace("abc123", "def456"), "def456", version=7)

    assert PROMPT.fingerprint(PROMPT.text) == other.fingerprint(other.text)
    assert PROMPT.fingerprint(PROMPT.text) != PROMPT.fingerprint(PROMPT.user)


@pytest.mark.parametrize(
    ("is_alone", "own", "sent"),
    [
        pytest.param(True, None, (0.0, 1), id="one answer had better be the same each time"),
        pytest.param(False, None, (0.7, None), id="votes had better not"),
        pytest.param(True, 0.3, (0.3, 1), id="the author knows better"),
        pytest.param(False, 0.0, (0.0, None), id="also of votes"),
    ],
)
async def test_sampling_is_steady_unless_it_is_a_vote(
    *, is_alone: bool, own: float | None, sent: tuple[float, int | None]
) -> None:
    model = FakeModel(reply("4"))

    await ask(
        model,
        is_alone=is_alone,
        model=ModelSpec(provider="openai", name="m", temperature=own, max_tokens=700),
    )

    (call,) = model.asked
    assert (call.temperature, call.seed) == sent
    assert (call.max_output_tokens, call.schema, call.top_logprobs) == (700, SCHEMA, None)


@pytest.mark.parametrize(
    ("native", "repeated"),
    [
        pytest.param(NativeTurn({"id": 1}), NativeTurn({"id": 1}), id="the turn unchanged"),
        pytest.param(None, AssistantMessage("Four."), id="its text"),
    ],
)
async def test_an_answer_that_cannot_be_read_is_repaired_once(
    native: NativeTurn | None, repeated: object
) -> None:
    model = FakeModel(reply("Four.", native_turn=native), reply("4"))

    asked = await ask(model)

    first, second = model.asked
    assert asked.answer == 4
    assert [call.reply for call in asked.calls] == ["Four.", "4"]
    assert second.messages[:2] == (*first.messages, repeated)
    assert "That is no number." in getattr(second.messages[2], "text", "")
    assert "That is no number." in asked.calls[1].prompt
    assert asked.calls[0].prompt_hash != asked.calls[1].prompt_hash


async def test_what_is_wrong_with_an_answer_is_shown_in_bounded_words() -> None:
    def read(text: str) -> int:
        raise UnreadableAnswerError(f"{text}: unknown key.")

    with pytest.raises(JudgeError) as failed:
        await make_asker(FakeModel(reply("x" * 300_000), reply("y" * 300_000))).ask(
            PROMPT, schema=SCHEMA, read=read
        )

    first, second = failed.value.calls
    assert len(str(failed.value)) < 1100
    assert len(second.prompt) < len(first.prompt) + 1300


async def test_an_empty_answer_is_repaired_without_showing_it() -> None:
    model = FakeModel(reply(""), reply("4"))

    await ask(model)

    assert [type(message) for message in model.asked[1].messages] == [UserMessage, UserMessage]


async def test_an_answer_that_was_cut_off_is_asked_for_with_twice_the_room() -> None:
    model = FakeModel(reply("4", stop="length"), reply("44"))

    asked = await ask(model)

    assert [call.max_output_tokens for call in model.asked] == [4096, 8192]
    assert model.asked[0].messages == model.asked[1].messages
    assert [call.stop for call in asked.calls] == ["length", "ok"]


async def test_cut_off_and_unreadable_are_each_forgiven_once() -> None:
    model = FakeModel(reply(stop="length"), reply("Four."), reply("4"))

    asked = await ask(model)

    assert (asked.answer, len(asked.calls)) == (4, 3)


@pytest.mark.parametrize(
    ("replies", "says"),
    [
        pytest.param([reply("a"), reply("b")], "cannot be used", id="unreadable twice"),
        pytest.param([reply(stop="length")] * 2, "cut off twice, at 8,192", id="cut off twice"),
        ([reply(stop="refusal", refusal_category="cyber")], r"refused to answer \(cyber\)"),
        pytest.param([reply(stop="context")], "too long for", id="too long for it"),
        pytest.param([reply("none")], "There is no number", id="what is read is no answer"),
        pytest.param([reply("4" * 400_001)], "400,001 characters", id="without any end"),
    ],
)
async def test_without_an_answer_the_calls_are_kept(replies: list[ModelReply], says: str) -> None:
    model = FakeModel(*replies)

    with pytest.raises(JudgeError, match=says) as failed:
        await ask(model)

    assert [call.reply for call in failed.value.calls] == [r.text[:400_000] for r in replies]
    assert model.answers == []


@pytest.mark.parametrize(
    ("may_be_billed", "usages"),
    [
        pytest.param(False, [Usage(10, 5)], id="refused"),
        pytest.param(True, [Usage(10, 5), Usage()], id="cut off, perhaps billed"),
    ],
)
async def test_what_was_paid_before_the_provider_failed_is_kept(
    *, may_be_billed: bool, usages: list[Usage]
) -> None:
    down = UnavailableError("down")
    down.may_be_billed = may_be_billed
    model = FakeModel(replace(reply("Four."), usage=Usage(10, 5)), down)

    with pytest.raises(UnavailableError) as failed:
        await ask(model)

    calls = failed.value.calls
    assert ([call.usage for call in calls], calls[0].reply) == (usages, "Four.")
    assert [bool(call.fingerprint) for call in calls] == [True, False][: len(calls)]


async def test_a_script_is_not_asked_to_repair_its_answer() -> None:
    model = FakeModel(reply("Four."))

    with pytest.raises(JudgeError, match="no number") as failed:
        await ask(model, is_scripted=True)

    assert [call.is_scripted for call in failed.value.calls] == [True]


PHOTO = FileContent("photo.png", "image/png", b"png")


async def test_files_are_sent_along() -> None:
    model = FakeModel(reply("4"))

    await make_asker(model).ask(replace(PROMPT, files=(PHOTO,)), schema=SCHEMA, read=int)

    assert model.asked[0].files == (PHOTO,)


async def test_a_model_that_takes_no_such_files_has_not_graded_and_the_reason_names_them() -> None:
    model = FakeModel(BadRequestError("no images"))

    with pytest.raises(JudgeError, match=r"photo\.png.*no images"):
        await make_asker(model).ask(replace(PROMPT, files=(PHOTO,)), schema=SCHEMA, read=int)

    with pytest.raises(BadRequestError):
        await make_asker(FakeModel(BadRequestError("no"))).ask(PROMPT, schema=SCHEMA, read=int)


async def test_a_plug_in_that_cannot_be_read_is_named_with_its_package(offer: Offer) -> None:
    offer("judges", house=f"{__name__}:read_number")
    house = ModelSpec(provider="plugin", name="house")

    with pytest.raises(JudgeError) as caught:
        await ask(FakeModel(reply("a"), reply("b")), model=house)

    assert str(caught.value).startswith("The judge plugin/house of the package")
    assert "That is no number." in str(caught.value)
    assert "another judge model" not in str(caught.value)
