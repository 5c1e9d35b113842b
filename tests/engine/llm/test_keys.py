from typing import Any

import pytest

from evals_app.engine.basics.errors import AuthFailedError, ConfigurationError
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.llm.keys import MissingKey, access, missing_keys, refusal, unknown_address
from evals_app.engine.network.provider_kinds import variable_of
from evals_app.engine.specs.base_spec import ProviderSpec
from tests.engine.llm.makers import KEY_VARIABLE, make_provider
from tests.engine.permitting import permitting

SCRIPTED = ProviderSpec(provider="Scripted", slug="scripted", kind="scripted")
OLLAMA = ProviderSpec(provider="Ollama", slug="ollama", kind="ollama")
AZURE = {"kind": "azure_openai", "base_url": "https://n.openai.azure.com/openai/v1/"}


def plain(kind: str, **changes: Any) -> ProviderSpec:
    """Return a provider as stored in a row or snapshot, without checking permits."""
    written = {"provider": "Anthropic", "slug": "anthropic", "kind": kind, **changes}
    return ProviderSpec.model_validate(written, context=FROZEN)


@pytest.mark.parametrize(
    ("environ", "missing"),
    [
        pytest.param({KEY_VARIABLE: "k", "ANTHROPIC_API_KEY": "k"}, [], id="all there"),
        ({"ANTHROPIC_API_KEY": "k"}, [MissingKey("anthropic", KEY_VARIABLE)]),
        ({KEY_VARIABLE: " \n", "ANTHROPIC_API_KEY": "k"}, [MissingKey("anthropic", KEY_VARIABLE)]),
        pytest.param(
            {},
            [MissingKey("anthropic", KEY_VARIABLE), MissingKey("plain", "ANTHROPIC_API_KEY")],
            id="none at all; a provider that names no variable has the usual one",
        ),
    ],
)
def test_missing_keys_are_known_before_anything_is_sent(
    environ: dict[str, str], missing: list[MissingKey]
) -> None:
    providers = [make_provider(), SCRIPTED, OLLAMA, plain("anthropic", slug="plain")]

    assert missing_keys(providers, environ) == missing


@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        pytest.param(plain("openai"), "OPENAI_API_KEY", id="openai"),
        pytest.param(plain(**AZURE), "AZURE_OPENAI_API_KEY", id="azure"),
        pytest.param(plain("gemini"), "GEMINI_API_KEY", id="gemini"),
        pytest.param(plain("groq"), "GROQ_API_KEY", id="groq"),
        pytest.param(plain("openrouter"), "OPENROUTER_API_KEY", id="openrouter"),
        pytest.param(plain("openai", api_key_env="MINE"), "MINE", id="its own"),
        pytest.param(OLLAMA, "", id="none needed"),
        pytest.param(plain("ollama", api_key_env="MINE"), "MINE", id="none needed, but named"),
        pytest.param(SCRIPTED, "", id="no API"),
    ],
)
def test_each_kind_has_its_variable(spec: ProviderSpec, variable: str) -> None:
    assert variable_of(spec.kind, spec.api_key_env) == variable


@pytest.mark.parametrize(
    ("spec", "environ", "base_url"),
    [
        (plain("groq"), {"GROQ_API_KEY": "k"}, "https://api.groq.com/openai/v1"),
        pytest.param(
            plain("groq"),
            {"GROQ_API_KEY": "k", "OPENAI_BASE_URL": "http://other"},
            "https://api.groq.com/openai/v1",
            id="not that of another kind's SDK",
        ),
        pytest.param(
            plain("openai"),
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://proxy/v1\n"},
            "http://proxy/v1",
            id="its SDK's variable",
        ),
        pytest.param(
            plain("openai", base_url="https://mine/v1"),
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://proxy/v1"},
            "https://mine/v1",
            id="its own before all",
        ),
    ],
)
def test_the_address_is_always_known(
    spec: ProviderSpec, environ: dict[str, str], base_url: str
) -> None:
    with permitting(keys=("GROQ_API_KEY", "OPENAI_API_KEY", "OPENAI_API_KEY@mine")):
        assert access(spec, environ).base_url == base_url


def test_without_an_address_there_is_no_way() -> None:
    # A snapshot may hold what can no longer be written.
    spec = plain(**AZURE).model_copy(update={"base_url": None})

    with pytest.raises(ConfigurationError, match="base URL"):
        access(spec, {"AZURE_OPENAI_API_KEY": "k"})


