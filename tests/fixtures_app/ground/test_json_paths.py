"""Paths into JSON: what they lead to, and what stands there instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures_app.ground.json_paths import NoSuchPlaceError, find, parse_path, path_text
from fixtures_app.ground.json_text import read_json

ORDER = read_json(
    '{"answer": 60.940, "none": null, "order": {"items": [{"unit price": 1.50}, {"id": "b"}],'
    ' "it\'s": "x"}, "paid": true, "0": "zero"}'
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("answer", "60.940", id="leading key"),
        pytest.param("$.answer", "60.940", id="from the root"),
        pytest.param(".answer", "60.940", id="leading dot"),
        pytest.param("order.items[0]['unit price']", "1.50", id="all kinds of steps"),
        pytest.param('order.items[0]["unit price"]', "1.50", id="double quotes"),
        pytest.param("order.items[-1].id", "b", id="from the end"),
        pytest.param(r"order['it\'s']", "x", id="escaped quote"),
        pytest.param("none", "None", id="null is a value"),
        pytest.param("0", "zero", id="a key of digits"),
        pytest.param("paid", "True", id="true"),
    ],
)
def test_a_path_leads_to_a_value(path: str, value: str) -> None:
    assert str(find(ORDER, parse_path(path))) == value


def test_the_root_is_the_whole_document() -> None:
    assert find(ORDER, parse_path("$")) is ORDER


@pytest.mark.parametrize(
    ("path", "says"),
    [
        pytest.param(
            "order.itens",
            "has no order.itens: order is an object with the keys “items”, “it's”."
            " Did you mean “items”?",
            id="a near key",
        ),
        pytest.param("zip", "it is an object with the keys “answer”, “none”", id="at the top"),
        pytest.param("order.items[2]", "order.items is a list of 2", id="beyond the end"),
        pytest.param("order.items.0", "[0]", id="a key for a list"),
        pytest.param("order[0]", "order is an object", id="a position for an object"),
        pytest.param("answer.x", "answer is the number 60.940", id="below a number"),
        pytest.param("none.x", "none is null", id="below null"),
        pytest.param("paid.x", "paid is true", id="below true"),
        pytest.param("order['it\\'s'].x", "order['it\\'s'] is the text “x”", id="below a text"),
    ],
)
def test_a_path_that_leads_nowhere_says_what_is_there(path: str, says: str) -> None:
    with pytest.raises(NoSuchPlaceError) as missing:
        find(ORDER, parse_path(path))

    assert says in str(missing.value)


@pytest.mark.parametrize(
    ("key", "path"),
    [
        pytest.param("cafe\u0301", "caf\u00e9", id="decomposed"),
        pytest.param("caf\u00e9", "cafe\u0301", id="composed"),
        pytest.param("\uff54\uff4f\uff54\uff41\uff4c", "total", id="full width"),
    ],
)
def test_a_key_that_only_looks_the_same_is_not_offered_as_another(key: str, path: str) -> None:
    with pytest.raises(NoSuchPlaceError) as missing:
        find({key: 1}, (path,))

    assert "stored in another way" in str(missing.value)
    assert "Did you mean" not in str(missing.value)


@given(st.lists(st.text(max_size=8) | st.integers(-9, 99), max_size=6))
def test_a_path_is_read_back_as_it_was_written(steps: list[str | int]) -> None:
    assert parse_path(path_text(steps)) == tuple(steps)


@given(st.text(max_size=40) | st.text(alphabet=st.sampled_from("$.[]'\"\\a0-*"), max_size=20))
def test_any_text_is_a_path_or_refused(text: str) -> None:
    try:
        steps = parse_path(text)
    except ValueError:
        return

    assert parse_path(path_text(steps)) == steps
