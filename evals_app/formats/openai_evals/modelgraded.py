"""Evals of the open-source framework that a model grades: its prompt becomes criteria of a judge."""

import re
from dataclasses import dataclass, field
from typing import Any

from evals_app.formats.foreign.chats import content_text, is_chat
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.words import text_of
from evals_app.formats.openai_evals.parts import LostPartError, read_sibling
from evals_app.formats.openai_evals.shapes import Modelgraded
from evals_app.formats.reading.problems import Json
from evals_app.formats.reading.yaml_source import read_yaml

# Where prompts are, from the file that names them.
_PLACES = ("../modelgraded/{}.yaml", "modelgraded/{}.yaml", "{}.yaml", "{}")
_FIELD = re.compile(r"\{\{|\}\}|\{(\w+)\}")
# Of prompts of the framework that have no scores: the choices that mean a good reply.
_GOOD = {"fact": ("A", "B", "C", "E")}
_ONE_REPLY = "It compares several replies of a model. Here each reply is graded by itself."


@dataclass(frozen=True, slots=True)
class ModelgradedPrompt:
    """A prompt with what it needs; `input` is the key of a sample under which it is asked."""

    spot: Spot
    input: str
    prompt: str
    choices: tuple[str, ...]
    passing: tuple[str, ...]
    completion: str
    args: Json = field(repr=False)
    renamings: Json = field(repr=False)

    def check(self, row: Json) -> Json:
        values = {self.renamings.get(key, key): value for key, value in row.items()}
        values = {**values, **self.args, self.completion: "[the reply]"}
        how = (
            f"Choose one of {', '.join(self.choices)} as the text above asks. Disregard what is written "
            f"above about the form of the answer. The verdict is pass for {' or '.join(self.passing)},"
            " and fail for any other choice."
        )
        criteria = _FIELD.sub(lambda match: _value(match, values), self.prompt)
        return {"type": "llm_judge", "criteria": f"{criteria}\n\n{how}", "scale": "pass_fail"}


def _value(match: re.Match[str], values: Json) -> str:
    if match[1] is None:
        return match[0][0]  # braces are written twice
    if match[1] not in values:
        raise LostPartError(f"Its prompt uses {{{match[1]}}}, which this sample does not have.")
    value = values[match[1]]
    if is_chat(value):
        messages = (
            (item.get("role", item.get("from")), content_text(item.get("content"))[0])
            for item in value
        )
        return "\n".join(f"{role}: {text}" for role, text in messages)
    return text_of(value)


def read_modelgraded(args: Spot) -> ModelgradedPrompt | None:
    """Read the prompt that an eval names.

    Report a problem and return None if there is something wrong in it.

    Raises:
        LostPartError: it has no equal here, or is not here.
    """
    key = "modelgraded_spec" if args.at("modelgraded_spec").value else "modelgraded_spec_file"
    here = args.at(key)
    name = here.value
    if not isinstance(name, str) or not name:
        raise LostPartError(
            "It needs the name of its prompt, for example modelgraded_spec: closedqa.", args
        )
    if args.at("multicomp_n").value not in (None, 1) or args.at("metaeval").value:
        raise LostPartError(_ONE_REPLY)
    spot = _file(here, name)
    spec = spot.part(Modelgraded) if spot else None
    if spot is None or spec is None:
        return None
    prompt = _prompt(spec.prompt)
    inputs, outputs = list(spec.input_outputs), list(spec.input_outputs.values())
    if len(inputs) > 1 or not prompt:
        raise LostPartError(_ONE_REPLY if prompt else "Its prompt has no text.")
    choices = _choices(spec)
    given, renamed = (
        written if isinstance(written := args.at(key).value, dict) else {}
        for key in ("modelgraded_spec_args", "samples_renamings")
    )
    asked = inputs[0] if inputs else "input"
    return ModelgradedPrompt(
        spot,
        next((key for key, value in renamed.items() if value == asked), asked),
        prompt,
        choices,
        _passing(spec, choices, name, spot),
        outputs[0] if outputs else "completion",
        given,
        renamed,
    )


def _file(here: Spot, name: str) -> Spot | None:
    spot = read_sibling(here, (place.format(name) for place in _PLACES), read_yaml)
    if spot is None:
        raise LostPartError(
            f"There is no file {name}.yaml in the folder modelgraded next to the folder of this "
            "file. Name it too, import the folder that contains both (registry), or upload both "
            "in one zip.",
            here,
        )
    if spot.value is None:
        return None
    # Older files have the prompt below its name.
    return spot if spot.at("prompt").value is not None else spot.at(name)


def _prompt(written: Any) -> str:
    if isinstance(written, str):
        return written.strip()
    texts = (content_text(item.get("content"))[0] for item in written) if is_chat(written) else ()
    return "\n\n".join(texts).strip()


def _choices(spec: Modelgraded) -> tuple[str, ...]:
    if isinstance(spec.choice_strings, str) and spec.choice_strings.startswith("from_n"):
        raise LostPartError(_ONE_REPLY)
    return tuple(spec.choice_strings)


def _passing(spec: Modelgraded, choices: tuple[str, ...], name: str, spot: Spot) -> tuple[str, ...]:
    """Return the choices that mean a good reply: those of the highest score."""
    scores = spec.choice_scores
    if isinstance(scores, str):
        scores = {choice: float(choice) for choice in choices if choice.isdecimal()}
    if scores:
        if len(set(scores.values())) > 2:  # noqa: PLR2004 - good and bad
            spot.at("choice_scores").lose("Only the choice with the highest score passes here.")
        best = max(scores.values())
        return tuple(score for score in scores if scores[score] == best)
    if name in _GOOD:
        return _GOOD[name]
    raise LostPartError(
        "Its prompt does not say which choices are good. Add choice_scores to it, for example "
        "choice_scores: {Y: 1, N: 0}."
    )
