"""What a person writes about one conversation: its turns, checks and limits."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, FiniteFloat, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from evals_app.engine.basics.matchers import json_problem
from evals_app.engine.basics.permits import refuse_if
from evals_app.engine.basics.template import placeholders
from evals_app.engine.graders.kit.base import Need
from evals_app.engine.specs.base_spec import (
    MAX_INTEGER,
    MILLISECONDS,
    SECONDS,
    SHARE,
    ModelSpec,
    Name,
    Prose,
    Spec,
    Usd,
)
from evals_app.engine.specs.files import MAX_FILE_BYTES, MAX_FILES, FileSpec, distinct
from evals_app.engine.suites.assertion_spec import AssertionSpec, Loc
from evals_app.engine.suites.user_spec import MIN_TRIALS, NO_END, SimulatedUserSpec
from fixtures_app.ground.spec_errors import error_at


def _iso_time(value: str) -> str:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("Write the time like this: 2026-05-01T09:30:00+00:00.") from None
    return value


class LimitsSpec(Spec):
    """Hard limits of a case. All are inclusive; a limit that is not set is not checked."""

    max_prompt_tokens: int | None = Field(
        default=None,
        title="Max prompt tokens",
        description="Of all turns together.",
        ge=0,
        le=MAX_INTEGER,
    )
    max_response_tokens: int | None = Field(
        default=None,
        title="Max response tokens",
        description="Of all turns together.",
        ge=0,
        le=MAX_INTEGER,
    )
    max_time_ms: int | None = Field(
        default=None,
        title="Max time (ms)",
        description="The agent's own time, all turns together.",
        json_schema_extra=MILLISECONDS,
        ge=0,
        le=MAX_INTEGER,
    )
    max_cost_usd: Usd | None = Field(
        default=None,
        title="Max cost (USD)",
        description="Of the agent's model calls, all turns together.",
    )
    max_tool_calls: int | None = Field(
        default=None,
        title="Max tool calls",
        description="Of all turns together.",
        ge=0,
        le=MAX_INTEGER,
    )


MAX_PASSAGES = 200
TURN_TIMEOUT_S = 60.0  # of a turn, by default
Passage = Annotated[str, Field(min_length=1, max_length=200_000)]


class HistoryMessage(Spec):
    """A message that precedes the first turn."""

    role: Literal["user", "assistant"] = Field(description="Who wrote it.")
    content: str = Field(description="Its text.", min_length=1)


class TurnSpec(Spec):
    r"""One user message, the expected answer, and checks.

    Without `assertions` a turn has the suite's checks, with an empty list none. A list replaces the
    suite's checks, or is added to them if `inherit` is true.

    Messages have no variables. `{{name}}` in one counts as a forgotten variable, and no run starts;
    `\{{name}}` sends the braces as they are, here, in `history` and in prompts.
    """

    user: Prose = Field(title="User message", description="What the user writes.")
    expected: str | None = Field(
        default=None,
        title="Expected answer",
        description="The agent never sees it; checks and judges compare the reply with it.",
    )
    files: Annotated[list[FileSpec], AfterValidator(distinct), Field(max_length=MAX_FILES)] = Field(
        default_factory=list,
        title="Files",
        description="Files that the user sends with the message: pictures, PDFs, texts, tables, office"
        f" documents. Up to {MAX_FILES} files of {MAX_FILE_BYTES // 1_000_000} MB.",
    )
    context: list[Passage] = Field(
        default_factory=list,
        title="Facts for judges",
        description="What judges may rely on in this turn. The agent never sees it.",
        max_length=MAX_PASSAGES,
    )
    retrieval_context: list[Passage] | None = Field(
        default=None,
        title="Retrieved passages the reply should be based on",
        description="Best first. By default, what the agent's tools found.",
        max_length=MAX_PASSAGES,
    )
    config: Annotated[dict[str, object], refuse_if(json_problem)] = Field(
        default_factory=dict,
        title="Extra data for code checks",
        description="Any JSON object that your own checks by code need.",
    )
    inherit: bool = Field(default=False, description="Adds the turn's own checks to the suite's.")
    assertions: list[AssertionSpec] | None = Field(
        default=None, description="Checks after this turn. By default the suite's; `[]` for none."
    )

    @property
    def gives(self) -> frozenset[Need]:
        """What it has of the things that some checks need."""
        has: dict[Need, bool] = {
            "expected": self.expected is not None,
            "context": bool(self.context),
        }
        return frozenset(need for need, is_there in has.items() if is_there)

    @model_validator(mode="after")
    def _inherits_with_its_own(self) -> Self:
        if self.inherit and not self.assertions:
            raise ValueError(
                "inherit adds a turn's own assertions to the suite's, but this turn has none of its own."
            )
        return self


class CaseSpec(Spec):
    """One conversation, with its limits, channel and context parameters."""

    name: Name = Field(
        title="Name", description="Unique in the suite. By default row-0001 and so on."
    )
    description: str = Field(default="", title="Description", description="For people only.")
    tags: list[Name] = Field(
        default_factory=list,
        title="Tags",
        description="A run can be limited to one of them.",
        json_schema_extra={"names": "tag"},
    )
    enabled: bool = Field(
        default=True,
        title="Enabled",
        description="Runs leave a disabled case out, and say how many they left out.",
    )
    channel: Name | None = Field(
        default=None,
        title="Channel",
        description="{{threadContext.channel}} in prompts, for example widget, whatsapp or api.",
    )
    context_params: dict[str, str | int | FiniteFloat | bool | None] = Field(
        default_factory=dict,
        title="Context parameters",
        description="Values of {{threadContext.params.NAME}} in prompts.",
    )
    clock: Annotated[str, Field(max_length=40), AfterValidator(_iso_time)] | None = Field(
        default=None,
        title="Clock",
        description="Fixes {{datetime}} and the time in test data, for example"
        " 2026-05-01T09:30:00+00:00. Your own agents receive it.",
    )
    limits: LimitsSpec = Field(
        default=LimitsSpec(), title="Limits", description="Hard limits, all optional."
    )
    turn_timeout_s: float = Field(
        default=TURN_TIMEOUT_S,
        title="Reply timeout (s)",
        json_schema_extra=SECONDS,
        description="Time the agent has for one turn; a turn that takes longer fails. A model API"
        " that has sent nothing for 30 s or more is not the agent's failure: it is asked again.",
        gt=0,
        le=1500,
    )
    streaming: bool = Field(
        default=False,
        title="Streaming",
        description="Streams the reply and measures the time to the first token.",
    )
    trials: int | None = Field(
        default=None,
        title="Trials",
        description="How often the case runs. By default, the suite's number.",
        ge=1,
        le=100,
    )
    pass_threshold: float | None = Field(
        default=None,
        title="Score to reach",
        description="Where the score decides. By default, the suite's.",
        json_schema_extra=SHARE,
        gt=0,
        le=1,
    )
    history: list[HistoryMessage] = Field(
        default_factory=list,
        title="Earlier messages",
        description="Messages before the first turn. The agent sees them; nothing checks them.",
    )
    turns: list[TurnSpec] = Field(
        title="Turns", description="The conversation, in order.", min_length=1
    )
    replay: bool = Field(
        default=False,
        title="Stop when the user's words no longer fit",
        description="For the recorded words of a real user. Before each further message, a judge reads"
        " whether the user could still say it after the new reply; if not, the conversation ends there.",
        exclude_if=lambda value: not value,
    )
    simulated_user: SimulatedUserSpec | None = Field(
        default=None,
        title="Simulated user",
        description="A model plays the user after the case's own turns.",
        exclude_if=lambda value: value is None,
    )
    final_assertions: list[AssertionSpec] = Field(
        default_factory=list, description="Checks at the end, on the whole conversation."
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        errors = _out_of_turn(self.history) + self._broken_rules_of_users()
        for t, turn in enumerate(self.turns):
            errors += _lacking(turn.assertions or [], turn, ("turns", t, "assertions"))
        errors += _lacking(self.final_assertions, None, ("final_assertions",))
        if errors:
            raise ValidationError.from_exception_data("CaseSpec", errors)
        return self

    def _broken_rules_of_users(self) -> list[InitErrorDetails]:
        user, errors = self.simulated_user, []
        if user is None:
            return []
        if self.replay:
            problem = "A case replays the words of a real user or has a simulated one, not both."
            errors.append(error_at("two_users", problem, ("replay",), self.replay))
        if self.trials is not None and self.trials < MIN_TRIALS:
            problem = (
                f"A simulated user says something else each time, so the case needs at least"
                f" {MIN_TRIALS} trials. Leave the number out to take the suite's, or {MIN_TRIALS}."
            )
            errors.append(error_at("few_trials", problem, ("trials",), self.trials))
        if user.max_turns <= len(self.turns):
            problem = (
                f"The case has {len(self.turns)} turns of its own, so a simulated user would never"
                " say anything. Allow more turns."
            )
            loc = ("simulated_user", "max_turns")
            errors.append(error_at("no_turns_left", problem, loc, user.max_turns))
        if not self.goal_checks:
            errors.append(error_at("no_end", NO_END, ("final_assertions",), None))
        return errors

    @property
    def goal_checks(self) -> list[AssertionSpec]:
        """The checks that end a simulated conversation once all of them pass: code decides them."""
        return [check for check in self.final_assertions if check.ends_conversations]

    @property
    def user_needs_judge(self) -> bool:
        """Whether the judge of the run plays the user, or reads whether recorded words still fit."""
        if user := self.simulated_user:
            return user.model is None
        return self.replay and len(self.turns) > 1

    def user_model(self, judge: ModelSpec | None) -> ModelSpec | None:
        """Return the model that plays the user, or reads whether recorded words still fit."""
        own = self.simulated_user.model if self.simulated_user else None
        return judge if self.user_needs_judge else own

    def as_played(self, messages: Sequence[str]) -> "CaseSpec":
        """Return the case with the turns of a conversation: a simulated user added their own."""
        if self.simulated_user is None or len(messages) <= len(self.turns):
            return self
        said = [TurnSpec(user=message) for message in messages[len(self.turns) :]]
        return self.model_copy(update={"turns": [*self.turns, *said]})

    def placeholders(self) -> Iterator[tuple[Loc, str]]:
        """Return the variables left in its messages: where they are, and what to do about them."""
        for loc, message in self.messages():
            for placeholder in placeholders(message):
                shown = " ".join(placeholder.split())[:100]
                problem = (
                    f"In case {self.name!r} the agent would receive {shown} unchanged: messages have"
                    " no variables. Write out the text, or put a backslash before the braces (\\{{)"
                    " to send them as they are."
                )
                yield loc, problem

    def messages(self) -> Iterator[tuple[Loc, str]]:
        """Return all texts that the agent receives, each with its place."""
        for n, message in enumerate(self.history):
            yield ("history", n, "content"), message.content
        for n, turn in enumerate(self.turns):
            yield ("turns", n, "user"), turn.user

    def unreachable_time(self) -> str:
        """Warn of a time limit that ends no conversation, because the reply timeout comes first."""
        user, limit_ms = self.simulated_user, self.limits.max_time_ms
        turns = user.max_turns if user else len(self.turns)
        if limit_ms is None or limit_ms < self.turn_timeout_s * 1000 * turns:
            return ""
        each = "its turn" if turns == 1 else f"each of its {turns} turns"
        return (
            f"Case {self.name!r} cannot exceed its maximum time of {limit_ms / 1000:g} s, because"
            f" {each} ends after {self.turn_timeout_s:g} s (turn_timeout_s). Set a smaller limit."
        )

    def as_informational(self) -> "CaseSpec":
        """Return the same case; checks that cannot fail no longer decide anything."""
        turns = [
            turn.model_copy(
                update={"assertions": [check.as_informational() for check in turn.assertions]}
            )
            if turn.assertions
            else turn
            for turn in self.turns
        ]
        final = [check.as_informational() for check in self.final_assertions]
        return self.model_copy(update={"turns": turns, "final_assertions": final})

    def assertions(self) -> Iterator[AssertionSpec]:
        """Return all checks of its own."""
        for turn in self.turns:
            yield from turn.assertions or []
        yield from self.final_assertions


def _out_of_turn(history: list[HistoryMessage]) -> list[InitErrorDetails]:
    errors = []
    for m, message in enumerate(history):
        before = history[m - 1].role if m else "assistant"
        if message.role == before:
            problem = (
                f"User and assistant must alternate; this is the second message of {before} in a row."
                if m
                else "The first earlier message must be from the user."
            )
            loc = ("history", m, "role")
            errors.append(error_at("out_of_turn", problem, loc, message.role))
    return errors


def _lacking(
    assertions: list[AssertionSpec], turn: TurnSpec | None, where: Loc
) -> list[InitErrorDetails]:
    return [
        error_at(f"missing_{need}", _lack_of(assertion, need), (*where, a), assertion.type)
        for a, assertion in enumerate(assertions)
        if (need := assertion.lacks(turn))
    ]


def _lack_of(assertion: AssertionSpec, need: Need) -> str:
    """Return a sentence that states what a check needs."""
    if need == "context":
        return "This check needs a turn with a context."
    if "value" in type(assertion.grader).model_fields:
        return "This check needs a value or a turn with an expected text. It has neither."
    return "This check needs a turn with an expected text."
