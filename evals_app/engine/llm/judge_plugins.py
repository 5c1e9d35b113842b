"""Judges of plug-ins: functions that answer the questions of checks in place of a model.

A package offers one by the entry point `evalwell.judges`; suites, checks and sites name it as
`plugin/NAME`. docs/plugins.md has an example.
"""

import asyncio
import inspect
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, Literal

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.basics.plugins import Plugin, PluginsFound, find_plugins
from evals_app.engine.llm.call import (
    AssistantMessage,
    FileContent,
    ModelCall,
    ModelReply,
    NativeTurn,
    ToolResults,
    UserMessage,
)
from evals_app.engine.record.usage import Usage
from fixtures_app.ground.quoting import cut_middle
from fixtures_app.ground.words import near

PLUGIN = "plugin"  # in place of a provider
_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_MAX_TEXT = 500  # characters of an error
_AT_ONCE = 32  # calls of functions that are not async, in one process
_MAX_USD = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    r"""One question of a check, as a model would be asked it.

    `system` has the rules of judging. `messages` is the question; if an answer could not be read, also
    that answer and what is wrong with it, each with who wrote it. `schema` is the JSON Schema that
    the answer must meet. `purpose` says what is asked: `judge` is a verdict on criteria. `files` are
    images and PDFs that the user showed. After `timeout_s` seconds nothing waits for the answer.

    >>> request = JudgeRequest(
    ...     system="You check the work of an AI agent.",
    ...     messages=(("user", "<SUBMISSION-0a1b>\nHello!\n</SUBMISSION-0a1b>"),),
    ...     schema={"type": "object", "properties": {"verdict": {}}},
    ... )
    >>> request.block("SUBMISSION")
    'Hello!'
    >>> request.block("CRITERIA")
    ''
    >>> request.wants_score
    False
    """

    system: str
    messages: tuple[tuple[Literal["user", "assistant"], str], ...]
    schema: Mapping[str, Any] = field(default_factory=dict)
    purpose: str = "judge"
    files: tuple[FileContent, ...] = ()
    max_output_tokens: int = 4096
    timeout_s: float = 120.0

    @property
    def question(self) -> str:
        """The question without what followed."""
        return self.messages[0][1]

    @property
    def wants_score(self) -> bool:
        """Whether the answer has a score, and not only a verdict."""
        return "score" in self.schema.get("properties", {})

    def block(self, name: str) -> str:
        """Return what is in a block of the question; empty if it has none of this name.

        Among them are CRITERIA, SUBMISSION (what is checked), TRANSCRIPT (what came before it) and
        REFERENCE (the expected answer).
        """
        found = re.search(
            rf"^<{re.escape(name)}-(\w+)>\n(.*?)\n</{re.escape(name)}-\1>$",
            self.question,
            re.DOTALL | re.MULTILINE,
        )
        return found[2] if found else ""


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """The answer of a judge, as text that has one JSON object of the schema.

    `cost_usd` is in US dollars and counts as spent by the run; None is unknown, not 0. `model` is what
    answered, if that is known.
    """

    text: str
    cost_usd: Decimal | float | None = None
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    model: str = ""


JudgeAnswerText = str | Mapping[str, Any] | JudgeReply

# What a package offers. It may be async; one that is not runs in a thread. Whatever it raises, or an
# answer that cannot be read twice, leaves the check without a grade.
JudgePlugin = Callable[[JudgeRequest], JudgeAnswerText | Awaitable[JudgeAnswerText]]


def single_verdict(
    request: JudgeRequest,
    *,
    requirement: str,
    is_met: bool,
    critique: str,
    quote: str = "",
    score: float | None = None,
) -> dict[str, Any]:
    """Return an answer to a question with the purpose `judge`, for a judge that finds one thing.

    `quote` is a passage of the conversation, letter by letter, that shows what was found: what is met
    needs one. `score` is on the scale of the question, where it `wants_score`: 1 to 5, or 0 to 10.

    >>> request = JudgeRequest(system="", messages=(("user", ""),))
    >>> answer = single_verdict(
    ...     request, requirement="It greets.", is_met=True, critique="It does.", quote="Hello!"
    ... )
    >>> answer["verdict"], answer["requirements"][0]["met"]
    ('pass', 'yes')
    """
    found = {
        "requirement": requirement,
        "absent": not quote,
        "quote": quote,
        "where": "",
        "met": "yes" if is_met else "no",
    }
    answer: dict[str, Any] = {
        "requirements": [found],
        "critique": critique,
        "injection_suspected": False,
    }
    if request.wants_score:
        return {**answer, "verdict": "graded", "score": score}
    return {**answer, "verdict": "pass" if is_met else "fail"}


@cache
def judge_plugins() -> PluginsFound:
    """Return the judges that packages offer, loaded when the first is looked up."""
    return find_plugins("judges", problem_of=_problem)


