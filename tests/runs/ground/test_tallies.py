"""What has finished, counted when it is recorded: exactly once."""

from decimal import Decimal

import pytest

from evals_app.engine.llm.budget import BudgetAccount, CallMetric
from evals_app.models import Tally
from evals_app.runs.ground import tallies
from evals_app.runs.money.budget import settle_and_reserve
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from tests.model_server import Failure, ModelServer, Reply
from tests.runs.suites import finished, lease_of, make_agent, make_suite

pytestmark = pytest.mark.django_db


def counts(name: str) -> dict[str, int]:
    rows = Tally.objects.filter(name__startswith=name).values_list("name", "count")
    return {key.removeprefix(name): count for key, count in rows}


def test_runs_executions_and_their_durations_are_counted() -> None:
    finished(make_suite(["hello", "hello you", "crash", "no"]))

    assert counts(tallies.RUNS) == {'{verdict="failed"}': 1}
    assert counts(tallies.EXECUTIONS) == {
        '{verdict="passed",cause=""}': 2,
        '{verdict="failed",cause="agent"}': 1,
        '{verdict="failed",cause="assertion"}': 1,
    }
    assert sum(counts(f"{tallies.EXECUTION_SECONDS}_bucket").values()) == 4


@pytest.mark.parametrize(
    ("took_ms", "bucket"), [(0, "0.1"), (100, "0.1"), (101, "0.5"), (600_000, "600"), (1e6, "+Inf")]
)
def test_a_duration_is_in_the_first_bucket_that_it_fits_into(took_ms: float, bucket: str) -> None:
    assert tallies.duration("a", took_ms) == {
        f'a_bucket{{le="{bucket}"}}': 1,
        "a_ms": round(took_ms),
    }


def test_calls_that_are_reported_twice_count_once() -> None:
    token = lease_of(start_run(make_suite())).token
    call = CallMetric("calls", "agent", "openai/small", "200")
    prompt = CallMetric("tokens", "agent", "openai/small", "prompt")

    for made in (1, 1, 3):
        settle_and_reserve(token, BudgetAccount(counts={call: made, prompt: 10 * made}), [])
    # What reserves money does not count: it would keep others from counting.
    settle_and_reserve(token, BudgetAccount(counts={call: 5}), [Decimal("0.01")])

    labels = 'model="openai/small",role="agent"'
    assert counts(tallies.MODEL_CALLS) == {f'{{{labels},status="200"}}': 3}
    assert counts(tallies.MODEL_TOKENS) == {f'{{{labels},kind="prompt"}}': 30}


def test_each_attempt_of_a_call_is_counted_by_its_status(server: ModelServer) -> None:
    server.replies([Failure(429, headers={"retry-after-ms": "10"}), Reply("hello", input_tokens=7)])
    agent = make_agent("asked", driver="model", rules=[], model="local/claude-haiku-5-5")
    start_run(make_suite(["Hi"], agent=agent))

    work()

    labels = 'model="local/claude-haiku-5-5",role="agent"'
    assert counts(tallies.MODEL_CALLS) == {
        f'{{{labels},status="200"}}': 1,
        f'{{{labels},status="429"}}': 1,
    }
    assert counts(tallies.MODEL_TOKENS)[f'{{{labels},kind="prompt"}}'] == 7
