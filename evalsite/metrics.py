"""Metrics for Prometheus, all from rows, so every process reports the same.

Source of the format: https://prometheus.io/docs/instrumenting/exposition_formats/. Not written with
prometheus_client: where that is installed django-q2 imports it, and every command pays 0.1 s for it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from evals_app.models import Execution, Lease, ProviderState, Run, Spending, Tally
from evals_app.models.run_records.leases import series
from evals_app.requests.auth import KEYWORD, TokenAuthentication, token_of
from evals_app.requests.permissions import Scope, includes
from evals_app.requests.throttles import Callers, Strangers
from evals_app.runs.ending.health import running_rows, stuck_among
from evals_app.runs.ground import tallies
from evals_app.runs.ground.workers import live_workers
from evalsite import access_log


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics for Prometheus, if the settings switch them on."""
    if not settings.METRICS:
        raise Http404
    refusal = _refusal(request)
    if refusal is not None:
        return refusal
    text = "".join(metric.text() for metric in _metrics())
    return HttpResponse(text, content_type="text/plain; version=0.0.4; charset=utf-8")


def _refusal(request: HttpRequest) -> HttpResponse | None:
    """Return why the metrics are refused: a token's user must be allowed to see runs."""
    asked = Request(request, authenticators=[TokenAuthentication()])
    reason = f"Send the header Authorization: {KEYWORD} TOKEN."
    try:
        user: Any = asked.user
    except AuthenticationFailed as exc:
        reason, user = str(exc.detail), asked.user  # an anonymous user
    for rate in (Callers(), Strangers()):
        if not rate.allow_request(asked, None):
            return _refuse(429, "Too many requests.", **{"Retry-After": rate.retry_after})
    if not user.is_authenticated:
        return _refuse(401, reason, **{"WWW-Authenticate": KEYWORD})
    token = token_of(asked)
    if token is None or not includes(token.scope, Scope.READ):
        return _refuse(403, "The scope of this token does not include reading.")
    if not user.has_perm("evals_app.view_run"):
        return _refuse(403, "The user of this token lacks permission evals_app.view_run.")
    return None


def _refuse(status: int, reason: str, **headers: str) -> HttpResponse:
    return HttpResponse(
        f"{reason}\n", status=status, content_type="text/plain; charset=utf-8", headers=headers
    )


@dataclass
class Metric:
    """Numbers of one name, by their `series`."""

    name: str
    help: str
    kind: str = "gauge"
    samples: dict[str, float] = field(default_factory=dict)

    def add(self, value: float, /, **labels: str) -> "Metric":
        self.samples[series(self.name, **labels)] = value
        return self

    def text(self) -> str:
        text = f"# HELP {self.name} {self.help}\n# TYPE {self.name} {self.kind}\n"
        return text + "".join(f"{name} {value}\n" for name, value in self.samples.items())


def _metrics() -> list[Metric]:
    open_runs = Run.objects.filter(status__in=Run.OPEN)
    # Counters of the runs, never a count of executions: that would read them all.
    runs = list(open_runs.order_by("pk").values(*_COLUMNS))
    return [
        _open_runs(runs),
        _executions(runs),
        _oldest_queued(open_runs),
        Metric("evalwell_runs_stuck", "Open runs with something stuck.").add(
            len(stuck_among(open_runs))
        ),
        _leases(),
        *_tallies(),
        *_workers(),
        _blocked_providers(),
        *_spend(runs),
    ]


_COUNTERS = ("passed", "failed", "errored", "measured", "skipped", "cancelled")
_COLUMNS = (
    *("pk", "suite_slug", "status", "stop_reason", "not_run", "spent_usd", "max_cost_usd"),
    *_COUNTERS,
)
Row = Mapping[str, Any]


def _open_runs(runs: Sequence[Row]) -> Metric:
    metric = Metric("evalwell_open_runs", "Runs that have not ended, by state.")
    states = Counter("stopping" if run["stop_reason"] else run["status"] for run in runs)
    for state in (*Run.OPEN, "stopping"):
        metric.add(states[state], state=state)
    return metric


def _executions(runs: Sequence[Row]) -> Metric:
    metric = Metric("evalwell_executions", "Conversations of open runs, by state.")
    running = running_rows().count()
    # Rows change between the two queries, so the difference could be slightly below 0.
    metric.add(max(0, sum(run["not_run"] for run in runs) - running), state="queued")
    metric.add(running, state="running")
    for state in _COUNTERS:
        metric.add(sum(run[state] for run in runs), state=state)
    return metric


