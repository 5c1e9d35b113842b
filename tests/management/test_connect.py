"""`evalwell connect`: what is refused before anything is fetched."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from evals_app.management.commands.connect import TOKEN, Command
from evals_app.management.connecting.local_agent import LocalProgram, ask_within

REQUEST = {
    "input": "hello",
    "history": [],
    "session_id": "s",
    "case": "one",
    "trial": 1,
    "clock": None,
    "channel": None,
    "context_params": {},
    "traceparent": "00-s-t-01",
    "timeout_s": 10.0,
}


@pytest.mark.parametrize(
    ("options", "token", "word"),
    [
        ({}, "ew_x", "program"),
        ({"url": "http://127.0.0.1:1", "program": [sys.executable]}, "ew_x", "both"),
        ({"program": ["no-such-program"]}, "ew_x", "no-such-program"),
        ({"program": [sys.executable]}, "", TOKEN),
        ({"program": [sys.executable], "site": "example"}, "ew_x", "--site"),
        ({"url": "example"}, "ew_x", "--url"),
    ],
)
def test_wrong_usage_is_explained(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, object], token: str, word: str
) -> None:
    monkeypatch.setenv(TOKEN, token)
    usual = {"agent": "laptop", "url": None, "site": None, "parallel": 1}

    with pytest.raises(CommandError, match=word) as error:
        Command().handle(**(usual | options))
    assert error.value.returncode == 2


def program(tmp_path: Path, code: str) -> LocalProgram:
    script = tmp_path / "agent.py"
    script.write_text(f"import os, sys, time\n{code}\n", encoding="utf-8")
    return LocalProgram([sys.executable, str(script)])


@pytest.mark.anyio
async def test_the_program_has_the_message_the_variables_and_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_KEY", "mine")
    code = "print(sys.stdin.read(), os.environ['EVALWELL_CASE'], os.environ['MY_KEY'], os.getcwd())"
    async with program(tmp_path, code) as agent:
        answer = await ask_within(agent, REQUEST)

    assert answer.output.split() == ["hello", "one", "mine", str(tmp_path)]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "timeout_s", "words"),
    [("sys.exit('No luck')", 10.0, "No luck"), ("time.sleep(60)", 0.3, "0.3 s")],
)
async def test_a_program_that_fails_says_why(
    tmp_path: Path, code: str, timeout_s: float, words: str
) -> None:
    async with program(tmp_path, code) as agent:
        answer = await ask_within(agent, {**REQUEST, "timeout_s": timeout_s})

    assert words in answer.error


@pytest.mark.anyio
async def test_a_program_whose_answer_nobody_waits_for_is_gone(tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = f"print(os.getpid(), file=open({str(started)!r}, 'w'), flush=True)\ntime.sleep(60)"
    async with program(tmp_path, code) as agent:
        asked = asyncio.create_task(agent.ask(REQUEST))
        while not (started.exists() and started.read_text("utf-8")):  # noqa: ASYNC110 - it is a program
            await asyncio.sleep(0.01)
        asked.cancel()
        await asyncio.wait([asked])

        with pytest.raises(ProcessLookupError):  # of a process that was not waited for, too
            os.kill(int(started.read_text("utf-8")), 0)
