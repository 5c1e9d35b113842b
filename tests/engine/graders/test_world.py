"""Changes of the world: each row is what the agent did, what was expected, and what comes of it."""

from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.graders.world import MAX_COMPARISONS, WorldChanges
from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.trial import Cause, Trial
from evals_app.engine.record.view import View
from evals_app.engine.suites.suite_spec import AssertionSpec
from fixtures_app.spec import FixtureSpec
from fixtures_app.tools import ToolWorld
from tests.engine.graders.makers import make_trial, make_turn

SHOP = FixtureSpec.model_validate(
    {
        "name": "Shop",
        "slug": "shop",
        "entity_types": [{"slug": kind, "schema": {}} for kind in ("order", "customer", "refund")],
        "entities": [
            {
                "ref": "order-1",
                "type": "order",
                "data": {"state": "paid", "total": 24.5, "address": {"city": "Bern", "zip": 3000}},
            },
            {"ref": "order-2", "type": "order", "data": {"state": "paid", "total": 8}},
            {"ref": "ada", "type": "customer", "data": {}},
        ],
        "relations": [{"from": "order-1", "to": "ada", "type": "placed_by"}],
    }
)

Calls = list[tuple[str, dict[str, Any]]]


def update(of: str = "order-1", **data: Any) -> tuple[str, dict[str, Any]]:
    return "entity.update", {"id": of, "data": data}


REFUND = ("entity.create", {"type": "refund", "data": {"order": "order-1", "amount": 24.5}})
REFUNDED = update(state="refunded")
CHEAPER = update(total=1)
MOVED = update(address={"city": "Basel"})
STAMPED = update(updated_at="2026-05-01T09:30:00Z")
CLOSED = ("entity.update", {"id": "order-1", "status": "closed"})
GONE = ("entity.delete", {"id": "order-1"})
LINKED = ("relation.create", {"from": "order-2", "to": "ada", "type": "placed_by"})
UNLINKED = ("relation.delete", {"id": "relation-1"})

# What is expected.
NOTHING: dict[str, Any] = {"nothing_else": True}
A_REFUND: dict[str, Any] = {"created": [{"type": "refund"}]}
TWO_REFUNDS: dict[str, Any] = {"created": [{"type": "refund", "count": 2}]}


def expected_update(**data: Any) -> dict[str, Any]:
    return {"updated": [{"id": "order-1", "data": data}]}


def trial_of(*turns: Calls) -> Trial:
    """Return a conversation in whose turns these tools were called."""
    world = ToolWorld([SHOP], {}, clock="2026-05-01T09:30:00+00:00")
    ends = []
    for calls in turns:
        for name, args in calls:
            assert "error" not in world.call(name, args)
        ends.append(world.change_count)
    return make_trial(
        *(make_turn("Done.", index=n, journal_end=end) for n, end in enumerate(ends, 1)),
        world_journal=tuple(world.journal),
    )


def grade(calls: Calls, **options: Any) -> Grade:
    return WorldChanges.model_validate(options).grade(View(trial_of(calls)))