def _oldest_queued(open_runs: QuerySet[Run]) -> Metric:
    queued = Execution.objects.filter(run=OuterRef("pk"), status=Execution.Status.QUEUED)
    waiting = open_runs.filter(Exists(queued), stop_reason="")
    since = waiting.aggregate(since=Min("created_at"))["since"]
    age = (timezone.now() - since).total_seconds() if since else 0.0
    return Metric(
        "evalwell_oldest_queued_seconds",
        "How long the oldest queued conversation has waited, since its run was started.",
    ).add(round(max(0.0, age), 3))


def _leases() -> Metric:
    metric = Metric("evalwell_leases", "Leases on shares of runs, by state.")
    live = Q(until__gt=Now())
    counts = Lease.objects.aggregate(live=Count("pk", filter=live), ended=Count("pk", filter=~live))
    for state, number in counts.items():
        metric.add(number, state=state)
    return metric


# Counted as they happen: plain counts, counts by label, and durations.
_PLAIN = {
    Tally.LEASES_REAPED: "Leases taken back from dead processes.",
    Tally.RESULTS_REFUSED: "Results refused because their lease had been taken back.",
}
_LABELLED = {
    tallies.RUNS: "Runs that have ended, by verdict.",
    tallies.EXECUTIONS: "Conversations that have ended, by verdict and cause.",
    tallies.MODEL_CALLS: "Attempts of model calls, by the HTTP status of the answer.",
    tallies.MODEL_TOKENS: "Tokens of model calls.",
    access_log.REQUESTS: "Requests that the web server has answered.",
}
_DURATIONS = {
    tallies.EXECUTION_SECONDS: "How long agents took for a conversation.",
    access_log.REQUEST_SECONDS: "How long the web server took to answer requests.",
}


def _tallies() -> Iterator[Metric]:
    counts = dict(Tally.objects.order_by("name").values_list("name", "count"))
    for name, text in _PLAIN.items():
        yield Metric(f"evalwell_{name}_total", text, "counter").add(counts.get(name, 0))
    for name, text in _LABELLED.items():
        metric = Metric(f"evalwell_{name}", text, "counter")
        for key, count in counts.items():
            if key.startswith(f"{name}{{"):
                metric.samples[f"evalwell_{key}"] = count
        yield metric
    for name, text in _DURATIONS.items():
        yield _histogram(name, text, counts)


def _histogram(name: str, text: str, counts: Mapping[str, int]) -> Metric:
    """Return cumulative buckets, as Prometheus expects them."""
    metric = Metric(f"evalwell_{name}", text, "histogram")
    total = 0
    for end in tallies.BUCKETS:
        total += counts.get(series(f"{name}_bucket", le=end), 0)
        metric.samples[series(f"evalwell_{name}_bucket", le=end)] = total
    metric.samples[f"evalwell_{name}_sum"] = counts.get(f"{name}_ms", 0) / 1000
    metric.samples[f"evalwell_{name}_count"] = total
    return metric


def _workers() -> list[Metric]:
    counts = live_workers().aggregate(commands=Count("pk"), processes=Sum("processes"))
    return [
        Metric("evalwell_workers", "Worker commands that are alive.").add(counts["commands"]),
        Metric("evalwell_worker_processes", "Processes of the workers that are alive.").add(
            counts["processes"] or 0
        ),
    ]


def _blocked_providers() -> Metric:
    metric = Metric(
        "evalwell_provider_blocked_seconds",
        "How long a provider will go on rate-limiting us; only providers that do.",
    )
    blocked = ProviderState.objects.filter(blocked_until__gt=Now()).order_by("slug")
    for slug, until in blocked.values_list("slug", "blocked_until"):
        left = (until - timezone.now()).total_seconds() if until else 0.0
        metric.add(round(max(0.0, left), 3), provider=slug)
    return metric


def _spend(runs: Sequence[Row]) -> list[Metric]:
    spent = Metric("evalwell_run_spent_usd", "What an open run has spent.")
    ceiling = Metric("evalwell_run_max_cost_usd", "The cost ceiling of an open run, if it has one.")
    for run in runs:
        labels = {"run": str(run["pk"]), "suite": run["suite_slug"]}
        spent.add(float(run["spent_usd"]), **labels)
        if run["max_cost_usd"] is not None:
            ceiling.add(float(run["max_cost_usd"]), **labels)
    total = Run.objects.aggregate(total=Sum("spent_usd"))["total"] or 0
    name = "evalwell_spent_usd_total"
    return [
        *(spent, ceiling, _spent_on_models()),
        Metric(name, "What all runs have spent.", "counter").add(float(total)),
    ]


def _spent_on_models() -> Metric:
    metric = Metric("evalwell_model_spent_usd_total", "What was spent, by model.", "counter")
    # The ledger, which keeps what deleted runs have spent: a few rows for each run.
    rows = Spending.objects.order_by("model", "role").values_list("model", "role")
    for model, role, usd in rows.annotate(usd=Sum("spent_usd")):
        metric.add(float(usd), model=model, role=role)
    return metric
