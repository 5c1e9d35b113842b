"""Webhooks over REST: list, create, read, change, delete, test; what was sent, and sending it again."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from pydantic import Field, model_validator
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.engine.basics.permits import permits, refuse_if
from evals_app.engine.network.addresses import reach_problem
from evals_app.engine.specs.base_spec import Slug, Spec
from evals_app.library.changes.edits import note_deletion, note_edit
from evals_app.models import Delivery, Suite, Webhook
from evals_app.reports.answers.run_answers import Answer
from evals_app.reports.renderers.notices import message_type
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import Nothing, no_such, read_body
from evals_app.requests.endpoint import (
    Endpoint,
    ListEndpoint,
    OneEndpoint,
    describe_get,
    describe_patch,
    find_or_404,
    new_response,
    responses,
)
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import RefusedError, error_at
from evals_app.runs.notices import TESTED, send_again, send_test
from fixtures_app.ground.strict_json import JsonObject

VIEW = Need(Scope.READ, "evals_app.view_webhook")


def _need(what: str) -> Need:
    return Need(Scope.AUTHOR, f"evals_app.{what}_webhook")


class WebhookAnswer(Answer):
    """A webhook. Its address may be a secret, so only the host is shown."""

    id: int
    name: str
    host: str = Field(description="Empty: no secret key of the site opens the address.")
    format: Literal["json", "slack"]
    on_end: bool
    on_failure: bool
    on_worse: bool
    on_growth: bool
    suites: list[str] = Field(description="Slugs; empty: all suites.")
    is_enabled: bool
    created_at: datetime
    updated_at: datetime


class NewWebhook(WebhookAnswer):
    """A webhook that was created."""

    secret: str | None = Field(description="Signs its messages; null for chats.")


class DeliveryAnswer(Answer):
    """A message, and what came of it."""

    id: int
    message_id: str = Field(description="The header webhook-id of every attempt.")
    run: int | None = Field(description="null: a test.")
    event: Literal["run.ended", "run.failed", "run.worse", "group.grew", "test"] | None = Field(
        description="The `type` of the message; null until it is written."
    )
    state: Literal["waiting", "delivered", "failed", "dropped"]
    attempts: int
    next_at: datetime | None
    attempted_at: datetime | None
    status_code: int | None = Field(description="Of the last attempt.")
    answer: str | None = Field(description="Its beginning; null for hosts in private networks.")
    problem: str | None
    body: str | None = Field(description="What is sent, as text.")
    created_at: datetime


_Url = Annotated[
    str,
    Field(max_length=2000),
    refuse_if(lambda url: reach_problem(url, permitted=permits().hosts)),
]


class WriteWebhook(Spec):
    """A whole webhook: what is left out gets its default."""

    name: str = Field(min_length=1, max_length=200)
    url: _Url | None = Field(
        default=None, description="Needed to create one; null keeps what is stored."
    )
    format: Literal["json", "slack"] = "json"
    on_end: bool = Field(default=False, description="A run has ended.")
    on_failure: bool = Field(default=True, description="A run did not pass.")
    on_worse: bool = Field(
        default=True, description="A case is worse than in the released version."
    )
    on_growth: bool = Field(
        default=True, description="A group of real conversations grew beyond chance."
    )
    suites: list[Slug] = Field(default_factory=list, max_length=100, description="Empty: all.")
    is_enabled: bool = True

    @model_validator(mode="after")
    def _wants_something(self) -> "WriteWebhook":
        if not (self.on_end or self.on_failure or self.on_worse or self.on_growth):
            raise ValueError("One of on_end, on_failure, on_worse and on_growth must be true.")
        return self


@describe_get("webhooks_list", "List webhooks")
class Webhooks(ListEndpoint):
    """All webhooks, newest first."""

    needs: ClassVar = {"GET": VIEW, "POST": _need("add")}
    queryset = Webhook.objects.prefetch_related("suites")
    answer = WebhookAnswer

    def row_json(self, row: Webhook) -> JsonObject:
        return _answer(row)

    @extend_schema(
        operation_id="webhooks_create",
        summary="Create a webhook; the answer has its signing secret",
        request=WriteWebhook,
        responses=responses(NewWebhook, status=201),
    )
    def post(self, request: Request) -> Response:
        hook = _write(Webhook(), request.data, user_of(request))
        secret = hook.secret if hook.format == Webhook.Format.JSON else None
        answer = NewWebhook.of_object(hook, suites=_suites(hook), secret=secret)
        return new_response(answer, "webhook", hook.pk)


@describe_get("webhooks_get", "Read a webhook", 404)
class OneWebhook(OneEndpoint):
    """One webhook."""

    needs: ClassVar = {
        "GET": VIEW,
        "PUT": _need("change"),
        "PATCH": _need("change"),
        "DELETE": _need("delete"),
    }
    model = Webhook
    answer = WebhookAnswer

    def read(self, key: int) -> JsonObject:
        return _answer(_find(key))

    @extend_schema(
        operation_id="webhooks_replace",
        summary="Change a webhook",
        request=WriteWebhook,
        responses=responses(WebhookAnswer, 404),
    )
    def put(self, request: Request, pk: int) -> Response:
        return Response(_answer(_write(_find(pk), request.data, user_of(request))))

    @describe_patch("webhooks", "a webhook", WebhookAnswer)
    def patch(self, request: Request, pk: int) -> Response:
        hook = _find(pk)
        known = _answer(hook)
        stored = {key: known[key] for key in WriteWebhook.model_fields if key in known}
        return Response(_answer(_write(hook, self.merge_body(request, stored), user_of(request))))

    @extend_schema(
        operation_id="webhooks_delete",
        summary="Delete a webhook and the record of its messages",
        responses=responses(None, 404, status=204),
    )
    def delete(self, request: Request, pk: int) -> Response:
        hook = _find(pk)
        with transaction.atomic():
            note_deletion(hook, user=request.user)
            hook.delete()
        return Response(status=204)


class TestWebhook(Endpoint):
    """A test of a webhook."""

    __test__ = False  # not for pytest
    needs: ClassVar = {"POST": _need("change")}

    @extend_schema(
        operation_id="webhooks_test",
        summary="Send a test about a made-up run; the answer has the result",
        request=None,
        responses=responses(DeliveryAnswer, 404),
    )
    def post(self, request: Request, pk: int) -> Response:
        read_body(Nothing, request.data)
        hook = _find(pk)
        note_edit(hook, user=request.user, note=TESTED)
        return Response(_delivery(send_test(hook)))


@describe_get("webhooks_deliveries", "List the messages of a webhook", 404)
class Deliveries(ListEndpoint):
    """What was sent to a webhook, newest first."""

    needs: ClassVar = {"GET": VIEW}
    queryset = Delivery.objects.none()  # for the schema
    answer = DeliveryAnswer

    def get_queryset(self) -> QuerySet[Delivery]:
        return _find(self.kwargs["pk"]).deliveries.all()

    def row_json(self, row: Delivery) -> JsonObject:
        return _delivery(row)


class SendAgain(Endpoint):
    """A message to send once more."""

    needs: ClassVar = {"POST": _need("change")}

    @extend_schema(
        operation_id="webhooks_send_again",
        summary="Send a message again, with the same id",
        description="This does nothing if the message is still being sent.",
        request=None,
        responses=responses(DeliveryAnswer, 404),
    )
    def post(self, request: Request, pk: int, delivery: int) -> Response:
        read_body(Nothing, request.data)
        hook = _find(pk)
        row = find_or_404(hook.deliveries.all(), pk=delivery)
        if send_again(row):
            note = f"Sent message {row.message_id} again."
            note_edit(hook, user=request.user, note=note)
        row.refresh_from_db()
        return Response(_delivery(row))


def _find(pk: int) -> Webhook:
    return find_or_404(Webhook.objects.all(), pk=pk)


def _write(hook: Webhook, data: object, user: User) -> Webhook:
    """Store what a request contains; a missing address and unknown suites are refused."""
    is_new = hook.pk is None
    body = read_body(WriteWebhook, data)
    suites = list(Suite.objects.filter(slug__in=body.suites))
    errors = [
        no_such(f"suites[{number}]", slug, Suite.objects.all(), user)
        for number, slug in enumerate(body.suites)
        if slug not in {suite.slug for suite in suites}
    ]
    if body.url is None and is_new:
        errors.append(error_at("url", "Enter the address that messages go to."))
    if errors:
        raise RefusedError(errors[0]["message"], errors=errors)
    for name in ("name", "format", "on_end", "on_failure", "on_worse", "on_growth", "is_enabled"):
        setattr(hook, name, getattr(body, name))
    hook.url = body.url or hook.url
    with transaction.atomic():  # without its suites it would hear of all
        hook.save()
        hook.suites.set(suites)
        note_edit(hook, user=user, note="Written over REST.", is_new=is_new)
    return hook


def _suites(hook: Webhook) -> list[str]:
    return sorted(suite.slug for suite in hook.suites.all())


def _answer(hook: Webhook) -> JsonObject:
    return WebhookAnswer.of_object(hook, suites=_suites(hook))


def _delivery(row: Delivery) -> JsonObject:
    texts = {name: getattr(row, name) or None for name in ("answer", "problem", "body")}
    event = message_type(row.event) if row.event else None
    return DeliveryAnswer.of_object(
        row, run=row.run_id, message_id=str(row.message_id), event=event, **texts
    )
