"""Model APIs in trouble: whole worker processes, the real SDK, and a server that misbehaves."""

import math
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evals_app.models import Assertion, Execution, Provider, Run
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.starting.start_run import start_run
from tests.faults.crew import WORKERS, check_run, crew, eventually, is_over
from tests.messages_api import Json
from tests.model_server import (
    KEY,
    Answer,
    Cut,
    Failure,
    Garbage,
    Hang,
    ModelServer,
    Reply,
    last_text,
)
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db(transaction=True)

# How long the provider wants to be left alone; FAULTS_RATE_LIMIT_S=60 tries a whole minute.
RATE_LIMIT_S = float(os.environ.get("FAULTS_RATE_LIMIT_S", "7"))
TURN_S = 5.0  # less than that: waiting must not be the agent's time
CONCURRENCY = 8


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(latency_s=0.05) as running:
        yield running


@pytest.fixture
def environment(child_environment: dict[str, str], server: ModelServer) -> dict[str, str]:
    """The environment of a worker whose provider is our server."""
    Provider.objects.create(
        slug="local", name="Anthropic", kind="anthropic", api_key_env="ANTHROPIC_API_KEY"
    )
    return child_environment | {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY}


def start(messages: list[str], environment: dict[str, str], **settings: Any) -> Run:
    """Start a run of one case for each message; the reply repeats it, and that is checked."""
    agent = make_agent(
        "model", driver="model", rules=[], model="local/claude-haiku-5-5", settings=settings
    )
    suite = make_suite(messages, agent=agent, contains="said", concurrency=CONCURRENCY)
    suite.cases.update(turn_timeout_s=TURN_S)
    suite.cases.filter(turns__user__startswith="stream").update(streaming=True)
    return start_run(suite, environ=environment)


def reply_to(request: Json) -> Reply:
    return Reply(f"You said: {last_text(request)}")


def turns(run: Run) -> list[dict[str, Any]]:
    """Return what was stored of each conversation's only turn."""
    rows = Execution.objects.filter(run=run).select_related("transcript")
    return [row.transcript.trial["turns"][0] for row in rows]


# Too many requests


class RateLimit:
    """A provider that wants to be left alone for a while, beginning with the `at`th request.

    Those before it are under way by then; they are answered `later_s` later, in the middle of it.
    """

    def __init__(self, *, at: int, for_s: float, later_s: float) -> None:
        self.refused = 0
        self._at, self._for_s, self._later_s = at, for_s, later_s
        self._until = 0.0
        self._arrived = 0
        self._begun = threading.Event()
        self._lock = threading.Lock()

    def answer(self, request: Json) -> Answer:
        with self._lock:
            self._arrived += 1
            number = self._arrived
            if number == self._at:
                self._until = time.monotonic() + self._for_s
                self._begun.set()
            left = self._until - time.monotonic()
            if left > 0:
                self.refused += 1
                return Failure(429, headers={"retry-after": str(math.ceil(left))})
        if number < self._at:
            self._begun.wait(60)
            time.sleep(self._later_s)
        return reply_to(request)


def test_all_workers_leave_a_provider_alone_for_as_long_as_it_asks(
    environment: dict[str, str], server: ModelServer, tmp_path: Path
) -> None:
    limit = RateLimit(at=CONCURRENCY, for_s=RATE_LIMIT_S, later_s=2.5)
    server.answers(limit.answer)
    run = start([f"hello {number}" for number in range(24)], environment)

    with crew(environment, tmp_path):
        eventually(lambda: is_over(run), "the end of the run", within_s=60 + RATE_LIMIT_S)

    check_run(run)
    assert run.verdict == "passed"
    # All slots of both processes were busy when it began. Only who was refused knew, and two
    # seconds later, when the others were free for the next conversation, each of them knew.
    assert limit.refused == 1
    assert len(server.requests) == run.total + limit.refused
    waited_s = [turn["waited_ms"] / 1000 for turn in turns(run)]
    assert max(waited_s) >= RATE_LIMIT_S - 0.5
    assert sum(seconds > 1 for seconds in waited_s) == CONCURRENCY
    assert not run.executions.filter(time_ms__gte=TURN_S * 1000).exists()


# One provider that is sick, and runs that never ask it

