import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from evals_app.models import ApiToken, Lease, ProviderState, Spending, Tally, Worker
from evals_app.runs.ground.tallies import BUCKETS, duration
from evalsite import access_log
from evalsite.metrics import Metric
from evalsite.web_server import worker_exit
from tests.api.clients import make_user
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def switched_on(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.METRICS = True
    monkeypatch.setattr(access_log, "requests", access_log.UncountedRequests())


@pytest.fixture
def headers() -> dict[str, str]:
    return bearer(["evals_app.view_run"])


def bearer(permissions: list[str]) -> dict[str, str]:
    user = make_user(permissions)
    # Marked as used before, so that query counts do not include that.
    token, text = ApiToken.issue(name="Prometheus", user=user, scope="read")
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now())
    return {"Authorization": f"Bearer {text}"}


def after(seconds: float) -> datetime:
    return timezone.now() + timedelta(seconds=seconds)


def numbers(client: Client, headers: dict[str, str]) -> dict[str, float]:
    """Read the metrics as Prometheus would."""
    lines = client.get("/metrics", headers=headers).content.decode().splitlines()
    samples = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(value) for name, _, value in samples}


# Who may read them


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param({}, "Send the header Authorization: Bearer TOKEN.", id="nobody"),
        pytest.param({"Authorization": "Bearer x"}, "does not exist", id="unknown token"),
        pytest.param({"Authorization": "Bearer"}, "Write the header", id="no token"),
    ],
)
def test_nobody_reads_them_without_a_token(
    client: Client, sent: dict[str, str], expected: str
) -> None:
    response = client.get("/metrics", headers=sent)

    assert response.status_code == HTTPStatus.UNAUTHORIZED
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert expected in response.content.decode()


def test_a_session_is_no_token(admin_client: Client) -> None:
    assert admin_client.get("/metrics").status_code == HTTPStatus.UNAUTHORIZED


def test_the_user_of_the_token_must_be_allowed_to_see_runs(client: Client) -> None:
    response = client.get("/metrics", headers=bearer([]))

    assert response.status_code == HTTPStatus.FORBIDDEN
    assert "evals_app.view_run" in response.content.decode()


def test_they_are_off_unless_switched_on(
    client: Client, headers: dict[str, str], settings: Any
) -> None:
    settings.METRICS = False

    assert client.get("/metrics", headers=headers).status_code == HTTPStatus.NOT_FOUND


# Their content


def test_of_nothing_they_say_0(client: Client, headers: dict[str, str]) -> None:
    response = client.get("/metrics", headers=headers)

    assert response.status_code == HTTPStatus.OK
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert set(numbers(client, headers).values()) == {0.0}


def test_executions_of_open_runs_are_counted_by_state(
    client: Client, headers: dict[str, str]
) -> None:
    make_run(["passed", "failed", "errored", "running", "queued", "queued"])
    make_run(["queued"])
    make_run(["passed", "not_run"])

    metrics = numbers(client, headers)

    states = ("queued", "running", "passed", "failed", "errored", "cancelled")
    assert [metrics[f'evalwell_executions{{state="{state}"}}'] for state in states] == [
        *(3, 1, 1, 1, 1, 0)
    ]


def test_runs_that_stop_are_shown_from_those_that_run(
    client: Client, headers: dict[str, str]
) -> None:
    make_run(["running"], stop_reason="cancelled")
    make_run(["running"])
    make_run(["queued"])
    make_run(["passed"])

    metrics = numbers(client, headers)

    states = ("queued", "running", "stopping")
    assert [metrics[f'evalwell_open_runs{{state="{state}"}}'] for state in states] == [1, 1, 1]


def test_the_oldest_that_waits_tells_its_age(client: Client, headers: dict[str, str]) -> None:
    make_run(["queued"], created_at=after(-60))
    make_run(["running", "queued"], created_at=after(-600))
    make_run(["passed", "not_run"], created_at=after(-6000))
    make_run(["running"], created_at=after(-6000))
    make_run(["queued"], created_at=after(-6000), stop_reason="deadline")

    assert numbers(client, headers)["evalwell_oldest_queued_seconds"] == pytest.approx(600, abs=5)


def test_leases_workers_and_what_is_stuck(client: Client, headers: dict[str, str]) -> None:
    run = make_run(["running", "running"])
    for row, seconds in zip(run.executions.all(), (30, -60), strict=True):
        Lease.objects.create(
            token=row.lease_token, run=run, host="a", pid=1, slots=1, until=after(seconds)
        )
    Worker.objects.create(host="a", pid=1, version="1", processes=3)
    Worker.objects.create(host="b", pid=1, version="1", processes=5)
    Worker.objects.create(host="c", pid=1, version="1", processes=7, seen_at=after(-60))

    metrics = numbers(client, headers)

    assert metrics['evalwell_leases{state="live"}'] == 1
    assert metrics['evalwell_leases{state="ended"}'] == 1
    assert metrics["evalwell_runs_stuck"] == 1
    assert metrics["evalwell_workers"] == 2
    assert metrics["evalwell_worker_processes"] == 8


def test_what_happened_since_the_site_was_made(client: Client, headers: dict[str, str]) -> None:
    Tally.add(Tally.LEASES_REAPED, 2)
    Tally.add(Tally.LEASES_REAPED, 1)

    metrics = numbers(client, headers)

    assert metrics["evalwell_leases_reaped_total"] == 3
    assert metrics["evalwell_results_refused_total"] == 0


