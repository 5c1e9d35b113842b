"""Every file that a page of docs/ shows is imported as it is written there."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from evals_app.formats.importing import SourceFile
from evals_app.library.importing.file_import import import_files
from evals_app.models import Agent
from tests.test_docs import DOCS

_BLOCK = re.compile(r"(?ms)^ *```(yaml|csv|json|jsonl|toml)\n(.*?)^ *```")

# By page: the files, each with its first line, and the agent that is chosen in the import.
FILES: dict[str, tuple[str | None, dict[str, str]]] = {
    "beside-files.md": (
        None,
        {"name: Desk": "agent.yaml", "judge_model: anthropic": "agent.evalwell.yaml"},
    ),
    "coming-from-evolvable.md": (
        "shop",
        {
            "name: Rules of the shop": "rules.fixture.yaml",
            "title,description,input,": "shop-evals.csv",
        },
    ),
    "costs.md": (None, {"provider: Anthropic": "anthropic.provider.yaml"}),
    "first-hour.md": (None, {"# yaml-language-server": "evals/orders.suite.yaml"}),
    "frameworks.md": (
        None,
        {
            "agent: Shop of a framework": "shop.agent.yaml",
            "suite: Orders": "shop.suite.yaml",
            "name: helpdesk": "helpdesk/agent.yaml",
            "version: 1": "parcels/agentura.yaml",
            '{"id": "sent"': "parcels/accuracy.jsonl",
            '{"id": "looks it up"': "parcels/tools.jsonl",
        },
    ),
    "own-agents.md": (
        None,
        {
            "agent: Shop over HTTP": "http.agent.yaml",
            "agent: Shop with JSON of its own": "json.agent.yaml",
            "agent: Shop behind GET": "get.agent.yaml",
            "agent: Shop with the customer in its address": "path.agent.yaml",
            "agent: Shop with a form": "form.agent.yaml",
            "agent: Shop behind mutual TLS": "mtls.agent.yaml",
            "agent: Shop that answers in pieces": "stream.agent.yaml",
            "agent: Shop that answers later": "jobs.agent.yaml",
            "agent: Shop with sessions": "session.agent.yaml",
            "agent: Shop behind OAuth": "oauth.agent.yaml",
            "agent: Shop with a limit": "pace.agent.yaml",
            "agent: Shop on my laptop": "laptop.agent.yaml",
            "agent: Order desk as JSON": "model.agent.yaml",
        },
    ),
    "rest.md": (
        None,
        {
            "# greeter.agent.yaml": "greeter.agent.yaml",
            "# greetings.suite.yaml": "greetings.suite.yaml",
        },
    ),
    "simulated-users.md": ("shop", {"suite: Refunds": "refunds.suite.yaml"}),
    "spreadsheets.md": ("shop", {'{"question": "What is the capital': "capitals.jsonl"}),
    "traces.md": (None, {"agent: Shop that sends spans": "spans.agent.yaml"}),
}

_PIPELINE = "a pipeline of GitHub or GitLab"
_ANSWER = "an answer of REST, or a body of a request"
_FUNCTION = "its agent is a function or program that the operator has to permit"
_SETTINGS = "settings of another program"
# By page: blocks that are not imported by themselves, each with its first line and the reason.
OTHERS: dict[str, dict[str, str]] = {
    "assertions.md": {
        "": "parts of a suite: the examples of the graders, which the tests of each import"
    },
    "ci.md": {"- uses: actions/cache": _PIPELINE, "name: Evals": _PIPELINE, "evals:": _PIPELINE},
    "coming-from-holodeck.md": {"agent: The agent in HoloDeck": _FUNCTION},
    "commands.md": {"# yaml-language-server": "the first line of a file"},
    "evals-as-code.md": {"# evals/refunds.suite.yaml": "run by the test of that page"},
    "first-hour.md": {"agent: Shop": _FUNCTION, "name: Evals": _PIPELINE},
    "frameworks.md": {"agent: Shop in LangGraph": _FUNCTION},
    "mcp.md": {"{": _SETTINGS},
    "operations.md": {'{"time"': "a line of a log", "{": _SETTINGS},
    "own-agents.md": {
        '{"input"': "what an agent is sent",
        '{"output"': "what an agent answers",
        "agent: Shop in Python": _FUNCTION,
        "agent: Shop as a program": _FUNCTION,
    },
    "plugins.md": {'[project.entry-points."evalwell.checks"]': "a part of pyproject.toml"},
    "real-conversations.md": {'{"id": "T-4711"': "a conversation that happened, not an eval"},
    "reports.md": {"- run:": _PIPELINE, "evals:": _PIPELINE},
    "rest.md": {"{": _ANSWER},
    "schedules.md": {"{": _ANSWER},
    "traces.md": {"exporters:": "the configuration of a collector"},
    "webhooks.md": {"{": "a message that is sent"},
}


def blocks(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [dedent(match[2]) for match in _BLOCK.finditer(text)]


def path_of(page: str, block: str) -> str | None:
    _, files = FILES.get(page, (None, dict[str, str]()))
    return next((path for begin, path in files.items() if block.startswith(begin)), None)


@pytest.mark.parametrize("page", sorted(path.name for path in Path(DOCS).glob("*.md")))
def test_every_block_is_a_file_that_is_imported_or_says_why_it_is_none(page: str) -> None:
    shown = blocks(page)
    _, files = FILES.get(page, (None, dict[str, str]()))
    others = OTHERS.get(page, {})

    assert [begin for begin in files if not any(b.startswith(begin) for b in shown)] == []
    assert [
        block.splitlines()[0]
        for block in shown
        if path_of(page, block) is None and not any(map(block.startswith, others))
    ] == []


@pytest.mark.django_db
@pytest.mark.parametrize("page", FILES)
def test_the_files_of_a_page_are_imported_as_they_are_written(page: str) -> None:
    Agent.objects.create(slug="shop", name="Shop", driver="scripted")
    agent, files = FILES[page]
    # The operator has to permit an address of this machine; here that is localhost.
    shown = [block.replace("http://127.0.0.1:", "http://localhost:") for block in blocks(page)]
    written = [
        SourceFile(path, block.encode()) for block in shown if (path := path_of(page, block))
    ]
    assert [file.path for file in written] == list(files.values())

    report = import_files(written, agent=agent, replace=True)

    assert {change.what for change in report.changes} <= {"created", "updated"}
    assert len(report.changes) >= len(
        [path for path in files.values() if not path.startswith("parcels/")]
    )
