"""Webhooks in the admin: addresses that get messages when runs end, and what was sent to them."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_POST
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextInputWidget

from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.pages import page_context
from evals_app.admin.kit.permissions import NotesEachDeletion
from evals_app.admin.kit.presentation import badge
from evals_app.engine.basics.permits import permits
from evals_app.engine.network.addresses import reach_problem
from evals_app.library.changes.edits import note_edit
from evals_app.models import Activity, Delivery, Suite, Webhook
from evals_app.models.people.activity import note_act
from evals_app.runs.notices import LOST_ADDRESS, TESTED, send_again, send_test
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.editing.times import moment

SHOWN = 50  # deliveries on the page
WISHES = ("on_end", "on_failure", "on_worse", "on_growth")
_SIGNS = {
    Delivery.State.WAITING: "queued",
    Delivery.State.DELIVERED: "passed",
    Delivery.State.FAILED: "failed",
    Delivery.State.DROPPED: "none",
}
_may_change = permission_required("evals_app.change_webhook", raise_exception=True)


class WebhookForm(forms.ModelForm):
    """Where messages go and about what. The address is never shown again, because it may be a secret."""

    url = forms.CharField(
        required=False,
        max_length=2000,
        label="Address",
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    suites = forms.ModelMultipleChoiceField(
        Suite.objects.none(),
        required=False,
        widget=Choices(is_short=True),
        label="Suites",
        help_text="Leave blank for all suites.",
    )

    class Meta:
        model = Webhook
        fields = ("name", "url", "format", *WISHES, "suites", "is_enabled")
        labels = {"is_enabled": "Enabled"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "suites" not in self.fields:  # read-only pages have none
            return
        suites: Any = self.fields["suites"]
        # Chosen suites that were archived stay: with none chosen, the hook would cover all suites.
        chosen = self.instance.suites.values("pk") if self.instance.pk else []
        suites.queryset = Suite.objects.filter(Q(archived_at=None) | Q(pk__in=chosen)).order_by(
            "name", "slug"
        )
        self.initial["url"] = ""
        self.fields["url"].required = not self.instance.url
        self.fields["url"].help_text = (
            f"The current address is at {self.instance.host}. Leave blank to keep it."
            if self.instance.url
            else LOST_ADDRESS
            if self.instance.pk
            else "It may contain a secret: it is encrypted, and after saving, pages show only its host."
        )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"].strip()
        if not url and self.instance.url:
            return self.instance.url
        if problem := reach_problem(url, permitted=permits().hosts):
            raise forms.ValidationError(problem)
        return url

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if not any(cleaned.get(wish) for wish in WISHES):
            self.add_error(WISHES[0], "Choose at least one of these.")
        return cleaned


@admin.register(Webhook)
class WebhookAdmin(NotesEachDeletion):
    """Webhooks, their deliveries and a test."""

    form = WebhookForm
    change_form_template = "admin/evals_app/site/webhooks/page.html"
    list_display = ["name", "host", "show_format", "hears_of", "last", "is_enabled"]
    search_fields = ["name"]
    ordering = ["name", "pk"]
    when_empty = (
        "A webhook sends a message to a program or a chat when a run ends, does not pass, or has a"
        " case that is worse than in the released version, and when something goes wrong more often"
        " in real conversations."
    )
    fieldsets = [
        (None, {"fields": ["name", "url", "format"]}),
        ("Send a message when", {"fields": [*WISHES, "suites", "is_enabled"]}),
    ]

    class Media:
        css = {"all": ["evals_app/conversation/review.css", "fixtures_app/rows.css"]}

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Webhook]:
        latest = Delivery.objects.exclude(state=Delivery.State.DROPPED).order_by("-pk")[:1]
        hooks: QuerySet[Webhook] = super().get_queryset(request)
        return hooks.prefetch_related(Prefetch("deliveries", latest, to_attr="latest"))

    @display(description="Host")
    def host(self, hook: Webhook) -> str:
        return hook.host or "unreadable"

    @display(description="Format")
    def show_format(self, hook: Webhook) -> str:
        return hook.format.upper() if hook.format == Webhook.Format.JSON else "Chat"

    @display(description="When a")
    def hears_of(self, hook: Webhook) -> str:
        words = {
            "on_end": "run ends",
            "on_failure": "run does not pass",
            "on_worse": "case is worse",
            "on_growth": "group grows",
        }
        return ", ".join(word for wish, word in words.items() if getattr(hook, wish))

    @display(description="Last message")
    def last(self, hook: Webhook) -> SafeString | str:
        latest: list[Delivery] = hook.latest  # type: ignore[attr-defined]  # by get_queryset
        return format_html("<div>{}</div>", _sign(latest[0])) if latest else ""

    @display(description="Enabled", boolean=True)
    def is_enabled(self, hook: Webhook) -> bool:
        return hook.is_enabled

    # The page

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        if (hook := context.get("original")) is not None:
            rows = hook.deliveries.exclude(state=Delivery.State.DROPPED).select_related("run")
            context["deliveries"] = [
                {"row": row, "sign": _sign(row), "is_over": row.state != Delivery.State.WAITING}
                for row in rows.defer("run__summary").order_by("-pk")[:SHOWN]
            ]
        return super().render_change_form(request, context, *args, **kwargs)

    def response_add(
        self, request: HttpRequest, obj: Webhook, post_url_continue: str | None = None
    ) -> HttpResponse:
        if obj.format == Webhook.Format.SLACK:
            return redirect("admin:evals_app_webhook_change", obj.pk)
        return redirect("admin:evals_app_webhook_secret", obj.pk)


# Its other pages


@require_http_methods(["GET", "POST"])
@_may_change
def show_secret(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the key that signs; a POST makes a new one."""
    hook = get_object_or_404(Webhook, pk=pk)
    if request.method == "POST":
        hook.renew_secret()
        hook.save(update_fields=["nonce"])
        note_edit(hook, user=request.user, note="Made a new signing secret.")
        messages.success(request, "Messages are signed with the new secret from now on.")
        return redirect("admin:evals_app_webhook_secret", hook.pk)
    note_act(Activity.Kind.SECRET, "Saw the signing secret.", user=request.user, row=hook)
    context = page_context(request, Webhook, hook) | {"title": "Signing secret", "hook": hook}
    page = render(request, "admin/evals_app/site/webhooks/secret.html", context)
    page.headers["Cache-Control"] = "no-store"
    return page


