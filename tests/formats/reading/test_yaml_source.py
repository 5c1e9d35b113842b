import pytest

from evals_app.formats.reading.parsed_file import MAX_BYTES
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.formats.reading.yaml_source import MAX_DEPTH, read_yaml


def problems_of(content: bytes) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read_yaml("x.yaml", content)
    return caught.value.problems


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("text", "text", id="text"),
        pytest.param('"12"', "12", id="quoted number"),
        pytest.param("~", None, id="null"),
        pytest.param("", None, id="nothing"),
        pytest.param("2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z", id="timestamp stays text"),
        pytest.param("12:30", "12:30", id="time stays text"),
        pytest.param("0412345678", "0412345678", id="phone number stays text"),
        pytest.param("=", "=", id="equals sign"),
        pytest.param("no", False, id="unquoted no"),
        pytest.param("'no'", "no", id="quoted no"),
        pytest.param("[1, {a: b}]", [1, {"a": "b"}], id="flow style"),
        pytest.param("|\n  two\n  lines\n", "two\nlines\n", id="block"),
    ],
)
def test_scalars_become_json(written: str, value: object) -> None:
    document = read_yaml("x.yaml", f"key: {written}\n".encode())

    assert document.data == {"key": value}
    assert type(document.data["key"]) is type(value)


def test_a_byte_order_mark_is_passed_over() -> None:
    assert read_yaml("x.yaml", b"\xef\xbb\xbfa: 1").data == {"a": 1}


@pytest.mark.parametrize(
    ("content", "line", "column", "words"),
    [
        pytest.param(b"", 1, 1, "is empty", id="empty file"),
        pytest.param(b"# nothing\n", 1, 1, "is empty", id="only a comment"),
        pytest.param(b"a: 1\nb:\n  c: 1\n  c: 2", 4, 3, "appears twice", id="duplicate key"),
        pytest.param(b"a: !!python/name:os.system x", 1, 4, "Tags", id="python tag"),
        pytest.param(b"a: !!str 1", 1, 4, "Tags", id="harmless tag"),
        pytest.param(b"a: !mine {}", 1, 4, "Tags", id="own tag"),
        pytest.param(b"a: 1\n---\nb: 2", 2, 1, "second document", id="two documents"),
        pytest.param(b"a: x\nb: caf\xe9", 2, 7, "not UTF-8", id="Latin-1"),
        pytest.param(b"\xef\xbb\xbfa: \xc3\xa9\xe9", 1, 5, "not UTF-8", id="Latin-1 after a mark"),
        pytest.param("a: é".encode("utf-16"), 1, 1, "not UTF-8", id="UTF-16"),
        pytest.param(b"a: x\nbb: \x07", 2, 5, "Control", id="control character"),
        pytest.param(b'a: "\\0"', 1, 4, "NUL", id="escaped NUL"),
        pytest.param(b'"\\0": 1', 1, 1, "NUL", id="escaped NUL in a key"),
        pytest.param(b"a: .nan", 1, 4, "NaN", id="NaN"),
        pytest.param(b"a: " + b"9" * 5000, 1, 4, "1,000", id="endless number"),
        pytest.param(b"on: push", 1, 1, '"on"', id="key that is a boolean"),
        pytest.param(b"a: {1: x}", 1, 5, '"1"', id="key that is a number"),
        pytest.param(b"? [a]\n: 1", 1, 3, "must", id="key that is a list"),
        pytest.param(b"a: b: c", 1, 5, "in quotes", id="colon in a text"),
        pytest.param(b"a:\n\t- x", 2, 1, "never", id="tab"),
        pytest.param(b"a: x\n\tb: y", 2, 1, "never", id="tab in a text"),
        pytest.param(b"a: *bold*", 1, 9, "quotes", id="asterisk"),
        pytest.param(b"a: {{b}}", 1, 5, "quotes", id="braces"),
        pytest.param(b"a: [0-9]+\nb: 1", 1, 9, "quotes", id="bracket"),
        pytest.param(b"a: !urgent", 1, 4, "quotes", id="exclamation mark"),
        pytest.param(b"x: 1\na: 'open\nb: 2", 2, 4, "never closed", id="open quote"),
        pytest.param(b"a: *ghost", 1, 4, "no anchor", id="alias without anchor"),
        pytest.param(b"a: &x [*x]", 1, 8, "inside", id="alias of itself"),
        pytest.param(b"<<: 1", 1, 1, "mapping", id="merge of a number"),
        pytest.param(b"%WRONG\n---\na: 1", 1, 1, "not valid YAML", id="directive"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_its_place(
    content: bytes, line: int, column: int, words: str
) -> None:
    problem = problems_of(content)[0]

    assert words in problem.message
    if words != "not valid YAML":
        assert (problem.line, problem.column) == (line, column)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        pytest.param(b"a: !t x\nb: 1\nb: 2\nc: .nan\non: 1\n", [1, 3, 4, 5], id="of all kinds"),
        pytest.param(b"a: \x01\nb: \x02\n", [1, 2], id="bad characters"),
    ],
)
def test_several_errors_are_reported_in_one_go(content: bytes, lines: list[int]) -> None:
    assert [problem.line for problem in problems_of(content)] == lines


HALF = MAX_DEPTH // 2 + 1
DEEP_ALIAS = f"a: &a {'[' * HALF}x{']' * HALF}\nb: {'[' * HALF}*a{']' * HALF}"
TENFOLD = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
)
MERGES = (
    f"a: &a\n{''.join(f'  k{n}: 1' + chr(10) for n in range(20_000))}b:\n" + "- <<: *a\n" * 20_000
)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(TENFOLD, "aliases", id="aliases that multiply"),
        pytest.param(MERGES, "aliases", id="merges that multiply"),
        pytest.param(DEEP_ALIAS, "nested deeper", id="aliases nested deeper than files may be"),
        pytest.param("#" * (MAX_BYTES + 1), "10 MB", id="a file above 10 MB"),
    ],
)
def test_what_would_take_too_much_is_refused_without_being_written_out(
    content: str, words: str
) -> None:
    assert words in problems_of(content.encode())[0].message


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[" * 100_000, id="flow"),
        pytest.param(b"- " * 5_000 + b"x", id="block"),
        pytest.param(b"{a: " * 100_000, id="mappings"),
    ],
)
def test_deep_nesting_is_refused_and_never_exhausts_the_stack(content: bytes) -> None:
    assert problems_of(content)


