"""What a person writes about one check: a type, its options, and how much it counts."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, Self

from pydantic import (
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import InitErrorDetails

from evals_app.engine.graders import ALIASES, GRADERS, GROUPS, Grader, PlainGrader, named_type
from evals_app.engine.graders.kit.base import Need
from evals_app.engine.specs.base_spec import SHARE, JudgeRef, ModelSpec, Spec
from fixtures_app.ground.spec_errors import error_at, message_of
from fixtures_app.ground.strict_json import Json, JsonObject
from fixtures_app.ground.words import near

Loc = tuple[int | str, ...]

ANY_SCORE = (
    "Every score is at least 0, so this always passes. Enter the score to reach, for example 0.8, or"
    " leave it out."
)
NO_THRESHOLD = (
    "This check passes or fails by itself, so a threshold of 0 is ignored. Leave it out, or set the"
    " weight to 0 if the check should only inform."
)
COMMON_KEYS = ("type", "name", "weight", "threshold", "enabled", "fail_on_error", "model", "scope")


class _Turn(Protocol):
    @property
    def gives(self) -> frozenset[Need]: ...


class AssertionSpec(Spec):
    """One thing to verify. In files the grader's options are next to the common keys."""

    type: str = Field(title="Kind of check")
    name: str | None = Field(
        default=None,
        title="Label",
        min_length=1,
        max_length=200,
        description="Shown instead of the type.",
    )
    grader: SerializeAsAny[Grader]
    weight: float = Field(
        default=1.0,
        title="Weight",
        ge=0,
        le=1e6,
        description="How much it counts in the score. With 0 it is shown, but never decides.",
    )
    # 0 was accepted in the past, so stored checks may have it; `cannot_fail_at` refuses new ones.
    threshold: float | None = Field(
        default=None,
        title="Pass at or above",
        ge=0,
        le=1,
        json_schema_extra=SHARE,
        description="The score to reach, more than 0. Without it the check's own"
        " verdict counts; a check that only measures then shows its score and never decides.",
    )
    enabled: bool = Field(
        default=True, title="Enabled", description="A disabled check is not graded."
    )
    fail_on_error: bool = Field(
        default=False,
        title="Fail if it cannot be graded",
        description="Otherwise the result is an error, not a failure.",
    )
    model: JudgeRef | None = Field(
        default=None,
        title="Judge model",
        description="provider/model, or `agent` for the agent's own. By default, the suite's judge.",
    )
    scope: Literal["turn", "conversation"] | None = Field(
        default=None,
        title="Text to check",
        description="turn: one reply. conversation: all replies up to there. By default the"
        " turn's reply; for final checks, the last one.",
    )

    @property
    def label(self) -> str:
        return self.name or self.grader.summary()

    def cannot_fail(self) -> str | None:
        """Return why it always passes and how to change that; None if it can fail."""
        if self.threshold == 0 and self.grader.obeys_threshold():
            return ANY_SCORE
        return self.grader.cannot_fail()

    def cannot_fail_at(self) -> tuple[Loc, str] | None:
        """Return the key because of which it cannot fail, and why; None if it can.

        A check that only informs has none.
        """
        if self.weight == 0 or not self.enabled:
            return None
        if self.threshold == 0:
            return ("threshold",), ANY_SCORE if self.grader.obeys_threshold() else NO_THRESHOLD
        reason = self.grader.cannot_fail()
        return (self.grader.main_key(), reason) if reason else None

    def as_informational(self) -> "AssertionSpec":
        """Return the same check; one that cannot fail no longer decides anything."""
        if self.cannot_fail_at() is None:
            return self
        is_needed = self.grader.obeys_threshold() and self.grader.decides(None)
        spec = self
        if self.threshold == 0 and not is_needed:
            spec = self.model_copy(update={"threshold": None})
        return spec if spec.cannot_fail() is None else spec.model_copy(update={"weight": 0.0})

    @property
    def decides(self) -> bool:
        """Whether its verdict counts; a check that cannot fail never decides."""
        has_verdict = self.weight > 0 and self.grader.decides(self.threshold)
        return has_verdict and self.cannot_fail() is None

    @property
    def counted_weight(self) -> float:
        """The weight of its score; 0 if every reply gets the same score."""
        return self.weight if self.grader.cannot_fail() is None else 0.0

    @property
    def lacks_expected(self) -> bool:
        """Whether it can only work on a turn that has an expected text."""
        return "expected" in self.grader.needs()

    def lacks(self, turn: _Turn | None) -> Need | None:
        """Return what it needs and the turn does not have; `turn` is None for final checks."""
        needs = self.grader.needs()
        missing = needs - turn.gives if needs and turn else needs
        return min(missing, default=None)

    @property
    def ends_conversations(self) -> bool:
        """Whether it can end a simulated conversation: code decides that something was done."""
        is_by_code = self.decides and isinstance(self.grader, PlainGrader)
        return self.enabled and is_by_code and not self.grader.only_forbids()

    def judges(self, *, agent: ModelSpec | None, judge: ModelSpec | None) -> Sequence[ModelSpec]:
        """Return the models that judge it: a jury, one, or none.

        `agent` is the agent's own model, `judge` the one of the run.
        """
        if jury := self.grader.jurors():
            return jury
        chosen = agent if self.model == "agent" else self.model or judge
        return [] if chosen is None else [chosen]

    @model_validator(mode="wrap")
    @classmethod
    def _from_flat(
        cls, data: object, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        if not isinstance(data, dict) or isinstance(data.get("grader"), Grader):
            return handler(data)
        kind, options = _resolve_type(data)
        grader_class = _grader_class(kind)
        common = {key: value for key, value in data.items() if key in COMMON_KEYS}
        errors: list[InitErrorDetails] = []
        grader = None
        try:
            grader = grader_class.model_validate(options, context=info.context)
        except ValidationError as exc:
            errors += _details(exc, grader_class)
        try:
            # A stand-in grader allows checking the common keys even if the options are wrong.
            spec = handler(common | {"type": kind, "grader": grader or Grader()})
        except ValidationError as exc:
            errors += _details(exc, cls)
        else:
            errors += spec._misfits(data)  # noqa: SLF001 - of this very class
        if errors:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return spec

    def _misfits(self, data: JsonObject) -> list[InitErrorDetails]:
        """Refuse common keys that this type would ignore."""
        grader_class = GRADERS[self.type]
        wrong = []
        if self.model is not None and grader_class.family != "judged":
            wrong.append(
                ("model", f"{self.type} does not ask a judge, so it does not accept a model.")
            )
        if self.model is not None and self.grader.jurors():
            wrong.append(
                ("model", "The jury already lists the models to ask. Remove either model or jury.")
            )
        if self.scope is not None and not grader_class.reads_text:
            wrong.append(
                ("scope", f"{self.type} does not read text, so it does not accept a scope.")
            )
        return [error_at("misplaced_key", message, (key,), data[key]) for key, message in wrong]

    @model_serializer(mode="wrap")
    def _to_flat(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        dumped: dict[str, Any] = handler(self)
        options: JsonObject = dumped.pop("grader", {})
        kind = {"type": self.type}
        name = {"name": dumped.pop("name")} if "name" in dumped else {}
        dumped.pop("type", None)
        return kind | name | options | dumped


def _details(exc: ValidationError, model: type[Spec]) -> list[InitErrorDetails]:
    """Take an error apart so that it can be raised again together with others."""
    names = list(COMMON_KEYS)
    if issubclass(model, Grader):
        names += [info.alias or name for name, info in model.model_fields.items()]
    details = []
    for error in exc.errors(include_url=False):
        message = message_of(error)
        if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
            message = f"Unknown key.{near(str(error['loc'][0]), names)} Known: {', '.join(names)}."
        details.append(error_at(error["type"], message, error["loc"], error["input"]))
    return details


def _resolve_type(data: JsonObject) -> tuple[Json, JsonObject]:
    """Return the type that is meant, and its options with those that its alias implies."""
    options = {key: value for key, value in data.items() if key not in COMMON_KEYS}
    written, kind = data.get("type"), named_type(data)
    if isinstance(written, str) and written in GROUPS:
        key, members = GROUPS[written]
        if kind == written:
            message = f"{written} needs {key}: one of {', '.join(members)}."
            where = (key,) if key in data else ("type",)
            problem = error_at("unknown_type", message, where, data.get(key))
            raise ValidationError.from_exception_data("AssertionSpec", [problem])
        del options[key]
    elif isinstance(written, str) and written in ALIASES:
        options = ALIASES[written][1] | options
    return kind, options


def _grader_class(kind: object) -> type[Grader]:
    if isinstance(kind, str) and kind in GRADERS:
        return GRADERS[kind]
    known = [*GRADERS, *ALIASES, *GROUPS]
    if isinstance(kind, str) and kind in GRADERS.offers.problems:
        message = GRADERS.offers.problems[kind]
    elif kind is None:
        message = f"A check needs a type. Known: {', '.join(known)}."
    else:
        message = f"Unknown check {kind!r}.{near(str(kind), known)} Known: {', '.join(known)}."
    problem = error_at("unknown_type", message, ("type",), kind)
    raise ValidationError.from_exception_data("AssertionSpec", [problem])
