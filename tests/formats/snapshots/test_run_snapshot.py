"""Snapshots: one text for one content, and read back as they were."""

import hashlib
import json
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.specs.agent_spec import AgentSpec, ScriptedAgent
from evals_app.engine.specs.base_spec import ModelSpec, ProviderSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.similarity import SimilaritySpec
from evals_app.formats.snapshots.run_snapshot import (
    SCHEMA_VERSION,
    Name,
    SnapshotSpec,
    canonical_case,
    read_case,
)
from fixtures_app.spec import EntityTypeSpec, FixtureSpec

SUITE: dict[str, Any] = {
    "suite": "Größe",
    "slug": "s",
    "agent": "a",
    "fixtures": ["shop"],
    "judge_model": {"provider": "anthropic", "name": "claude-haiku-5-5", "temperature": 0},
    "cases": [
        {
            "name": "c",
            "context_params": {"n": 1, "x": 1.5, "yes": True, "none": None},
            "turn_timeout_s": 30,
            "turns": [
                {
                    "user": "Hi",
                    "assertions": [
                        {"type": "contains", "value": "x"},
                        {"type": "llm-rubric", "criteria": "Kind", "model": "agent"},
                        {"type": "tool_called", "value": "entity.query", "args": {"n": 2}},
                    ],
                }
            ],
        }
    ],
}
AGENT: dict[str, Any] = {"agent": "A", "slug": "a", "model": "claude-haiku-5-5"}
FIXTURE: dict[str, Any] = {
    "name": "Shop",
    "slug": "shop",
    "entities": [
        {"ref": "o", "type": "order", "data": {"total": 8, "rate": 0.5}},
        {"ref": "p", "type": "order", "data": {}},
    ],
    "relations": [{"from": "o", "to": "p", "type": "next"}],
}
ORDER = EntityTypeSpec.model_validate({"slug": "order", "schema": {"type": "object"}})


def make_snapshot(
    *, suite: dict[str, Any] | None = None, agent: dict[str, Any] | None = None
) -> SnapshotSpec:
    return SnapshotSpec(
        suite=SuiteSpec.model_validate(SUITE | (suite or {})),
        agent=AgentSpec.model_validate(AGENT | (agent or {})),
        judge=ModelSpec(provider="scripted", name="judge"),
        similarity=SimilaritySpec.model_validate({"way": "embeddings", "model": "openai/embed-1"}),
        scripted=[
            ScriptedAgent.model_validate(
                {"agent": "J", "slug": "judge", "driver": "scripted", "rules": [{"reply": "5"}]}
            )
        ],
        fixtures=[FixtureSpec.model_validate(FIXTURE)],
        entity_types=[ORDER],
        providers=[ProviderSpec(provider="Anthropic", slug="anthropic", kind="anthropic")],
    )


def test_a_snapshot_is_read_back_as_it_was() -> None:
    snapshot = make_snapshot()

    again = SnapshotSpec.read(snapshot.canonical())

    assert again == snapshot
    assert again.canonical() == snapshot.canonical()


def test_what_was_permitted_then_is_read_whatever_is_permitted_now() -> None:
    # As if both had been written under other settings.
    code = {"assertions": [{"type": "code", "grader": "graders_of_then:check"}]}
    python = {"driver": "python", "callable": "agents_of_then:answer"}
    snapshot = make_snapshot().model_copy(
        update={
            "suite": SuiteSpec.model_validate(SUITE | code, context=FROZEN),
            "agent": AgentSpec.model_validate({"agent": "A", "slug": "a"} | python, context=FROZEN),
        }
    )
    case = snapshot.suite.cases[0].model_copy(
        update={"final_assertions": snapshot.suite.assertions}
    )

    assert SnapshotSpec.read(snapshot.canonical()) == snapshot
    assert read_case(canonical_case(case)) == case
    with pytest.raises(ValidationError, match="does not permit the module graders_of_then"):
        SnapshotSpec.model_validate_json(snapshot.canonical())


