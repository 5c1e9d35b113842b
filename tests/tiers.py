"""Which tests run when, and how long a test may take.

Before a commit (`make test`) everything runs that is not marked `slow`, `fault` or `bench`. The
rest runs in CI (`make test-rest`), which also repeats on PostgreSQL what uses a database.
"""

import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent
LATER = ("slow", "fault", "bench")
FOLDERS = {"faults": "fault", "benchmarks": "bench", "journeys": "slow"}
# Where databases differ: everything above asks them through these.
ON_BOTH = ("models", "runs", "api", "library")
# One journey for each part of the site; the others are `slow`.
JOURNEYS = frozenset(
    {
        "test_agent_page.py::test_a_scripted_agent_is_written_without_yaml_and_talked_to",
        "test_suite_page.py::test_cases_are_found_disabled_and_run_by_keyboard",
        "test_case_writing.py::test_a_check_is_searched_tried_on_the_last_reply_and_saved",
        "test_starting_runs.py::test_several_suites_run_from_the_list_and_skip_what_is_not_needed",
        "test_review.py::test_from_a_failure_to_its_repair_and_a_rerun_by_keyboard",
        "test_comparison.py::test_from_the_list_to_what_was_said_in_both_runs_by_keyboard",
        "test_import.py::test_a_mistake_is_mended_and_the_files_are_imported",
        "test_people.py::test_an_admin_invites_a_viewer_who_reads_runs_and_can_do_no_more",
    }
)
# What it takes to load one module, at most: an SDK has thousands.
IMPORT_S = 0.002


# What `slowness` measures on the machine on which tests got their marks.
LOOP_S = 0.01


def slowness() -> float:
    """Return how many times slower this machine computes than that one; never below 1.

    CI sets `TEST_TIME_SLACK`: machines that others use, too, should not fail what passes here.
    """

    def loop_s() -> float:
        began = time.process_time()
        sum(number * number for number in range(300_000))
        return time.process_time() - began

    slack = float(os.environ.get("TEST_TIME_SLACK", "1"))
    return slack * max(1.0, min(loop_s() for _ in range(5)) / LOOP_S)


def is_machine_busy() -> bool:
    """Tell whether the machine has more work than this test run gives it."""
    return os.getloadavg()[0] > 2 * (os.cpu_count() or 1)


class Tiers:
    """Marks tests, fails those that take too long, and reports which were left out.

    A test without a mark may take `max_cpu_s` of processor time, which grows little on a busy
    machine. That includes child processes that have ended, and not what happens to fall to one test
    of many: set-up, collecting garbage, and loading modules, for which `IMPORT_S` each are added.

    A test that only waits uses no processor time, so `max_wall_s` is a second, generous limit, though
    not for tests that wait for a browser. On a machine with far more work than processors everything
    waits and even processor time grows: there only twice `max_cpu_s` is a failure. On a slower machine
    both limits are as many times higher.
    """

    def __init__(
        self,
        *,
        max_cpu_s: float = 2.0,
        max_wall_s: float = 10.0,
        is_busy: Callable[[], bool] = is_machine_busy,
        slowness: Callable[[], float] = slowness,
    ) -> None:
        self.max_cpu_s = max_cpu_s * (factor := slowness())
        self.max_wall_s = max_wall_s * factor
        self.is_busy = is_busy
        self.left_out: Counter[str] = Counter()
        self._collecting_s = 0.0
        self._began_to_collect = 0.0

    def mark(self, items: Iterable[pytest.Item]) -> None:
        """Give tests the marks that follow from where they are and what they use."""
        for item in items:
            folder = item.path.relative_to(TESTS).parts[0]
            if folder in FOLDERS and f"{item.path.name}::{item.name}" not in JOURNEYS:
                item.add_marker(FOLDERS[folder])
            if folder in ON_BOTH and _uses_database(item):
                item.add_marker("both")

    # How long a test takes

    def pytest_configure(self) -> None:
        gc.callbacks.append(self._on_garbage)

    def pytest_unconfigure(self) -> None:
        gc.callbacks.remove(self._on_garbage)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        cpu, wall, modules = self._cpu_s(), time.monotonic(), len(sys.modules)
        yield
        cpu, wall = self._cpu_s() - cpu, time.monotonic() - wall
        cpu -= IMPORT_S * (len(sys.modules) - modules)
        is_busy = self.is_busy()
        waits = wall > self.max_wall_s and not (is_busy or item.get_closest_marker("browser"))
        is_slow = waits or cpu > self.max_cpu_s * (2 if is_busy else 1)
        if is_slow and not any(map(item.get_closest_marker, LATER)):
            pytest.fail(
                f"It took {cpu:.1f} s of processor time and {wall:.1f} s in all. Without a mark it "
                f"may take {self.max_cpu_s:.1f} s and {self.max_wall_s:.1f} s: make it faster, or mark "
                "it `slow`.",
                pytrace=False,
            )

    def _cpu_s(self) -> float:
        return sum(os.times()[:4]) - self._collecting_s

    def _on_garbage(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._began_to_collect = time.process_time()
        else:
            self._collecting_s += time.process_time() - self._began_to_collect

    # What is left out: counted where tests are collected, reported where results are shown

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        marks = (next(filter(item.get_closest_marker, LATER), None) for item in items)
        self.left_out.update(filter(None, marks))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["left_out"] = dict(self.left_out)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Ask any of the processes that run tests side by side: each of them collects all tests."""
        self.left_out |= Counter(getattr(node, "workeroutput", {}).get("left_out", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left_out:
            counts = ", ".join(f"{count} {mark}" for mark, count in sorted(self.left_out.items()))
            terminalreporter.write_line(
                f"Left out: tests with marks ({counts}); make test-rest runs them", yellow=True
            )


def _uses_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return bool(item.get_closest_marker("django_db") or fixtures & {"db", "transactional_db"})
