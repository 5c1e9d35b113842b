"""The first page: the result of every suite, running work, and what needs attention.

Every part is a fixed number of queries, however many suites and runs there are.
"""

from contextlib import suppress
from typing import Any

from django.http import HttpRequest
from pydantic import ValidationError

from evals_app.admin.examples import may_load_examples
from evals_app.admin.presentation import badge, run_badges, scripted_badge
from evals_app.admin.trends import suite_lines, trend_of
from evals_app.engine.spec import read_model
from evals_app.library.rights import Rights
from evals_app.models import Agent, Execution, Provider, Run, Suite
from evals_app.reports.coverage import COVERAGE_COLUMNS
from evals_app.runs.workers import live_workers

MOST_OPEN_RUNS = 10
MOST_FAILURES = 10


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add what the first page shows, limited to what the person may see."""
    user = request.user
    sees_runs = user.has_perm("evals_app.view_run")
    sees_suites = user.has_perm("evals_app.view_suite")
    suites = suite_lines(Suite.objects.current()) if sees_runs and sees_suites else []
    return context | {
        "title": "Dashboard",
        "suites": suites,
        "has_suites": bool(suites) or Suite.objects.exists(),
        "open_runs": _open_runs() if sees_runs else [],
        "failures": _failures() if user.has_perm("evals_app.view_execution") else [],
        "has_worker": live_workers().exists(),
        "keyless": _keyless() if user.has_perm("evals_app.view_provider") else [],
        "trend": trend_of(suites),
        "may_write": user.has_perm("evals_app.add_suite"),
        "may_load_examples": may_load_examples(request),
        "may_import": Rights.of(user).may_import(),
    }


def _open_runs() -> list[dict[str, Any]]:
    rows = Run.objects.filter(status__in=Run.OPEN).defer("summary").order_by("-pk")
    return [
        {
            "run": run,
            "badges": run_badges(run),
            "percent": round(100 * run.done / run.total) if run.total else 100,
        }
        for run in rows[:MOST_OPEN_RUNS]
    ]


def _failures() -> list[dict[str, Any]]:
    failures: list[Execution] = []
    # One verdict at a time is a range of an index; both at once would sort all rows.
    for verdict in ("failed", "errored"):
        rows = Execution.objects.filter(verdict=verdict, run__is_tryout=False)
        rows = rows.select_related("run").only(
            *("pk", "case", "trial", "verdict", "reason", "finished_at", "is_scripted"),
            *(f"run__{column}" for column in ("suite_name", "is_scripted", "judge")),
            *(f"run__{column}" for column in COVERAGE_COLUMNS),
        )
        failures += rows.order_by("-pk")[:MOST_FAILURES]
    newest = sorted(failures, key=lambda row: -row.pk)[:MOST_FAILURES]
    return [
        {
            "execution": row,
            "badge": badge(row.verdict),
            "scripted": scripted_badge(row.run) if row.is_scripted else "",
        }
        for row in newest
    ]


def _keyless() -> list[dict[str, str]]:
    """Return providers that an agent uses but whose key is not set in this process."""
    used = set()
    for name in Agent.objects.exclude(model="").values_list("model", flat=True).distinct():
        with suppress(ValidationError):  # the agent's own page reports it
            used.add(read_model(name).provider)
    return [
        {"provider": provider.name, "variable": provider.key_variable}
        for provider in Provider.objects.filter(slug__in=used).order_by("name")
        if provider.has_key is False
    ]
