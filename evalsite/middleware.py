"""Headers of every response, the probes of load balancers and supervisors, and `security.txt`."""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.db import Error, connection, models
from django.db.migrations.executor import MigrationExecutor
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evals_app import API_VERSION
from evals_app.models import Activity
from evals_app.models.people.activity import Source, acts_from, note_act
from evals_app.models.people.profiles import zone_of
from evals_app.runs.ground.workers import live_workers

_CONTACT_VALID_FOR = timedelta(days=90)  # the standard asks for less than a year
_MIN_FREE_MB = 50
NO_WORKER = "No worker is alive, so runs wait. Start one: python manage.py worker"

# No 'unsafe-eval': static/unfold/js/alpine/ has the build of Alpine that interprets the expressions in
# attributes. A template must still never put text of an agent or a user into one.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; "
    "script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; "
    "object-src 'none'; "
    "base-uri 'none'; "
    "form-action 'self'; "
    "frame-ancestors 'none'"
)
# Swagger UI compiles functions when it starts, and shows nothing without. Nothing that people or agents wrote is on
# its page.
_POLICIES = {
    "/api/docs/": CONTENT_SECURITY_POLICY.replace(
        "script-src 'self'", "script-src 'self' 'unsafe-eval'"
    )
}


class ContentSecurityPolicy:
    """Let pages load from this site only, and send data only to it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request; a policy that a view sets itself is kept."""
        response = self.get_response(request)
        policy = _POLICIES.get(request.path, CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Content-Security-Policy", policy)
        return response


class PrivateAnswers:
    """Keep browsers and proxies from storing answers of the REST API: they contain conversations and prompts.

    Clients that send `If-None-Match` store the answer themselves.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request; a header that a view sets itself is kept."""
        response = self.get_response(request)
        if request.path.startswith("/api/"):
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class VersionOfApi:
    """Say the version of the REST API in each of its answers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        response = self.get_response(request)
        if request.path.startswith("/api/"):
            response.headers["API-Version"] = API_VERSION
        return response


@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """Answer that this process is alive, without using the database."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(_request: HttpRequest) -> JsonResponse:
    """Answer whether this process can serve requests; missing workers are only a warning."""
    try:
        problems = list(_missing_migrations())
        warnings = [] if problems or live_workers().exists() else [NO_WORKER]
    except Error:
        # Without the reason, which may contain the server and its user.
        problems, warnings = ["The database does not answer."], []
    problems += _full_disks()
    body = {"ready": not problems, "problems": problems, "warnings": warnings}
    return JsonResponse(body, status=503 if problems else 200)


@require_safe
def security_txt(_request: HttpRequest) -> HttpResponse:
    """Return whom to tell of a vulnerability, if the operator says so: RFC 9116."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    ends = (timezone.now() + _CONTACT_VALID_FOR).replace(microsecond=0)
    lines = [
        f"Contact: {settings.SECURITY_CONTACT}",
        f"Expires: {ends:%Y-%m-%dT%H:%M:%SZ}",
        "Preferred-Languages: en",
        f"Canonical: {settings.SITE.rstrip('/')}/.well-known/security.txt",
    ]
    return HttpResponse("\n".join([*lines, ""]), content_type="text/plain; charset=utf-8")


def _full_disks() -> Iterator[str]:
    """Find disks without room, or that do not answer; without their paths, as strangers read this."""
    disks = {"data directory": Path(settings.DATA_DIR)}
    if settings.IS_SQLITE:
        database = Path(settings.DATABASES["default"]["NAME"]).parent
        disks |= {"database": database} if database != settings.DATA_DIR else {}
    for name, folder in disks.items():
        try:
            free = shutil.disk_usage(folder).free
        except OSError:
            yield f"The disk of the {name} does not answer."
            continue
        if free < _MIN_FREE_MB * 1_000_000:
            yield f"The disk of the {name} is full: less than {_MIN_FREE_MB} MB are free. Make room."


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


class Probes:
    """Answer the probes before the Host is checked: load balancers call by IP address."""

    views = {"/healthz": healthz, "/readyz": readyz, "/.well-known/security.txt": security_txt}

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        return self.views.get(request.path_info, self.get_response)(request)


class PossibleIds:
    """Answer 404 for addresses with an id that no row can have.

    Unfold passes any text to the actions of a row; Django's own pages of a row handle it.
    """

    most = models.BigIntegerField.MAX_BIGINT
    own = frozenset({"change_view", "delete_view", "history_view"})

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, _: object, parts: Mapping[str, object]
    ) -> None:
        """Refuse the address.

        Raises:
            Http404: to people who are signed in; others are asked to sign in first.
        """
        if not self._is_possible(view, parts) and admin.site.has_permission(request):
            raise Http404

    def _is_possible(self, view: Any, parts: Mapping[str, Any]) -> bool:
        number = parts.get("pk", parts.get("object_id", 0))
        if isinstance(number, str):
            if view.__name__ in self.own:
                return True
            if not (number.isascii() and number.isdecimal()):
                return False
        return int(number) <= self.most


class NotedActs:
    """Note what people do: from where, downloads, and writes that left no other entry."""

    _roots = {"/api/": Activity.Origin.REST, "/mcp": Activity.Origin.MCP}

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        origins = (self._roots[root] for root in self._roots if request.path.startswith(root))
        writes = WriteWatch()
        with acts_from(next(origins, Activity.Origin.PAGE)) as source:
            with connection.execute_wrapper(writes):
                response = self.get_response(request)
            if response.status_code < HTTPStatus.BAD_REQUEST:
                self._note_rest(request, response, source, writes)
        return response

    @staticmethod
    def _note_rest(
        request: HttpRequest, response: HttpResponse, source: Source, writes: "WriteWatch"
    ) -> None:
        how, _, name = response.headers.get("Content-Disposition", "").partition("; filename=")
        if how == "attachment" and (name := name.strip('"')):
            note_act(Activity.Kind.DOWNLOADED, f"Downloaded {name}.", user=_signed_in(request))
        elif writes.tables and not source.acts and (user := _signed_in(request)):
            note_act(Activity.Kind.CHANGED, f"Wrote: {writes.in_words}.", user=user)


class WriteWatch:
    """The tables that a request writes, without those in which no person acts."""

    passed_over: ClassVar[Mapping[str, str]] = {
        "auth_user": "signing in writes when; forms of people leave entries of their own",
        "evals_app_signedinsession": "signing in and out, and ending sessions, are acts",
        "otp_": "unconfirmed keys and failed codes; turning it on and off are acts",
        "django_admin_log": "an entry is an act, or part of one",
        "axes_": "failed sign-ins are acts",
        "django_q_": "only wakes workers",
        "evals_app_activity": "the acts themselves",
        "evals_app_agentcall": "what a connected agent is asked and answers in a run",
        "evals_app_computer": "which computers are connected, said every few seconds",
        "evals_app_apitoken": "when it was last used; forms of tokens leave entries of their own",
        "evals_app_savedview": "a bookmark that only its person sees",
        "evals_app_tally": "counters for monitoring",
        "evals_app_trace": "spans that agents send",
    }
    _pattern = re.compile(r'(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM) "(\w+)"')

    def __init__(self) -> None:
        self.tables: dict[str, None] = {}

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: Any, context: Any
    ) -> Any:
        """Execute a statement."""
        result = execute(sql, params, many, context)
        # Whether something changed is known but for inserts, which always do.
        if sql.startswith("INSERT") or context["cursor"].rowcount:
            table = found[1] if (found := self._pattern.match(sql)) else ""
            if table and not table.startswith(tuple(self.passed_over)):
                self.tables[table] = None
        return result

    @property
    def in_words(self) -> str:
        """The names of the tables, as people read them."""
        names = {
            model._meta.db_table: str(model._meta.verbose_name)  # noqa: SLF001 - documented
            for model in apps.get_models(include_auto_created=True)
        }
        return ", ".join(names.get(table, table) for table in self.tables)


def _signed_in(request: HttpRequest) -> Any:
    return request.user if request.user.is_authenticated else None


class TimeZoneOfReader:
    """Show times in the time zone of the person who reads the page; REST has UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        if request.path.startswith("/api/"):
            return self.get_response(request)
        with timezone.override(zone_of(request.user) or timezone.get_default_timezone()):
            return self.get_response(request)
