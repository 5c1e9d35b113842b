"""MCP servers as the operator lists them: the JSON that coding agents keep in `mcp.json`."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from fixtures_app.ground.strict_json import Json, fault_of, read_strictly
from fixtures_app.ground.words import near

_WRAPPER = "mcpServers"
_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# What every program gets anyway, as the package for MCP decides.
_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
_SECRET_CHARS = (
    8  # shorter values, such as a port, are not secrets and may occur in results by chance
)
_EXAMPLE = '{"docs": {"url": "https://docs.example.org/mcp"}}'


def _one_line(text: str) -> str:
    """Refuse what no header can contain; the sentence does not repeat it."""
    if not (text.isascii() and text.isprintable()):
        raise ValueError("a header must be a single line of plain ASCII text")
    return text


def _address(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("an address begins with http:// or https://")
    return url


# Values are secrets: no error and no log repeats them.
class _Server(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    _secrets: tuple[str, ...] = PrivateAttr(())

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must appear in no result and no error: what variables were filled with."""
        return self._secrets


class Program(_Server):
    """A server that is started for each conversation, and answers on its standard streams."""

    type: Literal["stdio"] = "stdio"
    command: Annotated[str, Field(min_length=1)]
    args: Annotated[list[str], Field(repr=False)] = Field(default_factory=list)
    env: Annotated[dict[str, str], Field(repr=False)] = Field(default_factory=dict)
    cwd: str | None = None


class Address(_Server):
    """A server that answers over HTTP."""

    type: Literal["http", "streamable-http", "streamableHttp", "sse"] = "http"
    url: Annotated[str, AfterValidator(_address), Field(repr=False)]
    headers: Annotated[dict[str, Annotated[str, AfterValidator(_one_line)]], Field(repr=False)] = (
        Field(default_factory=dict)
    )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Also what follows `Bearer` where it is written out."""
        written = (
            value.split()[-1]
            for name, value in self.headers.items()
            if name.lower() == "authorization" and value.strip()
        )
        return (*self._secrets, *written)


McpServer = Program | Address


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is: the path of its keys."""

    keys: tuple[str, ...]

    def key(self, name: str) -> "_Place":
        return _Place((*self.keys, name))

    def problem(self, message: str) -> ValueError:
        return ValueError(f"{'.'.join(self.keys)}: {message}" if self.keys else message)


def read_servers(
    text: str, environ: Mapping[str, str], *, folder: Path = Path()
) -> dict[str, McpServer]:
    """Return servers by their names, from JSON or from the path of a file below `folder`.

    `${NAME}` and `${NAME:-default}` are filled in from the environment.

    Raises:
        ValueError: with a sentence that contains no value, because values may be secrets.
    """
    text = text.strip()
    if not text:
        return {}
    if text[0] not in "{[":
        text = _file(folder / Path(text.removeprefix("@")).expanduser())
    try:
        written = read_strictly(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"this is not valid JSON: {fault_of(error)} ({where})") from None
    if not isinstance(written, dict):
        raise ValueError(f"expected a JSON object with servers by name, such as {_EXAMPLE}")  # noqa: TRY004 - one kind of error
    place = _Place(())
    if _WRAPPER in written:
        if others := [key for key in written if key != _WRAPPER]:
            raise ValueError(f"unknown key {others[0]!r} beside {_WRAPPER}")
        written, place = written[_WRAPPER], _Place((_WRAPPER,))
        if not isinstance(written, dict):
            raise place.problem("expected an object with servers by name")
    return {
        name: _server(name, server, place.key(name), environ) for name, server in written.items()
    }


def _file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(
            f"the file {str(path)!r} cannot be read: {error.strerror}. Expected the path of an mcp.json"
            f" or JSON such as {_EXAMPLE}"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"the file {str(path)!r} is not text in UTF-8") from None


def _server(name: str, written: object, place: _Place, environ: Mapping[str, str]) -> McpServer:
    if not _SLUG.fullmatch(name):
        raise place.problem(
            "a name may have only lower-case letters, digits and single hyphens, for example docs"
        )
    if isinstance(written, str):
        written = _short(written, place)
    if not isinstance(written, dict):
        raise place.problem('expected an object with "command" or "url"')
    if ("command" in written) == ("url" in written):
        both = "both" if "command" in written else "neither"
        keys = ("command", "url", "args", "env", "cwd", "headers", "type")
        hints = [near(key, keys) for key in written if key not in keys]
        hint = next(filter(None, hints), "")
        raise place.problem(f'expected either "command" or "url", found {both}.{hint}'.rstrip("."))
    model = Program if "command" in written else Address
    filling = _Filling(environ)
    filled = {key: filling.value(value, place.key(key)) for key, value in written.items()}
    try:
        server = model.model_validate(filled)
    except ValidationError as exc:
        raise _problem_of(exc, model, place) from None
    server._secrets = tuple(filling.secrets)  # noqa: SLF001 - of this module
    return server


def _short(text: str, place: _Place) -> dict[str, object]:
    """Read the short form: an address or a command line."""
    if text.startswith(("http://", "https://")):
        return {"url": text}
    try:
        command, *args = shlex.split(text)
    except ValueError:  # a quote is not closed, or there are no words
        raise place.problem("expected an address or a command line") from None
    return {"command": command, "args": args}


class _Filling:
    """Fills variables into the values of one server, and remembers which of them are secret."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.secrets: dict[str, None] = {}
        self._environ = environ

    def value(self, value: Json, place: _Place) -> object:
        """Fill them into all texts of a value."""
        if isinstance(value, str):
            return _VARIABLE.sub(lambda found: self._variable(found, place), value)
        if isinstance(value, list):
            return [self.value(item, place) for item in value]
        if isinstance(value, dict):
            return {key: self.value(item, place.key(key)) for key, item in value.items()}
        return value

    def _variable(self, found: re.Match[str], place: _Place) -> str:
        name, default = found.groups()
        if given := self._environ.get(name):
            if name not in _INHERITED and len(given) >= _SECRET_CHARS:
                self.secrets[given] = None
            return given
        if default is None:
            raise place.problem(
                f"the environment variable {name} is not set; if it may be missing, write"
                f" ${{{name}:-default}}"
            )
        return str(default)


def _problem_of(exc: ValidationError, model: type[_Server], place: _Place) -> ValueError:
    error = exc.errors(include_url=False, include_input=False)[0]
    where = _Place((*place.keys, *map(str, error["loc"])))
    if error["type"] == "extra_forbidden":
        known = list(model.model_fields)
        hint = near(str(error["loc"][-1]), known) or f" Known: {', '.join(known)}."
        return where.problem(f"unknown key.{hint}")
    return where.problem(error["msg"].removeprefix("Value error, "))
