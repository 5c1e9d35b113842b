"""A call of a judge, kept with what it was asked for."""

from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache

from pydantic import TypeAdapter

from evals_app.engine.record.usage import UNKNOWN_USAGE, Usage
from fixtures_app.ground.strict_json import JsonObject


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a model call that did not succeed, and how long we then waited."""

    error: str
    waited_ms: float


@cache
def _adapter() -> TypeAdapter["JudgeCall"]:
    return TypeAdapter(JudgeCall)


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """One call of a judge, or of the model that plays the user, kept as an explanation; it has no key.

    `model` is the one that answered, `asked_model` the one that was asked. `fingerprint` is a digest of
    all that the answer depends on. `is_reused`: an earlier grading asked for it and paid.
    `logprobs` are of the token with the score, if they were asked for.
    """

    purpose: str
    model: str
    prompt: str
    reply: str
    prompt_hash: str = ""
    usage: Usage = UNKNOWN_USAGE
    latency_ms: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    dropped: tuple[str, ...] = ()
    is_scripted: bool = False
    cost_usd: Decimal | None = None
    provider: str = ""
    asked_model: str = ""
    prompt_version: int = 0
    stop: str = "ok"
    refusal_category: str | None = None
    waited_ms: float = 0.0
    first_token_ms: float | None = None
    request_id: str | None = None
    sent: dict[str, object] = field(default_factory=dict)
    is_replayed: bool = False
    is_reused: bool = False
    fingerprint: str = ""
    logprobs: tuple[dict[str, object], ...] = ()

    def to_json(self) -> JsonObject:
        dumped: JsonObject = _adapter().dump_python(self, mode="json")
        return dumped
