import stat
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from evalsite import environment

HERE = Path("/srv/evalwell")


@pytest.mark.parametrize(
    ("read", "texts", "value"),
    [
        pytest.param(environment.text, ["value", "  value "], "value", id="text"),
        pytest.param(environment.text, ["", "  "], "default", id="no text"),
        pytest.param(environment.flag, ["1", "True", "on"], True, id="yes"),
        pytest.param(environment.flag, ["0", "no", ""], False, id="no"),
        (environment.names, [" a.example, b.example,, "], ["a.example", "b.example"]),
        pytest.param(environment.mapping, ['{"a": "/b"}'], {"a": "/b"}, id="mapping"),
        pytest.param(environment.mapping, [""], {}, id="no mapping"),
        (environment.collector_address, ["http://a:4318"], "http://a:4318"),
        pytest.param(environment.collector_address, [""], "", id="no address"),
        (environment.header_values, ["a=Bearer%20x, b = y=z "], {"a": "Bearer x", "b": "y=z"}),
        pytest.param(environment.header_values, [""], {}, id="no headers"),
        pytest.param(environment.seconds, ["2", "2.0"], 2.0, id="duration"),
        pytest.param(environment.seconds, [""], 45.0, id="no duration"),
        pytest.param(environment.count, ["1"], 1, id="count"),
        pytest.param(environment.count, [""], 45, id="no count"),
        pytest.param(environment.log_level, ["Debug", "DEBUG"], "DEBUG", id="log level"),
    ],
)
def test_a_variable_is_read(
    monkeypatch: pytest.MonkeyPatch, read: Callable[..., Any], texts: list[str], value: object
) -> None:
    usual: dict[Any, Any] = {environment.text: "default", environment.log_level: "INFO"}
    usual |= dict.fromkeys((environment.seconds, environment.count), 45)
    default = [usual[read]] if read in usual else []

    for text in texts:
        monkeypatch.setenv("SETTING", text)
        assert read("SETTING", *default) == value


@pytest.mark.parametrize(
    ("read", "given", "expected"),
    [
        (environment.flag, "maybe", "1, true, yes, on"),
        *(
            (environment.collector_address, given, "http")
            for given in ("collector:4318", "ftp://a", "http://", "http://user:pw@a")
        ),
        *((environment.header_values, given, "name") for given in ("secret", "a=b,secret", "=b")),
        *((environment.mapping, given, "name") for given in ("docs", "[]", '{"a": 1}', '{"a"')),
        (lambda name: environment.log_level(name, "INFO"), "loud", "debug"),
        (lambda name: environment.mcp_servers(name, relative_to=HERE), "[1]", "JSON object"),
        *(
            (lambda name: environment.seconds(name, 45), given, "45")
            for given in ("soon", "0", "-1", "inf", "nan", "4,5")
        ),
        *(
            (lambda name: environment.count(name, 3), given, "3")
            for given in ("0", "-1", "2.5", "many", "²")
        ),
    ],
)
def test_an_error_names_the_variable_and_what_is_expected(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str], Any], given: str, expected: str
) -> None:
    monkeypatch.setenv("SETTING", given)

    with pytest.raises(ImproperlyConfigured, match=rf"^SETTING is .* expected .*{expected}"):
        read("SETTING")


# Databases