def test_everything_is_written_out_defaults_included() -> None:
    written = json.loads(make_snapshot().canonical())

    assert written["schema_version"] == SCHEMA_VERSION == 2
    assert written["suite"]["concurrency"] == 10
    assert written["agent"]["settings"]["max_tool_rounds"] == 25
    assert written["judge"] == "scripted/judge"
    assert written["entity_types"] == [{"slug": "order", "schema": {"type": "object"}}]
    assert written["fixtures"][0]["relations"][0]["from"] == "o"
    (contains, judged, _) = written["suite"]["cases"][0]["turns"][0]["assertions"]
    assert contains["case_sensitive"] is False
    assert (judged["type"], judged["scale"], judged["model"]) == ("llm_judge", "pass_fail", "agent")


def test_the_text_is_canonical() -> None:
    text = make_snapshot().canonical()

    assert text == json.dumps(
        json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert "Größe" in text


PLAIN = {"type": "contains", "value": "x"}
WRITTEN_OUT = PLAIN | {"weight": 1, "enabled": True, "name": None}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"suite": {"assertions": [WRITTEN_OUT]}}, id="defaults of a check"),
        pytest.param({"suite": {"trials": 1, "concurrency": 10}}, id="a default that is written"),
        pytest.param({"suite": {"fixtures": "shop"}}, id="one or several"),
        pytest.param({"agent": {"model": "anthropic/claude-haiku-5-5"}}, id="a name in full"),
        pytest.param({"suite": dict(reversed(SUITE.items()))}, id="another order of keys"),
        pytest.param({"suite": {"min_pass_rate": 1}}, id="a whole number for a fraction"),
    ],
)
def test_the_same_content_has_the_same_text(changes: dict[str, Any]) -> None:
    plain = {"assertions": [PLAIN]}
    changed = {**changes, "suite": plain | changes.get("suite", {})}

    assert make_snapshot(**changed).canonical() == make_snapshot(suite=plain).canonical()


@pytest.mark.parametrize(
    "changes",
    [
        {"suite": {"trials": 2}},
        {"suite": {"cases": [SUITE["cases"][0] | {"name": "d"}]}},
        {"agent": {"system_prompt": "Be kind."}},
    ],
)
def test_another_content_has_another_text(changes: dict[str, Any]) -> None:
    changed, plain = make_snapshot(**changes).canonical(), make_snapshot().canonical()

    assert changed != plain


def test_it_is_known_by_the_hash_of_its_cases_and_its_head() -> None:
    assert Name(["Größe", "b"]).of("head") == hashlib.sha256("Größe\nb\nhead".encode()).hexdigest()


@pytest.mark.parametrize(
    ("cases", "head"),
    [
        pytest.param(["a", "c"], "head", id="another case"),
        pytest.param(["b", "a"], "head", id="another order"),
        pytest.param(["a"], "head", id="one less"),
        pytest.param(["a", "b"], "other", id="another head"),
        pytest.param(["ab"], "head", id="other borders"),
    ],
)
def test_another_content_has_another_name(cases: list[str], head: str) -> None:
    assert Name(cases).of(head) != Name(["a", "b"]).of("head")


def test_the_name_of_a_head_leaves_room_for_another() -> None:
    name = Name(["a"])
    first = name.of("head")

    assert (name.of("other"), name.of("head")) == (Name(["a"]).of("other"), first)


def test_a_case_is_written_as_it_is_within_its_suite() -> None:
    snapshot = make_snapshot()
    text = canonical_case(snapshot.suite.cases[0])

    assert text in snapshot.canonical()
    assert "\n" not in text


@pytest.mark.parametrize(
    ("key", "value"),
    [("schema_version", 1), ("schema_version", "2"), ("surprise", 1), ("suite", None)],
)
def test_a_snapshot_of_another_make_is_refused(key: str, value: object) -> None:
    written = json.loads(make_snapshot().canonical()) | {key: value}

    with pytest.raises(ValidationError) as refused:
        SnapshotSpec.read(json.dumps(written))

    assert refused.value.errors()[0]["loc"] == (key,)