@pytest.mark.parametrize(
    ("base_url", "environ", "words"),
    [
        pytest.param(None, "localhost:1234/v1", "variable OPENAI_BASE_URL must", id="no scheme"),
        pytest.param(None, "http://name:secret@host", "variable OPENAI_BASE_URL must", id="a name"),
        pytest.param(None, "http:///v1", "variable OPENAI_BASE_URL must", id="no host"),
        pytest.param("http://[::1/v1", "", "its base URL must be", id="its own"),
        pytest.param("http://host:port/v1", "", "its base URL must", id="its own, odd port"),
    ],
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(
    base_url: str | None, environ: str, words: str
) -> None:
    spec = plain("openai", base_url=base_url)

    with pytest.raises(ConfigurationError, match=words) as caught:
        access(spec, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": environ})

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        pytest.param({}, "set the environment variable PROVIDER_TEST_API_KEY", id="not set"),
        ({KEY_VARIABLE: "schlüssel"}, "PROVIDER_TEST_API_KEY does not contain a valid"),
    ],
)
def test_a_key_that_cannot_be_used_is_named_by_its_variable(
    environ: dict[str, str], words: str
) -> None:
    with pytest.raises(AuthFailedError, match=words):
        access(make_provider(), environ)


def test_a_key_is_in_no_log() -> None:
    assert "sk-secret" not in repr(access(make_provider(), {KEY_VARIABLE: "sk-secret"}))


@pytest.mark.parametrize(
    ("changes", "environ", "words"),
    [
        pytest.param({}, {}, None, id="as shipped"),
        pytest.param({"api_key_env": "EVALWELL_SECRET_KEY"}, {}, "not permit", id="this site's"),
        pytest.param({"api_key_env": "HOME"}, {}, "not permit", id="any variable"),
        ({"base_url": "https://elsewhere.example"}, {}, "sent only to"),
        pytest.param({"base_url": "http://10.0.0.1"}, {}, "private network", id="private"),
        ({"base_url": "http://api.anthropic.com"}, {}, "sent only to"),
        pytest.param({}, {"ANTHROPIC_BASE_URL": "http://10.0.0.1"}, None, id="the operator's word"),
        pytest.param(
            {"api_key_env": "OPENAI_API_KEY"},
            {"ANTHROPIC_BASE_URL": "https://elsewhere.example"},
            "sent only to",
            id="the operator's word is about another key",
        ),
    ],
)
def test_what_is_not_permitted_is_refused_before_a_key_is_read(
    changes: dict[str, Any], environ: dict[str, str], words: str | None
) -> None:
    spec = plain("anthropic", **changes)
    secrets = {"HOME": "/s3cret", "EVALWELL_SECRET_KEY": "s3cret", "OPENAI_API_KEY": "s3cret"}
    environ = {"ANTHROPIC_API_KEY": "s3cret"} | secrets | environ

    if words is None:
        assert refusal(spec, environ) is None
        assert access(spec, environ).key == "s3cret"
        return
    assert words in str(refusal(spec, environ))
    with pytest.raises(ConfigurationError, match=words) as caught:
        access(spec, environ)

    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "is_asked"),
    [
        pytest.param(None, False, id="the usual one"),
        pytest.param("https://api.anthropic.com/", False, id="the usual one, written"),
        pytest.param("http://localhost:8080", False, id="the operator has named it"),
        pytest.param("https://proxy.example.org", True, id="nobody knows it"),
    ],
)
def test_before_a_run_the_names_that_nobody_vouches_for_are_looked_up(
    base_url: str | None, *, is_asked: bool
) -> None:
    spec = plain("anthropic", base_url=base_url, api_key_env=KEY_VARIABLE)

    assert unknown_address(spec) == (base_url if is_asked else None)


@pytest.mark.parametrize(
    ("base_url", "is_trusted"),
    [("https://api.anthropic.com", True), ("https://proxy.example.org", False)],
)
def test_only_hosts_that_somebody_vouches_for_are_trusted(
    base_url: str, *, is_trusted: bool
) -> None:
    spec = plain("anthropic", base_url=base_url, api_key_env=KEY_VARIABLE)

    assert access(spec, {KEY_VARIABLE: "k"}).is_trusted is is_trusted
