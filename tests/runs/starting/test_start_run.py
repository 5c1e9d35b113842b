"""What a run says of itself from its beginning."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evals_app.models import Execution, Run, Snapshot, SnapshotCase, Suite, Turn
from evals_app.runs.ending.reap import reap
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.preparing import show_life
from evals_app.runs.starting.rerun import rerun
from evals_app.runs.starting.select import Variant
from evals_app.runs.starting.start_run import start_run, start_runs
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db

KIND: dict[str, Any] = {"type": "llm_judge", "options": {"criteria": "Is kind"}}
JURY = {"criteria": "Is kind", "jury": ["scripted/mild", "scripted/harsh", "scripted/fair"]}


@pytest.mark.parametrize(
    ("checks", "judge"),
    [
        pytest.param([], "", id="nobody"),
        pytest.param([KIND], "scripted/strict", id="the judge of the run"),
        ([KIND | {"options": JURY}], "scripted/fair, scripted/harsh, scripted/mild"),
        pytest.param(
            [KIND, KIND | {"model": "scripted/mild"}, KIND | {"options": JURY}],
            "scripted/strict, scripted/fair, scripted/harsh, scripted/mild",
            id="all kinds: the judge of the run first",
        ),
        pytest.param([KIND, KIND | {"model": "scripted/strict"}], "scripted/strict", id="one"),
    ],
)
def test_a_run_names_all_who_judge(checks: list[dict[str, Any]], judge: str) -> None:
    for slug in ("strict", "mild", "harsh", "fair"):
        make_agent(slug)
    suite = make_suite(["bye"], judge_model="scripted/strict")
    for position, check in enumerate(checks):
        suite.default_assertions.create(position=position, **check)
    run = start_run(suite)
    again = rerun(run, only="all")

    assert run.judge == judge
    assert again.judge == judge


def test_an_archived_suite_is_not_run_even_by_who_loaded_it_before() -> None:
    suite = make_suite()
    before = start_run(suite)
    Suite.objects.archive()

    with pytest.raises(CannotStartError, match="Suite greetings is archived"):
        start_run(suite)
    with pytest.raises(CannotStartError, match="Suite greetings is archived"):
        rerun(Run.objects.get(pk=before.pk), only="all")

    assert Run.objects.get() == before


def test_a_run_of_more_conversations_than_are_allowed_does_not_start(settings: Any) -> None:
    settings.EVALS_MAX_EXECUTIONS = 5
    suite = make_suite(cases=3)

    with pytest.raises(CannotStartError, match=r"6 conversations .* at most 5"):
        start_run(suite, trials=2)

    assert not Run.all_runs.exists()
    assert start_run(suite).total == 3


# Written in parts


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Write one execution at a time; return how many runs there were to be seen before each."""
    seen: list[int] = []

    def note(rows: Any) -> Any:
        for row in rows:
            seen.append(Run.objects.count())
            yield [row]

    # Thousands of rows take a while.
    monkeypatch.setattr("evals_app.runs.starting.preparing.in_parts", note)
    return seen


def test_a_run_is_out_of_sight_until_all_its_executions_are_written(parts: list[int]) -> None:
    run = start_run(make_suite(cases=3), timeout_s=60)

    assert parts == [0, 0, 0]
    assert (run.status, run.executions.count()) == ("queued", 3)
    assert run.deadline_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_start_that_fails_halfway_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_after_one(rows: Any) -> Any:
        yield [next(rows)]
        message = "The disk is full."
        raise OSError(message)

    # A full disk cannot be had otherwise.
    monkeypatch.setattr("evals_app.runs.starting.preparing.in_parts", break_after_one)
    with pytest.raises(OSError, match="full"):
        start_run(make_suite(cases=3))

    assert not Run.all_runs.exists()
    assert not Execution.objects.exists()


def test_what_a_process_left_that_died_while_it_prepared_a_run_is_removed(settings: Any) -> None:
    left, fresh = start_run(make_suite()), start_run(make_suite(slug="b", agent=make_agent("b")))
    Run.objects.update(status="preparing")
    silent_for = timedelta(seconds=settings.EVALS_LEASE_S + 5)
    Run.all_runs.filter(pk=left.pk).update(waiting_since=timezone.now() - silent_for)

    reap()

    assert list(Run.all_runs.values_list("pk", flat=True)) == [fresh.pk]
    assert not Execution.objects.filter(run_id=left.pk).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("cases", "batches"), [("new", 6), ("stored", 3)])
def test_each_batch_is_a_sign_of_life(
    monkeypatch: pytest.MonkeyPatch, cases: str, batches: int
) -> None:
    suite = make_suite(cases=3)
    if cases == "stored":
        start_run(suite)
    monkeypatch.setattr("evals_app.runs.starting.freeze.AT_ONCE", 1)
    seen = []

    def note(run: Run) -> None:
        show_life(run)
        seen.append(run)

    for module in ("start_run", "preparing"):
        monkeypatch.setattr(f"evals_app.runs.starting.{module}.show_life", note)
    start_run(suite)

    assert len(seen) == batches


