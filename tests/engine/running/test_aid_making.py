"""Who judges, measures and compares: the aids that an execution's checks are given."""

from typing import Any

import pytest

from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause, Verdict
from evals_app.engine.running.run_gateway import Plan
from evals_app.engine.specs.agent_spec import ScriptedAgent, ScriptedRule
from evals_app.engine.specs.base_spec import ModelSpec
from evals_app.engine.suites.suite_spec import CaseSpec
from evals_app.engine.verdicts.similarity import SimilaritySpec
from tests.chat_api import Vectors
from tests.engine.judging.makers import requirement, verdict
from tests.engine.llm.makers import KEY_VARIABLE, make_provider
from tests.engine.makers import ECHO, make_agent, make_case, make_model_agent
from tests.engine.memory_gateway import cases_of, decision_of, execute_in_memory, make_plan
from tests.model_server import KEY, ModelServer, Reply

pytestmark = pytest.mark.anyio


# Likeness of texts


def similarity_case(**options: Any) -> CaseSpec:
    check = {"type": "semantic_similarity", "value": "You said: yes", "threshold": 0.5, **options}
    return make_case(turns=[{"user": "yes indeed", "assertions": [check]}])


async def test_texts_are_compared_in_the_way_of_the_plan() -> None:
    plan = make_plan(
        similarity_case(), agent=make_agent(ECHO), similarity=SimilaritySpec(way="words")
    )

    (outcome,) = await execute_in_memory(plan)

    (check,) = outcome.graded
    assert (check.grade.score, check.grade.passed) == (0.75, True)
    assert check.grade.details == {"method": "fuzzy_match", "degraded": True}


async def test_without_a_way_to_compare_nothing_is_graded() -> None:
    (outcome,) = await execute_in_memory(make_plan(similarity_case(), agent=make_agent(ECHO)))

    (check,) = outcome.graded
    assert (check.grade.status, check.grade.cause) == (GradeStatus.UNGRADED, Cause.JUDGE)


