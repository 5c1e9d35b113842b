"""What people write to name code of the operator's."""

import sys
import time
from pathlib import Path

import pytest

from evals_app.engine.basics.permits import OUR_COMMAND
from evals_app.engine.callables import references
from evals_app.engine.callables.references import (
    callable_problem,
    command_problem,
    importing_within,
    program_path,
)
from tests.engine.operator_code import OperatorCode
from tests.engine.permitting import permitting


def test_a_function_that_is_there_has_no_problem(operator_code: OperatorCode) -> None:
    reference = operator_code.function("def it(context): return True")

    assert callable_problem(reference, "grader") is None


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param("graders", id="no function"),
        pytest.param("graders.money.total", id="no colon"),
        pytest.param("graders:money:total", id="two colons"),
        pytest.param("graders:money.total", id="an attribute of an attribute"),
        pytest.param("graders:_total", id="a private one"),
        pytest.param("graders/money.py:total", id="a file"),
        pytest.param(".graders:total", id="relative"),
        pytest.param("graders:total()", id="a call"),
        pytest.param("graders:total\n", id="a line break"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_has_another_shape_is_refused(reference: str) -> None:
    problem = callable_problem(reference, "grader")

    assert problem is not None
    assert problem.startswith("Write module.path:function")


def test_a_module_that_is_not_permitted_is_refused_with_those_that_are() -> None:
    with permitting(modules=("graders", "my_agents")):
        problem = callable_problem("gradrs.money:total", "grader")

    assert problem == (
        "Your administrator does not permit the module gradrs.money. Did you mean 'graders'?"
        " Permitted (EVALS_PYTHON_MODULES): graders, my_agents, evals_app.engine.examples."
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param("def itt(context): ...", "Did you mean 'itt'?", id="misspelt"),
        pytest.param("import no_such_library", "No module named 'no_such_library'", id="an import"),
        pytest.param("def it(context: ...", "failed: SyntaxError", id="no Python"),
        pytest.param("import os; os._exit(4)", "ended the process that imported it (exit code 4)."),
        pytest.param("def it(): ...", "one argument, the context", id="no argument"),
    ],
)
def test_it_is_imported_before_anything_depends_on_it(
    operator_code: OperatorCode, code: str, message: str
) -> None:
    problem = callable_problem(operator_code.function(code), "grader")

    assert problem is not None
    assert message in problem


def test_an_agent_and_a_grader_are_called_in_different_ways(operator_code: OperatorCode) -> None:
    reference = operator_code.function("def it(message, history): return message")

    assert callable_problem(reference, "agent") is None
    assert callable_problem(reference, "grader") is not None


def test_an_import_that_never_ends_is_given_up(
    operator_code: OperatorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "_IMPORT_S", 0.5)
    began = time.monotonic()

    problem = callable_problem(operator_code.function("while True: pass"), "grader")

    assert problem is not None
    assert problem.endswith("could not be imported within 0.5 s.")
    assert time.monotonic() - began < 60


def test_callables_share_the_time_that_all_of_them_have(operator_code: OperatorCode) -> None:
    slow, quick = (
        operator_code.function(code) for code in ("while True: pass", "def it(context): ...")
    )

    with importing_within(0.5):
        problems = [callable_problem(code, "grader") or "" for code in (slow, quick)]

    assert problems[0].endswith("could not be imported within 0.5 s.")
    assert problems[1].startswith(f"There was no time left to import {quick}")


def test_a_module_that_leaves_a_thread_running_can_be_imported(operator_code: OperatorCode) -> None:
    reference = operator_code.function(
        """
        import threading, time
        threading.Thread(target=time.sleep, args=[60]).start()
        def it(context): ...
        """
    )

    assert callable_problem(reference, "grader") is None


def test_what_was_found_is_not_imported_again_for_a_while(
    operator_code: OperatorCode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    count = tmp_path / "imports"
    reference = operator_code.function(
        f"""
        with open({str(count)!r}, "a") as file:
            file.write("x")
        def it(context): ...
        """
    )

    for _ in range(3):
        assert callable_problem(reference, "grader") is None
    known = count.read_text()
    monkeypatch.setattr(references, "_known", {})
    callable_problem(reference, "grader")

    assert (known, count.read_text()) == ("x", "xx")


def test_what_was_missing_is_looked_for_again_soon(
    operator_code: OperatorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "_UNKNOWN_S", 0.0)
    reference = f"{operator_code.package}.money:total"
    before = callable_problem(reference, "grader")

    operator_code.write("def total(context): ...", name="money")

    assert before is not None
    assert callable_problem(reference, "grader") is None


def test_what_is_not_permitted_any_more_is_refused_though_it_was_found(
    operator_code: OperatorCode,
) -> None:
    reference = operator_code.function("def it(context): ...")
    callable_problem(reference, "grader")

    with permitting(modules=()):
        assert "does not permit" in (callable_problem(reference, "grader") or "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["sh"], "Your administrator does not permit the program 'sh'.", id="not permitted"
        ),
        pytest.param(["bin/agent2"], "Did you mean 'bin/agent'?", id="misspelt"),
        pytest.param(["bin/agent"], "no executable program 'bin/agent'", id="not there"),
        pytest.param(["ls", "\0"], "A program and its arguments must be plain text.", id="no text"),
    ],
)
def test_a_program_that_cannot_be_run_is_refused(words: list[str], message: str) -> None:
    with permitting(commands=("bin/agent", "ls")):
        assert message in (command_problem(words) or "")


def test_a_program_that_is_permitted_and_there_has_no_problem(tmp_path: Path) -> None:
    program = tmp_path / "my agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    with permitting(commands=("ls", str(program))):
        assert command_problem(["ls", "-l"]) is None
        assert command_problem([str(program), "--quick"]) is None
    assert command_problem(OUR_COMMAND.split()) is None


def test_programs_are_found_beside_this_python_on_the_path_and_in_the_project_folder() -> None:
    python = program_path("python")

    assert python is not None
    assert Path(python).parent.samefile(Path(sys.executable).parent)
    assert program_path("sh") is not None
    assert program_path("no/such/program") is None
