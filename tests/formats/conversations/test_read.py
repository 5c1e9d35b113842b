"""Files of eight kinds: what was said in each, what is lost and what is wrong."""

import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from openpyxl import Workbook

from evals_app.engine.record.trial import ToolCall
from evals_app.engine.record.usage import Usage
from evals_app.formats.conversations.read import RECORDS, TABLE, TEXT, TRACES, read_conversations
from evals_app.formats.conversations.recorded import (
    ConversationFile,
    OutsideGrade,
    RecordedConversation,
)

_ROWS = """\
Ticket;Von;Nachricht;Datum;Thema;Plan
17;Kunde;Wo ist mein Paket?;16.11.2026 09:14;Versand;gold
17;Mitarbeiter;Es kommt morgen.;16.11.2026 09:16;Versand;gold
18;Kunde;Ich will mein Geld zurück.;17.11.2026 10:00;Geld;
17;Kunde;Danke!;16.11.2026 09:20;Versand;gold
18;Mitarbeiter;Gerne.;17.11.2026 10:01;Geld;
"""


def _read(
    name: str, content: object, **how: object
) -> tuple[ConversationFile, list[RecordedConversation]]:
    written = content if isinstance(content, str | bytes) else json.dumps(content)
    data = written.encode() if isinstance(written, str) else written
    file = read_conversations(name, data, **how)  # type: ignore[arg-type]
    return file, list(file)


def _said(conversation: RecordedConversation) -> list[tuple[str, str]]:
    return [(turn.user, turn.reply) for turn in conversation.turns]


def test_rows_of_messages_are_put_together_by_the_number_of_the_conversation() -> None:
    file, (first, second) = _read("export.csv", _ROWS)

    assert (file.kind, file.losses, file.problems, file.remarks) == (TABLE, {}, [], [])
    assert file.columns == {
        "Ticket": "id", "Von": "author", "Nachricht": "text", "Datum": "time", "Thema": "tags",
    }  # fmt: skip
    assert (first.id, first.tags, first.facts) == ("17", ("Versand",), {"Plan": "gold"})
    assert _said(first) == [("Wo ist mein Paket?", "Es kommt morgen.")]
    assert first.turns[0].notes == ("The user wrote afterwards, without an answer: Danke!",)
    assert first.turns[0].latency_ms == 120_000
    assert not first.turns[0].reports_calls
    assert first.happened_at == datetime(2026, 11, 16, 9, 14, tzinfo=UTC)
    assert _said(second) == [("Ich will mein Geld zurück.", "Gerne.")]


def test_names_instead_of_roles_who_begins_is_the_customer() -> None:
    rows = "conversation,from,text\n1,Ann,Hi\n1,Desk,Hello\n2,Bea,Help\n2,Desk,Sure\n3,Desk,How was it?\n3,Cem,Fine"
    _, conversations = _read("x.csv", rows)

    assert [_said(one) for one in conversations] == [
        [("Hi", "Hello")],
        [("Help", "Sure")],
        [("Fine", "")],
    ]
    assert conversations[0].names == ("Ann", "Desk")
    assert conversations[2].history[0].text == "How was it?"


def test_columns_that_a_person_chose_replace_the_guess() -> None:
    rows = "a,b,c\nx,Where?,Here."
    file, conversations = _read("x.csv", rows)
    assert file.problems[0].startswith("x.csv: Say which columns have what was said")
    assert (file.headers, file.first_rows, conversations) == (
        ("a", "b", "c"),
        (("x", "Where?", "Here."),),
        [],
    )

    _, (one,) = _read("x.csv", rows, columns={"a": "", "b": "question", "c": "answer"})
    assert (_said(one), one.facts) == ([("Where?", "Here.")], {"a": "x"})

    _, (one,) = _read(
        "x.csv", "Frage,b,c\nHi,Yes,5", columns={"b": "answer"}
    )  # the rest is guessed
    assert (_said(one), one.facts) == ([("Hi", "Yes")], {"c": "5"})

    file, _ = _read("x.csv", rows, columns={"A": "question"})
    assert file.problems == ["x.csv: There is no column 'A'. Did you mean 'a'?"]
    file, _ = _read("x.csv", rows, columns={"a": "questoin"})
    assert file.problems == ["x.csv: A column cannot be 'questoin'. Did you mean 'question'?"]


