"""The pages of docs/ against what they describe: an endpoint or option nobody wrote about fails."""

import json
import re
import subprocess
import tomllib
from argparse import SUPPRESS, ArgumentParser
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.apps import apps
from django.conf import settings
from django.core.management import get_commands, load_command_class
from drf_spectacular.generators import SchemaGenerator

from evals_app.engine.agents.external.agent_queue import AgentQueue
from evals_app.engine.agents.external.http import HttpSession, web_for
from evals_app.engine.agents.external.outside import Outside
from evals_app.engine.agents.external.reply import _KEYS as REPLY_KEYS
from evals_app.engine.agents.external.reply import parse_reply, read_reply
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.basics.signature import secret_text, signed_headers
from evals_app.engine.record.trial import Message, ToolCall
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.agent_spec import AgentSpec, HttpAgent
from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.importing import SourceFile, read_files
from evals_app.models.people.roles import ROLES
from evals_app.reports.answers.run_answers import (
    Answer,
    CaseResultJson,
    ExecutionDetails,
    Gate,
    LimitJson,
    RunDetails,
)
from evals_app.reports.renderers.notices import Names, Notice, notice_json
from evalsite.sign_in.limits import KNOWN_BROWSER
from fixtures_app.editing.drafts import SAVED
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.permitting import permitting
from tests.screenshots import PICTURES

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROOT = DOCS.parent
PAGES = {
    page.relative_to(ROOT).as_posix(): page for page in (*DOCS.glob("*.md"), *ROOT.glob("*.md"))
}
OURS = ("evals_app", "fixtures_app", "evalsite")
# Every command of Django has them.
SHARED = {
    *("--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback"),
    *("--no-color", "--force-color", "--skip-checks"),
}
COMMANDS = sorted(
    name for name, app in get_commands().items() if str(app).split(".", maxsplit=1)[0] in OURS
)


def documented_endpoints() -> dict[str, str]:
    """Read the table of endpoints: its lines by `METHOD path`."""
    lines = {}
    _, _, page = (DOCS / "rest.md").read_text().partition("## Endpoints")
    for line in page.partition("\n## ")[0].splitlines():
        method = ""
        for code in re.findall(r"`([^`]+)`", line.split("|")[1]) if line.startswith("| `") else ():
            method, path = code.split() if " " in code else (method, code)
            lines[f"{method} {path}"] = line
    return lines


def endpoints() -> dict[str, Any]:
    generator: Any = SchemaGenerator
    paths = generator().get_schema(request=None, public=True)["paths"]
    return {
        f"{method.upper()} {path.removeprefix('/api/') or '/'}": operation
        for path, operations in paths.items()
        for method, operation in operations.items()
    }


def section(command: str) -> str:
    """Return the part of docs/commands.md that is about a command."""
    match = re.search(
        rf"(?ms)^## `manage\.py {command}[ `].*?(?=^## |\Z)", (DOCS / "commands.md").read_text()
    )
    return match[0] if match else ""


def words_typed(name: str, parser: ArgumentParser) -> set[str]:
    """Return the options of a parser and its subcommands, and the names of these, but hidden ones."""
    words = set()
    for action in parser._actions:  # noqa: SLF001 - argparse lists them nowhere else
        if action.help != SUPPRESS:
            words |= {option for option in action.option_strings if option.startswith("--")}
        if isinstance(action.choices, dict):
            for subcommand, its_parser in action.choices.items():
                words |= {f"`{name} {subcommand} "} | words_typed(subcommand, its_parser)
    return words


def test_every_endpoint_is_in_the_table_and_nothing_else_does() -> None:
    rows = {name for name in documented_endpoints() if name.split()[0].isupper()}

    assert rows == endpoints().keys()


