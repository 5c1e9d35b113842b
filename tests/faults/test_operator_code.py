"""Functions of the operator's in whole worker processes: none of them outlives its worker."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from evals_app.models import Assertion, Execution, Run
from evals_app.runs.ground.workers import is_process
from evals_app.runs.starting.start_run import start_run
from tests.engine.operator_code import OperatorCode, operator_code_in
from tests.faults.crew import RECOVERED_S, crew, eventually, is_over, send, worker_pid
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def operator_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OperatorCode]:
    with operator_code_in(tmp_path, monkeypatch) as code:
        yield code


@pytest.fixture
def environment(child_environment: dict[str, str], operator_code: OperatorCode) -> dict[str, str]:
    """The environment of a worker that may use the operator's code."""
    return child_environment | {
        "EVALS_PYTHON_MODULES": operator_code.package,
        "PYTHONPATH": str(operator_code.folder),
    }


def start_graded(reference: str, *, cases: int, timeout_s: int) -> Run:
    suite = make_suite(cases=cases)
    checks = Assertion.objects.filter(turn__case__suite=suite)
    checks.update(type="code", options={"grader": reference, "timeout_s": timeout_s})
    return start_run(suite)


def test_functions_end_with_a_worker_that_is_killed(
    environment: dict[str, str], operator_code: OperatorCode, tmp_path: Path
) -> None:
    hang, fine = tmp_path / "hang", tmp_path / "fine"
    reference = operator_code.function(
        f"""
        import os, subprocess
        def it(context):
            if os.path.exists({str(fine)!r}):
                return True
            below = subprocess.Popen(["sleep", "600"])
            with open({str(hang)!r}, "w") as file:
                file.write(f"{{os.getpid()}} {{below.pid}}")
            while True: pass
        """
    )
    run = start_graded(reference, cases=1, timeout_s=300)

    def pids() -> list[int]:
        return [int(pid) for pid in hang.read_text().split()] if hang.exists() else []

    with crew(environment, tmp_path):
        eventually(lambda: len(pids()) == 2, "a function at work")
        was_at_work = all(map(is_process, pids()))
        fine.touch()
        send(signal.SIGKILL, worker_pid())

        eventually(lambda: not any(map(is_process, pids())), "the end of the function")
        eventually(lambda: is_over(run), "the end of the run", within_s=RECOVERED_S)

    assert was_at_work
    assert Execution.objects.get(run=run).verdict == "passed"


def test_functions_that_never_end_spoil_their_own_checks_alone(
    environment: dict[str, str], operator_code: OperatorCode, tmp_path: Path
) -> None:
    reference = operator_code.function(
        """
        def it(context):
            if context.test_case_name in ("case 3", "case 5"):
                sum(range(10**12))
            return True
        """
    )
    run = start_graded(reference, cases=12, timeout_s=6)

    with crew(environment, tmp_path):
        eventually(lambda: is_over(run), "the end of the run")

    assert (run.passed, run.errored) == (10, 2)
    reasons = Execution.objects.filter(run=run, verdict="errored").values_list("attempts", "reason")
    assert all(attempts == 1 and "took longer than 6 s" in why for attempts, why in reasons)
