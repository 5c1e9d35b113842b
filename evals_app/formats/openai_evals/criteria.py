"""What each criterion is here: a check for every item, or a loss with what to do instead."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evals_app.formats.foreign.chats import content_text
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.openai_evals.parts import LostPartError
from evals_app.formats.openai_evals.shapes import (
    Asking,
    LabelModel,
    Sampling,
    ScoreModel,
    SimilarityCheck,
    StringCheck,
    TestingCriterion,
)
from evals_app.formats.openai_evals.templates import Template, Variable
from evals_app.formats.reading.problems import Json
from fixtures_app.ground.patterns import MAX_PATTERN_CHARS
from fixtures_app.ground.words import near

# Gives the check for an item.
Make = Callable[[object], Json]

_NAME_CHARS = 200
_PROVIDER = re.compile(r"([a-z0-9]+(?:[-_][a-z0-9]+)*)/(.+)", re.DOTALL)
_PLAIN_STEP = re.compile(r"[A-Za-z_]\w*")

_METRICS: dict[str, Json] = {
    "bleu": {"type": "bleu"},
    "cosine": {"type": "semantic_similarity"},
    "fuzzy_match": {"type": "fuzzy_match"},
    "meteor": {"type": "meteor"},
    "rouge_1": {"type": "rouge", "variant": "rouge1"},
    "rouge_2": {"type": "rouge", "variant": "rouge2"},
    "rouge_l": {"type": "rouge", "variant": "rougeL"},
}
_LOST_METRICS = {
    "gleu": "Use bleu instead, whose scores differ.",
    **dict.fromkeys(("rouge_3", "rouge_4", "rouge_5"), "Use rouge_2 or rouge_l instead."),
}
_SYMMETRIC = ("cosine", "fuzzy_match", "rouge_1", "rouge_2", "rouge_l")
_WORDS = (
    "The scores differ: OpenAI compares letters, while fuzzy_match counts the words that both "
    "texts share. Check the threshold."
)
_CODE = (
    "Code does not run on import. Express it with other checks, or write a Python function that "
    "your administrator permits and use the check `code`."
)
LOST_TYPES = {
    "multi": "A formula over several graders is not supported. Import each of its graders as a "
    "criterion of its own.",
    "python": _CODE,
}
_NOT_THE_REPLY = (
    "It does not check the reply: neither text contains {{sample.output_text}}. The agent is "
    "asked again here, so compare its reply."
)
_FORM = "Disregard what is written above about the form of the answer."


@dataclass(frozen=True, slots=True)
class JudgeCriterion:
    """A criterion that can be asked; `expects` if its reference is one field of the item."""

    spot: Spot
    name: str
    make: Make
    template: Template
    expects: bool = False

    def check(self, item: Spot, data: Any) -> Json | None:
        """Return the check for an item.

        Report a problem and return None if it has none there.
        """
        missing = ", ".join(f"{{{{{entry}}}}}" for entry in self.template.missing(data))
        try:
            check = self.make(data)
        except LostPartError as lost:
            why = f"This item has no {missing}." if missing else lost
            item.lose(f"The check {self.name!r} is left out here. {why}", checks=1)
            return None
        if missing:
            message = f"The check {self.name!r} uses {missing}, which this item does not have."
            item.say(message, level="warning")
        return {**check, **({"name": self.name[:_NAME_CHARS]} if self.name else {})}


def read_criteria(spots: Sequence[Spot]) -> list[JudgeCriterion]:
    """Read testing criteria; those that have no equal here are reported as lost."""
    items = []
    for spot in spots:
        written = spot.value
        kind = written.get("type") if isinstance(written, dict) else None
        if isinstance(kind, str) and kind not in _SHAPES:
            named = written.get("name")
            name = named if isinstance(named, str) else kind
            spot.lose(_left_out(name, kind, _why(kind)), checks=1)
            continue
        criterion = spot.part(_SHAPES.get(str(kind), TestingCriterion))
        if criterion is None:
            continue
        name = criterion.name or criterion.type
        try:
            items.append(_judge_criterion(criterion, spot, name))
        except LostPartError as lost:
            spot.lose(_left_out(name, criterion.type, str(lost)), checks=1)
    return items


def _left_out(name: str, kind: str, why: str) -> str:
    return f"The criterion {name!r} ({kind}) is left out. {why}"


def _why(kind: str) -> str:
    known = [*_SHAPES, *LOST_TYPES]
    unknown = f"This type is not known.{near(kind, known)} Known: {', '.join(known)}."
    return LOST_TYPES.get(kind, unknown)


def _judge_criterion(criterion: TestingCriterion, spot: Spot, name: str) -> JudgeCriterion:
    match criterion:
        case StringCheck():
            side, reference = _sides(criterion, swaps=criterion.operation in ("eq", "ne"))
            make = _string_check(criterion.operation, side, reference)
            is_text = side.path[0] != "output_tools" and criterion.operation != "ne"
            expects = is_text and reference.alone is not None
            return JudgeCriterion(spot, name, make, reference, expects)
        case SimilarityCheck():
            return _similarity(criterion, spot, name)
        case ScoreModel() | LabelModel():
            prompt = _prompt(criterion, spot)
            how, options = (
                _score(criterion, spot) if isinstance(criterion, ScoreModel) else _label(criterion)
            )
            if model := model_of(criterion.model, criterion.sampling_params):
                options["model"] = model

            def judge(item: object) -> Json:
                asked = prompt.fill(item, _in_words)
                return {"type": "llm_judge", "criteria": f"{asked}\n\n{how}", **options}

            return JudgeCriterion(spot, name, judge, prompt)
    raise LostPartError(_why(criterion.type))


def _sides(written: StringCheck | SimilarityCheck, *, swaps: bool) -> tuple[Variable, Template]:
    """Return the part of the reply that is compared, and the text that it is compared with.

    Raises:
        LostPartError: nothing of the reply is, or the reply in the midst of another text.
    """
    side, reference = Template(written.input), Template(written.reference)
    if not (side.asks_reply or reference.asks_reply):
        raise LostPartError(_NOT_THE_REPLY)
    if side.asks_reply and reference.asks_reply:
        raise LostPartError("Two parts of the reply are not compared with each other.")
    if reference.asks_reply:
        if not swaps:
            raise LostPartError(
                "The check reads the reply, not the text it is compared with. Make "
                "{{sample.output_text}} the `input`."
            )
        side, reference = reference, side
    if side.alone is None:
        raise LostPartError(
            "The reply is in the middle of another text. Compare {{sample.output_text}} alone."
        )
    if reference.unknown:
        raise LostPartError(
            f"{reference.unknown[0]} is not a variable; those are {{{{item.x}}}} and {{{{sample.x}}}}."
        )
    return side.alone, reference


def _fill_reference(reference: Template, item: object) -> str:
    text = reference.fill(item, _in_words)
    if not text.strip():
        raise LostPartError("The text to compare with is empty.")
    return text


def _string_check(operation: str, side: Variable, reference: Template) -> Make:
    match side.path:
        case ("output_text",):
            compare = _WHOLE[operation]
        case ("output_json", *path) if path and operation == "eq":
            place = {"response_path": _json_path(path)}
            return lambda item: {
                "type": "exact_match",
                "value": _fill_reference(reference, item),
                **place,
            }
        case ("output_json", *path) if path:
            raise LostPartError(
                f"Only `eq` reads a part of a JSON reply. Use json_path at {_json_path(path)}."
            )
        case ("output_tools", _, "function", "name") if operation in ("eq", "ne"):
            kind = "tool_called" if operation == "eq" else "tool_not_called"
            return lambda item: {"type": kind, "value": _fill_reference(reference, item)}
        case _:
            raise LostPartError(_unread(side))
    return lambda item: compare(_fill_reference(reference, item))


def _unequal(text: str) -> Json:
    pattern = rf"\A{re.escape(text)}\z"
    if len(pattern) > MAX_PATTERN_CHARS:
        raise LostPartError(
            f"As a pattern this text has more than {MAX_PATTERN_CHARS:,} characters."
        )
    return {"type": "not_matches", "value": pattern, "case_sensitive": True}


_WHOLE: dict[str, Callable[[str], Json]] = {
    "eq": lambda text: {"type": "exact_match", "value": text},
    "ne": _unequal,
    "like": lambda text: {"type": "contains", "value": text, "case_sensitive": True},
    "ilike": lambda text: {"type": "contains", "value": text},
}


def _similarity(criterion: SimilarityCheck, spot: Spot, name: str) -> JudgeCriterion:
    metric = criterion.evaluation_metric
    if metric not in _METRICS:
        known = [*_METRICS, *_LOST_METRICS]
        unknown = f"This metric is not known.{near(metric, known)} Known: {', '.join(known)}."
        raise LostPartError(_LOST_METRICS.get(metric, unknown))
    side, reference = _sides(criterion, swaps=metric in _SYMMETRIC)
    common = {**_METRICS[metric], "threshold": criterion.pass_threshold}
    match side.path:
        case ("output_text",):
            pass
        case ("output_json", *path) if path:
            common["response_path"] = _json_path(path)
        case _:
            raise LostPartError(_unread(side))
    if metric == "fuzzy_match":
        spot.at("evaluation_metric").lose(_WORDS)
    make: Make = lambda item: {**common, "value": _fill_reference(reference, item)}  # noqa: E731
    return JudgeCriterion(spot, name, make, reference, reference.alone is not None)


def _unread(side: Variable) -> str:
    return (
        f"{{{{{side.written}}}}} cannot be compared here; output_text, fields of output_json and the "
        "names of tools can."
    )


def _json_path(steps: Sequence[str]) -> str:
    path = ""
    for step in steps:
        if step.isdecimal():
            path += f"[{step}]"
        elif _PLAIN_STEP.fullmatch(step):
            path += f".{step}" if path else step
        else:
            path += f"['{step}']" if path else f"$['{step}']"
    return path if not path.startswith("[") else f"${path}"


# Judged.


def _prompt(criterion: Asking, spot: Spot) -> Template:
    texts = []
    for n, message in enumerate(criterion.input):
        content = message.get("content") if isinstance(message, dict) else message
        text, is_all = content_text(content)
        if not is_all:
            spot.at("input", n).lose("Images and audio in the grader's prompt are left out.")
        texts.append(text)
    prompt = "\n\n".join(filter(str.strip, texts))
    if not prompt:
        raise LostPartError("Its prompt has no text.")
    template = Template(prompt)
    for unknown in dict.fromkeys(template.unknown):
        message = f"{unknown} is not a variable of an item, so the judge receives it unchanged."
        spot.at("input").lose(message)
    return template


def model_of(name: str | None, sampling: Sampling | None) -> object:
    """Return a model in our words: one without a provider is OpenAI's."""
    if name is None:
        return None
    match = _PROVIDER.fullmatch(name)
    provider, model = (match[1], match[2]) if match else ("openai", name)
    settings = sampling.settings() if sampling and provider != "scripted" else {}
    named = {"provider": provider, "name": model}
    return {**named, **settings} if settings else f"{provider}/{model}"


