import io
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from openpyxl import load_workbook

from evals_app.formats.tables.workbook_writing import write_workbook
from evals_app.reports.answers.model_comparison import (
    ModelComparison,
    TableRun,
    arrange,
    case_rows,
    compare_models,
)
from evals_app.reports.answers.model_comparison_answers import conclusion
from evals_app.reports.renderers.model_page import models_page
from evals_app.reports.renderers.model_tables import (
    FailedTrial,
    cell_text,
    findings,
    model_sheets,
    models_markdown,
    notes,
    total_rows,
)
from tests.reports.answers.test_model_comparison import a_case, a_run, an_open_run, find
from tests.reports.makers import an_execution

NB = "\u00a0"


def two_runs() -> list[TableRun]:
    return [
        a_run(1, "greet", "a/x", a_case("hi | ho", 5, 0, score=1.0, checks={"aa": (5, 0)})),
        a_run(2, "greet", "a/y", a_case("hi | ho", 3, 2, errored=1, checks={"aa": (3, 2)})),
    ]


def compared(*runs: TableRun) -> ModelComparison:
    return compare_models(runs or two_runs(), find)


FAILED = FailedTrial(7, 2, "Greet", "a/y", "hi | ho (trial 2)", "failed", "No <b>refund</b>", "")


def test_totals_are_never_without_their_number() -> None:
    rows = {row.label: row.texts for row in total_rows(compared())}

    assert rows["Trials passed"][0].startswith(f"100{NB}% (5 of 5; 95{NB}% interval: 56.6{NB}% to")
    assert rows["Trials passed"][1].startswith(f"60{NB}% (3 of 5 graded, 1 not graded;")
    assert rows["Mean score"] == ("1.00 (1 case)", "—")
    assert rows["Against a/x"] == ("—", "Too few cases differ (40 points lower, 1 case)")
    assert rows["Reply time, median"] == ("—", "—")
    assert rows["Cost"] == ("$0.50", "$0.50")


def cases(good: range) -> list[Any]:
    return [a_case(str(n), *((5, 0) if n in good else (0, 5))) for n in range(30)]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([range(30)], ""),
        ([range(30), range(10)], "Stay with a/0: a/1 is clearly worse."),
        ([range(10), range(30)], "a/1 is clearly better than a/0."),
        ([range(20), range(20)], "No clear difference between a/0 and a/1."),
        (
            [range(20), range(20), range(5)],
            "No clear difference between a/0 and a/1. a/2 is clearly worse.",
        ),
        ([range(30), range(9), range(10)], "Stay with a/0: a/1, a/2 are clearly worse."),
    ],
)
def test_one_sentence_says_which_column_is_better(columns: list[range], expected: str) -> None:
    runs = [a_run(n, "greet", f"a/{n}", *cases(good)) for n, good in enumerate(columns)]

    assert conclusion(compared(*runs)) == expected


def test_a_reply_that_never_came_is_no_unknown_time() -> None:
    times = [*[10.0] * 9, None]
    rows = dict(total_rows(compared(a_run(1, "greet", "a/x", a_case("hi", 5, 0, ms=times)))))

    assert rows["Reply time, median"] == (f"10{NB}ms (10 turns)",)
    assert rows["Reply time, p95"] == ("no reply (10 turns)",)


def test_a_single_column_is_compared_with_nothing() -> None:
    comparison = compared(two_runs()[0])

    assert findings(comparison) == []
    assert not [row for row in total_rows(comparison) if row.label.startswith("Against")]


def test_a_cell_says_how_far_a_run_is_and_then_its_result() -> None:
    comparison = compared(*two_runs(), an_open_run(3, "refund", "a/x"))

    texts = [[cell_text(cell, scale="0-1") for cell in row.cells] for row in comparison.rows]

    assert texts == [
        [
            "passed, 5 of 5 trials, score 0.50",
            "failed, 3 of 5 trials, 1 not graded, score 0.50",
        ],
        ["running, 1 of 4 done", "—"],
    ]


