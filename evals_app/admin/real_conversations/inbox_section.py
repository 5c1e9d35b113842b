"""What the page of a set shows about what agents send to it, and the switch."""

from datetime import UTC, datetime

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from evals_app.admin.kit.pages import person
from evals_app.models import ConversationSet, SpanInbox
from evals_app.reports.words.imports import left_out_in_words
from evals_app.runs.recorded.daily_imports import IMPORTING
from evals_app.runs.recorded.received_spans import (
    MAX_MINUTES,
    address_of_inbox,
    save_inbox,
    waiting_in,
)


class InboxForm(forms.Form):
    """When a conversation has ended."""

    quiet_minutes = forms.IntegerField(
        label="Quiet minutes",
        min_value=1,
        max_value=MAX_MINUTES,
        initial=10,
        widget=UnfoldAdminIntegerFieldWidget(),
    )


def inbox_context(target: ConversationSet) -> dict[str, object]:
    """Return what the page of a set shows about what agents send."""
    row = SpanInbox.objects.filter(conversation_set=target).first()
    if row is None:
        return {"inbox": None, "inbox_form": InboxForm()}
    waiting, since = waiting_in(row)
    return {
        "inbox": row,
        "inbox_form": InboxForm({"quiet_minutes": row.quiet_minutes}),
        "inbox_address": address_of_inbox(target),
        "inbox_waiting": waiting,
        "inbox_since": None if since is None else datetime.fromtimestamp(since, UTC),
        "inbox_left_out": list(left_out_in_words(row.left_out)),
    }


@require_POST
@permission_required(IMPORTING, raise_exception=True)
def change_inbox(request: HttpRequest, pk: int) -> HttpResponse:
    """Take what agents send, change when a conversation has ended, or stop."""
    target = get_object_or_404(ConversationSet, pk=pk)
    form = InboxForm(request.POST)
    if form.is_valid():
        is_open = request.POST.get("action") != "stop"
        save_inbox(target, is_open=is_open, by=person(request), **form.cleaned_data)
    else:
        messages.error(request, f"Quiet minutes: a whole number from 1 to {MAX_MINUTES:,}.")
    return redirect(f"{reverse('admin:evals_app_conversationset_change', args=[pk])}#agents")
