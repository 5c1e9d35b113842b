"""Goldens of DeepEval, as JSON and as tables."""

import csv
import io
import json
from typing import Any

import pytest
from openpyxl import Workbook

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import foreign_dialect
from evals_app.formats.foreign.shapes import TableChoices
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, NoAgent
from evals_app.formats.tables.reader import read_table

KNOWN = ExistingObjects(agents={"desk": "http"})
SAME = {"type": "llm_judge", "criteria": "The reply says the same as the expected answer."}
GOLDEN: dict[str, Any] = {
    "name": None,
    "input": "How long does {{it}} take?",
    "actual_output": "Nine days.",
    "expected_output": "A refund takes five days from the day of the return.",
    "context": ["Refunds: 5 days", "Returns: 30 days"],
    "retrieval_context": ["policy.md"],
    "tools_called": [{"name": "guess"}],
    "expected_tools": [
        {"name": "find_policy", "input_parameters": {"topicId": 7}, "output": None},
        {"name": "log"},
    ],
    "additional_metadata": {"topic": "refunds", "source": {"a": 1}},
    "comments": "From support",
    "source_file": "faq.pdf",
}
TURNS = [
    {"role": "user", "content": "I want my money back."},
    {"role": "assistant", "content": "No."},
    {"role": "user", "content": "Please."},
]
SCENARIO: dict[str, Any] = {
    "scenario": "Wants a refund",
    "expected_outcome": "The refund is promised",
    "user_description": "Impatient",
    "context": ["Refunds take 5 days"],
    "turns": json.dumps(TURNS),
}


def read(
    data: Any, path: str = "goldens.json", agent: str | None = "desk", **checks: str
) -> Imported:
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    choices = TableChoices(checks=checks)
    return read_files([SourceFile(path, content)], known=KNOWN, agent=agent, tables=choices)


def cases(data: Any, path: str = "goldens.json", **checks: str) -> list[dict[str, Any]]:
    (located,) = read(data, path, **checks).suites
    dumped: list[dict[str, Any]] = located.spec.model_dump(mode="json", exclude_defaults=True)[
        "cases"
    ]
    return dumped


