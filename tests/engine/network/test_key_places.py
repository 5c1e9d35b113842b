"""Which key may be sent where, and where models may be."""

import pytest

from evals_app.engine.network.key_places import (
    address_problem,
    header_problem,
    is_vouched_for,
    place_problem,
    variable_problem,
)
from evals_app.engine.network.provider_kinds import USUAL_KEYS
from tests.engine.permitting import permitting


@pytest.mark.parametrize(
    ("variable", "is_permitted"),
    [
        pytest.param("ANTHROPIC_API_KEY", True, id="usual"),
        pytest.param("PROVIDER_ACME", True, id="begins as listed"),
        pytest.param("GATEWAY_KEY", True, id="listed with a host"),
        pytest.param("AWS_SECRET_ACCESS_KEY", False, id="not listed"),
        pytest.param("HOME", False, id="of the system"),
        pytest.param("anthropic_api_key", False, id="in lower case"),
    ],
)
def test_only_listed_variables_are_keys(variable: str, *, is_permitted: bool) -> None:
    with permitting(keys=(*USUAL_KEYS, "PROVIDER_*", "GATEWAY_KEY@gw.example.org")):
        assert (variable_problem(variable) is None) is is_permitted


@pytest.mark.parametrize(
    "variable", ["EVALWELL_SECRET_KEY", "DATABASE_URL", "EVALS_LEASE_S", "DJANGO_SETTINGS_MODULE"]
)
def test_what_the_site_runs_on_is_no_key_whatever_is_listed(variable: str) -> None:
    with permitting(keys=("*", variable, f"{variable}@a.example"), variables=("*", variable)):
        assert variable_problem(variable) is not None
        assert variable_problem("HOME") is None


@pytest.mark.parametrize(
    ("variable", "url", "words"),
    [
        pytest.param("AGENT_A", "https://agent.example.org/chat", None, id="without a host: https"),
        pytest.param("AGENT_A", "http://agent.example.org/chat", "https://", id="plain http"),
        pytest.param("AGENT_A", "http://inside:8000/", None, id="a private host that is listed"),
        pytest.param("AGENT_PINNED", "https://agent.example.org/x", None, id="its own host"),
        pytest.param("AGENT_PINNED", "http://agent.example.org/x", None, id="its own host, http"),
        pytest.param("AGENT_PINNED", "https://evil.example/x", "agent.example.org", id="elsewhere"),
        pytest.param("AGENT_PINNED", "http://inside:8000/", "agent.example.org", id="inside"),
        pytest.param("AGENT_TWO", "https://b.example/", None, id="two entries, one without a host"),
        pytest.param("HOME", "http://evil.example/", None, id="not permitted: said elsewhere"),
    ],
)
def test_a_variable_in_a_header_goes_to_its_host_or_over_https(
    variable: str, url: str, words: str | None
) -> None:
    pinned = ("AGENT_PINNED@agent.example.org", "AGENT_TWO", "AGENT_TWO@a.example")
    with permitting(variables=("AGENT_*", *pinned), hosts=("inside:8000",)):
        problem = header_problem(variable, url)

    assert (problem is None) is (words is None)
    assert (words or "") in (problem or "")


def test_a_variable_that_is_refused_is_not_repeated_and_the_nearest_is_named() -> None:
    with permitting(keys=("OPENAI_API_KEY", "OPENAI_API_KEY@gw.example.org")):
        problem = variable_problem("OPENAI_API_KEI")

    assert problem is not None
    assert "OPENAI_API_KEI" not in problem
    assert problem.endswith("OPENAI_API_KEY. Did you mean 'OPENAI_API_KEY'?")


