"""Code of the operator's in processes of its own: whatever it does, the caller goes on."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evals_app.engine.basics.errors import CodeError
from evals_app.engine.callables import pool
from evals_app.engine.callables.pool import Callables
from evals_app.engine.callables.processes import ROOT
from tests.engine.operator_code import OperatorCode
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio

CONTEXT: dict[str, Any] = {
    "turn_input": "Hello",
    "agent_response": "Good morning.",
    "ground_truth": None,
    "tool_invocations": [],
    "retrieval_context": None,
    "turn_index": 0,
    "test_case_name": "Greeting",
    "turn_config": {},
    "world_before": None,
    "world_after": None,
}


@dataclass(frozen=True)
class Code:
    """Graders that are functions, and the processes that call them."""

    callables: Callables
    modules: OperatorCode

    def function(self, code: str) -> str:
        return self.modules.function(code)

    async def grade(self, reference: str, *, timeout_s: float = 10.0, **context: Any) -> Any:
        return await self.callables.grade(reference, CONTEXT | context, timeout_s=timeout_s)


@pytest.fixture
async def callables() -> AsyncIterator[Callables]:
    async with Callables(most=4) as opened:
        yield opened


@pytest.fixture
def code(callables: Callables, operator_code: OperatorCode) -> Code:
    return Code(callables, operator_code)


def is_alive(pid: int) -> bool:
    """Whether a process still does something; one that only waits to be buried does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


async def is_gone(pid: int) -> bool:
    """Wait a little for a process to be gone."""
    for _ in range(100):
        if not is_alive(pid):
            return True
        await asyncio.sleep(0.05)
    return False


def number_in(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


async def id_in(path: Path) -> int:
    """Wait for a process to write its id."""
    for _ in range(200):
        if (pid := number_in(path)) is not None:
            return pid
        await asyncio.sleep(0.05)
    pytest.fail(f"nobody wrote {path}")


async def test_a_grader_gives_its_result(code: Code) -> None:
    reference = code.function(
        """
        from evals_app.engine.callables import GraderContext, GraderResult

        def it(context: GraderContext) -> GraderResult:
            return GraderResult(0.5, reason=context.agent_response, details={"case": 1})
        """
    )

    assert await code.grade(reference) == {
        "score": 0.5,
        "passed": None,
        "reason": "Good morning.",
        "details": {"case": 1},
    }


async def test_async_code_shares_a_loop_with_the_calls_before(code: Code) -> None:
    reference = code.function(
        """
        import asyncio
        loops = []

        async def it(context):
            await asyncio.sleep(0)
            loops.append(asyncio.get_running_loop())
            return len(loops) == 1 or loops[-1] is loops[-2]
        """
    )

    assert [(await code.grade(reference))["passed"] for _ in range(3)] == [True] * 3


def body(statements: str) -> str:
    """Write a module in which a grader does this."""
    return f"def it(context):\n    {statements}"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            body("raise ValueError('bad amount')"),
            r":it failed: ValueError: bad amount \(.*module_\d+\.py, line 2, in it\)\.",
            id="it raises",
        ),
        pytest.param(
            body("import json; json.loads('{')"),
            r"JSONDecodeError: .* \(.*module_\d+\.py, line 2, in it\)\.",
            id="a library raises: the operator's line is named",
        ),
        pytest.param(
            "async " + body("raise ValueError('bad amount')"),
            r"ValueError: bad amount \(.*line 2, in it\)",
            id="it raises later",
        ),
        pytest.param(body("import sys; sys.exit(3)"), "failed: SystemExit: 3", id="sys.exit"),
        pytest.param(
            body("import os; print('about to go'); os._exit(3)"),
            r"ended its process \(exit code 3\)",
            id="it ends the process",
        ),
        pytest.param(
            body("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"),
            r"ended its process \(signal SIGSEGV\)",
            id="it crashes the process",
        ),
        (body("raise type('Odd', (Exception,), {'__str__': lambda _: 1 / 0})"), r"failed: Odd \("),
        pytest.param(body("it(context)"), "failed: RecursionError", id="it never comes to an end"),
        (body("return [1]"), r"failed: TypeError: it returned \[1\]; expected a GraderResult"),
        pytest.param(
            "from evals_app.engine.callables import GraderResult as R\n"
            + body("return R(1.0, details={'text': 'x' * 1_000_000})"),
            "returned 1,000,.* bytes; .* 1,000,000",
            id="it returns too much",
        ),
        pytest.param(
            body("import sys; sys.stdout.close(); print('closed', file=sys.stderr); 1 / 0"),
            r"ZeroDivisionError: .* It printed: closed",
            id="it closes its output",
        ),
        ("raise ImportError('no licence')", r"failed: ImportError: no licence \("),
        ("import os; os._exit(1)", r"ended its process \(exit code 1\)"),
    ],
)
async def test_what_fails_is_an_error_and_the_next_call_works(
    code: Code, source: str, message: str
) -> None:
    fine = code.function("def it(context): return True")

    with pytest.raises(CodeError, match=message):
        await code.grade(code.function(source))

    assert (await code.grade(fine))["passed"] is True


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("while True: pass", id="a loop"),
        pytest.param("time.sleep(60)", id="sleep"),
        pytest.param("sum(range(10**12))", id="a loop in C, deaf to everything"),
        "signal.pthread_sigmask(signal.SIG_SETMASK, range(1, 64)); time.sleep(60)",
        pytest.param("subprocess.run(['sleep', '60'])", id="a program"),
    ],
)
async def test_what_hangs_is_ended_when_its_time_is_up(
    code: Code, tmp_path: Path, source: str
) -> None:
    reference = code.function(
        f"""
        import os, signal, subprocess, sys, time
        def it(context):
            with open({str(tmp_path / "pid")!r}, "w") as file:
                file.write(str(os.getpid()))
            print("still here", flush=True)
            {source}
        """
    )

    with pytest.raises(CodeError, match=r"took longer than 1 s\. It printed: still here"):
        await code.grade(reference, timeout_s=1)

    assert await is_gone(await id_in(tmp_path / "pid"))


