"""What a person writes about suites: cases, turns, assertions, limits and gates."""

import difflib
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    FiniteFloat,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import InitErrorDetails

from evals_app.engine.files import MAX_FILES, FileSpec, distinct
from evals_app.engine.graders import ALIASES, GRADERS, GROUPS, Grader, named_type
from evals_app.engine.graders.base import Need
from evals_app.engine.matchers import json_problem
from evals_app.engine.spec import MOST, JudgeRef, Name, Prose, Slug, Spec, Template, Usd, located
from evals_app.engine.template import placeholders

Loc = tuple[int | str, ...]

_ANY_SCORE = (
    "Every score reaches 0, so this always passes. Write the score that must be reached, for example"
    " 0.8, or leave it out."
)
_ANY_RESULT = (
    "Every run reaches 0, so this gate always holds. Write what must be reached, for example 0.8, or"
    " leave it out."
)
_SWAMPING = 0.9  # of all weights
_FEWEST = 2  # checks of which one can leave the others no say

COMMON_KEYS = ("type", "name", "weight", "threshold", "enabled", "fail_on_error", "model", "scope")


class AssertionSpec(Spec):
    """One thing to verify. In files the grader's options stand beside the common keys."""

    type: str
    name: Annotated[
        str | None, Field(min_length=1, max_length=200, description="Label shown to people.")
    ] = None
    grader: SerializeAsAny[Grader]
    weight: Annotated[
        float, Field(ge=0, le=1e6, description="0: shown, in neither score nor verdict.")
    ] = 1.0
    # 0 was accepted once, so stored checks may have it; `hollow` refuses it where it is written.
    threshold: Annotated[float | None, Field(ge=0, le=1)] = None
    enabled: bool = True
    fail_on_error: bool = False
    model: JudgeRef | None = None
    scope: Literal["turn", "conversation"] | None = None

    @property
    def label(self) -> str:
        return self.name or self.grader.summary()

    def cannot_fail(self) -> str | None:
        """Return why it passes whatever the agent does, and a way out; None if it can fail."""
        if self.threshold == 0 and self.grader.obeys_threshold():
            return _ANY_SCORE
        return self.grader.cannot_fail()

    def hollow(self) -> tuple[Loc, str] | None:
        """Return the key that keeps it from failing, and why; None where it can, or only informs."""
        if self.weight == 0 or not self.enabled:
            return None
        if self.threshold == 0:
            return ("threshold",), _ANY_SCORE
        reason = self.grader.cannot_fail()
        return (self.grader.main_key(), reason) if reason else None

    def informing(self) -> "AssertionSpec":
        """Return the same check; one that cannot fail decides nothing any more."""
        if self.hollow() is None:
            return self
        is_needed = self.grader.obeys_threshold() and self.grader.decides(None)
        spec = self
        if self.threshold == 0 and not is_needed:
            spec = self.model_copy(update={"threshold": None})
        return spec if spec.cannot_fail() is None else spec.model_copy(update={"weight": 0.0})

    @property
    def decides(self) -> bool:
        """Whether its verdict counts; that of a check which cannot fail says nothing."""
        has_verdict = self.weight > 0 and self.grader.decides(self.threshold)
        return has_verdict and self.cannot_fail() is None

    @property
    def counted_weight(self) -> float:
        """The weight of its score; a score that every reply gets has none."""
        return self.weight if self.grader.cannot_fail() is None else 0.0

    @property
    def lacks_expected(self) -> bool:
        """Whether it can only work on a turn that has an expected text."""
        return "expected" in self.grader.needs()

    def lacks(self, turn: "TurnSpec | None") -> Need | None:
        """Name what it needs and the turn does not have; None: it is about no turn."""
        return min(self.grader.needs() - (turn.gives if turn else frozenset()), default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _from_flat(
        cls,
        data: Any,  # noqa: ANN401 - whatever was written
        handler: ModelWrapValidatorHandler[Self],
        info: ValidationInfo,
    ) -> Self:
        if not isinstance(data, dict) or isinstance(data.get("grader"), Grader):
            return handler(data)
        kind, options = _resolved(data)
        grader_class = _grader_class(kind)
        common = {key: value for key, value in data.items() if key in COMMON_KEYS}
        errors: list[InitErrorDetails] = []
        grader = None
        try:
            grader = grader_class.model_validate(options, context=info.context)
        except ValidationError as exc:
            errors += _details(exc, grader_class)
        try:
            # A stand-in grader lets the common keys be checked even when the options are wrong.
            spec = handler(common | {"type": kind, "grader": grader or Grader()})
        except ValidationError as exc:
            errors += _details(exc, cls)
        else:
            errors += spec._misfits(data)  # noqa: SLF001 - of this very class
        if errors:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return spec

    def _misfits(self, data: dict[str, Any]) -> list[InitErrorDetails]:
        """Refuse common keys that this type would silently ignore."""
        grader_class = GRADERS[self.type]
        wrong = []
        if self.model is not None and grader_class.family != "judged":
            wrong.append(("model", f"{self.type} asks no judge, so it takes no model."))
        if self.model is not None and self.grader.jurors():
            wrong.append(("model", "The jury names the models to ask; leave out model, or jury."))
        if self.scope is not None and not grader_class.reads_text:
            wrong.append(("scope", f"{self.type} reads no text, so it takes no scope."))
        return [located("misplaced_key", message, (key,), data[key]) for key, message in wrong]

    @model_serializer(mode="wrap")
    def _to_flat(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        dumped: dict[str, Any] = handler(self)
        options: dict[str, Any] = dumped.pop("grader", {})
        kind = {"type": self.type}
        name = {"name": dumped.pop("name")} if "name" in dumped else {}
        dumped.pop("type", None)
        return kind | name | options | dumped


def _details(exc: ValidationError, model: type[Spec]) -> list[InitErrorDetails]:
    """Take an error apart so that it can be raised again beside others."""
    names = list(COMMON_KEYS)
    if issubclass(model, Grader):
        names += [info.alias or name for name, info in model.model_fields.items()]
    details = []
    for error in exc.errors(include_url=False):
        message = error["msg"].removeprefix("Value error, ")
        if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
            message = f"Unknown key.{near(str(error['loc'][0]), names)} Known: {', '.join(names)}."
        details.append(located(error["type"], message, error["loc"], error["input"]))
    return details


def near(word: str, known: Iterable[str]) -> str:
    """Say `Did you mean ...?` when a known word is close, else nothing."""
    # Cut: comparing megabytes takes seconds, and nobody misspells a name at that length.
    found = difflib.get_close_matches(word[:200], list(known), n=1)
    return f" Did you mean {found[0]!r}?" if found else ""


def _resolved(data: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Give the type that is meant, and its options with those that come with its name."""
    options = {key: value for key, value in data.items() if key not in COMMON_KEYS}
    written, kind = data.get("type"), named_type(data)
    if isinstance(written, str) and written in GROUPS:
        key, members = GROUPS[written]
        if kind == written:
            message = f"{written} needs {key}: one of {', '.join(members)}."
            where = (key,) if key in data else ("type",)
            problem = located("unknown_type", message, where, data.get(key))
            raise ValidationError.from_exception_data("AssertionSpec", [problem])
        del options[key]
    elif isinstance(written, str) and written in ALIASES:
        options = ALIASES[written][1] | options
    return kind, options


def _grader_class(kind: Any) -> type[Grader]:  # noqa: ANN401 - whatever stands under `type`
    if isinstance(kind, str) and kind in GRADERS:
        return GRADERS[kind]
    known = [*GRADERS, *ALIASES, *GROUPS]
    if kind is None:
        message = f"A check needs a type. Known: {', '.join(known)}."
    else:
        message = f"Unknown check {kind!r}.{near(str(kind), known)} Known: {', '.join(known)}."
    problem = located("unknown_type", message, ("type",), kind)
    raise ValidationError.from_exception_data("AssertionSpec", [problem])


def _unique(value: list[str]) -> list[str]:
    # Their order means nothing, so one order makes equal suites compare equal.
    return sorted(set(value))


def _one_or_many(value: Any) -> Any:  # noqa: ANN401 - a single word stands for a list of one
    return [value] if isinstance(value, str) else value


def _json(value: dict[str, Any]) -> dict[str, Any]:
    if problem := json_problem(value):
        raise ValueError(problem)
    return value


def _iso_time(value: str) -> str:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        msg = "Write the time as 2026-05-01T09:30:00+00:00."
        raise ValueError(msg) from None
    return value


class LimitsSpec(Spec):
    """Hard limits of a case; each is inclusive, one that is not set is not checked."""

    max_prompt_tokens: Annotated[
        int | None, Field(description="Tokens sent, over all turns.", ge=0, le=MOST)
    ] = None
    max_response_tokens: Annotated[
        int | None, Field(description="Tokens answered, over all turns.", ge=0, le=MOST)
    ] = None
    max_time_ms: Annotated[
        int | None, Field(description="The agent's own time, over all turns.", ge=0, le=MOST)
    ] = None
    max_cost_usd: Annotated[
        Usd | None, Field(description="What the agent's model calls cost, over all turns.")
    ] = None
    max_tool_calls: Annotated[
        int | None, Field(description="Tool calls, over all turns.", ge=0, le=MOST)
    ] = None


class GatesSpec(Spec):
    """Conditions on a whole run; each is inclusive, one that is not set is not checked."""

    not_yet = frozenset({"max_regressions"})

    min_score: Annotated[float | None, Field(description="Least score of the run.", ge=0, le=1)] = (
        None
    )
    min_pass_rate: Annotated[
        float | None, Field(description="Least share of cases that pass.", ge=0, le=1)
    ] = None
    max_p95_ms: Annotated[
        float | None,
        Field(description="Most time that 95 % of all turns take.", ge=0, allow_inf_nan=False),
    ] = None
    max_cost_per_call_usd: Annotated[
        Usd | None, Field(description="Most that the agent's turns cost on average.")
    ] = None
    max_cost_usd: Annotated[
        Usd | None, Field(description="Most that agent and judge cost in all.")
    ] = None

    def hollow(self) -> list[str]:
        """Return the gates that hold whatever the agent does."""
        return [name for name in ("min_score", "min_pass_rate") if getattr(self, name) == 0]

    @property
    def can_fail(self) -> bool:
        """Whether any gate is set that a run could miss."""
        is_set = {name for name, limit in self if limit is not None}
        return bool(is_set - set(self.hollow()))


MAX_PASSAGES = 200
Passage = Annotated[str, Field(min_length=1, max_length=200_000)]


class HistoryMessage(Spec):
    """A message that was said before the first turn."""

    role: Annotated[Literal["user", "assistant"], Field(description="Who said it.")]
    content: Annotated[str, Field(description="What was said.", min_length=1)]


class TurnSpec(Spec):
    r"""One user message, what is expected, and its assertions.

    `assertions` None takes the suite's defaults, an empty list means unscored, a list of its own
    replaces the defaults unless `inherit` adds it to them.

    Nothing is filled into messages. `{{name}}` in one is taken for a variable that somebody forgot,
    and no run starts; `\{{name}}` sends these braces, here, in `history` and in prompts.
    """

    user: Annotated[Prose, Field(description="What the user says.")]
    expected: Annotated[
        str | None, Field(description="The expected answer. The agent never sees it.")
    ] = None
    files: Annotated[list[FileSpec], AfterValidator(distinct), Field(max_length=MAX_FILES)] = Field(
        default_factory=list,
        description="What the user shows along with the message: pictures, PDFs, documents.",
    )
    context: list[Passage] = Field(
        default_factory=list,
        description="Facts of the case for judges. The agent never sees them.",
        max_length=MAX_PASSAGES,
    )
    retrieval_context: Annotated[
        list[Passage] | None,
        Field(
            description="The knowledge that the reply is to rest on; left out: what the agent's tools found.",
            max_length=MAX_PASSAGES,
        ),
    ] = None
    config: Annotated[dict[str, Any], AfterValidator(_json)] = Field(
        default_factory=dict, description="Anything that checks by code of your own need."
    )
    inherit: Annotated[
        bool, Field(description="Adds the turn's own assertions to the suite's.")
    ] = False
    assertions: Annotated[
        list[AssertionSpec] | None,
        Field(description="Left out: the suite's; []: unscored; a list: these instead."),
    ] = None

    @property
    def gives(self) -> frozenset[Need]:
        """What checks can find in it, of what some cannot do without."""
        has: dict[Need, bool] = {
            "expected": self.expected is not None,
            "context": bool(self.context),
        }
        return frozenset(need for need, is_there in has.items() if is_there)

    @model_validator(mode="after")
    def _inherits_beside_its_own(self) -> Self:
        if self.inherit and not self.assertions:
            msg = "inherit adds a turn's own assertions to the suite's; this turn has none."
            raise ValueError(msg)
        return self


class CaseSpec(Spec):
    """One conversation to hold, with its limits, channel and context parameters."""

    name: Annotated[
        Name,
        Field(description="Unique in the suite; a case without one is called row-0001 and so on."),
    ]
    description: Annotated[str, Field(description="For people.")] = ""
    tags: list[Name] = Field(default_factory=list, description="A run can ask for one of them.")
    channel: Annotated[Name | None, Field(description="{{threadContext.channel}} in prompts.")] = (
        None
    )
    context_params: dict[str, str | int | FiniteFloat | bool | None] = Field(
        default_factory=dict, description="{{threadContext.params.NAME}} in prompts."
    )
    clock: Annotated[
        Annotated[str, Field(max_length=40), AfterValidator(_iso_time)] | None,
        Field(
            description="Freezes {{datetime}} and the time of the world; agents of your own get it."
        ),
    ] = None
    limits: Annotated[LimitsSpec, Field(description="Hard limits, each optional.")] = LimitsSpec()
    turn_timeout_s: Annotated[
        float,
        Field(
            description="Seconds the agent has for one turn. A model API that has sent nothing when"
            " they are nearly over is asked again, and is no failure of the agent.",
            gt=0,
            le=1500,
        ),
    ] = 60.0
    streaming: Annotated[
        bool,
        Field(
            description="Calls the model in streaming mode and measures the time to the first token."
        ),
    ] = False
    trials: Annotated[
        int | None,
        Field(description="How often the case is held; left out: as the suite says.", ge=1, le=100),
    ] = None
    history: list[HistoryMessage] = Field(
        default_factory=list, description="What was said before the first turn."
    )
    turns: Annotated[list[TurnSpec], Field(description="The conversation, in order.", min_length=1)]
    final_assertions: list[AssertionSpec] = Field(
        default_factory=list, description="Graded at the end, on the whole conversation."
    )

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        errors = _out_of_turn(self.history)
        for t, turn in enumerate(self.turns):
            errors += _lacking(turn.assertions or [], turn, ("turns", t, "assertions"))
        errors += _lacking(self.final_assertions, None, ("final_assertions",))
        if errors:
            raise ValidationError.from_exception_data("CaseSpec", errors)
        return self

    def placeholders(self) -> Iterator[tuple[Loc, str]]:
        """Find variables left in its messages: where they are, and what to do about them."""
        said = [(("history", n, "content"), each.content) for n, each in enumerate(self.history)]
        said += [(("turns", n, "user"), each.user) for n, each in enumerate(self.turns)]
        for loc, message in said:
            for found in placeholders(message):
                shown = " ".join(found.split())[:100]
                problem = (
                    f"In case {self.name!r} the agent would get {shown} as it is: messages have no"
                    " variables. Write the text out, or put a backslash before the braces (\\{{)"
                    " if you mean them."
                )
                yield loc, problem

    def informing(self) -> "CaseSpec":
        """Return the same case; checks that cannot fail decide nothing any more."""
        turns = [
            turn.model_copy(update={"assertions": [each.informing() for each in turn.assertions]})
            if turn.assertions
            else turn
            for turn in self.turns
        ]
        final = [each.informing() for each in self.final_assertions]
        return self.model_copy(update={"turns": turns, "final_assertions": final})

    def assertions(self) -> Iterator[AssertionSpec]:
        """Give all assertions of its own."""
        for turn in self.turns:
            yield from turn.assertions or []
        yield from self.final_assertions


def _out_of_turn(history: list[HistoryMessage]) -> list[InitErrorDetails]:
    errors = []
    for m, message in enumerate(history):
        before = history[m - 1].role if m else "assistant"
        if message.role == before:
            problem = (
                f"The messages of a history alternate; this is the second of {before} in a row."
                if m
                else "A history begins with a message of the user."
            )
            loc = ("history", m, "role")
            errors.append(located("out_of_turn", problem, loc, message.role))
    return errors


def _lacking(
    assertions: list[AssertionSpec], turn: TurnSpec | None, where: Loc
) -> list[InitErrorDetails]:
    return [
        located(f"missing_{need}", _lack_of(assertion, need), (*where, a), assertion.type)
        for a, assertion in enumerate(assertions)
        if (need := assertion.lacks(turn))
    ]


def _lack_of(assertion: AssertionSpec, need: Need) -> str:
    """Say in a sentence what a check needs."""
    if need == "context":
        return "This check needs a turn with a context."
    if "value" in type(assertion.grader).model_fields:
        return "This check needs a value, or a turn with an expected text; it has neither."
    return "This check needs a turn with an expected text."


class SuiteSpec(Spec):
    """Cases for one agent, with defaults."""

    suite: Name = Field(description="Name shown to people.")
    slug: Annotated[Slug, Field(description="How commands, REST and imports name it.")]
    agent: Annotated[Slug, Field(description="Slug of the agent that is tested.")]
    description: Annotated[str, Field(description="For people.")] = ""
    tags: list[Name] = Field(default_factory=list, description="Every case has them too.")
    fixtures: Annotated[list[Slug], BeforeValidator(_one_or_many), AfterValidator(_unique)] = Field(
        default_factory=list,
        description="Slugs of the fixtures whose copies conversations work on.",
    )
    trials: Annotated[int, Field(description="How often each case is held.", ge=1, le=100)] = 1
    min_pass_rate: Annotated[
        float, Field(description="Least share of a case's trials that must pass.", gt=0, le=1)
    ] = 1.0
    pass_rule: Annotated[
        Literal["all", "score"],
        Field(description="What makes an execution pass: all of its checks, or its score."),
    ] = "all"  # noqa: S105 - no password
    pass_threshold: Annotated[
        float,
        Field(
            description="Least score, where the score decides; and of the rubric, if there is one.",
            ge=0,
            le=1,
        ),
    ] = 0.8
    run_rule: Annotated[
        Literal["all_cases", "gates"],
        Field(description="What makes a run pass: all cases and gates, or the gates alone."),
    ] = "all_cases"
    score_scale: Annotated[Literal["0-1", "1-5"], Field(description="How scores are shown.")] = (
        "0-1"
    )
    concurrency: Annotated[
        int, Field(description="Conversations held at the same time.", ge=1, le=1000)
    ] = 10
    judge_model: Annotated[
        JudgeRef | None,
        Field(description="provider/model, agent for the agent's own, or scripted/AGENT."),
    ] = None
    judge_prompt: Annotated[
        str, Field(description="How strict the judge is to be, and what to look at.")
    ] = ""
    judge_context: Annotated[
        Template,
        Field(description="Facts that the judge may rely on; may hold the variables of prompts."),
    ] = ""
    rubric: Annotated[
        str,
        Field(
            description="Markdown by which each conversation is graded as a whole, at its end: one"
            " thing to achieve in each bullet. It passes at `pass_threshold`."
        ),
    ] = ""
    rubric_weight: Annotated[
        float,
        Field(
            description="Share of the rubric in the score; the checks have the rest. Without checks"
            " the rubric is all. 0: it is shown only.",
            ge=0,
            le=1,
        ),
    ] = 0.5
    assertions: list[AssertionSpec] = Field(
        default_factory=list, description="For every turn that has none of its own."
    )
    gates: Annotated[GatesSpec, Field(description="Conditions on the whole run.")] = GatesSpec()
    cases: Annotated[list[CaseSpec], Field(description="The conversations to hold.")]

    @model_validator(mode="before")
    @classmethod
    def _name_rows(cls, data: Any) -> Any:  # noqa: ANN401 - whatever was written
        cases = data.get("cases") if isinstance(data, dict) else None
        if not isinstance(cases, list):
            return data
        named = [
            {"name": f"row-{number:04}", **case} if isinstance(case, dict) else case
            for number, case in enumerate(cases, 1)
        ]
        return {**data, "cases": named}

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        first: dict[str, int] = {}
        errors = []
        if self.run_rule == "gates" and self.gates == GatesSpec():
            message = "The gates alone decide, but none is set: such a run could not fail."
            errors.append(located("no_gates", message, ("run_rule",), self.run_rule))
        try:
            _ = self.rubric_check
        except ValidationError as exc:
            message = exc.errors()[0]["msg"].removeprefix("Value error, ")
            errors.append(located("rubric", message, ("rubric",), self.rubric))
        for c, case in enumerate(self.cases):
            if (known := first.setdefault(case.name, c)) != c:
                message = f"Case {known + 1} has the same name; a case is known by its name."
                errors.append(located("duplicate_name", message, ("cases", c, "name"), case.name))
        if errors:
            raise ValidationError.from_exception_data("SuiteSpec", errors)
        return self

    def assertions_for(self, turn: TurnSpec) -> list[AssertionSpec]:
        """Give the assertions that are graded after a turn, disabled ones left out."""
        own = turn.assertions
        inherited = self.assertions if own is None or turn.inherit else []
        return [each for each in [*inherited, *(own or [])] if each.enabled]

    @cached_property
    def rubric_check(self) -> AssertionSpec | None:
        """Give the rubric as the check that it is at the end of every conversation."""
        if not self.rubric.strip():
            return None
        return AssertionSpec.model_validate(
            {
                "type": "rubric",
                "name": "Rubric of the suite",
                "criteria": self.rubric,
                "threshold": self.pass_threshold,
                "weight": self.rubric_weight,
            }
        )

    @property
    def passes_by_score(self) -> bool:
        """Whether an execution passes by its score, whatever its single checks say."""
        return self.pass_rule == "score"  # noqa: S105 - no password

    @property
    def scores_decide(self) -> bool:
        """Whether a score matters even where nothing is compared with it."""
        has_gates = self.run_rule == "gates" and self.gates.can_fail
        return has_gates or (self.passes_by_score and self.pass_threshold > 0)

    def decides(self, assertion: AssertionSpec) -> bool:
        """Whether the verdict of a check counts, with the suite's rule of passing."""
        return assertion.decides and not (self.passes_by_score and self.pass_threshold == 0)

    def hollow(self) -> Iterator[tuple[Loc, str]]:
        """Find what keeps conversations or runs from failing: its key, why, and a way out."""
        for name in self.gates.hollow():
            yield ("gates", name), _ANY_RESULT
        rubric = self.rubric_check is not None and self.rubric_weight > 0
        if self.pass_threshold == 0 and (self.passes_by_score or rubric):
            yield ("pass_threshold",), _ANY_SCORE.partition(", or")[0] + "."

    def informing(self) -> "SuiteSpec":
        """Return the same suite; checks that cannot fail decide nothing any more."""
        if not any(check.hollow() for check in self.checks()):
            return self
        cases = [case.informing() for case in self.cases]
        own = [check.informing() for check in self.assertions]
        return self.model_copy(update={"assertions": own, "cases": cases})

    def checks(self) -> Iterator[AssertionSpec]:
        """Return all assertions: those of every turn, and those of the cases."""
        yield from self.assertions
        for case in self.cases:
            yield from case.assertions()

    def swamping(self, case: CaseSpec) -> AssertionSpec | None:
        """Return the check whose weight leaves the others of a case no say in its score, if any."""
        checks = [each for turn in case.turns for each in self.assertions_for(turn)]
        checks += [each for each in case.final_assertions if each.enabled]
        weights = [each.counted_weight for each in checks]
        if not self.passes_by_score or self.rubric_check or sum(map(bool, weights)) < _FEWEST:
            return None
        heaviest = max(checks, key=lambda each: each.counted_weight)
        share = heaviest.counted_weight / sum(weights)
        decides_alone = share >= self.pass_threshold > 1 - share
        return heaviest if share >= _SWAMPING and decides_alone else None

    def trials_of(self, case: CaseSpec) -> int:
        return case.trials or self.trials

    def asserts_nothing(self, case: CaseSpec) -> bool:
        """Whether no check and no limit of a case could ever decide."""
        checks = [
            each
            for turn in case.turns
            for each in self.assertions_for(turn)
            if not each.lacks(turn)
        ]
        checks += [each for each in case.final_assertions if each.enabled]
        checks += [self.rubric_check] if self.rubric_check else []
        return case.limits == LimitsSpec() and not any(map(self._counts, checks))

    def judged_check(self, cases: Iterable[CaseSpec]) -> AssertionSpec | None:
        """Return the first check of these cases that is left to the judge of the run."""
        for case in cases:
            checks = [each for turn in case.turns for each in self.assertions_for(turn)]
            checks += [each for each in case.final_assertions if each.enabled]
            checks += [self.rubric_check] if self.rubric_check else []
            for each in checks:
                is_judged = each.grader.family == "judged" and not each.grader.jurors()
                if is_judged and each.model is None:
                    return each
        return None

    def measures_only_effort(self, cases: Iterable[CaseSpec]) -> bool:
        """Whether the verdict on these cases depends on speed and cost alone."""
        least = (self.gates.min_score, self.gates.min_pass_rate)
        if self.run_rule == "gates" and not any(least):
            return True
        has_effort = False
        for case in cases:
            checks = [each for turn in case.turns for each in self.assertions_for(turn)]
            checks += [each for each in case.final_assertions if each.enabled]
            checks += [self.rubric_check] if self.rubric_check else []
            families = {each.grader.family for each in checks if self._counts(each)}
            if families - {"effort"}:
                return False
            has_effort |= bool(families) or case.limits != LimitsSpec()
        return has_effort

    def _counts(self, assertion: AssertionSpec) -> bool:
        has_score = assertion.counted_weight > 0 and self.scores_decide
        return has_score or self.decides(assertion)
