"""Of runs that exist their snapshots tell whether they are whole."""

import importlib
from typing import Any

import pytest
from django.apps import apps

from evals_app.models import Agent, Run
from evals_app.runs import rerun, start_run
from evals_app.runs.shift import work
from tests.makers import make_run
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db

migration: Any = importlib.import_module("evals_app.migrations.0016_whole_runs")

COLUMNS = (
    *("is_whole", "case_count", "suite_case_count", "suite_agent_slug", "replaced_model"),
    *("similarity", "is_similarity_stand_in"),
)


def described() -> dict[int, tuple[Any, ...]]:
    return {pk: tuple(columns) for pk, *columns in Run.objects.values_list("pk", *COLUMNS)}


def forget() -> None:
    """Leave runs as the version before left them."""
    Run.objects.update(
        is_whole=False,
        case_count=None,
        suite_case_count=None,
        suite_agent_slug="",
        replaced_model="",
        similarity="",
        is_similarity_stand_in=False,
    )


def test_what_is_found_out_is_what_new_runs_know() -> None:
    suite = make_suite(["hello", "goodbye"])
    suite.default_assertions.create(type="semantic_similarity", options={"value": "x"}, threshold=0)
    other = make_agent("other")
    whole = start_run(suite, trials=2, environ={})
    start_run(suite, cases=["case 1"], environ={})
    start_run(suite, agent=other, environ={})
    start_run(suite, is_tryout=True, environ={})
    work()
    rerun(whole, only="all")
    known = described()
    assert [columns[0] for columns in known.values()] == [True, False, False, False, False]

    forget()
    migration.describe_runs(apps, None)

    assert described() == known
    assert known[whole.pk][5:] == ("fuzzy_match", True)


@pytest.mark.parametrize(
    ("model", "replaced"),
    [
        pytest.param("acme/large", "", id="its own"),
        pytest.param("large", "", id="its own, written short"),
        pytest.param("acme/small", "acme/small", id="another"),
    ],
)
def test_a_model_that_the_agent_never_had_was_put_in_its_place(model: str, replaced: str) -> None:
    agent = Agent.objects.create(slug="a", name="A", model=model)
    run = make_run(["passed"], suite=make_suite(agent=agent), model="acme/large")

    migration.describe_runs(apps, None)

    run.refresh_from_db()
    assert run.replaced_model == replaced


def test_a_model_that_the_agent_may_have_had_then_counts_as_its_own() -> None:
    agent = Agent.objects.create(slug="a", name="A", model="acme/large")
    run = make_run(["passed"], suite=make_suite(agent=agent), model="acme/large")
    agent.model = "acme/small"
    agent.save()

    migration.describe_runs(apps, None)

    run.refresh_from_db()
    assert run.replaced_model == ""


def test_a_snapshot_that_says_little_is_no_obstacle() -> None:
    run = make_run(["passed"])
    forget()

    migration.describe_runs(apps, None)

    run.refresh_from_db()
    assert (run.case_count, run.suite_agent_slug) == (1, "shop")