def test_what_has_finished_is_shown_by_its_labels(client: Client, headers: dict[str, str]) -> None:
    ended = 'executions_total{verdict="errored",cause="judge"}'
    Tally.add_all(
        {ended: 4, 'model_calls_total{model="a/b",role="judge",status="429"}': 2}
        | dict(
            Counter(duration("execution_seconds", 700))
            + Counter(duration("execution_seconds", 5000))
        )
    )
    Spending.objects.create(
        day=timezone.now(), model="a/b", role="judge", spent_usd=Decimal("1.5"), run=make_run()
    )

    metrics = numbers(client, headers)

    assert metrics[f"evalwell_{ended}"] == 4
    assert metrics['evalwell_model_calls_total{model="a/b",role="judge",status="429"}'] == 2
    assert metrics['evalwell_model_spent_usd_total{model="a/b",role="judge"}'] == 1.5
    buckets = [metrics[f'evalwell_execution_seconds_bucket{{le="{le}"}}'] for le in BUCKETS]
    assert buckets == [0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]
    assert metrics["evalwell_execution_seconds_count"] == 2
    assert metrics["evalwell_execution_seconds_sum"] == 5.7


def test_requests_are_counted_where_metrics_are_switched_on(
    client: Client, headers: dict[str, str]
) -> None:
    for path in ("/api/runs/", "/api/runs/", "/healthz", "/nothing"):
        client.get(path)
    client.generic("BREW", "/api/runs/")
    access_log.requests.add()
    access_log.requests.add()  # each once

    metrics = numbers(client, headers)

    asked = {name: count for name, count in metrics.items() if "http_requests" in name}
    assert asked == {
        'evalwell_http_requests_total{method="GET",status="401"}': 2,
        'evalwell_http_requests_total{method="GET",status="404"}': 1,
        'evalwell_http_requests_total{method="other",status="401"}': 1,
    }
    assert metrics["evalwell_http_request_seconds_count"] == 4


def test_requests_are_counted_when_a_process_of_the_web_server_ends(
    client: Client, headers: dict[str, str]
) -> None:
    client.get("/nothing")

    worker_exit(None, None)

    assert numbers(client, headers)["evalwell_http_request_seconds_count"] == 1


def test_requests_wait_for_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = access_log.UncountedRequests()
    requests.note("GET", 200, 5)

    def refuse(_: object) -> None:
        raise OperationalError

    with monkeypatch.context() as away:
        away.setattr(Tally, "add_all", refuse)
        requests.add()
    requests.add()

    assert Tally.objects.get(name='http_requests_total{method="GET",status="200"}').count == 1


def test_providers_that_want_to_be_left_alone(client: Client, headers: dict[str, str]) -> None:
    ProviderState.objects.create(slug="anthropic", blocked_until=after(90), reason="429")
    ProviderState.objects.create(slug="other", blocked_until=after(-90), reason="429")
    ProviderState.objects.create(slug="third")

    metrics = numbers(client, headers)

    blocked = {name: value for name, value in metrics.items() if "blocked" in name}
    assert blocked == {
        'evalwell_provider_blocked_seconds{provider="anthropic"}': pytest.approx(90, abs=5)
    }


def test_spend_of_each_open_run_and_of_all(client: Client, headers: dict[str, str]) -> None:
    run = make_run(["running"], spent_usd=Decimal("1.25"), max_cost_usd=Decimal(5))
    free = make_run(["running"], suite=make_suite("other"))
    make_run(["passed"], spent_usd=Decimal("2.5"))

    metrics = {name: value for name, value in numbers(client, headers).items() if "usd" in name}

    assert metrics == {
        f'evalwell_run_spent_usd{{run="{run.pk}",suite="refunds"}}': 1.25,
        f'evalwell_run_spent_usd{{run="{free.pk}",suite="other"}}': 0.0,
        f'evalwell_run_max_cost_usd{{run="{run.pk}",suite="refunds"}}': 5.0,
        "evalwell_spent_usd_total": 3.75,
    }


def test_they_never_count_executions_but_those_that_run(
    client: Client, headers: dict[str, str], django_assert_num_queries: Callable[..., Any]
) -> None:
    for _ in range(3):
        make_run(["passed", "running", "queued"], created_at=after(-600))

    # Token; permissions of user and groups; runs; running; oldest; stuck: held, waiting; leases;
    # tallies; workers; providers; spend; ledger.
    with django_assert_num_queries(14) as asked:
        client.get("/metrics", headers=headers)

    counts = [
        query["sql"]
        for query in asked
        if re.match(r'SELECT [^()]*COUNT\([^()]*\).* FROM "evals_app_execution"', query["sql"])
    ]
    assert len(counts) == 2
    assert all("\"status\" = 'running'" in sql for sql in counts)


# The format


def test_a_metric_is_written_with_help_type_and_labels() -> None:
    metric = Metric("a_total", "All of it.", "counter").add(2, kind="x", state="y").add(0.5)

    assert metric.text() == (
        '# HELP a_total All of it.\n# TYPE a_total counter\na_total{kind="x",state="y"} 2\n'
        "a_total 0.5\n"
    )


def test_what_would_end_a_label_is_escaped() -> None:
    metric = Metric("a", "A.").add(1, name='a"b\\c\nd')

    assert metric.text().splitlines()[-1] == r'a{name="a\"b\\c\nd"} 1'
