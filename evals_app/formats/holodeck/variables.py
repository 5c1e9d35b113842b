"""Fill `${NAME}` in with the values that the caller gives, everywhere but where a secret may be."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Loc, Problem, is_secret, shorten
from evals_app.formats.reading.yaml_scalars import resolve_scalar
from fixtures_app.ground.json_data import text_fault
from fixtures_app.ground.words import near

API_KEY = "api_key"
# The key of a model becomes the name of a variable, never its content.
_OF_MODELS = ("model", API_KEY)

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ALMOST = re.compile(r"\$\{(?![A-Za-z_][A-Za-z0-9_]*\})[^{}]*\}")


def variable_in(text: str) -> str | None:
    """Return the name of the variable that is all of a text."""
    match = _VARIABLE.fullmatch(text)
    return match[1] if match else None


def has_variable(text: str) -> bool:
    """Whether a variable in a text has no value."""
    return _VARIABLE.search(text) is not None


@dataclass(slots=True)
class Filling:
    """Fills in the variables of a document; what cannot be filled in goes to `problems`."""

    document: ParsedFile
    environment: Mapping[str, str] = field(repr=False)
    problems: list[Problem] = field(default_factory=list)

    def fill(self, value: object, loc: Loc) -> Any:
        if isinstance(value, dict):
            for key in filter(_VARIABLE.search, value):
                message = "Variables are filled in only in values. Write this key without one."
                self.problems.append(self.document.problem((*loc, key), message, at_key=True))
            return {key: self.fill(item, (*loc, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item, (*loc, n)) for n, item in enumerate(value)]
        if not isinstance(value, str) or loc[-2:] == _OF_MODELS:
            return value
        if almost := _ALMOST.search(value):
            message = f"Only ${{NAME}} is filled in, so {shorten(almost[0], loc)} stays as it is."
            self.problems.append(self.document.problem(loc, message, level="warning"))
        return self._text(value, loc) if _VARIABLE.search(value) else value

    def _text(self, text: str, loc: Loc) -> object:
        if is_secret(loc):
            message = (
                "The name of this key suggests a secret, and secrets are never copied into a "
                "suite, so no variable is filled in. Rename the key if its value is not a secret."
            )
            self.problems.append(self.document.problem(loc, message))
            return text
        for name in _VARIABLE.findall(text):
            if problem := self._problem(name):
                self.problems.append(self.document.problem(loc, problem))
                return text
        filled = _VARIABLE.sub(lambda match: self.environment[match[1]], text)
        if self.document.raw(loc) is None:
            return filled
        # As if the value had been written there: 0.8 is a number, unless there are quotes.
        try:
            return resolve_scalar(filled)
        except ValueError:
            return filled

    def _problem(self, name: str) -> str | None:
        if is_secret((name,)):
            return (
                f"The name of the variable {name} suggests a secret, and secrets are never "
                "copied into a suite. Rename the variable if its value is not a secret."
            )
        if name not in self.environment:
            return (
                f"The variable {name} has no value here.{near(name, self.environment)} Write the "
                f"value itself, or import with a command: --var {name}=VALUE gives one, and "
                f"--allow-env {name} takes it from the environment, if it is set there."
            )
        if fault := text_fault(self.environment[name]):
            return f"The variable {name} cannot be used. {fault}"
        return None
