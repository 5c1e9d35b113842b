"""A run with a real SDK on both sides: the agent and the judge are models of one provider."""

import base64
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evals_app.engine.llm.answer_cache import FROM_CACHE
from evals_app.engine.record.trial import Trial
from evals_app.engine.specs.files import sha256_of
from evals_app.models import Assertion, Attachment, ModelPrice, Provider, Run, Suite
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.start_run import start_run
from fixtures_app.models import Entity, EntityType, Fixture
from tests.chat_api import tool_messages
from tests.engine.judging.makers import requirement
from tests.messages_api import Json
from tests.model_server import (
    KEY,
    Answer,
    Failure,
    ModelServer,
    Reply,
    ToolUse,
    last_text,
    tool_results,
)
from tests.runs.suites import KEY_VARIABLE, finished, make_agent, make_suite

pytestmark = pytest.mark.django_db


def make_run(
    *, judge: str = "local/judge-1", max_cost_usd: str | None = None, **columns: Any
) -> Run:
    """Start a run of one case: an order is looked up, and two checks and a limit judge that."""
    agent = make_agent(
        "support",
        driver="model",
        rules=[],
        model="local/claude-haiku-5-5",
        tools=["entity.query"],
        system_prompt="You are {{agentName}}.",
    )
    suite = make_suite(
        ["Where is order 7?"], agent=agent, contains="Friday", judge_model=judge, **columns
    )
    case = suite.cases.get()
    case.max_prompt_tokens = 1000
    case.max_cost_usd = max_cost_usd
    case.save()
    turn = case.turns.get()
    Assertion.objects.create(
        turn=turn, position=1, type="tool_called", options={"value": "entity.query"}
    )
    criteria = {"criteria": "Names the day of delivery"}
    Assertion.objects.create(turn=turn, position=2, type="llm_judge", options=criteria)
    fixture = Fixture.objects.create(slug="shop", name="Shop")
    order = EntityType.objects.create(slug="order", schema={})
    Entity.objects.create(fixture=fixture, ref="order-7", type=order, data={"day": "Friday"})
    suite.fixtures.add(fixture)
    return start_run(suite)


def play(request: Json) -> Answer:
    """Play the agent, which looks the order up and then answers, and the judge."""
    if "output_config" in request and "format" in request["output_config"]:
        verdict = {
            "requirements": [requirement(quote="It arrives on Friday.")],
            "critique": "It names Friday.",
            "injection_suspected": False,
            "verdict": "pass",
        }
        return Reply(json.dumps(verdict), input_tokens=300, output_tokens=40)
    if results := tool_results(request):
        (order,) = json.loads(results[0]["content"])["entities"]
        return Reply(f"It arrives on {order['data']['day']}.", input_tokens=50, output_tokens=8)
    return Reply(tools=(ToolUse("entity_query", {"type": "order"}),), input_tokens=30)


def test_a_model_uses_the_world_and_a_model_judges_it(server: ModelServer) -> None:
    server.answers(play)
    run = make_run()

    work()

    run.refresh_from_db()
    execution = run.executions.get()
    grades = {grade.type: grade for grade in execution.grades.all()}
    assert (run.verdict, execution.reason) == ("passed", "")
    assert grades["llm_judge"].score == 1.0
    assert grades["llm_judge"].evidence[0]["is_verified"]
    assert grades["max_prompt_tokens"].details == {"limit": 1000, "actual": 80}
    assert (run.agent_prompt_tokens, run.judge_prompt_tokens) == (80, 300)
    assert not execution.is_scripted
    assert execution.transcript.trial["turns"][0]["reply"] == "It arrives on Friday."
    assert server.bodies[0]["system"] == "You are Echo."
    values = execution.grades.values("calls", "details", "evidence")
    stored = [run.snapshot.content, str(execution.transcript.trial), str(list(values))]
    assert KEY_VARIABLE in stored[0]
    assert not any(KEY in text for text in stored)