def test_every_filter_and_option_of_an_endpoint_is_documented() -> None:
    rows = documented_endpoints()
    page = (DOCS / "rest.md").read_text()

    missing = [
        f"{name}: {parameter['name']}"
        for name, operation in endpoints().items()
        for parameter in operation.get("parameters", ())
        if parameter["in"] in {"query", "header"}
        and not re.search(rf"\b{parameter['name']}\b", rows[name])
        # REST framework's, for a choice of one; the others are described once for all.
        and parameter["name"] != "format"
        and not (
            parameter["name"]
            in {"fields", "page_size", "cursor", "count", "ordering", "Idempotency-Key"}
            and parameter["name"] in page
        )
    ]

    assert missing == []


@pytest.mark.parametrize("answer", [RunDetails, CaseResultJson, Gate, LimitJson, ExecutionDetails])
def test_every_key_of_an_answer_is_named(answer: type[Answer]) -> None:
    _, _, answers = (DOCS / "rest.md").read_text().partition("## What the answers say")
    named = {word for code in re.findall(r"`([^`]+)`", answers) for word in code.split()}

    assert sorted(set(answer.KEYS) - named) == []


def test_the_files_of_the_first_steps_are_imported() -> None:
    texts = blocks("rest.md", "yaml")

    imported = read_files([SourceFile(text.split()[1], text.encode()) for text in texts])

    assert [agent.spec.slug for agent in imported.agents] == ["greeter"]
    assert [case.name for case in imported.suites[0].spec.cases] == ["hello", "bye"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section_that_names_its_options(command: str) -> None:
    parser = load_command_class(str(get_commands()[command]), command).create_parser(
        "manage.py", command
    )

    text = section(command)

    assert text, f"docs/commands.md has no heading ## `manage.py {command} ...`"
    assert sorted(word for word in words_typed(command, parser) - SHARED if word not in text) == []


def test_no_page_describes_a_command_that_is_gone() -> None:
    described = re.findall(r"(?m)^## `manage\.py (\w+)", (DOCS / "commands.md").read_text())

    assert sorted(described) == COMMANDS


@pytest.mark.parametrize("page", [dialect.page for dialect in DIALECTS.values()])
def test_the_page_of_every_dialect_is_named_where_people_look(page: str) -> None:
    assert f"(docs/{page}.md)" in (DOCS.parent / "README.md").read_text()
    assert page == "files" or f"({page}.md)" in (DOCS / "files.md").read_text()


def test_the_page_of_personal_data_names_what_decides_how_long_it_stays() -> None:
    page = PAGES["docs/privacy.md"].read_text()
    kept = {
        name: getattr(settings, name) for name in dir(settings) if name.startswith("EVALS_KEEP_")
    }
    cookies = {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME, KNOWN_BROWSER, SAVED}

    assert [name for name in kept if f"`{name}`" not in page] == []
    assert {int(days) for days in re.findall(r"`EVALS_KEEP_\w+` \((\d+)\)", page)} == {
        days for days in kept.values() if days
    }
    assert [name for name in cookies if f"| `{name}` |" not in page] == []


def test_the_pages_lead_to_each_other() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]

    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:|/admin/)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]

    assert broken == []


def test_every_picture_is_described_shown_and_taken_by_the_script() -> None:
    shown = {
        name: alt
        for page in PAGES.values()
        for alt, name in re.findall(r"!\[([^]]*)]\((?:docs/)?images/([^)]+)\)", page.read_text())
    }
    files = list((DOCS / "images").iterdir())

    assert shown.keys() == {file.name for file in files} == {f"{name}.webp" for name in PICTURES}
    assert [name for name, alt in shown.items() if len(alt.split()) < 5] == []
    assert sum(file.stat().st_size for file in files) < 1_500_000


@pytest.mark.parametrize("page", sorted({*PAGES} - {"docs/assertions.md", "docs/files.md"}))
def test_prose_is_wrapped(page: str) -> None:
    prose = re.sub(r"(?ms)^```.*?^```", "", PAGES[page].read_text()).splitlines()

    too_long = [
        line
        for line in prose
        # Tables and pictures cannot be wrapped, nor can a long piece of code.
        if len(line) > 120
        and not line.lstrip().startswith(("|", "!["))
        and " " in re.sub("`.*?`", "", line.strip())
    ]

    assert too_long == []


