"""Results with the decisions of people, in every report that people or programs read."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evals_app.reports.answers.decided import people_note, share_with_people
from evals_app.reports.renderers.html import html_page
from evals_app.reports.renderers.junit import junit
from evals_app.reports.renderers.markdown import markdown
from evals_app.reports.renderers.rows import result_rows
from tests.reports.makers import a_case, a_run, an_execution, results

REVIEWED_RUN = {
    "verdict": "passed",
    "score": 1.0,
    "pass_rate": 1.0,
    "passed": 2,
    "failed": 0,
    "errored": 0,
    "reviews": 3,
    "overruled": 1,
}
REVIEWED = {"verdict": "passed", "cause": None, "reason": "Decided by Ann: it is.", "score": 0.75}


@pytest.mark.parametrize("report", [html_page, markdown, junit])
def test_reports_have_both_results(report: Callable[[Any], Iterator[str]]) -> None:
    run, execution = a_run(reviewed=REVIEWED_RUN), an_execution(reviewed=REVIEWED)

    text = "".join(report([results(run, [execution], cases=[a_case()])]))

    assert "Decided by Ann" in text
    assert people_note(REVIEWED_RUN) in text.replace("&#x27;", "'")
    assert people_note(REVIEWED_RUN) not in "".join(report([results(a_run(), [execution])]))


def test_tables_have_verdict_and_score_or_nothing() -> None:
    rows = [an_execution(reviewed=REVIEWED), an_execution(id=4)]

    headers, *cells = result_rows([results(a_run(), rows)])

    assert headers[-2:] == ["reviewed_verdict", "reviewed_score"]
    assert [row[-2:] for row in cells] == [["passed", 0.75], [None, None]]


def test_a_rate_is_named_twice_only_where_it_differs() -> None:
    recorded = {"cases_passed": 1, "cases_failed": 1, "cases_not_graded": 0}
    decided = recorded | {"cases_passed": 2, "cases_failed": 0}

    assert share_with_people(recorded, {}).count("%") == 1
    assert share_with_people(recorded, recorded).count("%") == 1
    assert "2 of 2" in share_with_people(recorded, decided)
