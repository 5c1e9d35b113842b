"""Read settings from environment variables; a bad value is refused with its name."""

import difflib
import json
import math
import os
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

YES = ("1", "true", "yes", "on")
NO = ("0", "false", "no", "off")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
SCHEMES = ("sqlite", "postgres", "postgresql")
REDIS_SCHEMES = ("redis", "rediss", "unix")

# Variables that begin like those of this site, and must be one of them.
_OURS = ("TOUCHSTONE_", "EVALS_")
# Those that are read only under some settings, or that the site itself sets for programs and tests.
_ELSEWHERE = {
    *("TOUCHSTONE_SQLITE_TIMEOUT_S", "TOUCHSTONE_TEST_DATABASE_URL", "TOUCHSTONE_SESSION_ID"),
    *("TOUCHSTONE_CASE", "TOUCHSTONE_CHANNEL", "TOUCHSTONE_CONTEXT_PARAMS"),
}
_asked: set[str] = set()  # the variables that were read so far

# A deferred transaction that reads and then writes is refused at once while another one holds the
# lock: SQLite's busy timeout does not apply to it. IMMEDIATE takes the lock first, so it waits.
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=67108864;"
    ),
}

# A machine that is cut off answers nothing, and TCP alone waits for it up to two hours. Both ends
# give up after 30 s, before a lease (45 s) ends: the client on a silent server, and the server on
# a transaction whose client is silent, because its row locks would hold up everybody else. The
# server's own limits of TCP are for a client that vanished in the middle of a message: to the server
# such a transaction is not idle.
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
    """Return the variable without surrounding blanks; set but empty counts as not set."""
    _asked.add(name)
    return os.environ.get(name, "").strip() or default


def unknown() -> dict[str, str]:
    """Return the variables that look like ours and are not, each with the nearest that is one."""
    known = sorted(_asked | _ELSEWHERE)
    return {
        name: next(iter(difflib.get_close_matches(name, known, n=1)), "")
        for name in sorted(os.environ)
        if name.startswith(_OURS) and name not in known
    }


def flag(name: str, *, default: bool = False) -> bool:
    """Return a yes-or-no variable."""
    value = text(name, YES[0] if default else NO[0]).lower()
    if value not in YES + NO:
        msg = f"{name} is {value!r}; expected one of {', '.join(YES)} or {', '.join(NO)}."
        raise ImproperlyConfigured(msg)
    return value in YES


def names(name: str, default: Sequence[str] = ()) -> list[str]:
    """Return a variable that holds a list separated by commas."""
    return [part.strip() for part in text(name, ",".join(default)).split(",") if part.strip()]


def mapping(name: str) -> dict[str, str]:
    """Return a variable that holds a JSON object of texts; not set is an empty one."""
    written = text(name, "{}")
    try:
        value = json.loads(written)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        msg = f'{name} is not a JSON object of texts; expected for example {{"name": "value"}}.'
        raise ImproperlyConfigured(msg)
    return value


def folder(name: str, default: str, *, relative_to: Path) -> Path:
    """Return a folder of this user alone, which is made if it is missing."""
    path = relative_to / text(name, default)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{name} is {str(path)!r}, and this folder cannot be made: {error.strerror}."
        raise ImproperlyConfigured(msg) from error
    if not os.access(path, os.W_OK | os.X_OK):
        msg = f"{name} is {str(path)!r}, and nothing can be written to this folder."
        raise ImproperlyConfigured(msg)
    return path


def seconds(name: str, default: float) -> float:
    """Return a duration in seconds, above 0."""
    value = text(name, str(default))
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        msg = f"{name} is {value!r}; expected a number of seconds above 0, such as {default:g}."
        raise ImproperlyConfigured(msg)
    return number


def count(name: str, default: int, *, least: int = 1) -> int:
    """Return a whole number, at least 1 unless `least` says otherwise."""
    value = text(name, str(default))
    if not (value.isascii() and value.isdigit() and int(value) >= least):
        msg = f"{name} is {value!r}; expected a whole number from {least} on, such as {default}."
        raise ImproperlyConfigured(msg)
    return int(value)


def rate(name: str, default: int, period: str) -> str | None:
    """Return how often in a period something may happen, as REST framework writes it; 0: no limit."""
    number = count(name, default, least=0)
    return f"{number}/{period}" if number else None


