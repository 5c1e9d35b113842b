"""Ask a model until its answer can be read, and keep every call that this took.

Every question to a judge goes through here: a prompt whose blocks carry a nonce, a schema, and a
function that reads the reply or says what is wrong with it.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, TypeVar

from evals_app.engine.basics.errors import BadRequestError, JudgeError, ProviderError
from evals_app.engine.basics.reasoning import without_reasoning
from evals_app.engine.judging.answers.reuse import Answers
from evals_app.engine.judging.answers.sharing import Sharing
from evals_app.engine.judging.answers.weighting import score_token
from evals_app.engine.llm.call import (
    AssistantMessage,
    ChatMessage,
    Complete,
    FileContent,
    ModelCall,
    ModelReply,
    UserMessage,
)
from evals_app.engine.llm.judge_plugins import PLUGIN, judge_and_package, judge_plugins
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.specs.base_spec import Effort, ModelSpec
from fixtures_app.ground.quoting import cut_middle, join_list

T = TypeVar("T")

MAX_OUTPUT_TOKENS = 4096
# Ten times what the limit above allows: the most that is read from a server that ignores limits.
_MAX_REPLY_CHARS = 400_000
_MAX_PROBLEM_CHARS = 1000
_BLANK_NONCE = "0" * 12
_SEED = 1
_SPREAD = 0.7  # identical votes are worth no more than one


_ANOTHER_MODEL = "Choose another judge model if this happens often."
CLEARER = "Word the criteria more clearly, or choose another judge model, if this happens often."


class UnreadableAnswerError(ValueError):
    """A reply that cannot be used as an answer; the message is sent back to the model.

    `fault` describes it for people, as a clause.
    """

    advice = _ANOTHER_MODEL

    def __init__(self, message: str, *, fault: str = "") -> None:
        super().__init__(message)
        self.fault = fault

    @property
    def twice(self) -> str:
        """What people read if the model does it again; for a script, the message itself is shown."""
        what = f" The second time, {self.fault}." if self.fault else ""
        return (
            "The judge twice gave an answer that cannot be used, so the agent is not graded."
            f"{what} {self.advice}"
        )


class ContradictionError(UnreadableAnswerError):
    """An answer whose verdict does not follow from what it found."""

    @property
    def twice(self) -> str:
        return f"The judge contradicted itself twice, so the agent is not graded. {self} {CLEARER}"


@dataclass(frozen=True, slots=True)
class PromptText:
    """A question ready to be sent; `nonce` is what its delimiters carry.

    `version` goes up with every change of the wording: answers of different versions do not compare.
    `shared` counts the characters at the beginning of `user` that other questions about the same
    execution begin with. `script` is what the rules of a scripted judge look at, if that is not all
    of `user`. `files` are images and PDFs of the user, to be sent along.
    """

    system: str
    user: str
    nonce: str
    version: int
    shared: int = 0
    script: str = ""
    files: tuple[FileContent, ...] = ()

    @property
    def text(self) -> str:
        return f"{self.system}\n\n{self.user}"

    def fingerprint(self, text: str) -> str:
        """Hash a text of this prompt with the nonce blanked: equal questions, equal hashes."""
        blanked = text.replace(self.nonce, _BLANK_NONCE)
        return hashlib.sha256(blanked.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class ReadableAnswer(Generic[T]):
    """An answer that could be read, the reply that contained it, and all calls up to it."""

    answer: T
    reply: ModelReply
    calls: tuple[JudgeCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """A model that can be asked, and how.

    `secret` is the run's; prompts derive their nonces from it. A script is asked like a model, but
    not asked to repair its answer: it would give the same one. `is_alone`: its answer is not one of
    several votes, so it should be the same each time. `sharing` knows which questions begin alike.
    `answers` are those that an earlier grading of the same conversation paid for. `who` is what
    errors call it.
    """

    complete: Complete
    model: ModelSpec
    secret: bytes
    is_scripted: bool = False
    is_alone: bool = True
    effort: Effort | None = None
    timeout_s: float = 120.0
    patience_s: float = 600.0
    sharing: Sharing | None = None
    answers: Answers | None = None
    who: str = "The judge"

    @property
    def _seed(self) -> int | None:
        """Return the seed: only an answer that is not one of several votes should be the same."""
        if not self.is_alone:
            return None
        return _SEED if self.model.seed is None else self.model.seed

    async def ask(
        self,
        prompt: PromptText,
        *,
        schema: dict[str, Any],
        read: Callable[[str], T],
        purpose: str = "judge",
        max_output_tokens: int = MAX_OUTPUT_TOKENS,
        top_logprobs: int | None = None,
    ) -> ReadableAnswer[T]:
        """Ask; again with twice the room if cut off, and again if `read` finds no answer.

        `read` raises UnreadableError, which is sent back to the model, or JudgeError.

        Raises:
            JudgeError: refused, too long for the model, cut off twice, unreadable twice, or what
                `read` raised.
            ProviderError: the model API did not serve a call.
            Both have in `calls` what was asked until then.
        """
        model = self.model
        sampled = 0.0 if self.is_alone else _SPREAD
        request = ModelCall(
            provider=model.provider,
            model=model.name,
            purpose=purpose,
            system=prompt.system,
            messages=(UserMessage(self._question(prompt), prompt.files),),
            schema=schema,
            max_output_tokens=model.max_tokens or max_output_tokens,
            timeout_s=self.timeout_s,
            patience_s=self.patience_s,
            temperature=sampled if model.temperature is None else model.temperature,
            top_p=model.top_p,
            effort=model.effort or self.effort,
            seed=self._seed,
            top_logprobs=top_logprobs,
        )
        calls: list[JudgeCall] = []
        try:
            answer, reply = await self._ask_until_readable(prompt, request, read, calls)
        except (JudgeError, ProviderError) as exc:
            exc.calls = (*calls, *exc.calls)
            if prompt.files and isinstance(exc, BadRequestError):
                raise _unread(prompt.files, exc) from exc
            raise
        return ReadableAnswer(answer, reply, tuple(calls))

    async def _ask_until_readable(
        self,
        prompt: PromptText,
        request: ModelCall,
        read: Callable[[str], T],
        calls: list[JudgeCall],
    ) -> tuple[T, ModelReply]:
        is_doubled = is_repaired = False
        while True:
            try:
                reply = await self._complete(prompt, request)
            except ProviderError as exc:
                if exc.may_be_billed:  # so the cost of judges is unknown
                    unknown = self._to_judge_call(
                        prompt, request, ModelReply(attempts=exc.attempts)
                    )
                    calls.append(replace(unknown, fingerprint=""))
                raise
            calls.append(self._to_judge_call(prompt, request, reply))
            if reply.stop == "refusal":
                category = f" ({reply.refusal_category})" if reply.refusal_category else ""
                raise JudgeError(f"{self.who} refused to answer{category}.")
            if reply.stop == "context":
                raise JudgeError(f"The conversation is too long for {self.model}.")
            if reply.stop == "length":
                if is_doubled:
                    limit = request.max_output_tokens
                    raise JudgeError(
                        f"{self.who}: its answer was cut off twice, at {limit:,} tokens."
                    )
                is_doubled = True
                request = replace(request, max_output_tokens=2 * request.max_output_tokens)
                continue
            if len(reply.text) > _MAX_REPLY_CHARS:
                raise JudgeError(
                    f"{self.who} answered with {len(reply.text):,} characters;"
                    f" at most {_MAX_REPLY_CHARS:,} are read."
                )
            try:
                return read(without_reasoning(reply.text).reply), reply
            except UnreadableAnswerError as exc:
                problem = cut_middle(str(exc), _MAX_PROBLEM_CHARS)  # it may name an endless key
                if self.is_scripted:
                    raise JudgeError(problem) from exc
                if is_repaired:
                    raise JudgeError(self._why_not_graded(exc)) from exc
                is_repaired = True
                messages = (*request.messages, *_repair(reply, problem))
                request = replace(request, messages=messages)

    def _why_not_graded(self, error: UnreadableAnswerError) -> str:
        """Explain a second answer that cannot be used; of a plug-in, its author has to change it."""
        plugin = judge_plugins().plugins.get(self.model.name)
        if self.model.provider != PLUGIN or plugin is None:
            return error.twice
        return (
            f"{judge_and_package(plugin)} twice gave an answer that cannot be used, so the agent is not"
            f" graded. {error}"
        )

    def _question(self, prompt: PromptText) -> str:
        return prompt.script if self.is_scripted and prompt.script else prompt.user

    async def _complete(self, prompt: PromptText, request: ModelCall) -> ModelReply:
        if self.answers is not None and not self.is_scripted:
            known = self.answers.take(_fingerprint(prompt, request))
            if known is not None:
                return known
        if self.sharing is None or self.is_scripted or not prompt.shared:
            return await self.complete(request)
        return await self.sharing.complete(request, shared=prompt.shared, complete=self.complete)

    def _to_judge_call(
        self, prompt: PromptText, request: ModelCall, reply: ModelReply
    ) -> JudgeCall:
        """Return a record of a call, for people who ask why."""
        repairs = [m.text for m in request.messages[1:] if isinstance(m, UserMessage)]
        text = "\n\n".join([prompt.system, self._question(prompt), *repairs])
        token = score_token(reply.text, reply.logprobs)
        is_cut = len(reply.text) > _MAX_REPLY_CHARS
        return JudgeCall(
            purpose=request.purpose,
            provider=request.provider,
            asked_model=request.model,
            model=reply.model or str(self.model),
            prompt=text,
            prompt_version=prompt.version,
            prompt_hash=prompt.fingerprint(text),
            reply=reply.text[:_MAX_REPLY_CHARS],
            stop=reply.stop,
            refusal_category=reply.refusal_category,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            latency_ms=reply.latency_ms,
            waited_ms=reply.waited_ms,
            first_token_ms=reply.first_token_ms,
            attempts=reply.attempts,
            request_id=reply.request_id,
            sent=dict(reply.sent),
            dropped=reply.dropped,
            is_replayed=reply.is_replayed,
            is_reused=reply.is_reused,
            fingerprint="" if is_cut else _fingerprint(prompt, request),
            logprobs=(asdict(token),) if token else (),
            is_scripted=self.is_scripted,
        )


def _unread(files: Sequence[FileContent], error: BadRequestError) -> JudgeError:
    """Explain that a request with files was refused: perhaps the model reads none of their kind."""
    names = join_list([file.name for file in files])
    return JudgeError(
        f"The judge was sent {names}, which the user showed, and its API refused the request. Choose"
        f" a judge model that reads such files. {error}",
        calls=error.calls,
    )


def _fingerprint(prompt: PromptText, request: ModelCall) -> str:
    """Return a digest of all that an answer depends on, but for the nonce.

    After a repair the judge's own first answer is left out: it follows from the rest.
    """
    asked = tuple(message for message in request.messages if isinstance(message, UserMessage))
    return prompt.fingerprint(replace(request, messages=asked).as_json())


def _repair(reply: ModelReply, problem: str) -> tuple[ChatMessage, ...]:
    """Show the judge its answer and what is wrong with it."""
    answer: tuple[ChatMessage, ...] = ()
    if reply.native_turn is not None:
        answer = (reply.native_turn,)
    elif reply.text.strip():
        answer = (AssistantMessage(reply.text),)  # APIs refuse an empty one
    advice = (
        f"That answer cannot be used: {problem} Answer again with one JSON object of the form"
        " that was asked for, and nothing around it."
    )
    return (*answer, UserMessage(advice))
