"""What a person writes about a suite: cases for one agent, with defaults and gates."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from evals_app.engine.specs.base_spec import (
    MILLISECONDS,
    SHARE,
    JudgeRef,
    Name,
    Slug,
    Spec,
    Template,
    Usd,
)
from evals_app.engine.suites.assertion_spec import ANY_SCORE, COMMON_KEYS, AssertionSpec, Loc
from evals_app.engine.suites.case_spec import CaseSpec, HistoryMessage, LimitsSpec, TurnSpec
from evals_app.engine.suites.user_spec import MIN_TRIALS
from fixtures_app.ground.spec_errors import error_at, messages_of

__all__ = [
    "COMMON_KEYS",
    "AssertionSpec",
    "CaseSpec",
    "GatesSpec",
    "HistoryMessage",
    "LimitsSpec",
    "Loc",
    "PlacedCheck",
    "SuiteSpec",
    "TurnSpec",
]

_ANY_RESULT = (
    "This gate passes whatever the result. Enter a limit that a run can miss, for example 0.5, or"
    " leave it out."
)
_SWAMPING = 0.9  # share of all weights
_MIN_CHECKS = 2  # checks, so that one can outweigh the others


MIXED_USERS = (
    "Cases with a simulated user need a suite of their own: their rates mean something else than those"
    " of conversations whose words are written. Choose another suite for them."
)

# The order means nothing; sorted, equal suites compare equal.
_Slugs = Annotated[
    list[Slug],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    AfterValidator(lambda slugs: sorted(set(slugs))),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


# Gates on the cases that the baseline has, too: their verdicts and scores, their times and costs.
COMPARING_CASES = ("max_regressions", "max_score_drop")
COMPARING_EFFORTS = ("max_p95_increase", "max_cost_increase")


class GatesSpec(Spec):
    """Conditions on a run as a whole. All are inclusive; a gate that is not set is not checked."""

    min_score: float | None = Field(
        default=None,
        title="Mean score, at least",
        description="Over all cases of the run.",
        json_schema_extra=SHARE,
        ge=0,
        le=1,
    )
    min_pass_rate: float | None = Field(
        default=None,
        title="Share of passed cases, at least",
        description="At least this share of the cases must pass.",
        json_schema_extra=SHARE,
        ge=0,
        le=1,
    )
    max_p95_ms: float | None = Field(
        default=None,
        title="95th-percentile reply time, at most (ms)",
        description="95 of 100 replies must take this long or less.",
        json_schema_extra=MILLISECONDS,
        ge=0,
        allow_inf_nan=False,
    )
    max_cost_per_call_usd: Usd | None = Field(
        default=None,
        title="Mean cost of a turn, at most (USD)",
        description="For example, 0.01 requires that the agent's calls for a turn cost one cent"
        " or less on average.",
    )
    max_cost_usd: Usd | None = Field(
        default=None,
        title="Cost of the run, at most (USD)",
        description="For example, 5 requires that agent and judge together cost five dollars or"
        " less. It judges a run that has ended; a ceiling that stops a run is set at its start.",
    )
    max_regressions: int | None = Field(
        default=None,
        title="Cases that got worse, at most",
        description="For example, 0 requires that no case got worse since the released version.",
        ge=0,
    )
    max_score_drop: float | None = Field(
        default=None,
        title="Fall of the mean score, at most",
        description="How far the mean score may be below the released version's.",
        json_schema_extra=SHARE | {"example": 0.05},
        ge=0,
        le=1,
    )
    max_p95_increase: float | None = Field(
        default=None,
        title="Rise of the 95th-percentile reply time, at most",
        description="By how much 95 of 100 replies may take longer than in the released version, over the same"
        " cases. For example, 20 % allows 1.2 s after 1.0 s.",
        json_schema_extra=SHARE | {"example": 0.2},
        ge=0,
        allow_inf_nan=False,
    )
    max_cost_increase: float | None = Field(
        default=None,
        title="Rise of the cost, at most",
        description="By how much the agent's mean cost of a conversation may be above the released version's,"
        " over the same cases.",
        json_schema_extra=SHARE | {"example": 0.2},
        ge=0,
        allow_inf_nan=False,
    )
    min_judge_agreement: float | None = Field(
        default=None,
        title="Agreement of judges with people, at least",
        description="A judge that agrees with people less often, no more often than one that always"
        " gives the same verdict, or was compared with them on fewer than 20 answers, only informs:"
        " its grades decide nothing.",
        json_schema_extra=SHARE,
        gt=0,
        le=1,
    )

    def gates_that_cannot_fail(self) -> list[str]:
        """Return the gates that always pass."""
        names = [name for name in ("min_score", "min_pass_rate") if getattr(self, name) == 0]
        return [*names, "max_score_drop"] if self.max_score_drop == 1 else names

    @property
    def compare_efforts(self) -> bool:
        """Whether a gate compares times or costs with the baseline."""
        return not self.limits_set.isdisjoint(COMPARING_EFFORTS)

    @property
    def compare_cases(self) -> bool:
        """Whether a gate compares verdicts or scores with the baseline."""
        return not self.limits_set.isdisjoint(COMPARING_CASES)

    @property
    def can_fail(self) -> bool:
        """Whether any gate is set that a run can fail."""
        return bool(self.limits_set - set(self.gates_that_cannot_fail()))

    @property
    def need_all_trials(self) -> bool:
        """Whether a gate that is set measures every trial, not only verdicts of cases.

        The cost of a run is what was spent, regardless of how many trials ran.
        """
        return bool(self.limits_set - {"min_pass_rate", "max_cost_usd"})

    @property
    def limits_set(self) -> set[str]:
        """The gates that are set; one on judges is about grades, not about runs."""
        names = {name for name, limit in self if limit is not None}
        return names - {"min_judge_agreement"}


class PlacedCheck(NamedTuple):
    """A check and its place in a case; `number` (from 1) and `turn` are None at the end."""

    number: int | None
    turn: TurnSpec | None
    position: int
    check: AssertionSpec

    @property
    def applies(self) -> bool:
        """Whether it can be graded: its turn has what it needs."""
        return self.check.lacks(self.turn) is None


class SuiteSpec(Spec):
    """Cases for one agent, with defaults."""

    suite: Name = Field(title="Name", description="For example, Refunds.")
    slug: Slug = Field(
        title="Slug",
        description="Its name in files, on the command line and in REST. Past runs keep the old one.",
    )
    agent: Slug = Field(title="Agent", description="The agent under test.")
    description: str = Field(default="", title="Description", description="For people only.")
    tags: list[Name] = Field(
        default_factory=list,
        title="Tags",
        description="They apply to every case of the suite too.",
        json_schema_extra={"names": "tag"},
    )
    fixtures: _Slugs = Field(
        default_factory=list,
        title="Test data",
        description="What the tools of the agent find and change. Each conversation works on its own copy.",
    )
    trials: int = Field(
        default=1,
        title="Trials of each case",
        description="How often each case runs. More trials show how consistent the agent is.",
        ge=1,
        le=100,
    )
    min_pass_rate: float = Field(
        default=1.0,
        title="Share of trials that must pass",
        description="A case passes if at least this share of its trials passes.",
        json_schema_extra=SHARE,
        gt=0,
        le=1,
    )
    stop_when_decided: bool = Field(
        default=False,
        title="Skip trials that cannot change the verdict",
        description="Runs finish sooner and cost less, but pass rates of cases are less exact. All"
        " trials run where a gate on score, time, cost per call or regressions needs them.",
    )
    pass_rule: Literal["all", "score"] = Field(
        default="all",
        title="A conversation passes when",
        description="all: every check passes. score: the score reaches the threshold.",
    )
    pass_threshold: float = Field(
        default=0.8,
        title="Score to reach",
        description="A conversation needs it if the score decides; the rubric always does.",
        json_schema_extra=SHARE,
        ge=0,
        le=1,
    )
    run_rule: Literal["all_cases", "gates"] = Field(
        default="all_cases",
        title="A run passes when",
        description="all_cases: every case and every gate passes. gates: every gate passes.",
    )
    score_scale: Literal["0-1", "1-5"] = Field(
        default="0-1", title="Score scale", description="Changes only how scores are shown."
    )
    concurrency: int = Field(
        default=10,
        title="Parallel conversations",
        description="Conversations that run at the same time.",
        ge=1,
        le=1000,
    )
    judge_model: JudgeRef | None = Field(
        default=None,
        title="Judge model",
        description="provider/model, the word agent for the agent's own model, scripted/AGENT, or"
        " plugin/NAME for a judge of a plug-in. By default, the site's judge.",
    )
    judge_prompt: str = Field(
        default="",
        title="Advice to the judge",
        description="How strict the judge should be, and what to look at.",
    )
    judge_context: Template = Field(
        default="",
        title="Facts for the judge",
        description="What the judge may rely on; the agent does not see it. It may contain the"
        " variables of prompts.",
    )
    rubric: str = Field(
        default="",
        title="Rubric",
        description="Goals in Markdown, one per bullet. A judge grades each conversation by them"
        " once, at its end. The rubric passes at the score to reach.",
    )
    rubric_weight: float = Field(
        default=0.5,
        title="Weight of the rubric",
        description="Its share of the score; the checks have the rest. Without checks the rubric is"
        " the whole score. With 0 it is only shown.",
        json_schema_extra=SHARE,
        ge=0,
        le=1,
    )
    assertions: list[AssertionSpec] = Field(
        default_factory=list, description="Checks for every turn that has none of its own."
    )
    gates: GatesSpec = Field(
        default=GatesSpec(), title="Gates", description="Conditions on the whole run."
    )
    cases: list[CaseSpec] = Field(title="Cases", description="The conversations.")

    @model_validator(mode="before")
    @classmethod
    def _name_rows(cls, data: Any) -> object:
        cases = data.get("cases") if isinstance(data, dict) else None
        if not isinstance(cases, list):
            return data
        named = [
            {"name": f"row-{number:04}", **case} if isinstance(case, dict) else case
            for number, case in enumerate(cases, 1)
        ]
        return {**data, "cases": named}

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        first: dict[str, int] = {}
        errors = []
        if self.run_rule == "gates" and not self.gates.limits_set:
            message = "Only gates decide, but none is set, so no run could fail."
            errors.append(error_at("no_gates", message, ("run_rule",), self.run_rule))
        try:
            _ = self.rubric_check
        except ValidationError as exc:
            message = messages_of(exc)[0]
            errors.append(error_at("rubric", message, ("rubric",), self.rubric))
        for c, case in enumerate(self.cases):
            if (known := first.setdefault(case.name, c)) != c:
                message = f"Case {known + 1} has the same name; names are unique in a suite."
                errors.append(error_at("duplicate_name", message, ("cases", c, "name"), case.name))
        kinds = [case.simulated_user is not None for case in self.cases]
        if len(set(kinds)) > 1:
            loc = ("cases", kinds.index(True), "simulated_user")
            errors.append(error_at("mixed_users", MIXED_USERS, loc, None))
        if errors:
            raise ValidationError.from_exception_data("SuiteSpec", errors)
        return self

    def assertions_for(self, turn: TurnSpec) -> list[AssertionSpec]:
        """Return the checks after a turn, without disabled ones."""
        own = turn.assertions
        inherited = self.assertions if own is None or turn.inherit else []
        return [check for check in [*inherited, *(own or [])] if check.enabled]

    def placed_checks(self, case: CaseSpec) -> "Iterator[PlacedCheck]":
        """Return every check that grades a case, in the order of its conversation.

        Checks of turns come first, then final ones and the rubric; disabled ones are left out.
        """
        for number, turn in enumerate(case.turns, 1):
            for position, check in enumerate(self.assertions_for(turn)):
                yield PlacedCheck(number, turn, position, check)
        final = [check for check in case.final_assertions if check.enabled]
        final += [self.rubric_check] if self.rubric_check else []
        for position, check in enumerate(final):
            yield PlacedCheck(None, None, position, check)

    @cached_property
    def rubric_check(self) -> AssertionSpec | None:
        """The rubric as the check at the end of every conversation."""
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
        """Whether an execution passes by its score, regardless of its single checks."""
        return self.pass_rule == "score"  # noqa: S105 - no password

    @property
    def scores_decide(self) -> bool:
        """Whether a score matters even where nothing is compared with it."""
        has_gates = self.run_rule == "gates" and self.gates.can_fail
        return has_gates or (self.passes_by_score and self.pass_threshold > 0)

    @property
    def stops_when_decided(self) -> bool:
        """Whether trials that cannot change the verdict of their case may be left out.

        A run in which nothing passed has failed. Where gates alone decide, one on the cases that
        pass must be among them, or a later trial could still save the run.
        """
        by_cases = self.run_rule == "all_cases" or bool(self.gates.min_pass_rate)
        return self.stop_when_decided and by_cases and not self.gates.need_all_trials

    def decides(self, assertion: AssertionSpec) -> bool:
        """Return whether the verdict of a check counts, with the suite's rule of passing."""
        return assertion.decides and not (self.passes_by_score and self.pass_threshold == 0)

    def checks_that_cannot_fail(self) -> Iterator[tuple[Loc, str]]:
        """Return what keeps conversations or runs from failing: its key, why, and what to do."""
        for name in self.gates.gates_that_cannot_fail():
            yield ("gates", name), _ANY_RESULT
        rubric = self.rubric_check is not None and self.rubric_weight > 0
        if self.pass_threshold == 0 and (self.passes_by_score or rubric):
            yield ("pass_threshold",), ANY_SCORE.partition(", or")[0] + "."

    def as_informational(self) -> "SuiteSpec":
        """Return the same suite; checks that cannot fail no longer decide anything."""
        if not any(check.cannot_fail_at() for check in self.checks()):
            return self
        cases = [case.as_informational() for case in self.cases]
        own = [check.as_informational() for check in self.assertions]
        return self.model_copy(update={"assertions": own, "cases": cases})

    def checks(self) -> Iterator[AssertionSpec]:
        """Return all checks: the defaults, and those of the cases."""
        yield from self.assertions
        for case in self.cases:
            yield from case.assertions()

    def swamping(self, case: CaseSpec) -> AssertionSpec | None:
        """Return the check that outweighs all others of a case in its score, if any."""
        checks = [placed.check for placed in self.placed_checks(case)]
        weights = [check.counted_weight for check in checks]
        if not self.passes_by_score or self.rubric_check or sum(map(bool, weights)) < _MIN_CHECKS:
            return None
        heaviest = max(checks, key=lambda check: check.counted_weight)
        share = heaviest.counted_weight / sum(weights)
        decides_alone = share >= self.threshold_of(case) > 1 - share
        return heaviest if share >= _SWAMPING and decides_alone else None

    def trials_of(self, case: CaseSpec, *, asked: int | None = None) -> int:
        """Return how often a case runs, or is `asked` to run; a simulated one at least 3 times."""
        trials = asked or case.trials or self.trials
        return max(trials, MIN_TRIALS) if case.simulated_user else trials

    def threshold_of(self, case: CaseSpec | None) -> float:
        """Return the score that a case has to reach, if the score decides."""
        own = case.pass_threshold if case else None
        return self.pass_threshold if own is None else own

    def asserts_nothing(self, case: CaseSpec) -> bool:
        """Return whether no check and no limit of a case can ever decide."""
        checks = (placed.check for placed in self.placed_checks(case) if placed.applies)
        return case.limits == LimitsSpec() and not any(map(self._counts, checks))

    def only_informs(self, case: CaseSpec) -> bool:
        """Return whether a case has checks, and none of them, and no limit, can ever decide."""
        return self.asserts_nothing(case) and any(
            placed.applies for placed in self.placed_checks(case)
        )

    @property
    def checks_nothing(self) -> bool:
        """Whether it has cases and none of them checks or measures anything."""
        return bool(self.cases) and not any(
            self.only_informs(case) or not self.asserts_nothing(case) for case in self.cases
        )

    def judged_check(self, cases: Iterable[CaseSpec]) -> AssertionSpec | None:
        """Return the first check of these cases that is left to the judge of the run."""
        for case in cases:
            for _, _, _, check in self.placed_checks(case):
                is_judged = check.grader.family == "judged" and not check.grader.jurors()
                if is_judged and check.model is None:
                    return check
        return None

    def measures_only_effort(self, cases: Iterable[CaseSpec]) -> bool:
        """Return whether the verdict on these cases depends on speed and cost alone."""
        gates = self.gates
        has_quality = gates.min_score or gates.min_pass_rate or gates.compare_cases
        if self.run_rule == "gates" and not has_quality:
            return True
        has_effort = False
        for case in cases:
            checks = (placed.check for placed in self.placed_checks(case))
            families = {check.grader.family for check in checks if self._counts(check)}
            if families - {"effort"}:
                return False
            has_effort |= bool(families) or case.limits != LimitsSpec()
        return has_effort

    def _counts(self, assertion: AssertionSpec) -> bool:
        has_score = assertion.counted_weight > 0 and self.scores_decide
        return has_score or self.decides(assertion)