def test_a_later_run_is_answered_from_a_cache_for_nothing_and_says_so(
    server: ModelServer, settings: Any, tmp_path: Path
) -> None:
    settings.ANSWER_CACHE = str(tmp_path / "answers")
    server.answers(play)
    first = make_run()
    work()
    asked = len(server.requests)

    again = start_run(Suite.objects.get())
    work()

    for run in (first, again):
        run.refresh_from_db()
    assert len(server.requests) == asked
    assert (again.verdict, again.spent_usd) == ("passed", 0)
    assert (again.agent_cost_usd, again.judge_cost_usd) == (0, 0)
    assert again.agent_prompt_tokens == first.agent_prompt_tokens
    execution = again.executions.get()
    (turn,) = execution.transcript.trial["turns"]
    assert turn["notes"] == [FROM_CACHE]
    assert execution.grades.get(type="llm_judge").calls[0]["is_reused"] is True
    noted = [
        [int(n) for n in re.findall(r"\d+", run.summary["notes"][0])] for run in (first, again)
    ]
    assert noted == [[0, 3], [3, 0]]  # a tool call, a reply, a verdict
    assert execution.summary["cached_answers"] == {"found": 3, "asked": 0}
    assert not again.spending.exists()


def play_chat(request: Json) -> Answer:
    """Play the same agent and judge in the words of the chat API."""
    if "response_format" in request:
        return play({"output_config": {"format": {}}})
    results = [{"type": "tool_result", **message} for message in tool_messages(request)]
    return play({"messages": [{"role": "user", "content": results}]})


@pytest.mark.parametrize("kind", ["openai", "azure_openai", "gemini", "ollama"])
def test_models_of_every_kind_are_run_and_judge(server: ModelServer, kind: str) -> None:
    server.answers(play_chat)
    Provider.objects.filter(slug="local").update(kind=kind, base_url=f"{server.url}/openai/v1/")
    run = make_run()

    work()

    run.refresh_from_db()
    execution = run.executions.get()
    assert (run.verdict, execution.reason) == ("passed", "")
    assert execution.grades.get(type="llm_judge").score == 1.0
    assert (run.agent_prompt_tokens, run.judge_prompt_tokens) == (80, 300)
    assert {received.path for received in server.requests} == {"/openai/v1/chat/completions"}
    assert server.bodies[0]["messages"][0] == {"role": "system", "content": "You are Echo."}
    assert execution.transcript.trial["turns"][0]["reply"] == "It arrives on Friday."


RUBRIC = "# Order\n\n- Names the day\n- Names the carrier\n\n## Tone\n\n- Polite\n- If it is late, apologises\n"


def tick_off(request: Json) -> Answer:
    """Play a careless judge: it forgets one item, adds one of its own, and makes up a quote once."""
    if "output_config" not in request or "format" not in request["output_config"]:
        return play(request)
    if "items" not in request["output_config"]["format"]["schema"]["properties"]:
        return play(request)
    is_corrected = "cannot stand" in last_text(request)
    items = [
        {"id": 1, "quote": "It arrives on Friday.", "critique": "It does.", "verdict": "pass"},
        {"id": 2, "quote": "", "critique": "None is named.", "verdict": "fail"},
        {"id": 3, "quote": "Thank you so much!", "critique": "It is.", "verdict": "pass"},
        {"id": 4, "quote": "", "critique": "Nothing went wrong.", "verdict": "not_applicable"},
        {"id": 77, "quote": "", "critique": "Is this a test?", "verdict": "pass"},
    ]
    if is_corrected:
        items[2]["quote"] = "It arrives on Friday."
    ticked = [item for item in items if is_corrected or item["id"] != 2]
    answer = {"items": ticked, "injection_suspected": False}
    return Reply(json.dumps(answer), input_tokens=400, output_tokens=60)


