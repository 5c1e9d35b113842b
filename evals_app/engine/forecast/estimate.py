"""Estimate what a conversation will take from the text of its case.

Tokens are counted as bytes / 4. Texts that do not exist yet count with a typical size.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from evals_app.engine.agents.scripted import matching_rule
from evals_app.engine.graders import Grader
from evals_app.engine.graders.judged import Rubric
from evals_app.engine.graders.similarity import SemanticSimilarity
from evals_app.engine.judging.prompts.prompt import system_text, task_text
from evals_app.engine.record.aids import ITEMS_A_CALL
from evals_app.engine.record.world import Tool
from evals_app.engine.specs.agent_spec import AgentSpec, ModelAgent, ScriptedAgent
from evals_app.engine.specs.base_spec import ModelSpec
from evals_app.engine.suites.suite_spec import AssertionSpec, CaseSpec, PlacedCheck, SuiteSpec
from evals_app.engine.verdicts.similarity import SimilaritySpec

BYTES_PER_TOKEN = 4  # bytes, not characters: scripts with longer characters need more tokens
REPLY_TOKENS = 250
TOOL_ROUNDS = 1  # per turn of an agent that has tools
TOOL_REQUEST_TOKENS = 80
TOOL_RESULT_TOKENS = 300
VERDICT_TOKENS = 250
TICK_TOKENS = 60  # for a bullet of a rubric
USER_TOKENS = 50  # of a message that a model writes for the user, and of what it says about one
USER_RULES_TOKENS = 500  # the instructions of that model
CALL_S = 1.0  # before a model begins to answer
TOKENS_PER_S = 60.0


class EstimatedEffort(NamedTuple):
    """What conversations take; calls are those of models, and means have fractions."""

    agent_calls: float = 0.0
    agent_prompt_tokens: float = 0.0
    agent_response_tokens: float = 0.0
    judge_calls: float = 0.0
    judge_prompt_tokens: float = 0.0
    judge_response_tokens: float = 0.0
    time_s: float = 0.0

    @property
    def agent(self) -> tuple[float, float, float]:
        """Calls of the agent's model, their prompt and their response tokens."""
        return self.agent_calls, self.agent_prompt_tokens, self.agent_response_tokens

    @property
    def judge(self) -> tuple[float, float, float]:
        """The same for judges."""
        return self.judge_calls, self.judge_prompt_tokens, self.judge_response_tokens

    def scale(self, factor: float) -> "EstimatedEffort":
        return EstimatedEffort(*(amount * factor for amount in self))


def total_effort(efforts: Sequence[EstimatedEffort]) -> EstimatedEffort:
    """Add up."""
    return EstimatedEffort(*map(sum, zip(*efforts, strict=True))) if efforts else EstimatedEffort()


