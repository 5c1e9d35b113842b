"""Checks proposed from what an agent did: they pass again, and fail where something is wrong."""

import json
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.proposing.case_making import case_made, case_with
from evals_app.engine.proposing.expected_changes import CannotExpectError
from evals_app.engine.proposing.proposals import (
    MAX_BOXES,
    KeptChecks,
    Proposal,
    default_keys,
    keep_checks,
    proposals,
)
from evals_app.engine.record.trial import Cause, Failure, Message, ToolCall, Trial, TurnRecord
from evals_app.engine.record.usage import Usage
from evals_app.engine.record.view import View
from evals_app.engine.suites.assertion_spec import AssertionSpec
from evals_app.engine.suites.suite_spec import CaseSpec
from evals_app.engine.verdicts.grading import NO_AIDS, grade_trial
from fixtures_app.spec import FixtureSpec
from fixtures_app.tools import ToolWorld
from tests.engine.makers import make_call, make_case, make_suite, make_trial, make_turn

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
        turn_of("Please refund my order A-1042.", replies["first"], calls),
        turn_of("What is left to pay?", replies["second"], [], index=2),
    ]
    return make_trial(
        *(replace(turn, journal_end=count) for turn in turns),
        world_journal=tuple(world.journal),
        world_changes=world.changes(),
        started_at=STARTED,
    )


def turn_of(user: str, reply: str, calls: Sequence[ToolCall], *, index: int = 1) -> TurnRecord:
    messages = (Message("assistant", "", tuple(calls)), Message("assistant", reply))
    return TurnRecord(
        index=index,
        user=user,
        reply=reply,
        messages=messages,
        usage=Usage(120, 30),
        latency_ms=850.0,
    )


def case_from(trial: Trial, *others: Trial, keys: set[str] | None = None) -> CaseSpec:
    offered = proposals(trial, others, fixtures=FIXTURES)
    keys = default_keys(offered) if keys is None else keys
    return case_made(trial, keep_checks(trial, offered, keys), name="Made")


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
        case = case_from(shop_agent(draw, make_reference), *known)
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
        case = case_from(trial, keys={key for key in every if not key.endswith("expected")})
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
        case = case_from(shop_agent(draw, make_reference), *known)

        assert await failures(case, shop_agent(draw, make_reference, mutation))


def proposals_of(
    *turns: TurnRecord, others: Sequence[Trial] = (), **changes: Any
) -> list[Proposal]:
    return list(proposals(make_trial(*turns, **changes), others))


def by_key(offered: Sequence[Proposal], key: str) -> Proposal:
    return next(proposal for proposal in offered if proposal.key == key)


def of_calls(
    *calls: ToolCall, reply: str = "Done, as you wanted, and gladly, whenever you like."
) -> TurnRecord:
    return turn_of("Please do it.", reply, calls)


def test_a_value_that_differs_in_another_trial_is_left_open_and_says_so() -> None:
    trial = make_trial(of_calls(make_call("pay", args={"sum": 5, "to": {"name": "Ada", "no": 7}})))
    other = make_trial(of_calls(make_call("pay", args={"sum": 5, "to": {"name": "Ada", "no": 8}})))

    call = by_key(proposals(trial, [other]), "turn-1-call-1")
    check = keep_checks(trial, [call], call.default_keys).checks[1][0]

    assert {part.name: part.doubt for part in call.parts} == {
        "sum": "",
        "to.name": "",
        "to.no": "differs between trials",
    }
    assert check.model_dump(exclude_unset=True)["args"] == {
        "sum": 5,
        "to": {"name": "Ada", "no": {"present": True}},
    }


def test_a_key_that_is_not_always_there_may_be_missing() -> None:
    trial = make_trial(of_calls(make_call("pay", args={"to": {"name": "Ada", "note": "x"}})))
    others = [
        make_trial(of_calls(make_call("pay", args={"to": {"name": "Ada"}}))),
        make_trial(of_calls(make_call("pay", args={"to": {"name": "Ada", "tip": 1}}))),
    ]
    offered = proposals(trial, others)

    checks = keep_checks(trial, offered, default_keys(offered)).checks[1]

    for one in (trial, *others):
        view = View(one, one.turns[0])
        assert all(check.grader.grade(view).passed for check in checks)  # type: ignore[attr-defined]