def test_a_row_without_a_number_of_a_conversation_is_a_problem_and_the_others_are_read() -> None:
    file, conversations = _read("x.csv", "ticket,role,text\n,user,Hi\n2,user,Hi\n2,agent,Yes")

    assert file.problems == ["x.csv:2: the row has no number of a conversation."]
    assert [_said(one) for one in conversations] == [[("Hi", "Yes")]]


def test_dates_that_could_be_either_way_are_said_to_be_guessed() -> None:
    rows = "id,question,answer,date\n1,Hi,Yes,3/4/2026\n"
    file, (one,) = _read("x.csv", rows)
    assert one.happened_at == datetime(2026, 4, 3, tzinfo=UTC)
    assert file.remarks == ["Dates such as 3/4/2026 are read with the day first."]

    file, (one, _) = _read("x.csv", rows + "2,Hi,No,12/31/2026 1:05 PM\n")
    assert (one.happened_at, file.remarks) == (datetime(2026, 3, 4, tzinfo=UTC), [])


def test_workbooks_are_read_from_their_first_sheet() -> None:
    book = Workbook()
    sheet = book.create_sheet("Chats", 0)
    sheet.append(["Question", "Answer", "Tags"])
    sheet.append(["Open?", "Until 5.", "hours; shop"])
    book.create_sheet("Notes").append(["Hello"])
    stream = io.BytesIO()
    book.save(stream)

    file, (one,) = _read("x.xlsx", stream.getvalue())

    assert (_said(one), one.tags) == ([("Open?", "Until 5.")], ("hours", "shop"))
    assert file.losses == {
        "The sheet Notes was left out: conversations are read from the first one.": 1
    }
    assert len(one.id) == 32  # a digest: the file has no number
    assert next(iter(file)).id == one.id
    assert len(file.losses) == 1


def test_a_column_of_transcripts() -> None:
    text = '"Customer: Hi\nI need help\nAgent: Sure"'
    file, (one,) = _read("x.csv", f"Chat ID,Transcript,Rating\n9,{text},5\n10,nothing,1\n")

    assert (one.id, one.facts, _said(one)) == ("9", {"Rating": "5"}, [("Hi\nI need help", "Sure")])
    assert file.problems == ["x.csv:3: nothing in it says who wrote what."]


_CALLS = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "Where is 7?"}, {"type": "image_url"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": '{"order": 7}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"at": "Rome"}'},
    {"role": "assistant", "content": "In Rome."},
]
_FOUND = ToolCall("find", {"order": 7}, {"at": "Rome"})


def test_messages_of_openai_with_their_tools() -> None:
    file, (one,) = _read(
        "x.jsonl", json.dumps({"id": 5, "messages": _CALLS, "tags": ["a"]}) + "\n\n{}\n"
    )

    assert (file.kind, one.id, one.tags, one.system_prompt) == (RECORDS, "5", ("a",), "Be kind.")
    assert _said(one) == [("Where is 7?", "In Rome.")]
    assert one.turns[0].tool_calls == (_FOUND,)
    assert one.turns[0].reports_calls
    assert (one.turns[0].latency_ms, one.turns[0].usage, one.turns[0].cost_usd) == (
        None,
        Usage(),
        None,
    )
    assert file.losses == {"Parts of messages other than text were left out: image_url.": 1}
    assert len(file.problems) == 1
    assert file.problems[0].startswith(
        "x.jsonl:3: It has no messages and no question. It has: nothing."
    )


def test_a_stored_completion_has_its_tokens_and_model() -> None:
    record = {
        "messages": [{"role": "user", "content": "Hi"}],
        "model": "m-1",
        "response": {
            "choices": [{"message": {"role": "assistant", "content": "Yes"}}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 2},
        },
        "cost_usd": 0.002,
    }
    _, (one,) = _read("x.json", [record])

    (turn,) = one.turns
    assert (turn.user, turn.reply, turn.model) == ("Hi", "Yes", "m-1")
    assert (turn.usage, turn.cost_usd) == (Usage(7, 2), Decimal("0.002"))


