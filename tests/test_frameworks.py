"""The recipes of docs/frameworks.md: what is on the page runs as it is there.

Agents of frameworks need their packages, which are not ours: those tests run with the interpreter
that RECIPES_PYTHON names.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from evals_app.engine.agents.external.asking import ask_once
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.callables.pool import Callables
from evals_app.engine.record.trial import TurnRecord
from evals_app.engine.specs.agent_spec import AgentSpec, HttpAgent
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import SourceFile, read_files
from tests.engine.makers import converse
from tests.engine.permitting import permitting
from tests.model_server import KEY, Answer, ModelServer, Reply, ToolUse

PAGE = Path(__file__).resolve().parent.parent / "docs" / "frameworks.md"
PYTHON = os.environ.get("RECIPES_PYTHON", "")
MODULES = ("langgraph_shop", "openai_agents_shop", "pydantic_ai_shop")


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", PAGE.read_text())


def written(folder: Path) -> Path:
    """Write the Python files of the page."""
    names = ("orders", "serve", *MODULES)
    for name, code in zip(names, blocks("python"), strict=True):
        (folder / f"{name}.py").write_text(code)
    return folder


@contextmanager
def serving(folder: Path, what: str, *, python: str, **environ: str) -> Iterator[HttpAgent]:
    """Serve a function as the page says, and return the agent of the page at its address."""
    words = [python, "serve.py", what, "0"]
    with subprocess.Popen(
        words,
        cwd=folder,
        env=os.environ | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            agent = yaml.safe_load(blocks("yaml")[0]) | {"url": url}
            with permitting(hosts=(url.split("/")[2],)):
                yield HttpAgent.model_validate(agent, context=FROZEN)
        finally:
            process.kill()


@pytest.mark.anyio
async def test_the_server_makes_an_agent_of_a_function(tmp_path: Path) -> None:
    (written(tmp_path) / "own.py").write_text(
        "async def answer(message, history):\n"
        "    if not message:\n"
        "        raise ValueError('Nothing was asked.')\n"
        "    return {'output': message.upper(), 'tool_calls': []}\n"
    )

    with serving(tmp_path, "own:answer", python=sys.executable) as agent:
        turns = [await ask_once(agent, message, keys={}) for message in ("Hello", "Again", "")]

    assert [turn.reply for turn in turns] == ["HELLO", "AGAIN", ""]
    assert "Nothing was asked." in (turns[-1].error or "")


@pytest.mark.parametrize("code", blocks("python"))
def test_the_code_of_the_page_is_python(code: str) -> None:
    compile(code, str(PAGE), "exec")


def test_the_files_of_the_page_are_imported() -> None:
    agent, suite, _, holodeck, agentura = blocks("yaml")
    accuracy, tools = blocks("json")
    known = ExistingObjects(agents={})

    with permitting(hosts=("127.0.0.1:9100",)):
        ours = read_files(
            [
                SourceFile("shop.agent.yaml", agent.encode()),
                SourceFile("shop.suite.yaml", suite.encode()),
            ],
            known=known,
        )
        theirs = [
            read_files([SourceFile(path, text.encode())], known=known, find=others.get)
            for path, text, others in (
                ("helpdesk/agent.yaml", holodeck, {}),
                (
                    "parcels/agentura.yaml",
                    agentura,
                    {
                        "parcels/accuracy.jsonl": accuracy.encode(),
                        "parcels/tools.jsonl": tools.encode(),
                    },
                ),
            )
        ]

    assert [suite.spec.slug for suite in ours.suites] == ["orders"]
    assert [[suite.spec.slug for suite in read.suites] for read in theirs] == [
        ["helpdesk"],
        ["parcels-accuracy", "parcels-tools"],
    ]


def look_up(request: dict[str, Any]) -> Answer:
    """Answer like a model that looks an order up."""
    if '"role": "tool"' in (text := repr(request).replace("'", '"')) or "call_output" in text:
        return Reply("Order 1042 is sent.")
    return Reply(tools=(ToolUse("find_order", {"number": "1042"}),))


@pytest.mark.anyio
@pytest.mark.skipif(not PYTHON, reason="RECIPES_PYTHON names no Python with frameworks")
@pytest.mark.parametrize("module", MODULES)
async def test_an_agent_of_a_framework_reports_what_it_did(module: str, tmp_path: Path) -> None:
    written(tmp_path)
    with ModelServer() as models:
        models.answers(look_up)
        environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{models.url}/v1"}
        environ |= {"OPENAI_AGENTS_DISABLE_TRACING": "1"}
        with serving(tmp_path, f"{module}:answer", python=PYTHON, **environ) as agent:
            # Twice: connections of the first message must not break the second.
            asked = "Where is order 1042?"
            turns = [await ask_once(agent, asked, keys={}) for _ in range(2)]

    for turn in turns:
        says_what_it_did(turn)


@pytest.mark.anyio
@pytest.mark.skipif(not PYTHON, reason="RECIPES_PYTHON names no Python with frameworks")
@pytest.mark.parametrize("module", MODULES)
async def test_an_agent_of_a_framework_runs_without_a_server(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(written(tmp_path)))
    agent = yaml.safe_load(blocks("yaml")[2]) | {"callable": f"{module}:answer"}
    with ModelServer() as models:
        models.answers(look_up)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{models.url}/v1")
        monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
        with permitting(
            modules=(module,), variables=("OPENAI_*",), interpreters={"agents": PYTHON}
        ):
            async with Callables(most=1) as callables:
                trial = await converse(
                    *["Where is order 1042?"] * 2,
                    agent=AgentSpec.model_validate(agent),
                    callables=callables,
                )

    for turn in trial.turns:
        says_what_it_did(turn)


def says_what_it_did(turn: TurnRecord) -> None:
    assert (turn.error, turn.reply) == (None, "Order 1042 is sent.")
    (call,) = turn.tool_calls
    assert (call.name, call.args) == ("find_order", {"number": "1042"})
    assert call.result == {"number": "1042", "state": "sent"}
    assert (turn.usage.prompt_tokens, turn.usage.response_tokens) == (20, 10)
    assert turn.notes == ()
