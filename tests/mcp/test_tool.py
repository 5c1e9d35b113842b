"""What every tool of the MCP server shares: its arguments, its rights, the size of its answers."""

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from evals_app.engine.basics.mcp_servers import read_servers
from evals_app.engine.specs.base_spec import Spec
from evals_app.mcp.guide import page, pages, resources
from evals_app.mcp.table import INSTRUCTIONS, TOOLS
from evals_app.mcp.tool import PART_CHARS, Caller, Operation, PartOfAnswer, call_tool
from evals_app.requests.permissions import Need, Scope


class Person:
    """Someone with some permissions."""

    def __init__(self, *permissions: str) -> None:
        self.pk = 1
        self.permissions = permissions

    def has_perm(self, name: str) -> bool:
        return name in self.permissions

    def get_username(self) -> str:
        return "ada"


class Word(Spec):
    """A word."""

    word: str


def make_tool(
    run: Any, arguments: type[Spec] = PartOfAnswer, need: Need | None = None
) -> Operation:
    return Operation("say", "Say", "Says.", arguments, {}, need or Need(Scope.READ), run)


def call(tool: Operation, arguments: dict[str, Any], *, scope: str = "author", **more: Any) -> Any:
    caller = Caller(more.get("user", Person()), Scope(scope))
    return call_tool({"say": tool}, more.get("name", "say"), arguments, who=lambda: caller)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_the_example_of_a_tool_is_what_its_schema_and_its_model_accept(tool: Operation) -> None:
    schema = tool.schema()
    Draft202012Validator.check_schema(schema)

    assert tool.arguments.model_validate(tool.example)
    Draft202012Validator(schema).validate(json.loads(json.dumps(tool.example)))
    with pytest.raises(ValidationError):
        tool.arguments.model_validate({**tool.example, "exmaple": 1})


def test_a_long_answer_comes_in_parts_that_lose_nothing() -> None:
    text = "".join(f"line {number:,}\n" for number in range(5_000))
    tool = make_tool(lambda _caller, _given: text)
    parts, cursor = [], 0
    while True:
        answer = call(tool, {"cursor": cursor}).text
        assert len(answer) < PART_CHARS + 200
        body, _, note = answer.partition("\n\n[")
        parts.append(body)
        if not note:
            break
        cursor = int(note.rpartition("cursor: ")[2].rstrip("]"))

    assert "\n".join(parts) == text
    assert "Nothing is left" in call(tool, {"cursor": len(text) + 1}).text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({"wrod": "a"}, ["wrod", "Did you mean 'word'?"], id="unknown key"),
        pytest.param({}, ["word"], id="missing"),
        pytest.param({"word": 1}, ["word"], id="wrong type"),
        pytest.param({"word": "a\x00"}, ["word", "NUL"], id="NUL"),
        pytest.param({"word": "\ud800"}, ["word"], id="half a character"),
    ],
)
def test_wrong_arguments_are_answered_with_their_place(
    arguments: dict[str, Any], words: list[str]
) -> None:
    answer = call(make_tool(lambda _caller, given: given.word, Word), arguments)

    assert answer.is_error
    assert all(word in answer.text for word in words), answer.text


def test_an_unknown_tool_is_answered_with_the_nearest_one() -> None:
    answer = call(make_tool(None), {}, name="sya")

    assert answer.is_error
    assert "Did you mean 'say'?" in answer.text


@pytest.mark.parametrize(
    ("scope", "user", "words"),
    [
        ("read", Person("evals_app.view_run"), "scope run"),
        ("run", Person(), "evals_app.view_run"),
        ("run", AnonymousUser(), "evals_app.view_run"),
        ("run", Person("evals_app.view_run"), ""),
    ],
)
def test_a_caller_needs_the_scope_and_the_permissions(scope: str, user: Any, words: str) -> None:
    need = Need(Scope.RUN, "evals_app.view_run")

    answer = call(make_tool(lambda *_: "said", need=need), {}, scope=scope, user=user)

    assert answer.is_error == bool(words)
    assert (words or "said") in answer.text


def test_a_caller_who_is_no_longer_valid_is_an_answer() -> None:
    def gone() -> Caller:
        raise PermissionDenied("The token is gone.")

    answer = call_tool({"say": make_tool(None)}, "say", {}, who=gone)

    assert answer.is_error
    assert "The token is gone." in answer.text


def test_an_internal_error_reveals_nothing_but_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_caller: Caller, _given: PartOfAnswer) -> str:
        raise KeyError("secret")

    answer = call(make_tool(fail), {})

    assert answer.is_error
    assert "secret" not in answer.text
    assert "secret" in caplog.text


def test_everything_that_can_be_read_has_an_address() -> None:
    assert {"files", "assertions", "own-agents"} <= set(pages())
    assert all(resource.read() for resource in resources().values())
    for kind in ("suite", "agent", "fixture"):
        schema = json.loads(resources()[f"evalwell://schema/{kind}.json"].read())
        Draft202012Validator.check_schema(schema)


def test_the_page_about_the_server_has_every_tool_with_its_scope() -> None:
    page_text = page("mcp")
    rows = re.findall(r"(?m)^\| `(\w+)` \| (\w+) \|", page_text)

    assert rows == [(tool.name, tool.need.scope.value) for tool in TOOLS.values()]
    assert all(f"`{word}`" in page_text for word in re.findall(r"\w+_\w+", INSTRUCTIONS))
    assert f"{PART_CHARS:,} characters" in page_text
    for snippet in re.findall(r"(?s)```json\n(.*?)```", page_text):
        assert read_servers(snippet, {"EVALWELL_TOKEN": "ew_..."})
