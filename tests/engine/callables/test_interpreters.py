"""Agents that run in a Python of their own, with packages that Evalwell does not have."""

import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.callables.pool import Callables
from evals_app.engine.callables.references import callable_problem
from evals_app.engine.record.trial import Trial
from evals_app.engine.specs.agent_spec import PythonAgent
from tests.engine.makers import converse, refusals
from tests.engine.operator_code import OperatorCode
from tests.engine.permitting import permitting

CODE = """
import sys
import importlib.util
import only_there

def it(message):
    has_ours = importlib.util.find_spec("pydantic") is not None
    return f"{only_there.NAME} {has_ours} {sys.prefix}"
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an interpreter with one package of its own, and none of ours."""
    folder = tmp_path_factory.mktemp("interpreter")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "only_there.py").write_text("NAME = 'there'\n")
    return folder / "bin" / "python"


@pytest.fixture
def permitted(python: Path) -> Iterator[None]:
    with permitting(interpreters={"theirs": str(python), "gone": "/nowhere/python"}):
        yield


def agent_at(reference: str, **changes: Any) -> dict[str, Any]:
    return {"agent": "P", "slug": "p", "driver": "python", "callable": reference, **changes}


async def trial_of(written_agent: dict[str, Any], *messages: str) -> Trial:
    agent = PythonAgent.model_validate(written_agent, context=FROZEN)
    async with Callables(most=2) as callables:
        return await converse(*messages, agent=agent, callables=callables)


@pytest.mark.anyio
@pytest.mark.usefixtures("permitted")
async def test_an_agent_runs_in_its_interpreter(operator_code: OperatorCode, python: Path) -> None:
    reference = operator_code.function(CODE)

    assert callable_problem(reference, "agent", interpreter="theirs") is None
    assert "only_there" in (callable_problem(reference, "agent") or "")
    trial = await trial_of(agent_at(reference, interpreter="theirs"), "one", "two")

    assert [turn.reply for turn in trial.turns] == [f"there False {python.parent.parent}"] * 2


@pytest.mark.anyio
@pytest.mark.usefixtures("permitted")
async def test_processes_of_two_interpreters_are_not_mixed(operator_code: OperatorCode) -> None:
    reference = operator_code.function("import sys\ndef it(message):\n    return sys.prefix\n")
    async with Callables(most=2) as callables:
        prefixes = []
        for interpreter in (None, "theirs", None):
            changes = {} if interpreter is None else {"interpreter": interpreter}
            agent = PythonAgent.model_validate(agent_at(reference, **changes), context=FROZEN)
            trial = await converse("Hi", agent=agent, callables=callables)
            prefixes.append(trial.turns[0].reply)

    assert prefixes[0] == prefixes[2] == sys.prefix
    assert prefixes[1] != sys.prefix


@pytest.mark.usefixtures("permitted")
@pytest.mark.parametrize(
    ("interpreter", "words"), [("thiers", "Did you mean 'theirs'?"), ("gone", "not an executable")]
)
def test_an_interpreter_that_is_not_there_is_refused(
    operator_code: OperatorCode, interpreter: str, words: str
) -> None:
    reference = operator_code.function("def it(message): return message")

    ((place, message),) = refusals(
        PythonAgent.model_validate, agent_at(reference, interpreter=interpreter)
    )

    assert (place, words in message) == ("interpreter", True)


@pytest.mark.usefixtures("permitted")
def test_an_agent_is_looked_for_in_its_interpreter(operator_code: OperatorCode) -> None:
    agent = PythonAgent.model_validate(agent_at(operator_code.function(CODE), interpreter="theirs"))

    assert agent.interpreter == "theirs"


def test_a_program_that_is_no_python_is_refused(operator_code: OperatorCode) -> None:
    reference = operator_code.function("def it(message): return message")
    with permitting(interpreters={"false": "/bin/false"}):
        problem = callable_problem(reference, "agent", interpreter="false")

    assert "/bin/false must be Python" in (problem or "")
