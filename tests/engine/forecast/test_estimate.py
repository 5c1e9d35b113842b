"""What a conversation takes, guessed from its text: 4 bytes are a token."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from evals_app.engine.forecast.estimate import (
    CALL_S,
    REPLY_TOKENS,
    TICK_TOKENS,
    TOKENS_PER_S,
    TOOL_REQUEST_TOKENS,
    TOOL_RESULT_TOKENS,
    USER_RULES_TOKENS,
    USER_TOKENS,
    VERDICT_TOKENS,
    EstimatedEffort,
    Guess,
    Guesser,
    total_effort,
)
from evals_app.engine.specs.agent_spec import ScriptedAgent
from evals_app.engine.specs.base_spec import ModelSpec
from evals_app.engine.suites.suite_spec import CaseSpec
from evals_app.engine.verdicts.similarity import SimilaritySpec
from tests.engine.makers import make_agent, make_case, make_model_agent, make_suite

TEN = "x" * 40  # tokens
JUDGE = ModelSpec(provider="anthropic", name="judge-1")
JUDGED = {"type": "llm_judge", "criteria": "Is polite"}


@dataclass
class FakeTool:
    """A tool of 10 tokens: its name, and {} for its parameters."""

    name: str = "x" * 38
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    retrieval: str | None = None


def guess(
    case: CaseSpec, *, tools: int = 0, suite: dict[str, Any] | None = None, **changes: Any
) -> Guess:
    agent = changes.pop("agent", None) or make_model_agent(tools=[], **changes)
    whole = make_suite(case, **(suite or {}))
    guesser = Guesser(suite=whole, agent=agent, tools=[FakeTool()] * tools, judge=JUDGE)
    return guesser.guess(case)


@pytest.mark.parametrize(
    ("case", "changes", "calls", "prompt", "response"),
    [
        pytest.param(make_case(TEN), {}, 1, 10, REPLY_TOKENS, id="one turn"),
        pytest.param(make_case("x"), {}, 1, 1, REPLY_TOKENS, id="rounded up"),
        pytest.param(make_case("語" * 4), {}, 1, 3, REPLY_TOKENS, id="bytes, not characters"),
        (make_case(TEN, TEN), {}, 2, 10 + (10 + REPLY_TOKENS + 10), 2 * REPLY_TOKENS),
        pytest.param(
            make_case(TEN, TEN),
            {"system_prompt": TEN},
            2,
            20 + (20 + REPLY_TOKENS + 10),
            2 * REPLY_TOKENS,
            id="each call sends the system prompt",
        ),
        (make_case(TEN, history=[{"role": "user", "content": TEN}]), {}, 1, 20, REPLY_TOKENS),
        pytest.param(
            make_case(TEN),
            {"tools": 1},
            2,
            20 + (20 + TOOL_REQUEST_TOKENS + TOOL_RESULT_TOKENS),
            TOOL_REQUEST_TOKENS + REPLY_TOKENS,
            id="a round of tools",
        ),
        (make_case(TEN), {"settings": {"max_output_tokens": 30}}, 1, 10, 30),
        pytest.param(
            make_case(TEN),
            {"model": {"provider": "anthropic", "name": "m", "max_tokens": 20}},
            1,
            10,
            20,
            id="nor than its model may",
        ),
    ],
)
def test_calls_and_tokens_of_a_model_follow_from_the_text(
    case: CaseSpec, changes: dict[str, Any], calls: int, prompt: int, response: int
) -> None:
    effort = guess(case, **changes).effort

    expected = EstimatedEffort(
        agent_calls=calls,
        agent_prompt_tokens=prompt,
        agent_response_tokens=response,
        time_s=calls * CALL_S + response / TOKENS_PER_S,
    )
    assert effort == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rule", "changes", "seconds"),
    [
        pytest.param({"reply": "Yes."}, {}, 0, id="at once"),
        pytest.param({"reply": "Yes.", "delay_ms": 1500}, {}, 3, id="each turn"),
        pytest.param({"reply": "Yes.", "delay_ms": 1500, "turn": 2}, {}, 1.5, id="one turn"),
        pytest.param({"reply": "Yes.", "delay_ms": 1500, "when": "no"}, {}, 0, id="no match"),
        pytest.param({"reply": "Yes.", "delay_ms": 9000}, {"turn_timeout_s": 2}, 4, id="timed out"),
    ],
)
def test_a_script_calls_no_model_and_takes_its_delays(
    rule: dict[str, Any], changes: dict[str, Any], seconds: float
) -> None:
    case = make_case("hello", "again", **changes)

    effort = guess(case, agent=make_agent(rule, tools=[])).effort

    assert effort == EstimatedEffort(time_s=seconds)


def test_of_an_agent_outside_only_the_time_is_guessed() -> None:
    outside = make_agent(driver="http", url="https://agent.example/chat", rules=[], tools=[])

    effort = guess(make_case("Hello", "Thanks"), agent=outside).effort

    assert effort.agent_calls == effort.agent_prompt_tokens == 0
    assert effort.time_s > 0


def judged_case(*turns: dict[str, Any], **changes: Any) -> CaseSpec:
    return make_case(turns=[{"user": TEN, **turn} for turn in turns], **changes)


@pytest.mark.parametrize(
    ("case", "questions"),
    [
        pytest.param(judged_case({"assertions": []}), 0, id="nothing judged"),
        pytest.param(judged_case({"assertions": [JUDGED]}), 1, id="a reply"),
        pytest.param(judged_case({"assertions": [JUDGED, JUDGED]}), 2, id="two checks"),
        pytest.param(judged_case({"assertions": [{"type": "faithfulness"}]}), 2, id="faithfulness"),
        (judged_case({"assertions": [{"type": "geval", "criteria": "x", "votes": 3}]}), 3),
        (judged_case({"assertions": []}, final_assertions=[JUDGED]), 1),
        (judged_case({"assertions": [JUDGED | {"enabled": False}]}), 0),
        (judged_case({"assertions": [{"type": "contains", "value": "x"}]}), 0),
    ],
)
def test_each_judged_check_is_one_question(case: CaseSpec, questions: int) -> None:
    guessed = guess(case)

    assert guessed.judges == ("anthropic/judge-1",) * questions
    assert guessed.effort.judge_calls == questions
    assert guessed.effort.judge_response_tokens == questions * VERDICT_TOKENS


def test_a_judge_reads_what_was_said_up_to_its_turn() -> None:
    first = guess(judged_case({"assertions": [JUDGED]}, {"assertions": []}))
    second = guess(judged_case({"assertions": []}, {"assertions": [JUDGED]}))

    more = second.effort.judge_prompt_tokens - first.effort.judge_prompt_tokens
    assert more == 10 + REPLY_TOKENS


def test_judges_are_asked_side_by_side() -> None:
    one = guess(judged_case({"assertions": [JUDGED]})).effort
    three = guess(judged_case({"assertions": [JUDGED] * 3})).effort

    assert one.time_s == three.time_s > guess(judged_case({"assertions": []})).effort.time_s


@pytest.mark.parametrize(
    ("way", "options", "judges"),
    [
        pytest.param({"way": "judge", "model": "other/x"}, {}, ("other/x",), id="by a judge"),
        ({"way": "judge", "model": "other/x"}, {"embedding_model": "a/b"}, ()),
        pytest.param({"way": "embeddings", "model": "other/x"}, {}, (), id="by embeddings"),
        pytest.param({"way": "words"}, {}, (), id="by words"),
    ],
)
def test_a_judge_that_compares_texts_is_counted(
    way: dict[str, Any], options: dict[str, Any], judges: tuple[str, ...]
) -> None:
    case = judged_case({"assertions": [{"type": "semantic_similarity", "value": "x", **options}]})
    similarity = SimilaritySpec.model_validate(way)

    guesser = Guesser(
        suite=make_suite(case), agent=make_model_agent(tools=[]), similarity=similarity
    )

    guessed = guesser.guess(case)
    assert (guessed.judges, guessed.effort.judge_calls) == (judges, len(judges))


def test_a_check_may_name_its_own_judge() -> None:
    own = [JUDGED | {"model": "agent"}, JUDGED | {"model": "other/judge-2"}]

    guessed = guess(judged_case({"assertions": own}))

    assert guessed.judges == ("anthropic/claude-haiku-5-5", "other/judge-2")


JURY = ["anthropic/judge-1", "other/judge-2", "other/judge-3"]
BULLETS = {"type": "rubric", "criteria": "- x\n" * 90}


@pytest.mark.parametrize(
    ("check", "calls", "answer"),
    [
        pytest.param(JUDGED | {"votes": 3}, 3, VERDICT_TOKENS, id="votes"),
        pytest.param(JUDGED | {"jury": JURY}, 3, VERDICT_TOKENS, id="a jury"),
        pytest.param(BULLETS, 3, 40 * TICK_TOKENS, id="a rubric in parts"),
        pytest.param(BULLETS | {"jury": JURY}, 9, 40 * TICK_TOKENS, id="of a jury"),
        pytest.param(BULLETS | {"criteria": "- x"}, 1, TICK_TOKENS, id="of one bullet"),
        pytest.param(BULLETS | {"criteria": "x"}, 1, VERDICT_TOKENS, id="of none"),
    ],
)
def test_every_call_of_a_check_is_counted(check: dict[str, Any], calls: int, answer: int) -> None:
    guessed = guess(judged_case({"assertions": [check]}))

    assert guessed.effort.judge_calls == len(guessed.judges) == calls
    assert guessed.effort.judge_response_tokens == calls * answer
    assert set(guessed.judges) == set(JURY if "jury" in check else JURY[:1])


def test_the_rubric_of_the_suite_is_one_more_question_about_everything() -> None:
    case = judged_case({"assertions": []}, {"assertions": []})

    without, guessed = guess(case), guess(case, suite={"rubric": "Is polite."})

    assert guessed.judges == ("anthropic/judge-1",)
    assert guessed.effort.judge_prompt_tokens > 2 * (10 + REPLY_TOKENS)
    assert without.judges == ()


def test_a_scripted_judge_is_no_model_and_takes_its_delay() -> None:
    case = judged_case({"assertions": [JUDGED]})
    script = make_agent({"reply": "pass", "delay_ms": 700}, slug="strict", tools=[])
    assert isinstance(script, ScriptedAgent)
    guesser = Guesser(
        suite=make_suite(case),
        agent=make_agent(tools=[]),
        judge=ModelSpec(provider="scripted", name="strict"),
        scripted={"strict": script},
    )

    assert guesser.guess(case) == Guess(EstimatedEffort(time_s=0.7), ())


def test_without_a_judge_nobody_is_asked() -> None:
    case = judged_case({"assertions": [JUDGED]})

    guessed = Guesser(suite=make_suite(case), agent=make_agent(tools=[])).guess(case)

    assert guessed == Guess(EstimatedEffort(), ())


USER = {"goal": "A refund", "max_turns": 3}
DONE = {"type": "contains", "value": "done", "scope": "conversation"}


def test_a_simulated_user_takes_all_its_turns_and_a_call_for_each() -> None:
    case = make_case(TEN, simulated_user=USER, final_assertions=[DONE])

    effort, judges = guess(case)

    assert effort.agent_calls == 3
    assert (effort.judge_calls, judges) == (2, ("anthropic/judge-1",) * 2)
    second = 10 + REPLY_TOKENS
    third = second + USER_TOKENS + REPLY_TOKENS
    assert effort.judge_prompt_tokens == second + third + 2 * USER_RULES_TOKENS
    assert effort.judge_response_tokens == 2 * USER_TOKENS


def test_a_user_has_a_model_of_its_own_or_a_script() -> None:
    for model, judges in (("openai/gpt-5", ("openai/gpt-5",) * 2), ("scripted/user", ())):
        case = make_case(TEN, simulated_user=USER | {"model": model}, final_assertions=[DONE])
        assert guess(case).judges == judges


def test_a_replay_reads_every_message_but_the_first() -> None:
    effort, judges = guess(make_case(TEN, TEN, TEN, replay=True))

    assert (effort.agent_calls, effort.judge_calls, len(judges)) == (3, 2, 2)


def test_the_sum_of_nothing_is_nothing() -> None:
    assert total_effort([]) == EstimatedEffort()
    assert total_effort(
        [EstimatedEffort(1, 2), EstimatedEffort(3, 4, time_s=5)]
    ) == EstimatedEffort(4, 6, time_s=5)
