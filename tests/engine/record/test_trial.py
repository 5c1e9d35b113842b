"""What happened: sums, views, grades, and trials that survive storing."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.judge_call import Attempt, JudgeCall
from evals_app.engine.record.trial import (
    Cause,
    Chunk,
    Failure,
    Message,
    ToolCall,
    Trial,
    TurnRecord,
)
from evals_app.engine.record.usage import NO_USAGE, Usage, total_usage
from evals_app.engine.record.view import View
from tests.engine.makers import make_call, make_trial, make_turn

# Causes


def test_causes_are_ordered_from_the_most_serious_on() -> None:
    assert [cause.value for cause in Cause] == [
        "harness",
        "provider",
        "budget",
        "judge",
        "tool",
        "user",
        "case",
        "agent",
        "limit",
        "assertion",
    ]


def test_only_what_is_the_agents_doing_is_a_failure() -> None:
    assert [cause.is_error for cause in Cause] == [True] * 7 + [False] * 3


# Usage

USAGES = st.builds(
    Usage,
    input_uncached=st.none() | st.integers(0, 10**9),
    output=st.none() | st.integers(0, 10**9),
    cache_read=st.integers(0, 10**9),
    cache_write_5m=st.integers(0, 10**9),
    cache_write_1h=st.integers(0, 10**9),
    reasoning=st.integers(0, 10**9),
)


def test_prompt_tokens_are_all_that_was_sent_cached_or_not() -> None:
    usage = Usage(7, 50, cache_read=100, cache_write_5m=20, cache_write_1h=3, reasoning=30)

    assert usage.prompt_tokens == 130
    assert usage.response_tokens == 50


@pytest.mark.parametrize(
    ("usages", "prompt", "response"),
    [
        pytest.param([], 0, 0, id="no call costs nothing"),
        pytest.param([Usage(1, 2), Usage(3, 4)], 4, 6, id="known"),
        pytest.param([Usage(1, 2), Usage()], None, None, id="one is unknown"),
        pytest.param([Usage(1, None), Usage(3, 4)], 4, None, id="one half is unknown"),
        pytest.param([Usage(None, 2, cache_read=9)], None, 2, id="cached alone is not all"),
    ],
)
def test_an_unknown_usage_makes_the_sum_unknown(
    usages: list[Usage], prompt: int | None, response: int | None
) -> None:
    total = total_usage(usages)

    assert (total.prompt_tokens, total.response_tokens) == (prompt, response)


@given(USAGES, USAGES, USAGES)
def test_usages_add_up_in_any_order(one: Usage, two: Usage, three: Usage) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + NO_USAGE == one


# Trials


def test_a_trial_adds_up_its_turns() -> None:
    first = make_turn(
        messages=(Message("assistant", "", (make_call(),)), Message("assistant", "Hello.")),
        latency_ms=20.5,
        waited_ms=500.0,
    )
    second = make_turn(
        index=2, messages=(Message("assistant", "x", (make_call("entity.get"),)),), latency_ms=3.5
    )
    trial = make_trial(first, second, planned_turns=2)

    assert trial.usage == Usage(20, 10)
    assert trial.time_ms == 24.0
    assert trial.but(turns=()).time_ms is None
    assert [call.name for call in trial.tool_calls] == ["entity.query", "entity.get"]
    assert not trial.ended_early


def test_a_trial_that_misses_turns_ended_early() -> None:
    assert make_trial(make_turn(), planned_turns=2).ended_early


@pytest.mark.parametrize(
    ("trial", "usage"),
    [
        (make_trial(failure=Failure(Cause.HARNESS, "Lost."), planned_turns=1), Usage()),
        pytest.param(make_trial(planned_turns=1), NO_USAGE, id="nothing began"),
        (make_trial(make_turn(), failure=Failure(Cause.HARNESS, "Lost.")), Usage(10, 5)),
    ],
)
def test_usage_of_a_broken_trial_is_not_taken_for_nothing(trial: Trial, usage: Usage) -> None:
    assert trial.usage == usage


def test_changing_a_trial_leaves_the_first_one_alone() -> None:
    trial = make_trial(make_turn())

    changed = trial.but(warnings=("Careful.",))

    assert (trial.warnings, changed.warnings) == ((), ("Careful.",))
    assert changed.turns is trial.turns


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
CALLS = st.builds(
    ToolCall,
    name=TEXT,
    args=OBJECT,
    result=JSON,
    error=st.none() | TEXT,
    duration_ms=FINITE,
    chunks=st.lists(st.builds(Chunk, TEXT, TEXT), max_size=2).map(tuple),
)
MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant"]),
        text=TEXT,
        tool_calls=st.lists(CALLS, max_size=2).map(tuple),
    ),
    max_size=2,
).map(tuple)
TURNS = st.builds(
    TurnRecord,
    index=st.integers(1, 9),
    user=TEXT,
    reply=TEXT,
    messages=MESSAGES,
    error=st.none() | TEXT,
    usage=USAGES,
    latency_ms=FINITE,
    waited_ms=FINITE,
    first_token_ms=st.none() | FINITE,
    model=st.none() | TEXT,
    attempts=st.lists(st.builds(Attempt, TEXT, FINITE), max_size=2).map(tuple),
    notes=st.lists(TEXT, max_size=2).map(tuple),
    journal_end=st.none() | st.integers(0, 9),
)
TRIALS = st.builds(
    Trial,
    case=TEXT,
    number=st.integers(1, 100),
    planned_turns=st.integers(1, 9),
    agent=TEXT,
    channel=st.none() | TEXT,
    context_params=OBJECT,
    history=MESSAGES,
    turns=st.lists(TURNS, max_size=2).map(tuple),
    world_changes=OBJECT,
    world_journal=st.lists(OBJECT, max_size=2).map(tuple),
    failure=st.none() | st.builds(Failure, st.sampled_from(Cause), TEXT),
    warnings=st.lists(TEXT, max_size=2).map(tuple),
    is_scripted=st.booleans(),
)


@given(TRIALS)
def test_a_trial_is_read_back_as_it_was(trial: Trial) -> None:
    stored = json.dumps(trial.to_json())

    assert Trial.from_json(json.loads(stored)) == trial


def test_a_transcript_from_before_turns_noted_their_changes_is_read() -> None:
    stored = make_trial(make_turn(), world_journal=({"id": "a"},)).to_json()
    del stored["turns"][0]["journal_end"]

    trial = Trial.from_json(stored)

    assert trial.turns[0].journal_end is None
    assert View(trial).world_journal == ({"id": "a"},)


def test_a_trial_with_half_a_character_can_still_be_dumped() -> None:
    trial = make_trial(make_turn("\ud83d", messages=(Message("assistant", "\ud83d"),)))

    assert Trial.from_json(trial.to_json()) == trial


def test_a_judge_call_is_plain_json() -> None:
    call = JudgeCall("judge", "claude", "Is it good?", "5", attempts=(Attempt("broke", 20.0),))

    dumped = call.to_json()

    assert dumped["attempts"] == [{"error": "broke", "waited_ms": 20.0}]
    assert json.loads(json.dumps(dumped)) == dumped


# Views

FIRST = make_turn(
    "One.",
    messages=(
        Message("assistant", "", (make_call(chunks=(Chunk("a", "A"),)),)),
        Message("assistant", "One."),
    ),
)
SECOND = make_turn(
    "Two.",
    index=2,
    messages=(
        Message("assistant", "", (make_call("knowledge.search", chunks=(Chunk("b", "B"),)),)),
    ),
)
BOTH = make_trial(FIRST, SECOND)


@pytest.mark.parametrize(
    ("view", "reply", "calls", "chunks"),
    [
        pytest.param(View(BOTH, FIRST), "One.", ["entity.query"], ["a"], id="a turn"),
        (View(BOTH), "Two.", ["entity.query", "knowledge.search"], ["a", "b"]),
        pytest.param(
            View(BOTH, whole_text=True),
            "One.\n\nTwo.",
            ["entity.query", "knowledge.search"],
            ["a", "b"],
            id="the whole text",
        ),
        pytest.param(View(make_trial(planned_turns=1)), "", [], [], id="nothing was said"),
    ],
)
def test_a_view_shows_its_part_of_the_conversation(
    view: View, reply: str, calls: list[str], chunks: list[str]
) -> None:
    assert view.reply == reply
    assert [call.name for call in view.tool_calls] == calls
    assert [chunk.id for chunk in view.chunks] == chunks


@pytest.mark.parametrize(
    ("own", "of_the_turn", "expected"),
    [
        pytest.param("mine", "turn", "mine", id="its own value goes first"),
        pytest.param(None, "turn", "turn", id="else the turn's"),
        pytest.param("", "turn", "", id="an empty value is a value"),
    ],
)
def test_what_is_expected(own: str | None, of_the_turn: str, expected: str) -> None:
    assert View(BOTH, FIRST, of_the_turn).expected_value(own) == expected


def test_a_check_without_any_expected_text_may_not_be_asked() -> None:
    with pytest.raises(ValueError, match="there is none"):
        View(BOTH, FIRST).expected_value(None)


JOURNAL = tuple({"id": name} for name in "abcd")
CHANGED = make_trial(
    make_turn(journal_end=1),
    make_turn(index=2, journal_end=1),
    make_turn(index=3, journal_end=4),
    world_journal=JOURNAL,
)
SO_FAR = CHANGED.but(turns=CHANGED.turns[:2])
OLD = CHANGED.but(turns=tuple(make_turn(index=n) for n in (1, 2, 3)))


@pytest.mark.parametrize(
    ("view", "before", "during"),
    [
        pytest.param(View(CHANGED, CHANGED.turns[0]), "", "a", id="the first turn"),
        pytest.param(View(CHANGED, CHANGED.turns[1]), "a", "", id="a turn without a change"),
        pytest.param(View(CHANGED, CHANGED.turns[2]), "a", "bcd", id="the last turn"),
        pytest.param(View(CHANGED), "", "abcd", id="the whole conversation"),
        pytest.param(View(SO_FAR), "", "a", id="the conversation so far"),
        pytest.param(View(OLD), "", "abcd", id="the whole of an old transcript"),
        pytest.param(View(OLD.but(world_journal=()), OLD.turns[1]), "", "", id="no change at all"),
    ],
)
def test_a_view_shows_the_changes_of_its_part(view: View, before: str, during: str) -> None:
    assert "".join(entry["id"] for entry in view.earlier_journal) == before
    assert "".join(entry["id"] for entry in view.world_journal) == during


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(View(OLD, OLD.turns[0]), id="the first turn"),
        pytest.param(View(OLD, OLD.turns[2]), id="the last turn"),
        pytest.param(View(OLD.but(turns=OLD.turns[:2])), id="the conversation so far"),
    ],
)
def test_an_old_transcript_does_not_tell_what_changed_in_a_turn(view: View) -> None:
    with pytest.raises(ValueError, match="does not record in which turn"):
        _ = view.world_journal


# Grades


def test_a_hit_passes_and_a_miss_is_the_assertions_doing() -> None:
    hit, miss = Grade.hit("Found.", at=3), Grade.miss("Not found.")

    assert (hit.score, hit.passed, hit.cause, hit.details) == (1.0, True, None, {"at": 3})
    assert (miss.score, miss.passed, miss.cause) == (0.0, False, Cause.ASSERTION)


@pytest.mark.parametrize(
    ("given_score", "score"),
    [(0.25, 0.25), (0.0, 0.0), (1.0, 1.0), (-0.5, 0.0), (1.5, 1.0), (math.inf, 1.0)],
)
def test_a_score_stays_between_0_and_1_and_does_not_decide(
    given_score: float, score: float
) -> None:
    grade = Grade.of_score(given_score, "Close.")

    assert (grade.score, grade.passed, grade.cause) == (score, None, None)


def test_what_has_no_score_says_why() -> None:
    ungraded = Grade.without_result(Cause.JUDGE, "Refused.", raw=None)
    idle = Grade.not_applicable("Nothing to compare with.")

    assert (ungraded.status, ungraded.cause) == (GradeStatus.UNGRADED, Cause.JUDGE)
    assert (idle.status, idle.cause) == (GradeStatus.NOT_APPLICABLE, None)
    assert ungraded.score is ungraded.passed is idle.score is idle.passed is None
