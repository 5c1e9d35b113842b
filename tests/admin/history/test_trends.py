"""Trends on the pages of suites and agents."""

import json
from collections.abc import Sequence

import pytest
from django.test import Client

from evals_app.admin.agents.copies import copy_agent
from evals_app.admin.history.trends import SUITE_TREND_RUNS, suite_trend
from evals_app.admin.kit.charts import MIN_CHART
from evals_app.models import CaseResult
from evals_app.reports.answers.run_json import CASES_DIGEST
from tests.authored import a_case, client_who_may, write_suite
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db


def test_the_trend_of_a_suite_has_pass_rate_and_score_of_its_last_whole_runs() -> None:
    suite = make_suite()
    for _ in range(SUITE_TREND_RUNS):
        make_run(["passed"])
    make_run(["failed"], is_tryout=True)
    last = make_run(["failed"])

    trend = suite_trend(suite)

    assert trend is not None
    assert trend.chart is not None
    assert [len(trend.points), trend.points[0].run.pk] == [SUITE_TREND_RUNS, last.pk]
    chart = json.loads(trend.chart.data)
    assert (chart["labels"][-1], len(chart["labels"])) == (f"run {last.pk}", SUITE_TREND_RUNS)
    rates, scores = (line["data"] for line in chart["datasets"])
    assert not trend.has_edits
    assert rates[-2:] == [100.0, 0.0]
    assert scores[-1] == round(100 * last.score, 1) if last.score is not None else None


def test_runs_that_compared_texts_in_another_way_are_left_out_and_counted() -> None:
    suite = make_suite()
    for similarity in ("words", "words", "embeddings openai/x", "", "embeddings openai/x"):
        make_run(similarity=similarity)

    trend = suite_trend(suite)

    assert trend is not None
    assert (len(trend.points), trend.left_out) == (3, 2)


def with_cases(digests: Sequence[str | None]) -> None:
    """Write a run for each digest of its cases; None: of an older version."""
    for digest in digests:
        run = make_run(["passed", "failed"])
        run.summary |= {CASES_DIGEST: digest} if digest else {}
        run.save()


@pytest.mark.parametrize(
    ("digests", "edited"),
    [
        pytest.param(["a", "a", "b", "b"], [2], id="edited once"),
        pytest.param(["a", "b", "a"], [1, 2], id="edited and put back"),
        pytest.param([None, "a", "a"], [], id="unknown before"),
        pytest.param(["a", "a"], [], id="the same"),
    ],
)
def test_runs_with_other_cases_than_the_run_before_are_marked(
    admin_client: Client, digests: list[str | None], edited: list[int]
) -> None:
    suite = make_suite()
    with_cases(digests)
    marks = [place in edited for place in range(len(digests))]

    agent = admin_client.get(f"/admin/evals_app/agent/{suite.agent_id}/change/")
    context, page = agent.context, agent.content.decode()

    (line,) = context["suites"]
    assert [point.run.pk in line.edited_runs for point in line.points] == marks
    assert page.count("Other cases than in the run before") == len(edited)
    assert ("edited, added or removed" in page) is bool(edited)


def test_a_few_runs_are_words_and_five_a_chart_that_marks_edits() -> None:
    suite = make_suite()
    assert suite_trend(suite) is None
    for number in range(MIN_CHART):
        trend = suite_trend(suite)
        assert trend is None or trend.chart is None
        states = {"a": ["passed"], "b": ["failed"]} | ({"c": ["passed"]} if number < 2 else {})
        run = make_run(states)
        CaseResult.objects.filter(run=run, name="b").update(digest=f"{number > 3}")
        CaseResult.objects.filter(run=run, name="a").update(digest="a")

    trend = suite_trend(suite)

    assert trend is not None
    assert trend.chart is not None
    labels = json.loads(trend.chart.data)["labels"]
    assert [label[1] if isinstance(label, list) else "" for label in labels] == [
        *("", "", "1 removed", "", "1 edited")
    ]
    changes = [trend.changes[point.run.pk].in_short for point in trend.points[:-1]]
    assert changes == ["same as before"] * 4  # the share rose, the cases in both runs did not


def with_contents(*runs: dict[str, tuple[str, str]]) -> list[int]:
    """Write runs; each has by the name of a case its verdict and its content."""
    numbers = []
    for cases in runs:
        run = make_run({name: [verdict] for name, (verdict, _) in cases.items()})
        for name, (_, content) in cases.items():
            CaseResult.objects.filter(run=run, name=name).update(digest=content)
        numbers.append(run.pk)
    return numbers