HEALTHY_WITHIN_S = 30.0  # of a busy machine; alone it takes less than a second


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(Failure(429, headers={"retry-after": "60"}), id="refuses every call"),
        pytest.param(Hang(), id="never answers"),
    ],
)
def test_runs_that_wait_for_a_sick_provider_hold_up_no_other(
    environment: dict[str, str], server: ModelServer, tmp_path: Path, trouble: Answer
) -> None:
    server.answers(lambda _: trouble)
    sick = [
        make_suite(
            slug=f"sick-{number}",
            agent=make_agent(f"sick-{number}"),
            cases=1,
            judge_model="local/claude-haiku-5-5",
        )
        for number in range(WORKERS + 3)
    ]
    Assertion.objects.update(type="llm_judge", options={"criteria": "It greets."})
    healthy = make_suite(slug="healthy", agent=make_agent("healthy"), cases=1)

    with crew(environment, tmp_path):
        waiting = [start_run(suite, environ=environment) for suite in sick]
        eventually(lambda: len(server.requests) > 0, "a call of the sick provider")
        run = start_run(healthy)
        eventually(lambda: is_over(run), "the healthy run's end", within_s=HEALTHY_WITHIN_S)
        assert not any(map(is_over, waiting))
        for other in waiting:
            cancel_run(other)
        eventually(lambda: all(map(is_over, waiting)), "the end of the others")

    check_run(run)


# One trouble for each conversation

QUICK = {"retry-after-ms": "50"}
CUT = Cut(after_events=5)
FINE = None
# What the server answers, try by try, the last for ever; then verdict, cause, and what is said.
TROUBLES: dict[str, tuple[list[Answer | None], str, str, str]] = {
    "fine": ([FINE], "passed", "", ""),
    "unavailable three times": (
        [*(Failure(status, headers=QUICK) for status in (500, 502, 529)), FINE],
        *("passed", "", ""),
    ),
    "unavailable": (
        [Failure(503, headers=QUICK)],
        *("errored", "provider", "Anthropic answered 503 (service unavailable) 6 times"),
    ),
    "silent": ([Hang()], "failed", "agent", "did not answer within"),
    "refused": ([Failure(400, message="No.")], "errored", "provider", "answered 400"),
    "broken JSON": (
        [Garbage('{"id": "msg_1", "content": [{"ty')],
        *("errored", "provider", "sent a reply that cannot be read: it is not JSON"),
    ),
    "a page": (
        [Garbage("<html>Please sign in</html>", content_type="text/html")],
        *("errored", "provider", "sent a reply that cannot be read: it is not a stream of events"),
    ),
    "other JSON": ([Garbage('["msg_1"]')], "errored", "provider", "cannot be read"),
    "stream cut once": ([CUT, FINE], "passed", "", ""),
    "stream ended too soon": ([Cut(after_events=5, is_clean=True), FINE], "passed", "", ""),
    "stream cut": ([CUT], "errored", "provider", "cut off its reply"),
    "stream of overload": ([Failure(500, after_events=4), FINE], "passed", "", ""),
    "stream of a page": (
        [Garbage("<html>", content_type="text/html")],
        *("errored", "provider", "it is not a stream of events"),
    ),
}
PATIENCE_S = 5.0  # for a second try after 2 s, not for a third one 4 s later
TRIES = {"unavailable": 6, "unavailable three times": 4, "stream cut": 2}


def test_each_trouble_has_its_verdict_and_cause_and_stays_with_its_conversation(
    environment: dict[str, str], server: ModelServer, tmp_path: Path
) -> None:
    asked: Counter[str] = Counter()
    lock = threading.Lock()

    def answer(request: Json) -> Answer:
        trouble = last_text(request)
        answers = TROUBLES[trouble][0]
        with lock:
            asked[trouble] += 1
            number = min(asked[trouble], len(answers))
        return answers[number - 1] or reply_to(request)

    server.answers(answer)
    run = start(list(TROUBLES), environment, provider_patience_s=PATIENCE_S)

    with crew(environment, tmp_path):
        eventually(lambda: is_over(run), "the end of the run")

    outcomes = {
        trouble: (row.verdict, row.cause, row.reason)
        for trouble, row in zip(TROUBLES, run.executions.order_by("position"), strict=True)
    }
    for trouble, (_, verdict, cause, words) in TROUBLES.items():
        assert outcomes[trouble][:2] == (verdict, cause), outcomes[trouble]
        assert words in outcomes[trouble][2]
    check_run(run, passed=sum(verdict == "passed" for _, verdict, _, _ in TROUBLES.values()))
    assert run.verdict == "failed"  # by the one that was silent for as long as its limit
    assert asked == {
        trouble: TRIES.get(trouble, len(answers)) for trouble, (answers, *_) in TROUBLES.items()
    }
