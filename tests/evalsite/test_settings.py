import re
import runpy
import secrets
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import override_settings

ROOT = Path(__file__).resolve().parent.parent.parent
SETTINGS = ROOT / "evalsite" / "settings.py"
PAGE = ROOT / "docs" / "operations.md"


def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    """Run the settings module in an environment of its own."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("EVALWELL_DATA_DIR", str(tmp_path / "data"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(str(SETTINGS))


def test_the_site_is_safe_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = settings(tmp_path, monkeypatch)

    assert site["DEBUG"] is False
    assert site["ALLOWED_HOSTS"] == ["localhost", "127.0.0.1", "[::1]"]
    assert len(site["SECRET_KEY"]) >= 50
    assert site["DATABASES"]["default"]["NAME"] == str(tmp_path / "data" / "evalwell.sqlite3")
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
    # Without HTTPS a browser can still sign in.
    assert not {"SESSION_COOKIE_SECURE", "SECURE_PROXY_SSL_HEADER"} & site.keys()


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
            {"DATABASE_URL": "postgres:///evals", "EVALWELL_REDIS_URL": "redis://queue/0"},
            {"redis": "redis://queue/0"},
            id="Redis",
        ),
        pytest.param({"EVALWELL_WORKERS": "5"}, {"workers": 5}, id="as many as wanted"),
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


def test_a_duration_is_changed_by_a_variable_of_its_name_and_a_bad_one_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("LEASE", "HEARTBEAT", "REAP", "SHIFT", "EXECUTION", "PULSE")
    durations = {f"EVALS_{name}_S": f"{number}.25" for number, name in enumerate(names)}

    site = settings(tmp_path, monkeypatch, **durations)

    assert {name: str(site[name]) for name in durations} == durations
    with pytest.raises(ImproperlyConfigured, match="EVALS_PULSE_S is 'often'"):
        settings(tmp_path, monkeypatch, EVALS_PULSE_S="often")


def documented(recipe: int) -> dict[str, str]:
    """Return /etc/evalwell.env as a recipe of the page shows it."""
    _, _, text = PAGE.read_text().partition(f"\n## Recipe {recipe}: ")
    file = re.search(r"evalwell\.env`:\n\n```sh\n(.*?)```", text, re.DOTALL)
    assert file is not None
    lines = dict(line.split("=", 1) for line in file[1].splitlines())
    if "EVALWELL_SECRET_KEY" in lines:  # there in words
        lines["EVALWELL_SECRET_KEY"] = secrets.token_urlsafe(50)
    return {name: value for name, value in lines.items() if name != "EVALWELL_DATA_DIR"}


@pytest.mark.parametrize("recipe", [1, 2])
def test_the_documented_production_set_up_leaves_nothing_to_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: int
) -> None:
    site = settings(tmp_path, monkeypatch, **documented(recipe))
    safety = {
        name: value
        for name, value in site.items()
        if name.startswith(
            ("ALLOWED", "CSRF", "DEBUG", "REST", "SECRET", "SECURE", "SESSION", "SILENCED")
        )
    }

    with override_settings(**safety):
        call_command("check", "--deploy", "--fail-level", "WARNING")
    with override_settings(**safety | {"SECURE_SSL_REDIRECT": False}), pytest.raises(CommandError):
        call_command("check", "--deploy", "--fail-level", "WARNING")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({"EVALWELL_HOSTS": "evals.example.org"}, "http://127.0.0.1:8000"),
        (
            {"EVALWELL_HOSTS": ".example.org,evals.example.org", "EVALWELL_HTTPS": "1"},
            "https://evals.example.org",
        ),
        ({"EVALWELL_HOSTS": "*", "EVALWELL_HTTPS": "1"}, "http://127.0.0.1:8000"),
        (
            {
                "EVALWELL_HOSTS": "a.example.org",
                "EVALWELL_HTTPS": "1",
                "EVALWELL_SITE": "https://b",
            },
            "https://b",
        ),
    ],
)
def test_links_begin_with_the_host_that_people_reach(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    expected: str,
) -> None:
    assert settings(tmp_path, monkeypatch, **environment)["SITE"] == expected


def test_variables_that_do_nothing_are_known_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = settings(
        tmp_path,
        monkeypatch,
        EVALWELL_LOGLEVEL="DEBUG",
        EVALS_JUDGE="secret",
        EVALWELL_WORKERS="2",
        EVALWELL_CASE="of an agent",
    )

    assert site["UNKNOWN_VARIABLES"] == {
        "EVALS_JUDGE": "EVALS_JUDGE_MODEL",
        "EVALWELL_LOGLEVEL": "EVALWELL_LOG_LEVEL",
    }
