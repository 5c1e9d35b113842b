"""The demo and the server, as real processes."""

import contextlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from evals_app.management.web import ensure_free
from evals_app.models import Run, Worker

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE_S = 60.0

pytestmark = pytest.mark.django_db(transaction=True)


def demo(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "demo", "--no-serve"]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.slow
def test_the_demo_ends_as_the_examples_declare_and_can_be_repeated(
    child_environment: dict[str, str],
) -> None:
    # With a key for embeddings: it is not used, or this would wait for a server that is not there.
    keys = {"OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": "http://127.0.0.1:9"}

    first = demo(child_environment | keys)
    second = demo(child_environment)

    assert first.returncode == 0, first.stdout + first.stderr
    assert "Sign in as admin with the password" in first.stdout
    assert "no" not in [line.split()[-1] for line in first.stdout.splitlines() if " of " in line]
    assert second.returncode == 0, second.stdout + second.stderr
    assert "password" not in second.stdout
    assert "Examples: 0 of" in second.stdout
    assert get_user_model().objects.count() == 1
    counts = Run.objects.order_by("suite_slug", "pk").values_list(
        "suite_slug", "passed", "failed", "errored"
    )
    assert list(counts)[::2] == list(counts)[1::2]
    expected = {("order-desk", 8, 2, 2), ("letters", 3, 2, 1), ("filings-program", 2, 0, 0)}
    assert expected | {("ticket-desk", 3, 0, 0)} <= set(counts)


@pytest.mark.slow
def test_the_demo_says_so_when_an_example_ends_otherwise(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    # A deadline that nothing can meet: executions end as the harness's errors.
    done = demo(child_environment | {"EVALS_EXECUTION_S": "0.000001"})

    assert done.returncode == 1, done.stdout
    assert "should have passed, but it errored" in done.stdout


@pytest.mark.slow
def test_serve_answers_and_has_a_worker_until_it_is_shown_to_stop(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, str(ROOT / "manage.py"), "serve", "--bind", address]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=child_environment, text=True, stdout=subprocess.PIPE
    )
    try:
        answer = _fetch(f"http://{address}/healthz")
        has_worker = Worker.objects.exists()
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=PATIENCE_S)

    assert answer == 200
    assert has_worker
    assert process.returncode == 0
    assert f"Evalwell is on http://{address}/" in output


def test_an_address_that_is_taken_or_nowhere_cannot_be_served() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(CommandError, match="already in use") as caught,
    ):
        ensure_free(f"127.0.0.1:{taken.getsockname()[1]}")

    assert caught.value.returncode == 2
    with pytest.raises(CommandError, match=r"nowhere\.invalid"):
        ensure_free("nowhere.invalid:80")


def _fetch(url: str) -> int:
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310 - of our own
            return int(response.status)
        time.sleep(0.2)
    return 0
