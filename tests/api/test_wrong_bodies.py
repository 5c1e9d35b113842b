"""Every address that takes JSON answers a wrong body with a refusal, whatever is wrong in it."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from evals_app.library.importing.file_import import import_files
from evals_app.models import (
    AgentCall,
    Assertion,
    Case,
    ConversationGrading,
    ConversationSet,
    DailyImport,
    Delivery,
    Execution,
    MaskingPattern,
    Run,
    Settlement,
    SpanInbox,
    Suite,
    Webhook,
)
from evals_app.runs.recorded.grade_conversations import WantedConversations
from evals_app.runs.recorded.note_groups import find_or_make_group
from evals_app.runs.recorded.readings import draw
from evals_app.runs.retests.candidates import plan_settlement
from evals_app.runs.retests.rounds import start_settlement
from tests.api.clients import make_client
from tests.api.test_hostile import HUGE, VALUES, faults
from tests.formats.test_otlp import SPAN
from tests.library.written import AGENT, FIXTURE, JUDGE, PROVIDER, SUITE
from tests.runs.judged_runs import judged_run
from tests.runs.recorded.conversations import imported, rows_of
from tests.runs.settlements import rewrite
from tests.runs.suites import finished

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.slow,
    pytest.mark.usefixtures("no_limits"),
]

COMPUTER = "6f1d3c1e-6f9b-4a53-9c39-6a2f5d0a4b11"
BENT = 40  # bodies of each operation with something wrong in one place
JSON = "application/json"
# What is no mapping, is too much, or cannot be stored.
WHOLE = [
    *(b"[]", b"null", b"0", b"true", b'"a"', b"", b"{", b"[{}]", b'{"": 1}', b"9" * 6000),
    *(b'{"a": NaN}', b'{"a": 1e999}', b'{"a": "\\ud800"}', b'{"\\ud800": 1}', b"\xff\xfe"),
    *(b"[" * 5000, b'{"a":' * 5000, b'{"a": 1, "a": 2}', b'{"a": "\\u0000"}'),
]
WRONG: list[Any] = [
    *(*VALUES, -1.5, 2**31, 2**63),
    *([None], [HUGE], [""], [{}], ["\ud800"], [1.5], [[[]]]),
]


@pytest.fixture
def client() -> Any:
    client: Any = make_client()
    client.raise_request_exception = False  # what would be a 500 shall look like one
    return client


@pytest.fixture
def known(client: Any) -> dict[str, Any]:
    """Make one of everything that an address may name: its id or slug, by the noun before it."""
    import_files([AGENT, JUDGE, FIXTURE, PROVIDER, SUITE])
    base = judged_run("hello", "rude")
    head = finished(Suite.objects.get(slug="greetings"))
    rewrite(head, {"case 1": (0, 1)})
    execution = head.executions.filter(verdict="failed")[0]
    hook = Webhook.objects.create(name="Team", url="https://hooks.example.org/x")
    settlement = start_settlement(plan_settlement(base, head, with_better=False))
    assert isinstance(settlement, Settlement)
    post = partial(client.post, format="json")
    post(f"/api/settlements/{settlement.pk}/cancel/")  # so that another one can begin
    real = imported(rows_of(2))
    Assertion.objects.create(
        suite=Suite.objects.get(slug="greetings"), type="contains", options={"value": "x"}
    )
    DailyImport.objects.create(conversation_set=real.conversation_set, url="https://x.example.org/")
    SpanInbox.objects.create(conversation_set=real.conversation_set)
    schedule = post("/api/schedules/", {"suites": ["greetings"]}).json()["id"]
    Suite.objects.filter(agent__slug="shop").update(tags=["returns"])
    return {
        "runs": head.pk,
        "base": base.pk,
        "executions": execution.pk,
        "grade": execution.grades.all()[0].pk,
        "suites": "greetings",
        "cases": Case.objects.filter(suite__slug="greetings")[0].pk,
        "agents": "shop",
        "calls": _call(execution).pk,
        "computers": COMPUTER,
        "topics": "returns",
        "fixtures": "orders",
        "providers": "proxy",
        "schedules": schedule,
        "conversation-sets": real.conversation_set.slug,
        "imports": real.pk,
        "gradings": _grading(real.conversation_set).pk,
        "webhooks": hook.pk,
        "masking-patterns": MaskingPattern.objects.create(name="order", pattern="A-1").pk,
        "deliveries": Delivery.objects.create(webhook=hook, run=head).pk,
        "settlements": settlement.pk,
        **_reading(head),
    }


def _grading(target: ConversationSet) -> ConversationGrading:
    return ConversationGrading.objects.create(
        conversation_set=target, total=2_000, finished_at=timezone.now()
    )


def _reading(run: Run) -> dict[str, int]:
    reader = User.objects.create_superuser("reader")
    reading = draw(run, WantedConversations(count=1), by=reader)
    return {
        "readings": reading.pk,
        "note-groups": find_or_make_group(reading, "Prices", by=reader).pk,
    }


def _call(execution: Execution) -> AgentCall:
    about: dict[str, Any] = {"agent": "shop", "session_id": "s", "request": {}, "offers": 1}
    return AgentCall.objects.create(execution=execution, turn=1, **about)


def valid_bodies(client: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body that is accepted, by the operation that takes it."""

    def written(path: str) -> Any:
        return client.get(path).json()

    settling = {"base": known["base"], "head": known["runs"], "max_cost_usd": 1}
    starting = {"suite": "greetings", "cases": ["case"], "trials": 1, "max_cost_usd": 1}
    regrading = {"suite": "current", "cases": ["case 1"], "trials": 1, "max_cost_usd": 1}
    scheduling = {"suites": ["greetings"], "at": "02:00", "frequency": "daily", "trials": 1}
    hook = {"name": "Team", "url": "https://hooks.example.org/y", "suites": ["greetings"]}
    case = written(f"/api/suites/greetings/cases/{known['cases']}/")
    files = [{"path": file.path, "content": file.content.decode()} for file in (AGENT, JUDGE)]
    review = {"kind": "verdict", "grade": known["grade"], "passed": True, "reason": "So."}
    grading = {"suite": "greetings", "count": 1, "max_cost_usd": 1}
    sent = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}
    return {
        "POST /api/conversation-sets/": {"name": "Chat"},
        "POST /api/masking-patterns/": {"name": "contract", "pattern": "VN-1"},
        "PUT /api/masking-patterns/{id}/": {"name": "contract", "pattern": "VN-2"},
        "POST /api/conversation-sets/{slug}/runs/": {"run": known["runs"], "masking": False},
        "POST /api/conversation-sets/{slug}/grade/": grading,
        "POST /api/conversation-sets/{slug}/grade/forecast/": grading,
        "PUT /api/conversation-sets/{slug}/daily-import/": {"url": "https://x.example.org/a.csv"},
        "PATCH /api/conversation-sets/{slug}/daily-import/": {"count": 3},
        "PUT /api/conversation-sets/{slug}/spans/": {"quiet_minutes": 5},
        "POST /api/conversation-sets/{slug}/otlp/v1/traces": sent,
        "PATCH /api/agents/{slug}/": {"description": "Changed."},
        "PUT /api/agents/{slug}/": written("/api/agents/shop/"),
        "PATCH /api/fixtures/{slug}/": {"description": "Changed."},
        "PUT /api/fixtures/{slug}/": written("/api/fixtures/orders/"),
        "PATCH /api/providers/{slug}/": {"max_concurrency": 3},
        "PUT /api/providers/{slug}/": written("/api/providers/proxy/"),
        "PATCH /api/suites/{slug}/": {"description": "Changed."},
        "PUT /api/suites/{slug}/": written("/api/suites/greetings/"),
        "POST /api/suites/{slug}/cases/": case | {"name": "Another"},
        "PUT /api/suites/{slug}/cases/{id}/": case,
        "PATCH /api/suites/{slug}/cases/{id}/": {"description": "Changed.", "tags": ["a"]},
        "POST /api/import/": {"files": files},
        "POST /api/executions/{id}/case/": {"name": "New", "suite": "greetings", "keys": []},
        "POST /api/executions/{id}/reviews/": review,
        "POST /api/otlp/v1/traces": sent,
        "POST /api/runs/": starting,
        "POST /api/runs/forecast/": starting,
        "POST /api/agents/{slug}/calls/": {"computer": COMPUTER, "host": "x", "free": 1},
        "POST /api/agents/{slug}/calls/{id}/answer/": {"computer": COMPUTER, "output": "x"},
        "POST /api/agents/{slug}/topics/{topic}/": {"state": "ready"},
        "POST /api/runs/{id}/accepted-failures/": {"cases": ["case 1"], "reason": "x"},
        "POST /api/runs/{id}/decision/": {"shipped": True, "reason": "x"},
        "POST /api/runs/{id}/baseline/": {"is_baseline": True},
        "POST /api/runs/{id}/pin/": {"is_pinned": True},
        "POST /api/runs/{id}/regrade/": regrading,
        "POST /api/runs/{id}/regrade/forecast/": regrading,
        "POST /api/runs/{id}/rerun/": {"only": "failed", "cases": ["case 2"]},
        "POST /api/runs/{id}/resume/": {"max_cost_usd": 1},
        "POST /api/runs/{id}/review-tasks/": {"count": 1, "people": [], "only_judged": True},
        "POST /api/readings/": {"run": known["base"], "count": 1},
        "POST /api/readings/{id}/notes/": {
            "position": 1,
            "kind": "wrong",
            "text": "x",
            "group": "y",
        },
        "POST /api/readings/{id}/groups/": {"name": "y", "notes": [1]},
        "PATCH /api/note-groups/{id}/": {"name": "z", "notes": []},
        "POST /api/schedules/": scheduling,
        "PUT /api/schedules/{id}/": scheduling,
        "PATCH /api/schedules/{id}/": {"trials": 2, "suites": ["greetings"]},
        "POST /api/settlements/": settling,
        "POST /api/settlements/forecast/": settling,
        "POST /api/webhooks/": hook,
        "PUT /api/webhooks/{id}/": hook,
        "PATCH /api/webhooks/{id}/": {"name": "Other", "on_end": True},
    }


