"""Readers of plug-ins: a format of a package is read like ours, and one that fails is named."""

import doctest
from collections.abc import Iterator
from typing import Any

import pytest

from evals_app.formats import reader_plugins
from evals_app.formats.detect import eval_files
from evals_app.formats.importing import SourceData, SourceFile, read_files
from evals_app.formats.reader_plugins import FileReader, FileToRead, ReadPart, all_dialects
from evals_app.formats.reading.problems import FormatError, NoAgent, Problem
from tests.offered import Offer

AGENT = b"agent: Shop\nslug: shop\ndriver: scripted\nrules: [{reply: Hello}]\n"


def read_quiz(file: FileToRead) -> Iterator[ReadPart | Problem]:
    cases: list[dict[str, Any]] = []
    places: dict[tuple[str | int, ...], tuple[int, int]] = {}
    for number, line in enumerate(file.text.splitlines(), 1):
        if line.startswith("!"):
            yield file.problem("Expected a question.", line=number, column=2, found=line)
            continue
        if line.startswith("-"):
            yield file.problem("Left out.", line=number, level="loss", checks=1)
            continue
        question, _, answer = line.partition("=")
        places["cases", len(cases)] = (number, 1)
        check = {"type": "contains", "value": answer}
        cases.append({"name": question, "turns": [{"user": question, "assertions": [check]}]})
    yield ReadPart({"suite": "Quiz", "cases": cases}, places)


def read_whole(file: FileToRead) -> Iterator[ReadPart]:
    yield ReadPart(
        {"agent": "Shop", "slug": "shop", "driver": "scripted", "rules": [{"reply": "Hi"}]},
        kind="agent",
    )
    yield ReadPart({"suite": "Whole", "agent": "shop", "cases": []})


def read_nothing(file: FileToRead) -> Iterator[ReadPart]:
    return iter(())


def read_wrongly(file: FileToRead) -> Iterator[Any]:
    yield {"suite": "No part"}


def read_sets(file: FileToRead) -> Iterator[ReadPart]:
    yield ReadPart({"suite": {1, 2}})


def leave(file: FileToRead) -> Iterator[ReadPart]:
    raise SystemExit("no licence")


def _quiz(read: Any = read_quiz, **changes: Any) -> FileReader:
    settings = {"title": "Quiz", "about": "A quiz.", "files": ("*.quiz.txt",), "read": read}
    return FileReader(**{**settings, **changes})


def fail(path: str, content: bytes) -> bool:
    raise RuntimeError("no model")


quiz, whole, nothing, wrongly = _quiz(), _quiz(read_whole), _quiz(read_nothing), _quiz(read_wrongly)
sets, leaving = _quiz(read_sets), _quiz(leave)
by_content = _quiz(recognizes=lambda _path, content: content.startswith(b"QUIZ"))
failing = _quiz(recognizes=fail)
by_name = _quiz(files=("*.trivia.txt",))
nameless, ours = _quiz(title=""), _quiz(files=("agent.yaml", "*.suite.yaml"))
misfit = _quiz(sample=(("quiz.json", "{}"),))


def the(reader: str) -> str:
    return f"{__name__}:{reader}"


def problems_of(*files: SourceFile | SourceData, **options: Any) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read_files(files, **options)
    return caught.value.problems


def test_its_files_become_suites_with_the_lines_of_their_cases(offer: Offer) -> None:
    offer("readers", quiz=the("quiz"))
    file = SourceFile("evals/a.quiz.txt", b"Hi=Hello\n- lost\nBye=Bye\n")

    imported = read_files([SourceFile("shop.agent.yaml", AGENT), file], agent="shop")

    (suite,) = imported.suites
    assert (suite.spec.slug, suite.spec.agent, suite.path) == ("quiz", "shop", "evals/a.quiz.txt")
    assert dict(suite.case_lines) == {"Hi": 1, "Bye": 3}
    assert [(loss.line, loss.checks) for loss in imported.losses] == [(2, 1)]
    assert "quiz" in all_dialects()
    assert eval_files(["README.md", "x/a.quiz.txt"]) == ["x/a.quiz.txt"]