@pytest.mark.parametrize(
    ("run", "word"),
    [
        pytest.param(an_open_run(3, "greet", "a/z"), "1 run has not ended", id="open"),
        pytest.param(a_run(3, "refund", "a/x"), "a/y has no run of 1 suite", id="missing"),
        pytest.param(
            a_run(3, "greet", "a/z", summary={"cases_digest": "other"}), "Greet: ", id="edited"
        ),
        pytest.param(a_run(3, "greet", "a/z", is_scripted=True), "a/z follows", id="script"),
        pytest.param(
            a_run(3, "greet", "a/z", summary={"rubric_items": {"met": 1}}), "earlier", id="older"
        ),
    ],
)
def test_what_makes_numbers_misleading_is_noted(run: TableRun, word: str) -> None:
    assert notes(compared()) == []
    assert word in " ".join(notes(compared(*two_runs(), run)))


def test_different_judges_are_noted() -> None:
    runs = [a_run(1, "greet", "a/x", judge="j/one"), a_run(2, "greet", "a/y", judge="j/two")]

    assert "j/one, j/two" in notes(compared(*runs))[0]


def test_markdown_has_the_table_and_links_to_what_failed() -> None:
    linked = FAILED._replace(url="http://site/7/")

    text = "".join(models_markdown(compared(), [linked], more_failed=3))

    lines = text.splitlines()
    assert "| Suite | a/x | a/y |" in lines
    assert "| Is polite | 0 of 5 | 2 of 5 |" in lines
    (failed,) = (line for line in lines if "http://site/7/" in line)
    assert "Greet: hi \\| ho (trial 2)" in failed
    assert "\\<b\\>" in failed
    assert lines[-1] == "- … and 3 more"


def test_a_workbook_has_numbers_and_leaves_the_unknown_empty() -> None:
    runs = [*two_runs(), an_open_run(3, "refund", "a/x")]
    cases = {slug: case_rows(cells) for slug, cells in arrange(runs)[1].items()}

    content = write_workbook(model_sheets(compared(*runs), cases))

    book = load_workbook(io.BytesIO(content))
    sheets = {sheet.title: [list(row) for row in sheet.values] for sheet in book}
    assert list(sheets) == ["Suites", "Totals", "Cases", "Missed", "Notes"]
    assert sheets["Suites"][1] == ["Greet", "passed", 5, 5, 0, 0.5, "failed", 3, 5, 1, 0.5]
    assert sheets["Cases"][1][:7] == ["Greet", "hi | ho", "passed", 5, 5, 0, 1]
    assert sheets["Missed"][1] == ["Is polite", 0, 5, 2, 5]


class Page(HTMLParser):
    """Remembers what a page loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.loaded += [values[name] for name in ("src", "data-src") if name in values]
        self.loaded += [values["href"]] if tag == "link" else []
        self.ids += [values["id"]] if "id" in values else []
        target = values.get("href", "")
        self.targets += [target[1:]] if target.startswith("#") else []


def test_a_page_loads_nothing_and_each_failure_is_a_click_away() -> None:
    whole = an_execution(
        id=7,
        warnings=[],
        grades=[],
        messages=[
            {"role": "assistant", "content": "I <i>cannot</i>", "reasoning": None, "turn": 1}
        ],
        tool_calls=[],
        turns=[],
        world_changes=None,
    )
    runs = two_runs()
    cases = {slug: case_rows(cells) for slug, cells in arrange(runs)[1].items()}

    text = "".join(
        models_page(
            compared(*runs),
            cases=cases,
            failed=[FAILED],
            more_failed=0,
            details=lambda ids: [whole] if list(ids) == [7] else [],
        )
    )

    page = Page(text)
    assert page.loaded == []
    assert page.targets == ["run-2"]
    assert set(page.targets) <= set(page.ids)
    assert "I &lt;i&gt;cannot&lt;/i&gt;" in text
    assert "No &lt;b&gt;refund&lt;/b&gt;" in text
    assert re.search(r"<summary>Greet \(1\)</summary>", text)


def test_a_run_whose_failures_are_not_listed_is_no_link() -> None:
    text = "".join(
        models_page(compared(), cases={}, failed=[], more_failed=2, details=lambda _ids: [])
    )

    assert Page(text).targets == []
    assert "2 more are not listed" in text