# What a row of the table of roles is about: a permission that it takes.
ROWS = {
    "see and export": ("evals_app", "view_suite"),
    "see runs": ("evals_app", "view_run"),
    "write, import": ("evals_app", "delete_suite"),
    "start, cancel": ("evals_app", "add_run"),
    "[say which grades": ("evals_app", "review_execution"),
    "[decide what is shipped": ("evals_app", "decide_release"),
    "withdraw what others": ("evals_app", "change_execution"),
    "have API tokens": ("evals_app", "add_apitoken"),
    "see and change providers": ("evals_app", "change_provider"),
    "set monthly ceilings": ("evals_app", "change_monthlyceiling"),
    "see what others spent": ("auth", "view_user"),
    "invite people": ("auth", "add_user"),
    "[remove what was said": ("evals_app", "delete_execution"),
    "see who did what": ("evals_app", "view_activity"),
    "see [real conversations": ("evals_app", "view_conversationset"),
    "import them": ("evals_app", "add_conversationset"),
    "grade them": ("evals_app", "add_run"),
    "read them": ("evals_app", "review_execution"),
    "make cases of them": ("evals_app", "add_case"),
}


def test_the_table_of_roles_is_what_roles_may_do() -> None:
    lines = re.findall(r"^\| (.+) \|$", PAGES["docs/people.md"].read_text(), re.MULTILINE)
    cells_of = [[cell.strip() for cell in line.split("|")] for line in lines]
    head, rows = cells_of[0], [cells for cells in cells_of if cells[0] != cells_of[0][0]]
    written = {begin: cells[1:] for begin in ROWS for cells in rows if cells[0].startswith(begin)}

    assert head[1:] == [role.name for role in ROLES]
    assert len(rows) == len(ROWS)
    assert written == {
        begin: ["yes" if role.includes(*right) else "" for role in ROLES]
        for begin, right in ROWS.items()
    }


