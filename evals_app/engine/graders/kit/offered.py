"""All checks: ours, and those of plug-ins, which are loaded when the first check is looked up."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from evals_app.engine.basics.plugins import PluginsFound, find_plugins
from evals_app.engine.graders.kit.base import AidedGrader, Grader, JudgedGrader, PlainGrader

_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")
_NEEDED = ("label", "in_words", "family", "example")


class GraderTable(Mapping[str, type[Grader]]):
    """The classes of checks by their types; ours come first and cannot be replaced."""

    def __init__(
        self,
        ours: Mapping[str, type[Grader]],
        find: Callable[..., PluginsFound] = find_plugins,
    ) -> None:
        self._ours = ours
        self._find = find

    @cached_property
    def offers(self) -> PluginsFound:
        """What plug-ins offer; a plug-in may import our modules, so it is not loaded with them."""
        return self._find("checks", problem_of=self._problem)

    @cached_property
    def _all(self) -> Mapping[str, type[Grader]]:
        return {**self._ours, **{name: item.value for name, item in self.offers.plugins.items()}}

    def __getitem__(self, name: str) -> type[Grader]:
        return self._ours[name] if name in self._ours else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def _problem(self, name: str, value: Any) -> str | None:
        """Explain why a class cannot be a check; None if it can."""
        bases = (PlainGrader, AidedGrader, JudgedGrader)
        if not (isinstance(value, type) and issubclass(value, bases)):
            return f"It is {value!r:.200}; expected a class below {_names(bases)}."
        if _NAME.fullmatch(name) is None or name in self._ours:
            return "Its name is ours." if name in self._ours else "Names are like reads_well."
        if missing := [needed for needed in _NEEDED if not hasattr(value, needed)]:
            return f"The class {value.__name__} needs {', '.join(missing)}."
        if unnamed := [key for key, info in value.model_fields.items() if not info.title]:
            return f"These options need a title: {', '.join(unnamed)}."
        try:
            value.model_validate(value.example)
        except ValidationError as exc:
            return f"Its example is not valid: {exc.errors()[0]['msg']}"
        return None


def _names(bases: tuple[type[Grader], ...]) -> str:
    return " or ".join(base.__name__ for base in bases)
