"""People stay in control while workers are busy: cancel, try a case, keep a provider's limits."""

import threading
import time
from pathlib import Path

import pytest
from django.utils import timezone

from evals_app.models import Agent, Execution, Provider, Run
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.starting.start_run import start_run
from tests.faults.crew import check_run, crew, eventually, is_over
from tests.model_server import KEY, ModelServer, Reply
from tests.runs.suites import KEY_VARIABLE, make_agent, make_suite

pytestmark = pytest.mark.django_db(transaction=True)

LONG_CALL_S = 60.0


def make_model_agent(server: ModelServer, **limits: int) -> Agent:
    """Write an agent on the server of the test, with limits of its provider."""
    provider = {"slug": "local", "name": "Local", "kind": "anthropic", "base_url": server.url}
    Provider.objects.create(**provider, api_key_env=KEY_VARIABLE, **limits)
    return make_agent("model", driver="model", model="local/claude-haiku-5-5", rules=[])


@pytest.fixture
def keyed(child_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    return child_environment | {KEY_VARIABLE: KEY}


def test_cancelling_takes_effect_inside_a_long_model_call(
    keyed: dict[str, str], model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.answers(lambda _: Reply("Late.", latency_s=LONG_CALL_S))
    suite = make_suite(cases=4, agent=make_model_agent(model_server))
    with crew(keyed, tmp_path):
        run = start_run(suite)
        eventually(lambda: len(model_server.requests) == 4, "calls under way")

        asked_at = time.monotonic()
        cancel_run(run)
        eventually(lambda: is_over(run), "the end of the run", within_s=LONG_CALL_S / 2)
        took_s = time.monotonic() - asked_at

    assert (run.status, run.cancelled) == ("cancelled", 4)
    assert took_s < LONG_CALL_S / 2  # within two seconds on a machine that does nothing else


def test_a_case_tried_by_hand_begins_beside_a_long_run(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    # After two results it waits for slow replies, with more in the queue than it may run at once.
    long = make_suite(["hello"] * 2 + ["very late"] * 150, concurrency=100)
    tried = make_suite(cases=1, slug="tried", agent=long.agent)
    with crew(child_environment, tmp_path):
        run = start_run(long)
        eventually(lambda: Execution.objects.filter(status="finished").exists(), "results")

        asked_at = timezone.now()
        trial = start_run(tried, is_tryout=True)
        eventually(lambda: is_over(trial), "the end of the trial")
        is_busy = not is_over(run)
        cancel_run(run)

    begun_at = trial.executions.get().started_at
    assert is_busy
    assert begun_at is not None
    assert (begun_at - asked_at).total_seconds() < 45  # below one on an idle machine
    assert trial.passed == 1


@pytest.mark.parametrize(
    ("limits", "most_at_once"), [({"max_concurrency": 3}, 3), ({"requests_per_minute": 600}, 20)]
)
def test_all_workers_together_keep_the_limits_of_a_provider(
    keyed: dict[str, str],
    model_server: ModelServer,
    tmp_path: Path,
    limits: dict[str, int],
    most_at_once: int,
) -> None:
    model_server.answers(lambda _: Reply("hello", latency_s=0.05))
    suite = make_suite(cases=30, concurrency=20, agent=make_model_agent(model_server, **limits))
    with crew(keyed, tmp_path):
        began = time.monotonic()
        run = start_run(suite)
        eventually(lambda: is_over(run), "the end of the run")
        took_s = time.monotonic() - began

    check_run(run)
    assert model_server.most_at_once <= most_at_once
    assert len(model_server.requests) == 30
    if per_minute := limits.get("requests_per_minute"):
        assert took_s >= 29 * 60 / per_minute  # 30 calls, evenly spread


def test_conversations_that_are_handed_back_do_not_repeat_what_was_paid_for(
    keyed: dict[str, str], model_server: ModelServer, tmp_path: Path
) -> None:
    may_answer = threading.Event()

    def answer(request: dict[str, object]) -> Reply:
        is_second = "again" in str(request["messages"])
        if is_second and not may_answer.is_set():
            return Reply("hello", latency_s=LONG_CALL_S)
        return Reply("hello")

    model_server.answers(answer)
    suite = make_suite(cases=3, agent=make_model_agent(model_server), concurrency=4)
    for case in suite.cases.all():
        case.turns.create(user=f"again {case.name}", position=1)
    with crew(keyed, tmp_path, "--grace", "0"):
        run = start_run(suite)
        eventually(lambda: len(model_server.requests) >= 6, "second turns")
    handed_back = set(run.executions.values_list("status", "attempts"))
    may_answer.set()
    with crew(keyed, tmp_path):
        eventually(lambda: is_over(run), "the end of the run")

    assert handed_back == {("queued", 0)}
    check_run(run)
    assert len(model_server.requests) == 9  # the second turns again, the first ones never
    assert Run.objects.get().verdict == "passed"
