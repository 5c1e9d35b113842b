"""What a conversation will take, guessed from the text of its case.

Tokens are counted as bytes / 4. What nobody has written yet is taken to be of usual size.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from evals_app.engine.agents.scripted import matching_rule
from evals_app.engine.judging.prompt import system_text
from evals_app.engine.spec import AgentSpec, ModelSpec
from evals_app.engine.suite import AssertionSpec, CaseSpec, SuiteSpec
from evals_app.engine.trial import Tool

BYTES_PER_TOKEN = (
    4  # bytes, not characters: scripts with longer characters make more tokens of them
)
REPLY_TOKENS = 250
TOOL_ROUNDS = 1  # in a turn, of an agent that has tools
TOOL_REQUEST_TOKENS = 80
TOOL_RESULT_TOKENS = 300
VERDICT_TOKENS = 250
CALL_S = 1.0  # until a model begins to answer
TOKENS_PER_S = 60.0


class Effort(NamedTuple):
    """What conversations take; calls are those of models, and means have fractions."""

    agent_calls: float = 0.0
    agent_prompt_tokens: float = 0.0
    agent_response_tokens: float = 0.0
    judge_calls: float = 0.0
    judge_prompt_tokens: float = 0.0
    judge_response_tokens: float = 0.0
    time_s: float = 0.0

    def scaled(self, factor: float) -> "Effort":
        return Effort(*(each * factor for each in self))


def total_effort(efforts: Sequence[Effort]) -> Effort:
    """Add up."""
    return Effort(*map(sum, zip(*efforts, strict=True))) if efforts else Effort()


class Guess(NamedTuple):
    """What a conversation takes, and the models that its judged checks ask, one for each question."""

    effort: Effort
    judges: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Guesser:
    """What the conversations of a run share.

    `tools` are the agent's. `judge` judges where a check names no model of its own; `scripted` are
    the agents that `scripted/<slug>` judges follow.
    """

    suite: SuiteSpec
    agent: AgentSpec
    tools: Sequence[Tool] = ()
    judge: ModelSpec | None = None
    scripted: Mapping[str, AgentSpec] = field(default_factory=dict)

    def guess(self, case: CaseSpec) -> Guess:
        """Guess what a conversation takes.

        Each call sends the system prompt, the tools and everything said so far. A judged check asks
        once, about everything said up to its turn; a script is no model, and takes its delays.
        """
        said = sum(_tokens(message.content) for message in case.history)
        said_up_to = []
        efforts = []
        for number, turn in enumerate(case.turns, 1):
            said += _tokens(turn.user)
            if self.agent.driver == "scripted":
                rule = matching_rule(self.agent.rules, turn.user, turn=number)
                said += _tokens(rule.reply or "") if rule else 0
                delay_s = rule.delay_ms / 1000 if rule else 0.0
                efforts.append(Effort(time_s=min(delay_s, case.turn_timeout_s)))
            else:
                effort, said = self._answered(said)
                efforts.append(effort)
            said_up_to.append(said)
        questions = self._questions(case)
        efforts.append(self._judged(questions, case, said_up_to))
        judges = tuple(str(model) for _, _, model in questions if not _is_script(model))
        return Guess(total_effort(efforts), judges)

    def _answered(self, said: int) -> tuple[Effort, int]:
        """Guess a turn of a model, and how much has been said after it."""
        replies = [TOOL_REQUEST_TOKENS] * (TOOL_ROUNDS if self.tools else 0)
        replies.append(min(REPLY_TOKENS, self._most_tokens))
        prompt = 0
        for number, reply in enumerate(replies, 1):
            prompt += self._base_tokens + said
            said += reply + (TOOL_RESULT_TOKENS if number < len(replies) else 0)
        effort = Effort(
            agent_calls=len(replies),
            agent_prompt_tokens=prompt,
            agent_response_tokens=sum(replies),
            time_s=len(replies) * CALL_S + sum(replies) / TOKENS_PER_S,
        )
        return effort, said

    def _judged(
        self,
        questions: "Sequence[tuple[int | None, AssertionSpec, ModelSpec]]",
        case: CaseSpec,
        said_up_to: Sequence[int],
    ) -> Effort:
        """Guess all judging; it is done side by side, so the slowest question is its time."""
        calls = prompt = 0
        times_s = [0.0]
        for turn, assertion, model in questions:
            if _is_script(model):
                rules = self.scripted[model.name].rules
                times_s += [rule.delay_ms / 1000 for rule in rules]
                continue
            calls += 1
            prompt += self._judge_base_tokens + _tokens(assertion.grader.model_dump_json())
            if turn is None:
                prompt += said_up_to[-1]
            else:
                prompt += said_up_to[turn] + _tokens(case.turns[turn].expected or "")
            times_s.append(CALL_S + VERDICT_TOKENS / TOKENS_PER_S)
        return Effort(
            judge_calls=calls,
            judge_prompt_tokens=prompt,
            judge_response_tokens=calls * VERDICT_TOKENS,
            time_s=max(times_s),
        )

    def _questions(self, case: CaseSpec) -> list[tuple[int | None, AssertionSpec, ModelSpec]]:
        """Give the judged checks: the turn (from 0; None: the end), the check, the model asked."""
        placed: list[tuple[int | None, AssertionSpec]] = [
            (number, assertion)
            for number, turn in enumerate(case.turns)
            for assertion in self.suite.assertions_for(turn)
            if not (assertion.lacks_expected and turn.expected is None)
        ]
        placed += [(None, each) for each in case.final_assertions if each.enabled]
        asked = [
            (turn, each, self.agent.model if each.model == "agent" else each.model or self.judge)
            for turn, each in placed
            if each.grader.family == "judged"
        ]
        return [(turn, each, model) for turn, each, model in asked if model is not None]

    @property
    def _most_tokens(self) -> int:
        model = self.agent.model
        return (model and model.max_tokens) or self.agent.settings.max_output_tokens

    @cached_property
    def _base_tokens(self) -> int:
        tools = (
            tool.name + tool.description + json.dumps(dict(tool.parameters)) for tool in self.tools
        )
        return _tokens(self.agent.system_prompt + "".join(tools))

    @cached_property
    def _judge_base_tokens(self) -> int:
        rules = system_text("1-5", self.suite.judge_prompt)
        return _tokens(rules + self.suite.judge_context + self.agent.system_prompt)


def _is_script(model: ModelSpec) -> bool:
    return model.provider == "scripted"


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
