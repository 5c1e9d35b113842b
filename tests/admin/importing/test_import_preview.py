import pytest

from evals_app.admin.importing.import_preview import MAX_SHOWN, SourceLine, preview
from evals_app.formats.reading.problems import FormatError, Problem


def line_of(
    content: str, line: int, column: int, *, path: str = "a.yaml", keys: str = "x"
) -> SourceLine:
    problem = Problem(path, line, column, keys, "", "Wrong.")
    shown = preview(FormatError([problem]), {path: content.encode()})
    ((_, (quoted,)),) = shown.errors.files
    assert quoted.line is not None
    return quoted.line


@pytest.mark.parametrize(
    ("content", "column", "marked"),
    [
        pytest.param("name: Hello, world", 7, "Hello", id="a word"),
        pytest.param("trails: 3", 1, "trails", id="a key"),
        pytest.param("{a: 'x y', b: 1}", 5, "'x y'", id="a text in quotes"),
        pytest.param("url: https://a.b/c", 6, "https://a.b/c", id="an address"),
        pytest.param("a: [", 4, "[", id="a sign"),
        pytest.param("name:", 6, "", id="nothing"),
        pytest.param("name: x", 0, "", id="the whole line"),
    ],
)
def test_what_stands_in_the_place_is_marked(content: str, column: int, marked: str) -> None:
    line = line_of(content, 1, column)

    assert line.marked == marked
    assert line.before + line.marked + line.after == content


def test_a_long_line_is_cut_around_the_place() -> None:
    line = line_of("x" * 1000 + " wrong " + "y" * 1000, 1, 1002)

    assert line.marked == "wrong"
    assert line.before.startswith("…x")
    assert line.after.endswith("y…")
    assert len(line.before + line.marked + line.after) < 200


@pytest.mark.parametrize(
    ("path", "content"),
    [
        pytest.param("a.yaml", "a: 1\r\nb: 2\r\nwrong", id="Windows"),
        pytest.param("a.yaml", "a: 1\u2028b: 2\nwrong", id="lines as YAML counts them"),
        pytest.param("a.jsonl", '"\u2028"\n1\nwrong', id="lines as others count them"),
        pytest.param("a.jsonl", "1\r\n2\r\nwrong\r\n", id="Windows, and no YAML"),
        pytest.param("a.yaml", "\ufeffa: 1\n\nwrong", id="byte order mark"),
    ],
)
def test_lines_are_counted_as_their_readers_do(path: str, content: str) -> None:
    assert line_of(content, 3, 1, path=path).marked == "wrong"


def test_characters_that_steer_the_text_do_not_show() -> None:
    assert line_of("a: \u202egnp.exe", 1, 4).marked == "\ufffdgnp.exe"


@pytest.mark.parametrize(
    ("content", "line", "keys"),
    [
        pytest.param("api_key: sk-1", 1, "", id="a key"),
        pytest.param("api_key:\n  sk-1", 2, "", id="a value below its key"),
        pytest.param("headers:\n  A: b\n  Cookie: 'sk-1", 3, "", id="under a key further above"),
        pytest.param("{kind: x, password: sk-1}", 1, "kind", id="another key of the line"),
        pytest.param('{"token": "sk-1"}', 1, "", id="JSON"),
        pytest.param('secret = "sk-1"', 1, "", id="TOML"),
        pytest.param("- sk-1", 1, "headers.Authorization", id="the path of keys"),
        pytest.param("url: https://me:sk-1@example.com", 1, "url", id="an address"),
    ],
)
def test_what_may_be_a_secret_is_hidden(content: str, line: int, keys: str) -> None:
    assert line_of(content, line, 1, keys=keys) == SourceLine(is_hidden=True)


def test_what_stands_beside_a_key_does_not_belong_to_it() -> None:
    assert not line_of("api_key_env: X\nkind: y\nwrong", 3, 1, keys="").is_hidden


@pytest.mark.parametrize(
    "content", ["user: What is the key to this?", "max_tokens: 5", "monkey: 1"]
)
def test_what_is_no_secret_is_shown(content: str) -> None:
    assert not line_of(content, 1, 1).is_hidden


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(Problem("a.csv", 2, 1, "B2", "", "Wrong."), id="a cell"),
        pytest.param(Problem("a.yaml", 0, 0, "", "", "Wrong."), id="the whole file"),
        pytest.param(Problem("a.yaml", 9, 1, "", "", "Wrong."), id="a line that is not there"),
        pytest.param(Problem("b.yaml", 2, 1, "", "", "Wrong."), id="another file"),
    ],
)
def test_what_is_no_line_is_not_quoted(problem: Problem) -> None:
    contents = {"a.csv": b"user\nHi\n", "a.yaml": b"a: 1\n"}

    ((_, (quoted,)),) = preview(FormatError([problem]), contents).errors.files

    assert quoted.line is None


def test_of_very_many_problems_the_first_are_shown() -> None:
    problems = [Problem("a.yaml", n, 1, "", "", "Wrong.") for n in range(1, MAX_SHOWN + 8)]

    errors = preview(FormatError(problems), {}).errors

    assert (errors.count, errors.more) == (MAX_SHOWN + 7, 7)
    assert len(errors.files[0][1]) == MAX_SHOWN


def test_problems_stand_under_their_file() -> None:
    problems = [Problem(path, 1, 1, "", "", "Wrong.") for path in ("b.yaml", "a.yaml", "b.yaml")]

    errors = preview(FormatError(problems), {}).errors

    assert [(path, len(quoted)) for path, quoted in errors.files] == [("a.yaml", 1), ("b.yaml", 2)]


# Rows of tables


def cells_of(content: str, line: int, column: int, keys: str) -> list[tuple[str, str, bool]]:
    problem = Problem("a.csv", line, column, keys, "", "Wrong.")
    shown = preview(FormatError([problem]), {"a.csv": content.encode()})
    ((_, (quoted,)),) = shown.errors.files
    return [(cell.name, cell.text, cell.is_marked) for cell in quoted.cells]


@pytest.mark.parametrize(
    ("column", "keys", "cells"),
    [
        pytest.param(2, "B2", [("A2", "x", False), ("B2", "y", True)], id="a cell"),
        pytest.param(
            3, "C2", [("A2", "x", False), ("B2", "y", False), ("C2", "", True)], id="behind the row"
        ),
        pytest.param(1, "", [], id="the whole table"),
    ],
)
def test_the_row_of_a_table_is_shown(
    column: int, keys: str, cells: list[tuple[str, str, bool]]
) -> None:
    assert cells_of("user,expected\nx,y\n", 2, column, keys) == cells


def test_of_a_wide_row_the_cells_around_the_place_are_shown() -> None:
    row = ",".join(map(str, range(1, 41)))

    cells = cells_of(f"user\n{row}\n", 2, 20, "T2")

    assert [name for name, _, _ in cells] == ["Q2", "R2", "S2", "T2", "U2", "V2", "W2"]
    assert [text for _, text, is_marked in cells if is_marked] == ["20"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("user,expected\nx,token: abc\n", id="a row with a secret"),
        pytest.param('user,expected\n"x,y\n', id="a table that cannot be read"),
        pytest.param("user,expected\n", id="a row that is not there"),
    ],
)
def test_a_row_that_cannot_be_shown_is_not(content: str) -> None:
    assert [text for _, text, _ in cells_of(content, 2, 1, "A2") if text] == []
