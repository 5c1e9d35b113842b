import codecs

import pytest

from evals_app.formats.reading.problems import FormatError
from evals_app.formats.tables.separated import is_pasted_table, read_csv, write_csv_rows
from evals_app.formats.tables.table import TableLimits


def rows(content: str | bytes) -> list[list[str]]:
    written = content if isinstance(content, bytes) else content.encode()
    sheet: list[list[str]] = read_csv("a.csv", written).data[""]
    return sheet


PLAIN = [["user", "expected"], ["a, b", "c; d"]]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('user,expected\n"a, b",c; d\n', id="commas"),
        pytest.param('user;expected\r\na, b;"c; d"\r\n', id="semicolons"),
        pytest.param("user\texpected\na, b\tc; d\n", id="tabs"),
        pytest.param("user|expected\na, b|c; d\n", id="bars"),
        pytest.param('sep=;\nuser;expected\na, b;"c; d"\n', id="Excel's own first line"),
        pytest.param('user, expected\n"a, b", c; d\n', id="a blank behind each comma"),
        pytest.param("\ufeffuser\texpected\na, b\tc; d", id="a mark at the beginning"),
        pytest.param(
            codecs.BOM_UTF16_LE + "user\texpected\r\na, b\tc; d".encode("utf-16-le"), id="UTF-16"
        ),
    ],
)
def test_every_way_to_write_a_table_reads_the_same(content: str | bytes) -> None:
    assert rows(content) == PLAIN


def test_a_title_above_the_header_does_not_hide_what_separates_the_cells() -> None:
    content = "My cases, all of them;;\n\nQuestion;Answer;\na;b;\n"

    assert rows(content)[2:] == [["Question", "Answer", ""], ["a", "b", ""]]


def test_a_cell_may_hold_line_breaks_and_quotes_and_counts_as_one_row() -> None:
    assert rows('user\n"one\r\ntwo ""three"""\nfour\n') == [
        ["user"],
        ['one\r\ntwo "three"'],
        ["four"],
    ]


@pytest.mark.parametrize(
    ("content", "row", "message"),
    [
        pytest.param(b'user\n"a', 2, "quotes", id="a quote never closed"),
        pytest.param(b'user\na\n"b"c\n', 3, "quotes", id="letters behind a quote"),
        pytest.param(b"user\n\xe9", 2, "CSV UTF-8", id="another encoding"),
        pytest.param(codecs.BOM_UTF16_LE + b"a", 0, "UTF-16", id="half of UTF-16"),
        pytest.param(b"user\n" + b"," * 1000, 2, "at most", id="too many columns"),
        pytest.param(b"user\n" + b"a\n" * 200_000, 200_001, "at most", id="too many rows"),
        pytest.param(b"a" * 10_485_761, 0, "larger", id="too large"),
        pytest.param(b"user\na\x07", 2, "character", id="a control character"),
    ],
)
def test_what_is_no_table_is_refused_with_its_row(content: bytes, row: int, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_csv("a.csv", content)

    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == ("a.csv", row)
    assert message in problem.message


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param(b'user\n"a\nb"\nc "d\n"e,f\ng,h\n', '"\\"e,f"', id="the quotes of a line"),
        pytest.param(b"user\nG\xf6\xdfe;x\n", '"G\ufffd\ufffde;x"', id="the letters of a line"),
    ],
)
def test_the_line_that_cannot_be_read_is_reported(content: bytes, line: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_csv("a.csv", content)

    assert caught.value.problems[0].value == line


def test_a_long_cell_is_no_error() -> None:
    assert rows("user\n" + "x" * 500_000)[1] == ["x" * 500_000]


def test_cells_are_quoted_where_it_matters_and_no_cell_is_a_formula() -> None:
    written = write_csv_rows([["a", " b", 'c"', "d;e", "=f", ""]])

    assert written == codecs.BOM_UTF8 + b'a," b","c""","d;e",\'=f,\r\n'
    assert rows(written) == [["a", " b", 'c"', "d;e", "=f", ""]]


def test_a_table_of_too_many_cells_is_refused_even_if_they_are_blank() -> None:
    with pytest.raises(FormatError, match="at most 5 cells"):
        read_csv("a.csv", b"user,,\na,,\n", TableLimits(cells=5))


@pytest.mark.parametrize(
    ("text", "is_table"),
    [
        pytest.param("Question\tAnswer\nHi\tHello\n", True, id="two columns"),
        pytest.param("Title\n\nFrage:\tAntwort\nHi: you\tHo\nBye\tSo\n", True, id="a title above"),
        pytest.param("suite:\tGreetings\nslug:\tgreetings\n", False, id="keys with tabs"),
        pytest.param("suite: a\ncases:\n  - name: b\tc\n", False, id="a tab in a text"),
        pytest.param('{\n\t"suite": 1,\n\t"cases": 2\n}', False, id="indented by tabs"),
        pytest.param("Question,Answer\nHi,Hello\n", False, id="commas"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_rows_that_a_spreadsheet_program_copied_are_recognized(
    *, text: str, is_table: bool
) -> None:
    assert is_pasted_table(text) is is_table