def test_what_is_wrong_has_its_place(offer: Offer) -> None:
    offer("readers", quiz=the("quiz"))
    file = SourceFile("a.quiz.txt", b"Hi=Hello\n!what\nBye=\n")

    told, empty, agent = _by_line(problems_of(file))

    assert (told.line, told.column, told.value) == (2, 2, "!what")
    assert (empty.line, empty.keys) == (3, "cases[1].turns[0].assertions[0].value")
    assert isinstance(agent, NoAgent)


def _by_line(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.line or 99)


def test_it_may_bring_its_agent(offer: Offer) -> None:
    offer("readers", quiz=the("whole"))

    imported = read_files([SourceFile("a.quiz.txt", b"")])

    assert imported.agents[0].spec.slug == "shop"
    assert imported.suites[0].spec.slug == "whole"


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        ("nothing", "this one has none"),
        ("wrongly", "expected a Problem, or a ReadPart"),
        ("sets", "not JSON"),
        ("leaving", "raised SystemExit: no licence."),
    ],
)
def test_one_that_fails_is_an_error_of_the_file_and_is_named(
    offer: Offer, reader: str, words: str
) -> None:
    offer("readers", quiz=the(reader))

    (problem,) = problems_of(SourceFile("a.quiz.txt", b"Hi=Hello"))

    assert words in problem.message
    assert problem.path == "a.quiz.txt"


def test_files_are_recognized_by_content_too_but_ours_stay_ours(offer: Offer) -> None:
    offer("readers", quiz=the("by_content"))
    ours = SourceFile("shop.agent.yaml", AGENT)

    imported = read_files([ours, SourceFile("notes.txt", b"QUIZ=1")], agent="shop")
    named = read_files([ours, SourceData("notes.json", {"a": "b=c"})], agent="shop", dialect="quiz")

    assert [located.spec.slug for located in imported.suites] == ["quiz"]
    assert [located.spec.slug for located in named.suites] == ["quiz"]


def test_one_that_fails_to_recognize_is_a_warning(offer: Offer) -> None:
    offer("readers", quiz=the("failing"))
    suite = b"suite: S\nslug: s\nagent: shop\ncases: [{name: a, turns: [{user: hi}]}]\n"
    files = [SourceFile("shop.agent.yaml", AGENT), SourceFile("s.yaml", suite)]

    imported = read_files(files)

    assert [located.spec.slug for located in imported.suites] == ["s"]
    assert any("RuntimeError: no model" in warning.message for warning in imported.warnings)


def test_two_that_read_files_of_one_name_are_both_named_and_the_format_decides(
    offer: Offer,
) -> None:
    offer("readers", quiz=the("quiz"), trivia=the("whole"), other=the("by_name"))
    file = SourceFile("a.quiz.txt", b"Hi=Hello")

    problem = problems_of(file, agent="shop")[0]
    chosen = read_files([file], dialect="trivia")

    assert "quiz of the package" in problem.message
    assert "trivia of the package" in problem.message
    assert chosen.suites[0].spec.slug == "whole"
    (conflict,) = reader_plugins.reader_conflicts()
    assert "*.quiz.txt" in conflict
    assert "quiz of" in conflict
    assert "trivia of" in conflict


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param("quiz", "no_such_module:x", "No module named", id="its module is missing"),
        pytest.param("quiz", the("read_quiz"), "expected a FileReader", id="a function"),
        pytest.param("promptfoo", the("quiz"), "Its name is ours", id="our name"),
        pytest.param("Quiz Files", the("quiz"), "Names are like", id="a name that is not one"),
        pytest.param("quiz", the("nameless"), "needs title", id="no title"),
        pytest.param("quiz", the("ours"), "*.suite.yaml", id="our files"),
        pytest.param("quiz", the("misfit"), "quiz.json", id="a sample of another name"),
    ],
)
def test_one_that_cannot_be_used_is_left_out_and_says_why(
    offer: Offer, name: str, value: str, words: str
) -> None:
    offer("readers", **{name: value})

    found = reader_plugins.reader_plugins()

    assert words in found.problems[name]
    assert found.plugins == {}


def test_the_examples_in_docstrings_are_true() -> None:
    results = doctest.testmod(reader_plugins)

    assert (results.failed, results.attempted > 2) == (0, True)