def word(name: str, known: Sequence[str]) -> str:
    """Return one of some words; the first unless another one is set."""
    value = text(name, known[0]).lower()
    if value not in known:
        msg = f"{name} is {value!r}; expected one of {', '.join(known)}."
        raise ImproperlyConfigured(msg)
    return value


def log_level(name: str, default: str) -> str:
    """Return the name of a logging level, in upper case."""
    value = text(name, default).upper()
    if value not in LOG_LEVELS:
        msg = f"{name} is {value!r}; expected one of {', '.join(LOG_LEVELS)}."
        raise ImproperlyConfigured(msg)
    return value


def database(name: str, *, default: Path, relative_to: Path) -> dict[str, Any]:
    """Return Django's settings for a database given as an address, or for the default file.

    `sqlite:///file` is a path below `relative_to`, `sqlite:////file` an absolute one, and
    `postgresql://user:password@host:port/name?sslmode=require` a server. User, password and name
    are percent-encoded where they hold special characters; what follows the question mark is
    handed to psycopg and wins over our own options. Messages never repeat the address, because it
    may hold a password.
    """
    address = text(name, "")
    if not address:
        return _sqlite_file(default)
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        # Not the reason itself: Python's message quotes the part that it could not read.
        msg = f"{name} cannot be read as an address: its host or port is malformed."
        raise ImproperlyConfigured(msg) from error
    if parts.scheme == "sqlite":
        return _sqlite(name, parts, relative_to)
    if parts.scheme in {"postgres", "postgresql"}:
        return _postgresql(name, parts, port)
    near = difflib.get_close_matches(parts.scheme, SCHEMES, n=1)
    hint = f" Did you mean {near[0]}://?" if near else ""
    found = f"the unknown scheme {parts.scheme!r}" if parts.scheme else "no scheme"
    known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
    msg = f"{name} has {found}; expected one of {known}.{hint}"
    raise ImproperlyConfigured(msg)


def _sqlite(name: str, parts: SplitResult, relative_to: Path) -> dict[str, Any]:
    path = unquote(parts.path).removeprefix("/")
    if parts.netloc or not path or path == ":memory:" or parts.query:
        # Several processes share the database, so it has to be a file.
        msg = f"{name} names no file; expected sqlite:///file or sqlite:////absolute/file."
        raise ImproperlyConfigured(msg)
    return _sqlite_file(relative_to / path)


def _sqlite_file(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": dict(SQLITE_OPTIONS),
    }


def _postgresql(name: str, parts: SplitResult, port: int | None) -> dict[str, Any]:
    database_name = unquote(parts.path).removeprefix("/")
    if not database_name:
        msg = f"{name} names no database; expected postgresql://user:password@host:port/name."
        raise ImproperlyConfigured(msg)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": database_name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": "" if port is None else str(port),
        "OPTIONS": POSTGRESQL_OPTIONS | dict(parse_qsl(parts.query, keep_blank_values=True)),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def redis_address(name: str) -> str:
    """Return the address of a Redis server, or an empty text; messages never repeat it."""
    address = text(name, "")
    if not address:
        return ""
    scheme = address.partition("://")[0]
    if scheme not in REDIS_SCHEMES:
        known = ", ".join(f"{each}://" for each in REDIS_SCHEMES)
        msg = f"{name} is no address of a Redis server; expected one that begins with {known}."
        raise ImproperlyConfigured(msg)
    try:
        _ = urlsplit(address).port
    except ValueError as error:
        msg = f"{name} cannot be read as an address: its host or port is malformed."
        raise ImproperlyConfigured(msg) from error
    return address


def secret_key(name: str, *, kept_in: Path) -> str:
    """Return the variable, or else the key in a file that the first process makes.

    Raises:
        ImproperlyConfigured: the file is there but empty.
    """
    if given := text(name, ""):
        return given
    if not kept_in.exists():
        _keep_new_key(kept_in)
    key = kept_in.read_text(encoding="ascii").strip()
    if not key:
        msg = f"{kept_in} is empty; remove it to get a new key, or set {name}."
        raise ImproperlyConfigured(msg)
    return key


def _keep_new_key(path: Path) -> None:
    # Web and workers may start at the same moment. A hard link appears whole or not at all and
    # never replaces a file, so whoever comes second reads the key of the first.
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
