"""Users whom a model plays, and the words of real ones that are played again."""

import json
from typing import Any

import pytest

from evals_app.engine.basics.errors import UnavailableError
from evals_app.engine.record.trial import Cause, Trial, Verdict
from evals_app.engine.running.run_gateway import Plan
from evals_app.engine.running.users.user_side import UserSide
from evals_app.engine.specs.agent_spec import ScriptedAgent
from evals_app.engine.specs.base_spec import ModelSpec
from evals_app.engine.suites.case_spec import CaseSpec
from tests.engine.judging.makers import FakeModel, make_asker, reply, text_of
from tests.engine.makers import make_agent, make_case, make_conversation, make_suite, refusals
from tests.engine.memory_gateway import decision_of, execute_in_memory, make_plan

pytestmark = pytest.mark.anyio
REFUNDED = {"type": "contains", "value": "refunded", "scope": "conversation"}
UNSORRY = {"type": "not_contains", "value": "sorry", "scope": "conversation"}
USER = {
    "goal": "Get the money back for order A-1042.",
    "facts": ["I paid 49.90 EUR."],
    "manner": "impatient",
    "max_turns": 4,
}
AGENT = make_agent(
    {"when": "49", "reply": "Your 49.90 EUR are refunded, with number R-7."},
    {"when": "A-1042", "reply": "How much did you pay?"},
    {"reply": "What is the number of your order?"},
)


def simulated(**changes: Any) -> CaseSpec:
    written = {"simulated_user": USER, "final_assertions": [REFUNDED]}
    return make_case("I want my money back.", **(written | changes))


def message(text: str) -> dict[str, object]:
    return {"message": text, "injection_suspected": False}


async def talk(case: CaseSpec, fake: FakeModel, *, agent: Any = AGENT) -> Trial:
    """Run a conversation whose user is played by a model; it ends when the refund is said."""

    async def is_done(trial: Trial) -> bool:
        return any("refunded" in turn.reply for turn in trial.turns)

    conversation = make_conversation(agent=agent)
    conversation.case = case
    conversation.user = UserSide(case, lambda _: make_asker(fake), is_done)
    conversation.__post_init__()
    return await conversation.run()


async def test_a_model_plays_the_user_until_the_goal_is_reached() -> None:
    fake = FakeModel(message("It is A-1042!"), message("I paid 49,90, hurry up."))

    trial = await talk(simulated(), fake)

    assert [turn.user for turn in trial.turns] == [
        "I want my money back.",
        "It is A-1042!",
        "I paid 49,90, hurry up.",
    ]
    assert (trial.planned_turns, trial.ended_early, trial.user_stopped) == (3, False, "")
    assert trial.user_model == "anthropic/claude-haiku-5-5"
    assert [call.purpose for call in trial.user_calls] == ["user", "user"]
    shown = text_of(fake.asked[-1])
    assert "impatient" in shown
    assert "How much did you pay?" in shown
    assert Trial.from_json(trial.to_json()) == trial


async def test_a_conversation_has_at_most_its_turns() -> None:
    answers = iter(["Hello?", "Well?", "Hm?", "No?"])
    fake = FakeModel(lambda _: reply(json.dumps(message(next(answers)))))

    trial = await talk(simulated(), fake)

    assert len(trial.turns) == 4
    assert trial.user_stopped == ""


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        pytest.param("I paid 51 EUR.", "51", id="a number of its own"),
        pytest.param("It is order B-77.", "B-77", id="an id of its own"),
        pytest.param("I am kim@example.com.", "kim@example.com", id="an address of its own"),
        pytest.param("I ordered on 2026-05-03.", "2026-05-03", id="a date of its own"),
        pytest.param(" ", "nothing", id="nothing"),
        pytest.param("x " * 1200, "characters", id="too much"),
        pytest.param("I want my MONEY back.", "the same", id="the same again"),
        pytest.param("As an AI, I cannot say.", "speak as a user", id="a machine"),
        pytest.param("Agent: It is done.", "speak as a user", id="the agent's words"),
    ],
)
async def test_a_user_that_breaks_the_rules_twice_ends_it_and_the_agent_is_not_blamed(
    said: str, problem: str
) -> None:
    fake = FakeModel(message(said), message(said))

    trial = await talk(simulated(), fake)

    assert len(trial.turns) == 1
    assert "asked twice" in trial.user_stopped
    assert problem in trial.user_stopped
    assert len(trial.user_calls) == 2
    assert problem in text_of(fake.asked[1])  # what was wrong is said


