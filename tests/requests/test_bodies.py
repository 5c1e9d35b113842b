from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.requests.bodies import (
    ImportFiles,
    NewCeiling,
    Nothing,
    Pin,
    RerunCases,
    StartRun,
    read_body,
)
from evals_app.requests.problems import RefusedError

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        *("suite", "agent", "model", "cases", "tags", "trials", "only", "files", "x"),
        *("max_cost_usd", "is_pinned"),
    ]
)


@pytest.mark.parametrize("model", [StartRun, RerunCases, ImportFiles, NewCeiling, Pin, Nothing])
@given(data=ANYTHING | st.dictionaries(KEYS, ANYTHING))
def test_whatever_is_sent_is_read_or_refused(model: Any, data: Any) -> None:
    refused = None
    try:
        body = read_body(model, data)
    except RefusedError as exc:
        refused, body = exc, None

    assert isinstance(body, model) or refused is not None
    assert refused is None or all(error["message"] for error in refused.errors)
    assert refused is None or refused.errors


def test_every_mistake_is_shown_at_once() -> None:
    with pytest.raises(RefusedError) as caught:
        read_body(StartRun, {"trials": 0, "cases": [1], "trails": 2})

    assert [error["keys"] for error in caught.value.errors] == [
        *("suite", "cases[0]", "trials", "trails")
    ]
    assert str(caught.value.detail).endswith("(3 more)")


@pytest.mark.parametrize(
    ("model", "data", "expected"),
    [
        pytest.param(StartRun, {"suite": "a", "tag": ["x"]}, "Did you mean 'tags'?", id="near"),
        pytest.param(StartRun, {"suite": "a", "zzz": 1}, "suite, agent, model", id="far"),
        pytest.param(Nothing, {"zzz": 1}, "no body", id="nothing is known"),
        pytest.param(
            ImportFiles,
            {"files": [{"path": "a", "content": "", "contents": ""}]},
            "Did you mean 'content'?",
            id="inside",
        ),
    ],
)
def test_an_unknown_key_is_explained(model: Any, data: Any, expected: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read_body(model, data)

    assert expected in caught.value.errors[0]["message"]


def test_a_long_key_is_shortened() -> None:
    with pytest.raises(RefusedError) as caught:
        read_body(StartRun, {"suite": "a", "x" * 100_000: 1})

    assert len(caught.value.errors[0]["message"]) < 500
