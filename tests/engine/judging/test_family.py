import pytest

from evals_app.engine.judging.family import family_of, shared_family


@pytest.mark.parametrize(
    ("model", "family"),
    [
        pytest.param("claude-haiku-5-5", "Claude", id="as Anthropic writes it"),
        pytest.param("us.anthropic.claude-sonnet-4-v1:0", "Claude", id="as Bedrock does"),
        pytest.param("anthropic/claude-opus-5", "Claude", id="as OpenRouter does"),
        pytest.param("gpt-6-mini", "GPT", id="gpt"),
        pytest.param("chatgpt-latest", "GPT", id="chatgpt"),
        pytest.param("o4-mini", "GPT", id="o4"),
        pytest.param("gemini-4-flash", "Gemini", id="gemini"),
        pytest.param("meta-llama/Llama-5-70B", "Llama", id="llama"),
        pytest.param("mixtral-8x22b", "Mistral", id="mixtral"),
        pytest.param("qwen3:8b", "Qwen", id="as Ollama writes it"),
        pytest.param("command-r-plus", "Command", id="command"),
        pytest.param("phi-5", "Phi", id="phi"),
        pytest.param("support-2", None, id="a name of one's own"),
        pytest.param("solo4-mini", None, id="no o4"),
        pytest.param("delphi-2", None, id="no phi"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_family_is_known_by_the_names_of_its_models(model: str, family: str | None) -> None:
    assert family_of(model) == family


@pytest.mark.parametrize(
    ("judges", "agents", "family"),
    [
        pytest.param(["claude-haiku-5-5"], ["claude-opus-5"], "Claude", id="kin"),
        pytest.param(["gpt-6", "claude-haiku-5-5"], ["claude-opus-5"], "Claude", id="one of them"),
        pytest.param(["gpt-6"], ["claude-opus-5"], None, id="strangers"),
        pytest.param(["house-1"], ["house-2"], None, id="nobody knows"),
        pytest.param(["claude-haiku-5-5"], [], None, id="an agent without a model"),
    ],
)
def test_a_judge_may_be_of_the_agents_family(
    judges: list[str], agents: list[str], family: str | None
) -> None:
    assert shared_family(judges, agents) == family
