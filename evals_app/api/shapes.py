"""The shapes of answers, for the schema and for `fields=`; `reports.run_json` makes most of them.

A test compares each with what is really answered.
"""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from evals_app.engine.trial import Cause, GradeStatus, Verdict
from evals_app.models import Execution, Provider, Run


class Shape(serializers.Serializer[Any]):
    """A shape; the schema knows RunShape as Run."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        extend_schema_serializer(component_name=cls.__name__.removesuffix("Shape"))(cls)


_RUN_STATUSES = Run.Status.values
_STATUSES = Execution.Status.values
_VERDICTS = [each.value for each in Verdict]
_CAUSES = [each.value for each in Cause]


def _text(**options: Any) -> serializers.CharField:
    return serializers.CharField(**options)


def _word(words: Sequence[str], *, allow_null: bool = False) -> serializers.CharField:
    # Inside allOf, or drf-spectacular makes a component of it and warns of equal names.
    schema: dict[str, Any] = {"type": "string", "allOf": [{"enum": [*words]}]}
    if allow_null:
        schema = {"type": "string", "nullable": True, "allOf": [{"enum": [*words, None]}]}
    field: type[serializers.CharField] = extend_schema_field(schema)(
        type("WordField", (serializers.CharField,), {})
    )
    return field(allow_null=allow_null)


def _number(**options: Any) -> serializers.FloatField:
    return serializers.FloatField(allow_null=True, **options)


def _count(**options: Any) -> serializers.IntegerField:
    return serializers.IntegerField(**options)


@extend_schema_field({"nullable": True})
class AnyJsonField(serializers.JSONField):
    """Any JSON value."""


@extend_schema_field({"type": "object", "additionalProperties": {}})
class JsonObjectField(serializers.JSONField):
    """A JSON object of any content."""


class ErrorShape(Shape):
    """One mistake, with its place."""

    keys = _text(help_text="Path of keys, for example cases[2].turns[0].user; empty: the whole.")
    message = _text()
    value = AnyJsonField(help_text="What was found there.")
    path = _text(required=False, help_text="Of files: which one.")
    line = _count(required=False, allow_null=True)
    column = _count(required=False, allow_null=True)


class ProblemShape(Shape):
    """What is wrong with a request (RFC 9457)."""

    type = _text()
    title = _text()
    status = _count()
    detail = _text()
    errors = ErrorShape(many=True)  # type: ignore[assignment]


class CountsShape(Shape):
    """Executions by how they ended; the five kinds add up to the total."""

    total = _count()
    passed = _count()
    failed = _count()
    errored = _count()
    cancelled = _count()
    not_run = _count()


class ProgressShape(Shape):
    """How far a run has come."""

    done = _count()
    total = _count()


class TokenCountShape(Shape):
    """Tokens of one side; null: not reported."""

    prompt = _count(allow_null=True)
    response = _count(allow_null=True)


class TokensShape(Shape):
    """Tokens of agent and judge, apart."""

    agent = TokenCountShape()
    judge = TokenCountShape()


class CostPartsShape(Shape):
    """USD of agent and judge, apart; null: a price or a usage is unknown."""

    agent = _number()
    judge = _number()


class BudgetShape(Shape):
    """USD of a run: its ceiling (null: none) and what counts towards it."""

    max_cost_usd = _number()
    spent_usd = serializers.FloatField(help_text="What its calls cost, repeated ones included.")
    reserved_usd = serializers.FloatField(help_text="What calls under way may cost at most.")
    unsettled_usd = serializers.FloatField(
        help_text="What calls of workers that died may have cost."
    )


# No shape of its own either: see SummaryField.
@extend_schema_field(
    {
        "type": "object",
        "nullable": True,
        "description": "How texts are compared, null: none are. Scores of different methods do not "
        "compare.",
        "properties": {
            "method": {"type": "string"},
            "is_stand_in": {
                "type": "boolean",
                "description": "Words or a judge in place of embeddings.",
            },
        },
        "required": ["method", "is_stand_in"],
    }
)
class SimilarityField(serializers.JSONField):
    """How texts are compared."""


class RunShape(Shape):
    """A run."""

    id = _count()
    suite = _text(help_text="Slug.")
    agent = _text(help_text="Slug.")
    model = _text(allow_null=True)
    judge = _text(
        allow_null=True, help_text="All who judge: the run's judge first, then those of checks."
    )
    is_scripted = serializers.BooleanField(help_text="The agent is a script, not a model.")
    is_tryout = serializers.BooleanField(help_text="Tried by hand.")
    is_whole = serializers.BooleanField(
        help_text="All cases, with the suite's own agent and model, neither repeated nor tried by "
        "hand: only such runs give a suite its verdict."
    )
    covers = _text(allow_null=True, help_text="In words, what it covers; null: the whole suite.")
    similarity = SimilarityField()
    status = _word(_RUN_STATUSES)
    verdict = _word(Run.Verdict.values, allow_null=True)
    stop_reason = _word(Run.StopReason.values, allow_null=True)
    score = _number()
    counts = CountsShape()
    progress = ProgressShape()
    tokens = TokensShape()
    cost_usd = _number(help_text="Of all results, agent and judge; null: not known.")
    cost_parts_usd = CostPartsShape()
    budget = BudgetShape()
    duration_ms = _number()
    concurrency = _count()
    rerun_of = _count(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class CaseResultShape(Shape):
    """A case over its trials; errored trials count in no rate and no mean."""

    name = _text()
    verdict = _word(_VERDICTS, allow_null=True)
    trials = _count()
    passed = _count()
    failed = _count()
    errored = _count()
    pass_rate = _number()
    score = _number()
    deviation = _number()
    interval = serializers.ListField(child=serializers.FloatField(), allow_null=True)
    pass_at_k = serializers.ListField(child=serializers.FloatField())
    pass_hat_k = serializers.ListField(child=serializers.FloatField())


class GateShape(Shape):
    """A gate: its limit, what was measured, whether it holds (null: unknown).

    `reason` says why nothing was measured.
    """

    name = _text()
    limit = serializers.FloatField()
    actual = _number()
    passed = serializers.BooleanField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class RunDetailsShape(RunShape):
    """A run with its cases and gates, which are known once it has ended."""

    pass_rate = _number()
    median_ms = _number()
    p95_ms = _number()
    pass_at_k = serializers.ListField(child=serializers.FloatField())
    pass_hat_k = serializers.ListField(child=serializers.FloatField())
    cases = CaseResultShape(many=True)
    gates = GateShape(many=True)
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="Sentences to read beside the verdict."
    )
    at_least = serializers.DictField(
        child=serializers.FloatField(), help_text="What is known of sums that are not known."
    )


_OR_NONE = {"type": "boolean", "nullable": True}
_SUMMARY: dict[str, Any] = {
    "overall_passed": {"type": "boolean"},
    "prompt_tokens_passed": _OR_NONE,
    "response_tokens_passed": _OR_NONE,
    "time_passed": _OR_NONE,
    "response_criteria_passed": _OR_NONE | {"description": "Checks that a judge grades."},
    "trajectory_criteria_passed": _OR_NONE
    | {"description": "Checks of the tools that were called and the knowledge that was fetched."},
    "response_criteria_failure_reason": {"type": "string", "nullable": True},
    "prompt_tokens": {"type": "integer", "nullable": True},
    "response_tokens": {"type": "integer", "nullable": True},
    "execution_time_ms": {"type": "number", "description": "The agent's own time, all turns."},
    "tool_calls": {
        "type": "array",
        "items": {"type": "string"},
        "nullable": True,
        "description": "In order; null where the agent does not report its calls.",
    },
}


# Not a shape of its own: drf-spectacular would refer to it, and beside a reference `nullable` says
# nothing in OpenAPI 3.0.
@extend_schema_field(
    {
        "type": "object",
        "nullable": True,
        "description": "Which kinds of criteria passed (null: none is set), and the figures.",
        "properties": _SUMMARY,
        "required": [*_SUMMARY],
    }
)
class SummaryField(serializers.JSONField):
    """Which kinds of criteria passed."""


class ExecutionShape(Shape):
    """One trial of one case."""

    id = _count()
    run = _count()
    case = _text()
    trial = _count()
    status = _word(_STATUSES)
    verdict = _word(_VERDICTS, allow_null=True)
    cause = _word(_CAUSES, allow_null=True)
    reason = _text(allow_null=True)
    score = _number()
    is_scripted = serializers.BooleanField()
    attempts = _count()
    summary = SummaryField()
    duration_ms = _number(help_text="From beginning to end, with all waiting and the judge.")
    time_ms = _number(help_text="The agent's own time, all turns.")
    tokens = TokensShape()
    cost_usd = _number(help_text="Agent and judge; null: not known.")
    cost_parts_usd = CostPartsShape()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class EvidenceShape(Shape):
    """A quote that supports a grade.

    `is_verified`: its words stand in what was said. `speaker`: who says them (agent, user, tool,
    knowledge, case, history, system), empty where nobody does or it was not noted.
    """

    quote = _text()
    turn = _count(allow_null=True)
    bears_on = _text()
    is_verified = serializers.BooleanField()
    speaker = _text()


class GradeShape(Shape):
    """What one check, or limit, said."""

    type = _text()
    name = _text()
    family = _text()
    turn = _count(allow_null=True, help_text="From 1; null: the whole conversation.")
    score = _number()
    passed = serializers.BooleanField(allow_null=True)
    status = _word([each.value for each in GradeStatus])
    cause = _word(_CAUSES, allow_null=True)
    weight = serializers.FloatField()
    threshold = _number()
    reason = _text()
    evidence = EvidenceShape(many=True)
    details = JsonObjectField()


class LimitShape(Shape):
    """A limit; what was measured is told whether or not it is set."""

    limit = _number()
    actual = _number()
    passed = serializers.BooleanField(allow_null=True)


class LimitsShape(Shape):
    """The limits of a case."""

    max_prompt_tokens = LimitShape()
    max_response_tokens = LimitShape()
    max_time_ms = LimitShape()
    max_cost_usd = LimitShape()
    max_tool_calls = LimitShape()


class MessageShape(Shape):
    """Something that was said."""

    role = _word(["user", "assistant"])
    content = _text()
    turn = _count(allow_null=True, help_text="From 1; null: before the first turn.")


class ToolCallShape(Shape):
    """A call of a tool."""

    turn = _count()
    message = _count(help_text="Which of `messages` made it, from 0.")
    name = _text()
    args = JsonObjectField()
    result = AnyJsonField()
    error = _text(allow_null=True)
    duration_ms = serializers.FloatField()


class ShownFileShape(Shape):
    """A file that the user showed along with a message."""

    name = _text()
    media_type = _text()
    size_bytes = _count()


class TurnShape(Shape):
    """How a turn went."""

    turn = _count()
    error = _text(allow_null=True)
    model = _text(allow_null=True)
    latency_ms = serializers.FloatField()
    waited_ms = serializers.FloatField()
    first_token_ms = _number()
    cost_usd = _number()
    attempts = serializers.ListField(child=JsonObjectField())
    notes = serializers.ListField(child=_text())
    files = ShownFileShape(many=True)


class ExecutionDetailsShape(ExecutionShape):
    """Everything about an execution."""

    limits = LimitsShape()
    grades = GradeShape(many=True)
    messages = MessageShape(many=True)
    tool_calls = ToolCallShape(many=True)
    turns = TurnShape(many=True)
    world_changes = JsonObjectField()
    trace_id = _text(
        allow_null=True, help_text="Told to an agent over HTTP: the trace of its `traceparent`."
    )
    warnings = serializers.ListField(child=_text())


class SuiteShape(Shape):
    """A suite, as lists show it."""

    slug = _text()
    name = _text()
    agent = _text(help_text="Slug.")
    description = _text()
    tags = serializers.ListField(child=_text())
    updated_at = serializers.DateTimeField()


class AgentShape(Shape):
    """An agent, as lists show it."""

    slug = _text()
    name = _text()
    driver = _text()
    model = _text(allow_null=True)
    description = _text()
    updated_at = serializers.DateTimeField()


class FixtureShape(Shape):
    """A fixture, as lists show it."""

    slug = _text()
    name = _text()
    description = _text()
    updated_at = serializers.DateTimeField()


class PriceShape(Shape):
    """What a model costs from a day on, in USD per million tokens of each kind."""

    model = _text(help_text="As its provider calls it; may end in *.")
    valid_from = serializers.DateField()
    above_prompt_tokens = _count()
    is_batch = serializers.BooleanField()
    input_usd = serializers.FloatField()
    output_usd = serializers.FloatField()
    cache_read_usd = _number()
    cache_write_5m_usd = _number()
    cache_write_1h_usd = _number()


class ProviderShape(Shape):
    """A provider; `has_key` tells whether its variable is set, null where it needs none."""

    slug = _text()
    name = _text()
    kind = _word(Provider.Kind.values)
    base_url = _text(allow_null=True)
    api_key_env = _text(allow_null=True)
    has_key = serializers.BooleanField(allow_null=True)
    max_tokens_parameter = _word(Provider.MaxTokens.values, allow_null=True)
    max_concurrency = _count(allow_null=True)
    requests_per_minute = _count(allow_null=True)
    prices = PriceShape(many=True)


class DifferenceShape(Shape):
    """A value that changes; null where nothing stands. Long values are shortened."""

    keys = _text(help_text='Path of keys, for example cases["Refund"].turns[0].user.')
    before = _text(allow_null=True)
    after = _text(allow_null=True)


class EditShape(Shape):
    """The last edit since the last import, as far as it is known."""

    by = serializers.CharField(allow_null=True)
    at = serializers.DateTimeField(allow_null=True)


class ChangeShape(Shape):
    """What an import did to one object."""

    kind = _word(["entity type", "fixture", "provider", "agent", "suite"])
    slug = _text()
    what = _word(["created", "updated", "unchanged"])
    edited = EditShape(
        allow_null=True, help_text="Somebody edited what this replaces since its last import."
    )
    came_from = _text(
        allow_null=True, help_text="The other file that a suite came from, which this replaces."
    )
    differences = DifferenceShape(many=True, help_text="Of what a dry run would update.")


class ImportShape(Shape):
    """What an import did, or with `dry_run` would do."""

    dry_run = serializers.BooleanField()
    changes = ChangeShape(many=True)
    warnings = ErrorShape(many=True)
    losses = ErrorShape(many=True, help_text="What has no place here and is left out, and why.")
