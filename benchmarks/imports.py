"""Measure what it takes to import, import again and export 10,000 cases, by the commands.

On SQLite also how long another writer waits in the meantime, at most: it has one at a time. On Linux
also how much memory the first import and the second take at their peaks, for each MB of files.

    DATABASE_URL=postgresql://... python -m benchmarks.imports --cases 10000

Works in a database of its own on that server (or in a file, with SQLite), and drops it again.
"""
# ruff: noqa: E402 - models can be imported once Django is set up

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()

from django.core.management import call_command
from django.db import connection

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.native import write_native

_WRITER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], timeout=300, isolation_level=None)
longest = 0.0
while True:
    began = time.perf_counter()
    database.execute("BEGIN IMMEDIATE")
    database.execute("ROLLBACK")
    waited = time.perf_counter() - began
    if waited > longest:
        longest = waited
        print(longest, flush=True)
    time.sleep(0.01)
"""
AGENT = AgentSpec.model_validate(
    {"agent": "Desk", "slug": "desk", "driver": "scripted", "rules": [{"reply": "It is sent."}]}
)


def suite(slug: str, *, cases: int, changed: int = 0) -> SuiteSpec:
    """Return a suite as people write them: limits, four checks a case; some cases changed."""
    return SuiteSpec.model_validate(
        {
            "suite": f"Suite {slug}",
            "slug": slug,
            "agent": AGENT.slug,
            "assertions": [{"type": "not_contains", "value": "as an AI"}],
            "cases": [_case(number, is_changed=number < changed) for number in range(cases)],
        }
    )


def _case(number: int, *, is_changed: bool) -> dict[str, Any]:
    return {
        "name": f"Order {number:05}",
        "description": "The customer asks twice, and is told the same twice.",
        "tags": ["orders", f"part-{number % 10}"],
        "limits": {"max_time_ms": 5000, "max_tool_calls": 3},
        "turns": [
            {
                "user": f"Where is my order {number}?",
                "expected": "on its way" if is_changed else "sent",
                "inherit": True,
                "assertions": [
                    {"type": "contains"},
                    {"type": "llm-rubric", "criteria": "The reply is kind and names the day."},
                ],
            }
        ],
        "final_assertions": [{"type": "regex", "value": r"\b(sent|on its way)\b"}],
    }


def measure(*, cases: int, suites: int) -> None:
    """Print a line for one large suite, and one for so many small ones."""
    print(
        f"{'':<24} {'import':>9} {'again':>9} {'1 % new':>9} {'export':>9}   s (CPU of this side)"
    )
    for count in sorted({1, suites}):
        per_suite = max(1, cases // count)
        with _own_database(), tempfile.TemporaryDirectory() as folder, _another_writer() as waits:
            took, grown = _measured(Path(folder), suites=count, cases=per_suite)
        title = f"{count} x {per_suite:,} cases"
        waited = f"   others waited {max(waits):.1f} s at most" if waits else ""
        memory = f"   {grown[0]:.1f}, again {grown[1]:.1f} MB a MB" if all(grown) else ""
        print(f"{title:<24} {' '.join(took)}{waited}{memory}", flush=True)


def _measured(
    folder: Path, *, suites: int, cases: int
) -> tuple[Sequence[str], Sequence[float | None]]:
    written, exported = folder / "written", folder / "exported"
    _write(written, suites=suites, cases=cases)
    took: list[str] = []
    grown: list[float | None] = []
    for _ in range(2):
        with _peak_of(written) as peak:
            took.append(_timed("import_evals", written))
        grown.append(peak.get("MB a MB"))
    _write(written, suites=suites, cases=cases, changed=max(1, cases // 100))
    took.append(_timed("import_evals", written))
    took.append(_timed("export_evals", dir=exported))
    return took, grown


@contextmanager
def _peak_of(folder: Path) -> Iterator[dict[str, float]]:
    """Return how far the memory of this process grows meanwhile, for each MB of files in a folder."""
    peak: dict[str, float] = {}
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        yield peak
        return
    # The peak begins again: https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html
    reset.write_text("5")
    before = _kilobytes(status, "VmRSS")
    yield peak
    size = sum(file.stat().st_size for file in folder.iterdir())
    peak["MB a MB"] = (_kilobytes(status, "VmHWM") - before) * 1024 / size


def _kilobytes(status: Path, name: str) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


def _write(folder: Path, *, suites: int, cases: int, changed: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "desk.agent.yaml").write_bytes(write_native(AGENT))
    for number in range(suites):
        spec = suite(f"orders-{number}", cases=cases, changed=changed)
        (folder / f"{spec.slug}.suite.yaml").write_bytes(write_native(spec))


def _timed(command: str, *arguments: Any, **options: Any) -> str:
    began, cpu = time.perf_counter(), time.process_time()
    call_command(command, *arguments, stdout=io.StringIO(), **options)
    return f"{time.perf_counter() - began:4.1f}({time.process_time() - cpu:3.1f})"


@contextmanager
def _another_writer() -> Iterator[list[float]]:
    """Have another process take the lock of an SQLite file again and again; give how long it waited."""
    waits: list[float] = []
    if connection.vendor != "sqlite":
        yield waits
        return
    name = str(connection.settings_dict["NAME"])
    command = [sys.executable, "-c", _WRITER, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:  # noqa: S603 - our own
        try:
            yield waits
        finally:
            writer.terminate()
            waits += map(float, writer.communicate()[0].split())


@contextmanager
def _own_database() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        named = Path(connection.settings_dict["NAME"]).name
        # In memory SQLite would not show what it takes to write.
        name = f"{folder}/{named}" if connection.vendor == "sqlite" else f"{named}_imports"
        connection.settings_dict["TEST"]["NAME"] = name
        before = connection.settings_dict["NAME"]
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        try:
            yield
        finally:
            connection.creation.destroy_test_db(before, verbosity=0)


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--suites", type=int, default=100, help="Among which they are divided.")
    measure(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
