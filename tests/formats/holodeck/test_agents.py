import pytest

from evals_app.formats.importing import SourceFile, read_files
from evals_app.formats.reading.problems import FormatError
from tests.formats.holodeck.projects import agent_file, read, whole, written


def test_a_file_with_model_and_instructions_brings_its_agent() -> None:
    (agent,) = whole().agents

    assert written(agent.spec) == {
        "agent": "Support agent",
        "slug": "support-agent",
        "description": "Handles customer support.",
        "driver": "model",
        "model": {
            "provider": "azure-openai-ours-openai-azure-com-support-key",
            "name": "gpt-4o-prod",
            "temperature": 0.6,
            "max_tokens": 4096,
            "top_p": 0.9,
        },
        "system_prompt": "You are a support specialist.\n",
        "settings": {"response_format": "json"},
    }


@pytest.mark.parametrize(
    ("instructions", "prompt"),
    [
        pytest.param("{inline: Be kind.}", "Be kind.", id="inline"),
        pytest.param("Be kind.", "Be kind.", id="text"),
        pytest.param("{file: p.md}", "---\nno heading\n", id="file"),
    ],
)
def test_instructions_are_the_system_prompt(instructions: str, prompt: str) -> None:
    text = agent_file(instructions=instructions)

    (agent,) = read(text, beside={"p.md": "---\nno heading\n"}).agents

    assert agent.spec.sent_prompt == prompt


def test_a_scripted_model_names_an_agent_that_goes_by_rules() -> None:
    text = """\
name: Trial
model: {provider: scripted, name: reader}
instructions: {inline: Be kind.}
evaluations: {model: {provider: scripted, name: reader}, metrics: [{type: rag, metric_type: faithfulness}]}
"""

    imported = read(text, agent=None)

    (trial,) = imported.suites
    assert (trial.spec.slug, trial.spec.agent) == ("trial", "reader")
    assert str(trial.spec.judge_model) == "scripted/reader"
    assert imported.agents == []
    assert [loss.keys for loss in imported.losses] == ["instructions"]


def test_instructions_in_a_file_that_is_no_text_are_refused_there() -> None:
    text = agent_file(instructions="{file: p.md}")
    source = SourceFile("agent.yaml", text.encode())

    with pytest.raises(FormatError) as caught:
        read_files([source], find={"p.md": b"\xff\xfe"}.get)

    assert [problem.path for problem in caught.value.problems] == ["p.md"]
