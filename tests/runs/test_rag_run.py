"""A run whose agent looks knowledge up, and whose answers a model measures against it."""

import json
from collections.abc import Callable

import pytest

from evals_app.models import Assertion, GradeResult, Run
from fixtures_app.models import Fixture, KnowledgeChunk
from tests.messages_api import Json, last_text
from tests.model_server import Answer, ModelServer, Reply
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db

ANSWER = "Books can be returned within 30 days. Shipping is free."


def judge_who_quotes(quote: str) -> Callable[[Json], Answer]:
    """Play a judge that finds the first claim supported by a quote, the second nowhere."""

    def play(request: Json) -> Answer:
        if last_text(request).startswith("TASK: claims"):
            sources = ["Books can be returned within 30 days.", "Shipping is free."]
            reply: Json = {"claims": [{"source": text, "claim": text} for text in sources]}
        else:
            there: Json = {"id": 1, "chunk": 1, "quote": quote, "verdict": "supported"}
            nowhere: Json = {"id": 2, "chunk": 0, "quote": "", "verdict": "not_mentioned"}
            reply = {"verdicts": [there, nowhere]}
        return Reply(json.dumps(reply | {"injection_suspected": False}))

    return play


def make_run() -> Run:
    """Work on a run of one case: the policy is looked up, and two checks measure the answer."""
    fixture = Fixture.objects.create(slug="shop", name="Shop")
    text = "Returns are accepted for 30 days."
    KnowledgeChunk.objects.create(fixture=fixture, chunk_id="returns", text=text)
    rule = {"reply": ANSWER, "calls": [{"tool": "knowledge.search", "args": {"query": "returns"}}]}
    agent = make_agent("support", rules=[rule], tools=["knowledge.search"])
    suite = make_suite(["May I return books?"], agent=agent, judge_model="local/judge-1")
    suite.fixtures.add(fixture)
    turn = suite.cases.get().turns.get()
    turn.assertions.all().delete()
    for position, mode in enumerate(["supported", "no_contradiction"]):
        Assertion.objects.create(
            turn=turn, position=position, type="faithfulness", threshold=0.8, options={"mode": mode}
        )
    return finished(suite)


def grades_of(run: Run) -> list[GradeResult]:
    return list(run.executions.get().grades.order_by("position"))


def test_what_the_agent_claims_is_compared_with_what_its_tool_found(server: ModelServer) -> None:
    server.answers(judge_who_quotes("accepted for 30 days"))

    strict, lenient = grades_of(make_run())

    assert (strict.score, strict.passed) == (0.5, False)
    assert (lenient.score, lenient.passed) == (1.0, True)
    assert strict.reason.endswith(" Score 0.50, needs 0.80.")
    assert "1 of 2 claims is not in the context" in strict.reason
    assert [item["verdict"] for item in strict.details["items"]] == ["supported", "not_mentioned"]
    assert strict.evidence[0]["is_verified"]
    # The claims of an answer are listed once for all of its checks.
    purposes = [call["purpose"] for grade in (strict, lenient) for call in grade.calls]
    assert sorted(purposes) == ["claims", "faithfulness", "faithfulness"]


def test_an_answer_that_claims_nothing_is_an_error_that_says_so(server: ModelServer) -> None:
    server.answers(lambda _: Reply(json.dumps({"claims": [], "injection_suspected": False})))
    run = make_run()

    strict, _ = grades_of(run)

    execution = run.executions.get()
    assert strict.status == "not_applicable"
    assert (execution.verdict, execution.cause) == ("errored", "case")
    assert "no factual claim" in execution.reason
