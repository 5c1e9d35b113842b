"""What is different between two snapshots, and whether it is the agent or what measures it."""

import json
from typing import Any

import pytest

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ProviderSpec, read_model
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.similarity import SimilaritySpec
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.formats.snapshots.snapshot_differences import (
    SnapshotPart,
    UnreadableSnapshotError,
    snapshot_differences,
)
from fixtures_app.spec import EntityTypeSpec, FixtureSpec

AGENT: dict[str, Any] = {"agent": "Shop", "slug": "shop", "model": "local/small"}
SUITE: dict[str, Any] = {"suite": "Refunds", "slug": "refunds", "agent": "shop", "cases": []}
SCRIPT = {"agent": "J", "slug": "j", "driver": "scripted", "rules": [{"reply": "5"}]}


def provider(*models: str, usd: float = 1.0, **more: Any) -> ProviderSpec:
    rates = {"valid_from": "2026-01-01", "input_usd": usd, "output_usd": usd}
    return ProviderSpec.model_validate(
        {
            "provider": "Local",
            "slug": "local",
            "kind": "ollama",
            "prices": [{"model": model, **rates} for model in models],
            **more,
        }
    )


def fixture(total: int, name: str = "shop", entities: int = 1) -> FixtureSpec:
    listed = [
        {"ref": f"o{number}", "type": "order", "data": {"total": total}}
        for number in range(entities)
    ]
    return FixtureSpec.model_validate({"name": name, "slug": name, "entities": listed})


def snapshot(
    *, suite: dict[str, Any] | None = None, agent: dict[str, Any] | None = None, **parts: Any
) -> str:
    known: dict[str, Any] = {
        "suite": SuiteSpec.model_validate(SUITE | (suite or {})),
        "agent": AgentSpec.model_validate(AGENT | (agent or {})),
        "fixtures": [fixture(8)],
        "providers": [provider("small")],
    }
    return SnapshotSpec(**known | parts).canonical()


def found(after: str, before: str | None = None) -> list[tuple[SnapshotPart, str, str, str]]:
    return [
        (part.part, value.keys, value.before, value.after)
        for part in snapshot_differences(before or snapshot(), after)
        for value in part.values
    ]


@pytest.mark.parametrize(
    ("after", "part", "keys", "values"),
    [
        pytest.param(
            snapshot(agent={"system_prompt": "Be kind."}),
            *(SnapshotPart.AGENT, "agent.system_prompt", ("", '"Be kind."')),
            id="prompt",
        ),
        pytest.param(
            snapshot(agent={"model": "local/large"}, providers=[provider("large")]),
            *(SnapshotPart.AGENT, "agent.model", ('"local/small"', '"local/large"')),
            id="another model, whose price is not the point",
        ),
        pytest.param(
            snapshot(suite={"min_pass_rate": 0.5}),
            *(SnapshotPart.SUITE, "suite.min_pass_rate", ("", "0.5")),
            id="threshold",
        ),
        pytest.param(
            snapshot(suite={"rubric": "- Polite"}),
            *(SnapshotPart.SUITE, "suite.rubric", ("", '"- Polite"')),
            id="rubric",
        ),
        pytest.param(
            snapshot(suite={"assertions": [{"type": "contains", "value": "x"}]}),
            *(SnapshotPart.SUITE, "suite.assertions[0]", ("", "(2 keys)")),
            id="default check",
        ),
        pytest.param(
            snapshot(suite={"judge_prompt": "Be strict."}),
            *(SnapshotPart.JUDGE, "suite.judge_prompt", ("", '"Be strict."')),
            id="advice to the judge",
        ),
        pytest.param(
            snapshot(judge=read_model("local/judge")),
            *(SnapshotPart.JUDGE, "judge", ("", '"local/judge"')),
            id="judge",
        ),
        pytest.param(
            snapshot(scripted=[AgentSpec.model_validate(SCRIPT)]),
            *(SnapshotPart.JUDGE, "scripted.j", ("", "(4 keys)")),
            id="scripted judge",
        ),
        pytest.param(
            snapshot(evaluation_steps={"k": ["one"]}),
            *(SnapshotPart.JUDGE, "evaluation_steps.k[0]", ("", '"one"')),
            id="steps of G-Eval",
        ),
        pytest.param(
            snapshot(similarity=SimilaritySpec(way="words")),
            *(SnapshotPart.SIMILARITY, "similarity.way", ("", '"words"')),
            id="similarity",
        ),
        pytest.param(
            snapshot(fixtures=[fixture(9)]),
            *(SnapshotPart.FIXTURES, "fixtures.shop.entities.o0.data.total", ("8", "9")),
            id="fixture",
        ),
        pytest.param(
            snapshot(entity_types=[EntityTypeSpec.model_validate({"slug": "o", "schema": {}})]),
            *(SnapshotPart.FIXTURES, "entity_types.o", ("", "(2 keys)")),
            id="entity type",
        ),
        pytest.param(
            snapshot(providers=[provider("small", usd=2.0)]),
            *(SnapshotPart.PRICES, "providers.local.prices.small.input_usd", ("1.0", "2.0")),
            id="price",
        ),
        pytest.param(
            snapshot(providers=[provider("small", base_url="https://models.example.org")]),
            *(SnapshotPart.AGENT, "providers.local.base_url", ("", '"https://models.example.org"')),
            id="address of the agent's model",
        ),
        pytest.param(
            snapshot(providers=[provider("small", max_concurrency=3)]),
            *(SnapshotPart.RUN, "providers.local.max_concurrency", ("", "3")),
            id="limit",
        ),
        (snapshot(suite={"trials": 3}), SnapshotPart.RUN, "suite.trials", ("", "3")),
        pytest.param(
            snapshot(suite={"gates": {"min_score": 0.5}}),
            *(SnapshotPart.RUN, "suite.gates.min_score", ("", "0.5")),
            id="gate",
        ),
    ],
)
def test_each_value_that_differs_is_named_with_its_part(
    after: str, part: SnapshotPart, keys: str, values: tuple[str, str]
) -> None:
    first = found(after)[0]

    assert first == (part, keys, *values)
    assert {part for part, *_ in found(after)} == {first[0]}


def test_what_no_result_depends_on_is_left_out() -> None:
    after = snapshot(suite={"suite": "R", "description": "d", "tags": ["t"], "score_scale": "1-5"})

    assert found(after) == []
    assert found(snapshot()) == []


def test_an_address_of_the_judge_alone_is_about_the_judge() -> None:
    judged: dict[str, Any] = {"agent": {"model": "anthropic/a"}, "judge": read_model("local/j")}
    before = snapshot(**judged, providers=[provider("j")])
    after = snapshot(**judged, providers=[provider("j", base_url="https://models.example.org")])

    assert [part for part, *_ in found(after, before)] == [SnapshotPart.JUDGE]


def test_parts_that_measure_make_numbers_incomparable() -> None:
    assert [part for part in SnapshotPart if not part.is_yardstick] == [
        SnapshotPart.AGENT,
        SnapshotPart.RUN,
    ]


def test_of_many_differences_the_first_are_shown_and_the_others_counted() -> None:
    before, after = (snapshot(fixtures=[fixture(n, entities=120)]) for n in (1, 2))

    (part,) = snapshot_differences(before, after)

    assert (part.part, len(part.values), part.more) == (SnapshotPart.FIXTURES, 50, 70)


def test_a_snapshot_of_another_version_cannot_be_read() -> None:
    old = json.dumps(json.loads(snapshot()) | {"schema_version": 1})

    with pytest.raises(UnreadableSnapshotError):
        snapshot_differences(old, snapshot())