class Guess(NamedTuple):
    """What a conversation takes, and the models that its judged checks ask, one for each call."""

    effort: EstimatedEffort
    judges: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Guesser:
    """What the conversations of a run share.

    `tools` are the agent's. `judge` is used where a check names no model of its own; `scripted` are
    the agents that `scripted/<slug>` judges follow. Of `similarity` only a judge counts:
    embeddings cost almost nothing. `asks_agent` is False where stored conversations are graded, and
    `is_free` returns whether a question to a judge was already answered.
    """

    suite: SuiteSpec
    agent: AgentSpec
    tools: Sequence[Tool] = ()
    judge: ModelSpec | None = None
    scripted: Mapping[str, ScriptedAgent] = field(default_factory=dict)
    similarity: SimilaritySpec | None = None
    asks_agent: bool = True
    is_free: Callable[[CaseSpec, PlacedCheck], bool] = lambda _case, _check: False

    def guess(self, case: CaseSpec) -> Guess:
        """Estimate what a conversation takes.

        Each call sends the system prompt, the tools and the conversation so far. A judged check makes
        as many calls as it needs, each with the conversation up to its turn; a script is not a
        model, it only takes its delays. A simulated user is taken to need all turns it may have.
        """
        own = 1 if case.replay else len(case.turns)
        case = _in_full(case)
        so_far = sum(_tokens(message.content) for message in case.history)
        tokens_up_to = []
        efforts = []
        for number, turn in enumerate(case.turns, 1):
            so_far += _tokens(turn.user)
            if isinstance(self.agent, ScriptedAgent):
                rule = matching_rule(self.agent.rules, turn.user, turn=number)
                so_far += _tokens(rule.reply or "") if rule else 0
                delay_s = rule.delay_ms / 1000 if rule else 0.0
                efforts.append(EstimatedEffort(time_s=min(delay_s, case.turn_timeout_s)))
            elif isinstance(self.agent, ModelAgent):
                effort, so_far = self._estimate_turn(self.agent, so_far)
                efforts.append(effort)
            else:
                # An external agent's own calls are not counted, but its time is.
                so_far += REPLY_TOKENS
                efforts.append(EstimatedEffort(time_s=CALL_S + REPLY_TOKENS / TOKENS_PER_S))
            tokens_up_to.append(so_far)
        if not self.asks_agent:
            efforts = []
        questions = self._questions(case)
        efforts.append(self._estimate_judging(questions, case, tokens_up_to))
        judges = tuple(str(model) for _, _, model in questions if not _is_script(model))
        if self.asks_agent and (model := case.user_model(self.judge)) and not _is_script(model):
            before = tokens_up_to[own - 1 : -1]  # each message that it writes, or reads
            efforts.append(_estimate_user(before))
            judges += (str(model),) * len(before)
        return Guess(total_effort(efforts), judges)

    @property
    def embedder(self) -> str:
        """The provider's model that compares texts; empty if none does."""
        by_model = self.similarity is not None and self.similarity.way == "embeddings"
        return str(self.similarity.model) if self.similarity and by_model else ""

    def _estimate_turn(self, agent: ModelAgent, so_far: int) -> tuple[EstimatedEffort, int]:
        """Estimate a turn of a model; return it with the tokens of the conversation after it."""
        replies = [TOOL_REQUEST_TOKENS] * (TOOL_ROUNDS if self.tools else 0)
        most_tokens = agent.model.max_tokens or agent.settings.max_output_tokens
        replies.append(min(REPLY_TOKENS, most_tokens))
        prompt = 0
        for number, reply in enumerate(replies, 1):
            prompt += self._base_tokens + so_far
            so_far += reply + (TOOL_RESULT_TOKENS if number < len(replies) else 0)
        effort = EstimatedEffort(
            agent_calls=len(replies),
            agent_prompt_tokens=prompt,
            agent_response_tokens=sum(replies),
            time_s=len(replies) * CALL_S + sum(replies) / TOKENS_PER_S,
        )
        return effort, so_far

    def _estimate_judging(
        self,
        questions: Sequence[tuple[int | None, AssertionSpec, ModelSpec]],
        case: CaseSpec,
        tokens_up_to: Sequence[int],
    ) -> EstimatedEffort:
        """Estimate all judging; it runs in parallel, so the slowest call is its time."""
        calls = prompt = response = 0
        times_s = [0.0]
        for turn, assertion, model in questions:
            if _is_script(model):
                rules = self.scripted[model.name].rules
                times_s += [rule.delay_ms / 1000 for rule in rules]
                continue
            calls += 1
            prompt += self._judge_base_tokens + _tokens(assertion.grader.model_dump_json())
            if turn is None:
                prompt += tokens_up_to[-1]
            else:
                prompt += tokens_up_to[turn] + _tokens(case.turns[turn].expected or "")
            answer = _answer_tokens(assertion.grader)
            response += answer
            times_s.append(CALL_S + answer / TOKENS_PER_S)
        return EstimatedEffort(
            judge_calls=calls,
            judge_prompt_tokens=prompt,
            judge_response_tokens=response,
            time_s=max(times_s),
        )

    def _questions(self, case: CaseSpec) -> list[tuple[int | None, AssertionSpec, ModelSpec]]:
        """Return the calls of judges: the turn (from 0; None at the end), the check, the model."""
        return [
            (placed.number and placed.number - 1, placed.check, model)
            for placed in self.suite.placed_checks(case)
            if placed.applies and not self.is_free(case, placed)
            for model in self._models_of(placed.check)
        ]

    def _models_of(self, assertion: AssertionSpec) -> Sequence[ModelSpec]:
        """Return the model of each call of a check."""
        grader = assertion.grader
        if isinstance(grader, SemanticSimilarity):
            judge = self.similarity.judge if self.similarity else None
            return [] if judge is None or grader.embedder else [judge]
        if grader.family != "judged":
            return []
        judges = assertion.judges(agent=self.agent.asked_model, judge=self.judge)
        return [model for model in judges for _ in range(grader.asks() // len(judges))]

    @cached_property
    def _base_tokens(self) -> int:
        tools = (
            tool.name + tool.description + json.dumps(dict(tool.parameters)) for tool in self.tools
        )
        return _tokens(self.agent.sent_prompt + "".join(tools))

    @cached_property
    def _judge_base_tokens(self) -> int:
        rules = system_text(self.suite.judge_prompt) + task_text("1-5")
        return _tokens(rules + self.suite.judge_context + self.agent.sent_prompt)


def _in_full(case: CaseSpec) -> CaseSpec:
    """Return a case with all turns that its simulated user may have."""
    user = case.simulated_user
    if user is None:
        return case
    more = ["x" * USER_TOKENS * BYTES_PER_TOKEN] * (user.max_turns - len(case.turns))
    return case.as_played([*(turn.user for turn in case.turns), *more])


def _estimate_user(before: Sequence[int]) -> EstimatedEffort:
    """Estimate the calls of the model that plays the user; `before` has the tokens that each reads."""
    calls = len(before)
    return EstimatedEffort(
        judge_calls=calls,
        judge_prompt_tokens=sum(before) + calls * USER_RULES_TOKENS,
        judge_response_tokens=calls * USER_TOKENS,
        time_s=calls * (CALL_S + USER_TOKENS / TOKENS_PER_S),
    )


def _answer_tokens(grader: Grader) -> int:
    """Estimate one answer of a judge."""
    bullets = len(grader.checklist.items) if isinstance(grader, Rubric) else 0
    return TICK_TOKENS * min(bullets, ITEMS_A_CALL) or VERDICT_TOKENS


def _is_script(model: ModelSpec) -> bool:
    return model.provider == "scripted"


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