def test_what_other_trials_did_not_do_is_not_ticked() -> None:
    trial = make_trial(of_calls(make_call("look"), make_call("pay")))
    other = make_trial(of_calls(make_call("look")))
    offered = proposals(trial, [other])

    ticked = {proposal.key for proposal in offered if proposal.is_ticked}

    assert "turn-1-call-1" in ticked
    assert not ticked & {"turn-1-call-2", "turn-1-order"}


def test_the_order_of_calls_is_ticked_if_others_had_the_same() -> None:
    turns = [
        of_calls(make_call("look"), make_call("pay")),
        of_calls(make_call("pay"), make_call("look")),
    ]
    trial, same, reverse = make_trial(turns[0]), make_trial(turns[0]), make_trial(turns[1])

    ticked = [
        by_key(proposals(trial, others), "turn-1-order").is_ticked
        for others in ([], [same], [same, reverse])
    ]

    assert ticked == [False, True, False]


def test_equal_calls_become_one_check_that_counts() -> None:
    trial = make_trial(of_calls(*[make_call("pay", args={"sum": 5})] * 2))
    offered = proposals(trial)

    by_default = keep_checks(trial, offered, default_keys(offered)).checks[1]
    every = {key for call in offered for key in (call.key, *(part.key for part in call.parts))}
    both = keep_checks(trial, offered, {key for key in every if "call" in key}).checks[1]

    assert [check.model_dump(exclude_defaults=True).get("min_count") for check in by_default] == [
        None
    ]
    assert [check.model_dump(exclude_defaults=True).get("min_count") for check in both] == [2]


@pytest.mark.parametrize(
    ("value", "doubt"),
    [
        pytest.param("shipped", "", id="a word"),
        pytest.param(24.5, "", id="an amount"),
        pytest.param(125_000, "", id="a round number"),
        pytest.param(None, "", id="nothing"),
        pytest.param("b7c1e9a2-4f8f-4c2e-9b57-0d6f1f7b1a11", "looks random", id="a uuid"),
        pytest.param("RF-8271", "looks random", id="a reference"),
        pytest.param("30days", "", id="a measure"),
        pytest.param("xkcdqwrtz", "looks random", id="no word"),
        pytest.param(48_213, "looks random", id="a large number"),
        pytest.param(0.123456789, "looks random", id="many decimals"),
        pytest.param("2026-11-25T10:00:07Z", "looks like a time", id="a moment"),
        pytest.param("at 14:32", "looks like a time", id="an hour"),
        pytest.param("2026-11-26", "looks like a time", id="tomorrow"),
        pytest.param("Thursday", "looks like a time", id="a day of the week"),
        pytest.param("2026-12-24", "", id="a day that was asked for"),
        pytest.param("1999-12-31", "", id="a day long ago"),
        pytest.param("it arrived broken and late", "free text", id="a sentence"),
        pytest.param("A-1042", "", id="what the user said"),
        pytest.param(["ok", "RF-8271"], "looks random", id="in a list"),
    ],
)
def test_with_one_trial_what_looks_random_or_temporal_is_not_ticked(value: Any, doubt: str) -> None:
    turn = turn_of(
        "Order A-1042, for the 24th.", "Done.", [make_call("note", args={"value": value})]
    )

    call = by_key(proposals_of(turn, started_at=STARTED), "turn-1-call-1")

    assert [part.doubt for part in call.parts] == [doubt]


def test_with_a_clock_days_and_hours_stay_the_same() -> None:
    turn = of_calls(make_call("note", args={"day": "2026-11-26"}))

    call = by_key(proposals_of(turn, started_at=STARTED, clock=STARTED), "turn-1-call-1")

    assert [part.doubt for part in call.parts] == [""]


def test_a_failed_call_is_not_ticked() -> None:
    turn = of_calls(make_call("pay", error="No money.", result={"error": {"message": "No money."}}))

    call = by_key(proposals_of(turn), "turn-1-call-1")

    assert (call.is_ticked, call.doubt) == (False, "the call failed")


def test_limits_leave_room_and_are_never_ticked() -> None:
    turn = replace(of_calls(make_call()), cost_usd=Decimal("0.00123"), latency_ms=3210.0)

    limits = [one for one in proposals_of(turn) if one.kind == "limit"]

    assert {key: value for limit in limits for key, value in limit.subject.items()} == {
        "max_response_tokens": 60,
        "max_time_ms": 6500,
        "max_cost_usd": Decimal("0.0025"),
        "max_tool_calls": 1,
    }
    assert not any(limit.is_ticked for limit in limits)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"failure": Failure(Cause.PROVIDER, "Busy.")}, id="failure"),
        pytest.param({"planned_turns": 2}, id="ended early"),
    ],
)
def test_of_a_broken_conversation_nothing_is_proposed_for_its_end(changes: dict[str, Any]) -> None:
    offered = proposals_of(of_calls(make_call()), **changes)

    assert {proposal.turn for proposal in offered} == {1}


