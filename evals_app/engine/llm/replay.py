"""Calls of one execution, kept so that a conversation that we break off need not pay for them again."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from evals_app.engine.llm.call import Complete, ModelCall, ModelReply

_REPLY: TypeAdapter[ModelReply] = TypeAdapter(ModelReply)

PaidCall = Mapping[str, Any]  # {"call": fingerprint, "reply": ModelReply as JSON}


class Calls:
    """Completes the calls of one execution: the same question as before gets the reply of before.

    `paid` is what `made()` gave when the conversation was broken off. `doing` says in words what a
    call is waiting for, empty while none waits.
    """

    def __init__(self, complete: Complete, *, paid: Sequence[PaidCall] = ()) -> None:
        self._complete = complete
        self._made: list[tuple[ModelCall, ModelReply]] = []
        self._paid: defaultdict[str, list[ModelReply]] = defaultdict(list)
        for each in paid:
            self._paid[each["call"]].append(_REPLY.validate_python(each["reply"]))
        self.doing = ""

    async def __call__(self, call: ModelCall) -> ModelReply:
        reply = self._replayed(call) or await self._complete(replace(call, tell=self._tell))
        self._made.append((call, reply))
        return reply

    def made(self) -> list[PaidCall]:
        """Give the calls that were answered so far, as plain JSON."""
        return [
            {"call": fingerprint(call), "reply": _REPLY.dump_python(reply, mode="json")}
            for call, reply in self._made
        ]

    def _replayed(self, call: ModelCall) -> ModelReply | None:
        known = self._paid.get(fingerprint(call)) if self._paid else None
        return replace(known.pop(0), is_replayed=True) if known else None

    def _tell(self, doing: str) -> None:
        self.doing = doing


def fingerprint(call: ModelCall) -> str:
    """Give the name of a question: the SHA-256 of all that its answer depends on."""
    return hashlib.sha256(call.as_json().encode("utf-8", "surrogatepass")).hexdigest()