def _score(criterion: ScoreModel, spot: Spot) -> tuple[str, Json]:
    """Return how a judge scores, and the options of the check."""
    least, best = criterion.bounds
    how = (
        f"Score as the text above asks. {_FORM} Its scores go from {least:g} to {best:g}: {least:g} is "
        f"the worst verdict that you can give, {best:g} the best, and the others lie evenly between."
    )
    scale: Json = {"scale": "0-1"}
    if criterion.pass_threshold is None:
        spot.say("Without a pass_threshold this score is only shown.", level="warning")
    else:
        share = (criterion.pass_threshold - least) / (best - least)
        scale["threshold"] = round(share, 6)
    return how, scale


def _label(criterion: LabelModel) -> tuple[str, Json]:
    passing = " or ".join(criterion.passing_labels)
    how = (
        f"Choose one of these labels as the text above asks: {', '.join(criterion.labels)}. {_FORM} "
        f"The verdict is pass if the label is {passing}, and fail if it is any other."
    )
    return how, {"scale": "pass_fail"}


def _in_words(variable: Variable) -> str:
    """Name a part of the reply: a judge is shown the reply itself."""
    match variable.path:
        case ("output_json", *path) if path:
            return f"[{_json_path(path)} of the reply]"
        case ("output_tools", *_):
            return "[the tool calls]"
    return "[the reply]"


_SHAPES: dict[str, type[TestingCriterion]] = {
    "string_check": StringCheck,
    "text_similarity": SimilarityCheck,
    "score_model": ScoreModel,
    "label_model": LabelModel,
}