def as_csv(*goldens: dict[str, Any]) -> bytes:
    """Write goldens as DeepEval does: contexts with bars, all other data as JSON."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(goldens[0]))
    writer.writeheader()
    for golden in goldens:
        cells = {
            key: "|".join(value) if "context" in key and value else json.dumps(value)
            for key, value in golden.items()
            if isinstance(value, list | dict)
        }
        writer.writerow({**golden, **cells})
    return out.getvalue().encode()


def workbook(sheets: dict[str, list[list[str]]]) -> bytes:
    book = Workbook(write_only=True)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def problems(data: Any, path: str = "goldens.json") -> list[tuple[str, str]]:
    with pytest.raises(FormatError) as caught:
        read(data, path)
    return [(item.keys, item.message) for item in caught.value.problems if item.level == "error"]


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ([GOLDEN], "goldens.json"),
        ({"goldens": [GOLDEN]}, "set.json"),
        (as_csv(GOLDEN), "set.csv"),
        (json.dumps(GOLDEN).encode(), "set.jsonl"),
    ],
)
def test_a_golden_is_a_case_and_old_replies_are_never_expected(data: Any, path: str) -> None:
    assert cases(data, path) == [
        {
            "name": "How long does {{it}} take?",
            "description": "From support",
            "tags": ["source_file=faq.pdf", "topic=refunds"],
            "turns": [
                {
                    "user": "How long does \\{{it}} take?",
                    "expected": GOLDEN["expected_output"],
                    "context": GOLDEN["context"],
                    "retrieval_context": ["policy.md"],
                    "assertions": [
                        SAME,
                        {
                            "type": "tool_calls",
                            "tools": [
                                {
                                    "name": "find_policy",
                                    "args": {"topicId": 7},
                                    "args_match": "exact",
                                },
                                "log",
                            ],
                        },
                    ],
                }
            ],
        }
    ]
    imported = read(data, path)
    assert len(imported.losses) == 3  # actual_output, tools_called, a mapping in metadata
    assert "Nine days" not in json.dumps(cases(data, path))


def test_keys_in_camel_case_mean_the_same() -> None:
    golden = {"input": "Yo", "expectedOutput": "42", "actualOutput": "1", "expectedTools": ["f"]}

    (turn,) = cases([golden])[0]["turns"]

    assert turn["assertions"] == [
        {"type": "numeric", "extract": "any"},
        {"type": "tool_calls", "tools": ["f"]},
    ]
    assert [loss.keys for loss in read([golden]).losses] == ["[0].actualOutput"]


def test_short_answers_are_compared_as_in_tables_and_a_person_may_choose() -> None:
    goldens = [{"input": "How many?", "expected_output": "5", "actual_output": ""}]

    assert cases(goldens)[0]["turns"][0]["assertions"] == [{"type": "numeric", "extract": "any"}]
    assert cases(goldens, number="exact")[0]["turns"][0]["assertions"] == [{"type": "exact_match"}]
    (guess,) = read(goldens).guesses
    assert (guess.keys, guess.message[:17]) == ("[0].expected_output", "Read as a number:")


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ([SCENARIO], "talks.json"),
        ([{**SCENARIO, "turns": TURNS}], "talks.json"),
        ({"conversationalGoldens": [SCENARIO]}, "talks.json"),
        (as_csv({**SCENARIO, "turns": TURNS}), "talks.csv"),
    ],
)
def test_a_conversation_is_judged_at_its_end(data: Any, path: str) -> None:
    (case,) = cases(data, path)

    assert (case["name"], case["description"]) == ("Wants a refund", "Wants a refund\n\nImpatient")
    assert case["turns"] == [
        {"user": "I want my money back."},
        {"user": "Please.", "context": ["Refunds take 5 days"]},
    ]
    assert case["final_assertions"] == [
        {
            "type": "llm_judge",
            "criteria": "The conversation has this outcome: The refund is promised",
            "scope": "conversation",
        }
    ]
    (loss,) = read(data, path).losses
    assert "earlier run" in loss.message


def test_scenarios_without_a_user_are_left_out_and_refused_if_there_is_nothing_else() -> None:
    played = {"scenario": "Complains", "expected_outcome": "Is calm", "turns": None}

    imported = read([SCENARIO, played])

    assert len(imported.suites[0].spec.cases) == 1
    assert ("[1].scenario", 1) in {(loss.keys, loss.checks) for loss in imported.losses}
    assert "No golden of this file" in problems([played])[0][1]


@pytest.mark.parametrize("wrap", [lambda run: run, lambda run: {"testRunData": run}])
def test_saved_test_runs_are_refused_by_name(wrap: Any) -> None:
    row = {"input": "Hi", "actualOutput": "Yo", "success": True, "metricsData": []}

    ((_, message),) = problems(wrap({"testCases": [row]}), "run.json")

    assert message.startswith("This is a saved test run of DeepEval: results, not goldens.")


@pytest.mark.parametrize(
    ("data", "path", "keys"),
    [
        ([{"input": 4, "actual_output": ""}], "goldens.json", "[0].input"),
        ([{"input": "x", "expected_tools": [{"nam": "f"}]}], "goldens.json", "[0].expected_tools[0]"),
        ([{"input": "x", "expected_tools": "f("}], "goldens.json", "[0].expected_tools"),
        ([{**SCENARIO, "turns": [{"role": "user"}]}], "goldens.json", "[0].turns[0]"),
        (b"input,actual_output,expected_tools\nHi,a,[]\nHo,b,f(\n", "g.csv", "C3"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error_with_its_place(data: Any, path: str, keys: str) -> None:
    assert keys in {place for place, _ in problems(data, path)}


def test_sheets_without_goldens_are_named_and_cells_without_a_value_refused() -> None:
    sheets = {"notes": [["Made by Ada"]], "goldens": [["input", "actual_output"], ["Hi", "Yo"]]}

    imported = read(workbook(sheets), "g.xlsx")

    assert [case.turns[0].user for case in imported.suites[0].spec.cases] == ["Hi"]
    assert (imported.warnings[0].keys, imported.losses[0].keys) == ("notes", "goldens!B2")
    broken = {"goldens": [["input", "actual_output"], ["=1/0", "Yo"]]}
    assert problems(workbook(broken), "g.xlsx")[0][0] == "goldens!A2"


def test_without_an_agent_one_is_asked_for() -> None:
    with pytest.raises(FormatError) as caught:
        read([GOLDEN], agent=None)

    assert any(isinstance(problem, NoAgent) for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("path", "data", "dialect"),
    [
        ("a.json", [{"input": "x", "expected_output": "y"}], "table"),
        ("a.json", [{"input": "x", "retrieval context": "y"}], "table"),
        ("a.json", [{"question": "x", "actual_output": "y"}], "table"),
        ("a.json", [{"scenario": "x", "turns": []}], "table"),
        ("a.json", [{"input": "x", "ideal": "y", "actual_output": "z"}], "openai-evals"),
        ("a.json", {"testCases": [{"input": "x"}]}, "table"),
        ("a.suite.yaml", {"goldens": [GOLDEN]}, None),
    ],
)
def test_only_goldens_are_read_as_such(path: str, data: Any, dialect: str | None) -> None:
    assert foreign_dialect(path, data) == dialect


@pytest.mark.parametrize(
    "headers", ["Case,User,Retrieval context", "input,expected_output", "user,actual_output"]
)
def test_other_tables_stay_tables(headers: str) -> None:
    table = read_table("a.csv", f"{headers}\na,b,c\n".encode())

    assert foreign_dialect("a.csv", table.data) == "table"
