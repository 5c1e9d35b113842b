"""A run knows whether it is whole: all cases, the suite's own agent and model, nothing repeated."""

from collections.abc import Mapping
from typing import Any

import pytest

from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.models import Agent, Case, Provider, Run, Suite
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.rerun import rerun
from evals_app.runs.starting.start_run import start_run
from tests.makers import make_run
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db


def a_suite() -> Suite:
    """Write three cases, one of them tagged, for an agent that is a model."""
    Provider.objects.create(
        slug="free", name="Free", kind="anthropic", api_key_env="PROVIDER_FREE_API_KEY"
    )
    settings = {"temperature": 0.0}
    of_a_model: dict[str, Any] = {"driver": "model", "rules": []}
    own = make_agent("own", model="free/small", model_settings=settings, **of_a_model)
    make_agent("other", model="free/large", **of_a_model)
    suite = make_suite(agent=own)
    Case.objects.filter(name="case 1").update(tags=["smoke"])
    return suite


def started(suite: Suite, **options: Any) -> Run:
    return start_run(suite, environ={"PROVIDER_FREE_API_KEY": "x"}, **options)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="as it is written"),
        pytest.param({"trials": 3, "concurrency": 2}, id="more often, one after the other"),
        pytest.param({"cases": ["case"]}, id="all that a name asks for"),
        pytest.param({"model": "free/small"}, id="with the agent's own model by name"),
        pytest.param({"max_cost_usd": None, "timeout_s": 60.0}, id="with a time limit"),
    ],
)
def test_all_cases_with_the_own_agent_and_model_are_whole(options: dict[str, Any]) -> None:
    run = started(a_suite(), **options)

    assert (run.is_whole, run.covers) == (True, "")
    assert (run.case_count, run.suite_case_count) == (3, 3)


@pytest.mark.parametrize(
    ("options", "covers"),
    [
        pytest.param({"cases": ["case 2"]}, "1 of 3 cases", id="one case by name"),
        pytest.param({"tags": ["smoke"], "trials": 4}, "1 of 3 cases", id="one case by tag"),
        pytest.param({"names": ["case 1", "case 2"]}, "2 of 3 cases", id="exact names"),
        pytest.param({"is_tryout": True}, "try", id="try"),
        ({"model": "free/large"}, "with the model free/large instead of free/small"),
    ],
)
def test_a_part_is_not_whole(options: dict[str, Any], covers: str) -> None:
    run = started(a_suite(), **options)

    assert (run.is_whole, run.covers) == (False, covers)


def test_another_agent_is_not_the_whole_suite() -> None:
    suite = a_suite()

    run = started(suite, agent=Agent.objects.get(slug="other"))

    assert (run.is_whole, run.covers) == (False, "with the agent Echo instead of the suite's own")
    assert started(suite, agent=suite.agent).is_whole


def test_the_own_model_by_name_keeps_its_settings() -> None:
    run = started(a_suite(), model="free/small")

    model = SnapshotSpec.read(run.snapshot.content).agent.asked_model
    assert model is not None
    assert model.temperature == 0


def test_a_rerun_is_never_whole() -> None:
    suite = make_suite(["goodbye", "hello"])
    first = start_run(suite)
    work()

    failed, everything = rerun(first, only="failed"), rerun(first, only="all")

    assert first.is_whole
    assert (failed.is_whole, failed.covers) == (False, f"re-run of run {first.pk}, 1 of 2 cases")
    assert (everything.is_whole, everything.covers) == (False, f"re-run of run {first.pk}")


@pytest.mark.parametrize(
    ("states", "changes", "gives"),
    [
        pytest.param(["passed"], {}, True, id="passed"),
        pytest.param(["failed", "errored"], {}, True, id="errored in part"),
        pytest.param(["passed", "queued"], {}, False, id="still open"),
        pytest.param(["passed", "not_run"], {"stop_reason": "budget"}, False, id="out of budget"),
        pytest.param(["passed"], {"case_count": 1, "is_whole": False}, False, id="a part"),
    ],
)
def test_a_verdict_of_the_suite_comes_from_whole_runs_that_reached_their_end(
    states: list[str],
    changes: Mapping[str, Any],
    gives: bool,  # noqa: FBT001 - a column of the table above
) -> None:
    run = make_run(states, **changes)

    assert list(Run.objects.suite_verdicts()) == ([run] if gives else [])


def test_a_run_that_was_cancelled_stays_whole_as_to_its_cases() -> None:
    run = start_run(make_suite())
    cancel_run(run)
    work()
    run.refresh_from_db()

    assert (run.is_whole, run.status) == (True, "cancelled")
    assert not Run.objects.suite_verdicts().exists()
    assert run.in_short == f"run {run.pk}, cancelled: inconclusive"


def test_how_texts_are_compared_is_kept_on_the_run() -> None:
    plain = start_run(make_suite())
    suite = make_suite(slug="other", name="Other", agent=plain.suite and plain.suite.agent)
    suite.default_assertions.create(
        type="semantic_similarity", options={"value": "You said: hello"}, threshold=0.5
    )

    compared = start_run(suite, environ={})

    assert (plain.similarity, plain.is_similarity_stand_in, plain.stand_in_note) == ("", False, "")
    assert (compared.similarity, compared.is_similarity_stand_in) == ("fuzzy_match", True)
    assert "words" in compared.stand_in_note
