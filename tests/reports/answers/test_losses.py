from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from evals_app.reports.answers.losses import checks_not_read, losses_json
from evals_app.reports.renderers.github import github_summary
from evals_app.reports.renderers.html import html_page
from evals_app.reports.renderers.junit import junit
from evals_app.reports.renderers.markdown import markdown
from evals_app.reports.renderers.results import Results
from tests.reports.makers import a_run, results

LOST = {
    "path": "demo.yaml",
    "line": 7,
    "column": 9,
    "keys": "tests",
    "message": "Code.",
    "checks": 6,
}
OTHER = {**LOST, "line": 0, "column": 0, "keys": "", "message": "Sharing.", "checks": 0}
STORED = {"checks_lost": 6, "checks_read": 1, "parts": [LOST, OTHER], "more": 3}


@pytest.mark.parametrize("report", [markdown, github_summary, html_page, junit])
def test_a_report_shows_what_was_left_out_of_the_files_of_its_suite(
    report: Callable[[Sequence[Results]], Iterator[str]],
) -> None:
    text = "".join(report([results(a_run(losses=losses_json(STORED)))]))

    assert "6 of 7 checks were not read" in text
    assert "Check: demo.yaml:7:9: tests: Code." in text
    assert "Other: demo.yaml: Sharing." in text
    assert "and 3 more" in text
    assert "not read" not in "".join(report([results(a_run())]))


def test_losses_without_a_lost_check_are_listed_and_no_note() -> None:
    stored = {**STORED, "checks_lost": 0, "checks_read": 0, "parts": [OTHER], "more": 0}
    text = "".join(markdown([results(a_run(losses=losses_json(stored)))]))

    assert "Sharing" in text
    assert "not read" not in text


@pytest.mark.parametrize(
    ("lost", "read", "words"),
    [
        (1, 0, "1 of 1 check was not read"),
        (1, 6, "1 of 7 checks was not read"),
        (6, 1, "6 of 7 checks were not read"),
    ],
)
def test_lost_checks_are_counted_in_words(lost: int, read: int, words: str) -> None:
    assert checks_not_read(lost, read) == words


def test_a_place_that_is_not_known_is_null() -> None:
    answer: Any = losses_json(STORED)

    assert [(part["line"], part["column"]) for part in answer["parts"]] == [(7, 9), (None, None)]
    assert losses_json({}) is None
