"""Ask a developer how an agent is reached: a link, the page behind it, and what the agent's page says.

The link lends the right of its maker to name an address and to test it. What is not permitted to
them is not permitted to who has the link.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from django import forms
from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST
from pydantic import ValidationError
from unfold.widgets import UnfoldAdminTextInputWidget

from evals_app.admin.agents.address_forms import AddressForm, missing_key
from evals_app.admin.agents.address_wizard import (
    EXAMPLE_REPLY,
    EXAMPLE_REQUEST,
    WizardPage,
    take_step,
)
from evals_app.admin.kit.pages import form_data, page_context, secret_link_page
from evals_app.engine.basics.permits import FROZEN, permits
from evals_app.engine.specs.agent_spec import NOT_CONNECTED, AgentSpec
from evals_app.library.changes.edits import note_edit
from evals_app.library.saving import save_agent
from evals_app.models import Agent, DeveloperLink
from evals_app.models.people.names import shown_name
from evals_app.requests.throttles import AgentTests, Strangers, in_minutes
from evals_app.runs.ground.rights import RUNNING
from fixtures_app.editing.times import moment_text
from fixtures_app.ground.spec_errors import messages_of
from fixtures_app.ground.words import numbered_name, plain_name

ASKING = "evals_app.add_agent"
_SLUG_LENGTH = 100


class AskForm(forms.Form):
    """What the agent is called."""

    name = forms.CharField(
        max_length=200,
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True}),
        label="Name of the agent",
        help_text="Your developer sees it, too.",
    )


@permission_required(ASKING, raise_exception=True)
def ask_developer(request: HttpRequest) -> HttpResponse:
    """Make an agent that waits for its developer, and a link for them."""
    form = AskForm(form_data(request))
    if form.is_valid():
        with transaction.atomic():
            agent = _waiting_agent(form.cleaned_data["name"])
            note = "Added, and made a link for its developer."
            note_edit(agent, user=request.user, note=note, is_new=True)
            return _new_link(request, agent)
    context = page_context(request, Agent) | {"title": "Ask your developer", "form": form}
    return render(request, "admin/evals_app/agents/ask_developer.html", context)


def _waiting_agent(name: str) -> Agent:
    taken = Agent.objects.values_list("slug", flat=True)
    slug = numbered_name(slugify(plain_name(name)) or "agent", taken, length=_SLUG_LENGTH)
    written = {"agent": name, "slug": slug, "driver": "scripted"}
    save_agent(AgentSpec.model_validate(written | {"rules": [{"error": NOT_CONNECTED}]}))
    return Agent.objects.get(slug=slug)


def _new_link(request: HttpRequest, agent: Agent) -> HttpResponse:
    link, token = DeveloperLink.make(agent, by=request.user)
    return secret_link_page(
        request,
        "admin/evals_app/agents/developer_link.html",
        page_context(request, Agent, agent) | {"agent": agent},
        link=reverse("admin:connect_agent", args=[link.pk, token]),
        ends_at=link.ends_at,
    )


@require_POST
@permission_required(ASKING, raise_exception=True)
@transaction.atomic
def change_link(request: HttpRequest, pk: int) -> HttpResponse:
    """Replace the link of an agent that waits for its developer, or withdraw it."""
    agent = get_object_or_404(Agent.objects.select_for_update(), pk=pk)
    if request.POST.get("do") == "renew" and agent.is_waiting:
        note_edit(agent, user=request.user, note="Made a new link for its developer.")
        return _new_link(request, agent)
    link = DeveloperLink.objects.filter(agent=agent).first()
    if link is not None:
        if link.answered_at is None:
            note_edit(agent, user=request.user, note="Withdrew the link for its developer.")
        link.delete()
    return redirect("admin:evals_app_agent_change", pk)


# On the page of the agent


@dataclass(frozen=True, slots=True)
class DeveloperNote:
    """What the page of an agent says about its developer."""

    link: DeveloperLink | None
    is_waiting: bool
    keys: tuple[str, ...] = ()  # what an administrator has still to set

    @property
    def asked_by(self) -> str:
        return shown_name(self.link.made_by) if self.link else ""


def developer_note(agent: Agent) -> DeveloperNote | None:
    """Return what to say; None if no developer was asked."""
    if not agent.is_waiting and agent.driver != "http":
        return None
    of_agent = DeveloperLink.objects.filter(agent=agent).select_related("made_by", "agent")
    link = of_agent.first()
    if agent.is_waiting:
        return DeveloperNote(link, is_waiting=True)
    if link is None or link.answered_at is None:
        return None
    return DeveloperNote(link, is_waiting=False, keys=tuple(_missing_keys(agent)))


def _missing_keys(agent: Agent) -> Iterator[str]:
    """Yield what an administrator has still to set: answers have no keys."""
    for name, value in agent.connection.get("headers", {}).items():
        variable = "" if isinstance(value, str) else value["env"]
        if variable and not (permits().variable(variable) and os.environ.get(variable)):
            yield missing_key(name, variable)


# Behind the link


@never_cache
@sensitive_post_parameters("request", "key")
def connect_agent(request: HttpRequest, pk: int, token: str) -> HttpResponse:
    """Ask a developer how an agent is reached, and fill it in with their answer."""
    rate = Strangers()
    if not rate.allow_request(request, None):
        wait = f"Too many requests. Try again {in_minutes(rate.wait() or 1)}."
        response = _closed_page(request, wait, status=429)
        response.headers["Retry-After"] = rate.retry_after
        return response
    link = DeveloperLink.objects.select_related("agent", "made_by").filter(pk=pk).first()
    if link is None or not link.has_token(token) or not link.is_open:
        return _closed_page(request, _why_closed(link, token), status=410)
    form = AddressForm(form_data(request), agent=link.agent)
    page = WizardPage(form, link.made_by.has_perms(RUNNING), AgentTests(link.pk))
    take_step(request, page)
    if page.is_used and _is_filled_in(page, link, token):
        return redirect(request.path)  # which says that the link was used
    context = admin.site.each_context(request) | {
        "title": f"How is “{link.agent.name}” reached?",
        "link": link,
        "asked_by": shown_name(link.made_by),
        "notes": page.places.notes() if page.places and page.places.is_valid() else (),
        "example_request": EXAMPLE_REQUEST,
        "example_reply": EXAMPLE_REPLY,
    }
    return page.response(request, "admin/evals_app/agents/connect.html", context)


def _closed_page(request: HttpRequest, why: str, *, status: int) -> HttpResponse:
    context = admin.site.each_context(request) | {"title": "Connect an agent", "closed": why}
    return render(request, "admin/evals_app/agents/connect.html", context, status=status)


def _why_closed(link: DeveloperLink | None, token: str) -> str:
    """Explain to who has a link why it does not work; who guesses learns nothing."""
    if link is None or not link.has_token(token):
        return "This link does not work. It was withdrawn, or a newer one replaced it."
    asked_by = shown_name(link.made_by)
    if link.answered_at is not None:
        return (
            f"Thank you. An answer arrived, and {asked_by} can test the agent now. The link takes one: "
            "what is sent later is not used."
        )
    if link.has_ended:
        return f"This link worked until {moment_text(link.ends_at)}. Ask {asked_by} for a new one."
    return f"This link does not work any more. Ask {asked_by} if you still want to answer."


@transaction.atomic
def _is_filled_in(page: WizardPage, link: DeveloperLink, token: str) -> bool:
    """Fill in the agent, unless the link has ended a moment ago; false if the answer does not fit."""
    written: dict[str, object] = page.to_mapping() | {"description": link.agent.description}
    try:
        AgentSpec.model_validate(written)
        # Which variables may be sent where is checked again whenever one is sent.
        spec = AgentSpec.model_validate(
            written | {"headers": page.form.header_values()}, context=FROZEN
        )
    except ValidationError as error:
        page.problem = " ".join(messages_of(error))
        return False
    locked = DeveloperLink.objects.select_for_update().select_related("agent", "made_by")
    now = locked.filter(pk=link.pk).first()
    if now is not None and now.has_token(token) and now.is_open:
        save_agent(spec)
        now.answered_at = timezone.now()
        now.save(update_fields=["answered_at"])
        note = f"Filled in by its developer, with the link that {now.made_by} made."
        note_edit(now.agent, user=now.made_by, note=note)
    return True
