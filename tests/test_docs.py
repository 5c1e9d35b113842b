"""The pages of docs/ against what they describe: an endpoint or option nobody wrote about fails."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from drf_spectacular.generators import SchemaGenerator

from evals_app.formats import DIALECTS

DOCS = Path(__file__).resolve().parent.parent / "docs"
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
    found = {}
    for line in (DOCS / "rest.md").read_text().splitlines():
        method = ""
        for code in re.findall(r"`([^`]+)`", line.split("|")[1]) if line.startswith("| `") else ():
            method, path = code.split() if " " in code else (method, code)
            found[f"{method} {path}"] = line
    return found


def endpoints() -> dict[str, Any]:
    generator: Any = SchemaGenerator
    paths = generator().get_schema(request=None, public=True)["paths"]
    return {
        f"{method.upper()} {path.removeprefix('/api/')}": operation
        for path, operations in paths.items()
        for method, operation in operations.items()
    }


def section(command: str) -> str:
    """Give the part of docs/commands.md that is about a command."""
    found = re.search(
        rf"(?ms)^## `manage\.py {command}[ `].*?(?=^## |\Z)", (DOCS / "commands.md").read_text()
    )
    return found[0] if found else ""


def test_every_endpoint_stands_in_the_table_and_nothing_else_does() -> None:
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
            parameter["name"] in {"fields", "page_size", "cursor", "Idempotency-Key"}
            and parameter["name"] in page
        )
    ]

    assert missing == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section_that_names_its_options(command: str) -> None:
    parser = load_command_class(str(get_commands()[command]), command).create_parser(
        "manage.py", command
    )
    options = {
        option
        for action in parser._actions  # noqa: SLF001 - argparse lists them nowhere else
        for option in action.option_strings
        if option.startswith("--")
    }

    text = section(command)

    assert text, f"docs/commands.md has no heading ## `manage.py {command} ...`"
    assert sorted(each for each in options - SHARED if f"{each}" not in text) == []


def test_no_page_describes_a_command_that_is_gone() -> None:
    described = re.findall(r"(?m)^## `manage\.py (\w+)", (DOCS / "commands.md").read_text())

    assert sorted(described) == COMMANDS


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each not in ("native", "table")])
def test_every_dialect_has_a_page_that_the_readme_names(dialect: str) -> None:
    name = f"docs/coming-from-{dialect}.md"

    assert (DOCS.parent / name).is_file()
    assert f"({name})" in (DOCS.parent / "README.md").read_text()


def test_the_pages_lead_to_each_other() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]

    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]

    assert broken == []
