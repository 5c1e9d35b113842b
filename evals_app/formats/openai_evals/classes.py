"""What each class of the open-source framework is here: checks for a sample, or a loss."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evals_app.formats.foreign.spots import Spot
from evals_app.formats.openai_evals.modelgraded import read_modelgraded
from evals_app.formats.openai_evals.parts import LostPartError
from evals_app.formats.openai_evals.shapes import RegistryEntry
from evals_app.formats.reading.problems import Json
from fixtures_app.ground.patterns import MAX_PATTERN_CHARS
from fixtures_app.ground.words import near

# Gives the check for a sample; the flag says that it is of its expected answer.
Make = Callable[[Json], tuple[Json, bool]]

_FUZZY = (
    "There, a reply that is only a part of the ideal answer passed, and a, an, the and "
    "punctuation were ignored. Here the reply must contain the ideal answer."
)
_FEW_SHOT = "Examples are not sent before the question. Write them into the agent's system prompt."
# Said by the framework's own settings of the model.
_OF_MODEL = ("max_tokens", "max_output_tokens")
_CODE = (
    "Its class {} is code, which does not run on import. Express it with other checks, or write "
    "a Python function that your administrator permits and use the check `code`."
)


@dataclass(frozen=True, slots=True)
class Grading:
    """How the samples of an eval are graded; `input` is the key of what is asked."""

    make: Make
    input: str = "input"
    spot: Spot | None = None


def _ideals(row: Json) -> list[str]:
    """Return the ideal answers of a sample.

    Raises:
        LostPartError: there is none.
    """
    written = row.get("ideal")
    ideals = written if isinstance(written, list) else [written]
    texts = [
        item if isinstance(item, str) else json.dumps(item) for item in ideals if item is not None
    ]
    if not texts or not all(text.strip() for text in texts):
        raise LostPartError("It has no `ideal` answer to compare with.")
    return texts


def _pattern(texts: list[str], *, begin: str = "", is_sensitive: bool = True) -> Json:
    texts = list(map(re.escape, texts))
    pattern = f"{begin}(?:{'|'.join(texts)})" if len(texts) > 1 else f"{begin}{texts[0]}"
    if len(pattern) > MAX_PATTERN_CHARS:
        raise LostPartError(
            f"Its ideal answers have more than {MAX_PATTERN_CHARS:,} characters together."
        )
    return {"type": "matches", "value": pattern, "case_sensitive": is_sensitive}


def _match(row: Json) -> tuple[Json, bool]:
    return _pattern(_ideals(row), begin=r"\A"), False


def _includes(*, is_sensitive: bool) -> Make:
    def make(row: Json) -> tuple[Json, bool]:
        texts = _ideals(row)
        if len(texts) > 1:
            return _pattern(texts, is_sensitive=is_sensitive), False
        case = {"case_sensitive": True} if is_sensitive else {}
        return {"type": "contains", "value": texts[0], **case}, True

    return make


def _json_match(row: Json) -> tuple[Json, bool]:
    try:
        values = [json.loads(text) for text in _ideals(row)]
    except (ValueError, RecursionError):
        raise LostPartError("Its `ideal` answer is not JSON.") from None
    same = [{"const": value} for value in values]
    schema = same[0] if len(same) == 1 else {"anyOf": same}
    return {"type": "json_schema", "schema": schema}, False


INCLUDES = Grading(_includes(is_sensitive=False))


def grading_of(spot: Spot, entry: RegistryEntry) -> Grading | None:
    """Return how an eval grades.

    Report a problem and return None if what it names cannot be read.

    Raises:
        LostPartError: it has no equal here.
    """
    kind = entry.class_.rpartition(":")[2]
    args = spot.at("args")
    if kind == "ModelBasedClassify":
        _tell_lost(args, entry.args, _OF_MODELGRADED)
        graded = read_modelgraded(args)
        if graded is None:
            return None
        return Grading(lambda row: (graded.check(row), False), graded.input, graded.spot)
    if kind not in _CLASSES:
        hint = near(kind, [*_CLASSES, "ModelBasedClassify"])
        raise LostPartError(_CODE.format(entry.class_) + hint)
    makes, known_args = _CLASSES[kind]
    _tell_lost(args, entry.args, known_args)
    if kind == "FuzzyMatch":
        spot.at("class").lose(_FUZZY)
    return Grading(makes(entry.args), spot=spot)


def _tell_lost(args: Spot, written: Mapping[str, object], known: tuple[str, ...]) -> None:
    for key in written:
        if key in ("num_few_shot", "few_shot_jsonl"):
            args.at(key).lose(_FEW_SHOT)
        elif key in _OF_MODEL:
            args.at(key).lose("Set max_output_tokens of the agent instead.")
        elif key not in ("samples_jsonl", *known):
            args.at(key).lose("This setting of the class is not supported here.")


_OF_MODELGRADED = (
    *("modelgraded_spec", "modelgraded_spec_file", "modelgraded_spec_args", "eval_type"),
    *("samples_renamings", "multicomp_n", "metaeval", "match_fn"),
)
_CLASSES: dict[str, tuple[Callable[[Json], Make], tuple[str, ...]]] = {
    "Match": (lambda _: _match, ()),
    "Includes": (
        lambda args: _includes(is_sensitive=not args.get("ignore_case")),
        ("ignore_case",),
    ),
    "FuzzyMatch": (lambda _: _includes(is_sensitive=False), ()),
    "JsonMatch": (lambda _: _json_match, ()),
    "JsonValidator": (lambda _: lambda _: ({"type": "json_valid"}, False), ()),
}
