"""Earlier answers of judges: an identical question gets the same answer, free of charge."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from pydantic import TypeAdapter

from evals_app.engine.llm.call import ModelReply, TokenLogprob
from evals_app.engine.record.usage import NO_USAGE

_LOGPROBS: TypeAdapter[tuple[TokenLogprob, ...]] = TypeAdapter(tuple[TokenLogprob, ...])


class Answers:
    """The answers to the judges of one execution, by the fingerprints of their questions.

    Each answer is given once, in the order in which they came: equal questions were votes.
    """

    def __init__(self, calls: Iterable[Mapping[str, Any]] = ()) -> None:
        """Take JudgeCalls as JSON; those without a fingerprint are skipped."""
        self._calls: defaultdict[str, list[Mapping[str, object]]] = defaultdict(list)
        for call in calls:
            if fingerprint := call.get("fingerprint"):
                self._calls[fingerprint].append(call)

    def take(self, fingerprint: str) -> ModelReply | None:
        """Return the next answer to this question; None if there is none."""
        known = self._calls.get(fingerprint)
        return _reply(known.pop(0)) if known else None


def _reply(call: Mapping[str, Any]) -> ModelReply:
    return ModelReply(
        text=call["reply"],
        stop=call["stop"],
        refusal_category=call["refusal_category"],
        usage=NO_USAGE,
        cost_usd=Decimal(0),
        model=call["model"],
        logprobs=_LOGPROBS.validate_python(call["logprobs"]),
        dropped=tuple(call["dropped"]),
        is_reused=True,
    )
