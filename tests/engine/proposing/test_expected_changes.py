"""What happened, taken as what is expected."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.graders.world import WorldChanges
from evals_app.engine.proposing.expected_changes import Happening, expectation, happenings
from evals_app.engine.record.trial import Trial
from evals_app.engine.record.view import View
from fixtures_app.spec import FixtureSpec
from fixtures_app.tools import ToolWorld
from tests.engine.makers import make_trial, make_turn

SHOP = FixtureSpec.model_validate(
    {
        "name": "Shop",
        "slug": "shop",
        "entity_types": [{"slug": kind, "schema": {}} for kind in ("order", "customer", "refund")],
        "entities": [
            {"ref": "order-1", "type": "order", "data": {"a": {"b": 1, "c": 2}, "at": 1, "x": 0}},
            {"ref": "order-2", "type": "order", "data": {"a.b": 1}},
            {"ref": "ada", "type": "customer", "data": {}},
        ],
        "relations": [{"from": "order-1", "to": "ada", "type": "placed_by"}],
    }
)

Calls = list[tuple[str, dict[str, Any]]]


def trial_of(calls: Calls) -> Trial:
    world = ToolWorld([SHOP], {}, clock="2026-05-01T09:30:00+00:00")
    for name, args in calls:
        world.call(name, args)
    return make_trial(make_turn(), world_journal=tuple(world.journal))


def take_all(
    calls: Calls, *, but: tuple[str, ...] = (), nothing_else: bool = True
) -> dict[str, Any]:
    """Take what happened as a page offers it, but for what is unticked; moments are from the start."""
    changes = happenings(trial_of(calls))
    return expectation(changes, kept=keys_of(changes) - set(but), nothing_else=nothing_else)


def keys_of(changes: tuple[Happening, ...]) -> set[str]:
    parts = {part.key for change in changes for part in change.parts if not part.doubt}
    return {change.key for change in changes} | parts


def refund(**data: Any) -> tuple[str, dict[str, Any]]:
    return "entity.create", {"type": "refund", "data": data}


def update(id_: str = "order-1", /, **data: Any) -> tuple[str, dict[str, Any]]:
    return "entity.update", {"id": id_, "data": data}


def expected_row(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"created": [{"type": "refund", **row} for row in rows]}


def expected_update(id_: str = "order-1", /, **data: Any) -> dict[str, Any]:
    return {"updated": [{"id": id_, "data": data}]}


MADE = "2026-05-01T09:30:00Z"


@pytest.mark.parametrize(
    ("calls", "options"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param(
            [refund(amount=5)], expected_row({"data": {"amount": 5}}), id="without its id"
        ),
        pytest.param(
            [("entity.create", {"type": "refund", "data": {}, "status": "open"})],
            expected_row({"status": "open"}),
            id="created with a status",
        ),
        ([refund(amount=5)] * 3, expected_row({"data": {"amount": 5}, "count": 3})),
        pytest.param(
            [refund(amount=1), refund(amount=True)],
            expected_row({"data": {"amount": 1}}, {"data": {"amount": True}}),
            id="one is not true",
        ),
        ([refund(made=MADE, day="2026-05-01")], expected_row({"data": {"day": "2026-05-01"}})),
        pytest.param(
            [("entity.update", {"id": "order-1", "data": {"a": {"b": 5}}, "status": "closed"})],
            {"updated": [{"id": "order-1", "status": "closed", "data": {"a.b": 5}}]},
            id="updated",
        ),
        pytest.param(
            [update(x=None)], expected_update(x={"present": False}), id="a field was removed"
        ),
        ([update(x="2026-05-01 09:30", at=2)], expected_update(x={"present": True}, at=2)),
        ([update(x={"regex": "("})], expected_update(x={"present": True})),
        ([update("order-2", a={"b": 2})], expected_update("order-2", a={"b": 2})),
        ([("entity.delete", {"id": "order-1"})], {"deleted": [{"id": "order-1"}]}),
        pytest.param(
            [
                ("relation.create", {"from": "order-2", "to": "ada", "type": "placed_by"}),
                ("relation.delete", {"id": "relation-1"}),
            ],
            {
                "linked": [{"from": "order-2", "type": "placed_by", "to": "ada"}],
                "unlinked": [{"from": "order-1", "type": "placed_by", "to": "ada"}],
            },
            id="relations",
        ),
    ],
)
def test_what_happened_is_written_as_a_check(calls: Calls, options: dict[str, Any]) -> None:
    assert take_all(calls) == options | {"nothing_else": True}


def test_what_is_unticked_is_left_open() -> None:
    calls: Calls = [
        ("entity.create", {"type": "refund", "data": {"amount": 5, "note": "late"}}),
        ("entity.update", {"id": "order-1", "data": {"x": 1, "at": 2}}),
        ("entity.delete", {"id": "ada"}),
    ]

    changes = take_all(calls, but=("created-1-2", "updated-1-1", "deleted-1"), nothing_else=False)

    assert changes == {
        "created": [{"type": "refund", "data": {"amount": 5}}],
        "updated": [{"id": "order-1", "data": {"x": 1}}],
    }


def test_a_part_says_what_it_asks_for() -> None:
    (created,) = happenings(
        trial_of([("entity.create", {"type": "refund", "data": {"amount": 5}})])
    )

    assert (created.what, [str(part) for part in created.parts]) == ("refund", ["amount = 5"])


KEYS = st.sampled_from(["a", "a.b", "b", "", "x", "updated_at"])
VALUES = st.recursive(
    st.sampled_from(
        [None, True, 0, 1, 1.0, "", "text", "2026-05-01T09:30:00Z", "2026-99-01T09:30"]
    ),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["b", "c", "b.c", "regex", "present"]), inner, max_size=2)
    ),
    max_leaves=4,
)
DATA = st.dictionaries(KEYS, VALUES, max_size=3)
IDS = st.sampled_from(["order-1", "order-2", "ada", "refund-1", "refund-2", "relation-1"])
CALLS = st.one_of(
    st.tuples(
        st.just("entity.create"), st.fixed_dictionaries({"type": st.just("refund"), "data": DATA})
    ),
    st.tuples(
        st.just("entity.update"),
        st.fixed_dictionaries({"id": IDS, "data": DATA}, optional={"status": st.just("closed")}),
    ),
    st.tuples(st.just("entity.delete"), st.fixed_dictionaries({"id": IDS})),
    st.tuples(
        st.just("relation.create"),
        st.fixed_dictionaries({"from": IDS, "to": IDS, "type": st.just("next")}),
    ),
    st.tuples(st.just("relation.delete"), st.fixed_dictionaries({"id": IDS})),
)


@given(st.lists(CALLS, max_size=10), st.booleans(), st.data())
def test_what_happened_always_passes_when_it_is_expected(
    calls: Calls,
    nothing_else: bool,  # noqa: FBT001 - drawn
    data: st.DataObject,
) -> None:
    trial = trial_of(calls)
    taken_up = happenings(trial)
    parts = [part.key for change in taken_up for part in change.parts]
    changes = [change.key for change in taken_up]
    kept = set(data.draw(st.lists(st.sampled_from(parts)))) if parts else set()
    # "Nothing else" can only be said with all of them.
    some = data.draw(st.lists(st.sampled_from(changes))) if changes else []
    kept |= set(changes if nothing_else else some)

    options = expectation(taken_up, kept=kept, nothing_else=nothing_else)

    if options:
        grade = WorldChanges.model_validate(options).grade(View(trial))
        assert grade.passed, (grade.reason, options)