@pytest.mark.django_db(transaction=True)
def test_who_prepares_a_run_that_was_given_up_writes_no_more_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sleep_too_long(rows: Any) -> Any:
        yield [next(rows)]
        Run.all_runs.update(waiting_since=timezone.now() - timedelta(hours=1))
        reap()
        yield list(rows)

    monkeypatch.setattr("evals_app.runs.starting.preparing.in_parts", sleep_too_long)
    with pytest.raises(CannotStartError, match="given up"):
        start_run(make_suite(cases=3))

    assert not Run.all_runs.exists()
    assert not Execution.objects.exists()


def test_a_snapshot_that_another_start_left_unfinished_is_completed() -> None:
    suite = make_suite(cases=3)
    start_run(suite)
    Snapshot.objects.update(is_complete=False)
    SnapshotCase.objects.filter(position=1).delete()

    again = start_run(suite)

    assert sorted(again.snapshot.cases.values_list("position", flat=True)) == [0, 1, 2]
    assert Snapshot.objects.get().is_complete


def test_a_variable_left_in_a_message_stops_the_start_of_runs_that_would_send_it() -> None:
    suite = make_suite(["hello", "bye"])
    first = start_run(suite)
    Turn.objects.filter(case__name="case 2").update(user="Translate into {{language}}")

    with pytest.raises(CannotStartError, match=r"'case 2'.*{{language}}") as refused:
        start_run(suite)

    assert len(refused.value.problems) == 1
    assert start_run(suite, names=["case 1"]).total == 1
    assert rerun(first, only="all", version="frozen").total == 2
    with pytest.raises(CannotStartError, match=r"{{language}}"):
        rerun(first, only="all")

    Turn.objects.filter(case__name="case 2").update(user=r"Translate into \{{language}}")
    assert start_run(suite).total == 2


def test_a_run_that_sent_variables_is_not_run_again() -> None:
    run = start_run(make_suite(["hello"]))
    stored = run.snapshot.cases.get()
    stored.content = stored.content.replace('"user":"', '"user":"{{language}} ')
    stored.save()

    with pytest.raises(CannotStartError, match=r"{{language}}"):
        rerun(run, only="all", version="frozen")


def test_of_several_suites_all_start_or_the_obstacles_of_each_are_named() -> None:
    fine, *judged = (
        make_suite(slug=slug, agent=make_agent(f"echo-{slug}"), rubric=rubric)
        for slug, rubric in {"a": "", "b": "- Polite", "c": "- Brief"}.items()
    )

    with pytest.raises(CannotStartError) as refused:
        start_runs([fine, *judged], environ={})

    assert [problem[:2] for problem in refused.value.problems] == ["b:", "c:"]
    assert not Run.all_runs.exists()
    assert [(run.suite_slug, run.group) for run in start_runs([fine])] == [("a", None)]


@pytest.mark.usefixtures("server")
def test_each_suite_starts_with_each_agent_and_model() -> None:
    own = make_agent("own", driver="model", rules=[], model="local/a")
    other = make_agent("other", driver="model", rules=[], model="local/a")
    suites = [make_suite(slug=slug, agent=own) for slug in ("a", "b")]

    variants = [Variant(), Variant(model="local/b"), Variant(agent=other, model="local/b")]
    runs = start_runs(suites, variants=variants, trials=2)

    assert [(run.suite_slug, run.agent_slug, run.model) for run in runs] == [
        (slug, agent, model)
        for slug in ("a", "b")
        for agent, model in (("own", "local/a"), ("own", "local/b"), ("other", "local/b"))
    ]
    assert len({run.group for run in runs}) == 1
    assert runs[0].group is not None
    assert [run.overrides for run in runs[:3]] == [
        {"trials": 2, "all_trials": True},  # they are compared
        {"model": "local/b", "trials": 2, "all_trials": True},
        {"agent": "other", "model": "local/b", "trials": 2, "all_trials": True},
    ]


def cases_of(run: Run) -> set[str]:
    return set(run.executions.values_list("case", flat=True))


def test_a_run_leaves_disabled_cases_out_and_is_whole_without_them() -> None:
    suite = make_suite(cases=3)
    disabled, *_ = names = list(suite.cases.order_by("position").values_list("name", flat=True))
    suite.cases.filter(name=disabled).update(enabled=False)

    run = start_run(suite)

    assert (cases_of(run), run.is_whole) == (set(names) - {disabled}, True)
    assert (run.suite_case_count, run.disabled_case_count) == (2, 1)


def test_only_a_trial_run_includes_a_disabled_case() -> None:
    suite = make_suite(cases=1)
    suite.cases.update(enabled=False)
    name = suite.cases.get().name

    with pytest.raises(CannotStartError, match="disabled"):
        start_run(suite, names=[name])
    tried = start_run(suite, names=[name], is_tryout=True)

    assert (cases_of(tried), tried.is_whole) == ({name}, False)