def test_a_turn_that_failed_and_one_that_did_not_pass_tick_nothing() -> None:
    failed = replace(of_calls(make_call()), error="It broke.")
    trial = make_trial(of_calls(make_call()), failed)

    assert not {proposal.turn for proposal in proposals(make_trial(failed))} & {1}
    assert default_keys(proposals(trial, is_passed=False)) == set()


def test_a_contradiction_is_refused() -> None:
    draw = random.Random(1)
    trial = shop_agent(draw, REFERENCES[0])
    offered = proposals(trial, fixtures=FIXTURES)

    with pytest.raises(CannotExpectError, match="Nothing else"):
        keep_checks(trial, offered, {"nothing_else"})


def test_a_long_conversation_offers_only_so_many_boxes() -> None:
    turns = [
        replace(of_calls(*[make_call(args={"n": n, "m": n})] * 5), index=n) for n in range(1, 101)
    ]

    offered = proposals_of(*turns)

    assert sum(1 + len(proposal.parts) for proposal in offered) <= MAX_BOXES


def test_a_case_has_history_channel_clock_and_the_chosen_answer() -> None:
    history = (Message("user", "Hello {{x}}"), Message("assistant", "Hi."))
    trial = make_trial(
        make_turn("Yours."),
        history=history,
        channel="widget",
        clock=STARTED,
        context_params={"a": 1},
    )
    offered = proposals(trial)
    kept = keep_checks(trial, offered, {"turn-1-expected"})

    case = case_made(trial, kept, name="Again")
    again = case_made(trial, kept, name="Again", asks_again=True)

    assert (case.channel, case.clock, case.context_params) == ("widget", STARTED, {"a": 1})
    assert [message.content for message in case.history] == ["Hello \\{{x}}", "Hi."]
    assert [(turn.user, turn.expected) for turn in case.turns] == [("Hi", "Yours.")]
    assert [turn.user for turn in again.turns] == ["Hello \\{{x}}", "Hi"]
    assert again.history == []


@pytest.mark.parametrize(
    ("turn", "values", "inherits"),
    [
        pytest.param({}, ["new"], True, id="those of the suite"),
        pytest.param({"assertions": []}, ["new"], False, id="none"),
        pytest.param({"assertions": ["old"]}, ["old", "new"], False, id="its own"),
        pytest.param({"assertions": ["new"]}, ["new"], False, id="the same"),
        pytest.param({"assertions": ["old"], "inherit": True}, ["old", "new"], True, id="both"),
    ],
)
def test_a_check_is_added_to_those_that_a_turn_has(
    *, turn: dict[str, Any], values: list[str], inherits: bool
) -> None:
    def contains(value: str) -> dict[str, str]:
        return {"type": "contains", "value": value}

    if "assertions" in turn:
        turn = turn | {"assertions": list(map(contains, turn["assertions"]))}
    case = make_case(turns=[{"user": "Hi", "expected": "Hello"} | turn, {"user": "Bye"}])
    new = AssertionSpec.model_validate(contains("new"))

    added = case_with(case, KeptChecks(checks={1: [new]}, expected={2: "Goodbye"}))

    first, second = added.turns
    assert [check.grader.model_dump()["value"] for check in first.assertions or []] == values
    assert (first.inherit, first.expected) == (inherits, "Hello")
    assert (second.assertions, second.inherit, second.expected) == (None, False, "Goodbye")


def test_limits_and_checks_at_the_end_are_added_to_those_that_a_case_has() -> None:
    checks = [AssertionSpec.model_validate({"type": kind}) for kind in ("json_valid", "numeric")]
    limits = {"max_tool_calls": 3, "max_time_ms": 500}
    case = make_case(final_assertions=[{"type": "json_valid"}], limits=limits)

    added = case_with(case, KeptChecks(checks={None: checks}, limits={"max_tool_calls": 1}))

    assert added.final_assertions == checks
    assert (added.limits.max_tool_calls, added.limits.max_time_ms) == (1, 500)
