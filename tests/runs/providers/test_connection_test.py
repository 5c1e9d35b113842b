"""One short call with what is saved, and its result in words."""

from collections.abc import Mapping
from typing import Any

import pytest

from evals_app.engine.llm.models import preload
from evals_app.runs.providers import connection_test
from evals_app.runs.providers.connection_test import Tried, try_provider
from tests.engine.llm.makers import KEY_VARIABLE, make_provider
from tests.model_server import KEY, Answer, Failure, Garbage, Hang, ModelServer, Reply, Vectors

ENVIRON = {KEY_VARIABLE: KEY}
PRICE = {"model": "gpt-test", "valid_from": "2026-01-01", "input_usd": 1, "output_usd": 2}

preload({"openai"})  # it takes a second, of which some tests have none


def try_it(
    server: ModelServer,
    path: str = "/v1",
    *,
    is_embedding: bool = False,
    environ: Mapping[str, str] = ENVIRON,
    **changes: Any,
) -> Tried:
    fields = {"provider": "OpenAI", "slug": "openai", "kind": "openai", **changes}
    provider = make_provider(f"{server.url}{path}", **fields)
    return try_provider(provider, model="gpt-test", is_embedding=is_embedding, environ=environ)


@pytest.mark.parametrize(
    ("answer", "prices", "sentence"),
    [
        pytest.param(Reply("Yes.\n"), [PRICE], "It replied “Yes.”. It cost $0.00002.", id="text"),
        pytest.param(Reply("Yes"), [], "What it cost is unknown", id="no price"),
        pytest.param(Reply("yes " * 50), [PRICE], f"“{'yes ' * 20}…”.", id="too much, cut"),
        (Reply(stop="length"), [PRICE], "is empty; it stopped with “length”."),
    ],
)
def test_a_model_that_answers_is_quoted(
    model_server: ModelServer, answer: Reply, prices: list[dict[str, Any]], sentence: str
) -> None:
    model_server.replies([answer])

    tried = try_it(model_server, prices=prices)

    assert tried.is_well
    assert tried.sentence.startswith("gpt-test answered in ")
    assert sentence in tried.sentence
    assert model_server.bodies[0]["max_completion_tokens"] == 512


def test_the_length_of_an_embedding_is_shown(model_server: ModelServer) -> None:
    model_server.replies([Vectors(((0.5,) * 1536,))])

    tried = try_it(model_server, is_embedding=True)

    assert tried.is_well
    assert "1,536" in tried.sentence


@pytest.mark.parametrize(
    ("answer", "path", "sentence"),
    [
        (Failure(503, message="Down."), "/v1", "OpenAI answered 503 (service unavailable): Down."),
        pytest.param(
            Failure(404, message="No such model."),
            "/v1",
            "OpenAI answered 404 (not found): No such model.",
            id="an unknown model",
        ),
        (Garbage("Welcome"), "/v1", "OpenAI sent a reply that cannot be read: it is not JSON."),
        pytest.param(
            Failure(404, message="Not here."),
            "",
            "OpenAI answered 404 (not found): Not here. Its base URL has no /v1, where most such "
            "servers have their API.",
            id="an address without v1",
        ),
    ],
)
def test_an_error_has_the_words_of_a_run(
    model_server: ModelServer, answer: Answer, path: str, sentence: str
) -> None:
    model_server.replies([answer])

    tried = try_it(model_server, path)

    assert (tried.is_well, tried.sentence) == (False, sentence)
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"environ": {}}, f"the environment variable {KEY_VARIABLE}", id="no key"),
        ({"environ": {KEY_VARIABLE: "sk-wrong"}}, f"check the environment variable {KEY_VARIABLE}"),
        ({"kind": "groq", "is_embedding": True}, "not offer embeddings"),
        pytest.param({"kind": "scripted", "is_embedding": True}, "has no model API", id="no API"),
    ],
)
def test_what_is_missing_is_named(
    model_server: ModelServer, options: dict[str, Any], words: str
) -> None:
    tried = try_it(model_server, **options)

    assert not tried.is_well
    assert words in tried.sentence
    assert "sk-wrong" not in tried.sentence


def test_nobody_waits_long_for_a_server_that_says_nothing(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connection_test.ANSWER_S < connection_test.GIVE_UP_S < 20
    monkeypatch.setattr(connection_test, "GIVE_UP_S", 0.3)
    model_server.answers(lambda _: Hang())

    tried = try_it(model_server)

    assert (tried.is_well, tried.sentence) == (False, "OpenAI did not answer within 0.3 s.")
