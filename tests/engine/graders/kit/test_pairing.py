"""Pairing: as many expectations as possible get something of their own."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.graders.kit.pairing import pair_up


@pytest.mark.parametrize(
    ("fitting", "partners"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([[]], [None], id="nothing fits"),
        pytest.param([[0], [1]], [0, 1], id="one each"),
        pytest.param([[0], [0]], [0, None], id="one for two"),
        pytest.param([[0, 1], [0]], [1, 0], id="the loose one makes way"),
        pytest.param([[0, 1], [1, 2], [0]], [1, 2, 0], id="and so does the next"),
        pytest.param([[0], [0], [0, 1]], [0, None, 1], id="after one in vain"),
    ],
)
def test_a_loose_expectation_makes_way(
    fitting: list[list[int]], partners: list[int | None]
) -> None:
    assert pair_up(fitting) == partners


@given(st.lists(st.lists(st.integers(0, 4), unique=True, max_size=5), max_size=5))
def test_no_other_pairing_has_more_pairs(fitting: list[list[int]]) -> None:
    partners = pair_up(fitting)

    most = max(
        len(taken)
        for choice in product(*([None, *places] for places in fitting))
        if len(taken := [place for place in choice if place is not None]) == len(set(taken))
    )
    pairs = [(place, places) for place, places in zip(partners, fitting, strict=True)]
    assert all(place is None or place in places for place, places in pairs)
    taken = [place for place in partners if place is not None]
    assert len(taken) == len(set(taken)) == most


def test_a_long_chain_needs_no_deep_stack() -> None:
    length = 3000
    chain = [[place, place + 1] for place in range(length)] + [[0]]

    assert None not in pair_up(chain)
