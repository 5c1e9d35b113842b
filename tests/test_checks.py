"""Settings under which runs could be lost are refused."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site

from evals_app.checks import (
    broken_plugins,
    permitted_variables,
    private_database,
    queue_settings,
    trusted_proxies,
    unknown_variables,
    variables_without_hosts,
    ways_to_sign_in,
    wordnet_files,
)
from tests.engine.permitting import permitting
from tests.offered import Offer


def ids() -> list[str | None]:
    return [check.id for check in queue_settings(None)]


def test_the_settings_as_they_stand_are_sound() -> None:
    assert ids() == []


@pytest.mark.parametrize(
    ("queue", "own", "complaint"),
    [
        pytest.param({"timeout": 87_000}, {}, "evals_app.E001", id="timeout too short"),
        pytest.param({"retry": 90_000}, {}, "evals_app.E002", id="retry too short"),
        pytest.param({"max_attempts": 0}, {}, "evals_app.E004", id="endless attempts"),
        pytest.param({"ack_failures": False}, {}, "evals_app.E004", id="failures come back"),
        pytest.param({}, {"EVALS_EXECUTION_S": 4000.0}, "evals_app.E001", id="long executions"),
    ],
)
def test_deadlines_out_of_order_are_refused(
    settings: Any, queue: dict[str, Any], own: dict[str, float], complaint: str
) -> None:
    settings.Q_CLUSTER = site.Q_CLUSTER | queue
    for name, value in own.items():
        setattr(settings, name, value)

    assert ids() == [complaint]


@pytest.mark.parametrize(
    ("busy_s", "lease_s", "complaints"),
    [
        pytest.param(30.0, 41.5, [], id="SQLite"),
        pytest.param(30.0, 41.0, ["evals_app.E005"], id="SQLite, too short"),
        pytest.param(None, 11.5, [], id="PostgreSQL"),
        pytest.param(None, 11.0, ["evals_app.E005"], id="PostgreSQL, too short"),
    ],
)
def test_a_lease_that_may_end_before_it_is_renewed_is_refused(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    busy_s: float | None,
    lease_s: float,
    complaints: list[str],
) -> None:
    options = {} if busy_s is None else {"timeout": busy_s}
    monkeypatch.setitem(site.DATABASES["default"], "OPTIONS", options)
    settings.EVALS_LEASE_S = lease_s

    assert ids() == complaints


def test_half_a_wordnet_is_warned_of(settings: Any, tmp_path: Path) -> None:
    settings.EVALS_WORDNET = str(tmp_path / "nowhere")
    assert list(wordnet_files(None)) == []

    settings.EVALS_WORDNET = str(tmp_path)
    (warning,) = wordnet_files(None)

    assert warning.id == "evals_app.W001"
    assert str(tmp_path) in warning.msg


@pytest.mark.parametrize(
    ("folder_mode", "mode", "complaints"),
    [
        pytest.param(0o755, 0o644, ["evals_app.W002"], id="everybody reads it"),
        pytest.param(0o750, 0o640, ["evals_app.W002"], id="a group reads it"),
        pytest.param(0o700, 0o644, [], id="nobody reaches it"),
        pytest.param(0o755, 0o600, [], id="nobody reads it"),
        pytest.param(0o755, None, [], id="not made yet"),
    ],
)
def test_a_database_that_others_can_read_is_warned_of(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    folder_mode: int,
    mode: int | None,
    complaints: list[str],
) -> None:
    file = tmp_path / "evalwell.sqlite3"
    engine = "django.db.backends.sqlite3"
    monkeypatch.setitem(site.DATABASES, "default", {"ENGINE": engine, "NAME": str(file)})
    if mode is not None:
        file.touch()
        file.chmod(mode)
    tmp_path.chmod(folder_mode)

    assert [check.id for check in private_database(None)] == complaints


@pytest.mark.parametrize(
    ("header", "proxies", "warnings"),
    [
        pytest.param(("HTTP_X_FORWARDED_PROTO", "https"), 0, ["evals_app.W003"], id="none counted"),
        pytest.param(("HTTP_X_FORWARDED_PROTO", "https"), 1, [], id="one counted"),
        pytest.param(None, 0, [], id="no proxy"),
    ],
)
def test_a_proxy_that_is_not_counted_is_warned_of(
    settings: Any, header: tuple[str, str] | None, proxies: int, warnings: list[str]
) -> None:
    settings.SECURE_PROXY_SSL_HEADER = header
    settings.REST_FRAMEWORK = {**site.REST_FRAMEWORK, "NUM_PROXIES": proxies}

    assert [check.id for check in trusted_proxies(None)] == warnings


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        pytest.param("OPENAI_API_KEY", None, id="a name"),
        pytest.param("PROVIDER_*", None, id="a beginning"),
        pytest.param("*", None, id="all"),
        pytest.param("A@gw.example.org:8443", None, id="a host and a port"),
        pytest.param("A@*.example.org", None, id="hosts"),
        pytest.param("A@[fd00::1]:80", None, id="an address"),
        pytest.param("A@https://gw.example.org", "evals_app.E006", id="an address of a page"),
        pytest.param("A@", "evals_app.E006", id="no host"),
        pytest.param("sk-ant-CANARY", "evals_app.E006", id="a key"),
        pytest.param("PROVIDER_*_KEY", "evals_app.E006", id="a star in the middle"),
        pytest.param("DATABASE_URL", "evals_app.W004", id="of this site"),
        pytest.param("EVALWELL_*", "evals_app.W004", id="all of this site"),
    ],
)
@pytest.mark.parametrize("setting", ["EVALS_KEY_VARIABLES", "EVALS_HEADER_VARIABLES"])
def test_a_permitted_variable_that_cannot_be_read_is_refused(
    settings: Any, setting: str, entry: str, complaint: str | None
) -> None:
    setattr(settings, setting, ["ANTHROPIC_API_KEY", entry])

    complaints = [*permitted_variables(None)]

    assert [check.id for check in complaints] == ([complaint] if complaint else [])
    assert "CANARY" not in "".join(check.msg for check in complaints)


def test_a_deployment_is_warned_of_variables_that_may_go_to_any_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AGENT_LOOSE", "AGENT_PINNED", "PROVIDER_LOOSE", "PROVIDER_PINNED"):
        monkeypatch.setenv(name, "CANARY")
    monkeypatch.setenv("OPENAI_API_KEY", "CANARY")  # sent only to its own hosts

    with permitting(
        keys=("OPENAI_API_KEY", "PROVIDER_*", "PROVIDER_PINNED@models.example.org"),
        variables=("AGENT_*", "AGENT_PINNED@agent.example.org"),
    ):
        warnings = [*variables_without_hosts(None)]

    assert [warning.id for warning in warnings] == ["evals_app.W006"] * 2
    assert ["PROVIDER_LOOSE" in warnings[0].msg, "AGENT_LOOSE" in warnings[1].msg] == [True, True]
    assert "CANARY" not in "".join(warning.msg for warning in warnings)


def test_two_packages_that_read_the_same_files_are_warned_of(offer: Offer) -> None:
    reader = "tests.formats.test_reader_plugins:quiz"
    offer("readers", quiz=reader, trivia=reader)

    (warning,) = broken_plugins(None)

    assert warning.id == "evals_app.W009"
    assert "*.quiz.txt" in warning.msg


def test_a_misspelt_variable_is_named_with_the_nearest(settings: Any) -> None:
    settings.UNKNOWN_VARIABLES = {"EVALWELL_LOGLEVEL": "EVALWELL_LOG_LEVEL", "EVALS_X": ""}

    first, second = unknown_variables(None)

    assert (first.id, first.hint) == ("evals_app.W005", "Did you mean EVALWELL_LOG_LEVEL?")
    assert "EVALWELL_LOGLEVEL" in first.msg
    assert "operations.md" in str(second.hint)


@pytest.mark.parametrize(
    ("passwords", "provider", "roles", "complaints"),
    [
        pytest.param(True, None, {}, [], id="passwords alone"),
        pytest.param(False, object(), {"a": ("Viewer",)}, [], id="the company alone"),
        pytest.param(False, None, {}, ["evals_app.E007"], id="no way in"),
        pytest.param(True, None, {"a": ("Viewer",)}, ["evals_app.W007"], id="roles of no groups"),
        pytest.param(True, object(), {"a": ("Veiwer",)}, ["evals_app.W008"], id="a misspelt role"),
        pytest.param(True, object(), {"a": ("Finance team",)}, [], id="a role of their own"),
    ],
)
def test_a_site_without_a_way_in_is_refused(
    settings: Any,
    passwords: bool,  # noqa: FBT001 - a column of the table
    provider: object,
    roles: dict[str, tuple[str, ...]],
    complaints: list[str],
) -> None:
    settings.PASSWORDS, settings.IDENTITY_PROVIDER = passwords, provider
    settings.GROUP_ROLES = roles

    assert [check.id for check in ways_to_sign_in(None)] == complaints