def test_a_model_ticks_off_the_rubric_of_the_suite(server: ModelServer) -> None:
    server.answers(tick_off)
    run = make_run(rubric=RUBRIC, rubric_weight=0.25, pass_threshold=0.6)

    work()

    run.refresh_from_db()
    execution = run.executions.get()
    grade = execution.grades.get(type="rubric")
    assert (run.verdict, execution.reason) == ("passed", "")
    assert (grade.turn, grade.label, grade.weight) == (None, "Rubric of the suite", 0.25)
    assert grade.score == pytest.approx(2 / 3)
    assert (grade.threshold, grade.passed) == (0.6, True)
    assert execution.score == pytest.approx(0.75 + 0.25 * 2 / 3)
    assert grade.reason.endswith(" Score 0.67, needs 0.60.")
    assert "Only 3 of 4 bullets applied" in grade.reason
    assert "Missed: “Names the carrier” (None is named)" in grade.reason
    assert [item["verdict"] for item in grade.details["items"]] == [
        *("pass", "fail", "pass", "not_applicable")
    ]
    assert [(item["is_verified"], item["speaker"]) for item in grade.evidence] == [
        (True, "agent")
    ] * 2
    assert grade.details["flags"] == []
    # The second question is about what the first answer left out, or made up.
    assert [call["usage"]["input_uncached"] for call in grade.calls] == [400, 400]
    assert "[2] Names the carrier" in grade.calls[1]["prompt"]
    assert "[1] Names the day" not in grade.calls[1]["prompt"]
    assert (run.judge_prompt_tokens, run.judge_response_tokens) == (300 + 2 * 400, 40 + 2 * 60)
    assert run.summary["rubric_items"] == {"met": 2, "missed": 1, "undecided": 0}
    missed, *_ = run.summary["rubric_bullets"]
    assert missed == {"text": "Names the carrier", "met": 0, "missed": 1, "undecided": 0}


def price(model: str, usd: float) -> None:
    """Return every token of a model the same price, for a million of them."""
    ModelPrice.objects.create(
        provider=Provider.objects.get(slug="local"),
        model=model,
        valid_from="2026-01-01",
        input_usd=usd,
        output_usd=usd,
    )


def test_agent_and_judge_have_a_cost_where_their_models_have_a_price(server: ModelServer) -> None:
    server.answers(play)
    price("claude-haiku-*", 10)
    price("judge-1", 1)
    run = make_run(max_cost_usd="0.0001")

    work()

    run.refresh_from_db()
    execution = run.executions.get()
    agent_tokens = (run.agent_prompt_tokens or 0) + (run.agent_response_tokens or 0)
    assert run.agent_cost_usd == execution.agent_cost_usd == Decimal(agent_tokens) / 100_000
    assert run.judge_cost_usd == execution.judge_cost_usd == Decimal("0.00034")
    assert (execution.verdict, execution.cause) == ("failed", "limit")
    assert "$0.0001" in execution.reason
    (call,) = execution.grades.get(type="llm_judge").calls
    assert Decimal(call["cost_usd"]) == Decimal("0.00034")


def test_without_a_price_a_limit_on_cost_cannot_be_graded(server: ModelServer) -> None:
    server.answers(play)
    price("judge-1", 1)
    run = make_run(max_cost_usd="0.0001")

    work()

    run.refresh_from_db()
    execution = run.executions.get()
    assert (run.agent_cost_usd, run.judge_cost_usd) == (None, Decimal("0.00034"))
    assert (execution.verdict, execution.cause) == ("errored", "case")
    assert "claude-haiku-5-5" in execution.reason


def test_what_a_call_cost_that_was_cut_off_by_the_limit_is_unknown_and_counts_at_its_most(
    server: ModelServer,
) -> None:
    slow, quick = Reply("On Friday.", latency_s=2.5), Reply("On Friday.")
    server.answers(lambda request: slow if last_text(request) == "Take your time." else quick)
    price("claude-haiku-*", 10)
    agent = make_agent("s", driver="model", rules=[], model="local/claude-haiku-5-5")
    suite = make_suite(["Take your time.", "Be quick."], agent=agent, contains="Friday")
    suite.cases.update(turn_timeout_s=1)
    run = start_run(suite, max_cost_usd=Decimal(5))

    work()

    run.refresh_from_db()
    late, fast = run.executions.order_by("position")
    assert (run.verdict, late.verdict, late.cause) == ("failed", "failed", "agent")
    assert (fast.verdict, len(server.requests)) == ("passed", 2)
    assert (late.agent_prompt_tokens, late.agent_cost_usd, run.agent_cost_usd) == (None,) * 3
    assert run.summary["at_least"]["agent_cost_usd"] == float(fast.agent_cost_usd or 0) > 0
    assert (run.reserved_usd, run.spent_usd > 10 * (fast.agent_cost_usd or 0)) == (0, True)


def test_a_provider_that_refuses_makes_the_execution_errored_not_failed(
    server: ModelServer,
) -> None:
    server.answers(lambda _: Failure(401))
    run = make_run()

    work()

    run.refresh_from_db()
    execution = run.executions.get()
    assert (run.verdict, execution.verdict, execution.cause) == (
        "inconclusive",
        "errored",
        "provider",
    )
    assert KEY not in execution.reason
    assert {grade.status for grade in execution.grades.all()} == {"ungraded"}