async def test_each_trial_may_say_something_else_but_a_replay_is_read_the_same() -> None:
    plays = FakeModel(message("It is A-1042."), message("49.90"))
    reads = FakeModel({"reason": "No.", "fits": False, "injection_suspected": False})

    await talk(simulated(), plays)
    await talk(RECORDED, reads)

    assert {(call.seed, call.temperature == 0) for call in plays.asked} == {(None, False)}
    assert {(call.seed is None, call.temperature) for call in reads.asked} == {(False, 0)}


async def test_an_answer_without_a_message_is_said_to_be_the_users() -> None:
    trial = await talk(simulated(), FakeModel(reply("Hello?"), reply("Hello?")))

    assert trial.user_stopped.startswith("The model that plays the user twice gave an answer")
    assert "agent is not graded" not in trial.user_stopped


async def test_a_judge_that_does_not_read_recorded_words_is_called_one() -> None:
    trial = await talk(RECORDED, FakeModel(reply("", stop="refusal")))

    assert trial.user_stopped.startswith("The judge refused")


async def test_answers_that_ended_a_conversation_are_not_kept() -> None:
    forgotten: list[str] = []
    fake = FakeModel(message("It is A-1042."), message("B-77"), message("B-77"))
    conversation = make_conversation(agent=AGENT)
    conversation.case = simulated()
    conversation.user = UserSide(simulated(), lambda _: make_asker(fake), forget=forgotten.append)
    conversation.__post_init__()

    await conversation.run()

    assert forgotten == ["user.3"]


async def test_a_user_that_breaks_the_rules_once_is_asked_again() -> None:
    fake = FakeModel(message("It is B-77."), message("It is A-1042."), message("49.90"))

    trial = await talk(simulated(), fake)

    assert [turn.user for turn in trial.turns[1:]] == ["It is A-1042.", "49.90"]
    assert len(trial.user_calls) == 3


async def test_braces_of_a_simulated_user_are_sent_as_they_are() -> None:
    said = r"Is it {{name}} or \{{name}}?"
    agent = make_agent({"when": "name", "reply": "refunded"}, {"reply": "Yes?"})

    trial = await talk(simulated(), FakeModel(message(said)), agent=agent)

    assert trial.turns[1].user == said


async def test_what_the_agent_said_may_be_repeated() -> None:
    agent = make_agent({"when": "R-7", "reply": "refunded"}, {"reply": "Do you mean R-7?"})

    trial = await talk(simulated(), FakeModel(message("Yes, R-7.")), agent=agent)

    assert [turn.user for turn in trial.turns] == ["I want my money back.", "Yes, R-7."]


async def test_an_api_that_is_away_is_the_providers_fault() -> None:
    trial = await talk(simulated(), FakeModel(UnavailableError("away")))

    assert trial.failure is not None
    assert trial.failure.cause is Cause.PROVIDER


# Whole runs, by scripts


def user_plan(*cases: CaseSpec, agent: Any = AGENT, rules: list[dict[str, Any]]) -> Plan:
    judge = ScriptedAgent.model_validate(
        {"agent": "User", "slug": "user", "driver": "scripted", "rules": rules}
    )
    model = ModelSpec(provider="scripted", name="user")
    return make_plan(*cases, agent=agent, judge=model, scripted={"user": judge})


SAYS = [
    {"when": "How much", "reply": "49.90"},
    {"when": "number of your order", "reply": "A-1042"},
]


async def test_a_simulated_conversation_is_graded_with_the_turns_it_had() -> None:
    suite = {"assertions": [{"type": "contains", "value": "o"}]}
    case = simulated(turns=[{"user": "I want my money back."}])
    plan = user_plan(case, rules=SAYS)
    plan = make_plan(case, agent=AGENT, judge=plan.judge, scripted=plan.scripted, suite=suite)

    outcome, *_ = await execute_in_memory(plan)

    assert decision_of(outcome).verdict is Verdict.PASSED
    assert [(check.turn, check.grade.passed) for check in outcome.graded] == [
        (1, True),
        (2, True),
        (3, True),
        (None, True),
    ]
    assert outcome.is_scripted
    assert len(outcome.judge_calls) == 2


async def test_a_user_that_breaks_the_rules_has_a_cause_of_its_own() -> None:
    outcome, *_ = await execute_in_memory(
        user_plan(simulated(), rules=[{"reply": "It is order 99."}])
    )

    decision = decision_of(outcome)
    assert (decision.verdict, decision.cause) == (Verdict.ERRORED, Cause.USER)
    assert "99" in decision.reason


