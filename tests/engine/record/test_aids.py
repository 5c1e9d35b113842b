"""What graders may ask for in addition to the trial."""

from typing import Any

import pytest

from evals_app.engine.basics.journal import WorldState
from evals_app.engine.record.aids import Aids
from evals_app.engine.record.view import View
from tests.engine.makers import make_trial, make_turn, make_world

UPDATE = ("entity.update", {"id": "order-1", "data": {"total": 0}})
CREATE = ("entity.create", {"type": "order", "data": {"total": 5}})


def view_of(*turns: list[tuple[str, dict[str, Any]]]) -> tuple[View, Aids]:
    """Return the whole of a conversation in whose turns these tools were called, and its aids."""
    world = make_world()
    ends = []
    for calls in turns:
        for name, args in calls:
            world.call(name, args)
        ends.append(world.change_count)
    records = [make_turn(index=n, journal_end=end) for n, end in enumerate(ends, 1)]
    trial = make_trial(*records, world_journal=tuple(world.journal))
    return View(trial), Aids(opened_world=world.initial_state)


def totals(state: WorldState | None) -> dict[str, Any]:
    assert state is not None
    return {row["id"]: row["data"]["total"] for row in state["entities"]}


@pytest.mark.parametrize(
    ("turn", "before", "after"),
    [
        (None, {"order-1": 24.5, "order-2": 8}, {"order-1": 0, "order-2": 8, "order-3": 5}),
        (1, {"order-1": 24.5, "order-2": 8}, {"order-1": 0, "order-2": 8}),
        (2, {"order-1": 0, "order-2": 8}, {"order-1": 0, "order-2": 8, "order-3": 5}),
    ],
)
def test_the_world_is_known_before_and_after_what_is_in_sight(
    turn: int | None, before: dict[str, Any], after: dict[str, Any]
) -> None:
    whole, aids = view_of([UPDATE], [CREATE])
    view = whole if turn is None else View(whole.trial, whole.trial.turns[turn - 1])

    assert totals(aids.world_before(view)) == before
    assert totals(aids.world_after(view)) == after


def test_without_a_world_there_is_neither() -> None:
    view, _ = view_of([UPDATE])

    assert Aids().world_before(view) is None
    assert Aids().world_after(view) is None


def test_a_stored_trial_tells_the_world_again_from_its_fixtures() -> None:
    view, aids = view_of([UPDATE], [CREATE])
    stored = View(type(view.trial).from_json(view.trial.to_json()))

    again = Aids(opened_world=make_world().initial_state)

    assert again.world_before(stored) == aids.world_before(view)
    assert again.world_after(stored) == aids.world_after(view)