# What the state of its run refuses, although nothing is wrong with the body.
REFUSED = {
    "POST /api/agents/{slug}/calls/": 409,  # of another type
    "POST /api/runs/{id}/resume/": 422,
}


def test_a_wrong_body_is_refused_by_every_operation(
    client: Any, known: dict[str, Any], schema: Any
) -> None:
    bodies = valid_bodies(client, known)
    operations = {
        f"{method.upper()} {path}"
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if JSON in operation.get("requestBody", {}).get("content", {})
    }
    spans: Any = make_client("spans")
    spans.raise_request_exception = False
    clients = {
        "/api/otlp/v1/traces": spans,
        "/api/conversation-sets/{slug}/otlp/v1/traces": spans,
    }
    complaints: list[str] = []

    def answer(operation: str, content: bytes) -> Any:
        method, _, path = operation.partition(" ")
        asking = clients.get(path, client)
        with transaction.atomic():
            response = asking.generic(method, _filled(path, known), content, JSON)
            transaction.set_rollback(True)
        complaints.extend(faults(response, (operation, content)))
        return response

    assert bodies.keys() == operations
    for operation, body in bodies.items():
        status = answer(operation, json.dumps(body).encode()).status_code
        assert status < 400 or status == REFUSED.get(operation), operation
        for content in [*WHOLE, *(json.dumps(bent).encode() for bent in _bent(body))]:
            answer(operation, content)

    assert complaints == []


def _filled(path: str, known: Mapping[str, Any]) -> str:
    """Return a path with the ids of what is there."""
    nouns = path.split("/")
    return "/".join(
        str(known[nouns[at - 1]]) if part.startswith("{") else part for at, part in enumerate(nouns)
    )


def _bent(body: Any) -> list[Any]:
    """Return some of all bodies that have something else in one place, or nothing there."""
    every = [
        copy
        for loc in _places(body)
        for copy in (*(_with(body, loc, value) for value in WRONG), _with(body, loc))
    ]
    return Random(1).sample(every, min(BENT, len(every)))  # the same ones each time


def _places(data: Any, loc: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for step, inner in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*loc, step)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*loc, step))


def _with(data: Any, loc: tuple[Any, ...], *value: Any) -> Any:
    """Return a copy with this value in a place, or without what is there."""
    copy = data.copy()
    if len(loc) > 1:
        copy[loc[0]] = _with(data[loc[0]], loc[1:], *value)
    elif value:
        (copy[loc[0]],) = value
    else:
        del copy[loc[0]]
    return copy
