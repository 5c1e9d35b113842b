"""The pages of runs, and leases on them."""

from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from evals_app.models import Lease, Run


def page_of(run: Run) -> str:
    return reverse("admin:evals_app_run_change", args=[run.pk])


def url(run: Run, what: str, *more: Any) -> str:
    return reverse(f"admin:evals_app_run_{what}", args=[run.pk, *more])


def hold(run: Run, *, seconds: float = 30) -> None:
    """Return each run a lease."""
    until = timezone.now() + timedelta(seconds=seconds)
    for row in run.executions.filter(status="running"):
        Lease.objects.create(
            token=row.lease_token, run=run, host="worker-1", pid=7, slots=1, until=until
        )
