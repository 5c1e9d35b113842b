"""Reads settings from environment variables; an error names the variable."""

import json
import math
import os
import secrets
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from evals_app.engine.basics.mcp_servers import McpServer, read_servers
from fixtures_app.ground.words import nearest

YES = ("1", "true", "yes", "on")
NO = ("0", "false", "no", "off")
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
SCHEMES = ("sqlite", "postgres", "postgresql")
# smtp encrypts with STARTTLS, smtps from the start, smtp+plain not at all.
MAIL_PORTS = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
REDIS_SCHEMES = ("redis", "rediss", "unix")

# Variables with these prefixes must be known ones.
_OURS = ("EVALWELL_", "EVALS_")
# Variables that are read only under some settings, or that are set for programs and tests.
_ELSEWHERE = {
    *("EVALWELL_SQLITE_TIMEOUT_S", "EVALWELL_TEST_DATABASE_URL", "EVALWELL_SESSION_ID"),
    *("EVALWELL_TOKEN", "EVALWELL_CASE", "EVALWELL_CHANNEL", "EVALWELL_CONTEXT_PARAMS"),
}
_read: set[str] = set()  # the variables read so far

# While another transaction has the lock, a deferred one that reads and then writes fails at once:
# SQLite's busy timeout does not apply to it. IMMEDIATE takes the lock first, so it waits.
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=67108864;"
    ),
}

# TCP alone waits up to two hours for a machine that is cut off. Both ends give up after 30 s, before
# a lease (45 s) ends: the client on a silent server, and the server on a transaction whose client
# is silent, because its row locks block everyone else. The server's TCP limits cover a client that
# vanished in the middle of a message: for the server such a transaction is not idle.
POSTGRESQL_OPTIONS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds, as the next
    "options": "-c idle_in_transaction_session_timeout=30000 -c tcp_keepalives_idle=15"
    " -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=30000",
}


def text(name: str, default: str) -> str:
    """Return the variable without surrounding spaces; an empty one counts as not set."""
    _read.add(name)
    return os.environ.get(name, "").strip() or default


def unknown() -> dict[str, str]:
    """Return unknown variables with our prefixes, with the nearest known one."""
    known = sorted(_read | _ELSEWHERE)
    return {
        name: nearest(name, known)
        for name in sorted(os.environ)
        if name.startswith(_OURS) and name not in known
    }


def word(name: str, known: Sequence[str], default: str = "") -> str:
    """Return one of some words in lower case; if not set, the default or else the first."""
    value = text(name, default or known[0]).lower()
    if value not in known:
        raise ImproperlyConfigured(f"{name} is {value!r}; expected one of {', '.join(known)}.")
    return value


def flag(name: str, *, default: bool = False) -> bool:
    """Return a yes-or-no variable."""
    return word(name, YES + NO, YES[0] if default else NO[0]) in YES


def names(name: str, default: Sequence[str] = ()) -> list[str]:
    """Return the items of a comma-separated list."""
    return [part.strip() for part in text(name, ",".join(default)).split(",") if part.strip()]


def mapping(name: str) -> dict[str, str]:
    """Return a JSON object whose values are strings; an empty one if not set."""
    try:
        value = json.loads(text(name, "{}"))
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ImproperlyConfigured(
            f'{name} is not a JSON object of strings; expected for example {{"name": "value"}}.'
        )
    return value


def mcp_servers(name: str, *, relative_to: Path) -> dict[str, McpServer]:
    """Return MCP servers by their names; messages never repeat values, which may be secrets."""
    try:
        return read_servers(text(name, ""), os.environ, folder=relative_to)
    except ValueError as error:
        end = "" if str(error).endswith((".", "?")) else "."
        raise ImproperlyConfigured(f"{name} is not valid: {error}{end}") from None


def collector_address(name: str) -> str:
    """Return an address that begins with http:// or https://; empty if not set."""
    address = text(name, "")
    if address:
        parts = _parts(name, address)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
            # Without the address, which may contain a password.
            raise ImproperlyConfigured(
                f"{name} is not a valid address; expected for example http://127.0.0.1:4318."
            )
    return address


def header_values(name: str) -> dict[str, str]:
    """Return headers written as `name=value,name=value`, with percent-encoded values."""
    headers = {}
    for item in names(name):
        header, equals, value = item.partition("=")
        if not equals or not header.strip():
            raise ImproperlyConfigured(
                f"{name} is not a list of headers; expected name=value, separated by commas."
            )
        headers[header.strip()] = unquote(value.strip())
    return headers


def folder(name: str, default: str, *, relative_to: Path) -> Path:
    """Return a folder that only this user can access; create it if it is missing."""
    path = relative_to / text(name, default)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} is {str(path)!r}, but this folder cannot be created: {error.strerror}."
        ) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise ImproperlyConfigured(f"{name} is {str(path)!r}, but this folder is not writable.")
    return path


def seconds(name: str, default: float) -> float:
    """Return a duration in seconds, above 0."""
    value = text(name, str(default))
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ImproperlyConfigured(
            f"{name} is {value!r}; expected a number of seconds above 0, such as {default:g}."
        )
    return number


def count(name: str, default: int, *, least: int = 1) -> int:
    """Return a whole number, at least `least`."""
    value = text(name, str(default))
    if not (value.isascii() and value.isdigit() and int(value) >= least):
        raise ImproperlyConfigured(
            f"{name} is {value!r}; expected a whole number of at least {least}, such as {default}."
        )
    return int(value)


def rate(name: str, default: int, period: str) -> str | None:
    """Return a rate limit as REST framework writes it; None for 0, which means no limit."""
    number = count(name, default, least=0)
    return f"{number}/{period}" if number else None


