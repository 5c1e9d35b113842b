"""Evals of Agent Skills."""

import json
from typing import Any

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import foreign_dialect
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError

KNOWN = ExistingObjects(agents={"desk": "model"})
ENTRY: dict[str, Any] = {
    "id": 1,
    "prompt": "Add up the July invoice {{now}}.",
    "expected_output": "The total with its currency.",
    "files": ["files/july.txt", "scripts/add.py", "files/gone.txt"],
    "expectations": ["The reply names 84.20 euros", "The reply says which invoice it read"],
}


def skill(*entries: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"skill_name": "Invoice reader", "evals": list(entries), **keys}


def read(data: Any, agent: str | None = "desk", **others: bytes) -> Imported:
    files = [SourceFile("s/evals/evals.json", json.dumps(data).encode())]
    beside = {"s/files/july.txt": b"84.20 euros", "s/scripts/add.py": b"\x00\x01"}
    return read_files(files, known=KNOWN, agent=agent, find=(beside | others).get)


def errors(data: Any, agent: str | None = "desk") -> list[tuple[str, str]]:
    with pytest.raises(FormatError) as caught:
        read(data, agent)
    return [(item.keys, item.message) for item in caught.value.problems if item.level == "error"]


@pytest.mark.parametrize("key", ["expectations", "assertions"])
def test_each_expectation_is_a_criterion(key: str) -> None:
    entry = {**ENTRY, key: ENTRY["expectations"]}
    if key == "assertions":
        del entry["expectations"]

    imported = read(skill(entry))

    (suite,) = imported.suites
    (case,) = suite.spec.cases
    (turn,) = case.turns
    graders: list[Any] = [check.grader for check in turn.assertions or []]
    assert (suite.spec.slug, case.name) == ("invoice-reader", "Add up the July invoice {{now}}.")
    assert [grader.criteria for grader in graders] == ENTRY["expectations"]
    assert [check.type for check in turn.assertions or []] == ["llm_judge", "llm_judge"]
    assert (turn.expected, "with its currency" in turn.context[0]) == (None, True)
    assert turn.user == "Add up the July invoice \\{{now}}."


def test_a_description_alone_is_the_criterion() -> None:
    entry = {"prompt": "Add up.", "expected_output": "The total with its currency."}

    (turn,) = read(skill(entry)).suites[0].spec.cases[0].turns

    graders: list[Any] = [check.grader for check in turn.assertions or []]
    assert ["The total with its currency." in grader.criteria for grader in graders] == [True]


def test_files_are_attached_or_named_as_lost() -> None:
    imported = read(skill(ENTRY))

    (turn,) = imported.suites[0].spec.cases[0].turns
    assert [file.path for file in turn.files] == ["files/july.txt"]
    assert [loss.keys for loss in imported.losses] == ["evals[0].files[1]", "evals[0].files[2]"]


def test_what_is_left_out_is_counted() -> None:
    entry = {"prompt": "Hi", "expectations": ["It greets"], "should_trigger": False, "grade": 1}

    losses = {loss.keys: loss for loss in read(skill(entry, entry, entry, version=2)).losses}

    assert sorted(losses) == ["evals[0].grade", "evals[0].should_trigger", "version"]
    assert losses["evals[0].should_trigger"].checks == 3
    assert "3 places" in losses["evals[0].grade"].message


@pytest.mark.parametrize(
    ("data", "keys", "word"),
    [
        (skill({"prompt": ""}, ENTRY), "evals[0].prompt", "empty"),
        (skill({"prompt": "Hi", "expectations": "greets"}), "evals[0].expectations", "list"),
        (skill({"prompt": "Hi", "expectations": [1]}), "evals[0].expectations[0]", "text"),
        ({"scenario_name": "a", "evals": [{"name": "b", "fixture": "c", "mock_scripts": [], "checks": {}}]}, "", "mock_scripts"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_at_its_place(data: Any, keys: str, word: str) -> None:
    (found, message), *_ = errors(data)

    assert (found, word in message) == (keys, True)


def test_an_agent_is_asked_for() -> None:
    assert ["--agent" in message for _, message in errors(skill(ENTRY), agent=None)] == [True]


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        (skill(ENTRY), "agent-skills"),
        ({"evals": [{"prompt": "Hi", "expected_output": "Hello"}]}, "agent-skills"),
        ({"evals": [{"prompt": "Hi", "answer": "Hello"}]}, "table"),
    ],
)
def test_files_are_known_by_their_keys(data: Any, dialect: str) -> None:
    assert foreign_dialect("x/data.json", data) == dialect
