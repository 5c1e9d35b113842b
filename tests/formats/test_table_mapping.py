from contextlib import suppress

import pytest

from evals_app.formats.foreign.shapes import TableChoices, TablesRead
from evals_app.formats.importing import SourceFile, read_files
from evals_app.formats.reading.problems import FormatError
from evals_app.formats.table_mapping import SheetShown, TextsShown, map_sheet

GERMAN = """\
Fragenkatalog 2026;;;;
Nr.;Kundenfrage;Musterantwort;NICHT sagen!;Betrag in €
1;Was kostet Express?;Der Versand kostet 6,90 € und dauert einen Tag.;kostenlos;6,90
2;Wann öffnet das Depot?;Samstags von 9 bis 14 Uhr ohne Pause.;-;-
"""


def mapped(text: str, path: str = "a.csv", **chosen: object) -> SheetShown:
    file, seen = SourceFile(path, text.encode()), TablesRead()
    tables = TableChoices(**chosen)  # type: ignore[arg-type]
    with suppress(FormatError):
        read_files([file], tables=tables, seen=seen)
    (sheet,) = map(map_sheet, seen.sheets)
    return sheet


def answers(*texts: str, checks: dict[str, str] | None = None) -> list[TextsShown]:
    rows = "".join(f"Question {n}?\t{text}\n" for n, text in enumerate(texts))
    sheet = mapped(f"user\texpected\n{rows}", checks=checks or {})
    return list(sheet.columns[1].texts)


def test_each_column_says_what_it_became_and_which_is_asked() -> None:
    sheet = mapped(GERMAN)

    assert [(item.header, item.became, item.is_asked) for item in sheet.columns] == [
        ("Nr.", "", False),
        ("Kundenfrage", "user", False),
        ("Musterantwort", "expected", False),
        ("NICHT sagen!", "not contains", False),
        ("Betrag in €", "", True),
    ]
    assert sheet.columns[1].about.startswith("The message")
    assert (sheet.columns[0].letter, sheet.columns[0].filled, sheet.columns[0].sample) == (
        *("A", 2),
        "1",
    )


def test_the_first_rows_are_as_read_with_what_is_above_the_headers() -> None:
    sheet = mapped(GERMAN + "3;a?;b;;\n" * 9)

    assert sheet.header_row == 2
    assert [(row.number, row.is_above, row.is_header) for row in sheet.rows] == [
        *((1, True, False), (2, False, True)),
        *((n, False, False) for n in range(3, 8)),
    ]
    assert {len(row.cells) for row in sheet.rows} == {5}


@pytest.mark.parametrize(
    ("texts", "kind", "passes", "fails"),
    [
        pytest.param(["7", "9"], "number", "7", "8", id="number"),
        pytest.param(["Yes", "No"], "yes-no", "Yes", "no", id="yes or no"),
        pytest.param(["Berlin", "Paris"], "short", "Berlin", "Paris", id="short"),
        pytest.param(["2026-05-01", "2026-05-09"], "date", "2026-05-01", "2026-05-02", id="date"),
        pytest.param(["Angry", "Happy"] * 2, "label", "Angry", "Happy", id="label"),
    ],
)
def test_replies_that_pass_and_fail_are_graded(
    texts: list[str], kind: str, passes: str, fails: str
) -> None:
    (item,) = answers(*texts)

    assert (item.kind, item.count, item.is_described) == (kind, len(texts), False)
    assert passes in item.passes
    assert fails in item.fails


def test_a_reply_with_two_labels_fails() -> None:
    (item,) = answers(*["Angry", "Happy"] * 2)

    assert "Angry" in item.fails
    assert "Happy" in item.fails


def test_what_a_judge_decides_is_described() -> None:
    (item,) = answers("We give the fee back and we say so in a letter.")

    assert item.is_described
    assert "judge" in item.how


def test_another_way_to_compare_is_shown_and_graded() -> None:
    text = "We give the fee back and we say so in a letter."
    (item,) = answers(text, checks={"sentence": "contains"})

    assert not item.is_described
    assert item.passes == text
    assert "contains" in item.how

    (item,) = answers(text, checks={"sentence": "none"})
    assert item.fails == ""


def test_forbidden_texts_fail_and_dashes_are_none() -> None:
    (item,) = mapped(GERMAN).columns[3].texts

    assert item.count == 1
    assert "kostenlos" in item.fails
    assert "kostenlos" not in item.passes


def test_required_texts_are_graded_too() -> None:
    (item,) = mapped(GERMAN, columns={"Betrag in €": "contains"}).columns[4].texts

    assert "6,90" in item.passes
    assert "7,90" in item.fails


def test_without_a_column_of_questions_the_likely_one_is_asked() -> None:
    sheet = mapped("Anliegen,Owner\nWhat is it?,Ana\n")

    assert [item.nearest for item in sheet.columns if item.is_asked] == ["user", ""]


def test_a_second_column_for_the_same_is_asked() -> None:
    sheet = mapped("question,prompt\nHi,Ho\n")

    assert [(item.became, item.is_asked) for item in sheet.columns] == [("user", False), ("", True)]


def test_what_may_be_a_secret_is_not_shown() -> None:
    sheet = mapped("user,contains\napi_key: abc123,token=abc123\n")

    assert "abc123" not in repr(sheet)


# Rows that are records


ROWS = """\
{"question": "Wann?", "answer": "Samstags", "Thema": "A", "meta": {"id": 1}}
{"question": "Warum?", "answer": "Darum", "Thema": "B"}
"""


def test_keys_of_records_are_columns_by_their_own_names() -> None:
    sheet = mapped(ROWS, "a.jsonl")

    assert [(item.header, item.became, item.letter) for item in sheet.columns] == [
        ("question", "user", ""),
        ("answer", "expected", ""),
        ("Thema", "tags", ""),
        ("meta", "", ""),
    ]
    assert sheet.header_row == 0
    assert [row.number for row in sheet.rows] == [0, 1, 2]
    assert sheet.rows[0].cells[:3] == ("question", "answer", "Thema")
    assert sheet.rows[1].cells[:3] == ("Wann?", "Samstags", "A")
    assert sheet.columns[1].texts[0].passes == "The answer is Samstags."


def test_a_key_of_records_is_what_a_person_chose() -> None:
    sheet = mapped(ROWS, "a.jsonl", columns={"question": "description", "Thema": "user"})

    became = {item.header: item.became for item in sheet.columns if item.became}
    assert became == {"question": "description", "Thema": "user", "answer": "expected"}


def test_a_record_without_a_question_asks_for_its_key() -> None:
    sheet = mapped('{"row": {"Anliegen": "Wann kommt es?", "answer": "Morgen"}}\n', "a.jsonl")

    assert [item.header for item in sheet.columns if item.is_asked] == ["Anliegen"]


def test_columns_that_were_read_from_one_key_are_parts_of_it() -> None:
    row = '{"input": {"question": "Wann?", "kunde": "Ana"}, "answer": "Morgen"}\n'

    sheet = mapped(row, "a.jsonl")

    assert [(item.header, item.is_part) for item in sheet.columns] == [
        ("input", True),
        ("input", True),
        ("answer", False),
    ]
