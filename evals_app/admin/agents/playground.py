"""The playground: each message to an agent is a try, and the page waits for its reply."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from evals_app.admin.conversation.transcripts import TurnLine, readable_trial, turn_lines
from evals_app.admin.kit.pages import page_context
from evals_app.admin.kit.presentation import tokens
from evals_app.admin.runs.run_progress import running_line
from evals_app.engine.basics.template import plain
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.specs.agent_spec import OUTSIDE
from evals_app.formats.snapshots.run_snapshot import read_case
from evals_app.models import Agent, Execution, SnapshotCase, Transcript
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.ground.workers import live_workers
from evals_app.runs.playground import Exchanged, start_talk, takes_fixture
from evals_app.runs.starting.freeze import CannotStartError
from fixtures_app.models import Fixture

MAX_MESSAGES = 50
TALKING = (*RUNNING, "evals_app.view_agent")
_MAX_CHARS = 20_000


class PlaygroundForm(forms.Form):
    """The next message."""

    message = forms.CharField(
        max_length=_MAX_CHARS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "autofocus": True}),
        label="Your message",
        error_messages={"required": "Write a message."},
    )
    fixture = forms.ModelChoiceField(
        Fixture.objects.none(),
        required=False,
        widget=UnfoldAdminSelectWidget,
        empty_label="No test data",
        label="Test data",
        help_text="The data that its tools use. Each reply of a model starts with a fresh copy.",
    )

    def __init__(self, request: HttpRequest, agent: Agent, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if takes_fixture(agent) and request.user.has_perm("fixtures_app.view_fixture"):
            choice: Any = self.fields["fixture"]
            choice.queryset = Fixture.objects.with_namesakes().order_by("name")
        else:
            del self.fields["fixture"]


@dataclass(frozen=True, slots=True)
class PlaygroundMessage:
    """A message and its outcome."""

    execution: Execution
    user: str
    turn: TurnLine | None
    reply: str
    problem: str
    doing: str

    @property
    def is_open(self) -> bool:
        return self.execution.run.is_open

    @property
    def has_reply(self) -> bool:
        return bool(self.reply.strip()) and not self.problem


class Playground:
    """The conversation of a person with an agent, kept in their session."""

    def __init__(self, request: HttpRequest, agent: Agent) -> None:
        self._session = request.session
        self._key = f"talk-{agent.pk}"
        self._by = request.user.pk

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._session.get(self._key, {})
        return state

    def add(self, run: int, fixture: Fixture | None) -> None:
        runs = [*self.state.get("runs", []), run][-MAX_MESSAGES:]
        self._session[self._key] = {"runs": runs, "fixture": fixture.pk if fixture else None}

    def forget(self) -> None:
        self._session.pop(self._key, None)

    def lines(self) -> list[PlaygroundMessage]:
        """Return every message with its reply."""
        runs = self.state.get("runs", [])
        rows = Execution.objects.filter(run__in=runs, run__created_by=self._by)
        executions = list(rows.select_related("run").order_by("run_id"))
        stored = Transcript.objects.in_bulk([execution.pk for execution in executions])
        return [_line(execution, stored.get(execution.pk)) for execution in executions]


def _line(execution: Execution, stored: Transcript | None) -> PlaygroundMessage:
    turns = turn_lines(readable_trial(stored), (), scale=execution.run.score_scale, known={})
    turn = turns[-1] if turns and turns[-1].record else None
    record = turn.record if turn else None
    doing = ""
    if execution.status == Execution.Status.RUNNING:
        doing = running_line(execution).doing
    problem = ""
    if record is None and not execution.run.is_open:
        problem = execution.reason or "The run ended before the agent was asked."
    if record is not None and record.error:
        problem = record.error
    user = record.user if record else _message_of(execution)
    return PlaygroundMessage(execution, user, turn, record.reply if record else "", problem, doing)


def _message_of(execution: Execution) -> str:
    """Return the message of a run that has no transcript yet."""
    case = SnapshotCase.objects.filter(snapshot=execution.run.snapshot_id).first()
    return plain(read_case(case.content).turns[-1].user) if case else ""


def _before(lines: Iterable[PlaygroundMessage]) -> Iterator[Exchanged]:
    """Return the answered messages; a failed turn is left out of the next one."""
    return (Exchanged(line.user, line.reply) for line in lines if line.has_reply)


def _usage_line(lines: Sequence[PlaygroundMessage]) -> str:
    """Return tokens and cost of the replies together."""
    done = [line.execution for line in lines if not line.is_open]
    if not done or all(execution.run.is_scripted for execution in done):
        return ""
    prompt = [execution.agent_prompt_tokens for execution in done]
    response = [execution.agent_response_tokens for execution in done]
    costs = [execution.agent_cost_usd for execution in done]
    known = [cost for cost in costs if cost is not None]
    cost = usd_text(sum(known, Decimal(0)) if len(known) == len(costs) else None)
    return f"{tokens(_total(prompt), _total(response))} tokens, cost {cost}"


def _total(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


@permission_required(TALKING, raise_exception=True)
def talk(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the conversation, and send the next message."""
    agent = get_object_or_404(Agent, pk=pk)
    playground = Playground(request, agent)
    here = reverse("admin:evals_app_agent_talk", args=[agent.pk])
    if request.method == "POST" and "reset" in request.POST:
        playground.forget()
        return redirect(here)
    lines = playground.lines()
    posted = request.POST if request.method == "POST" else None
    form = PlaygroundForm(
        request, agent, posted, initial={"fixture": playground.state.get("fixture")}
    )
    if posted is not None and _send(request, agent, form, playground, lines):
        return redirect(here)
    context = page_context(request, Agent, agent) | {
        "title": "Talk to it",
        "agent": agent,
        "form": form,
        "is_paid": not agent.is_scripted,
        "is_outside": agent.driver in OUTSIDE,
        **_conversation(lines),
    }
    return render(request, "admin/evals_app/agents/playground/page.html", context)


