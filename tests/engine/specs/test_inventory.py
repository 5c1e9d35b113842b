"""What checks may name: the tools of an agent, and what its fixtures hold."""

from dataclasses import replace

import pytest

from evals_app.engine.specs.inventory import Abilities, CheckedName, Inventory, slips

CLOSED = Abilities(frozenset({"refund", "entity.query"}), finds_elsewhere=False)
SHOP = replace(
    Inventory.of(
        "desk", CLOSED, chunks=["returns"], entities=["order-1042"], types=["order", "sub-order"]
    ),
    arguments={"entity.query": {"type": "string"}},
)


@pytest.mark.parametrize(
    ("named", "is_there"),
    [
        pytest.param(CheckedName("tool", "refund", ()), True, id="tool"),
        pytest.param(CheckedName("tool", "Refund", ()), False, id="another case"),
        pytest.param(CheckedName("tool", "query", (), is_part=True), True, id="part"),
        pytest.param(CheckedName("tool", "delete", (), is_part=True), False, id="part of none"),
        pytest.param(CheckedName("chunk", "returns", ()), True, id="chunk"),
        pytest.param(CheckedName("chunk", "terms", ()), False, id="no chunk"),
        pytest.param(CheckedName("entity", "order-1042", ()), True, id="entity"),
        pytest.param(CheckedName("entity", "order-7", ()), True, id="one that an agent creates"),
        pytest.param(CheckedName("entity", "order-7", (), is_old=True), False, id="expected"),
        pytest.param(CheckedName("entity", "order-1042", (), is_old=True), True, id="is there"),
        pytest.param(CheckedName("entity", "sub-order-7", ()), True, id="of a type with a hyphen"),
        pytest.param(CheckedName("entity", "customer-7", ()), False, id="of no type"),
        pytest.param(CheckedName("entity", "order", ()), False, id="no number"),
        pytest.param(
            CheckedName("argument", "typ", (), owner="refund"),
            True,
            id="argument of a tool without a list",
        ),
        (CheckedName("argument", "type", (), owner="entity.query"), True),
        (CheckedName("argument", "typ", (), owner="entity.query"), False),
        pytest.param(CheckedName("entity type", "order", ()), True, id="type"),
        pytest.param(CheckedName("entity type", "orders", ()), False, id="no type"),
    ],
)
def test_a_name_is_there_or_not(named: CheckedName, *, is_there: bool) -> None:
    assert (SHOP.problem(named) is None) is is_there
    assert Inventory("desk").problem(named) is None


def test_what_is_known_is_named_once_in_order() -> None:
    problem = SHOP.problem(CheckedName("tool", "xyz", ()))

    assert problem is not None
    assert problem.endswith("Known: entity.query, refund.")


def test_what_is_not_to_be_seen_is_not_shown() -> None:
    shop = Inventory("desk", frozenset({"refund"}), shows_tools=False)

    assert "refund" not in str(shop.problem(CheckedName("tool", "refnd", ())))


@pytest.mark.parametrize(
    ("names", "problems"),
    [
        pytest.param(["find_orders"] * 2 + ["find_oders"], {"find_oders": "find_orders"}, id="yes"),
        pytest.param(["find_orders", "find_oders"], {}, id="nobody knows which"),
        pytest.param(["find_orders"] * 2 + ["find_oders"] * 2, {}, id="both are usual"),
        pytest.param(["find_orders"] * 2 + ["refund"], {}, id="another"),
    ],
)
def test_slips_are_almost_like_what_is_shown_more_often(
    names: list[str], problems: dict[str, str]
) -> None:
    assert slips(CheckedName("tool", name, ()) for name in names) == problems
