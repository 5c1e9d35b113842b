"""Checks proposed from what an agent did: they pass again, and fail where something is wrong."""

import json
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from evals_app.engine.case_making import case_made
from evals_app.engine.grading import NO_AIDS, grade_trial
from evals_app.engine.proposing import (
    chosen,
    default_keys,
    proposals,
)
from evals_app.engine.suite import CaseSpec
from evals_app.engine.trial import Message, ToolCall, Trial, TurnRecord, Usage
from fixtures_app.spec import FixtureSpec
from fixtures_app.tools import ToolWorld
from tests.engine.makers import make_call, make_suite, make_trial

pytestmark = pytest.mark.anyio

SHOP = FixtureSpec.model_validate(
    {
        "name": "Shop",
        "slug": "shop",
        "entity_types": [{"slug": kind, "schema": {}} for kind in ("order", "refund", "note")],
        "entities": [
            {"ref": "order-1", "type": "order", "data": {"number": "A-1042", "total": 24.5}},
            {"ref": "order-2", "type": "order", "data": {"number": "A-1043", "total": 80}},
        ],
    }
)
FIXTURES = json.dumps(SHOP.model_dump(mode="json", by_alias=True))
STARTED = "2026-11-25T10:00:00+00:00"

REFERENCES: Sequence[Callable[[random.Random], Any]] = (
    lambda draw: str(uuid.UUID(int=draw.getrandbits(128))),
    lambda draw: f"{draw.getrandbits(64):016x}",
    lambda draw: f"RF-{draw.randrange(1000, 9999)}",
    lambda draw: f"rf_{''.join(draw.choices('abcdefghjkmnpqrstuvwxyz23456789', k=6))}7",
    lambda draw: draw.randrange(100_000, 10**9) * 10 + 7,
    lambda draw: str(draw.randrange(10**7, 10**8)),
    lambda draw: f"2026-11-25T10:{draw.randrange(60):02}:{draw.randrange(60):02}Z",
    lambda draw: 1_764_000_000 + draw.randrange(10**6) * 10 + 1,
    lambda draw: f"{draw.randrange(1000, 9999)}",
    lambda draw: {"code": f"{draw.getrandbits(40):010X}A1", "kind": "refund"},
)


Steps = dict[str, tuple[str, dict[str, Any]]]
Mutation = Callable[[Steps, dict[str, str]], object]


def shop_agent(
    draw: random.Random,
    make_reference: Callable[[random.Random], Any],
    mutation: Mutation = lambda *_: None,
) -> Trial:
    """Return a conversation with an agent that always does the same, but for one random value."""
    reference = make_reference(draw)
    shown = reference["code"] if isinstance(reference, dict) else reference
    paid = {"order": "A-1042", "amount": 24.5, "reference": reference}
    steps: Steps = {
        "look up": ("entity.get", {"id": "order-1"}),
        "pay": ("payments.send", dict(paid)),
        "create": ("entity.create", {"type": "refund", "data": dict(paid)}),
        "update": ("entity.update", {"id": "order-1", "data": {"refunded": 24.5, "by": reference}}),
        "link": ("relation.create", {"from": "refund-1", "to": "order-1", "type": "refunds"}),
    }
    replies = {
        "first": f"I refunded 24.50 EUR for order A-1042. Your reference is {shown}.",
        "second": "You have 15.75 EUR left to pay.",
    }
    mutation(steps, replies)
    world = ToolWorld([SHOP], {}, clock=STARTED)
    calls = [
        make_call(name, args=args, result=world.call(name, args) if name in world.tools else {})
        for name, args in steps.values()
    ]
    count = world.change_count
    turns = [
        answered("Please refund my order A-1042.", replies["first"], calls),
        answered("What is left to pay?", replies["second"], [], index=2),
    ]
    return make_trial(
        *(replace(turn, journal_end=count) for turn in turns),
        world_journal=tuple(world.journal),
        world_changes=world.changes(),
        started_at=STARTED,
    )


def answered(user: str, reply: str, calls: Sequence[ToolCall], *, index: int = 1) -> TurnRecord:
    messages = (Message("assistant", "", tuple(calls)), Message("assistant", reply))
    return TurnRecord(
        index=index,
        user=user,
        reply=reply,
        messages=messages,
        usage=Usage(120, 30),
        latency_ms=850.0,
    )


