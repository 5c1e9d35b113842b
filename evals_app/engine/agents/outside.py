"""What agents outside are told with each message, and what they have said so far."""

import asyncio
import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evals_app.engine.agents.reply import AgentReply
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.documents import DocumentError, text_of
from evals_app.engine.errors import AgentError
from evals_app.engine.files import is_shown_as_it_is
from evals_app.engine.llm.call import FileContent
from evals_app.engine.trial import Usage


class Outside:
    """One conversation with an agent that is told everything with each message."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.history = [{"role": each.role, "content": each.text} for each in setting.history]

    def told(self, exchange: Exchange, *, takes_files: bool = False) -> dict[str, Any]:
        """Give what the agent is told in this turn: plain JSON."""
        if exchange.files and not takes_files:
            exchange.notes.append("This agent takes no files; it did not get those of the turn.")
        return {
            "input": exchange.user,
            "history": list(self.history),
            "session_id": self._setting.session_id,
            "channel": self._setting.channel,
            "context_params": dict(self._setting.context_params),
            "case": self._setting.case,
            "trial": self._setting.trial,
            "clock": self._setting.clock,
            **({"files": [_file(each) for each in exchange.files]} if exchange.files else {}),
        }

    @contextmanager
    def asking(self, exchange: Exchange) -> Iterator[None]:
        """Note, if nothing comes of it, that what it took, cost and called is unknown, not nothing."""
        try:
            yield
        except (AgentError, asyncio.CancelledError):
            exchange.usages.append(Usage())
            exchange.costs.append(None)
            exchange.reports_calls = False
            raise

    def heard(self, exchange: Exchange, reply: AgentReply) -> None:
        """Note what the agent did and said; a turn that fails never comes here, nor into history."""
        reply.put_down(exchange)
        if not reply.text.strip():
            return
        self.history += [
            {"role": "user", "content": exchange.user},
            {"role": "assistant", "content": reply.text},
        ]


def _file(file: FileContent) -> dict[str, str]:
    """Give a file as JSON: what is no text in base64."""
    about = {"name": file.name, "media_type": file.media_type}
    if is_shown_as_it_is(file.media_type):
        return about | {"base64": base64.b64encode(file.data).decode("ascii")}
    try:
        return about | {"text": text_of(file.media_type, file.data)}
    except DocumentError as error:
        return about | {"text": f"[File {file.name} cannot be read: {error}]"}
