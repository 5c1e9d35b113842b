"""Simulated conversations are in no rate together with written ones."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.admin.history.trends import suite_trend, suites_of
from evals_app.library.baselines import set_baseline
from evals_app.management.console import has_several_columns
from evals_app.models import Run, Suite
from evals_app.reports.answers.comparison import MIXED, headline
from evals_app.reports.answers.model_comparison import column_names
from evals_app.reports.answers.model_comparison_answers import conclusion
from evals_app.reports.renderers.model_tables import notes
from evals_app.runs.reading.compared_runs import compare_runs
from evals_app.runs.reading.highlights import notable
from evals_app.runs.reading.model_comparison import model_comparison, table_runs
from evals_app.runs.release import release_of
from evals_app.runs.topics import topics_of
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db

GOOD = {name: ["passed"] * 3 for name in "ABCDEFGH"}
BAD = {name: ["failed"] * 3 for name in "ABCDEFGH"}


def both() -> tuple[Run, Run]:
    """Return a written run that passed, and a simulated one that failed, of the same cases."""
    return make_run(GOOD), make_run(BAD, is_simulated=True)


def test_a_run_of_each_kind_is_neither_better_nor_worse(admin_client: Client) -> None:
    base, head = both()

    comparison = compare_runs([base.pk, head.pk])
    cases = comparison.heads[0].cases

    assert (cases.verdict, comparison.is_worse, headline(cases)) == ("not_comparable", False, MIXED)
    address = f"{reverse('admin:evals_app_run_compare')}?run={base.pk}&run={head.pk}"
    page = admin_client.get(address).content.decode()
    assert "both simulated, or neither" in page
    assert "Refunds (simulated)" in page
    alike = compare_runs([base.pk, make_run(BAD).pk])
    assert (alike.heads[0].cases.verdict, alike.is_worse) == ("worse", True)


def test_a_simulated_suite_decides_for_itself() -> None:
    base = make_run(GOOD)
    set_baseline(base)
    suite = Suite.objects.get()

    head = make_run(BAD, is_simulated=True)
    release = release_of(suite, run=head)

    assert release.base is None
    assert release.sentence == "No (scripted, simulated): 8 cases failed, and all must pass."
    assert release_of(suite, run=make_run(BAD)).base == base


def test_trends_begin_anew_where_users_are_simulated() -> None:
    _, head = both()
    suite = Suite.objects.get()

    trend, (line,), lists = suite_trend(suite), suites_of(suite.agent), notable(suite)

    assert trend
    assert lists
    assert ([point.run for point in trend.points], trend.left_out) == ([head], 1)
    assert line.previous is None
    assert "the user's words were written" in line.points[0].why_different.lower()
    assert lists.span.ids == [head.pk]


def test_the_table_of_models_adds_up_each_kind_by_itself() -> None:
    runs = both()
    rows = [run.pk for run in runs]

    table = model_comparison(table_runs(rows))

    assert column_names(table.columns) == ["Shop agent", "Shop agent, simulated"]
    assert [totals.cases[:2] for totals in table.totals] == [(8, 8), (0, 8)]
    assert "no case in common" in conclusion(table)
    assert any(note.startswith("Simulated: ") for note in notes(table))
    assert has_several_columns(runs)
    assert not has_several_columns([runs[0], make_run(BAD)])


def tagged(slug: str, **changes: Any) -> Suite:
    suite = make_suite(slug, tags=["returns"], **changes)
    for position, name in enumerate(GOOD):
        suite.cases.create(name=name, position=position)
    return suite


def test_a_topic_counts_written_cases_and_says_how_many_are_left_out() -> None:
    suite = tagged("written")
    other = tagged("simulated", agent=suite.agent)
    make_run(BAD, suite=other, is_simulated=True)
    (alone,) = topics_of(suite.agent).topics
    assert (alone.cases.decided, alone.simulated.total) == (8, 0)

    run = make_run(GOOD, suite=suite)
    (topic,) = topics_of(suite.agent).topics

    assert topic.cases == (8, 0, 0, 0, 0)
    assert topic.simulated == (0, 8, 0, 0, 0)
    assert [last.run for last in topic.last_runs] == [run.pk]
    assert topic.check.answer == "no"  # each suite decides for itself
    assert not topic.check.is_simulated
