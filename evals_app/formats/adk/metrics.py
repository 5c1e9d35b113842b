"""Which metrics decide, as the file beside an eval set says it, and the checks they are here."""

from dataclasses import dataclass, field

from evals_app.formats.adk.shapes import Criterion, EvalConfig, EvalRubric
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.parts import judge_check
from evals_app.formats.foreign.plain_keys import with_plain_keys
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.json_source import read_json
from evals_app.formats.reading.problems import FormatError, Json
from evals_app.formats.tables.columns import SAME_MEANING

_FILES = ("eval_config.json", "test_config.json")
_CALLS, _WORDS, _MEANING = (
    "tool_trajectory_avg_score",
    "response_match_score",
    "final_response_match_v2",
)
_OF_CONVERSATION = "rubric_based_multi_turn_trajectory_quality_v1"
_RUBRICS = (
    "rubric_based_final_response_quality_v1",
    "rubric_based_tool_use_quality_v1",
    _OF_CONVERSATION,
)
# What ADK calls them; some files have their numbers instead.
_ORDERS: dict[str, Json] = {
    "EXACT": {"exact": True, "ordered": True},
    "IN_ORDER": {"ordered": True},
    "ANY_ORDER": {},
}
_LOST = (
    "{} is left out: this metric is not supported. Write criteria for `llm_judge`, or look for a check "
    "like it in the reference."
)
_MEAN = (
    "There, the mean over turns and rubrics must reach {:g}. Here each check decides by itself, so "
    "this threshold is left out."
)


@dataclass(slots=True)
class Metrics:
    """How calls and replies are compared, None where they are not, and what a judge looks for."""

    calls: Json | None = field(default_factory=lambda: dict(_ORDERS["EXACT"]))
    with_args: bool = True
    reply: Json | None = field(default_factory=lambda: dict(SAME_MEANING))
    criteria: list[Json] = field(default_factory=list)
    final: list[Json] = field(default_factory=list)
    reads_rubrics: bool = True


def criterion_of(rubric: EvalRubric) -> Json:
    """Return the check that a judge finds a rubric true."""
    named = {"name": rubric.rubric_id[:200]} if rubric.rubric_id else {}
    return {**judge_check(rubric.rubric_content.text_property), **named}


def read_metrics(reading: ForeignFile) -> Metrics:
    """Read the criteria beside an eval set; without any, calls and meanings are compared."""
    spot = _beside(reading)
    config = spot.part(EvalConfig) if spot else None
    if spot is None or config is None or not config.criteria:
        return Metrics()
    metrics = Metrics(calls=None, reply=None, reads_rubrics=bool({*_RUBRICS} & {*config.criteria}))
    for name in config.criteria:
        _read(metrics, name, spot.at("criteria", name))
    return metrics


def _beside(reading: ForeignFile) -> Spot | None:
    is_test = reading.document.path.endswith(".test.json")
    for name in reversed(_FILES) if is_test else _FILES:
        if content := reading.around.content(reading.document, name):
            try:
                document = with_plain_keys(read_json(reading.path(name), content))
            except FormatError as error:
                reading.problems += error.problems
                return None
            return Spot(ForeignFile(document, reading.around, reading.problems))
    return None


def _read(metrics: Metrics, name: str, spot: Spot) -> None:
    """Add what a metric checks; report what is lost of it."""
    written = spot.value
    if name not in (_CALLS, _WORDS, _MEANING, *_RUBRICS):
        spot.say(_LOST.format(name), level="loss", checks=1, value="")
        return
    is_number = isinstance(written, int | float) and not isinstance(written, bool)
    options = Criterion(threshold=written) if is_number else spot.part(Criterion)
    if options is None:
        return
    rubrics = list(map(criterion_of, options.rubrics))
    if name == _CALLS:
        match = options.match_type
        metrics.calls = _ORDERS[match if isinstance(match, str) else list(_ORDERS)[match]]
        metrics.with_args = not options.ignore_args
    elif name == _MEANING:
        metrics.reply = dict(SAME_MEANING)
    elif name == _OF_CONVERSATION:
        metrics.final = [{**check, "scope": "conversation"} for check in rubrics]
    elif name in _RUBRICS:
        metrics.criteria += rubrics
    elif metrics.reply is None:
        metrics.reply = {"type": "rouge", "variant": "rouge1", "threshold": options.threshold}
    if name != _WORDS and options.threshold < 1:
        spot.say(_MEAN.format(options.threshold), level="loss", value="")
