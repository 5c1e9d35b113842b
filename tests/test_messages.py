"""What people read: one golden file of all messages, and no retired word anywhere."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

from tests.messages import GOLDEN, ROOT, messages_of, sources, written

CODE = ("evals_app", "evalsite", "fixtures_app")
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").glob("*.md"))]
HISTORY = {"CHANGELOG.md"}  # what a release said stays
FOR_ENGINEERS = {"ARCHITECTURE.md", "CONTRIBUTING.md"}  # they name classes
# What judges read is versioned: a new wording of it is a new judge.
PROMPTS = {"geval", "languages", "prompt", "transcript"}
# "There is no run" and "is no longer" are plain English; "'a b' is no slug" is not.
EXCEPTIONS = {
    "is no": (r"(?<!there )(?<!that )", r"(?! longer| more)"),
    "are no": (r"(?<!there )", r"(?! longer| more)"),
    "Say": (r"(?-i:(?=S))", r"(?= (?:what|that|how|why|whether)\b)"),
    "whole run": (r"(?<!the )", ""),  # "the cost of the whole run" is plain English
    # Folders, endings of files and keys with their values have these names.
    **dict.fromkeys(
        ("fixture", "fixtures", "execution", "executions"),
        (r"(?<![*./-])", r"(?![/-]|\.\w|: \[)"),
    ),
}
# What a table of retired words is about: everything, what people read, docstrings and comments.
Table = Literal["", "In messages", "In docstrings"]
# REST shows these docstrings to people, as descriptions of its schema.
DESCRIPTIONS = ("evals_app/api/", "evals_app/reports/answers/")
# Other strings are matched so that nothing in them is taken for a comment. A docstring begins its
# line. Comments on consecutive lines are one. (Parsing and tokenizing would take seconds.)
_PROSE = re.compile(
    r'(?<!\(\n)(?m:^ *)"""(?P<docstring>(?s:.*?))"""'
    r'|"""(?s:.*?)"""'
    r"|'(?:[^'\\\n]|\\.)*'"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|#(?P<comment>.*(?:\n *# .*)*)"
)


@cache
def retired(table: Table = "") -> dict[re.Pattern[str], str]:
    """Read a table in CONTRIBUTING.md: what to write, by a pattern of each retired word."""
    _, _, section = (ROOT / "CONTRIBUTING.md").read_text().partition("### Words we do not use")
    _, _, text = section.partition("\n## ")[0].partition(f"\n{table}")
    rows = re.findall(r"(?m)^\| (.+?) \| (`.+`) \|$", text.partition("\nIn ")[0])
    return {
        _pattern(word): instead for instead, words in rows for word in re.findall(r"`(.+?)`", words)
    }


def _pattern(word: str) -> re.Pattern[str]:
    before, after = EXCEPTIONS.get(word, ("", ""))
    edge = r"\b" if word[-1].isalpha() else ""
    return re.compile(rf"(?i){before}\b{re.escape(word)}{edge}{after}")


def retired_words(text: str, table: Table = "") -> Iterator[str]:
    for pattern, instead in retired(table).items():
        if match := pattern.search(text):
            around = text[max(match.start() - 80, 0) : match.end() + 80].strip()
            yield f"{match[0]!r} (write: {instead}) in: {around}"


def words_of_code(text: str) -> Iterator[str]:
    """Yield words of code where people read, except in code marks, addresses and what is filled in."""
    yield from retired_words(re.sub(r"`[^`]*`|\{\w+\}|\]\(\S+\)", "", text), "In messages")


def docstrings_and_comments(source: str) -> tuple[str, str]:
    """Return all docstrings of a module as one text, and all comments, without code in backticks."""
    found = [*_PROSE.finditer(source)]
    docstrings, comments = (
        "\n".join(" ".join(re.split(r"[\s#]+", match[kind])) for match in found if match[kind])
        for kind in ("docstring", "comment")
    )
    return re.sub("`[^`]*`", "", docstrings), re.sub("`[^`]*`", "", comments)


@pytest.fixture(scope="module")
def messages() -> dict[Path, list[str]]:
    return {path: messages_of(path) for path in sources()}


def test_no_one_is_told_to_install_this_product_from_an_index() -> None:
    """The name belongs to another project there; a folder or an address is fine."""
    texts = {page.name: page.read_text() for page in [GOLDEN, *PAGES]}

    found = [
        name
        for name, text in texts.items()
        if re.search(r"pip install [^.\n]*[ '\"]evalwell\b", text)
    ]

    assert found == []


def prose_of(page: Path) -> Iterator[str]:
    """Yield the lines of a page without code, and without the table itself."""
    text = re.sub(r"(?ms)^```.*?^```|^### Words we do not use.*?(?=^## )", "", page.read_text())
    yield from re.sub(r"`[^`]*`", "", text).splitlines()


def test_the_golden_file_lists_every_message(messages: dict[Path, list[str]]) -> None:
    assert written(messages) == GOLDEN.read_text(), "run `make messages` and read the difference"


def test_the_messages_use_no_retired_word(messages: dict[Path, list[str]]) -> None:
    problems = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in messages
        if path.stem not in PROMPTS or "judging" not in path.parts
        for message in messages[path]
        for word in (*retired_words(message), *words_of_code(message))
    ]

    assert problems == []


def test_docstrings_and_comments_use_no_retired_word() -> None:
    problems: list[str] = []
    for file in (path for path in sources(*(ROOT / name for name in CODE)) if path.suffix == ".py"):
        path = file.relative_to(ROOT).as_posix()
        docstrings, comments = docstrings_and_comments(file.read_text())
        ours = comments if path.startswith(DESCRIPTIONS) else docstrings + "\n" + comments
        found = [
            *retired_words(docstrings + "\n" + comments),
            *retired_words(ours, "In docstrings"),
        ]
        problems += [f"{path}: {word}" for word in found]

    assert problems == []


def test_docstrings_and_comments_are_read_from_source() -> None:
    source = '''"""A module."""

URL = "https://example.org/#here"

TEXT = """# No comment."""