@pytest.mark.parametrize(
    ("variable", "base_url", "words"),
    [
        pytest.param("OPENAI_API_KEY", "https://api.openai.com/v1", None, id="usual"),
        pytest.param("OPENAI_API_KEY", "https://eu.api.openai.com/v1", None, id="region"),
        pytest.param("OPENAI_API_KEY", "http://api.openai.com/v1", "https://", id="http"),
        pytest.param("OPENAI_API_KEY", "https://evil.example/v1", "sent only to", id="elsewhere"),
        ("OPENAI_API_KEY", "https://evilapi.openai.com.evil.example", "sent only to"),
        ("ANTHROPIC_API_KEY", "https://api.openai.com/v1", "sent only to"),
        pytest.param("GROQ_API_KEY", "https://api.groq.com/openai/v1", None, id="by another kind"),
        pytest.param("GROQ_API_KEY", "https://gw.example.org/v1", None, id="listed"),
        pytest.param("GROQ_API_KEY", "http://gw.example.org:80/v1", None, id="and http"),
        pytest.param("GEMINI_API_KEY", "https://gw.example.org:8443", None, id="a port"),
        pytest.param("GEMINI_API_KEY", "https://gw.example.org/", "sent only to", id="no port"),
        pytest.param(
            "GEMINI_API_KEY",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "sent only to",
            id="listed with a host alone",
        ),
        ("AZURE_OPENAI_API_KEY", "https://ours.openai.azure.com/openai/v1/", None),
        pytest.param(
            "AZURE_OPENAI_API_KEY",
            "https://openai.azure.com.evil.example/openai/v1/",
            "sent only to",
            id="not azure",
        ),
        pytest.param("PROVIDER_X", "https://any.example/v1", None, id="of our own"),
        pytest.param("PROVIDER_X", "http://any.example/v1", "https://", id="not in clear"),
        pytest.param("PROVIDER_X", "http://gpu.internal:8000", None, id="named private"),
        pytest.param("PROVIDER_X", "http://127.0.0.1:11434/v1", None, id="Ollama's"),
        pytest.param("PINNED", "https://pin.example/v1", None, id="pinned"),
        pytest.param("PINNED", "https://any.example/v1", "sent only to pin", id="elsewhere 2"),
    ],
)
def test_a_key_goes_only_where_it_may(variable: str, base_url: str, words: str | None) -> None:
    keys = (
        *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "PROVIDER_*"),
        *("GROQ_API_KEY", "GROQ_API_KEY@gw.example.org", "GEMINI_API_KEY@gw.example.org:8443"),
        "PINNED@pin.example",
    )
    with permitting(keys=keys, hosts=("gpu.internal",)):
        problem = place_problem("openai", variable, base_url)

    assert (problem is None) if words is None else (problem is not None and words in problem)


@pytest.mark.parametrize(
    ("base_url", "words"),
    [
        pytest.param("https://models.example.org/v1", None, id="of the internet"),
        pytest.param("http://localhost:11434/v1", None, id="Ollama"),
        pytest.param("http://127.0.0.1:11434", None, id="Ollama by number"),
        pytest.param("http://127.0.0.1:8080/v1", "EVALS_PRIVATE_HOSTS", id="another port"),
        pytest.param("http://10.1.2.3/v1", "private network", id="private"),
        pytest.param("http://[::ffff:127.0.0.1]/v1", "EVALS_PRIVATE_HOSTS", id="mapped"),
        pytest.param("http://169.254.169.254/v1", "credentials", id="metadata"),
        pytest.param("http://gpu.internal/v1", None, id="named"),
        pytest.param("https://a.example/v1?x=1", "question mark", id="a query"),
        pytest.param("https://a.example/v1#x", "#", id="a fragment"),
        pytest.param("http://2130706433/v1", "four decimal numbers", id="disguised"),
    ],
)
def test_models_are_asked_where_the_operator_permits_it(base_url: str, words: str | None) -> None:
    with permitting(hosts=("gpu.internal",)):
        problem = address_problem(base_url)

    assert (problem is None) if words is None else (problem is not None and words in problem)


@pytest.mark.parametrize(
    ("base_url", "is_known"),
    [
        ("https://api.groq.com/openai/v1", True),
        ("https://gw.example.org/v1", True),
        ("http://gpu.internal/v1", True),
        ("https://any.example/v1", False),
    ],
)
def test_hosts_are_vouched_for_by_us_or_by_the_operator(base_url: str, *, is_known: bool) -> None:
    with permitting(keys=("PROVIDER_*", "PROVIDER_X@gw.example.org"), hosts=("gpu.internal",)):
        assert is_vouched_for("PROVIDER_X", base_url) is is_known