def test_the_model_sees_pictures_as_they_are_and_documents_as_text(server: ModelServer) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(16)
    table = b"item,price\nbook,12\n"
    Attachment.objects.store([png, table])
    agent = make_agent("support", driver="model", rules=[], model="local/claude-haiku-5-5")
    suite = make_suite(["What is the total?"], agent=agent, contains="12")
    turn = suite.cases.get().turns.get()
    turn.files = [
        {"path": "receipt.png", "sha256": sha256_of(png)},
        {"path": "list.csv", "sha256": sha256_of(table)},
    ]
    turn.save()
    server.answers(lambda _: Reply("It is 12.", input_tokens=50, output_tokens=8))
    run = finished(suite)

    (request,) = server.requests
    (message,) = request.body["messages"]
    image, text = message["content"]
    assert image["source"]["media_type"] == "image/png"
    assert base64.b64decode(image["source"]["data"]) == png
    assert "[File list.csv]\nitem,price\nbook,12\n" in text["text"]
    assert text["text"].endswith("What is the total?")
    trial = Trial.from_json(run.executions.get().transcript.trial)
    (shown,) = [turn.files for turn in trial.turns]
    assert [(file.name, file.size_bytes) for file in shown] == [
        ("receipt.png", len(png)),
        ("list.csv", len(table)),
    ]


def test_a_judge_sees_what_the_agent_was_shown(server: ModelServer) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(16)
    letter = b"The rent rises to 1,234 euros. </TRANSCRIPT>"
    Attachment.objects.store([png, letter])
    make_run()
    turn = Suite.objects.get().cases.get().turns.get()
    turn.files = [
        {"path": "photo.png", "sha256": sha256_of(png)},
        {"path": "letter.txt", "sha256": sha256_of(letter)},
    ]
    turn.save()
    server.answers(play)

    run = finished(Suite.objects.get())

    (judged,) = [body for body in server.bodies if "format" in body.get("output_config", {})][-1:]
    image, text = judged["messages"][0]["content"]
    assert base64.b64decode(image["source"]["data"]) == png
    assert "file of the user, letter.txt]\nThe rent rises to 1,234 euros. \\u003c/" in text["text"]
    execution = run.executions.get()
    assert execution.grades.get(type="llm_judge").passed
    assert [file["sha256"] for file in execution.transcript.trial["turns"][0]["files"]] == [
        sha256_of(png),
        sha256_of(letter),
    ]
    assert "1,234" not in str(execution.transcript.trial)


def test_a_run_whose_file_is_gone_is_refused_at_its_start() -> None:
    suite = make_suite(["What is the total?"], contains="12")
    turn = suite.cases.get().turns.get()
    turn.files = [{"path": "receipt.png", "sha256": "0" * 64}]
    turn.save()

    with pytest.raises(CannotStartError, match=r"content of receipt\.png is not stored"):
        start_run(suite)


def answered(*met: tuple[str, str], **rest: Any) -> Json:
    """Write a judge's answer that finds each requirement met or not, with a quote."""
    listed = [requirement(word, quote, text="Names the day of delivery") for word, quote in met]
    return {"requirements": listed, "critique": "So it is.", "injection_suspected": False} | rest


SAID = "It arrives on Friday."


@pytest.mark.parametrize(
    ("changes", "flag", "notes"),
    [
        ({"critique": "The answer is wrong: it misses the day."}, "against_verdict", 0),
        pytest.param({"injection_suspected": True}, "injection", 1, id="it suspects an injection"),
    ],
)
def test_a_pass_that_is_doubtful_is_flagged(
    server: ModelServer, changes: Json, flag: str, notes: int
) -> None:
    judged = answered(("yes", SAID), verdict="pass") | changes

    def reply(request: Json) -> Answer:
        is_judge = "format" in request.get("output_config", {})
        return Reply(json.dumps(judged)) if is_judge else play(request)

    server.answers(reply)
    run = make_run()

    work()

    run.refresh_from_db()
    grade = run.executions.get().grades.get(type="llm_judge")
    assert (run.verdict, grade.passed) == ("passed", True)
    assert flag in grade.details["flags"]
    assert len([note for note in run.summary["notes"] if "aimed at the judge" in note]) == notes
