"""Conversations of JSON Lines."""

import json
from datetime import UTC, datetime

from evals_app.formats.conversations.read import read_conversations


def _file(*rows: object) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


def test_messages_become_turns_that_begin_with_the_user() -> None:
    row = {
        "id": 7,
        "date": "2026-11-16T09:14:00",
        "tags": ["price"],
        "messages": [
            {"role": "assistant", "content": "Welcome!"},
            {"role": "user", "content": "Hello"},
            {"role": "user", "content": "Why 9 euros?"},
            {"role": "assistant", "content": "One moment."},
            {"role": "assistant", "content": "It is 6.90."},
            {"role": "user", "content": "Thanks"},
        ],
    }
    [found] = read_conversations("week.jsonl", _file(row))
    assert (found.id, found.tags) == ("7", ("price",))
    assert found.happened_at == datetime(2026, 11, 16, 9, 14, tzinfo=UTC)
    assert [message.text for message in found.history] == ["Welcome!"]
    assert [(turn.user, turn.reply, len(turn.messages)) for turn in found.turns] == [
        ("Hello\n\nWhy 9 euros?", "It is 6.90.", 2),
        ("Thanks", "", 0),
    ]


def test_what_cannot_be_read_is_named_with_its_line_and_the_rest_is_read() -> None:
    good = {"messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "x"}]}
    content = b"{\n" + _file({"id": 1}, good, {"messages": []}) + b"\n\xff"
    file = read_conversations("week.jsonl", content)
    assert [bool(found.id) for found in file] == [True]
    assert [problem.split(": ")[0] for problem in file.problems] == [
        f"week.jsonl:{line}" for line in (1, 2, 4, 5)
    ]
    assert sum(file.losses.values()) == 1
