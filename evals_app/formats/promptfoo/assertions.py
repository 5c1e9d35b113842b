"""Assertions as they are written: references and sets followed, values loaded and filled in."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals_app.formats.promptfoo.checks import (
    BY_JUDGE,
    CHECKS,
    CODE,
    JUDGE,
    LISTS,
    LOST,
    NEEDLES,
    NO_CODE,
    NOT_TEXT,
    TYPES,
    Change,
    FilledAssertion,
    NoEquivalentError,
    WrongError,
    require_same_result,
)
from evals_app.formats.promptfoo.providers import embedder_of, judge_of
from evals_app.formats.promptfoo.redteam import PREFIX, criteria_of
from evals_app.formats.promptfoo.shapes import Assertion
from evals_app.formats.promptfoo.source import ProjectSpot, is_data, is_file, is_program
from evals_app.formats.promptfoo.templates import NunjucksTemplate, Vars
from evals_app.formats.reading.problems import Json
from fixtures_app.ground.words import near

_NAME_CHARS = 200
_NOT = "not-"
_SET = "assert-set"
_ONE = "one of a list"
# One place in a JSON reply: output.order.items[0], JSON.parse(output).total
_PLACE = re.compile(
    r"\s*(?:return\s+)?(?:JSON\.parse\(\s*output\s*\)|output)"
    r"((?:\.(?!length\b)[A-Za-z_]\w*|\[\d+\]|\['[^']*'\]|\[\"[^\"]*\"\])+)\s*;?\s*"
)
# Changes that many checks can do without, such as output.trim().
_CALLS: Mapping[Change, str] = {"trimmed": ".trim(", "in lower case": ".toLowerCase("}
_CHANGES = re.compile(r"\s*(?:return\s+)?output((?:\s*\.(?:trim|toLowerCase)\(\s*\))+)\s*;?\s*")
_ATTACKED = (
    "promptfoo grades this attack by a prompt of its own. Here a judge decides by what the file says of the "
    "attack: its goal, policy or kind of harm, and the purpose of the agent."
)
_NO_GOAL = "The file does not say what would be wrong. Write a `goal` into the metadata of the test, or ask a judge: llm-rubric."
_TRANSFORMED = "It checks a reply that code has transformed, and code does not run here."


class _UnreadError(Exception):
    """A value in a file that cannot be read, which has been reported."""


@dataclass(frozen=True, slots=True)
class AssertionContext:
    """What assertions of a case are read with; `turn` takes what they need of the turn.

    `transforms`: where there is code that changes each reply before any assertion reads it.
    `by_score`: the score of the case decides, whatever its single checks say.
    """

    values: Vars
    turn: Json
    transforms: Sequence[ProjectSpot]
    grader: ProjectSpot | None
    templates: Mapping[str, object]
    by_score: bool
    metadata: Mapping[str, object]


def read_checks(
    spot: ProjectSpot, setting: AssertionContext, share: float = 1.0
) -> list[tuple[Json, ProjectSpot]]:
    """Return the checks that an assertion means, each with its place; report what is lost."""
    followed = _follow(spot, setting)
    written = followed.part(Assertion) if followed else None
    if followed is None or written is None:
        return []
    spot = followed
    weight = _weight(written.weight, metric_only=written.metric_only) * share
    if written.type == _SET or written.assertions is not None:
        return _set(spot, written, setting, weight)
    if written.type is None:
        spot.say(f"An assertion needs a type. Known: {', '.join(CHECKS)}.")
        return []
    try:
        checks = _checks(spot, written, setting)
    except NoEquivalentError as lost:
        spot.lose(f"{written.type} has no equivalent here and is left out. {lost}", checks=1)
        return []
    except WrongError as wrong:
        spot.say(str(wrong))
        return []
    except _UnreadError:
        return []
    return [
        (_common(check, spot, written, setting, weight / len(checks)), spot) for check in checks
    ]


def _weight(written: float | None, *, metric_only: bool) -> float:
    # What is only measured is shown, as everything of weight 0 is.
    return 0.0 if metric_only else 1.0 if written is None else written


def _follow(spot: ProjectSpot, setting: AssertionContext) -> ProjectSpot | None:
    """Follow a reference to another place of the configuration.

    Report a problem and return None if it is not there.
    """
    written = spot.value
    reference = written.get("$ref") if isinstance(written, dict) else None
    if not isinstance(reference, str):
        return spot
    target = spot.project.root.at(*reference.removeprefix("#/").split("/"))
    if target.value is None or target.value is written:
        hint = near(reference, [f"#/assertionTemplates/{name}" for name in setting.templates])
        spot.say(f"There is nothing at {reference} in this configuration.{hint}")
        return None
    for key in written.keys() - {"$ref"}:
        spot.at(key).lose(f"Keys next to a $ref are ignored here. Write them at {reference}.")
    return target


def _set(
    spot: ProjectSpot, written: Assertion, setting: AssertionContext, weight: float
) -> list[tuple[Json, ProjectSpot]]:
    if written.threshold is not None:
        spot.at("threshold").lose(
            "In promptfoo some assertions of a set may fail. Here all of them must pass."
        )
    inner = [spot.at("assert", n) for n in range(len(written.assertions or []))]
    total = sum(map(_weight_of, inner))
    share = weight / total if total else 0.0
    return [check for item in inner for check in read_checks(item, setting, share)]


def _weight_of(spot: ProjectSpot) -> float:
    if not isinstance(spot.value, dict):
        return 0
    written = spot.value.get("weight")
    weight = written if isinstance(written, int | float) else None
    return _weight(weight, metric_only=spot.value.get("metricOnly") is True)


def _checks(spot: ProjectSpot, written: Assertion, setting: AssertionContext) -> list[Json]:
    kind = str(written.type).removeprefix(_NOT)
    attacked = criteria_of(written.value, setting.metadata) if kind.startswith(PREFIX) else None
    if attacked is not None:
        spot.say(_ATTACKED, level="guess")
        kind = "llm-rubric"
    elif kind not in CHECKS and kind not in LOST and not kind.startswith(PREFIX):
        hint = near(kind, TYPES)
        raise WrongError(f"Unknown assertion {kind!r}.{hint} Known: {', '.join(TYPES)}.")
    if kind not in CHECKS:
        raise NoEquivalentError(LOST.get(kind, _NO_GOAL if kind.startswith(PREFIX) else JUDGE))
    if written.context_transform is not None:
        message = f"{NO_CODE} The results of the agent's tools are its context."
        spot.at("contextTransform").lose(message)
    place, changes = (None, frozenset[Change]()) if kind in NOT_TEXT else _read(written, setting)
    asserted = FilledAssertion(
        kind,
        inverse=str(written.type).startswith(_NOT),
        value=_value(spot, setting.values, kind) if attacked is None else attacked,
        threshold=written.threshold,
        place=place,
        changes=changes,
        values=setting.values,
        turn=setting.turn,
    )
    require_same_result(asserted)
    checks = CHECKS[kind](asserted)
    if setting.by_score and len(checks) > 1:
        spot.lose("This test passes by its score, and here each part of this counts separately.")
    return checks


def _value(spot: ProjectSpot, values: Vars, kind: str) -> Any:
    """Return the value of an assertion, loaded from a file and with its variables filled in."""
    here = spot.at("value")
    written = here.value
    if not is_file(written):
        return _fill(written, values, here, kind)
    if is_program(written):
        raise NoEquivalentError(CODE)
    for path in here.files(written)[:1]:
        if is_data(path) and (document := here.project.document(here, path)):
            return document.data
        if not is_data(path) and (text := here.project.text(here, path)) is not None:
            return _fill(text.strip(), values, here, kind)
    raise _UnreadError


def _fill(value: object, values: Vars, here: ProjectSpot, kind: str) -> object:
    if isinstance(value, str):
        template = NunjucksTemplate(value)
        if template.problem:
            raise NoEquivalentError(f"{template.problem}.")
        for name in template.missing(values):
            message = f"A test with this assertion does not set {{{{{name}}}}}, so it is empty."
            here.say(message, level="warning")
        return _text_of(template, values, kind)
    if isinstance(value, list):
        # A text of a list is not cut at its commas.
        return [_fill(item, values, here, _ONE if kind in LISTS else kind) for item in value]
    if isinstance(value, dict):
        return {key: _fill(item, values, here, kind) for key, item in value.items()}
    return value


def _text_of(template: NunjucksTemplate, values: Vars, kind: str) -> str:
    """Fill in a text. One that is looked for must not be data, which no reply has.

    What looks for several texts cuts them at the commas that Nunjucks puts between those of a list.
    """
    holding = template.holding(values)
    if not holding or kind not in (*NEEDLES, *LISTS, _ONE):
        return template.literal(values)
    mapping = next((name for name, value in holding.items() if _has_mapping(value)), None)
    if kind in LISTS and mapping is None:
        return template.fill_as_text(values)
    name = mapping or next(iter(holding))
    if mapping:
        raise NoEquivalentError(
            f"{{{{{name}}}}} holds keys with values, not a text. Name one of them: {{{{{name}.key}}}}."
        )
    raise NoEquivalentError(
        f"{{{{{name}}}}} holds a list, and this looks for one text. Name one of its items, such as "
        f"{{{{{name}[0]}}}}, or use contains-all or contains-any with the whole list."
    )


def _has_mapping(value: object) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(map(_has_mapping, value)))


def _read(written: Assertion, setting: AssertionContext) -> tuple[str | None, frozenset[Change]]:
    """Return the part of a JSON reply to check (None: all of it), and how it is changed.

    Raises:
        NoEquivalentError: any other code changes it.
    """
    codes = [written.transform] if written.transform is not None else []
    codes += [spot.value for spot in setting.transforms]
    changes = frozenset[Change]()
    places = []
    for code in codes:
        if isinstance(code, str) and (match := _CHANGES.fullmatch(code)):
            changes |= {name for name, call in _CALLS.items() if call in match[1]}
        elif isinstance(code, str) and (match := _PLACE.fullmatch(code)):
            places.append(match[1].removeprefix("."))
        else:
            raise NoEquivalentError(_TRANSFORMED)
    if len(places) + bool(changes) > 1:
        raise NoEquivalentError(_TRANSFORMED)
    return (places[0] if places else None), changes


def _common(
    check: Json, spot: ProjectSpot, written: Assertion, setting: AssertionContext, weight: float
) -> Json:
    """Add what every check may have: its name, its weight, its judge."""
    common: Json = {}
    if written.metric and "name" not in check:
        template = NunjucksTemplate(written.metric)
        if template.problem:
            spot.at("metric").lose(f"{template.problem}. It stays as it is.")
        name = template.literal(setting.values)[:_NAME_CHARS]
        common |= optional_key("name", name or None)
    if not math.isclose(weight, 1):
        common["weight"] = round(weight, 6)
    grader = setting.grader if written.provider is None else spot.at("provider")
    if grader is not None and check["type"] in BY_JUDGE:
        common |= optional_key("model", judge_of(grader))
    if grader is not None and check["type"] == "semantic_similarity":
        common |= optional_key("embedding_model", embedder_of(grader))
    return {**check, **common}


def optional_key(key: str, value: object) -> Json:
    """Return a key with its value; nothing if it is None."""
    return {} if value is None else {key: value}
