"""A wizard that makes an agent from a curl command or an address, and a sample reply.

One page: paste, choose where the message, the answer and the tool calls are, test, use. Nothing is
stored before the agent is saved but a draft without keys, in the session. A developer's link opens
the same steps.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from pydantic import ValidationError

from evals_app.admin.agents.address_forms import AddressForm, PlacesForm
from evals_app.admin.agents.curl import CurlRequest
from evals_app.admin.agents.starting_cards import DRAFT, START
from evals_app.admin.conversation.transcripts import TurnLine, turn_lines
from evals_app.admin.kit.pages import form_data, page_context
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.agents.external.asking import ask_once, send_once
from evals_app.engine.agents.external.sending import OutgoingRequest, encode_fields, with_query
from evals_app.engine.basics.errors import AgentError, ConfigurationError
from evals_app.engine.record.trial import Trial
from evals_app.engine.specs.agent_spec import HttpAgent
from evals_app.models import Agent
from evals_app.requests.throttles import AgentTests, in_minutes
from fixtures_app.ground.spec_errors import messages_of
from fixtures_app.ground.storable import storable

EXAMPLE_REQUEST = """curl https://agent.example.org/chat \\
  -H 'Content-Type: application/json' \\
  -H 'X-Tenant: acme' \\
  -d '{"question": "Where is order 1042?", "session_id": "a1"}'"""
EXAMPLE_REPLY = """{"data": {"answer": "It arrives tomorrow.",
          "steps": [{"tool": "orders.find", "input": {"number": 1042}}]}}"""


@dataclass
class WizardPage:
    """What the page shows: the forms, and the result of a test."""

    form: AddressForm
    may_test: bool
    rate: AgentTests = field(default_factory=AgentTests)
    places: PlacesForm | None = None
    turn: TurnLine | None = None
    problem: str = ""  # why the agent could not be asked
    is_changed: bool = False  # the choices refer to another reply
    retry_after: str = ""

    @property
    def is_test(self) -> bool:
        """Whether a message was sent to check how Evalwell reads the reply."""
        return "test" in self.form.data

    @property
    def is_used(self) -> bool:
        """Whether a person has chosen all, and uses it."""
        return self.places is not None and self.places.is_valid() and "use" in self.form.data

    def to_mapping(self) -> dict[str, Any]:
        """Return the agent as a file would define it, without keys."""
        return self.form.to_mapping() | (self.places.to_mapping() if self.places else {})

    def response(
        self, request: HttpRequest, template: str, context: dict[str, object]
    ) -> HttpResponse:
        """Return the page; with status 429 if too much was asked."""
        response = render(request, template, context | {"page": self})
        if self.retry_after:
            response.status_code = 429
            response.headers["Retry-After"] = self.retry_after
        return response


def _draft(page: WizardPage) -> dict[str, Any]:
    """Return the initial values of the page that adds the agent, without any key."""
    written = page.to_mapping() | {"headers": page.form.header_values()}
    parts = {
        f"{part}_{key}": value
        for part in ("response", "stream")
        for key, value in (written.pop(part) or {}).items()
    }
    del written["slug"]
    return {"name": written.pop("agent"), **written, **parts}


@permission_required("evals_app.add_agent", raise_exception=True)
@sensitive_post_parameters("request", "key")
def from_address(request: HttpRequest) -> HttpResponse:
    """Read what a person pastes, ask the agent, and open the page that adds it."""
    page = WizardPage(AddressForm(form_data(request)), may_run(request))
    take_step(request, page)
    if page.is_used and page.places is not None:
        request.session[DRAFT] = _draft(page)
        for note in (*page.form.notes(), *page.places.notes()):
            messages.info(request, note)
        return redirect(f"{reverse('admin:evals_app_agent_add')}?{START}=address")
    context = page_context(request, Agent) | {
        "title": "My agent has a web address",
        "example_request": EXAMPLE_REQUEST,
        "example_reply": EXAMPLE_REPLY,
    }
    return page.response(request, "admin/evals_app/agents/address.html", context)


def take_step(request: HttpRequest, page: WizardPage) -> None:
    """Perform the action of the pressed button if the pasted text is valid."""
    posted = request.POST
    if not page.form.is_bound:
        return
    if {"send", "test"} & posted.keys() and not page.may_test:
        raise PermissionDenied
    if page.form.is_valid() and "send" in posted and _may_ask(request, page):
        _send(page)
    has_chosen = "chosen" in posted
    if not page.form.is_valid() or (page.problem and not has_chosen):
        return
    page.places = PlacesForm(page.form, posted if has_chosen else None)
    if has_chosen and not page.places.is_valid():
        page.places = PlacesForm(page.form)
        page.is_changed = True
    elif "test" in posted and _may_ask(request, page):
        _test(page, page.places)


def _may_ask(request: HttpRequest, page: WizardPage) -> bool:
    """Count a request to an agent; past the limit, the page shows when to try again."""
    if page.rate.allow_request(request, None):
        return True
    page.retry_after = page.rate.retry_after
    page.problem = f"Too many tests. Try again {in_minutes(page.rate.wait() or 1)}."
    return False


def _send(page: WizardPage) -> None:
    """Send the command unchanged, and put the answer into the form."""
    form = page.form
    try:
        text = async_to_sync(send_once)(
            form.curl_request.sent_method,
            _request_of(form.curl_request),
            headers=form.headers,
            keys=form.keys,
        )
    except (AgentError, ConfigurationError) as error:
        page.problem = storable(str(error))
    else:
        page.form = form.with_reply(storable(_readable(text)))


def _request_of(pasted: CurlRequest) -> OutgoingRequest:
    if pasted.sent_as == "query":
        return OutgoingRequest(with_query(pasted.url, pasted.body))
    if pasted.body is None:
        return OutgoingRequest(pasted.url)
    return encode_fields(pasted.url, pasted.body, pasted.sent_as)


def _readable(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def _test(page: WizardPage, places: PlacesForm) -> None:
    """Ask the agent through the driver, with what would be saved."""
    form = page.form
    try:
        agent = HttpAgent.model_validate(page.to_mapping())
        turn = async_to_sync(ask_once)(agent, places.test_message, keys=form.keys)
    except ValidationError as error:
        page.problem = " ".join(messages_of(error))
    except ConfigurationError as error:
        page.problem = storable(str(error))
    else:
        trial = Trial(case="", number=1, planned_turns=1, agent="", turns=(turn,))
        trial = Trial.from_json(
            storable(trial.to_json())
        )  # with the name that the page of a run uses
        (page.turn,) = turn_lines(trial, (), scale="0-1", known={})
