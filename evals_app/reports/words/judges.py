"""All judges of a run in one text: the run's judge first, then those of single checks."""

from collections.abc import Iterable, Mapping

from evals_app.engine.specs.base_spec import ModelSpec

_BETWEEN = ", "
UNCALIBRATED = "uncalibrated"


def judges_text(judges: Iterable[ModelSpec]) -> str:
    """Return the judges as text, each once."""
    return joined_judges(map(str, judges))


def joined_judges(names: Iterable[str]) -> str:
    """Return the names of judges as text, each once."""
    return _BETWEEN.join(dict.fromkeys(names))


def judges_in(text: str) -> list[str]:
    """Return the judges of such a text."""
    return text.split(_BETWEEN) if text else []


def has_script(judges: str) -> bool:
    """Return whether one of them is scripted."""
    return any(judge.startswith("scripted/") for judge in judges_in(judges))


def flags_shown(details: Mapping[str, object], *, is_compared: bool) -> list[str]:
    """Return the flags of a judged grade as they are today; none if it has none.

    Whether its judge was compared with people does not depend on the time of grading: what old grades
    stored about it is replaced.
    """
    stored = details.get("flags")
    if not isinstance(stored, list):
        return []
    flags = [flag for flag in stored if isinstance(flag, str) and flag != UNCALIBRATED]
    # No one needs to trust a script.
    return flags if is_compared or "scripted" in flags else [*flags, UNCALIBRATED]