async def test_what_the_agent_did_wrong_before_still_counts() -> None:
    case = simulated(
        turns=[{"user": "Hi", "assertions": [{"type": "contains", "value": "welcome"}]}]
    )

    outcome, *_ = await execute_in_memory(user_plan(case, rules=[{"reply": "It is order 99."}]))

    decision = decision_of(outcome)
    assert (decision.verdict, decision.cause) == (Verdict.FAILED, Cause.ASSERTION)


async def test_a_goal_that_is_not_reached_is_the_agents_failure() -> None:
    agent = make_agent({"when": "please", "reply": "Never."}, {"reply": "No."})
    rules = [{"when": "Never", "reply": "Why?"}, {"reply": "Please!"}]

    outcome, *_ = await execute_in_memory(user_plan(simulated(), agent=agent, rules=rules))

    assert len(outcome.trial.turns) == 4
    assert decision_of(outcome).cause is Cause.ASSERTION


async def test_what_is_only_forbidden_does_not_keep_a_conversation_going() -> None:
    agent = make_agent({"when": "A-1042", "reply": "refunded"}, {"reply": "Sorry, which order?"})
    case = simulated(final_assertions=[REFUNDED, UNSORRY])

    outcome, *_ = await execute_in_memory(
        user_plan(case, agent=agent, rules=[{"reply": "It is A-1042."}])
    )

    assert len(outcome.trial.turns) == 2
    assert [check.grade.passed for check in outcome.graded] == [True, False]


# Replay


RECORDED = make_case("Hello", "It is A-1042", "49.90", contains="o", replay=True)


async def test_recorded_words_are_said_while_they_fit() -> None:
    plan = user_plan(RECORDED, rules=[{"when": "^TASK: replay", "reply": "pass"}])

    outcome, *_ = await execute_in_memory(plan)

    assert [turn.user for turn in outcome.trial.turns] == ["Hello", "It is A-1042", "49.90"]
    assert decision_of(outcome).verdict is Verdict.PASSED


async def test_a_conversation_that_leaves_its_record_ends_and_blames_nobody() -> None:
    rules = [
        {"when": "It is A-1042$", "reply": "pass"},
        {"reply": "fail The agent did not ask for the amount."},
    ]
    agent = make_agent({"reply": "Hello to you."})

    outcome, *_ = await execute_in_memory(user_plan(RECORDED, agent=agent, rules=rules))

    assert len(outcome.trial.turns) == 2
    assert [check.grade.passed for check in outcome.graded] == [True, True, None]
    decision = decision_of(outcome)
    assert (decision.verdict, decision.cause) == (Verdict.ERRORED, Cause.USER)
    assert "After turn 2 of 3" in decision.reason
    assert "did not ask for the amount" in decision.reason


async def test_a_model_says_why_words_no_longer_fit() -> None:
    answer = {"reason": "Nobody asked.", "fits": False, "injection_suspected": False}

    trial = await talk(RECORDED, FakeModel(answer))

    assert trial.user_stopped.endswith("Nobody asked.")
    assert trial.user_calls[0].purpose == "replay"


# What is written


def test_a_time_limit_is_compared_with_all_turns_that_a_user_may_have() -> None:
    limits = {"max_time_ms": 200_000}  # four turns of 60 s

    assert simulated(limits=limits).unreachable_time() == ""
    assert "4 turns" in simulated(limits={"max_time_ms": 300_000}).unreachable_time()


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"replay": True}, "replay"),
        ({"trials": 2}, "trials"),
        ({"simulated_user": USER | {"max_turns": 2}, "turns": [{"user": "a"}] * 2}, "max_turns"),
        ({"final_assertions": []}, "final_assertions"),
        ({"final_assertions": [{"type": "llm_judge", "criteria": "polite"}]}, "final_assertions"),
        ({"final_assertions": [REFUNDED | {"enabled": False}]}, "final_assertions"),
        ({"final_assertions": [UNSORRY]}, "final_assertions"),
        ({"final_assertions": [{"type": "latency", "max_ms": 9000}]}, "final_assertions"),
    ],
)
def test_a_simulated_user_needs_an_end_and_three_trials(
    changes: dict[str, object], where: str
) -> None:
    ((place, _),) = refusals(simulated, **changes)

    assert place.endswith(where)


def test_simulated_and_written_conversations_need_suites_of_their_own() -> None:
    ((place, problem),) = refusals(make_suite, make_case("a", name="a"), simulated(name="b"))

    assert place == "cases.1.simulated_user"
    assert "suite of their own" in problem


def test_a_simulated_case_has_at_least_three_trials() -> None:
    suite = make_suite(simulated(), trials=1)

    assert suite.trials_of(suite.cases[0]) == 3
    assert suite.trials_of(suite.cases[0], asked=1) == 3
    assert suite.trials_of(suite.cases[0], asked=5) == 5
