from typing import Any

import pytest

from evals_app.engine.llm.apis.embed_wire import to_embeddings, to_request
from evals_app.engine.llm.apis.wire import UnreadableReplyError
from evals_app.engine.llm.call import EmbedCall
from evals_app.engine.record.usage import Usage


def vector(*numbers: float, **changes: Any) -> dict[str, Any]:
    return {"object": "embedding", "embedding": list(numbers), **changes}


def test_a_request_names_model_texts_and_a_form_that_every_server_has() -> None:
    call = EmbedCall(provider="openai", model="m", texts=("a", "half \ud83d"))

    assert to_request(call) == {
        "model": "m",
        "input": ["a", "half \ufffd"],
        "encoding_format": "float",
    }


def test_vectors_stand_in_the_order_of_their_texts() -> None:
    data = [vector(3, 4, index=1), vector(1, 2.5, index=0)]

    embeddings = to_embeddings({"data": data, "model": "m", "usage": {"prompt_tokens": 9}}, texts=2)

    assert embeddings.vectors == ((1.0, 2.5), (3.0, 4.0))
    assert (embeddings.model, embeddings.usage) == ("m", Usage(9, 0))


def test_without_an_index_their_own_order_counts_and_usage_may_be_unknown() -> None:
    embeddings = to_embeddings({"data": [vector(1), vector(2)]}, texts=2)

    assert embeddings.vectors == ((1.0,), (2.0,))
    assert embeddings.usage == Usage(None, 0)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param({}, "one vector for each of the 2", id="empty"),
        pytest.param({"data": [vector(1)]}, "one vector for each", id="too few"),
        pytest.param({"data": [vector(1)] * 3}, "one vector for each", id="too many"),
        pytest.param({"data": [vector(1, index=0)] * 2}, "one vector for each", id="one twice"),
        pytest.param(
            {"data": [vector(1, index=0), vector(2, index=0), vector(3, index=1)]},
            "one vector for each",
            id="one twice and all",
        ),
        pytest.param({"data": [vector(1), 5]}, "one vector for each", id="none"),
        ({"data": [vector(1), {"embedding": ["x"]}]}, "one vector for each"),
        pytest.param({"data": [vector(1), vector(1, 2)]}, "length", id="lengths"),
        pytest.param({"data": [vector(), vector()]}, "length", id="no length"),
    ],
)
def test_what_is_no_list_of_vectors_is_refused(body: dict[str, Any], problem: str) -> None:
    with pytest.raises(UnreadableReplyError, match=problem):
        to_embeddings(body, texts=2)
