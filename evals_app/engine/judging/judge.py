"""A judge that asks a model."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from evals_app.engine.errors import JudgeError
from evals_app.engine.judging.evidence import check_quotes
from evals_app.engine.judging.injection import talks_to_grader
from evals_app.engine.judging.prompt import JudgePrompt, build_prompt
from evals_app.engine.judging.verdict import (
    Verdict,
    VerdictError,
    read_scripted,
    read_verdict,
    verdict_schema,
)
from evals_app.engine.llm.call import (
    AssistantMessage,
    ChatMessage,
    Effort,
    ModelCall,
    ModelReply,
    UserMessage,
)
from evals_app.engine.spec import ModelSpec
from evals_app.engine.trial import Evidence, JudgeAnswer, JudgeCall, JudgeQuestion, View

_MAX_OUTPUT_TOKENS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJudge:
    """Answer questions by asking a model; the same inputs give the same prompt.

    `judge_context` has its variables filled in. `secret` is the run's; nothing that an agent says
    can contain what is derived from it. The reply of a scripted judge may be short (`pass`, `4`),
    and everything it says is labelled as scripted.

    Raises, when called:
        JudgeError: refused, off the schema twice, cut off twice, or `cannot_grade`.
        ProviderError: the model API did not serve the call.
    """

    ask: Callable[[ModelCall], Awaitable[ModelReply]]
    model: ModelSpec
    secret: bytes
    judge_prompt: str = ""
    judge_context: str = ""
    is_scripted: bool = False
    effort: Effort | None = None
    timeout_s: float = 120.0
    patience_s: float = 600.0

    async def __call__(self, question: JudgeQuestion) -> JudgeAnswer:
        prompt = build_prompt(
            question,
            secret=self.secret,
            judge_prompt=self.judge_prompt,
            judge_context=self.judge_context,
        )
        calls: list[JudgeCall] = []
        try:
            verdict = await self._verdict(question, prompt, calls)
        except JudgeError as exc:
            raise JudgeError(str(exc), calls=(*calls, *exc.calls)) from exc
        if verdict.raw is None or verdict.score is None:
            raise JudgeError(f"The judge cannot grade this: {verdict.critique}", calls=tuple(calls))
        evidence = check_quotes(verdict.quotes, prompt.pieces)
        return JudgeAnswer(
            raw=verdict.raw,
            score=verdict.score,
            critique=verdict.critique,
            evidence=evidence,
            flags=tuple(self._flags(question.view, verdict, evidence)),
            calls=tuple(calls),
        )

    async def _verdict(
        self, question: JudgeQuestion, prompt: JudgePrompt, calls: list[JudgeCall]
    ) -> Verdict:
        """Ask until there is a verdict: once more if it was cut off, once more to repair it."""
        read = read_scripted if self.is_scripted else read_verdict
        request = self._request(question, prompt)
        is_doubled = is_repaired = False
        while True:
            reply = await self.ask(request)
            calls.append(self._kept(prompt, request, reply))
            if reply.stop == "refusal":
                category = f" ({reply.refusal_category})" if reply.refusal_category else ""
                raise JudgeError(f"The judge refused to answer{category}.")
            if reply.stop == "context":
                raise JudgeError("The conversation is too long for the judge model.")
            if reply.stop == "length":
                if is_doubled:
                    limit = request.max_output_tokens
                    raise JudgeError(f"The judge's answer was cut off twice, at {limit:,} tokens.")
                is_doubled = True
                request = replace(request, max_output_tokens=2 * request.max_output_tokens)
                continue
            try:
                return read(reply.text, question.scale)
            except VerdictError as exc:
                # A scripted judge would say the same again.
                if is_repaired or self.is_scripted:
                    raise JudgeError(f"The judge gave no usable verdict: {exc}") from exc
                is_repaired = True
                messages = (*request.messages, *_repair(reply, exc))
                request = replace(request, messages=messages)

    def _request(self, question: JudgeQuestion, prompt: JudgePrompt) -> ModelCall:
        return ModelCall(
            provider=self.model.provider,
            model=self.model.name,
            purpose="judge",
            system=prompt.system,
            messages=(UserMessage(prompt.user),),
            schema=verdict_schema(question.scale),
            max_output_tokens=self.model.max_tokens or _MAX_OUTPUT_TOKENS,
            timeout_s=self.timeout_s,
            patience_s=self.patience_s,
            temperature=self.model.temperature,
            top_p=self.model.top_p,
            effort=self.effort,
        )

    def _kept(self, prompt: JudgePrompt, request: ModelCall, reply: ModelReply) -> JudgeCall:
        """Keep a call for people who ask why."""
        repairs = [m.text for m in request.messages[1:] if isinstance(m, UserMessage)]
        text = "\n\n".join([prompt.text, *repairs])
        return JudgeCall(
            purpose=request.purpose,
            model=reply.model or str(self.model),
            prompt=text,
            reply=reply.text,
            prompt_hash=prompt.fingerprint(text),
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            latency_ms=reply.latency_ms,
            attempts=reply.attempts,
            dropped=reply.dropped,
            is_scripted=self.is_scripted,
        )

    def _flags(self, view: View, verdict: Verdict, evidence: tuple[Evidence, ...]) -> list[str]:
        """Name what a person should look at; the score stays as it is."""
        graded = view.reply if view.turn else "\n".join(turn.reply for turn in view.turns)
        flags = []
        if verdict.injection_suspected or talks_to_grader(graded):
            flags.append("injection")
        # A script quotes nothing, and there is nothing to quote from an empty answer.
        expects_quotes = bool(evidence) or not (self.is_scripted or not graded.strip())
        if expects_quotes and not any(each.is_verified for each in evidence):
            flags.append("unverified")
        if self.is_scripted:
            flags.append("scripted")
        return flags


def _repair(reply: ModelReply, problem: VerdictError) -> tuple[ChatMessage, ...]:
    """Show the judge its answer and what is wrong with it."""
    said: tuple[ChatMessage, ...] = ()
    if reply.native_turn is not None:
        said = (reply.native_turn,)
    elif reply.text.strip():
        said = (AssistantMessage(reply.text),)  # APIs refuse an empty one
    advice = (
        f"That answer cannot be read: {problem} Answer again with one JSON object of the form"
        " that was asked for, and nothing around it."
    )
    return (*said, UserMessage(advice))