@pytest.mark.parametrize(
    ("calls", "options"),
    [
        pytest.param([REFUND], A_REFUND, id="created"),
        pytest.param([REFUND], {"created": [{"id": "refund-1"}]}, id="created by its id"),
        pytest.param([REFUND] * 2, TWO_REFUNDS, id="two of a type"),
        pytest.param([REFUND] * 2, A_REFUND, id="more than was asked for"),
        pytest.param([REFUNDED], expected_update(state="refunded"), id="updated"),
        pytest.param(
            [REFUNDED, CHEAPER], expected_update(state="refunded"), id="another field may change"
        ),
        pytest.param(
            [MOVED], expected_update(**{"address.city": {"contains": "asel"}}), id="in a field"
        ),
        pytest.param(
            [update(total=None)], expected_update(total={"present": False}), id="a field is gone"
        ),
        pytest.param([CLOSED], {"updated": [{"id": "order-1", "status": "closed"}]}, id="status"),
        pytest.param([GONE], {"deleted": [{"id": "order-1"}]}, id="deleted"),
        ([GONE], {"deleted": [{"type": "order", "data": {"total": 24.5}, "status": "active"}]}),
        pytest.param([LINKED], {"linked": [LINKED[1]]}, id="linked"),
        pytest.param([LINKED], {"linked": [{"to": "ada"}]}, id="linked to anything"),
        pytest.param([UNLINKED], {"unlinked": [{"from": "order-1"}]}, id="unlinked"),
        pytest.param([GONE], {"unlinked": [{"from": "order-1"}]}, id="unlinked by a deletion"),
        pytest.param([], NOTHING, id="nothing at all"),
        pytest.param([REFUND, ("entity.delete", {"id": "refund-1"})], NOTHING, id="undone"),
        pytest.param([STAMPED], NOTHING, id="when it was written is no change"),
        pytest.param([CHEAPER], NOTHING | {"ignore": ["total"]}, id="a field that may change"),
        pytest.param([MOVED], NOTHING | {"ignore": ["address"]}, id="within a field that may"),
        pytest.param(
            [REFUND, REFUNDED, STAMPED],
            A_REFUND | expected_update(state="refunded") | NOTHING,
            id="this and nothing else but when it was written",
        ),
        pytest.param([GONE], {"deleted": [{"id": "order-1"}]} | NOTHING, id="with its relations"),
        pytest.param(
            [REFUNDED, update("order-2", state="refunded", total=0)],
            {
                "updated": [
                    {"type": "order", "data": {"state": "refunded"}},
                    {"type": "order", "data": {"state": "refunded", "total": 0}},
                ],
                "nothing_else": True,
            },
            id="a loose line makes way for a strict one",
        ),
    ],
)
def test_expected_changes_pass(calls: Calls, options: dict[str, Any]) -> None:
    result = grade(calls, **options)

    assert (result.passed, result.score, result.cause) == (True, 1.0, None), result.reason


@pytest.mark.parametrize(
    ("calls", "options", "score", "says"),
    [
        pytest.param([], A_REFUND, 0, "nothing was created", id="not created"),
        pytest.param(
            [REFUND],
            {"created": [{"type": "refund", "data": {"amount": 25, "reason": "late"}}]},
            0,
            '"amount": 24.5}, where amount is 24.5, reason is missing.',
            id="created otherwise",
        ),
        ([REFUND], {"created": [{"type": "order"}]}, 0, "instead: refund refund-1"),
        ([REFUND], TWO_REFUNDS, 0.5, "found 1 of 2; nothing else was created."),
        pytest.param(
            [REFUND],
            {"created": [{"type": "refund"}, {"type": "refund", "data": {"order": "order-1"}}]},
            0.5,
            "1 of 2 ",
            id="one change does not count twice",
        ),
        pytest.param(
            [CHEAPER],
            expected_update(state="refunded"),
            0,
            "order-1 (total: 24.5 → 1), where state is paid.",
            id="updated otherwise",
        ),
        pytest.param([GONE], expected_update(), 0, "but it was deleted", id="deleted instead"),
        pytest.param(
            [REFUNDED],
            {"updated": [{"id": "order-1", "status": "closed"}]},
            0,
            "where its status is active.",
            id="status",
        ),
        ([REFUNDED, update(state="paid")], expected_update(), 0, "it did not change"),
        pytest.param(
            [LINKED],
            {"linked": [{"from": "order-2", "type": "paid_by"}]},
            0,
            "order-2 → placed_by → ada, where type is placed_by.",
            id="linked otherwise",
        ),
        pytest.param([REFUND], NOTHING, 0, "expected: created refund refund-1", id="no creation"),
        ([REFUND] * 2, A_REFUND | NOTHING, 0.5, "created refund refund-2"),
        pytest.param(
            [REFUNDED, CHEAPER],
            expected_update(state="refunded") | NOTHING,
            0,
            "where total: 24.5 → 1 was not expected.",
            id="another field of the entity",
        ),
        ([CLOSED], NOTHING | {"ignore": ["status"]}, 0, "Not expected"),
        ([MOVED, CHEAPER], NOTHING | {"ignore": ["address"]}, 0, "Not expected: updated order-1"),
        pytest.param([GONE], NOTHING, 0, "Not expected: deleted order order-1.", id="deleted"),
        pytest.param([UNLINKED], NOTHING, 0, "unlinked order-1 → placed_by → ada", id="unlinked"),
    ],
)
def test_other_changes_fail_with_what_there_is_instead(
    calls: Calls, options: dict[str, Any], score: float, says: str
) -> None:
    result = grade(calls, **options)

    assert (result.passed, result.score, result.cause) == (False, score, Cause.ASSERTION)
    assert says in result.reason


