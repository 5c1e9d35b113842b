"""The pages of runs, and who opens them."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evals_app.models import Lease, Run


def page_of(run: Run) -> str:
    return reverse("admin:evals_app_run_change", args=[run.pk])


def url(run: Run, what: str, *more: Any) -> str:
    return reverse(f"admin:evals_app_run_{what}", args=[run.pk, *more])


def client_who_may(*codenames: str) -> Client:
    user = User.objects.create_user("reviewer", password="secret", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def hold(run: Run, *, seconds: float = 30) -> None:
    """Return each run a lease."""
    until = timezone.now() + timedelta(seconds=seconds)
    for row in run.executions.filter(status="running"):
        Lease.objects.create(
            token=row.lease_token, run=run, host="worker-1", pid=7, slots=1, until=until
        )
