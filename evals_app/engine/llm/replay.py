"""Calls of one execution, kept so that an interrupted conversation need not pay for them again."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from pydantic import TypeAdapter

from evals_app.engine.llm.answer_cache import TrialAnswers
from evals_app.engine.llm.call import Complete, ModelCall, ModelReply


@cache
def _replies() -> TypeAdapter[ModelReply]:
    return TypeAdapter(ModelReply)


PaidCall = Mapping[str, Any]  # {"call": fingerprint, "reply": ModelReply as JSON}


class ExecutionCalls:
    """Completes the calls of one execution: the same question as before gets the same reply.

    `paid` is what `paid_calls()` returned when the conversation was interrupted. `doing` describes what
    a call is waiting for, empty while none waits. `cached` are answers of earlier runs, `counts` how
    many were "found" there and how many were "asked" of a model.
    """

    def __init__(
        self,
        complete: Complete,
        *,
        paid: Sequence[PaidCall] = (),
        cached: TrialAnswers | None = None,
    ) -> None:
        self._complete = complete
        self._cached = cached
        self._made: list[tuple[ModelCall, ModelReply]] = []
        self._paid: defaultdict[str, list[ModelReply]] = defaultdict(list)
        for call in paid:
            self._paid[call["call"]].append(_replies().validate_python(call["reply"]))
        self._names: defaultdict[str, list[str]] = defaultdict(list)
        self.counts: Counter[str] = Counter()
        self.doing = ""

    def of_check(self, key: str) -> Complete:
        """Return what completes the calls of a check, whose answers `forget` can drop."""
        return partial(self, key=key)

    def forget(self, key: str) -> None:
        """Drop the answers to a check from the cache: they led to no grade, and never would."""
        for name in self._names.pop(key, ()):
            if self._cached:
                self._cached.drop(name)

    async def __call__(self, call: ModelCall, *, key: str = "") -> ModelReply:
        # Counted even if it is replayed: the next equal question is another vote.
        name = self._cached.name_of(call) if self._cached else ""
        self._names[key].append(name)
        reply = self._replay(call) or await self._answer(call, name)
        self._made.append((call, reply))
        return reply

    async def _answer(self, call: ModelCall, name: str) -> ModelReply:
        asked = replace(call, tell=self._tell)
        if self._cached is None:
            return await self._complete(asked)
        if known := self._cached.find(name):
            self.counts["found"] += 1
            return known
        self.counts["asked"] += 1
        reply = await self._complete(asked)
        self._cached.keep(name, reply)
        return reply

    def paid_calls(self) -> list[PaidCall]:
        """Return the calls that were answered so far, as plain JSON."""
        return [
            {"call": fingerprint(call), "reply": _replies().dump_python(reply, mode="json")}
            for call, reply in self._made
        ]

    def _replay(self, call: ModelCall) -> ModelReply | None:
        known = self._paid.get(fingerprint(call)) if self._paid else None
        return replace(known.pop(0), is_replayed=True) if known else None

    def _tell(self, doing: str) -> None:
        self.doing = doing


def fingerprint(call: ModelCall) -> str:
    """Return the SHA-256 of everything that the answer depends on."""
    return hashlib.sha256(call.as_json().encode("utf-8", "surrogatepass")).hexdigest()