def test_messages_of_anthropic_with_their_tools() -> None:
    record = {
        "system": [{"type": "text", "text": "Be kind."}],
        "messages": [
            {"role": "user", "content": "Where is 7?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Look it up"},
                    {"type": "tool_use", "id": "t1", "name": "find", "input": {"order": 7}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [{"type": "text", "text": '{"at": "Rome"}'}],
                    }
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "In Rome."}]},
        ],
    }
    _, (one,) = _read("x.json", record)

    (turn,) = one.turns
    assert (one.system_prompt, turn.user, turn.reply) == ("Be kind.", "Where is 7?", "In Rome.")
    assert turn.tool_calls == (_FOUND,)
    assert turn.reasoning == "Look it up"


def test_items_of_the_responses_api() -> None:
    record = {
        "instructions": "Be kind.",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Where is 7?"}]}],
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "c", "name": "find", "arguments": '{"order": 7}'},
            {"type": "function_call_output", "call_id": "c", "output": '{"at": "Rome"}'},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "In Rome."}],
            },
        ],
    }
    file, (one,) = _read("x.json", [record])

    assert (_said(one), one.turns[0].tool_calls) == ([("Where is 7?", "In Rome.")], (_FOUND,))
    assert file.losses == {}


def test_a_list_of_messages_is_one_conversation_and_a_list_of_lists_several() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]

    assert len(_read("x.json", messages)[1]) == 1
    assert len(_read("x.json", [messages, messages])[1]) == 2
    assert len(_read("x.json", {"conversations": [{"messages": messages}]})[1]) == 1


def test_tickets_as_zendesk_exports_them() -> None:
    ticket = {
        "id": 42,
        "requester_id": 1,
        "created_at": "2026-11-16T09:14:00Z",
        "tags": ["late", "parcel"],
        "priority": "high",
        "comments": [
            {
                "author_id": 1,
                "body": "Where is it?",
                "public": True,
                "created_at": "2026-11-16T09:14:00Z",
            },
            {"author_id": 2, "body": "Ask the driver", "public": False},
            {
                "author_id": 2,
                "html_body": "<p>It comes<br>tomorrow &amp; early.</p>",
                "created_at": "2026-11-16T09:14:30Z",
            },
        ],
    }
    file, (one,) = _read("x.json", {"tickets": [ticket]})

    assert _said(one) == [("Where is it?", "It comes\ntomorrow & early.")]
    assert (one.id, one.tags, one.facts["priority"]) == ("42", ("late", "parcel"), "high")
    assert one.turns[0].latency_ms == 30_000
    assert file.losses == {"Internal notes and events were left out.": 1}


def test_conversations_as_intercom_exports_them() -> None:
    conversation = {
        "id": "9",
        "created_at": 1_763_284_440,
        "source": {"body": "<p>Hi</p>", "author": {"type": "user", "name": "Zyta Quark"}},
        "conversation_parts": {
            "conversation_parts": [
                {"body": "<p>Hello Zyta</p>", "author": {"type": "admin", "name": "Desk"}},
                {"body": "<p>closed</p>", "author": {"type": "workflow"}},
            ]
        },
    }
    file, (one,) = _read("x.json", {"conversations": [conversation]})

    assert _said(one) == [("Hi", "Hello Zyta")]
    assert one.names == ("Zyta Quark", "Desk")
    assert file.losses == {"Internal notes and events were left out.": 1}


def test_results_of_openai_evals_keep_their_own_grades() -> None:
    item = {
        "object": "eval.run.output_item",
        "id": "o1",
        "created_at": 1_763_284_440,
        "datasource_item": {"question": "2+2?", "level": "easy"},
        "results": [{"name": "exact", "passed": False, "score": 0.0}],
        "sample": {
            "input": [{"role": "user", "content": "2+2?"}],
            "output": [{"role": "assistant", "content": "5"}],
            "model": "m-1",
            "usage": {"prompt_tokens": 9, "completion_tokens": 1},
        },
    }
    _, (one,) = _read("x.json", {"object": "list", "data": [item]})

    assert (one.id, _said(one), one.turns[0].usage) == ("o1", [("2+2?", "5")], Usage(9, 1))
    assert one.grades == (OutsideGrade("exact", passed=False, score=0.0),)
    assert one.facts["level"] == "easy"


