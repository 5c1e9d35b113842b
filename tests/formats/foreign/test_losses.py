"""Whether a loss knows that checks are lost with it, in files of every system."""

import json

import pytest

from evals_app.formats.agentura.shapes import Config as AgenturaConfig
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.foreign.shapes import Foreign
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.promptfoo.shapes import Config
from evals_app.formats.promptfoo.shapes import Test as Promptfoo

KNOWN = ExistingObjects(agents={"desk": "scripted"})
PROMPTFOO = """\
prompts: ['{{q}}']
providers: [echo]
defaultTest:
  options: {transform: output.toUpperCase()}
  assert:
    - {type: icontains, value: HI}
    - {type: contains-any, value: [HI, HO]}
    - {type: is-json}
    - {type: javascript, value: output.length < 9}
    - {type: regex, value: HI}
    - {type: python, value: 'True'}
    - {type: latency, threshold: 9000}
tests: [{vars: {q: hi}}, {vars: {q: ho}}]
"""
GENERATED = """\
prompts: ['{{q}}', '{{q | fancy}}']
providers: [echo]
tests:
  - {vars: {q: hi}, assert: [{type: contains, value: hi}]}
  - {path: file://tests.py:make}
  - file://more.xlsx
"""
HOLODECK = """\
name: helper
model: {provider: openai, name: gpt-5-mini}
instructions: Help.
evaluations:
  metrics: [{metric: contains_all}, {type: panel}, {metric: equality}]
test_cases: [{input: hi, ground_truth: hello}]
"""
AGENTURA = """\
agent: {type: http, endpoint: "https://example.com/chat"}
evals:
  - {type: golden_dataset, name: a, dataset: a.jsonl}
  - {type: red_team, name: b, dataset: a.jsonl}
contracts: [{name: no refunds}]
"""
OPENAI = {
    "object": "eval",
    "id": "eval_1",
    "name": "Tickets",
    "testing_criteria": [
        {"type": "python", "name": "mine", "source": "def grade(): ..."},
        {
            "type": "string_check",
            "name": "label",
            "operation": "eq",
            "input": "{{sample.output_text}}",
            "reference": "{{item.label}}",
        },
    ],
}


def read(files: dict[str, str], agent: str | None = "desk") -> Imported:
    sources = [SourceFile(path, text.encode()) for path, text in files.items()]
    return read_files(sources, known=KNOWN, agent=agent)


@pytest.mark.parametrize(
    ("files", "agent", "lost", "checks_read"),
    [
        pytest.param({"promptfooconfig.yaml": PROMPTFOO}, None, 6, 1, id="promptfoo"),
        pytest.param({"promptfooconfig.yaml": GENERATED}, None, 3, 1, id="generated tests"),
        pytest.param({"agent.yaml": HOLODECK}, None, 2, 1, id="HoloDeck"),
        pytest.param(
            {"agentura.yaml": AGENTURA, "a.jsonl": '{"input": "hi", "expected": "hello"}'},
            None,
            *(2, 1),
            id="Agentura",
        ),
        pytest.param(
            {
                "eval.json": json.dumps(OPENAI),
                "items.jsonl": '{"item": {"input": "hi", "label": "x"}}\n{"item": {"label": "y"}}',
            },
            "desk",
            *(2, 1),
            id="OpenAI Evals",
        ),
        pytest.param(
            {
                "rows.jsonl": '{"input": "a", "expected": "x", "expected_team": "find"}\n'
                '{"input": "b", "expected": "y", "expected_team": "pay"}'
            },
            *("desk", 2, 2),
            id="a column of a table",
        ),
        pytest.param(
            {
                "rows.jsonl": '{"input": "a", "expected": {"answer": "5 days", "tone": "kind"}}\n'
                '{"input": "b", "expected": {"answer": "6 days", "tone": "calm"}}'
            },
            *("desk", 2, 2),
            id="a key of an expected answer",
        ),
        ({"rows.jsonl": '{"input": "a", "expected": "x", "owner": "Ann"}'}, *("desk", 0, 0)),
    ],
)
def test_a_loss_says_how_many_checks_are_lost_with_it(
    files: dict[str, str], agent: str | None, lost: int, checks_read: int
) -> None:
    imported = read(files, agent)

    assert sum(loss.checks for loss in imported.losses) == lost
    assert imported.checks_read == checks_read
    (suite, *_) = imported.suites
    stored = suite.losses.to_json()
    assert (stored["checks_lost"], stored["checks_read"]) == (lost, checks_read)
    assert [bool(part["checks"]) for part in stored["parts"]] == sorted(
        (bool(part["checks"]) for part in stored["parts"]), reverse=True
    )


def test_a_suite_knows_only_what_its_own_file_lost() -> None:
    imported = read(
        {
            "a.jsonl": '{"input": "a", "expected": "x", "expected_tone": "y"}',
            "b.jsonl": '{"input": "b", "expected": "x"}',
        }
    )

    lost = {suite.spec.slug: suite.losses.checks for suite in imported.suites}
    assert lost == {"a": 1, "b": 0}


@pytest.mark.parametrize("shape", [Config, Promptfoo, AgenturaConfig])
def test_what_is_known_to_be_a_check_is_known_to_be_lost(shape: type[Foreign]) -> None:
    assert set(shape.lost_checks) <= shape.lost.keys()
    assert shape.lost_checks