async def test_importing_does_not_use_up_the_time_of_a_call(code: Code) -> None:
    reference = code.function("import time; time.sleep(2.2)\ndef it(context): return True")

    assert (await code.grade(reference, timeout_s=2))["passed"] is True


async def test_a_module_that_never_comes_to_an_end_is_given_up(
    code: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "LOAD_S", 0.5)

    with pytest.raises(CodeError, match=r"took longer than 0\.5 s"):
        await code.grade(code.function("while True: pass"))


async def test_what_is_printed_disturbs_nothing_and_is_shown_beside_an_error(code: Code) -> None:
    reference = code.function(
        """
        import os, sys
        def it(context):
            print('{"value": {"score": 1.0}}')
            os.write(1, b"straight to the output\\n")
            print("\\x1b[31mred\\x1b[0m \\x00 text", file=sys.stderr)
            if context.turn_config:
                return True
            raise ValueError("no")
        """
    )

    with pytest.raises(CodeError) as caught:
        await code.grade(reference)

    printed = str(caught.value).partition("It printed: ")[2]
    assert '{"value"' in printed
    assert "straight to the output" in printed
    assert "red  text" in printed
    assert (await code.grade(reference, turn_config={"fine": True}))["passed"] is True


async def test_of_giant_output_only_the_end_is_kept(code: Code) -> None:
    reference = code.function(
        """
        def it(context):
            for _ in range(20_000):
                print("x" * 1_000)
            print("the end")
            raise ValueError("no")
        """
    )

    with pytest.raises(CodeError, match=r"It printed: …x+\nthe end$") as caught:
        await code.grade(reference)

    assert len(str(caught.value)) < 1_000


async def test_it_sees_no_secret_that_is_not_permitted(
    code: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "EVALWELL_SECRET_KEY", "DATABASE_URL", "AGENT_TOKEN"):
        monkeypatch.setenv(name, f"value of {name}")
    reference = code.function(
        """
        import os
        from evals_app.engine.callables import GraderResult
        def it(context):
            return GraderResult(1.0, details=dict(os.environ))
        """
    )

    with permitting(variables=("AGENT_*",)):
        seen = (await code.grade(reference))["details"]

    assert seen["AGENT_TOKEN"] == "value of AGENT_TOKEN"
    assert {"PATH", "PYTHONPATH"} <= seen.keys()
    assert not {"ANTHROPIC_API_KEY", "EVALWELL_SECRET_KEY", "DATABASE_URL"} & seen.keys()


@pytest.mark.parametrize(
    "reference", [pytest.param("os:system", id="os"), pytest.param("evals_app.apps:set_permits")]
)
async def test_what_is_not_permitted_never_runs(code: Code, reference: str) -> None:
    with pytest.raises(CodeError, match="Your administrator does not permit the module"):
        await code.grade(reference)


async def test_what_was_permitted_once_does_not_run_any_more(code: Code) -> None:
    reference = code.function("def it(context): return True")
    await code.grade(reference)

    with permitting(modules=()), pytest.raises(CodeError, match="does not permit"):
        await code.grade(reference)


async def test_a_hundred_graders_at_once_share_a_few_processes(code: Code) -> None:
    reference = code.function(
        """
        import os
        from evals_app.engine.callables import GraderResult
        def it(context):
            return GraderResult(1.0, details={"pid": os.getpid()})
        """
    )

    results = await asyncio.gather(*(code.grade(reference) for _ in range(100)))

    assert len(results) == 100
    assert 1 <= len({result["details"]["pid"] for result in results}) <= 4


