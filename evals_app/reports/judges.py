"""All who judge in a run, in one text: the run's judge first, then those that checks name."""

from collections.abc import Iterable, Mapping
from typing import Any

from evals_app.engine.spec import ModelSpec

_BETWEEN = ", "
UNCALIBRATED = "uncalibrated"


def judges_text(judges: Iterable[ModelSpec]) -> str:
    """Name each once."""
    return _BETWEEN.join(dict.fromkeys(map(str, judges)))


def judges_in(text: str) -> list[str]:
    """Take such a text apart."""
    return text.split(_BETWEEN) if text else []


def has_script(judges: str) -> bool:
    """Say whether one of them follows a script."""
    return any(judge.startswith("scripted/") for judge in judges_in(judges))


def flags_shown(details: Mapping[str, Any]) -> list[str]:
    """Return the flags of a judged grade as they are today; none if it has none.

    Whether its judge agrees with people is not a matter of when it was graded: what old grades
    stored of that is left out, and said anew.
    """
    stored = details.get("flags")
    if not isinstance(stored, list):
        return []
    flags = [each for each in stored if isinstance(each, str) and each != UNCALIBRATED]
    return flags if is_compared_with_people(flags) else [*flags, UNCALIBRATED]


def is_compared_with_people(flags: Iterable[str]) -> bool:
    """Say whether it is known how often people agree with this judge; of a script it says nothing.

    Nothing compares them yet, so it is known of no model.
    """
    return "scripted" in flags


def with_flags_shown(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of a grade with its flags as they are today."""
    return {**details, "flags": flags_shown(details)} if "flags" in details else dict(details)
