"""What a new agent may begin with: the page before its form asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from evals_app.admin.agents.connected import connect_command
from evals_app.models import Agent

START = "start"  # the parameter of the address
DRAFT = "agent-from-address"  # key of the session


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """An answer to "What is your agent?", and what it fills in; `command` is what its computer runs."""

    title: str
    text: str
    icon: str
    initial: Mapping[str, object] = field(default_factory=dict)
    command: str = ""


_ORDER_TOOL = {
    "name": "orders.find",
    "description": "Finds an order by its number.",
    "parameters": {
        "type": "object",
        "properties": {"number": {"type": "string", "description": "The number of the order"}},
        "required": ["number"],
    },
    "rules": [
        {"when": {"number": "1042"}, "result": {"status": "shipped"}},
        {"error": "There is no such order."},
    ],
}
STARTING_POINTS: Mapping[str, StartingPoint] = {
    "model": StartingPoint(
        "A model with a prompt",
        "You write the instructions here, and choose a model and its tools.",
        "psychology",
        {
            "name": "Order assistant",
            "driver": "model",
            "system_prompt": "You are {{agentName}}, the assistant of a shop. Answer briefly. Look "
            "orders up before you answer questions about them.",
            "own_tools": [_ORDER_TOOL],
        },
    ),
    "scripted": StartingPoint(
        "I just want to try",
        "An order desk that answers by rules. It costs nothing and needs no key.",
        "science",
        {
            "name": "Order bot",
            "driver": "scripted",
            "own_tools": [_ORDER_TOOL],
            "rules": [
                {
                    "when": "1042",
                    "calls": [{"tool": "orders.find", "args": {"number": "1042"}}],
                    "reply": "Order 1042 has {{result.1.status}}.",
                },
                {"reply": "Which order do you mean?"},
            ],
        },
    ),
}


def starting_values(request: HttpRequest) -> dict[str, object]:
    """Return what the chosen starting point, or the wizard, fills into a new agent."""
    chosen = request.GET.get(START, "")
    if chosen == "address":
        return dict(request.session.get(DRAFT, {}))
    if chosen == "computer":
        return dict(_on_a_computer().initial)
    return dict(STARTING_POINTS[chosen].initial) if chosen in STARTING_POINTS else {}


def _on_a_computer() -> StartingPoint:
    """Return the starting point of an agent that no server can reach, with the command for it."""
    base = "my-agent"
    taken = set(Agent.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    slugs = (f"{base}-{number}" if number > 1 else base for number in count(1))
    slug = next(slug for slug in slugs if slug not in taken)
    return StartingPoint(
        "It runs on my computer",
        "No address is needed: your computer connects, fetches the messages and sends the replies. Add "
        "the agent, then run there:",
        "computer",
        {"name": slug.replace("-", " ").capitalize(), "slug": slug, "driver": "connected"},
        connect_command(slug),
    )


def asks_first(request: HttpRequest) -> bool:
    """Whether someone opens the form of a new agent without having said what it is."""
    return request.method == "GET" and not request.GET


def start_page(request: HttpRequest, context: dict[str, object]) -> HttpResponse:
    """Ask what the new agent is."""
    add = reverse("admin:evals_app_agent_add")
    address = StartingPoint(
        "It has a web address",
        "Your own agent runs elsewhere. Evalwell sends it what a customer says, and reads the reply.",
        "language",
    )
    developer = StartingPoint(
        "Ask your developer",
        "Someone else knows how it is reached. Send them a link; they need no account.",
        "link",
    )
    points = [
        (address, reverse("admin:evals_app_agent_address")),
        (developer, reverse("admin:evals_app_agent_ask_developer")),
        (_on_a_computer(), f"{add}?{START}=computer"),
        *((point, f"{add}?{START}={name}") for name, point in STARTING_POINTS.items()),
    ]
    context |= {"title": "What is your agent?", "points": points, "form_url": f"{add}?{START}=form"}
    return render(request, "admin/evals_app/agents/start.html", context)
