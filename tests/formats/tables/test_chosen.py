"""What a person chooses for the columns of tables."""

import json
from typing import Any

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.foreign.shapes import KeptChoices, TableChoices
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.formats.tables.chosen import IGNORED, UnknownColumn, read_choices

KNOWN = ExistingObjects(agents={"desk": "model"})


def read(content: str, columns: dict[str, str], path: str = "cases.csv") -> Imported:
    file = SourceFile(path, content.encode())
    return read_files([file], known=KNOWN, agent="desk", tables=TableChoices(columns))


def turn(imported: Imported) -> Any:
    (located,) = imported.suites
    return located.spec.cases[0].turns[0].model_dump(exclude_defaults=True)


def problems(content: str, columns: dict[str, str], path: str = "cases.csv") -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(content, columns, path)
    return caught.value.problems


@pytest.mark.parametrize("header", ["Owner", " owner", "OWNER "])
def test_an_ignored_column_is_a_loss_at_its_header(header: str) -> None:
    imported = read("user,expected,Owner\nhi,hello,Ana\n", {header: IGNORED})

    assert turn(imported) == {"user": "hi", "expected": "hello"}
    assert [(loss.line, loss.column) for loss in imported.losses] == [(1, 3)]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_whose_headers_are_all_foreign_is_read_as_chosen(separator: str) -> None:
    rows = (("Frage", "Antwort"), ("hi", "hello"))
    content = "\n".join(map(separator.join, rows))

    imported = read(content, {"Frage": "question", "Antwort": "expected"})

    assert turn(imported) == {"user": "hi", "expected": "hello"}
    assert imported.losses == []


def test_a_column_may_be_a_parameter_and_a_known_one_may_be_ignored() -> None:
    columns = {"Level": "param:level", "notes": IGNORED}

    (located,) = read("user,contains,notes,Level\nhi,x,Old,7\n", columns).suites

    assert located.spec.cases[0].context_params == {"level": 7}
    assert located.spec.cases[0].description == ""


def test_rows_of_json_are_read_as_chosen() -> None:
    row = {"input": "hi", "Antwort": "{{hello}}"}

    imported = read(json.dumps(row), {"Antwort": "expected"}, "cases.jsonl")

    assert turn(imported)["expected"] == "{{hello}}"


def test_a_known_key_of_rows_of_json_may_be_ignored() -> None:
    row = {"input": "hi", "output": "hello", "Antwort": "ho"}

    imported = read(json.dumps(row), {"output": IGNORED, "Antwort": "expected"}, "cases.jsonl")

    assert turn(imported)["expected"] == "ho"
    assert len(imported.losses) == 1


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"expected": IGNORED}, "Oslo"),
        ({"answer": IGNORED}, "Rome"),
        ({"expected": "description"}, "Oslo"),
        ({"answer": "description"}, "Rome"),
    ],
    ids=["the first ignored", "the second", "the first is something else", "the second is"],
)
@pytest.mark.parametrize("keys", [("expected", "answer"), ("answer", "expected")])
def test_of_two_keys_for_an_answer_one_may_be_ignored(
    columns: dict[str, str], expected: str, keys: tuple[str, str]
) -> None:
    answers = {"expected": "Rome", "answer": "Oslo"}
    row = json.dumps({"question": "a", **{key: answers[key] for key in keys}})

    read_rows = read(row, columns, path="rows.jsonl")

    assert turn(read_rows)["expected"] == expected
    ignored = [key for key, meaning in columns.items() if meaning == IGNORED]
    assert [loss.keys for loss in read_rows.losses] == [f"[0].{key}" for key in ignored]


