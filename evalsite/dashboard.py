"""The first page: what got worse, what runs, what waits for review, and how every suite does.

Every part is a fixed number of queries, however many suites and runs there are.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, F, Q, Sum
from django.http import HttpRequest
from django.urls import reverse
from pydantic import ValidationError

from evals_app.admin.history.trends import SuiteLine, lines_next_to, trend_of
from evals_app.admin.importing.examples import may_load_examples, may_remove_examples
from evals_app.admin.kit.presentation import badge, plural, run_badges
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.specs.base_spec import read_model
from evals_app.library.importing.removing import example_suites
from evals_app.library.importing.rights import Rights
from evals_app.models import Agent, Execution, Provider, Run, Settlement, Spending, Suite
from evals_app.models.people.names import shown_name
from evals_app.runs.ground.ledger import today
from evals_app.runs.ground.workers import live_workers
from evals_app.runs.money.ceilings import ceilings_for, in_month

MAX_OPEN_RUNS = 10
MAX_FAILURES = 10
MAX_RETESTS = 5
MAX_ADMINISTRATORS = 3
_OPEN = Q(status__in=Run.OPEN)


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, object]:
    """Add what the first page shows, limited to what the person may see."""
    user: Any = request.user
    sees_runs = user.has_perm("evals_app.view_run")
    sees_results = sees_runs and user.has_perm("evals_app.view_suite")
    seen = Suite.objects.current() if sees_results else Suite.objects.none()
    suites, open_runs = lines_next_to(seen, _OPEN) if sees_runs else ([], [])
    failures = _failures(suites) if user.has_perm("evals_app.view_execution") else []
    there_is = _existing(user)
    has_suites = there_is["suite"]
    may_write = user.has_perm("evals_app.add_suite")
    shows_examples = there_is["example"] and (sees_results or may_write)
    may_import = Rights.of(user).may_import()
    may_anything = sees_results or may_write or may_import
    return context | {
        "title": "Dashboard",
        "greeting": user.get_short_name() or user.get_username(),
        "suites": suites,
        "sees_results": sees_results,
        "has_suites": has_suites,
        "has_agent": there_is["agent"],
        "worse": (worse := _worse(suites) if suites else []),
        "worse_suites": len({item["suite"] for item in worse}),
        "calm": _calm(suites),
        "open_runs": [_open_run(run) for run in open_runs[: -MAX_OPEN_RUNS - 1 : -1]],
        "open_count": len(open_runs),
        "waiting": _waiting(suites),
        "failures": failures,
        "spent": _month_spending(user) if sees_runs else None,
        "has_worker": there_is["worker"],
        "keyless": _keyless() if user.has_perm("evals_app.change_provider") else [],
        "trend": trend_of(suites),
        "rights": _rights(request),
        "administrators": [] if may_anything else _administrators(),
        "may_run": may_run(request),
        "may_write": may_write,
        "may_load_examples": may_load_examples(request),
        "may_import": may_import,
        "shows_tour": shows_examples or not has_suites,
        "may_remove_examples": shows_examples and may_remove_examples(request),
    }


def _existing(user: Any) -> dict[str, bool]:
    """Return whether the site has any of these, in one query."""
    kinds = {
        "suite": Suite.objects.all(),
        "example": example_suites(),
        "agent": Agent.objects.all(),
        "worker": live_workers(),
    }
    exists = [Exists(rows) for rows in kinds.values()]
    answers = User.objects.filter(pk=user.pk).values_list(*exists).get()
    return dict(zip(kinds, answers, strict=True))


def _worse(suites: Sequence[SuiteLine]) -> list[dict[str, Any]]:
    """Return suites with cases that got worse since their previous whole run, or that a settlement confirmed."""
    compare = reverse("admin:evals_app_run_compare")
    return [
        {
            "suite": line.name,
            "cases": plural(line.changes.worse, "case"),
            "names": ", ".join(line.changes.worse_names),
            "url": f"{compare}?run={line.previous.run.pk}&run={line.points[-1].run.pk}",
        }
        for line in suites
        if line.changes and line.previous and line.changes.worse
    ] + _worse_retests(suites)


def _worse_retests(suites: Sequence[SuiteLine]) -> list[dict[str, object]]:
    """Return settlements that found cases really worse since the last whole run of their suites."""
    lines = {line.id: line for line in suites}
    found = Settlement.objects.filter(head__suite__in=lines, really_worse__gt=0)
    ended = found.exclude(finished_at=None).order_by("-pk").annotate(suite=F("head__suite"))
    rows = ended.values("pk", "suite", "really_worse", "finished_at")[:MAX_RETESTS]
    return [
        {
            "suite": lines[row["suite"]].name,
            "cases": f"{plural(row['really_worse'], 'case')} really worse",
            "names": "",
            "url": reverse("admin:evals_app_settlement_change", args=[row["pk"]]),
        }
        for row in rows
        if _is_newer(row["finished_at"], lines[row["suite"]])
    ]


def _is_newer(moment: datetime | None, line: SuiteLine) -> bool:
    return moment is not None and (line.last is None or moment > line.last.run.finished_at)


def _calm(suites: Sequence[SuiteLine]) -> tuple[str, str]:
    """Return a word and a sentence for when nothing got worse, as far as that is known."""
    known = [line.changes for line in suites if line.changes and line.changes.compared]
    if not known:
        return "—", "Nothing to compare with yet."
    lost = sum(changes.lost for changes in known)
    first = "Every case that passed in the run before still passes."
    if lost:
        first = (
            f"But {plural(lost, 'case')} that passed in the run before did not pass now: by chance,"
            " or not graded."
        )
    # A case that failed twice did not get worse, but the page must not read as if all were well.
    if failed := sum(line.last.run.verdict == Run.Verdict.FAILED for line in suites if line.last):
        first += f" The last run of {plural(failed, 'suite')} failed."
    rest = len(suites) - len(known)
    more = f" Nothing to compare with yet in {plural(rest, 'suite')}." if rest else ""
    return "Nothing", f"{first}{more}"


def _open_run(run: Run) -> dict[str, object]:
    return {
        "run": run,
        "badges": run_badges(run),
        "percent": round(100 * run.ended_count / run.total) if run.total else 100,
    }


def _waiting(suites: Sequence[SuiteLine]) -> int:
    """Count the executions that did not pass in the last whole runs."""
    return sum(line.last.run.failed + line.last.run.errored for line in suites if line.last)


def _failures(suites: Sequence[SuiteLine]) -> list[dict[str, object]]:
    """Return the newest of those executions."""
    runs = {line.last.run.pk: line.last.run for line in suites if line.last}
    rows = Execution.objects.filter(run__in=runs, verdict__in=["failed", "errored"])
    rows = rows.only("pk", "run", "case", "trial", "verdict", "reason", "finished_at")
    newest = rows.order_by("-run", "verdict", "position")[:MAX_FAILURES] if runs else []
    return [
        {"execution": row, "badge": badge(row.verdict), "run": runs[row.run_id]} for row in newest
    ]


def _month_spending(user: Any) -> dict[str, object]:
    """Return what the site spent this month, and the ceilings that apply to a person."""
    amount = Spending.objects.filter(in_month(today())).aggregate(spent=Sum("spent_usd"))["spent"]
    ceilings = [
        f"{usd_text(ceiling.max_usd)} {'for you' if ceiling.person_id else 'for the site'}"
        for ceiling in ceilings_for(user.pk)
    ]
    return {"amount": usd_text(amount or 0), "ceilings": ", ".join(ceilings)}


def _rights(request: HttpRequest) -> list[str]:
    """Return what a person may do, in words."""
    user = request.user
    known = {
        "evals_app.view_suite": "read suites",
        "evals_app.view_run": "read results",
        "evals_app.add_suite": "write suites",
        "evals_app.change_case": "edit cases",
        "evals_app.change_agent": "edit agents",
        "fixtures_app.change_fixture": "edit fixtures",
    }
    words = [word for right, word in known.items() if user.has_perm(right)]
    return [*words, "start runs"] if may_run(request) else words


def _administrators() -> list[str]:
    """Return the names of people who may give rights."""
    people = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
    return [shown_name(person) for person in people[:MAX_ADMINISTRATORS]]


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
