from typing import Any

import pytest

from evals_app.formats.detect import foreign_dialect, is_eval_file, kind_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("a/refunds.suite.yaml", True, id="suite"),
        pytest.param("support.agent.yaml", True, id="agent"),
        pytest.param("shop.fixture.yaml", True, id="fixture"),
        pytest.param("ours.provider.yml", True, id="provider, short ending"),
        pytest.param("evals/x.eval.yaml", True, id="Struere"),
        pytest.param("compose.yaml", False, id="other YAML"),
        pytest.param("suite.yaml", False, id="no name before the kind"),
        pytest.param("x.suite.json", False, id="other ending"),
        pytest.param("x.suite.yaml.bak", False, id="backup"),
        pytest.param("x.suite.jsonl", True, id="rows"),
        pytest.param("rows.jsonl", False, id="other rows"),
        pytest.param("saved/eval_68a.json", True, id="eval of OpenAI"),
        pytest.param("saved/evalrun_68b-items.json", True, id="results of OpenAI"),
        pytest.param("evaluation.json", False, id="other JSON"),
        pytest.param("openai/evals/registry/evals/sums.yaml", True, id="registry of OpenAI"),
        pytest.param("openai/evals/registry/modelgraded/fact.yaml", False, id="its prompts"),
    ],
)
def test_files_of_a_folder_are_found_by_name(path: str, *, expected: bool) -> None:
    assert is_eval_file(path) is expected


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param({"suite": "A", "agent": "b", "cases": []}, "suite", id="suite"),
        pytest.param({"cases": []}, "suite", id="cases alone"),
        pytest.param({"name": "A", "entities": []}, "fixture", id="fixture"),
        pytest.param({"entity_types": []}, "fixture", id="entity types"),
        pytest.param({"provider": "A", "kind": "anthropic"}, "provider", id="provider"),
        pytest.param({"agent": "A", "driver": "model"}, "agent", id="agent"),
        pytest.param({"agent": "A"}, None, id="too little"),
        pytest.param({"cases": [{"turns": []}]}, "suite", id="cases with turns"),
        pytest.param({"slug": "x", "cases": [{}]}, "suite", id="cases and a slug"),
        pytest.param({"cases": [{"inputs": "x"}]}, None, id="cases of another tool"),
        pytest.param({"name": "x", "cases": 5}, None, id="cases that are none"),
        pytest.param({"services": {}}, None, id="something else"),
        pytest.param([1], None, id="list"),
        pytest.param("text", None, id="text"),
    ],
)
def test_other_yaml_is_reported_by_its_keys(data: Any, kind: str | None) -> None:
    assert kind_of("x.yaml", data) == kind


def test_the_name_wins_over_the_keys() -> None:
    assert kind_of("x.agent.yaml", {"suite": "A", "cases": []}) == "agent"


@pytest.mark.parametrize(
    ("path", "data", "dialect"),
    [
        pytest.param("agent.yaml", {"name": "x", "cases": []}, "holodeck", id="misspelt"),
        pytest.param("agent.yaml", {"test_cases": [], "rules": []}, "holodeck", id="one key more"),
        pytest.param("agentura.yaml", {"evals": [], "suite": "x"}, "agentura", id="Agentura"),
        pytest.param("agent.yaml", {"slug": "x", "rules": []}, None, id="our agent"),
        pytest.param("agent.yaml", {"agent": "x", "driver": "http"}, None, id="ours, no slug"),
        pytest.param("x.yaml", {"test_cases": [], "cases": []}, None, id="another name"),
    ],
)
def test_a_file_of_a_foreign_name_is_ours_only_with_a_key_that_only_ours_have(
    path: str, data: Any, dialect: str | None
) -> None:
    assert foreign_dialect(path, data) == dialect


@pytest.mark.parametrize(
    ("path", "data", "dialect"),
    [
        pytest.param("a.json", {"testing_criteria": []}, "openai-evals", id="eval"),
        pytest.param("a.json", [{"data_source": {}}], "openai-evals", id="runs"),
        pytest.param("a.json", {"data": [{"datasource_item": {}}]}, "openai-evals", id="results"),
        pytest.param("a.json", {"object": "list", "data": []}, "openai-evals", id="empty page"),
        pytest.param("a.json", {"eval": {"data_source_config": {}}}, "openai-evals", id="nested"),
        pytest.param("a.jsonl", [{"item": {"x": 1}}], "openai-evals", id="items"),
        pytest.param("a.jsonl", [{"input": "x", "ideal": "y"}], "openai-evals", id="samples"),
        ("a.yaml", {"x.v0": {"class": "a:B", "args": {}}}, "openai-evals"),
        pytest.param("a.jsonl", [{"input": "x", "target": "y"}], "table", id="rows"),
        pytest.param("a.jsonl", [5], "table", id="no rows"),
        pytest.param("a.json", [{"question": "x"}], "table", id="list of rows"),
        pytest.param("a.yaml", {"cases": [{"inputs": "x"}]}, "table", id="rows under a key"),
        pytest.param(
            "a.json", {"a": [{"input": "x"}], "b": [{"input": "x"}]}, "table", id="2 lists"
        ),
        pytest.param("a.json", [{"name": "x"}], "table", id="rows that ask nothing"),
        pytest.param("a.suite.yaml", {"testing_criteria": []}, None, id="name of ours"),
        ("promptfooconfig.json", {"tests": [{"input": 1}]}, "promptfoo"),
    ],
)
def test_files_without_a_name_of_their_own_are_reported_by_what_they_hold(
    path: str, data: Any, dialect: str | None
) -> None:
    assert foreign_dialect(path, data) == dialect
