"""One short call with what is saved, told in words."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from evals_app.engine.llm.models import preload
from evals_app.engine.spec import ProviderSpec
from evals_app.runs import connection
from evals_app.runs.connection import try_provider
from tests.engine.llm.makers import KEY_VARIABLE, make_provider
from tests.model_server import KEY, Answer, Failure, Garbage, Hang, ModelServer, Reply, Vectors

ENVIRON = {KEY_VARIABLE: KEY}

preload({"openai"})  # it takes a second, of which some tests have none


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def provider_at(server: ModelServer, path: str = "/v1", **changes: Any) -> ProviderSpec:
    fields = {"provider": "OpenAI", "slug": "openai", "kind": "openai", **changes}
    return make_provider(f"{server.url}{path}", **fields)


PRICE = {"model": "gpt-test", "valid_from": "2026-01-01", "input_usd": 1, "output_usd": 2}


@pytest.mark.parametrize(
    ("answer", "prices", "sentence"),
    [
        pytest.param(
            Reply("Yes.\n"), [PRICE], "It replied “Yes.”. It cost $0.00002.", id="what it said"
        ),
        pytest.param(
            Reply("Yes"),
            [],
            "It replied “Yes”. What it cost is unknown: the model has no price here.",
            id="no price",
        ),
        pytest.param(
            Reply("yes " * 50), [PRICE], f"It replied “{'yes ' * 20}…”.", id="too much, cut"
        ),
        pytest.param(
            Reply(stop="length"),
            [PRICE],
            "Its reply is empty; it stopped with “length”.",
            id="none",
        ),
    ],
)
def test_a_model_that_answers_is_quoted(
    server: ModelServer, answer: Reply, prices: list[dict[str, Any]], sentence: str
) -> None:
    server.replies([answer])

    tried = try_provider(provider_at(server, prices=prices), model="gpt-test", environ=ENVIRON)

    assert tried.is_well
    assert tried.sentence.startswith("gpt-test answered in ")
    assert sentence in tried.sentence
    assert server.bodies[0]["max_completion_tokens"] == 512


def test_an_embedding_tells_its_length(server: ModelServer) -> None:
    server.replies([Vectors(((0.5,) * 1536,))])

    tried = try_provider(provider_at(server), model="embed-1", is_embedding=True, environ=ENVIRON)

    assert tried.is_well
    assert tried.sentence.startswith("embed-1 gave a vector of 1,536 numbers in ")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        pytest.param(
            Failure(503, message="Down."),
            "OpenAI answered 503 (service unavailable): Down.",
            id="trouble is not waited out",
        ),
        pytest.param(
            Failure(404, message="No such model."),
            "OpenAI answered 404 (not found): No such model.",
            id="an unknown model",
        ),
        pytest.param(
            Garbage("Welcome"),
            "OpenAI sent a reply that cannot be read: it is not JSON.",
            id="another server",
        ),
    ],
)
def test_what_went_wrong_is_told_as_in_a_run(
    server: ModelServer, answer: Answer, sentence: str
) -> None:
    server.replies([answer])

    tried = try_provider(provider_at(server), model="gpt-test", environ=ENVIRON)

    assert (tried.is_well, tried.sentence) == (False, sentence)
    assert len(server.requests) == 1


def test_an_address_without_v1_is_pointed_out(server: ModelServer) -> None:
    server.replies([Failure(404, message="Not here.")])

    tried = try_provider(provider_at(server, ""), model="gpt-test", environ=ENVIRON)

    assert tried.sentence == (
        "OpenAI answered 404 (not found): Not here. Its base URL has no /v1, where most such "
        "servers have their API."
    )


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        pytest.param(
            {},
            "Provider 'openai' needs an API key: set the environment variable PROVIDER_TEST_API_KEY.",
            id="no key",
        ),
        pytest.param(
            {KEY_VARIABLE: "sk-wrong"},
            "Check the environment variable PROVIDER_TEST_API_KEY",
            id="wrong",
        ),
    ],
)
def test_a_key_is_named_by_its_variable(
    server: ModelServer, environ: dict[str, str], sentence: str
) -> None:
    tried = try_provider(provider_at(server), model="gpt-test", environ=environ)

    assert not tried.is_well
    assert sentence in tried.sentence
    assert "sk-wrong" not in tried.sentence


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        pytest.param(
            {"kind": "groq"},
            "Provider 'openai' (Groq) does not offer embeddings.",
            id="no embeddings",
        ),
        pytest.param({"kind": "scripted"}, "is scripted: it has no model API.", id="no API"),
    ],
)
def test_what_a_provider_does_not_have_is_said(
    server: ModelServer, spec: dict[str, Any], sentence: str
) -> None:
    tried = try_provider(provider_at(server, **spec), model="m", is_embedding=True, environ=ENVIRON)

    assert not tried.is_well
    assert sentence in tried.sentence


def test_nobody_waits_long_for_a_server_that_says_nothing(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connection.ANSWER_S < connection.GIVE_UP_S < 20
    monkeypatch.setattr(connection, "GIVE_UP_S", 0.3)
    server.answers(lambda _: Hang())
    began = time.monotonic()

    tried = try_provider(provider_at(server), model="gpt-test", environ=ENVIRON)

    assert (tried.is_well, tried.sentence) == (False, "OpenAI did not answer within 0.3 s.")
    assert time.monotonic() - began < 60
