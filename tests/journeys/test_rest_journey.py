"""An engineer follows the section "Over REST" of the README, command by command."""

import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
CURL = shutil.which("curl") or ""
PATIENCE_S = 60.0

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not CURL, reason="no curl found"),
]


@pytest.fixture
def site(child_environment: dict[str, str]) -> Iterator[str]:
    """Serve the site in a process of its own; give its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "manage.py", "serve", "--bind", address]
    process = subprocess.Popen(command, cwd=ROOT, env=child_environment, stdout=subprocess.DEVNULL)
    try:
        retry = ["--retry", "60", "--retry-delay", "1", "--retry-connrefused"]
        subprocess.run(
            [CURL, "--silent", "--fail", *retry, f"http://{address}/healthz"],
            capture_output=True,
            check=True,
            timeout=PATIENCE_S,
        )
        yield f"http://{address}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE_S)


def commands_of_the_readme() -> list[list[str]]:
    """Return the commands of the section as lists of words, comments left out."""
    section = (ROOT / "README.md").read_text().partition("## Over REST")[2].partition("\n## ")[0]
    block = re.findall(r"```console\n(.*?)```", section, re.DOTALL)[0]
    return [shlex.split(line, comments=True) for line in block.replace("\\\n", " ").splitlines()]


class Engineer:
    """Types commands, with the token and the numbers that the site gave."""

    def __init__(self, site: str, environment: dict[str, str]) -> None:
        self.site = site
        self.environment = environment
        self.token = ""

    def manage(self, words: list[str]) -> str:
        done = subprocess.run(
            [sys.executable, *words[1:]],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )
        return done.stdout.strip()

    def curl(self, *words: str) -> Any:
        typed = [
            word.replace("$TOKEN", self.token).replace("http://127.0.0.1:8000", self.site)
            for word in words
        ]
        done = subprocess.run(
            [CURL, "--silent", "--show-error", *typed],
            cwd=EXAMPLES,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )
        return json.loads(done.stdout)


def test_the_readme_leads_from_a_token_to_the_reason_of_a_failure(
    site: str, child_environment: dict[str, str]
) -> None:
    User.objects.create_superuser("admin")
    create_token, export, start, read_run, list_failed, read_execution = commands_of_the_readme()
    engineer = Engineer(site, child_environment)

    engineer.token = engineer.manage(create_token)
    assert export == ["export", "TOKEN=..."]

    # The README's reader has imported the examples before.
    files = sorted([*EXAMPLES.glob("customer-support/**/*.yaml"), *EXAMPLES.glob("*.agent.yaml")])
    parts = [path.relative_to(EXAMPLES).as_posix() for path in files]
    forms = [word for part in parts for word in ("--form", f"{part}=@{part}")]
    bearer = ["-H", "Authorization: Bearer $TOKEN"]
    imported = engineer.curl(*bearer, *forms, "http://127.0.0.1:8000/api/import/")
    created = [change["slug"] for change in imported["changes"] if change["what"] == "created"]
    assert "customer-support" in created

    run = engineer.curl(*start[1:])
    number = {"runs/1/": f"runs/{run['id']}/"}
    give_up = time.monotonic() + PATIENCE_S
    while run["status"] in {"queued", "running"} and time.monotonic() < give_up:
        time.sleep(0.2)
        run = engineer.curl(*_numbered(read_run, number))
        assert 0 <= run["progress"]["done"] <= run["progress"]["total"]
    assert (run["status"], run["verdict"]) == ("finished", "failed")

    failed = engineer.curl(*_numbered(list_failed, number))["results"]
    assert [row["case"] for row in failed] == ["Delivery promise"]

    execution = engineer.curl(
        *_numbered(read_execution, {"executions/8/": f"executions/{failed[0]['id']}/"})
    )
    reasons = [grade["reason"] for grade in execution["grades"] if grade["passed"] is False]
    assert reasons[0].startswith("Expected a call to entity.query")
    assert "does not contain “Friday”" in reasons[1]


def _numbered(words: list[str], numbers: dict[str, str]) -> list[str]:
    """Leave `curl` out, and write the numbers of this site instead of the README's."""
    assert words[0] == "curl"
    address = words[-1]
    for written, number in numbers.items():
        assert written in address
        address = address.replace(written, number)
    return [*words[1:-1], address]
