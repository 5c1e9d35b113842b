import json
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from evals_app.formats.foreign.draft import KINDS
from evals_app.formats.reading.yaml_source import read_yaml
from evals_app.reports.reference.spec_schema import file_schema, file_schemas

ROOT = Path(__file__).resolve().parent.parent.parent.parent
EXAMPLES = sorted(path for kind in KINDS for path in (ROOT / "examples").rglob(f"*.{kind}.yaml"))
PROVIDER = """
provider: Own server
slug: own
kind: openai
base_url: https://models.example.org/v1
prices: [{model: "m-*", valid_from: 2026-05-01, input_usd: 0.5, output_usd: 2}]
"""


@cache
def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(file_schema(kind))


def faults(kind: str, text: str) -> list[str]:
    """Return the places where a file differs from the schema of its kind."""
    document = read_yaml(f"a.{kind}.yaml", text.encode())
    return [error.json_path for error in validator(kind).iter_errors(document.data)]


def test_there_is_a_schema_for_every_kind_of_file() -> None:
    schemas = file_schemas()

    assert sorted(schemas) == sorted(f"{kind}.schema.json" for kind in KINDS)
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
        assert "#/components" not in json.dumps(schema)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.name))
def test_every_example_matches(path: Path) -> None:
    assert faults(path.name.split(".")[-2], path.read_text(encoding="utf-8")) == []


def test_a_provider_matches() -> None:
    assert faults("provider", PROVIDER) == []


SUITE = "{suite: A, slug: a, agent: b, cases: [{name: c, turns: [{user: d, assertions: [CHECK]}]}]}"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param("suite", SUITE.replace("agent:", "agnt: x, agent:"), id="suite"),
        pytest.param("suite", SUITE.replace("name:", "nmae: x, name:"), id="case"),
        pytest.param("suite", SUITE.replace("user:", "usr: x, user:"), id="turn"),
        ("suite", SUITE.replace("CHECK", "{type: contains, value: a, valeu: b}")),
        pytest.param("suite", SUITE.replace("CHECK", "{type: contian, value: a}"), id="type"),
        pytest.param("suite", SUITE.replace("CHECK", "{type: tool_called}"), id="without a value"),
        pytest.param("agent", "{agent: A, slug: a, modle: b/c}", id="agent"),
        pytest.param("fixture", "{name: A, slug: a, entities: [], chunk: []}", id="fixture"),
        pytest.param("provider", PROVIDER + "api_key: x\n", id="provider"),
    ],
)
def test_a_misspelt_key_is_refused(kind: str, text: str) -> None:
    assert faults(kind, text.replace("CHECK", "{type: contains, value: a}")) != []


@pytest.mark.parametrize(
    "check",
    [
        pytest.param("{type: contains, value: a, weight: 2, name: b}", id="common keys"),
        pytest.param("{type: llm-rubric, criteria: a}", id="another name"),
        pytest.param("{type: rag, metric_type: faithfulness, threshold: 0.5}", id="a group"),
        pytest.param("{type: tool_calls, tools: [a, {name: b, args: {c: 1}}]}", id="tool names"),
        pytest.param("{type: llm_judge, criteria: a, model: openai/gpt-5}", id="a model"),
    ],
)
def test_short_forms_match(check: str) -> None:
    unnamed = (
        SUITE.replace("CHECK", check)
        .replace("name: c, ", "")
        .replace("agent: b", "agent: b, fixtures: d")
    )

    assert faults("suite", unnamed) == []
