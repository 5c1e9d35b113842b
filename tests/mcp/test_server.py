"""A coding agent writes a suite, runs it, reads why a case failed, fixes it and runs it again."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User

pytest.importorskip("mcp", reason="the package for MCP is not installed")

import mcp

from evals_app.mcp.guide import resources
from evals_app.mcp.table import TOOLS
from evals_app.runs.process.worker_loop import work
from tests.mcp.clients import connected, make_token, text_of

ROOT = Path(__file__).resolve().parent.parent.parent

AGENT = """\
agent: Shop
slug: shop
driver: scripted
rules:
  - {when: refund, reply: Your refund is on its way.}
  - {reply: Hello!}
"""
SUITE = """\
suite: Refunds
slug: refunds
agent: shop
cases:
  - name: Asks for a refund
    turns: [{user: I want a refund, assertions: [{type: contains, value: "in the post"}]}]
"""


def files(suite: str) -> dict[str, Any]:
    return {
        "files": [
            {"path": "evals/shop.agent.yaml", "content": AGENT},
            {"path": "evals/refunds.suite.yaml", "content": suite},
        ]
    }


async def run_to_the_end(client: mcp.Client) -> tuple[int, str]:
    begun = text_of(await client.call_tool("start_run", {"suite": "refunds", "max_cost_usd": 1}))
    number = int(re.findall(r"Run (\d+) was started", begun)[0])
    await sync_to_async(work)()
    return number, text_of(await client.call_tool("read_run", {"run": number, "wait_s": 20}))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.django_db
def test_a_coding_agent_goes_from_an_empty_file_to_a_suite_that_passes(mode: str) -> None:
    token = make_token()

    async def journey() -> None:
        async with connected(token, mode=mode) as client:
            offered = (await client.list_tools()).tools
            assert [tool.name for tool in offered] == [*TOOLS]
            assert [bool(tool.output_schema) for tool in offered] == [
                tool.answer is not None for tool in TOOLS.values()
            ]
            assert [
                bool(tool.annotations and tool.annotations.read_only_hint) for tool in offered
            ] == [tool.is_read_only for tool in TOOLS.values()]
            misspelt = SUITE.replace("contains", "contians")
            refused = await client.call_tool("check_files", files(misspelt))
            assert refused.is_error
            assert "evals/refunds.suite.yaml:6:" in text_of(refused)
            assert "Did you mean 'contains'?" in text_of(refused)

            checked = await client.call_tool("check_files", files(SUITE))
            assert not checked.is_error
            assert "created: suite refunds" in text_of(checked)
            assert "There is no" in text_of(
                await client.call_tool("read_suite", {"slug": "refunds"})
            )

            await client.call_tool("write_files", files(SUITE))
            first, outcome = await run_to_the_end(client)
            assert "1 failed of 1 conversation" in outcome
            why = await client.call_tool("why_failed", {"run": first, "case": "Asks for a refund"})
            checks, _, conversation = text_of(why).partition("Conversation:")
            assert "- failed: " in checks
            assert why.structured_content["checks"][0]["state"] == "failed"
            assert "[Agent, turn 1] Your refund is on its way." in conversation

            check = {"type": "contains", "value": "on its way"}
            number = re.findall(r"conversation (\d+),", outcome)[0]
            tried = await client.call_tool("try_check", {"check": check, "execution": int(number)})
            assert text_of(tried).startswith("passed")

            fixed = SUITE.replace("in the post", "on its way")
            await client.call_tool("write_files", files(fixed))
            second, outcome = await run_to_the_end(client)
            assert "1 passed of 1 conversation" in outcome
            compared = await client.call_tool("compare_runs", {"base": first, "head": second})
            assert not compared.is_error
            written = text_of(await client.call_tool("read_suite", {"slug": "refunds"}))
            assert "value: on its way" in written

    async_to_sync(journey)()
    by = set(
        LogEntry.objects.filter(object_repr="Refunds").values_list("user__username", flat=True)
    )
    assert by == {User.objects.get(api_tokens__isnull=False).username}


@pytest.mark.django_db
def test_without_a_valid_token_no_client_gets_in() -> None:
    async def come(token: str) -> None:
        async with connected(token):
            pass

    for token in ("ew_made-up", ""):
        with pytest.raises(Exception, match=r"(?s).*") as refused:
            async_to_sync(come)(token)
        assert refused.value is not None


def test_over_standard_streams_the_tools_and_the_guide_are_the_same(
    child_environment: dict[str, str],
) -> None:
    User.objects.create_superuser("ada")
    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["manage.py", "mcp", "--user", "ada", "--scope", "read"],
        env=child_environment,
        cwd=str(ROOT),
    )

    async def visit() -> tuple[list[str], str, str, str]:
        async with mcp.Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            listed = text_of(await client.call_tool("list_suites", {}))
            refused = text_of(await client.call_tool("write_files", files(SUITE)))
            uris = [resource.uri for resource in (await client.list_resources()).resources]
            assert uris == [*resources()]
            page = await client.read_resource("evalwell://schema/suite.json")
            return tools, listed, refused, page.contents[0].text  # type: ignore[union-attr]

    tools, listed, refused, schema = async_to_sync(visit)()

    assert "read_run" in tools
    assert "start_run" not in tools
    assert "no such suite" in listed
    assert "scope author" in refused
    assert json.loads(schema)["properties"]["cases"]
