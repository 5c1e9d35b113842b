"""Probes for load balancers and supervisors: is the process alive, can it serve people."""

from collections.abc import Iterator

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evals_app.runs.workers import live_workers

NO_WORKER = "No worker is alive, so runs wait. Start one: python manage.py worker"


@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """Answer that this process is alive, without using the database."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(_request: HttpRequest) -> JsonResponse:
    """Answer whether this process can serve people; missing workers are only a warning."""
    try:
        problems = list(_missing_migrations())
        warnings = [] if problems or live_workers().exists() else [NO_WORKER]
    except Error:
        # Without the reason, which may contain the server and its user.
        problems, warnings = ["The database does not answer."], []
    body = {"ready": not problems, "problems": problems, "warnings": warnings}
    return JsonResponse(body, status=503 if problems else 200)


def _missing_migrations() -> Iterator[str]:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        first = plan[0][0]
        number = "1 migration is" if len(plan) == 1 else f"{len(plan)} migrations are"
        yield (
            f"{number} not applied, first {first.app_label}.{first.name}."
            " Apply them: python manage.py migrate"
        )
