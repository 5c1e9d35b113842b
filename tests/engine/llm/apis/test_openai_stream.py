from typing import Any

import pytest

from evals_app.engine.llm.apis.names import ToolNames
from evals_app.engine.llm.apis.openai_stream import StreamedCompletion
from evals_app.engine.llm.apis.openai_wire import to_reply
from evals_app.engine.llm.call import ModelReply
from evals_app.engine.record.usage import Usage


def chunk(delta: dict[str, Any], *, reason: str | None = None, **changes: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "x", "model": "m", "choices": [choice], **changes}


def calls(*parts: dict[str, Any]) -> dict[str, Any]:
    return chunk({"tool_calls": list(parts)})


def part(name: str | None = None, arguments: str = "", **changes: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **changes}


def read(*chunks: dict[str, Any]) -> tuple[ModelReply, list[bool]]:
    streamed = StreamedCompletion()
    tokens = [streamed.add(chunk) for chunk in chunks]
    assert streamed.is_complete
    return to_reply(streamed.body, names=ToolNames([])), tokens


def test_chunks_add_up_to_the_reply() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}

    reply, tokens = read(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}),
        chunk({}, reason="stop"),
        {"id": "x", "choices": [], "usage": usage},
    )

    assert (reply.text, reply.stop, reply.model) == ("Hello", "ok", "m")
    assert reply.usage == Usage(3, 2)
    assert tokens == [False, True, True, False, False]


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param(
            [
                calls(part("f", index=0, id="a"), part("g", index=1, id="b")),
                calls(part(arguments='{"n"', index=0), part(arguments='{"n"', index=1)),
                calls(part(arguments=": 1}", index=0), part(arguments=": 2}", index=1)),
            ],
            id="in turns, by index",
        ),
        [calls(part("f", '{"n": 1}', id="a")), calls(part("g", '{"n": 2}', id="b"))],
        [calls(part("f", '{"n": 1}', id="a"), part("g", '{"n": 2}', id="b"))],
        pytest.param(
            [
                calls(part("f", '{"n": 1}', id="a", index=0)),
                calls(part("g", '{"n": 2}', id="b", index=0)),
            ],
            id="all with the same index",
        ),
        pytest.param(
            [
                calls(part("f", id="a")),
                calls(part(arguments='{"n": ')),
                calls(part(arguments="1}")),
                calls(part("g", '{"n": 2}', id="b")),
            ],
            id="in turns, without an index",
        ),
        pytest.param(
            [
                calls(part("f", '{"n"', id="a", index=0)),
                calls(part("f", ": 1}", id="a", index=0)),
                calls(part("g", '{"n": 2}', id="b", index=1)),
            ],
            id="id and name again and again",
        ),
    ],
)
def test_tool_calls_are_put_together_however_they_come(chunks: list[dict[str, Any]]) -> None:
    reply, tokens = read(*chunks, chunk({}, reason="stop"))

    requests = [(call.id, call.name, call.arguments) for call in reply.tool_calls]
    assert requests == [("a", "f", {"n": 1}), ("b", "g", {"n": 2})]
    assert reply.stop == "tool"
    assert all(tokens[:-1])


def test_what_was_signed_goes_back() -> None:
    signature = {"google": {"thought_signature": "s"}}

    reply, _ = read(
        chunk({"reasoning_details": [{"data": "1"}]}),
        chunk({"reasoning_details": [{"data": "2"}], "reasoning": "Hm."}),
        calls(part("f", "{}", id="a", extra_content=signature)),
        chunk({"extra_content": {"google": {}}}, reason="tool_calls"),
    )

    assert reply.native_turn is not None
    turn = reply.native_turn.value
    assert turn["reasoning_details"] == [{"data": "1"}, {"data": "2"}]
    assert turn["extra_content"] == {"google": {}}
    assert turn["tool_calls"][0]["extra_content"] == signature
    assert "reasoning" not in turn


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        pytest.param(
            [
                {"type": "reasoning.text", "text": "Let", "index": 0},
                {"type": "reasoning.text", "text": " me", "index": 0, "signature": None},
                {"type": "reasoning.text", "signature": "s", "index": 0},
            ],
            [{"type": "reasoning.text", "text": "Let me", "signature": "s", "index": 0}],
            id="in pieces, signed as a whole",
        ),
        pytest.param(
            [
                {"type": "reasoning.summary", "summary": "a", "index": 0},
                {"type": "reasoning.summary", "summary": "b", "index": 1},
                {"type": "reasoning.text", "text": "c", "index": 1},
            ],
            [
                {"type": "reasoning.summary", "summary": "a", "index": 0},
                {"type": "reasoning.summary", "summary": "b", "index": 1},
                {"type": "reasoning.text", "text": "c", "index": 1},
            ],
            id="several",
        ),
        pytest.param(
            [
                {"type": "reasoning.encrypted", "data": "a", "index": 0},
                {"type": "reasoning.encrypted", "data": "b", "index": 0},
            ],
            [
                {"type": "reasoning.encrypted", "data": "a", "index": 0},
                {"type": "reasoning.encrypted", "data": "b", "index": 0},
            ],
            id="encrypted ones come whole",
        ),
    ],
)
def test_thoughts_that_come_in_pieces_go_back_as_what_was_signed(
    parts: list[dict[str, Any]], whole: list[dict[str, Any]]
) -> None:
    pieces = [chunk({"reasoning_details": [part]}) for part in parts]

    reply, _ = read(*pieces, chunk({"content": "Hi"}, reason="stop"))

    assert reply.native_turn is not None
    assert reply.native_turn.value["reasoning_details"] == whole


def test_usage_may_come_with_the_last_words() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}

    reply, _ = read(chunk({"content": "Hi"}, reason="stop", usage=usage))

    assert reply.usage == Usage(3, 2)


def test_thoughts_are_no_token_of_the_reply() -> None:
    streamed = StreamedCompletion()

    assert not streamed.add(chunk({"reasoning_content": "Hm.", "content": None}))


def test_other_choices_are_passed_over() -> None:
    other = chunk({"content": "No"})
    other["choices"][0]["index"] = 1

    reply, _ = read(chunk({"content": "Yes"}), other, chunk({}, reason="stop"))

    assert reply.text == "Yes"


def test_without_a_reason_for_its_end_it_is_not_complete() -> None:
    streamed = StreamedCompletion()
    streamed.add(chunk({"content": "Hi"}))
    streamed.add(chunk({"content": "!"}, reason=""))

    assert not streamed.is_complete


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"choices": 5}, id="no list"),
        pytest.param({"choices": [5]}, id="no choice"),
        pytest.param(chunk({"tool_calls": [5]}), id="no call"),
    ],
)
def test_chunks_that_do_not_fit_raise(odd: dict[str, Any]) -> None:
    with pytest.raises((LookupError, TypeError, AttributeError)):
        StreamedCompletion().add(odd)