@require_POST
@_may_change
def try_webhook(request: HttpRequest, pk: int) -> HttpResponse:
    """Send a message about a made-up run."""
    hook = get_object_or_404(Webhook, pk=pk)
    note_edit(hook, user=request.user, note=TESTED)
    delivery = send_test(hook)
    if delivery.state == Delivery.State.DELIVERED:
        messages.success(request, f"{hook.host} accepted the test (status {delivery.status_code}).")
    else:
        messages.error(request, f"The test was not delivered. {_why(delivery)}")
    return redirect("admin:evals_app_webhook_change", hook.pk)


@require_POST
@_may_change
def deliver_again(request: HttpRequest, pk: int, delivery: int) -> HttpResponse:
    """Send a message again."""
    hook = get_object_or_404(Webhook, pk=pk)
    row = get_object_or_404(hook.deliveries, pk=delivery)
    if send_again(row):
        note_edit(hook, user=request.user, note=f"Sent message {row.message_id} again.")
        messages.success(request, "A worker will send it again in a moment.")
    else:
        messages.warning(request, "This message is still being sent.")
    return redirect("admin:evals_app_webhook_change", hook.pk)


def _sign(delivery: Delivery) -> SafeString:
    """Return the state of a delivery, when it was tried last, and what the receiver said."""
    return format_html(
        "{} {} {}",
        badge(_SIGNS[Delivery.State(delivery.state)], word=delivery.get_state_display()),
        moment(delivery.attempted_at or delivery.created_at),
        "" if delivery.state == Delivery.State.DELIVERED else _why(delivery),
    )


def _why(delivery: Delivery) -> str:
    status = f"The answer had status {delivery.status_code}." if delivery.status_code else ""
    answer = f"Answer: {delivery.answer}" if delivery.answer else ""
    return " ".join(filter(None, [delivery.problem, status, answer]))
