"""The same conversations as many products export them: 34 files of eight kinds.

Some files have what no customer sees, or what is not text: `left_out` counts it.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from openpyxl import Workbook

USER, AGENT = "user", "agent"


class Talk(NamedTuple):
    """A conversation: who said what, every two minutes."""

    id: str
    at: datetime
    topic: str
    said: Sequence[tuple[str, str]]

    @property
    def times(self) -> list[datetime]:
        return [self.at + timedelta(minutes=2 * n) for n in range(len(self.said))]


def _talk(number: str, day: int, topic: str, *said: str) -> Talk:
    roles = (USER, AGENT)
    at = datetime(2026, 11, day, 9, 14, tzinfo=UTC)
    return Talk(number, at, topic, [(roles[n % 2], text) for n, text in enumerate(said)])


TALKS = (
    _talk("4711", 16, "delivery", "Where is my parcel?", "It comes tomorrow."),
    _talk(
        "4712",
        17,
        "refunds",
        'I want my money back; "at once"',
        "Gladly, Zoë.\nIt takes five days.",
        "Five days, really?",
        "Yes: 24,50 € on Monday.",
        "Fine, thanks!",
        "You're welcome 👋",
    ),
    _talk("4713", 25, "prices", "¿Cuánto cuesta?\n\nA Madrid, por favor.", "6,90 €, con IVA."),
    _talk("4714", 26, "refunds", "a < b, is that so?", "No, b > a & a < c."),
)
_SHORT = tuple(talk for talk in TALKS if len(talk.said) == 2)
_ONE_LINE = tuple(
    talk._replace(said=[(who, " ".join(text.split())) for who, text in talk.said]) for talk in TALKS
)
NOTE = "Seen before, be careful."


def _csv(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, by: str = ",", code: str = "utf-8-sig"
) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=by, lineterminator="\r\n")
    writer.writerows([head, *rows])
    return out.getvalue().encode(code)


def _xlsx(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    book, out = Workbook(), io.BytesIO()
    for row in [head, *rows]:
        book.active.append(list(row))  # type: ignore[union-attr]
    book.save(out)
    return out.getvalue()


def _messages(
    words: Mapping[str, str], time: str = "%Y-%m-%d %H:%M:%S", talks: Sequence[Talk] = TALKS
) -> Iterable[tuple[str, str, str, str, str]]:
    """Return number, time, author, text and topic of each message."""
    for talk in talks:
        for (who, text), at in zip(talk.said, talk.times, strict=True):
            yield talk.id, at.strftime(time), words[who], text, talk.topic


_EN = {USER: "Customer", AGENT: "Agent"}


def zendesk_comments_csv() -> bytes:
    rows = [(number, at, who, "true", text) for number, at, who, text, _ in _messages(_EN)]
    rows.insert(1, ("4711", "2026-11-16 09:15:00", "Agent", "false", NOTE))
    return _csv(("Ticket ID", "Created at", "Author", "Public", "Comment"), rows)


def german_help_desk_csv() -> bytes:
    rows = list(_messages({USER: "Kunde", AGENT: "Mitarbeiter"}, "%d.%m.%Y %H:%M"))
    rows.insert(1, ("4711", "16.11.2026 09:15", "Interne Notiz", NOTE, ""))
    head = ("Ticketnummer", "Erstellt am", "Absender", "Nachricht", "Thema")
    return _csv(head, rows, by=";")


def french_csv() -> bytes:
    rows = _messages({USER: "Client", AGENT: "Conseiller"}, "%d/%m/%Y %H:%M")
    return _csv(("Numéro de ticket", "Date", "Auteur", "Message", "Catégorie"), rows, by=";")


def spanish_csv() -> bytes:
    rows = _messages({USER: "Cliente", AGENT: "Agente"}, "%d/%m/%Y %H:%M")
    return _csv(("Número de ticket", "Fecha", "Remitente", "Mensaje", "Etiquetas"), rows, by=";")


def hubspot_xlsx() -> bytes:
    words = {USER: "VISITOR", AGENT: "AGENT"}
    head = ("Conversation ID", "Timestamp", "Sender type", "Message body", "Topic")
    return _xlsx(head, _messages(words, "%Y-%m-%dT%H:%M:%SZ"))


def gorgias_csv() -> bytes:
    words = {USER: "false", AGENT: "true"}
    rows = [(number, at, who, text) for number, at, who, text, _ in _messages(words)]
    return _csv(("ticket_id", "sent_datetime", "from_agent", "body_text"), rows)


def front_csv() -> bytes:
    words = {USER: "inbound", AGENT: "outbound"}
    rows = [(number, who, at, text) for number, at, who, text, _ in _messages(words)]
    return _csv(("Conversation ID", "Direction", "Message date", "Text"), rows)


def unicode_text_of_excel() -> bytes:
    rows = _messages(_EN, "%d.%m.%Y %H:%M")
    head = ("Ticket", "Date", "From", "Message", "Topic")
    return _csv(head, rows, by="\t", code="utf-16")


def names_csv() -> bytes:
    rows = [
        (number, at, "Mia Desk" if who == "Agent" else f"Guest {number}", text)
        for number, at, who, text, _ in _messages(_EN)
    ]
    return _csv(("Chat ID", "Time", "Sender", "Text"), rows)


def titled_xlsx() -> bytes:
    head = ("Case ID", "Sent at", "Role", "Content", "Category")
    rows = list(_messages(_EN))
    return _xlsx(("Export of 28 November", "", "", "", ""), [(), head, *rows])


def questions_csv() -> bytes:
    rows = [(talk.id, talk.said[0][1], talk.said[1][1], talk.topic) for talk in _SHORT]
    return _csv(("ID", "Question", "Answer", "Topic"), rows)


def german_questions_xlsx() -> bytes:
    rows = [(talk.at, talk.said[0][1], talk.said[1][1], talk.topic) for talk in _SHORT]
    naive = [(at.replace(tzinfo=None), *rest) for at, *rest in rows]
    return _xlsx(("Datum", "Frage", "Antwort", "Thema"), naive)


def bot_log_csv() -> bytes:
    rows = [(talk.id, talk.at.isoformat(), *(text for _, text in talk.said)) for talk in _SHORT]
    return _csv(("session_id", "timestamp", "user_message", "bot_response"), rows)


def transcripts_csv() -> bytes:
    rows = [
        (talk.id, talk.at.isoformat(), "\n".join(f"{_EN[who]}: {text}" for who, text in talk.said))
        for talk in TALKS
    ]
    return _csv(("Ticket ID", "Created at", "Transcript"), rows)


def chats_with_times_xlsx() -> bytes:
    rows = [
        (
            talk.id,
            "\n".join(
                f"({at:%I:%M:%S %p}) {'Visitor' if who == USER else 'Mia'}: {text}"
                for (who, text), at in zip(talk.said, talk.times, strict=True)
            ),
        )
        for talk in TALKS
    ]
    return _xlsx(("Chat ID", "Chat transcript"), rows)


def _lines(records: Iterable[object]) -> bytes:
    return b"\n".join(json.dumps(record, ensure_ascii=False).encode() for record in records)


def _openai(talk: Talk) -> list[dict[str, Any]]:
    roles = {USER: "user", AGENT: "assistant"}
    return [{"role": roles[who], "content": text} for who, text in talk.said]


def openai_messages_jsonl() -> bytes:
    return _lines({"id": talk.id, "messages": _openai(talk)} for talk in TALKS)


def openai_pictures_json() -> bytes:
    records = [{"id": talk.id, "messages": _openai(talk)} for talk in TALKS]
    first: Any = records[0]["messages"]
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    first[0]["content"] = [{"type": "text", "text": first[0]["content"]}, picture]
    return json.dumps(records).encode()


def stored_completions_json() -> bytes:
    data = [
        {
            "object": "chat.completion",
            "id": talk.id,
            "created": int(talk.at.timestamp()),
            "model": "m-1",
            "messages": _openai(talk)[:-1],
            "choices": [{"index": 0, "message": _openai(talk)[-1]}],
        }
        for talk in TALKS
    ]
    return json.dumps({"object": "list", "data": data}).encode()


def responses_jsonl() -> bytes:
    def output(text: str) -> dict[str, Any]:
        part = {"type": "output_text", "text": text, "annotations": []}
        return {"type": "message", "role": "assistant", "content": [part]}

    return _lines(
        {
            "object": "response",
            "id": talk.id,
            "created_at": int(talk.at.timestamp()),
            "input": _openai(talk)[:-1],
            "output": [output(talk.said[-1][1])],
        }
        for talk in TALKS
    )


def anthropic_jsonl() -> bytes:
    return _lines(
        {
            "id": talk.id,
            "system": "Be kind.",
            "messages": [
                {**message, "content": [{"type": "text", "text": message["content"]}]}
                for message in _openai(talk)
            ],
        }
        for talk in TALKS
    )


def sharegpt_json() -> bytes:
    words = {USER: "human", AGENT: "gpt"}
    return json.dumps(
        [
            {
                "id": talk.id,
                "conversations": [{"from": words[who], "value": text} for who, text in talk.said],
            }
            for talk in TALKS
        ]
    ).encode()


def zendesk_tickets_json() -> bytes:
    tickets = [
        {
            "id": int(talk.id),
            "created_at": talk.at.isoformat(),
            "requester_id": 9,
            "tags": [talk.topic],
            "comments": [
                {"author_id": 9 if who == USER else 3, "public": True, "plain_body": text}
                for who, text in talk.said
            ],
        }
        for talk in TALKS
    ]
    notes: Any = tickets[0]["comments"]
    notes.insert(1, {"author_id": 3, "public": False, "plain_body": NOTE})
    return json.dumps({"tickets": tickets}).encode()


def intercom_json() -> bytes:
    def part(who: str, text: str, at: datetime) -> dict[str, Any]:
        return {
            "part_type": "comment",
            "body": f"<p>{_html(text)}</p>",
            "created_at": int(at.timestamp()),
            "author": {"type": "user" if who == USER else "admin", "name": "A. Nother"},
        }

    found = []
    for talk in TALKS:
        parts = [part(who, text, at) for (who, text), at in zip(talk.said, talk.times, strict=True)]
        found.append(
            {
                "type": "conversation",
                "id": talk.id,
                "created_at": int(talk.at.timestamp()),
                "source": parts[0],
                "conversation_parts": {
                    "type": "conversation_part.list",
                    "conversation_parts": parts[1:],
                },
            }
        )
    return json.dumps({"conversations": found}).encode()


def _html(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("\n", "<br>")


def freshdesk_json() -> bytes:
    tickets = [
        {
            "id": int(talk.id),
            "created_at": talk.at.isoformat(),
            "description_text": talk.said[0][1],
            "tags": [talk.topic],
            "conversations": [
                {"body_text": text, "incoming": who == USER, "private": False}
                for who, text in talk.said[1:]
            ],
        }
        for talk in TALKS
    ]
    parts: Any = tickets[0]["conversations"]
    parts.insert(0, {"body_text": NOTE, "incoming": False, "private": True})
    return json.dumps(tickets).encode()


def help_scout_json() -> bytes:
    found = []
    for talk in TALKS:
        threads = [
            {
                "type": "customer" if who == USER else "message",
                "body": _html(text),
                "createdAt": at.isoformat(),
            }
            for (who, text), at in zip(talk.said, talk.times, strict=True)
        ]
        threads.insert(1, {"type": "note", "body": NOTE, "createdAt": talk.at.isoformat()})
        found.append({"id": int(talk.id), "_embedded": {"threads": threads}})
    return json.dumps({"_embedded": {"conversations": found}}).encode()


def chatwoot_json() -> bytes:
    return json.dumps(
        [
            {
                "id": int(talk.id),
                "messages": [
                    {
                        "content": text,
                        "message_type": int(who == AGENT),
                        "private": False,
                        "created_at": int(at.timestamp()),
                    }
                    for (who, text), at in zip(talk.said, talk.times, strict=True)
                ],
            }
            for talk in TALKS
        ]
    ).encode()


def front_json() -> bytes:
    return _lines(
        {
            "id": talk.id,
            "messages": [{"is_inbound": who == USER, "text": text} for who, text in talk.said],
        }
        for talk in TALKS
    )


def crisp_json() -> bytes:
    words = {USER: "user", AGENT: "operator"}
    return _lines(
        {
            "session_id": talk.id,
            "messages": [
                {
                    "from": words[who],
                    "type": "text",
                    "content": text,
                    "timestamp": int(at.timestamp() * 1000),
                }
                for (who, text), at in zip(talk.said, talk.times, strict=True)
            ],
        }
        for talk in TALKS
    )


def openai_evals_results_json() -> bytes:
    data = [
        {
            "object": "eval.run.output_item",
            "id": talk.id,
            "created_at": int(talk.at.timestamp()),
            "datasource_item": {"level": "easy"},
            "results": [{"name": "exact", "passed": True, "score": 1.0}],
            "sample": {"input": _openai(talk)[:-1], "output": _openai(talk)[-1:]},
        }
        for talk in TALKS
    ]
    return json.dumps({"object": "list", "data": data}).encode()


def _spans(of: Callable[[Talk, int], dict[str, str]]) -> bytes:
    spans = [
        {
            "traceId": f"{int(talk.id) * 100 + n:032x}",
            "spanId": f"{n + 1:016x}",
            "name": "chat",
            "startTimeUnixNano": str(int(talk.times[n].timestamp()) * 10**9),
            "endTimeUnixNano": str(int(talk.times[n + 1].timestamp()) * 10**9),
            "attributes": [
                {"key": key, "value": {"stringValue": value}} for key, value in of(talk, n).items()
            ],
        }
        for talk in TALKS
        for n in range(0, len(talk.said), 2)
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def genai_spans_json() -> bytes:
    def part(role: str, text: str) -> str:
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])

    def of(talk: Talk, n: int) -> dict[str, str]:
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": talk.id,
            "gen_ai.input.messages": part("user", talk.said[n][1]),
            "gen_ai.output.messages": part("assistant", talk.said[n + 1][1]),
        }

    return _spans(of)


def openinference_spans_json() -> bytes:
    def of(talk: Talk, n: int) -> dict[str, str]:
        return {
            "openinference.span.kind": "LLM",
            "session.id": talk.id,
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": talk.said[n][1],
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": talk.said[n + 1][1],
        }

    return _spans(of)


def pasted_txt() -> bytes:
    return "\n---\n".join(
        "\n".join(f"{_EN[who]}: {text}" for who, text in talk.said) for talk in TALKS
    ).encode()


def dated_chat_txt() -> bytes:
    """Write what phones export: each line begins with its time and the name of who wrote it."""
    return "\n---\n".join(
        "\n".join(
            f"{at:%d/%m/%Y, %H:%M} - {'Anna' if who == USER else 'Mia Desk'}: {text}"
            for (who, text), at in zip(talk.said, talk.times, strict=True)
        )
        for talk in TALKS
    ).encode()


def headed_md() -> bytes:
    return "\n\n---\n\n".join(
        "\n\n".join(
            f"**{'User' if who == USER else 'Assistant'}:** {text}" for who, text in talk.said
        )
        for talk in TALKS
    ).encode()


class Export(NamedTuple):
    """A file, the conversations in it, and how many messages it must say to have left out."""

    name: str
    write: Callable[[], bytes]
    talks: Sequence[Talk] = TALKS
    left_out: int = 0


EXPORTS = (
    Export("zendesk-comments.csv", zendesk_comments_csv, left_out=1),
    Export("german.csv", german_help_desk_csv, left_out=1),
    Export("french.csv", french_csv),
    Export("spanish.csv", spanish_csv),
    Export("hubspot.xlsx", hubspot_xlsx),
    Export("gorgias.csv", gorgias_csv),
    Export("front.csv", front_csv),
    Export("unicode-text.txt", unicode_text_of_excel),
    Export("names.csv", names_csv),
    Export("titled.xlsx", titled_xlsx),
    Export("questions.csv", questions_csv, _SHORT),
    Export("fragen.xlsx", german_questions_xlsx, _SHORT),
    Export("bot-log.csv", bot_log_csv, _SHORT),
    Export("transcripts.csv", transcripts_csv),
    Export("chats.xlsx", chats_with_times_xlsx),
    Export("openai.jsonl", openai_messages_jsonl),
    Export("pictures.json", openai_pictures_json, left_out=1),
    Export("stored.json", stored_completions_json),
    Export("responses.jsonl", responses_jsonl),
    Export("anthropic.jsonl", anthropic_jsonl),
    Export("sharegpt.json", sharegpt_json),
    Export("zendesk.json", zendesk_tickets_json, left_out=1),
    Export("intercom.json", intercom_json),
    Export("freshdesk.json", freshdesk_json, left_out=1),
    Export("help-scout.json", help_scout_json, left_out=len(TALKS)),
    Export("chatwoot.json", chatwoot_json),
    Export("front.jsonl", front_json),
    Export("crisp.jsonl", crisp_json),
    Export("openai-evals.json", openai_evals_results_json),
    Export("genai-spans.json", genai_spans_json),
    Export("openinference.json", openinference_spans_json),
    Export("pasted.txt", pasted_txt),
    Export("chat.txt", dated_chat_txt),
    Export("headed.md", headed_md),
)