@pytest.mark.parametrize(
    ("calls", "options", "says"),
    [
        pytest.param(
            [REFUND, REFUNDED],
            A_REFUND | expected_update(),
            ["created refund refund-1", '(state: "paid" → "refunded"). Nothing else'],
            id="as expected",
        ),
        pytest.param([], {}, ["Nothing in the world changed."], id="nothing"),
        pytest.param([STAMPED], {}, ["changed except what may change."], id="what may"),
    ],
)
def test_what_happened_is_shown_when_it_was_expected(
    calls: Calls, options: dict[str, Any], says: list[str]
) -> None:
    reason = grade(calls, **options, **NOTHING).reason

    assert [part for part in says if part not in reason] == []


def test_details_hold_expected_beside_actual() -> None:
    result = grade(
        [REFUND, REFUNDED],
        created=[{"type": "refund", "data": {"amount": 24.5}}],
        updated=[{"id": "order-1", "data": {"state": "closed"}}],
        nothing_else=True,
    )

    assert result.details == {
        "expected": [
            {
                "expected": "created refund with amount = 24.5",
                "found": ['refund refund-1 {"order": "order-1", "amount": 24.5}'],
                "nearest": None,
            },
            {
                "expected": "updated order-1 with state = closed",
                "found": [],
                "nearest": {
                    "change": 'order-1 (state: "paid" → "refunded")',
                    "differs": ["state is refunded"],
                },
            },
        ],
        "unexpected": ['updated order-1 (state: "paid" → "refunded")'],
    }


# Turns


@pytest.mark.parametrize(
    ("turn", "options", "passed"),
    [
        pytest.param(1, A_REFUND | NOTHING, True, id="first"),
        pytest.param(2, {"updated": [{"id": "refund-1"}], "nothing_else": True}, True, id="second"),
        pytest.param(2, A_REFUND, False, id="of an earlier turn"),
        pytest.param(1, {"updated": [{"id": "refund-1"}]}, False, id="of a later turn"),
        pytest.param(3, NOTHING, True, id="nothing in a turn"),
        pytest.param(
            None,
            {"created": [{"type": "refund", "data": {"amount": 1}}], "nothing_else": True},
            True,
            id="all of it",
        ),
        pytest.param(None, {"updated": [{"id": "refund-1"}]}, False, id="no step of it"),
    ],
)
def test_a_turn_is_checked_by_what_changed_in_it(
    turn: int | None, options: dict[str, Any], *, passed: bool
) -> None:
    trial = trial_of([REFUND], [update("refund-1", amount=1)], [])
    view = View(trial, None if turn is None else trial.turns[turn - 1])

    result = WorldChanges.model_validate(options).grade(view)

    assert result.passed is passed, result.reason


