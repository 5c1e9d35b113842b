"""The import page says of files of other people whatever their readers say, and writes what they read."""

import re

import pytest
from django.test import Client

from evals_app.formats.reading.problems import Problem
from evals_app.formats.tables.chosen import AnswerGuess, UnknownColumn
from evals_app.models import Suite
from tests.admin.importing.test_import_page import Page, check
from tests.library.echoed_rows import ECHO, FILES, LONG, Echoed

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.about)
def test_files_come_to_what_their_readers_say(admin_client: Client, file: Echoed) -> None:
    check(admin_client, {"echo.agent.yaml": ECHO.encode()}).press_import()

    page = check(admin_client, {file.path: file.content.encode()}, agent="echo")
    if file.chosen:
        page = page.choose_columns(**{f"column{n}": m for n, m in enumerate(file.chosen.values())})

    read, problems = file.read()
    assert [
        text for problem in problems for text in _missing(problem, page, is_read=bool(read))
    ] == []
    assert re.findall(r"--(?:map|ignore|check|agent|accept)\S+", page.text) == []
    if read is None:
        assert page.token == ""
        return
    page.press_import()
    assert Suite.objects.get().to_spec() == read.suites[0].spec


def _missing(problem: Problem, page: Page, *, is_read: bool) -> list[str]:
    """Return what a page does not say of a problem."""
    if isinstance(problem, UnknownColumn):
        expected = [problem.header]
    elif isinstance(problem, AnswerGuess):
        expected = [problem.name]
    else:
        said = re.split(r"(?<=\.) ", problem.message)
        # What only a command can choose is not said here.
        expected = [problem.keys, " ".join(text for text in said if "--map-column" not in text)]
    return [text for text in expected if " ".join(text.split()) not in page.text]


def test_files_whose_long_names_differ_late_are_two_suites(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": ECHO.encode()}).press_import()

    for name in LONG:
        table = {f"{name}.csv": b"question,expected\na,b\n"}
        check(admin_client, table, agent="echo").press_import()

    assert Suite.objects.count() == 2