@pytest.mark.parametrize(
    ("page", "line"),
    [("docs/commands.md", "`--change WORD`"), ("docs/rest.md", "`GET runs/compare/`")],
)
def test_every_change_of_a_case_is_named(page: str, line: str) -> None:
    _, _, after = PAGES[page].read_text().partition(line)

    assert {
        change for change in ChangeKind if not re.search(rf"\b{change}\b", after[:500])
    } == set()


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_that_developers_are_pointed_to_exist(page: str) -> None:
    rooms = (ROOT, ROOT / "evals_app", ROOT / "evals_app" / "engine")
    paths = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.[a-z]+)?)`", PAGES[page].read_text()))

    assert paths
    assert {path for path in paths if not any((room / path).exists() for room in rooms)} <= {"var/"}


def blocks(page: str, language: str) -> list[str]:
    """Return the examples of a page."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", (DOCS / page).read_text())


def test_evals_of_evolvable_come_in_as_a_table() -> None:
    (table,) = blocks("coming-from-evolvable.md", "csv")

    (suite,) = read_files(
        [SourceFile("shop-evals.csv", table.encode())],
        known=ExistingObjects(agents={"shop": "model"}, fixtures=frozenset({"rules"})),
        agent="shop",
    ).suites

    first, second = suite.spec.cases
    assert (first.name, first.description, first.streaming) == (
        *("Recommends a product", "Bestsellers", True),
    )
    assert first.limits.model_dump(exclude_none=True) == {
        "max_prompt_tokens": 4000,
        "max_response_tokens": 300,
        "max_time_ms": 20000,
    }
    assert first.turns[0].assertions is not None
    (judged,) = first.turns[0].assertions
    assert (judged.type, judged.grader.model_dump()["scale"]) == ("llm_judge", "pass_fail")
    (trajectory,) = first.final_assertions
    assert trajectory.grader.summary() == "Calls exactly in this order: search_products, get_price"
    assert [(check.type, check.weight) for check in second.final_assertions] == [
        ("chunks_fetched", 0),
        ("tool_calls", 1),
    ]


def test_an_agent_of_ones_own_gets_what_the_page_says() -> None:
    example = json.loads(blocks("own-agents.md", "json")[0])
    setting = Setting(
        "",
        history=(Message("user", "Hi"),),
        session_id=example["session_id"],
        channel=example["channel"],
        context_params=example["context_params"],
        case=example["case"],
    )

    sent = Outside(setting).request(Exchange(0, example["input"], timeout_s=60.0))

    assert sent.keys() == example.keys()
    assert sent["history"][0].keys() == example["history"][0].keys()


def test_an_agent_of_ones_own_may_answer_what_the_page_says() -> None:
    page = (DOCS / "own-agents.md").read_text()
    reply = parse_reply(blocks("own-agents.md", "json")[1])

    assert (reply.text, reply.usage.prompt_tokens) == ("It arrives tomorrow.", 412)
    assert (reply.tool_calls[0].name, reply.model) == ("orders.find", "my-model-3")
    assert reply.retrieved is not None
    assert reply.notes == ()
    assert [key for key in REPLY_KEYS if f"`{key}`" not in page] == []


def test_the_agents_of_the_page_are_agents() -> None:
    written = [yaml.safe_load(block) for block in blocks("own-agents.md", "yaml")]

    specs = [AgentSpec.model_validate(agent, context=FROZEN) for agent in written]

    assert {spec.driver for spec in specs} == {"http", "python", "command", "connected", "model"}


def _agent_of_the_page(slug: str, server: WebServer) -> HttpAgent:
    """Return an agent of the page whose addresses are those of a server here."""
    (block,) = [block for block in blocks("own-agents.md", "yaml") if f"slug: {slug}\n" in block]
    here = re.sub(r"https://\w+\.example\.org", f"http://{server.host}", block)
    return HttpAgent.model_validate(yaml.safe_load(here), context=FROZEN)


_COOKIE = {"content-type": "application/json", "set-cookie": "sid=1"}


def _answer_as_on_the_page(asked: Asked) -> Sent:
    """Answer as the agents of the page do, each at its own address."""
    match asked.method, asked.path:
        case "POST", "/stream":
            stream = blocks("own-agents.md", "text")[0].encode()
            return Sent(headers={"content-type": "text/event-stream"}, content=stream)
        case "POST", "/jobs":
            return Sent.json({"job": {"id": 7, "state": "waiting"}}, status=202)
        case "GET", "/jobs/7":
            return Sent.json({"job": {"state": "ready", "result": {"answer": "On Monday."}}})
        case "POST", "/sessions":
            thread = asked.body["thread"]
            return Sent.json({"answer": f"In {thread}.", "thread": {"id": thread or "t-1"}})
        case "GET", "/search?q=When%3F&session=":
            return Sent.json({"output": asked.headers.get("cookie", "none")}, headers=_COOKIE)
        case "POST", "/form":
            return Sent.json({"output": str(b'name="question"' in asked.raw)})
        case "POST", "/oauth/token":
            return Sent.json({"access_token": "tok-1", "token_type": "bearer"})
    return Sent.json({"output": str("authorization" in asked.headers)})


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("slug", "replies"),
    [
        ("shop-http", ["True"]),
        ("shop-stream", ["It arrives tomorrow."]),
        ("shop-jobs", ["On Monday."]),
        ("shop-session", ["In None.", "In t-1."]),
        ("shop-oauth", ["True"]),
        ("shop-pace", ["False"]),
        ("shop-get", ["none", "sid=1"]),
        ("shop-form", ["True"]),
    ],
)
async def test_the_agents_of_the_page_answer_over_http(slug: str, replies: list[str]) -> None:
    async def no_pause(_seconds: float) -> None:
        pass

    environ = {"AGENT_TOKEN": "a", "AGENT_CLIENT_SECRET": "b"}
    with WebServer(_answer_as_on_the_page) as server:
        agent = _agent_of_the_page(slug, server)
        queue = AgentQueue(agent.rate_group) if agent.rate_group else None
        with permitting(hosts=(server.host,), variables=("AGENT_*",)):
            async with web_for(agent, environ=environ) as web:
                session = HttpSession(
                    agent,
                    setting=Setting(""),
                    web=web,
                    environ=environ,
                    queue=queue,
                    sleep=no_pause,
                )
                exchanges = [Exchange(n, "When?", 60) for n, _ in enumerate(replies, 1)]
                for exchange in exchanges:
                    await session.respond(exchange)

    assert [exchange.reply for exchange in exchanges] == replies
    if slug == "shop-stream":
        calls = exchanges[0].messages[0].tool_calls
        assert calls == (ToolCall("orders.find", {"number": 1042}),)
        assert exchanges[0].usages == [Usage(None, 5)]


def test_the_function_for_holodeck_passes_on_what_its_server_says() -> None:
    module: dict[str, Any] = {}
    exec(blocks("coming-from-holodeck.md", "python")[0], module)  # noqa: S102 - our own page
    picture = {"name": "a.png", "media_type": "image/png", "base64": "iVBOR"}
    text = {"name": "a.docx", "media_type": "application/msword", "text": "Hi"}

    with WebServer(_as_holodeck) as server:
        module["ADDRESS"] = f"{server.url}/agent/my-agent/chat"
        replies = [
            read_reply(module["holodeck"](message, session_id, files))
            for message, session_id, files in (
                ("Find it.", "one", [picture, text]),
                ("Again.", "one", []),
                ("Hello.", "two", []),
            )
        ]

    first = replies[0]
    assert (first.text, first.usage) == ("You said Find it.", Usage(150, 75))
    assert [(call.name, call.args, call.error) for call in first.tool_calls] == [
        ("search", {"q": "x"}, None),
        ("convert", {}, "The tool failed."),
    ]
    assert first.notes == ()
    asked = [request.body for request in server.asked]
    assert [body.get("session_id") for body in asked] == [None, "01HOLODECK1", None]
    assert asked[0]["files"] == [
        {"content": "iVBOR", "mime_type": "image/png", "filename": "a.png"},
        {"content": "SGk=", "mime_type": "text/plain", "filename": "a.docx"},
    ]
    (agent,) = [yaml.safe_load(block) for block in blocks("coming-from-holodeck.md", "yaml")]
    assert AgentSpec.model_validate(agent, context=FROZEN).driver == "python"


def _as_holodeck(asked: Asked) -> Sent:
    """Answer like `holodeck serve --protocol rest`."""
    calls = [
        {"name": "search", "arguments": {"q": "x"}, "status": "success"},
        {"name": "convert", "arguments": {}, "status": "error"},
    ]
    return Sent.json(
        {
            "message_id": "01HMESSAGE",
            "content": f"You said {asked.body['message']}",
            "session_id": asked.body.get("session_id", "01HOLODECK1"),
            "tool_calls": calls,
            "tokens_used": {"prompt_tokens": 150, "completion_tokens": 75, "total_tokens": 225},
            "execution_time_ms": 12,
        }
    )


def test_the_function_of_the_page_answers() -> None:
    module: dict[str, Any] = {}
    exec(blocks("own-agents.md", "python")[0], module)  # noqa: S102 - our own page

    reply = read_reply(module["shop"]("Where is order 1042?", []))

    assert reply.text == "Order 1042 is sent."
    assert reply.tool_calls[0].result == {"state": "sent"}


def test_the_function_of_the_page_checks_the_signature_of_a_message() -> None:
    module: dict[str, Any] = {}
    exec(blocks("webhooks.md", "python")[0], module)  # noqa: S102 - our own page
    body, now = b'{"type": "test"}', datetime.now(UTC)
    headers = signed_headers(b"key", message_id="1", at=now, body=body)
    old = signed_headers(b"key", message_id="1", at=now - timedelta(hours=1), body=body)
    secret, other = secret_text(b"key"), secret_text(b"other")

    assert module["is_genuine"](secret, headers, body)
    assert not module["is_genuine"](secret, headers, body + b" ")
    assert not module["is_genuine"](secret, old, body)
    assert not module["is_genuine"](other, headers, body)


def test_the_message_of_the_page_is_one() -> None:
    written = json.loads(blocks("webhooks.md", "json")[0])
    names = {field.name: None for field in fields(Notice)} | {"failed": Names(), "worse": Names()}
    counts = {"cases": 1, "cases_passed": 1, "cases_measured": 0, "cases_not_graded": 0}
    known = counts | {"verdict": "failed"}
    notice = Notice(**names | known)  # type: ignore[arg-type]

    sent = notice_json(notice, at=datetime.now(UTC))

    assert written.keys() == sent.keys()
    assert written["data"].keys() == sent["data"].keys()


# Words of the dictionary that only developers meet.
INTERNAL = {"View", "Grader", "Ticket", "Tally"}


def test_the_glossary_has_the_words_of_the_dictionary() -> None:
    _, _, rest = PAGES["ARCHITECTURE.md"].read_text().partition("## Words to know first")
    dictionary, glossary = (
        {
            word.strip().capitalize()
            for cell in re.findall(r"(?m)^\| ([^|]+) \| ", text)
            for word in cell.split(",")
        }
        - {"Word"}
        for text in (rest.partition("\n## ")[0], PAGES["docs/glossary.md"].read_text())
    )

    assert len(dictionary) > len(INTERNAL)
    assert dictionary - glossary == INTERNAL


def pictures(page: str, kind: str) -> list[str]:
    """Return the lines of the Mermaid picture of that kind."""
    (picture,) = re.findall(
        rf"(?ms)^```mermaid\n{kind}[^\n]*\n(.*?)\n^```", PAGES[page].read_text()
    )
    return [line.strip() for line in picture.splitlines()]


def map_of_the_contracts() -> list[str]:
    """Draw the layers, and the rooms of each, as the contracts of imports state them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    floors = {
        contract["containers"][0].rpartition(".")[2]: [
            re.findall(r"\w+", names) for names in contract["layers"]
        ]
        for contract in project["tool"]["importlinter"]["contracts"]
        if len(contract.get("containers", ())) == 1
    }
    layers = floors.pop("evals_app")
    order = [name for layer in layers for name in layer] + ["fixtures_app"]
    return [
        f'{name}["<b>{name}</b><br>{"<br>".join(", ".join(rooms) for rooms in floors[name])}"]'
        for name in order
        if name in floors
    ] + [" --> ".join(" & ".join(names) for names in pair) for pair in pairwise(layers)]


def test_the_map_shows_what_the_contracts_state() -> None:
    assert pictures("ARCHITECTURE.md", "flowchart")[:-1] == map_of_the_contracts()


def test_the_picture_of_the_rows_shows_fields_that_exist() -> None:
    lines = [line.split() for line in pictures("ARCHITECTURE.md", "erDiagram")[1:]]
    models = {model.__name__: model for model in apps.get_models()}

    def has(owner: str, field: str, other: str) -> bool:
        return any(
            found.name == field and found.related_model is models[other]
            for found in models[owner]._meta.get_fields()  # noqa: SLF001 - Django documents it
        )

    assert lines
    assert [
        (one, many, field)
        for one, _, many, _, field in lines
        if not (has(many, field, one) or has(one, field, many))
    ] == []


def test_no_file_has_the_name_that_the_product_had_once() -> None:
    once = b"touch" + b"stone"
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    names = [Path(name) for name in listed.stdout.decode().split("\0") if name]

    assert [name for name in names if once in bytes(name).lower()] == []
    assert [
        name.as_posix()
        for name in names
        if (ROOT / name).is_file()
        and name.name != "CHANGELOG.md"
        and once in (ROOT / name).read_bytes().lower()
    ] == []
