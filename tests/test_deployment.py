"""The files of docs/deploy: pages quote them, and they say the same."""

import fnmatch
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "docs" / "deploy"
UNITS = ("evalwell.service", "evalwell-worker.service", "evalwell-web.service")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
_QUOTED = re.compile(r"`docs/deploy/([\w.-]+)`:\n\n```\w*\n(.*?)```", re.DOTALL)


def test_pages_quote_the_files_as_they_are() -> None:
    quoted = [
        quote
        for page in (ROOT / "docs").glob("*.md")
        for quote in _QUOTED.findall(page.read_text())
    ]

    assert {name for name, _ in quoted} == {"evalwell.service", "nginx.conf", "Caddyfile"}
    assert [name for name, text in quoted if text != (DEPLOY / name).read_text()] == []


def lines(unit: str) -> list[str]:
    return (DEPLOY / unit).read_text().splitlines()


def test_units_differ_only_in_what_they_run_and_how_long_that_may_take_to_stop() -> None:
    own = ("Description=", "ExecStart=", "TimeoutStopSec=")

    first, *others = ([line for line in lines(unit) if not line.startswith(own)] for unit in UNITS)

    assert [unit for unit in others if unit != first] == []


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", UNITS)
def test_units_may_do_little(unit: str) -> None:
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(DEPLOY / unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze knows no --offline")

    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)

    assert exposure is not None, done.stderr
    assert float(exposure[1]) < 2


def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return content


def words(command: str | list[str]) -> list[str]:
    """Return a command without where it is and which address it serves."""
    parts = shlex.split(command) if isinstance(command, str) else command
    split = [part for word in parts for part in word.split("=", 1)]
    split[0] = Path(split[0]).name
    return [word for word in split if not re.fullmatch(r"[\d.]+:\d+", word)]


@pytest.mark.parametrize(("service", "unit"), [("web", UNITS[2]), ("worker", UNITS[1])])
def test_containers_run_the_commands_of_the_units(service: str, unit: str) -> None:
    (line,) = (line for line in lines(unit) if line.startswith("ExecStart="))
    (stop,) = (line for line in lines(unit) if line.startswith("TimeoutStopSec="))
    container = compose()["services"][service]

    assert words(container["command"]) == words(line.removeprefix("ExecStart="))
    assert container["stop_grace_period"] == stop.partition("=")[2] + "s"


def test_containers_may_do_little() -> None:
    services = compose()["services"]

    for name in ("migrate", "web", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert re.findall(r"^USER (\w+)$", dockerfile(), re.MULTILINE) == ["evalwell"]


def test_every_variable_is_documented() -> None:
    text = dockerfile() + (DEPLOY / "compose.yaml").read_text()
    variables = set(re.findall(r"\b(?:EVALWELL|EVALS)_[A-Z_]+", text))

    assert variables
    assert [name for name in variables if f"`{name}`" not in OPERATIONS] == []


def dockerfile() -> str:
    return (DEPLOY / "Dockerfile").read_text()


def test_the_image_has_what_the_site_needs_and_no_secrets() -> None:
    copied = {
        word
        for line in re.findall(r"^COPY (?!--)(.+) \S+$", dockerfile(), re.MULTILINE)
        for word in line.split()
    }
    rules = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()

    def is_sent(path: str) -> bool:
        sent = True
        for rule in rules:
            pattern = rule.removeprefix("!")
            if rule and any(
                fnmatch.fnmatch(part, pattern) for part in (path, *map(str, Path(path).parents))
            ):
                sent = rule.startswith("!")
        return sent

    assert {"manage.py", "evalsite", "evals_app", "fixtures_app", "templates", "static"} <= copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert [name for name in copied if not is_sent(name)] == []
    secrets = (".env", "docs/deploy/.env", "docs/deploy/evalwell.env", "var/secret_key", ".git")
    assert [path for path in secrets if is_sent(path)] == []
