import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.llm.apis.names import ToolNames

LONG = "x" * 65

# Names that run into each other often: the dots, dashes and lengths where rewriting happens.
COLLIDING = st.one_of(
    st.text(alphabet="ab_.- ", min_size=0, max_size=4),
    st.text(alphabet="ab_.", min_size=62, max_size=66),
    st.text(max_size=80),
)


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        pytest.param("search", "search", id="plain"),
        pytest.param("entity_query-2", "entity_query-2", id="every accepted kind of character"),
        pytest.param("x" * 64, "x" * 64, id="just short enough"),
        pytest.param("entity.query", "entity_query", id="dot"),
        pytest.param("größe", "gr__e", id="letters beyond ASCII"),
        pytest.param("a b\n", "a_b_", id="white space"),
        pytest.param(LONG, "x" * 55 + "_9537c5fd", id="too long"),
        pytest.param("", "_e3b0c442", id="empty"),
    ],
)
def test_a_name_is_sent_as_apis_accept_it(name: str, sent: str) -> None:
    names = ToolNames([name])

    assert names.name_to_send(name) == sent
    assert names.authored_name(sent) == name


def test_a_rewritten_name_gives_way_to_an_accepted_one_in_any_order() -> None:
    for order in (["entity.query", "entity_query"], ["entity_query", "entity.query"]):
        names = ToolNames(order)

        assert names.name_to_send("entity_query") == "entity_query"
        assert re.fullmatch(r"entity_query_[0-9a-f]{8}", names.name_to_send("entity.query"))


def test_of_two_rewritten_names_the_first_in_the_alphabet_stays_readable() -> None:
    names = ToolNames(["entity/query", "entity.query"])

    assert names.name_to_send("entity.query") == "entity_query"
    assert names.name_to_send("entity/query").startswith("entity_query_")


def test_a_hash_that_somebody_took_is_hashed_again() -> None:
    first = ToolNames(["a.b", "a_b"]).name_to_send("a.b")

    names = ToolNames(["a.b", "a_b", first])

    assert names.name_to_send(first) == first
    assert names.name_to_send("a.b") not in {first, "a_b"}


def test_a_name_that_the_model_made_up_stays_as_it_is() -> None:
    assert ToolNames(["search"]).authored_name("entity_query") == "entity_query"


@given(st.lists(COLLIDING, unique=True, max_size=12))
def test_every_set_of_names_makes_the_round_trip(authored: list[str]) -> None:
    names = ToolNames(authored)

    sent = {name: names.name_to_send(name) for name in authored}
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", sent_name) for sent_name in sent.values())
    assert {names.authored_name(sent_name): sent_name for sent_name in sent.values()} == sent


@given(st.lists(COLLIDING, unique=True, max_size=12))
def test_the_order_of_the_tools_does_not_matter(authored: list[str]) -> None:
    names, sorted_names = ToolNames(authored), ToolNames(sorted(authored))

    assert [names.name_to_send(name) for name in authored] == [
        sorted_names.name_to_send(name) for name in authored
    ]