def test_the_share_of_the_cases_that_are_the_same_in_all_runs_stands_beside_the_plain_one(
    admin_client: Client,
) -> None:
    suite = make_suite()
    kept = {"a": ("passed", "A"), "renamed": ("failed", "B")}
    runs = with_contents(
        {"a": ("passed", "A"), "b": ("passed", "B"), "removed": ("failed", "C")},
        kept | {"new": ("passed", "D"), "not decided": ("errored", "E")},
        kept | {"new": ("passed", "edited"), "not decided": ("passed", "E")},
    )

    trend = suite_trend(suite)
    page = admin_client.get(f"/admin/evals_app/suite/{suite.pk}/results/").content.decode()

    assert trend is not None
    assert trend.chart is None
    assert trend.same_count == 2
    shares = [trend.same_text(pk).replace("\u00a0", " ") for pk in runs]
    assert shares == ["100 % (2 of 2)", "50 % (1 of 2)", "50 % (1 of 2)"]
    assert trend.same_shares in page
    assert page.count("of the same cases") == len(runs)
    assert "sparkline" in page

    runs += with_contents(kept, kept)
    trend = suite_trend(suite)
    assert trend is not None
    assert trend.chart is not None
    _, same, _, _ = json.loads(trend.chart.data)["datasets"]
    assert same["label"] == "Passed of the 2 cases in all of them"
    assert same["data"] == [100.0, 50.0, 50.0, 50.0, 50.0]

    with_contents({"other": ("passed", "F")})
    trend = suite_trend(suite)
    assert trend is not None
    assert (trend.has_edits, trend.same_count, trend.same_text(runs[0])) == (True, 0, "")


def test_the_page_of_a_suite_shows_its_trend_to_those_who_may_see_runs(
    admin_client: Client,
) -> None:
    suite = make_suite()
    runs = [make_run() for _ in range(MIN_CHART)]
    url = f"/admin/evals_app/suite/{suite.pk}/results/"

    text = admin_client.get(url).content.decode()
    without = client_who_may("view_suite").get(url)

    for run in runs:
        assert f"/admin/evals_app/run/{run.pk}/change/" in text
    assert "<canvas" in text
    assert without.status_code == 403


def test_what_belongs_to_a_run_is_below_it_and_shows_no_change(admin_client: Client) -> None:
    suite = make_suite()
    first, second = make_run(["passed"]), make_run(["failed"])
    graded = make_run(["passed"], grades_of=first, is_whole=False)
    again = make_run(["passed"], grades_of=graded, is_whole=False)
    rerun = make_run(["passed"], rerun_of=second, is_whole=False)

    response = admin_client.get(f"/admin/evals_app/suite/{suite.pk}/results/")

    lines = response.context["runs"]
    assert [(line["run"].pk, line["is_child"]) for line in lines] == [
        *((second.pk, False), (rerun.pk, True)),
        *((first.pk, False), (again.pk, True), (graded.pk, True)),
    ]
    assert [line["run"].pk for line in lines if line["changes"]] == [second.pk]


def test_the_page_of_an_agent_has_its_suites_with_their_trends(admin_client: Client) -> None:
    suite, other = make_suite(), make_suite("deliveries")
    url = f"/admin/evals_app/agent/{suite.agent_id}/change/"
    for states in (["passed"], ["failed"]):
        make_run(states, suite=suite)

    context = admin_client.get(url).context
    without = client_who_may("view_agent", "view_suite").get(url).context

    assert [line.name for line in context["suites"]] == ["Deliveries", "Refunds"]
    assert context["trend"].chart is None
    ((line, _),) = context["trend"].rows
    assert (line.id, line.changes.in_words) == (suite.pk, "1 worse")
    assert other.pk != suite.pk
    assert "suites" not in without


def test_the_page_of_an_agent_says_what_runs_now_and_how_many_cases_there_are(
    admin_client: Client,
) -> None:
    suite = write_suite([a_case("A"), a_case("B"), a_case("C", enabled=False)])
    idle = make_suite("deliveries", agent=suite.agent)
    run = make_run(["passed", "queued"], suite=suite)
    make_run(["queued"], suite=make_suite("others", agent=copy_agent(suite.agent)))

    page = admin_client.get(f"/admin/evals_app/agent/{suite.agent_id}/change/")

    lines = {line.id: line for line in page.context["suites"]}
    assert lines.keys() == {suite.pk, idle.pk}
    assert [line.open_runs for line in (lines[suite.pk], lines[idle.pk])] == [(run,), ()]
    assert [line.cases for line in lines.values()] == [0, 2]
    assert f"/admin/evals_app/run/{run.pk}/change/" in page.content.decode()