def made_from(trial: Trial, *others: Trial, keys: set[str] | None = None) -> CaseSpec:
    offered = proposals(trial, others, fixtures=FIXTURES)
    keys = default_keys(offered) if keys is None else keys
    return case_made(trial, chosen(trial, offered, keys), name="Made")


async def failures(case: CaseSpec, trial: Trial) -> list[str]:
    suite = make_suite(case)
    graded = await grade_trial(trial, case=case, suite=suite, aids_for=lambda *_: NO_AIDS)
    return [check.label for check in graded if check.grade.passed is not True]


@pytest.mark.parametrize("others", [0, 1, 3])
async def test_fifty_fresh_trials_of_the_same_agent_pass(others: int) -> None:
    alarms, checks = [], 0
    for seed in range(50):
        draw = random.Random(seed)
        make_reference = REFERENCES[seed % len(REFERENCES)]
        known = [shop_agent(draw, make_reference) for _ in range(others)]
        case = made_from(shop_agent(draw, make_reference), *known)
        checks += len(list(case.assertions()))
        alarms += await failures(case, shop_agent(draw, make_reference))

    assert alarms == []
    assert checks >= 50 * 6  # there is something that could fail


async def test_ticking_everything_would_alarm_each_time() -> None:
    alarms = 0
    for seed in range(50):
        draw, make_reference = random.Random(seed), REFERENCES[seed % len(REFERENCES)]
        trial = shop_agent(draw, make_reference)
        offered = proposals(trial, fixtures=FIXTURES)
        every = {key for one in offered for key in (one.key, *(part.key for part in one.parts))}
        case = made_from(trial, keys={key for key in every if not key.endswith("expected")})
        alarms += bool(await failures(case, shop_agent(draw, make_reference)))

    assert alarms == 50


def calls_more(name: str, **args: Any) -> Mutation:
    return lambda steps, _: steps.update(more=(name, args))


def leaves_out(step: str) -> Mutation:
    return lambda steps, _: steps.pop(step)


def passes(step: str, *path: str, value: Any) -> Mutation:
    def mutate(steps: Steps, _: dict[str, str]) -> None:
        args = steps[step][1]
        for name in path[:-1]:
            args = args[name]
        args[path[-1]] = value

    return mutate


def says(turn: str, old: str, new: str) -> Mutation:
    return lambda _, replies: replies.update({turn: replies[turn].replace(old, new)})


MUTATIONS: dict[str, Mutation] = {
    "pays nothing": leaves_out("pay"),
    "pays too much": passes("pay", "amount", value=245),
    "pays a text": passes("pay", "amount", value="24.5"),
    "pays for another order": passes("pay", "order", value="A-1043"),
    "pays with another tool": lambda steps, _: steps.update(pay=("payments.ask", steps["pay"][1])),
    "creates no refund": leaves_out("create"),
    "creates another kind": passes("create", "type", value="note"),
    "refunds too much": passes("create", "data", "amount", value=80),
    "refunds another order": passes("create", "data", "order", value="A-1043"),
    "refunds twice": lambda steps, _: steps.update(more=steps["create"]),
    "updates nothing": leaves_out("update"),
    "updates another order": passes("update", "id", value="order-2"),
    "notes another amount": passes("update", "data", "refunded", value=2.45),
    "changes the total too": passes("update", "data", "total", value=0),
    "closes the order": passes("update", "status", value="closed"),
    "links nothing": leaves_out("link"),
    "links another order": passes("link", "to", value="order-2"),
    "deletes another order": calls_more("entity.delete", id="order-2"),
    "deletes the order": calls_more("entity.delete", id="order-1"),
    "creates a note": calls_more("entity.create", type="note", data={"text": "Hm."}),
    "changes another order": calls_more("entity.update", id="order-2", data={"total": 1}),
    "looks nothing up": leaves_out("look up"),
    "looks another order up": passes("look up", "id", value="order-2"),
    "says another amount": says("first", "24.50", "42.50"),
    "says another order": says("first", "A-1042", "A-1043"),
    "says another rest": says("second", "15.75", "51.75"),
}


@pytest.mark.parametrize("others", [0, 3])
@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
async def test_what_goes_wrong_is_still_caught(mutation: Mutation, others: int) -> None:
    for seed, make_reference in enumerate(REFERENCES[:3]):
        draw = random.Random(seed)
        known = [shop_agent(draw, make_reference) for _ in range(others)]
        case = made_from(shop_agent(draw, make_reference), *known)

        assert await failures(case, shop_agent(draw, make_reference, mutation))