async def test_a_call_that_is_broken_off_leaves_no_process_behind(
    code: Code, tmp_path: Path
) -> None:
    reference = code.function(
        f"""
        import os, time
        def it(context):
            with open({str(tmp_path / "pid")!r}, "w") as file:
                file.write(str(os.getpid()))
            time.sleep(60)
        """
    )
    call = asyncio.create_task(code.grade(reference, timeout_s=60))
    pid = await id_in(tmp_path / "pid")

    call.cancel()
    with suppress(asyncio.CancelledError):
        await call

    assert await is_gone(pid)


async def test_at_its_end_everything_is_gone_programs_of_programs_too(
    operator_code: OperatorCode, tmp_path: Path
) -> None:
    reference = operator_code.function(
        f"""
        import subprocess
        def it(context):
            started = subprocess.Popen(["sleep", "60"])
            with open({str(tmp_path / "pid")!r}, "w") as file:
                file.write(str(started.pid))
            return True
        """
    )
    async with Callables(most=1) as callables:
        await callables.grade(reference, CONTEXT, timeout_s=10)
        pid = await id_in(tmp_path / "pid")
        was_alive = is_alive(pid)

    assert was_alive
    assert await is_gone(pid)


async def test_processes_end_when_the_one_that_started_them_is_killed(
    operator_code: OperatorCode, tmp_path: Path
) -> None:
    reference = operator_code.function(
        f"""
        import os, subprocess
        def it(context):
            below = subprocess.Popen(["sleep", "60"])
            for name, pid in (("below", below.pid), ("pid", os.getpid())):
                with open(os.path.join({str(tmp_path)!r}, name), "w") as file:
                    file.write(str(pid))
            while True: pass
        """
    )
    script = tmp_path / "worker.py"
    script.write_text(
        f"""
import asyncio
from evals_app.engine.callables.pool import Callables
from evals_app.engine.basics.permits import Permits, set_permits

async def main():
    set_permits(Permits(modules=({operator_code.package!r},)))
    async with Callables(most=1) as callables:
        await callables.grade({reference!r}, {CONTEXT!r}, timeout_s=60)

asyncio.new_event_loop().run_until_complete(main())
"""
    )
    worker = await asyncio.create_subprocess_exec(
        pool.child()[0], str(script), env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    )
    pid = await id_in(tmp_path / "pid")

    worker.kill()
    await worker.wait()

    assert await is_gone(pid)
    assert await is_gone(await id_in(tmp_path / "below"))


async def run(callables: Callables, script: str, **changes: Any) -> pool.ProgramResult:
    options: dict[str, Any] = {"message": b"hello", "variables": {}, "most_bytes": 1_000} | changes
    return await callables.run(["/bin/sh", "-c", script], **options)


async def test_a_program_reads_its_input_and_variables_and_is_read(callables: Callables) -> None:
    ran = await run(callables, "cat; echo $WORD; echo why >&2", variables={"WORD": b"there"})

    assert (ran.output, ran.errors, ran.has_succeeded) == (b"hellothere\n", "why", True)


async def test_a_program_that_fails_says_how(callables: Callables) -> None:
    failed = await run(callables, "echo no >&2; exit 3")
    killed = await run(callables, "kill -9 $$")

    assert (failed.ending, failed.errors, failed.has_succeeded) == ("exit code 3", "no", False)
    assert killed.ending == "signal SIGKILL"


async def test_a_program_that_writes_without_end_is_ended(callables: Callables) -> None:
    ran = await asyncio.wait_for(run(callables, "yes"), 60)

    assert ran.is_too_much
    assert not ran.has_succeeded


async def test_a_program_that_reads_nothing_is_no_problem(callables: Callables) -> None:
    ran = await run(callables, "echo done", message=b"x" * 5_000_000)

    assert (ran.output, ran.has_succeeded) == (b"done\n", True)


async def test_what_a_program_leaves_behind_is_ended_with_it(
    callables: Callables, tmp_path: Path
) -> None:
    began = time.monotonic()
    ran = await run(callables, f"sleep 60 & echo $! > {tmp_path / 'pid'}; echo done")

    assert ran.output == b"done\n"
    assert time.monotonic() - began < 50  # the program sleeps for 60
    assert await is_gone(await id_in(tmp_path / "pid"))


async def test_below_a_worker_which_is_deaf_to_it_a_program_still_heeds_sigterm(
    callables: Callables,
) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        ran = await run(callables, "sh -c 'kill -TERM $$; echo deaf'; echo $?")
    finally:
        signal.signal(signal.SIGTERM, before)

    assert ran.output == b"143\n"


async def test_lines_of_any_size_come_through(code: Code) -> None:
    reference = code.function("def it(context): return len(context.agent_response) == 3_000_000")

    assert (await code.grade(reference, agent_response="ü" * 3_000_000))["passed"] is True