def _problem(name: str, value: Any) -> str | None:
    """Explain why something cannot be a judge; None if it can."""
    if _NAME.fullmatch(name) is None:
        return "Names are like house-judge: lower-case letters, digits and single hyphens."
    if isinstance(value, type) or not callable(value):
        return f"It is {value!r:.200}; expected a function that takes a JudgeRequest."
    try:
        inspect.signature(value).bind(None)
    except TypeError:
        return "It must accept one argument, the JudgeRequest."
    except ValueError:  # without a signature
        return None
    return None


def judge_problem(name: str) -> str | None:
    """Explain why no plug-in of this name can judge; None if one can."""
    found = judge_plugins()
    if name in found.plugins:
        return None
    known = ", ".join(found.plugins) or "none"
    missing = f"no installed package offers the judge {name!r}.{near(name, found.plugins)} Known: {known}."
    return found.problems.get(name, missing)


async def ask_plugin(call: ModelCall) -> ModelReply:
    """Ask the judge of a plug-in.

    Raises:
        JudgeError: it is not installed, it raised, took too long or returned something else.
    """
    plugin = judge_plugins().plugins.get(call.model)
    if plugin is None:
        raise JudgeError(
            f"The judge {PLUGIN}/{call.model} cannot be used: {judge_problem(call.model)}"
        )
    began = time.monotonic()
    reply = _reply_of(plugin, await _answer(plugin, call))
    return _model_reply(plugin, reply, latency_ms=(time.monotonic() - began) * 1000)


async def _answer(plugin: Plugin, call: ModelCall) -> object:
    request = _request(call)
    try:
        async with asyncio.timeout(call.timeout_s) as limit:
            if _is_async(plugin.value):
                return await plugin.value(request)
            return await asyncio.get_running_loop().run_in_executor(
                _threads(), plugin.value, request
            )
    except (Exception, SystemExit) as exc:
        if isinstance(exc, TimeoutError) and limit.expired():
            problem = f"took longer than {call.timeout_s:g} s"
        else:
            problem = f"raised {type(exc).__name__}: {cut_middle(str(exc), _MAX_TEXT)}"
        raise JudgeError(f"{judge_and_package(plugin)} {problem.rstrip('.')}.") from exc


@cache
def _threads() -> ThreadPoolExecutor:
    # Its own: judges that hang must not take the threads that everything else needs.
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="judge-plugin")


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object that is called
    )


def _request(call: ModelCall) -> JudgeRequest:
    messages: list[tuple[Literal["user", "assistant"], str]] = []
    for message in call.messages:
        match message:
            case UserMessage(text):
                messages.append(("user", text))
            case AssistantMessage(text):
                messages.append(("assistant", text))
            case NativeTurn() | ToolResults():  # models alone have these
                continue
    return JudgeRequest(
        system=call.system,
        messages=tuple(messages),
        schema=call.schema or {},
        purpose=call.purpose,
        files=call.files,
        max_output_tokens=call.max_output_tokens,
        timeout_s=call.timeout_s,
    )


def _reply_of(plugin: Plugin, answer: object) -> JudgeReply:
    if isinstance(answer, JudgeReply) and isinstance(answer.text, str):
        return answer
    if isinstance(answer, str):
        return JudgeReply(answer)
    if isinstance(answer, Mapping):
        try:
            return JudgeReply(json.dumps(dict(answer), ensure_ascii=False, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as exc:
            raise JudgeError(
                f"{judge_and_package(plugin)} returned a mapping that is not JSON: {exc}"
            ) from exc
    raise JudgeError(
        f"{judge_and_package(plugin)} returned {answer!r:.100}; expected a text, a mapping or a JudgeReply."
    )


def _model_reply(plugin: Plugin, reply: JudgeReply, *, latency_ms: float) -> ModelReply:
    return ModelReply(
        text=reply.text,
        usage=Usage(_count(reply.prompt_tokens), _count(reply.response_tokens)),
        cost_usd=_cost(plugin, reply.cost_usd),
        latency_ms=latency_ms,
        model=str(reply.model or f"{PLUGIN}/{plugin.name}")[:200],
    )


def _count(tokens: object) -> int | None:
    return tokens if isinstance(tokens, int) and tokens >= 0 else None


def _cost(plugin: Plugin, cost: object) -> Decimal | None:
    """Return a cost in US dollars.

    Raises:
        JudgeError: it is not one.
    """
    if cost is None:
        return None
    try:
        usd = Decimal(str(cost))
    except InvalidOperation:
        usd = Decimal(-1)
    if not 0 <= usd <= _MAX_USD:
        raise JudgeError(
            f"{judge_and_package(plugin)} returned the cost {cost!r:.50}; expected US dollars, from 0 on."
        )
    return usd


def judge_and_package(plugin: Plugin) -> str:
    """Return who judges, to begin a sentence with."""
    return f"The judge {PLUGIN}/{plugin.name} of the package {plugin.package}"