@pytest.mark.parametrize(
    "pasted",
    [
        "Customer: Hi\nAgent: Hello",
        "[09:14] Customer: Hi\n[09:15] Agent: Hello",
        "**Customer:** Hi\n\n**Agent:** Hello",
        "Kunde (09:14): Hi\nMitarbeiter (09:15): Hello",
        "Zyta: Hi\nDesk: Hello",
        "User:\nHi\n\nAssistant:\nHello",
    ],
)
def test_pasted_text(pasted: str) -> None:
    file, (one,) = _read("pasted.txt", pasted)

    assert (file.kind, _said(one), file.problems) == (TEXT, [("Hi", "Hello")], [])


def test_pasted_texts_are_apart_by_lines_of_dashes() -> None:
    file, conversations = _read(
        "x.txt", "A: Hi\nB: Yes\n---\nno one\n---\nCustomer: So?\nAgent: No"
    )

    assert [_said(one)[-1] for one in conversations] == [("Hi", "Yes"), ("So?", "No")]
    assert len(file.problems) == 1
    assert file.problems[0].startswith("x.txt, conversation 2: It is not clear who wrote what.")


def _span(
    span_id: str, parent: str, begin: int, attributes: Mapping[str, object], name: str = "x"
) -> dict[str, object]:
    return {
        "traceId": ("ab" if begin < 50 else "cd") * 16,
        "spanId": span_id * 16,
        "parentSpanId": parent * 16,
        "name": name,
        "startTimeUnixNano": str(1_763_284_440_000_000_000 + begin * 1_000_000),
        "endTimeUnixNano": str(1_763_284_440_000_000_000 + (begin + 5) * 1_000_000),
        "attributes": [
            {
                "key": key,
                "value": {"intValue": str(value)}
                if isinstance(value, int)
                else {"stringValue": value},
            }
            for key, value in attributes.items()
        ],
    }


def _chat(asked: str, answered: str) -> dict[str, object]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": asked}]}]
        ),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": answered}]}]
        ),
    }


def test_traces_with_one_session_are_one_conversation() -> None:
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "find",
        "gen_ai.tool.call.arguments": '{"order": 7}',
        "gen_ai.tool.call.result": '{"at": "Rome"}',
    }
    session = {"gen_ai.conversation.id": "s1", "gen_ai.agent.name": "Shop"}
    spans = [
        _span("1", "", 0, session),
        _span("2", "1", 1, _chat("Where is 7?", "In Rome.")),
        _span("3", "1", 2, tool),
        _span("4", "", 90, session),
        _span("5", "4", 91, _chat("And 8?", "Lost.")),
    ]
    request = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}

    for name, content in (
        ("x.json", json.dumps(request)),
        ("x.jsonl", f"{json.dumps(request)}\n\n" * 1),
    ):
        file, (one,) = _read(name, content)
        assert (file.kind, one.id, one.agent) == (TRACES, "s1", "Shop")
        assert _said(one) == [("Where is 7?", "In Rome."), ("And 8?", "Lost.")]
        (call,) = one.turns[0].tool_calls
        assert (call.name, call.args, call.result) == ("find", {"order": 7}, {"at": "Rome"})
        assert (one.turns[0].usage, one.turns[0].model, one.turns[0].latency_ms) == (
            Usage(7, 2),
            "m-1",
            7.0,
        )


