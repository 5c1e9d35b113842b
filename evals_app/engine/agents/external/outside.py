"""What is sent to external agents with each message, and the conversation so far."""

import asyncio
import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evals_app.engine.agents.external.reply import AgentReply
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.basics.errors import AgentError, ReplyMismatchError
from evals_app.engine.llm.call import FileContent
from evals_app.engine.specs.files import is_shown_as_it_is, text_shown


class Outside:
    """One conversation with an agent that gets everything with each message."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.history = [
            {"role": message.role, "content": message.text} for message in setting.history
        ]

    def request(
        self, exchange: Exchange, *, takes_files: bool = False, are_whole: bool = False
    ) -> dict[str, Any]:
        """Return what the agent is sent in this turn: plain JSON.

        Files `are_whole` if they go out as they are, not as the text of documents.
        """
        if exchange.files and not takes_files:
            exchange.notes.append(
                "This agent does not accept files. It did not get those of the turn."
            )
        return {
            "input": exchange.user,
            "history": list(self.history),
            "session_id": self._setting.session_id,
            "channel": self._setting.channel,
            "context_params": dict(self._setting.context_params),
            "case": self._setting.case,
            "trial": self._setting.trial,
            "clock": self._setting.clock,
            **(
                {"files": [_file(file, is_whole=are_whole) for file in exchange.files]}
                if exchange.files
                else {}
            ),
        }

    def traceparent(self, exchange: Exchange) -> str:
        """Return the W3C Trace Context: the execution is one trace, each turn a span of it."""
        return f"00-{self._setting.session_id}-{exchange.span_id}-01"

    @contextmanager
    def asking(self, exchange: Exchange) -> Iterator[None]:
        """If the turn fails, note that its tokens, cost and calls are unknown."""
        try:
            yield
        except (AgentError, ReplyMismatchError, asyncio.CancelledError):
            exchange.note_unknown()
            exchange.reports_calls = False
            raise

    def note(self, exchange: Exchange, reply: AgentReply) -> None:
        """Note what the agent did and answered; failed turns are not noted, nor part of the history."""
        reply.put_down(exchange)
        if not exchange.reply.strip():
            return
        self.history += [
            {"role": "user", "content": exchange.user},
            {"role": "assistant", "content": exchange.reply},
        ]


def _file(file: FileContent, *, is_whole: bool = False) -> dict[str, str]:
    """Return a file as JSON: its text, or base64."""
    about = {"name": file.name, "media_type": file.media_type}
    if is_whole or is_shown_as_it_is(file.media_type):
        return about | {"base64": base64.b64encode(file.data).decode("ascii")}
    return about | {"text": text_shown(file.name, file.media_type, file.data)}
