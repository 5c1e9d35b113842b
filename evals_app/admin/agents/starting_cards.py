"""Starting points for a new agent: cards above the page that adds one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.http import HttpRequest
from django.urls import reverse

START = "start"  # the parameter of the address
DRAFT = "agent-from-address"  # key of the session


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """A card, and what it fills in."""

    title: str
    text: str
    icon: str
    initial: Mapping[str, object] = field(default_factory=dict)


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
        "A model with tools",
        "A prompt, a model, and tools with canned answers that you can replace.",
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
        "Scripted, to try the product",
        "Rules that answer without a model: it costs nothing and needs no key.",
        "rule",
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
    return dict(STARTING_POINTS[chosen].initial) if chosen in STARTING_POINTS else {}


def cards(request: HttpRequest) -> list[dict[str, object]]:
    """Return the cards with their addresses."""
    add = reverse("admin:evals_app_agent_add")
    chosen = request.GET.get(START)
    points = [
        {"point": point, "url": f"{add}?{START}={name}", "is_chosen": name == chosen}
        for name, point in STARTING_POINTS.items()
    ]
    address = StartingPoint(
        "My agent has an address",
        "Paste a curl command, choose where the answer is in the reply, and test it.",
        "http",
    )
    url = reverse("admin:evals_app_agent_address")
    return [
        points[0],
        {"point": address, "url": url, "is_chosen": chosen == "address"},
        *points[1:],
    ]
