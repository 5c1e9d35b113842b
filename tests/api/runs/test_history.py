"""The history of a case over REST."""

from typing import Any

import pytest

from evals_app.models import Run
from evals_app.reports.answers.comparison_answers import ChangeCounts
from evals_app.reports.answers.history_answers import CaseInHistory
from tests.api.clients import make_client
from tests.makers import make_run, make_suite
from tests.runs.suites import finished
from tests.runs.suites import make_suite as make_real_suite

pytestmark = pytest.mark.django_db


def read(client: Any = None, *, suite: str = "refunds", **query: Any) -> Any:
    return (client or make_client("read")).get(f"/api/suites/{suite}/cases/history/", query)


def runs_in(answer: Any) -> list[int]:
    return [row["run"] for row in answer.json()["results"]]


def two_verdicts() -> tuple[Run, Run]:
    case = "Refund, after 30 days"
    return make_run({case: ["passed"]}), make_run({case: ["passed", "failed"]})


def test_a_case_is_found_by_its_name_and_compared_with_the_run_before() -> None:
    first, second = two_verdicts()

    newest, oldest = read(case="Refund, after 30 days").json()["results"]

    assert list(newest) == list(CaseInHistory.KEYS)
    assert (newest["run"], newest["change"], newest["passed"], newest["trials"]) == (
        *(second.pk, "worse", 1, 2),
    )
    assert newest["executions"] == list(second.executions.values_list("pk", flat=True))
    assert newest["change"] in ChangeCounts.KEYS
    assert (oldest["run"], oldest["change"], oldest["changes"]) == (first.pk, None, None)


def test_the_last_of_a_page_is_compared_with_the_first_of_the_next() -> None:
    runs = [make_run([state]) for state in ("passed", "failed", "passed")]
    client = make_client("read")

    page = read(client, case="case 1", page_size=2)
    following = client.get(page.json()["next"])

    assert runs_in(page) == [runs[2].pk, runs[1].pk]
    assert [row["change"] for row in page.json()["results"]] == ["better", "worse"]
    assert runs_in(following) == [runs[0].pk]
    assert following.json()["next"] is None


def test_trial_runs_come_on_request() -> None:
    whole, tried = make_run(), make_run(is_tryout=True)

    assert runs_in(read(case="case 1")) == [whole.pk]
    assert runs_in(read(case="case 1", all="true")) == [tried.pk, whole.pk]


def test_values_of_settings_are_for_who_may_see_all_of_them() -> None:
    suite = make_real_suite()
    finished(suite)
    suite.agent.connection["rules"] = [{"reply": "A secret."}]
    suite.agent.save()
    finished(suite)

    whole, bare = (
        read(make_client("read", rights), suite=suite.slug, case="case 1").json()["results"][0]
        for rights in (None, ["evals_app.view_run"])
    )

    (shown,), (counted,) = whole["changes"], bare["changes"]
    assert shown["part"] == counted["part"] == "agent"
    assert len(shown["values"]) == counted["more"] > 0
    assert (shown["more"], counted["values"]) == (0, [])


@pytest.mark.parametrize(
    ("suite", "query", "status"),
    [
        ("refunds", {}, 400),
        ("refunds", {"case": ""}, 400),
        ("refunds", {"case": "case 1", "all": "yes"}, 400),
        ("refunds", {"case": "case 1", "cursor": "made-up"}, 400),
        ("refunds", {"case": "case 1", "page_size": "0"}, 400),
        ("refunds", {"case": "case 1", "cases": "x"}, 400),
        ("nothing", {"case": "case 1"}, 404),
        pytest.param("refunds", {"case": "No\0t there"}, 400, id="a character that is none"),
        pytest.param("refunds", {"case": "Not there"}, 200, id="no such case"),
        ("refunds", {"case": "case 1", "fields": "run,verdict"}, 200),
    ],
)
def test_what_cannot_be_read_is_refused(suite: str, query: dict[str, str], status: int) -> None:
    make_suite()

    assert read(suite=suite, **query).status_code == status
