"""Test sets of Copilot Studio as tables."""

import codecs
import csv
import io
from typing import Any

import pytest
from openpyxl import Workbook

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import foreign_dialect
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, NoAgent, Problem

KNOWN = ExistingObjects(agents={"desk": "model"})
# As Copilot Studio writes it: a byte order mark, and a blank at the end of a header.
HEADERS = ["Prompt", "Expected response ", "Test Method Type", "Passing Score"]
ASK = "How long does a repair take?"
TAKES = "A repair takes four days."


def csv_file(*rows: list[str], headers: list[str] | None = None) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([headers or HEADERS, *rows])
    return codecs.BOM_UTF8 + text.getvalue().encode()


def read(
    content: bytes, *, path: str = "Repair questions.csv", agent: str | None = "desk"
) -> Imported:
    return read_files([SourceFile(path, content)], agent=agent, known=KNOWN)


def row(*cells: str) -> Imported:
    return read(csv_file([ASK, *cells]))


def checks(imported: Imported) -> list[dict[str, Any]]:
    (turn,) = imported.suites[0].spec.cases[0].turns
    return [check.model_dump() for check in turn.assertions or []]


def problems(content: bytes, **options: Any) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(content, **options)
    return caught.value.problems


@pytest.mark.parametrize(("score", "threshold"), [("70", 0.7), ("70%", 0.7), ("", 0.5), ("100", 1)])
def test_meaning_is_compared_by_a_judge_with_the_passing_score(
    score: str, threshold: float
) -> None:
    imported = row(TAKES, "CompareMeaning", score)

    spec = imported.suites[0].spec
    assert (spec.suite, spec.slug, spec.agent) == ("Repair questions", "repair-questions", "desk")
    (case,) = spec.cases
    assert (case.name, case.turns[0].user, case.turns[0].expected) == (ASK, ASK, TAKES)
    (check,) = checks(imported)
    assert (check["type"], check["scale"], check["threshold"]) == ("llm_judge", "0-1", threshold)
    assert imported.losses == imported.warnings == []


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("GeneralQuality", "llm_judge"),
        ("General quality", "llm_judge"),
        ("ContentSafety", "llm_judge"),
        ("ExactMatch", "exact_match"),
        ("TextSimilarity", "semantic_similarity"),
    ],
)
def test_each_method_is_a_check(method: str, kind: str) -> None:
    imported = row(TAKES, method, "")

    assert [check["type"] for check in checks(imported)] == [kind]
    assert imported.losses == imported.guesses == []


@pytest.mark.parametrize(
    ("method", "kind"),
    [("PartialMatch", "contains"), ("KeywordMatch", "contains"), ("ToolUse", "tool_called")],
)
def test_each_text_of_a_list_is_a_check_of_its_own(method: str, kind: str) -> None:
    imported = row("four days, 1,200 euros; repair desk", method, "")

    values = [(check["type"], check["value"]) for check in checks(imported)]
    assert values == [(kind, "four days"), (kind, "1,200 euros"), (kind, "repair desk")]
    assert imported.suites[0].spec.cases[0].turns[0].expected is None
    assert [guess.keys for guess in imported.guesses] == ["B2"] * (kind == "contains")


def test_a_tool_that_does_not_exist_is_reported_where_it_is_written() -> None:
    agent = SourceFile(
        "desk.agent.yaml", b"{agent: D, slug: desk, driver: scripted, rules: [{reply: Hi}]}"
    )
    rows = SourceFile("x.csv", csv_file([ASK, "find", "ToolUse", ""]))

    (warning,) = read_files([agent, rows], agent="desk").warnings

    assert warning.keys == "B2"


def test_several_methods_of_a_row_are_checks_of_one_case() -> None:
    imported = row(TAKES, "GeneralQuality; CompareMeaning", "60")

    assert [check["threshold"] for check in checks(imported)] == [0.6, 0.6]


def test_a_row_without_a_method_is_judged_as_there_and_said() -> None:
    imported = row(TAKES, "", "")

    (check,) = checks(imported)
    (guess,) = imported.guesses
    assert (check["type"], guess.keys) == ("llm_judge", "C2")


def test_a_comparison_with_nothing_is_a_lost_check_and_is_said() -> None:
    imported = row("", "CompareMeaning", "70")

    (loss,) = imported.losses
    assert (loss.keys, loss.checks) == ("C2", 1)
    assert checks(imported) == []
    assert imported.warnings  # it checks nothing


def test_a_custom_method_is_a_lost_check() -> None:
    (loss,) = row(TAKES, "Custom", "").losses

    assert (loss.keys, loss.checks) == ("C2", 1)