def log_level(name: str, default: str) -> str:
    """Return the name of a logging level, in upper case."""
    return word(name, LOG_LEVELS, default.lower()).upper()


def database(name: str, *, default: Path, relative_to: Path) -> dict[str, Any]:
    """Return Django's settings for a database given as an address, or for the default file.

    `sqlite:///file` is a path below `relative_to`, `sqlite:////file` an absolute one, and
    `postgresql://user:password@host:port/name?sslmode=require` a server. User, password and name
    are percent-encoded if they contain special characters; what follows the question mark goes to
    psycopg and overrides our own options. Messages never repeat the address, because it may
    contain a password.
    """
    address = text(name, "")
    if not address:
        return _sqlite_file(default)
    parts = _parts(name, address)
    if parts.scheme == "sqlite":
        return _sqlite(name, parts, relative_to)
    if parts.scheme in {"postgres", "postgresql"}:
        return _postgresql(name, parts)
    meant = nearest(parts.scheme, SCHEMES)
    hint = f" Did you mean {meant}://?" if meant else ""
    problem = f"the unknown scheme {parts.scheme!r}" if parts.scheme else "no scheme"
    known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
    raise ImproperlyConfigured(f"{name} has {problem}; expected one of {known}.{hint}")


def _parts(name: str, address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        _ = parts.port  # is read only now
    except ValueError as error:
        # Without Python's message, which quotes the unreadable part.
        raise ImproperlyConfigured(f"{name} has a malformed host or port.") from error
    return parts


def _sqlite(name: str, parts: SplitResult, relative_to: Path) -> dict[str, object]:
    path = unquote(parts.path).removeprefix("/")
    if parts.netloc or not path or path == ":memory:" or parts.query:
        # Several processes share the database, so it has to be a file.
        raise ImproperlyConfigured(
            f"{name} has no file name; expected sqlite:///file or sqlite:////absolute/file."
        )
    return _sqlite_file(relative_to / path)


def _sqlite_file(path: Path) -> dict[str, object]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": dict(SQLITE_OPTIONS),
    }


def _postgresql(name: str, parts: SplitResult) -> dict[str, object]:
    database_name = unquote(parts.path).removeprefix("/")
    if not database_name:
        raise ImproperlyConfigured(
            f"{name} has no database name; expected postgresql://user:password@host:port/name."
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": database_name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "OPTIONS": POSTGRESQL_OPTIONS | dict(parse_qsl(parts.query, keep_blank_values=True)),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def web_address(name: str, default: str) -> str:
    """Return the address that the pages of this site have for people."""
    address = text(name, default)
    if not address.startswith(("http://", "https://")):
        raise ImproperlyConfigured(
            f"{name} is {address!r}; expected an address such as https://evals.example.org."
        )
    return address


def usual_site(hosts: Sequence[str], *, is_https: bool) -> str:
    """Return the address of a site that names none: its first host, if people come over HTTPS."""
    named = [host for host in hosts if not host.startswith((".", "*"))]  # others are patterns
    return f"https://{named[0]}" if is_https and named else "http://127.0.0.1:8000"


def contact(name: str) -> str:
    """Return how to reach someone: an address to mail to, call or open; empty if not set."""
    address = text(name, "")
    if address and not address.startswith(("mailto:", "https://", "tel:")):
        raise ImproperlyConfigured(
            f"{name} is {address!r}; expected mailto:security@example.org, or an address with https."
        )
    return address


class MailServer(NamedTuple):
    """The server that takes our e-mail, and how the connection is encrypted."""

    host: str
    port: int
    user: str
    password: str
    scheme: str


def mail_server(name: str) -> MailServer | None:
    """Return a mail server given as `smtp://user:password@host:port`; None if not set.

    Messages never repeat the address, because it may contain a password.
    """
    address = text(name, "")
    if not address:
        return None
    parts = _parts(name, address)
    if parts.scheme not in MAIL_PORTS or not parts.hostname:
        known = ", ".join(f"{scheme}://" for scheme in MAIL_PORTS)
        raise ImproperlyConfigured(
            f"{name} is not the address of a mail server; expected one that begins with {known},"
            " for example smtp://user:password@mail.example.org:587."
        )
    return MailServer(
        parts.hostname,
        parts.port or MAIL_PORTS[parts.scheme],
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        parts.scheme,
    )


def redis_address(name: str) -> str:
    """Return the address of a Redis server, empty if not set; messages never repeat it."""
    address = text(name, "")
    if not address:
        return ""
    if address.partition("://")[0] not in REDIS_SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in REDIS_SCHEMES)
        raise ImproperlyConfigured(
            f"{name} is not a valid Redis address; expected one that begins with {known}."
        )
    _parts(name, address)
    if find_spec("redis") is None:
        raise ImproperlyConfigured(
            f"{name} is set, but the package redis is not installed. Install it:"
            " python -m pip install --require-hashes -r redis.lock; or Evalwell with the extra redis."
        )
    return address


def secret_key(name: str, *, kept_in: Path) -> str:
    """Return the variable, or else the key in a file that the first process creates.

    Raises:
        ImproperlyConfigured: the file exists but is empty.
    """
    if given := text(name, ""):
        return given
    if not kept_in.exists():
        _keep_new_key(kept_in)
    key = kept_in.read_text(encoding="ascii").strip()
    if not key:
        raise ImproperlyConfigured(
            f"{kept_in} is empty; remove it to get a new key, or set {name}."
        )
    return key


def _keep_new_key(path: Path) -> None:
    # Web and workers may start at the same moment. A hard link is made completely or not at all
    # and never replaces a file, so the second process reads the key of the first.
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mode 600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(50) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        Path(draft).unlink()