def test_nesting_within_the_bound_is_read() -> None:
    depth = MAX_DEPTH - 1

    assert read_yaml("x.yaml", f"a: {'[' * depth}{']' * depth}".encode()).data["a"]


def test_an_alias_gives_the_same_value_again() -> None:
    data = read_yaml("x.yaml", b"a: &a {x: [1]}\nb: *a\n").data

    assert data["b"] == {"x": [1]}
    assert data["b"] is not data["a"]


def test_of_what_is_merged_written_keys_win_and_then_the_first() -> None:
    data = read_yaml(
        "x.yaml", b"a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\nd:\n  <<: *b\n  y: 3\n"
    ).data

    assert (data["c"], data["d"]) == ({"x": 1, "y": 2}, {"y": 3, "x": 2})


CONTENT = b"""\
suite: x
cases:
  - name: first
    tags: [a, b]
  - name:
    turns: []
"""


@pytest.mark.parametrize(
    ("loc", "at_key", "place"),
    [
        pytest.param(("suite",), False, (1, 8), id="value"),
        pytest.param(("suite",), True, (1, 1), id="key"),
        pytest.param(("cases", 0), False, (3, 5), id="entry"),
        pytest.param(("cases", 0, "tags", 1), False, (4, 15), id="entry in flow style"),
        pytest.param(("cases", 0, "turns"), False, (3, 5), id="missing key: what should hold it"),
        pytest.param(("cases", 7, "name"), False, (3, 3), id="missing entry: the list"),
        pytest.param((), False, (1, 1), id="whole document"),
    ],
)
def test_places_are_lines_and_columns(
    loc: tuple[str | int, ...], place: tuple[int, int], *, at_key: bool
) -> None:
    assert read_yaml("x.yaml", CONTENT).place(loc, at_key=at_key) == place


def test_a_blank_value_is_placed_on_the_line_of_its_key() -> None:
    line, _ = read_yaml("x.yaml", CONTENT).place(("cases", 1, "name"))

    assert line == 5


@pytest.mark.parametrize(
    ("written", "surprising"),
    [
        pytest.param("no", True, id="no"),
        pytest.param("Off", True, id="off"),
        pytest.param("true", False, id="true"),
        pytest.param("012", True, id="octal"),
        pytest.param("12", False, id="decimal"),
        pytest.param("-12", False, id="negative"),
        pytest.param("0", False, id="zero"),
        pytest.param("1_000", True, id="underscore"),
        pytest.param("0x10", True, id="hexadecimal"),
        pytest.param("'012'", False, id="quoted"),
        pytest.param("1.50", False, id="trailing zero"),
        pytest.param("2024-01-01", False, id="date"),
        pytest.param("+5691", True, id="sign that is lost"),
        pytest.param("order #7", True, id="text that looks like a comment"),
        pytest.param("#7", True, id="nothing but what looks like a comment"),
        pytest.param("order # seven", False, id="comment"),
        pytest.param("order#7", False, id="sign in a text"),
        pytest.param("'order' #7", False, id="comment after a quoted text"),
        pytest.param("\xa0", False, id="blank that YAML takes for text"),
        pytest.param("12 #7", False, id="comment after a number"),
    ],
)
def test_what_yaml_reads_in_its_own_way_is_noted(written: str, *, surprising: bool) -> None:
    document = read_yaml("x.yaml", f"a: {written}".encode())

    assert [surprise.raw for surprise in document.surprises] == ([written] if surprising else [])


def test_places_behind_aliases_and_merges_are_those_where_they_were_written() -> None:
    text = b"a: &a\n  x: yes\nb: *a\nc:\n  <<: *a\n  y: 2\nd: [1, *a]\n"

    document = read_yaml("x.yaml", text)

    assert document.place(("b", "x")) == document.place(("c", "x")) == (2, 6)
    assert document.place(("d", 1, "x"), at_key=True) == (2, 3)
    assert document.place(("c", "y")) == (6, 6)
    assert [surprise.loc for surprise in document.surprises] == [
        ("a", "x"),
        ("b", "x"),
        ("c", "x"),
        ("d", 1, "x"),
    ]
