"""All who judge in a run, in one text: the run's judge first, then those that checks name."""

from collections.abc import Iterable

from evals_app.engine.spec import ModelSpec

_BETWEEN = ", "


def judges_text(judges: Iterable[ModelSpec]) -> str:
    """Name each once."""
    return _BETWEEN.join(dict.fromkeys(map(str, judges)))


def judges_in(text: str) -> list[str]:
    """Take such a text apart."""
    return text.split(_BETWEEN) if text else []


def has_script(judges: str) -> bool:
    """Say whether one of them follows a script."""
    return any(judge.startswith("scripted/") for judge in judges_in(judges))
