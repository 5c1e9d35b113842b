"""`check_evals`: which checks cannot fail, of suites on the site and in files."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.formats.reading.yaml_text import write_yaml
from evals_app.models import Assertion
from tests.authored import a_case, write_suite

BLIND = {"type": "contains", "value": "e"}
GOOD = {"type": "contains", "value": "Bonn"}


def checked(*arguments: str, code: int = 0) -> str:
    out, status = StringIO(), 0
    try:
        call_command("check_evals", *arguments, stdout=out, stderr=StringIO(), no_color=True)
    except SystemExit as ended:
        status = int(ended.code or 0)
    assert status == code
    return out.getvalue()


def write_file(folder: Path, *checks: dict[str, Any], **changes: Any) -> str:
    turn = {"user": "Where is it?", "assertions": list(checks)}
    head = {"suite": "Orders", "slug": "orders", "agent": "elsewhere", "fixtures": ["unknown"]}
    written = head | {"cases": [{"name": "Order", "turns": [turn]}]} | changes
    (folder / "orders.suite.yaml").write_bytes(write_yaml(written))
    return str(folder)


@pytest.mark.parametrize(("checks", "code"), [([GOOD], 0), ([GOOD, BLIND], 1)])
def test_files_are_checked_without_a_database(
    tmp_path: Path, checks: list[dict[str, Any]], code: int
) -> None:
    # Without the mark of pytest-django a query would fail.
    text = checked(write_file(tmp_path, *checks), code=code)

    assert text.startswith(f"orders: {code} blind, 0 weak, 1 sound")
    assert ("the question repeated" in text) == bool(code)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param({"type": "matches", "value": ".*"}, id="an import would refuse it"),
        pytest.param({"type": "bleu", "value": "Bonn", "threshold": 0}, id="any score"),
        pytest.param({"type": "tool_not_called", "value": "refnd"}, id="an unknown tool"),
    ],
)
def test_checks_that_no_import_would_accept_are_blind_too(
    tmp_path: Path, check: dict[str, Any]
) -> None:
    agent = {"agent": "A", "slug": "a", "driver": "scripted", "tools": ["entity.query"]}
    (tmp_path / "a.agent.yaml").write_bytes(write_yaml(agent | {"rules": [{"reply": "ok"}]}))

    document = json.loads(
        checked(write_file(tmp_path, check, agent="a"), "--format", "json", code=1)
    )

    (suite,) = document["suites"]
    assert [one["result"] for one in suite["checks"]] == ["blind"]


@pytest.mark.django_db
def test_suites_of_the_site_are_checked_with_the_tools_of_their_agents() -> None:
    unknown = {"type": "tool_not_called", "value": "entity.drop"}
    turn = {"user": "Where is it?", "assertions": [unknown, GOOD]}
    write_suite([a_case(turns=[turn])])
    write_suite(slug="empty")

    (_, suite) = json.loads(checked("--format", "json", code=1))["suites"]

    assert (suite["suite"], suite["counts"]) == (
        "refunds",
        {"blind": 1, "weak": 0, "sound": 1, "undecided": 0, "not_tried": 0},
    )
    first, second = suite["checks"]
    assert (first["keys"], first["turn"]) == ("cases[0].turns[0].assertions[0]", 1)
    assert first["passed"] == ["every_tool"]
    assert suite["probes"].keys() >= {*first["tried"], *second["tried"]}


def test_what_only_forbids_and_what_idle_agents_pass_is_said(tmp_path: Path) -> None:
    text = checked(write_file(tmp_path, {"type": "not_contains", "value": "hunter2"}))

    assert "only forbid" in text
    assert "passes 1 of 1 cases" in text


@pytest.mark.django_db
@pytest.mark.parametrize("argument", ["no-such-suite", "./nowhere"])
def test_what_does_not_exist_is_wrong_usage(argument: str) -> None:
    with pytest.raises(CommandError) as refused:
        checked(argument)

    assert refused.value.returncode == 2


@pytest.mark.django_db
def test_a_suite_with_a_check_of_an_older_version_is_named() -> None:
    write_suite([a_case()])
    Assertion.objects.update(type="of an older version")

    with pytest.raises(CommandError, match="refunds"):
        checked("refunds")


def test_files_that_cannot_be_read_are_wrong_usage(tmp_path: Path) -> None:
    path = write_file(tmp_path, {"type": "contains", "vlue": "x"})

    with pytest.raises(CommandError) as refused:
        checked(path)

    assert refused.value.returncode == 2