@never_cache
def talk_live(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the conversation while a reply is awaited."""
    if not (admin.site.has_permission(request) and request.user.has_perms(TALKING)):
        return HttpResponse(status=403, headers={"HX-Refresh": "true"})
    agent = get_object_or_404(Agent, pk=pk)
    context = _conversation(Playground(request, agent).lines()) | {
        "agent": agent,
        "is_poll": True,
    }
    return render(request, "admin/evals_app/agents/playground/live.html", context)


def _conversation(lines: Sequence[PlaygroundMessage]) -> dict[str, object]:
    is_open = any(line.is_open for line in lines)
    return {
        "lines": lines,
        "is_open": is_open,
        # The last message includes the earlier ones.
        "answered": lines[-1].execution if lines and lines[-1].has_reply else None,
        "has_workers": not is_open or bool(live_workers()),
        "spent": _usage_line(lines),
    }


def _send(
    request: HttpRequest,
    agent: Agent,
    form: PlaygroundForm,
    talk: Playground,
    lines: Sequence[PlaygroundMessage],
) -> bool:
    """Send the message of a form; if that is not possible, the form shows why."""
    if not form.is_valid():
        return False
    if any(line.is_open for line in lines):
        form.add_error("message", "The agent is still answering. Send this when it has.")
        return False
    if len(lines) >= MAX_MESSAGES:
        form.add_error("message", f"This conversation has {MAX_MESSAGES} messages. Start over.")
        return False
    fixture = form.cleaned_data.get("fixture")
    person: Any = request.user
    try:
        run = start_talk(
            agent,
            form.cleaned_data["message"],
            before=list(_before(lines)),
            fixture=fixture,
            by=person,
        )
    except CannotStartError as error:
        for problem in error.problems:
            form.add_error("message", problem)
        return False
    talk.add(run.pk, fixture)
    return True
