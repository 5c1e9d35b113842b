"""Tables as people really have them: old encodings, odd times, repeated rows, rows in any order."""

from datetime import UTC, datetime

import pytest

from evals_app.formats.conversations.read import read_conversations
from evals_app.formats.conversations.recorded import ConversationFile, RecordedConversation
from evals_app.formats.conversations.times import TimeReader

_TALK = "T-1;2026-11-16 09:00;Kunde;Für 9 €?\nT-1;2026-11-16 09:05;Agent;Nein, 6,90 €.\n"
_TABLE = f"Ticket;Datum;Von;Nachricht\n{_TALK}"


def _read(content: str | bytes) -> tuple[ConversationFile, list[RecordedConversation]]:
    data = content.encode() if isinstance(content, str) else content
    file = read_conversations("week.csv", data)
    return file, list(file)


def _said(conversation: RecordedConversation) -> list[tuple[str, str]]:
    return [(turn.user, turn.reply) for turn in conversation.turns]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig", "utf-8"])
def test_letters_of_windows_are_read_and_said_to_be(encoding: str) -> None:
    file, (one,) = _read(_TABLE.encode(encoding))

    assert _said(one) == [("Für 9 €?", "Nein, 6,90 €.")]
    assert ["Windows" in remark for remark in file.remarks] == [True] * (encoding == "cp1252")


@pytest.mark.parametrize(
    "odd",
    ["Привет".encode("cp1251"), "Καλημέρα".encode("cp1253"), b"\xfcber \xc3\xbcber", b"\x81"],
    ids=["Cyrillic", "Greek", "two encodings", "none of Windows"],
)
def test_other_letters_are_refused_not_guessed(odd: bytes) -> None:
    file, conversations = _read(_TABLE.encode("ascii", "replace") + b"T-2;;Kunde;" + odd + b"\n")

    assert conversations == []
    assert "UTF-8" in file.problems[0]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-11-03 09:00:00 UTC", "2026-11-03 09:00"),
        ("2026-11-03 09:00:00.000 +0100", "2026-11-03 08:00"),
        ("2026-11-03 09:00 CET", "2026-11-03 08:00"),
        ("3.11.2026 9:00 Uhr", "2026-11-03 09:00"),
        ("Nov 3, 2026 5:04pm", "2026-11-03 17:04"),
        ("November 3, 2026, 12:04 AM", "2026-11-03 00:04"),
        ("2026-11-03 5:04 PM", "2026-11-03 17:04"),
        ("2026/11/3 9:00", "2026-11-03 09:00"),
        ("46329.5", "2026-11-03 12:00"),
        ("46329", "2026-11-03 00:00"),
        ("1793955600", "2026-11-06 09:00"),
        ("2026-11-03 17:04 PM", None),
        ("2026-02-30", None),
        ("99999", None),
        ("12:30", None),
        ("yesterday", None),
    ],
)
def test_times_as_exports_write_them(written: str, read: str | None) -> None:
    expected = datetime.fromisoformat(read).replace(tzinfo=UTC) if read else None

    assert TimeReader([written]).read(written) == expected


def test_times_that_cannot_be_read_are_counted() -> None:
    file, (one,) = _read(_TABLE.replace("2026-11-16 09:05", "gestern"))

    assert _said(one) == [("Für 9 €?", "Nein, 6,90 €.")]
    assert (one.turns[0].latency_ms, list(file.losses.values())) == (None, [1])


@pytest.mark.parametrize(
    ("date", "first"), [("3/4/2026", "day"), ("3/4/2026 9:00 AM", "month"), ("3/14/2026", "")]
)
def test_the_remark_on_dates_says_what_is_done(date: str, first: str) -> None:
    file, _ = _read(f"id,question,answer,date\n1,Hi,Yes,{date}\n")

    assert [f"with the {first} first" in remark for remark in file.remarks] == [True] * bool(first)


def test_rows_that_are_there_twice_are_left_out_if_they_have_a_time() -> None:
    file, (one,) = _read(_TABLE + _TALK)
    assert _said(one) == [("Für 9 €?", "Nein, 6,90 €.")]
    assert file.losses == {"Rows that are in the file twice were left out.": 2}

    file, (one,) = _read("id;from;text\n1;Kunde;Ja\n1;Kunde;Ja\n1;Agent;Gut\n")
    assert (_said(one), file.losses) == ([("Ja\n\nJa", "Gut")], {})


def test_messages_without_a_text_and_cells_without_a_heading_are_counted() -> None:
    file, (one,) = _read(_TABLE + "T-1;2026-11-16 09:06;Kunde;;lost\nT-1;2026-11-16 09:07;Kunde\n")

    assert _said(one) == [("Für 9 €?", "Nein, 6,90 €.")]
    assert sorted(file.losses.values()) == [1, 2]


def test_questions_with_the_same_number_are_one_conversation_in_the_order_of_their_times() -> None:
    table = "id,question,answer,date\n7,Two,B,2026-11-17\n8,Else,C,2026-11-16\n7,One,A,2026-11-16\n"
    file, (seven, eight) = _read(table)
    assert (_said(seven), _said(eight)) == ([("One", "A"), ("Two", "B")], [("Else", "C")])
    assert [turn.latency_ms for turn in seven.turns] == [None, None]
    assert (seven.happened_at, len(file.remarks)) == (datetime(2026, 11, 16, tzinfo=UTC), 1)

    _, (seven, _) = _read(table.replace("7,Two,B,2026-11-17", "7,Two,B,"))
    assert _said(seven) == [("Two", "B"), ("One", "A")]
    _, found = _read(table.replace("id,", "plan,"))
    assert len(found) == 3


def test_messages_in_any_order_are_put_into_that_of_their_times() -> None:
    head, *rows = _TABLE.splitlines()
    file, (one,) = _read("\n".join([head, *reversed(rows)]))
    assert (_said(one), file.remarks) == ([("Für 9 €?", "Nein, 6,90 €.")], [])

    file, _ = _read("id;from;text\n1;Kunde;Hi\n1;Agent;Hello\n")
    assert "order of the file" in file.remarks[0]


def test_a_table_without_headings_is_noticed() -> None:
    file, _ = _read(_TALK)
    assert any("headings" in remark for remark in file.remarks + file.problems)
    file, _ = _read(_TABLE)
    assert file.remarks == []


def test_columns_without_a_name_and_empty_rows_change_nothing() -> None:
    rows = "".join(f";{line};\n;;;;;\n" for line in _TABLE.splitlines())
    file, (one,) = _read(rows)

    assert _said(one) == [("Für 9 €?", "Nein, 6,90 €.")]
    assert (one.facts, file.losses, file.problems) == ({}, {}, [])


def test_headings_below_a_title_are_said_to_be_there() -> None:
    file, (one,) = _read(f"Week 47;;;\n{_TABLE}")

    assert _said(one) == [("Für 9 €?", "Nein, 6,90 €.")]
    assert file.remarks == ["The headings are in row 2. What is above them is left out."]
