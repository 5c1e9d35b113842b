import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

SETTINGS = Path(__file__).resolve().parent.parent.parent / "evalsite" / "settings.py"


def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    """Run the settings module in an environment of its own."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("TOUCHSTONE_DATA_DIR", str(tmp_path / "data"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(str(SETTINGS))


def test_the_site_is_safe_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = settings(tmp_path, monkeypatch)

    assert site["DEBUG"] is False
    assert site["ALLOWED_HOSTS"] == ["localhost", "127.0.0.1", "[::1]"]
    assert len(site["SECRET_KEY"]) >= 50
    assert site["DATABASES"]["default"]["NAME"] == str(tmp_path / "data" / "touchstone.sqlite3")
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0


def test_https_marks_cookies_as_secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = settings(tmp_path, monkeypatch, TOUCHSTONE_HTTPS="1")

    assert site["SESSION_COOKIE_SECURE"]
    assert site["CSRF_COOKIE_SECURE"]
    assert site["SECURE_HSTS_SECONDS"] > 0
    assert site["SECURE_SSL_REDIRECT"]


def test_without_https_a_browser_can_still_log_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = settings(tmp_path, monkeypatch)

    assert "SESSION_COOKIE_SECURE" not in site
    assert "SECURE_PROXY_SSL_HEADER" not in site


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({}, {"orm": "default", "poll": 0.1, "workers": 3}, id="SQLite"),
        pytest.param(
            {"DATABASE_URL": "postgres:///evals", "CORES": "1"},
            {"orm": "default", "poll": 0.2, "workers": 3},
            id="PostgreSQL, few cores",
        ),
        pytest.param(
            {"DATABASE_URL": "postgres:///evals", "CORES": "8"},
            {"orm": "default", "poll": 0.2, "workers": 9},
            id="PostgreSQL, many cores",
        ),
        pytest.param(
            {"DATABASE_URL": "postgres:///evals", "TOUCHSTONE_REDIS_URL": "redis://queue/0"},
            {"redis": "redis://queue/0"},
            id="Redis",
        ),
        pytest.param({"TOUCHSTONE_WORKERS": "5"}, {"workers": 5}, id="as many as wanted"),
    ],
)
def test_the_queue_follows_the_database(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    expected: dict[str, Any],
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: int(environment.get("CORES", "2")))

    queue = settings(tmp_path, monkeypatch, **environment)["Q_CLUSTER"]

    assert {key: queue[key] for key in expected} == expected
    assert len({"orm", "redis"} & set(queue)) == 1


@pytest.mark.parametrize(
    "name",
    [
        "EVALS_LEASE_S",
        "EVALS_HEARTBEAT_S",
        "EVALS_REAP_S",
        "EVALS_SHIFT_S",
        "EVALS_EXECUTION_S",
        "EVALS_PULSE_S",
    ],
)
def test_a_duration_is_changed_by_a_variable_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert settings(tmp_path, monkeypatch, **{name: "0.25"})[name] == 0.25


def test_a_bad_value_is_refused_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ImproperlyConfigured, match="EVALS_PULSE_S is 'often'"):
        settings(tmp_path, monkeypatch, EVALS_PULSE_S="often")


def test_the_documented_production_set_up_leaves_nothing_to_say(tmp_path: Path) -> None:
    site = {
        "PATH": os.environ["PATH"],
        "TOUCHSTONE_DATA_DIR": str(tmp_path),
        "TOUCHSTONE_HOSTS": "evals.example.org",
        "TOUCHSTONE_HTTPS": "1",
        "TOUCHSTONE_PROXIES": "1",
    }
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]

    done = subprocess.run(
        command, cwd=SETTINGS.parent.parent, env=site, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "no issues" in done.stdout


def test_variables_that_do_nothing_are_known_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = settings(
        tmp_path,
        monkeypatch,
        TOUCHSTONE_LOGLEVEL="DEBUG",
        EVALS_JUDGE="secret",
        TOUCHSTONE_WORKERS="2",
        TOUCHSTONE_CASE="of an agent",
    )

    assert site["UNKNOWN_VARIABLES"] == {
        "EVALS_JUDGE": "EVALS_JUDGE_MODEL",
        "TOUCHSTONE_LOGLEVEL": "TOUCHSTONE_LOG_LEVEL",
    }
