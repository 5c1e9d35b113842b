"""What people read: one golden file of all messages, and no retired word anywhere."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.messages import GOLDEN, ROOT, messages_of, sources, written

PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").glob("*.md"))]
HISTORY = {"CHANGELOG.md"}  # what a release said stays
# What judges read is versioned: a new wording of it is a new judge.
PROMPTS = {"geval", "languages", "prompt", "transcript"}
# "There is no run" and "is no longer" are plain English; "'a b' is no slug" is not.
EXCEPTIONS = {
    "is no": (r"(?<!there )(?<!that )", r"(?! longer| more)"),
    "are no": (r"(?<!there )", r"(?! longer| more)"),
}


@cache
def retired() -> dict[re.Pattern[str], str]:
    """Read the table in CONTRIBUTING.md: what to write, by a pattern of each retired word."""
    _, _, table = (ROOT / "CONTRIBUTING.md").read_text().partition("### Words we do not use")
    rows = re.findall(r"(?m)^\| (.+?) \| (`.+`) \|$", table.partition("\n## ")[0])
    return {
        _pattern(word): instead for instead, words in rows for word in re.findall(r"`(.+?)`", words)
    }


def _pattern(word: str) -> re.Pattern[str]:
    before, after = EXCEPTIONS.get(word, ("", ""))
    edge = r"\b" if word[-1].isalpha() else ""
    return re.compile(rf"(?i){before}\b{re.escape(word)}{edge}{after}")


def retired_words(text: str) -> Iterator[str]:
    for pattern, instead in retired().items():
        if match := pattern.search(text):
            yield f"{match[0]!r} (write: {instead}) in: {text.strip()[:160]}"


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
        for word in retired_words(message)
    ]

    assert problems == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in HISTORY], ids=str)
def test_the_pages_use_no_retired_word(page: Path) -> None:
    assert [word for line in prose_of(page) for word in retired_words(line)] == []


@pytest.mark.parametrize(
    "sentence",
    ["It was not held.", "Blank: none.", "'a b' is no slug.", "3 mistakes", "This stands twice."],
)
def test_a_retired_word_is_noticed(sentence: str) -> None:
    assert list(retired_words(sentence))


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
        pytest.param(
            "a.js", 'say("Saved for now"); find(".box a")', ["Saved for now"], id="a script"
        ),
    ],
)
def test_messages_are_read_from_source(
    tmp_path: Path, name: str, source: str, messages: list[str]
) -> None:
    (tmp_path / name).write_text(source)

    assert messages_of(tmp_path / name) == messages