def test_messages_that_openinference_numbers() -> None:
    attributes = {
        "openinference.span.kind": "LLM",
        "session.id": "s",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be kind.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "Hi",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Yes",
    }
    _, (one,) = _read(
        "x.json", {"resourceSpans": [{"scopeSpans": [{"spans": [_span("1", "", 0, attributes)]}]}]}
    )

    assert (_said(one), one.system_prompt) == ([("Hi", "Yes")], "Be kind.")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("x.csv", "", "x.csv: The table is empty."),
        ("x.txt", "  ", "x.txt: The file is empty."),
        ("x.json", "{", "x.json: This is not valid JSON"),
        ("x.json", "[1]", "x.json, conversation 1: A conversation is an object or a list of messages."),
        ("x.json", '{"a": 1}', "x.json, conversation 1: It has no messages and no question. It has: a."),
        ("x.jsonl", '{"messages": [{"role": "assistant", "content": "Hi"}]}\n{', "x.jsonl:1: No message of it is from a user."),
        ("x.pb", b"\xff\xff", "x.pb: "),
        ("x.csv", b"\xff\xfe\x00", "x.csv"),
        ("x.txt", "A long letter.", "x.txt, conversation 1: It is not clear who wrote what."),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(name: str, content: str | bytes, problem: str) -> None:
    file, conversations = _read(name, content)

    assert conversations == []
    assert file.problems[0].startswith(problem), file.problems


def test_messages_of_an_unknown_role_are_lost_by_name() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "wizard", "content": "Poof"},
        {"role": "assistant", "content": "Yes"},
    ]
    file, (one,) = _read("x.json", {"messages": messages})

    assert _said(one) == [("Hi", "Yes")]
    assert file.losses == {"Messages of “wizard” were left out: this role is not known.": 1}


@pytest.mark.parametrize("name", ["week.jsonl", "week.csv"])
def test_files_may_be_larger_than_those_of_suites(name: str) -> None:
    text = "x" * 90_000
    rows = [f'{{"id": {n}, "question": "{text}", "answer": "yes"}}' for n in range(130)]
    table = ["id,question,answer", *(f"{n},{text},yes" for n in range(130))]
    content = "\n".join(rows if name.endswith("l") else table).encode()
    assert len(content) > 10 * 1024 * 1024

    file = read_conversations(name, content)

    assert (sum(1 for _ in file), file.problems) == (130, [])


_HIDDEN = {"Internal notes and events were left out.": 1}


@pytest.mark.parametrize(
    "author",
    ["Interne Notiz", "Internal note", "Kommentar (intern)", "Anna Schmidt (intern)", "Note"],
)
def test_internal_notes_of_a_table_are_no_words_of_the_customer(author: str) -> None:
    rows = f"Ticket;Von;Nachricht\n17;Kunde;Frage\n17;{author};Geheim\n17;Mitarbeiter;Antwort\n"
    file, (talk,) = _read("export.csv", rows)

    assert (_said(talk), file.losses) == ([("Frage", "Antwort")], _HIDDEN)


@pytest.mark.parametrize(
    ("header", "cell"),
    [
        ("public", "false"),
        ("Öffentlich", "nein"),
        ("is_private", "TRUE"),
        ("visibility", "internal"),
    ],
)
def test_rows_that_customers_do_not_see_are_left_out(header: str, cell: str) -> None:
    rows = f"id;from;text;{header}\n1;customer;Hi;\n1;agent;Secret;{cell}\n1;agent;Hello;\n"
    file, (talk,) = _read("export.csv", rows)

    assert (_said(talk), file.losses) == ([("Hi", "Hello")], _HIDDEN)


def test_a_name_beside_customers_and_agents_is_left_out_and_counted() -> None:
    rows = "id;from;text\n1;customer;Hi\n1;Anna Schmidt;Hm\n1;agent;Hello\n"
    file, (talk,) = _read("export.csv", rows)

    assert _said(talk) == [("Hi", "Hello")]
    assert file.losses == {
        "Messages of authors who are neither customer nor agent were left out.": 1
    }


@pytest.mark.parametrize(("one", "other"), [("customer", "Anna Schmidt"), ("Tom Berg", "agent")])
def test_a_name_beside_one_role_has_the_other(one: str, other: str) -> None:
    file, (talk,) = _read("export.csv", f"id;from;text\n1;{one};Hi\n1;{other};Hello\n")

    assert (_said(talk), file.losses) == ([("Hi", "Hello")], {})


def test_authors_that_are_names_are_said_to_be_a_guess() -> None:
    file, _ = _read("export.csv", "id;from;text\n1;Tom Berg;Hi\n1;Anna Schmidt;Hello\n")

    assert file.remarks[1:] == ["Authors are names, so who asks and who answers is a guess."]