async def test_embeddings_of_the_same_text_are_asked_for_once(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    model_server.answers(
        lambda request: Vectors(tuple((1.0, float("indeed" in text)) for text in request["input"]))
    )
    provider = make_provider(f"{model_server.url}/v1", slug="openai", kind="openai")
    plan = make_plan(
        similarity_case(embedding_model="openai/embed-1"),
        agent=make_agent(ECHO),
        providers=[provider],
        trials=3,
        similarity=SimilaritySpec(way="words"),
    )

    outcomes = await execute_in_memory(plan, slots=1)

    grades = [check.grade for outcome in outcomes for check in outcome.graded]
    assert [round(grade.score or 0, 3) for grade in grades] == [0.707] * 3
    assert grades[0].details["method"] == "embeddings openai/embed-1"
    assert [len(outcome.judge_calls) for outcome in outcomes] == [1, 0, 0]


# Judges

POLITE = {"type": "llm_judge", "criteria": "Polite", "scale": "pass_fail"}
JUDGE = ScriptedAgent.model_validate(
    {
        "agent": "Judge",
        "slug": "judge",
        "driver": "scripted",
        "rules": [
            {"when": "rude", "reply": "fail", "usage": {"input_tokens": 9, "output_tokens": 1}},
            {"when": "odd", "error": "I am tired."},
            {"reply": "pass"},
        ],
    }
)
SCRIPTED = ModelSpec(provider="scripted", name="judge")


def judge_plan(*messages: str, **changes: Any) -> Plan:
    cases = cases_of(*messages, contains=None)
    options: dict[str, Any] = {"judge": SCRIPTED, "scripted": {"judge": JUDGE}}
    turns = [{"user": message, "assertions": [POLITE]} for message in messages]
    written = [
        case.model_copy(update={"turns": make_case(turns=[turn]).turns})
        for case, turn in zip(cases, turns, strict=True)
    ]
    return make_plan(*written, **(options | changes))


async def test_a_scripted_judge_judges_and_is_labelled() -> None:
    good, bad, odd = await execute_in_memory(judge_plan("nice", "rude", "odd"))

    assert [decision_of(outcome).verdict for outcome in (good, bad, odd)] == [
        Verdict.PASSED,
        Verdict.FAILED,
        Verdict.ERRORED,
    ]
    assert good.is_scripted
    assert bad.judge_usage.prompt_tokens == 9
    assert bad.graded[0].grade.details["flags"] == ["scripted"]
    assert odd.decision is not None
    assert odd.decision.cause is Cause.JUDGE


async def test_a_scripted_judge_measures_what_rests_on_retrieved_knowledge() -> None:
    rules = [
        {"when": "^TASK: claims", "reply": "Books can be returned.\nTea is free."},
        {"when": "^TASK: faithfulness", "reply": "supported not_mentioned"},
        {"when": "^TASK: answer_relevancy", "reply": '{"answers_question": "refused"}'},
        {"when": "^TASK: contextual_relevancy", "reply": "relevant"},
        {"when": "^TASK: contextual_precision", "reply": "useful"},
        {"when": "^TASK: contextual_recall", "reply": "not"},
        {"when": "^TASK: evaluation_steps", "reply": "Look.\nGrade."},
        {"when": "^TASK: geval", "reply": "4"},
    ]
    judge = JUDGE.model_copy(
        update={"rules": [ScriptedRule.model_validate(rule) for rule in rules]}
    )
    search = {"tool": "knowledge.search", "args": {"query": "books returned"}}
    metrics = ["faithfulness", "answer_relevancy"]
    metrics += [f"contextual_{name}" for name in ("relevancy", "precision", "recall")]
    checks = [{"type": metric} for metric in metrics]
    checks.append({"type": "geval", "criteria": "Is kind"})
    turn = {"user": "returns?", "expected": "Within 30 days.", "assertions": checks}
    plan = make_plan(
        make_case(turns=[turn, turn]),
        agent=make_agent({"calls": [search], "reply": "Books can be returned. Tea is free."}),
        judge=SCRIPTED,
        scripted={"judge": judge},
    )

    (outcome,) = await execute_in_memory(plan)

    scores = [check.grade.score for check in outcome.graded]
    assert scores == [0.5, 0.0, 1.0, 1.0, 0.0, 0.75] * 2
    assert all("scripted" in check.grade.details["flags"] for check in outcome.graded)
    # What was said before is part of what claims are read from; steps are the same for both turns.
    calls = [len(check.grade.calls) for check in outcome.graded]
    assert calls == [2, 1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1]


async def test_without_a_judge_an_execution_is_in_error() -> None:
    (outcome,) = await execute_in_memory(judge_plan("nice", judge=None))

    assert outcome.decision is not None
    assert (outcome.decision.verdict, outcome.decision.cause) == (Verdict.ERRORED, Cause.JUDGE)


async def test_a_scripted_judge_that_is_missing_is_an_error_of_ours() -> None:
    (outcome,) = await execute_in_memory(judge_plan("nice", scripted={}))

    assert outcome.decision is not None
    assert outcome.decision.cause is Cause.HARNESS
    assert "scripted/judge" in outcome.decision.reason


async def test_a_model_judges_through_the_provider(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    nothing = [requirement("no", quote="")]
    model_server.answers(lambda _: Reply(verdict(None, verdict="fail", requirements=nothing)))
    plan = judge_plan(
        "nice",
        judge=ModelSpec(provider="anthropic", name="claude-haiku-5-5"),
        providers=[make_provider(model_server.url)],
        suite={"judge_context": "The shop is {{threadContext.params.shop}}."},
    )

    (outcome,) = await execute_in_memory(plan)

    assert outcome.decision is not None
    assert (outcome.decision.verdict, outcome.decision.cause) == (Verdict.FAILED, Cause.ASSERTION)
    assert outcome.judge_usage.prompt_tokens == 10
    assert outcome.is_scripted  # the agent is
    (warning,) = outcome.trial.warnings
    assert warning.startswith("The judge's context uses {{threadContext.params.shop}}, which")
    assert "The shop is ." in str(model_server.bodies[0])


@pytest.mark.parametrize(
    ("own", "of_the_run", "expected"),
    [
        pytest.param({}, SCRIPTED, ["scripted/judge"], id="the run's"),
        pytest.param({"model": "anthropic/b"}, SCRIPTED, ["anthropic/b"], id="own"),
        ({"model": "agent"}, SCRIPTED, ["anthropic/claude-haiku-5-5"]),
        pytest.param({"jury": ["a/b", "c/d", "e/f"]}, SCRIPTED, ["a/b", "c/d", "e/f"], id="a jury"),
        pytest.param({}, None, [], id="none"),
    ],
)
def test_which_models_judge(
    own: dict[str, Any], of_the_run: ModelSpec | None, expected: list[str]
) -> None:
    plan = make_plan(
        make_case(turns=[{"user": "a", "assertions": [POLITE | own]}]),
        agent=make_model_agent(),
        judge=of_the_run,
    )
    (assertion,) = plan.suite.cases[0].turns[0].assertions or []

    assert [str(model) for model in plan.judges_of(assertion)] == expected