def test_a_score_of_a_method_that_has_none_is_named() -> None:
    (loss,) = row(TAKES, "ExactMatch", "70").losses

    assert (loss.keys, loss.checks) == ("D2", 0)


def test_what_many_rows_lose_is_said_once_with_its_count() -> None:
    rows = [[f"Question {n}", "", "CompareMeaning", ""] for n in range(30)]

    (loss,) = read(csv_file(*rows)).losses

    assert (loss.checks, "30" in loss.message) == (30, True)


def test_other_columns_are_named_with_their_rows_and_blank_rows_left_out() -> None:
    headers = [*HEADERS, "Category (delete before testing)", "Owner", "Unused"]
    rows = [[ASK, TAKES, "CompareMeaning", "70", "Repairs", "Ana", ""], [""] * 7]
    rows += [["And where?", "At the desk.", "CompareMeaning", "50", "", "Ben", ""], [""] * 7]

    imported = read(csv_file(*rows, headers=headers))

    first, second = imported.suites[0].spec.cases
    assert (first.tags, second.tags) == (["Repairs"], [])
    (loss,) = imported.losses
    assert (loss.keys, "Owner" in loss.message, "2 rows" in loss.message) == ("F1", True, True)


def test_equal_questions_are_cases_of_their_own_and_braces_are_kept() -> None:
    imported = read(csv_file(*[["Hi {{you}}", "", "GeneralQuality", ""]] * 2))

    first, second = imported.suites[0].spec.cases
    assert (first.name, second.name) == ("Hi {{you}}", "Hi {{you}} (2)")
    assert first.turns[0].user == r"Hi \{{you}}"


def test_headers_may_be_below_lines_of_a_template() -> None:
    lines = ["At most 100 questions", "", "", ""]

    imported = read(csv_file(HEADERS, [ASK, TAKES, "CompareMeaning", ""], headers=lines))

    assert imported.suites[0].spec.cases[0].turns[0].user == ASK


@pytest.mark.parametrize(
    ("cells", "place"),
    [
        pytest.param(["", TAKES, "CompareMeaning", ""], "A2", id="no question"),
        pytest.param([ASK, TAKES, "CompareMeening", ""], "C2", id="misspelt"),
        pytest.param([ASK, TAKES, "CompareMeaning", "much"], "D2", id="no number"),
        pytest.param([ASK, TAKES, "CompareMeaning", "700"], "D2", id="too high"),
        pytest.param([ASK, TAKES, "CompareMeaning", "nan"], "D2", id="nan"),
    ],
)
def test_what_cannot_be_read_is_an_error_in_its_cell(cells: list[str], place: str) -> None:
    assert [problem.keys for problem in problems(csv_file(cells))] == [place]


def test_a_misspelt_method_names_the_nearest() -> None:
    (problem,) = problems(csv_file([ASK, TAKES, "CompareMeening", ""]))

    assert "CompareMeaning" in problem.message.partition("?")[0]


def test_without_rows_or_an_agent_it_is_refused() -> None:
    assert [problem.keys for problem in problems(csv_file())] == ["A1"]
    (problem,) = problems(csv_file([ASK, TAKES, "CompareMeaning", ""]), agent=None)
    assert isinstance(problem, NoAgent)


def test_sheets_of_a_workbook_are_suites_and_others_are_named() -> None:
    book = Workbook()
    for name in ("Repairs", "Returns", "Notes"):
        sheet = book.create_sheet(name)
        sheet.append(["a"] if name == "Notes" else HEADERS)
        sheet.append([ASK, TAKES, "CompareMeaning", 70])
    del book["Sheet"]
    content = io.BytesIO()
    book.save(content)

    imported = read(content.getvalue(), path="shop.xlsx")

    assert [suite.spec.slug for suite in imported.suites] == ["shop-repairs", "shop-returns"]
    assert ["Notes" in warning.message for warning in imported.warnings] == [True]


@pytest.mark.parametrize(
    ("headers", "dialect"),
    [
        pytest.param(HEADERS, "copilot-studio", id="as written"),
        pytest.param(
            ["Question", "Expected response", "Testing method"], "copilot-studio", id="new"
        ),
        pytest.param(["Prompt", "Expected response"], "table", id="no method"),
        pytest.param(["Test Method Type", "Batch"], "table", id="of a laboratory"),
        pytest.param(["prompt", "__expected"], "table", id="other tool"),
    ],
)
def test_a_table_is_known_by_its_headers(headers: list[str], dialect: str) -> None:
    assert foreign_dialect("x.csv", {"": [headers, ["a"] * len(headers)]}) == dialect