@pytest.mark.parametrize(
    ("address", "file"),
    [
        pytest.param("", "/data/default.sqlite3", id="default"),
        pytest.param("sqlite:///evals.sqlite3", "/srv/evalwell/evals.sqlite3", id="relative"),
        pytest.param("sqlite:////tmp/evals.sqlite3", "/tmp/evals.sqlite3", id="absolute"),  # noqa: S108
        pytest.param("sqlite:///my%20evals", "/srv/evalwell/my evals", id="percent-encoded"),
    ],
)
def test_a_sqlite_address(monkeypatch: pytest.MonkeyPatch, address: str, file: str) -> None:
    monkeypatch.setenv("DATABASE_URL", address)

    database = environment.database(
        "DATABASE_URL", default=Path("/data/default.sqlite3"), relative_to=HERE
    )

    assert database["NAME"] == file
    assert database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_a_postgresql_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "DATABASE_URL",
        "postgresql://eva:p%40ss%2Fword@db.example:6432/my%20evals?sslmode=require&application_name=a",
    )

    database = environment.database("DATABASE_URL", default=HERE, relative_to=HERE)

    assert database == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "my evals",
        "USER": "eva",
        "PASSWORD": "p@ss/word",
        "HOST": "db.example",
        "PORT": "6432",
        "OPTIONS": environment.POSTGRESQL_OPTIONS | {"sslmode": "require", "application_name": "a"},
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def test_a_postgresql_address_may_leave_out_all_but_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres:///evals")

    database = environment.database("DATABASE_URL", default=HERE, relative_to=HERE)

    assert [database[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")] == [
        "evals",
        "",
        "",
        "",
        "",
    ]


def test_a_postgresql_address_may_change_our_own_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres:///evals?tcp_user_timeout=3000&options=")

    options = environment.database("DATABASE_URL", default=HERE, relative_to=HERE)["OPTIONS"]

    assert (options["tcp_user_timeout"], options["options"]) == ("3000", "")
    assert options["connect_timeout"] == environment.POSTGRESQL_OPTIONS["connect_timeout"]


def test_a_silent_database_is_given_up_before_a_lease_ends(settings: Any) -> None:
    ours = environment.POSTGRESQL_OPTIONS

    probes = ours["keepalives_idle"] + ours["keepalives_interval"] * ours["keepalives_count"]

    lease_s = settings.EVALS_LEASE_S
    assert probes <= lease_s
    assert ours["tcp_user_timeout"] / 1000 < lease_s


@pytest.mark.postgres
@pytest.mark.django_db
def test_the_server_ends_a_transaction_whose_client_is_silent(settings: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        (limit,) = cursor.fetchone()

    assert limit == "30s"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        pytest.param(
            "postgre://eva:secret@db/evals",
            r"unknown scheme 'postgre'; expected one of sqlite://, postgres://, postgresql://\. "
            r"Did you mean postgres://\?",
            id="misspelt scheme",
        ),
        pytest.param("mysql://eva:secret@db/evals", "unknown scheme 'mysql'", id="unknown scheme"),
        pytest.param("evals.sqlite3", "has no scheme", id="no scheme"),
        pytest.param("postgres://eva:secret@db", "database name", id="no name"),
        pytest.param("postgres://eva:secret@db:none/evals", "malformed host or port", id="port"),
        pytest.param("postgres://eva:secret@[db/evals", "malformed host or port", id="host"),
        pytest.param("sqlite://", "file name", id="no file"),
        pytest.param("sqlite:///:memory:", "file name", id="memory"),
        pytest.param("sqlite://evals.sqlite3", "file name", id="two slashes"),
    ],
)
def test_a_bad_address_is_refused_without_repeating_its_password(
    monkeypatch: pytest.MonkeyPatch, address: str, message: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", address)

    with pytest.raises(ImproperlyConfigured, match=f"^DATABASE_URL .*{message}") as caught:
        environment.database("DATABASE_URL", default=HERE, relative_to=HERE)

    assert "secret" not in str(caught.value)


# Redis


@pytest.mark.parametrize(
    "address", ["", "redis://host:6379/1", "rediss://:secret@host", "unix:///run/r"]
)
def test_an_address_of_redis_is_taken_as_it_is(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS", address)

    assert environment.redis_address("REDIS") == address


@pytest.mark.parametrize("address", ["localhost:6379", "http://secret@host", ":secret@host"])
def test_what_is_no_address_of_redis_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS", address)

    with pytest.raises(ImproperlyConfigured, match=r"^REDIS is .* redis://") as caught:
        environment.redis_address("REDIS")

    assert "secret" not in str(caught.value)


def test_an_address_of_redis_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)  # as where it is not installed
    monkeypatch.setenv("REDIS", "rediss://:secret@host")

    with pytest.raises(ImproperlyConfigured, match=r"^REDIS .* -r redis\.lock") as caught:
        environment.redis_address("REDIS")

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("address", ["evals.example.org", "ftp://evals.example.org"])
def test_what_is_no_address_of_pages_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE", address)

    with pytest.raises(ImproperlyConfigured, match=r"^SITE is .* https://"):
        environment.web_address("SITE", "http://127.0.0.1")


@pytest.mark.parametrize(
    ("given", "server"),
    [
        ("", None),
        ("smtp://ann:p%40ss@mail.example.org", ("mail.example.org", 587, "ann", "p@ss", "smtp")),
        ("smtps://mail.example.org:4465", ("mail.example.org", 4465, "", "", "smtps")),
        ("smtp+plain://localhost", ("localhost", 25, "", "", "smtp+plain")),
    ],
)
def test_a_mail_server_is_an_address(
    given: str, server: tuple[object, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL", given)

    assert environment.mail_server("MAIL") == server


@pytest.mark.parametrize("given", ["mail.example.org", "http://x:secret@y", "smtp://u:secret@"])
def test_what_is_no_mail_server_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL", given)

    with pytest.raises(ImproperlyConfigured, match=r"^MAIL .*smtp://") as caught:
        environment.mail_server("MAIL")

    assert "secret" not in str(caught.value)


# The secret key


def test_a_given_key_is_used_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "given")

    assert environment.secret_key("KEY", kept_in=tmp_path / "key") == "given"
    assert list(tmp_path.iterdir()) == []


def test_a_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    first = environment.secret_key("KEY", kept_in=tmp_path / "key")
    second = environment.secret_key("KEY", kept_in=tmp_path / "key")

    assert len(first) >= 50
    assert second == first
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_processes_that_start_at_once_agree_on_the_key(tmp_path: Path) -> None:
    def read(_: int) -> str:
        return environment.secret_key("KEY", kept_in=tmp_path / "key")

    with ThreadPoolExecutor(16) as executor:
        keys = set(executor.map(read, range(64)))

    assert len(keys) == 1


def test_an_empty_key_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").touch()

    with pytest.raises(ImproperlyConfigured, match="is empty"):
        environment.secret_key("KEY", kept_in=tmp_path / "key")
