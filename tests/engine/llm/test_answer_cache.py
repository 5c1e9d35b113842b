"""Answers that a pipeline keeps: found by the identical question, marked, and free."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evals_app.engine.llm.answer_cache import FROM_CACHE, AnswerCache, secret_in
from evals_app.engine.llm.call import ModelCall, ModelReply
from evals_app.engine.llm.replay import ExecutionCalls
from evals_app.engine.specs.base_spec import ProviderSpec
from tests.engine.llm.makers import make_call
from tests.engine.llm.test_replay import REPLY

pytestmark = pytest.mark.anyio

HERE = ProviderSpec(provider="Here", slug="anthropic", kind="anthropic")


class Model:
    """Answers each call with another text."""

    def __init__(self, **reply: Any) -> None:
        self.asked = 0
        self._reply = reply

    async def __call__(self, call: ModelCall) -> ModelReply:
        self.asked += 1
        return replace(REPLY, text=f"Answer {self.asked}", **self._reply)


async def replies_to(
    folder: Path, model: Model, *calls: ModelCall, trial: int = 1, provider: ProviderSpec = HERE
) -> list[ModelReply]:
    """Ask in one execution of a new run."""
    made = ExecutionCalls(model, cached=AnswerCache(folder, [provider]).of_trial(trial))
    return [await made(call) for call in calls]


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_the_identical_question_is_answered_from_the_folder(tmp_path: Path) -> None:
    model = Model()
    (first,) = await replies_to(tmp_path, model, make_call("one"))

    (again,) = await replies_to(tmp_path, model, make_call("one", timeout_s=1.0))

    assert model.asked == 1
    assert first == replace(REPLY, text="Answer 1")
    assert (again.text, again.tool_calls, again.usage) == (
        first.text,
        first.tool_calls,
        first.usage,
    )
    assert again.native_turn == first.native_turn
    assert (again.cost_usd, again.waited_ms, again.attempts) == (Decimal(0), 0.0, ())
    assert (again.is_reused, again.notes) == (True, (FROM_CACHE,))


async def test_what_a_check_could_not_use_is_asked_for_again(tmp_path: Path) -> None:
    model, cache = Model(), AnswerCache(tmp_path, [HERE])
    calls = ExecutionCalls(model, cached=cache.of_trial(1))
    for key in ("a", "b"):
        await calls.of_check(key)(make_call(key))
    await calls(make_call("agent"))

    calls.forget("a")

    again = ExecutionCalls(model, cached=cache.of_trial(1))
    texts = [(await again(make_call(text))).text for text in ("a", "b", "agent")]
    assert texts == ["Answer 4", "Answer 2", "Answer 3"]
    assert (calls.counts, again.counts) == ({"asked": 3}, {"found": 2, "asked": 1})


async def test_equal_questions_of_one_execution_are_votes(tmp_path: Path) -> None:
    model = Model()
    await replies_to(tmp_path, model, make_call(), make_call())

    again = await replies_to(tmp_path, model, make_call(), make_call(), make_call())

    assert [reply.text for reply in again] == ["Answer 1", "Answer 2", "Answer 3"]


async def test_a_vote_that_was_interrupted_is_not_repeated_as_the_next_one(tmp_path: Path) -> None:
    model, cache = Model(), AnswerCache(tmp_path, [HERE])
    begun = ExecutionCalls(model, cached=cache.of_trial(1))
    await begun(make_call())

    resumed = ExecutionCalls(model, paid=begun.paid_calls(), cached=cache.of_trial(1))
    again = [await resumed(make_call()) for _ in range(2)]

    assert [reply.text for reply in again] == ["Answer 1", "Answer 2"]


@pytest.mark.parametrize(
    ("call", "how"),
    [
        pytest.param(make_call("two"), {}, id="another text"),
        pytest.param(make_call("one", model="other"), {}, id="another model"),
        pytest.param(make_call("one", temperature=0.5), {}, id="another setting"),
        pytest.param(make_call("one"), {"trial": 2}, id="another trial"),
        pytest.param(
            make_call("one"),
            {"provider": HERE.model_copy(update={"base_url": "https://example.org"})},
            id="another server",
        ),
    ],
)
async def test_another_question_is_asked(
    tmp_path: Path, call: ModelCall, how: dict[str, Any]
) -> None:
    model = Model()
    await replies_to(tmp_path, model, make_call("one"))

    await replies_to(tmp_path, model, call, **how)

    assert model.asked == 2


@pytest.mark.parametrize(
    "reply",
    [{"stop": "length"}, {"stop": "refusal"}, {"stop": "context"}, {"is_whole": False}],
    ids=str,
)
async def test_only_whole_answers_are_kept(tmp_path: Path, reply: dict[str, Any]) -> None:
    model = Model(**reply)

    await replies_to(tmp_path, model, make_call())
    await replies_to(tmp_path, model, make_call())

    assert model.asked == 2


async def test_a_broken_file_is_replaced(tmp_path: Path) -> None:
    model = Model()
    await replies_to(tmp_path, model, make_call())
    (file,) = files_in(tmp_path)
    file.write_bytes(b"{")

    await replies_to(tmp_path, model, make_call())
    (third,) = await replies_to(tmp_path, model, make_call())

    assert (model.asked, third.text) == (2, "Answer 2")
    assert files_in(tmp_path) == [file]


def test_a_folder_has_one_secret(tmp_path: Path) -> None:
    assert secret_in(tmp_path / "a") == secret_in(tmp_path / "a") != secret_in(tmp_path / "b")