def test_an_unknown_column_says_what_it_may_be_and_what_is_in_it() -> None:
    content = "user,Expected anser,Stufe,password\nhi,hello,,s3cret\n,,Ana,\n"

    unknown = [item for item in problems(content, {}) if isinstance(item, UnknownColumn)]

    assert [(item.header, item.nearest) for item in unknown] == [
        ("Expected anser", "expected"),
        ("Stufe", ""),
        ("password", ""),
    ]
    assert [item.sample for item in unknown] == ["hello", "Ana", "***"]


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"Onwer": IGNORED}, "'Owner'"),
        ({"Owner": "quesion"}, "'question'"),
        ({"Owner": "# notes"}, "'notes'"),
        ({"Owner": "xyz"}, "Known:"),
    ],
)
def test_a_choice_that_fits_nothing_is_refused(columns: dict[str, str], word: str) -> None:
    found = problems("user,contains,Owner\nhi,x,Ana\n", columns)

    assert word in " ".join(item.message for item in found if item.path == "columns")


def test_two_columns_for_the_same_are_refused_where_the_second_is() -> None:
    (problem,) = problems("user,contains,Frage\nhi,x,ho\n", {"Frage": "user"})

    assert (problem.line, problem.column) == (1, 3)


def test_choices_are_read_from_words() -> None:
    assert read_choices(["Owner"], ["Frage=question", "a=b=param:x"]).columns == {
        "Owner": IGNORED,
        "Frage": "question",
        "a=b": "param:x",
    }


def test_choices_of_checks_are_read_from_words() -> None:
    assert read_choices([], [], ["contains", "sentence=Fuzzy_match 0.6"]).checks == {
        "": "contains",
        "sentence": "Fuzzy_match 0.6",
    }


@pytest.mark.parametrize(
    ("word", "near"), [("sentnce=contains", "sentence"), ("contians", "contains")]
)
def test_unknown_kinds_and_ways_are_refused(word: str, near: str) -> None:
    with pytest.raises(ValueError, match=near):
        read_choices([], [], [word])


@pytest.mark.parametrize(
    ("ignored", "mapped"),
    [([], ["Frage"]), ([], ["=user"]), ([], ["Frage="]), ([" "], []), (["a"], ["a=user"])],
)
def test_words_that_choose_nothing_are_refused(ignored: list[str], mapped: list[str]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_choices(ignored, mapped)


# What was chosen for an earlier file

TITLED = "input,output\nFrage;\nQuestion,Answer\nhi,hello\n"
EARLIER = KeptChoices(
    columns={"owner": IGNORED},
    checks={"answer": {"short": "exact match"}},
    headers=[["Input", "output"], ["question", "ANSWER "]],
)


def read_again(content: str, **chosen: Any) -> Any:
    file = SourceFile("cases.csv", content.encode())
    tables = TableChoices(**{"kept": EARLIER, **chosen})
    (suite,) = read_files([file], known=KNOWN, agent="desk", tables=tables).suites
    return suite.spec


def checks(content: str, **chosen: Any) -> list[str]:
    return [check.type for check in read_again(content, **chosen).checks()]


@pytest.mark.parametrize("header", ["Answer", " ANSWER"])
def test_a_way_to_compare_is_kept_for_answers_below_the_same_header(header: str) -> None:
    assert checks(f"user,{header}\nhi,hello\n") == ["exact_match"]


@pytest.mark.parametrize(
    ("header", "chosen"),
    [("Expected", {}), ("Answer", {"short": "fuzzy match 0.6"}), ("Answer", {"short": ""})],
)
def test_a_kept_way_does_not_count_for_others_or_if_another_is_chosen(
    header: str, chosen: dict[str, str]
) -> None:
    assert checks(f"user,{header}\nhi,hello\n", checks=chosen) != ["exact_match"]


@pytest.mark.parametrize(
    ("content", "chosen", "message"),
    [
        pytest.param(TITLED, {}, "hi", id="newest"),
        pytest.param("Title,\n" + TITLED, {}, "hi", id="another row"),
        pytest.param(TITLED.replace("Answer", "Answer,Owner"), {}, "hi", id="one column more"),
        pytest.param(TITLED, {"header_row": 1}, "Frage", id="another is chosen"),
    ],
)
def test_rows_of_headers_are_kept_by_their_texts(
    content: str, chosen: dict[str, Any], message: str
) -> None:
    cases = read_again(content.replace("Frage;", "Frage,"), **chosen).cases

    assert cases[0].turns[0].user == message