def started(self) -> None:  # noqa: D401
    """Return `what` was

    started."""
    # First line,
    # second line.
    return f('#', x)  # why
'''

    assert docstrings_and_comments(source) == (
        "A module.\nReturn  was started.",
        " noqa: D401\n First line, second line.\n why",
    )


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in HISTORY], ids=str)
def test_the_pages_use_no_retired_word(page: Path) -> None:
    assert [word for line in prose_of(page) for word in retired_words(line)] == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in HISTORY | FOR_ENGINEERS], ids=str
)
def test_the_guide_uses_no_word_of_code(page: Path) -> None:
    assert [word for line in prose_of(page) for word in words_of_code(line)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Choose a fixture.", 1),
        ("Executions that failed", 1),
        ("{number} of {total} executions", 1),
        ("Fixture: shop", 1),
        ("the key `fixtures`", 0),
        ("[conversations](traces.md#executions)", 0),
        ("write fixtures: [SLUG], or fixtures/shop.fixture.yaml", 0),
        ("EVALS_EXECUTION_S, new_fixture and {execution}", 0),
    ],
)
def test_words_of_code_are_noticed_outside_of_names(text: str, found: int) -> None:
    assert len(list(words_of_code(text))) == found


@pytest.mark.parametrize(
    "sentence",
    ["It was not held.", "Blank: none.", "'a b' is no slug.", "3 mistakes", "This stands twice."],
)
def test_a_retired_word_is_noticed(sentence: str) -> None:
    assert list(retired_words(sentence))


def test_docstrings_say_what_is_returned() -> None:
    assert list(retired_words("Say why it failed.", "In docstrings"))
    assert list(retired_words("Cells say why a reply fails.", "In docstrings")) == []


@pytest.mark.parametrize(
    "sentence", ["There is no run.", "It is no longer there.", "The threshold is 0.5.", "recommend"]
)
def test_plain_english_is_not_refused(sentence: str) -> None:
    assert list(retired_words(sentence)) == []


@pytest.mark.parametrize(
    ("name", "source", "messages"),
    [
        pytest.param(
            "a.py",
            '"""Not this."""\nraise ValueError(f"{case.name!r} is " "not a case.")',
            ["{name} is not a case."],
            id="filled in",
        ),
        pytest.param("a.py", 'Field(title="Weight")', ["Weight"], id="a label of one word"),
        pytest.param("a.py", 're.compile("not a message")', [], id="a pattern"),
        pytest.param("a.py", 'attrs = "w-full text-sm"', [], id="classes"),
        pytest.param(
            "a.html",
            '<p title="Why">Run <b>{{ run.pk }}</b> ended.</p>{% url "x" %}<i>Next</i>',
            ["Why", "Run {pk} ended.", "Next"],
            id="a template",
        ),
        ("a.js", 'say("Saved for now"); find(".box a")', ["Saved for now"]),
    ],
)
def test_messages_are_read_from_source(
    tmp_path: Path, name: str, source: str, messages: list[str]
) -> None:
    (tmp_path / name).write_text(source)

    assert messages_of(tmp_path / name) == messages
