from typing import Any

import pytest

from evals_app.formats.foreign.chats import is_chat, is_conversation, read_chat, read_turns


def chat_of(*messages: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, content in messages]


def test_the_last_message_of_the_user_is_asked() -> None:
    chat = read_chat(
        chat_of(("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello"), ("user", "Bye"))
    )

    assert chat is not None
    assert (chat.system, chat.user, chat.answer, chat.remarks) == ("Be kind.", "Bye", None, ())
    assert [(item["role"], item["content"]) for item in chat.history] == [
        ("user", "Hi"),
        ("assistant", "Hello"),
    ]


def test_a_last_message_of_the_agent_is_the_answer() -> None:
    chat = read_chat(chat_of(("user", "Hi"), ("assistant", "Hello")))

    assert chat is not None
    assert (chat.user, chat.answer, chat.history) == ("Hi", "Hello", [])


@pytest.mark.parametrize(
    ("messages", "user"),
    [
        pytest.param(chat_of(("system", "a"), ("system", "b")), "b", id="no message of the user"),
        pytest.param(chat_of(("user", "a"), ("user", "b")), "a\n\nb", id="two in a row"),
        pytest.param(chat_of(("assistant", "a"), ("user", "b")), "b", id="the agent first"),
        pytest.param(chat_of(("user", [{"text": "a"}, {"image_url": "x"}])), "a", id="a picture"),
        pytest.param(chat_of(("user", "a"), ("tool", "b")), "a", id="a result of a tool"),
    ],
)
def test_what_changes_is_reported_once(messages: list[dict[str, Any]], user: str) -> None:
    chat = read_chat(messages)

    assert chat is not None
    assert (chat.user, len(chat.remarks)) == (user, 1)


def test_a_list_in_which_nothing_is_asked_is_no_conversation() -> None:
    assert read_chat(chat_of(("assistant", "a"))) is None
    assert read_chat(chat_of(("user", ""))) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (chat_of(("user", "a")), True),
        ([{"from": "human", "value": "a"}], True),
        ([], False),
        ([{"content": "a"}], False),
        (["a"], False),
        ("a", False),
        ([{"type": "human", "content": "a"}, {"type": "AIMessageChunk", "content": "b"}], True),
        ([{"type": "text", "text": "a"}], False),
        ([{"type": "human", "name": "a"}], False),
        ([{"user": "a", "assistant": "b"}, {"user": "c"}], True),
        ([{"user": "a"}, {"user": "c"}], False),
        ([{"user": "a", "assistant": "b", "must_contain": "c"}], False),
        ([{"user": "a", "assistant": ["b"]}], False),
    ],
)
def test_lists_of_messages_are_reported_from_others(value: Any, *, expected: bool) -> None:
    assert is_chat(value) is expected


def test_pairs_are_two_messages_and_the_user_speaks_first() -> None:
    turns = read_turns([{"assistant": "Hello", "user": "Hi", "id": 1}, {"user": "Bye"}])

    assert [(turn.user, turn.answer) for turn in turns] == [("Hi", "Hello"), ("Bye", None)]


CALL = {"name": "get_order", "args": {"id": 7}, "id": "c1"}


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "ai", "content": "", "tool_calls": [CALL]},
        {"type": "ai", "data": {"content": "", "tool_calls": [CALL]}},
        {"type": "ai", "data": {"content": "", "additional_kwargs": {"tool_calls": [CALL]}}},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "AIMessage"],
            "kwargs": {"content": "", "tool_calls": [CALL]},
        },
    ],
    ids=["object", "dictionary", "older", "stored"],
)
def test_messages_of_langchain_keep_their_calls(answer: dict[str, Any]) -> None:
    chat = read_chat([{"type": "human", "content": "Where is order 7?"}, answer])

    assert chat is not None
    assert (chat.user, chat.answer, chat.calls) == ("Where is order 7?", None, [CALL])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (chat_of(("user", "a"), ("assistant", "b")), True),
        ([{"role": "manager", "question": "a", "content": "b"}], False),
        ([{"role": "user", "question": "a"}], False),
        ([{"user": "a", "assistant": "b"}], False),
    ],
)
def test_records_with_a_role_are_no_conversation(data: Any, *, expected: bool) -> None:
    assert is_conversation(data) is expected