# Writing


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({}, "whatever the agent does", id="nothing"),
        pytest.param({"created": []}, "whatever the agent does", id="empty lists"),
        pytest.param({"ignore": ["a"]}, "whatever the agent does", id="only ignored"),
        pytest.param({"created": [{}]}, "Give the entity", id="no entity"),
        pytest.param({"linked": [{}]}, "Describe the relation", id="no relation"),
        pytest.param({"created": [{"type": "a", "count": 0}]}, "greater than", id="none of them"),
        ({"deleted": [{"id": "a", "count": 2}]}, "a is a single entity"),
        ({"updated": [{"id": "a"}], "deleted": [{"id": "b"}, {"id": "a"}]}, "a is listed twice"),
        ({"created": [{"type": "a", "data": {"b": {"regex": "("}}}]}, "created.0"),
        pytest.param({"created": [{"type": "a", "colour": 1}]}, "Extra inputs", id="unknown key"),
        pytest.param({"linked": [{"from_": "a"}]}, "Extra inputs", id="not the key of files"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        WorldChanges.model_validate(options)


@pytest.mark.parametrize(
    ("options", "summary"),
    [
        pytest.param(
            {"created": [{"type": "refund", "data": {"amount": 5}, "status": "open", "count": 2}]},
            "Creates 2 of type refund with amount = 5, status = open",
            id="created",
        ),
        pytest.param(
            {"updated": [{"id": "a", "type": "order"}], "deleted": [{"type": "b"}, {"id": "c"}]},
            "Updates a (order); deletes b; c",
            id="updated and deleted",
        ),
        pytest.param(
            {
                "linked": [{"from": "a"}],
                "unlinked": [{"type": "of", "to": "b"}],
                "nothing_else": True,
            },
            "Links a → any → any; unlinks any → of → b; changes nothing else",
            id="relations",
        ),
        pytest.param({"nothing_else": True}, "Changes nothing in the world", id="nothing"),
    ],
)
def test_a_closed_row_says_what_is_expected(options: dict[str, Any], summary: str) -> None:
    assert WorldChanges.model_validate(options).summary() == summary


@pytest.mark.parametrize(
    ("options", "warnings"),
    [
        pytest.param({"nothing_else": True, "ignore": ["a"]}, 0, id="fine"),
        pytest.param({"linked": [{"from": "a"}]}, 0, id="a link"),
        pytest.param({"created": [{"type": "a"}], "ignore": ["a"]}, 1, id="ignored for nothing"),
        pytest.param({"created": [{"type": "a", "data": {"b": {"regexp": "x"}}}]}, 1, id="matcher"),
    ],
)
def test_what_is_hardly_meant_is_named(options: dict[str, Any], warnings: int) -> None:
    assert len(WorldChanges.model_validate(options).warnings()) == warnings


def test_it_is_written_back_with_the_keys_of_files() -> None:
    written = {"type": "world_changes", "linked": [{"from": "a", "to": "b"}], "nothing_else": True}

    spec = AssertionSpec.model_validate(written)

    assert spec.model_dump(mode="json", exclude_defaults=True) == written


# Whatever an agent may do


def many(count: int, *, op: str = "create") -> Trial:
    def row(number: int, value: int) -> dict[str, Any]:
        return {"id": f"a-{number}", "type": "a", "status": "active", "data": {"n": value}}

    journal = [
        {
            "op": op,
            "id": f"a-{number}",
            "before": row(number, 0) if op == "update" else None,
            "after": row(number, 1),
        }
        for number in range(count)
    ]
    return make_trial(world_journal=tuple(journal))


@pytest.mark.parametrize("op", ["create", "update"])
def test_tens_of_thousands_of_changes_are_shown_in_short(op: str) -> None:
    result = WorldChanges(nothing_else=True).grade(View(many(30_000, op=op)))

    assert result.passed is False
    assert result.reason.endswith("; and 29988 more.")
    assert len(result.details["unexpected"]) == 50


def test_more_than_can_be_compared_is_an_error_and_no_verdict() -> None:
    count = MAX_COMPARISONS // 100 + 1
    grader = WorldChanges.model_validate({"created": [{"type": "a"}] * 100})

    result = grader.grade(View(many(count)))

    assert (result.passed, result.status) == (None, GradeStatus.ERROR)
    assert f"{count:,} changes" in result.reason


def test_one_entity_is_found_among_tens_of_thousands() -> None:
    grader = WorldChanges.model_validate({"updated": [{"id": "a-77", "data": {"n": 1}}]})

    assert grader.grade(View(many(30_000, op="update"))).passed


def test_huge_numbers_and_deep_data_are_compared_exactly() -> None:
    deep: Any = 10**5000
    for _ in range(3000):
        deep = {"a": deep}
    before = {"id": "a-1", "type": "a", "status": "active", "data": {"deep": deep, "n": 10**5000}}
    after = before | {"data": {"deep": deep, "n": 10**5000 + 1}}
    journal = ({"op": "update", "id": "a-1", "before": before, "after": after},)
    grader = WorldChanges.model_validate(
        {"updated": [{"id": "a-1", "data": {"n": 10**5000 + 1}}], "nothing_else": True}
    )

    result = grader.grade(View(make_trial(world_journal=journal)))

    assert result.passed


@pytest.mark.parametrize("options", [NOTHING, A_REFUND], ids=["nothing may change", "a change"])
def test_an_agent_that_works_outside_the_world_is_not_graded(options: dict[str, Any]) -> None:
    trial = trial_of([]).but(is_outside=True)

    result = WorldChanges.model_validate(options).grade(View(trial))

    assert (result.status, result.cause, result.passed) == (GradeStatus.UNGRADED, Cause.CASE, None)
    assert "outside the world" in result.reason
