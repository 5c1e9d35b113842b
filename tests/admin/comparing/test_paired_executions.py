from evals_app.admin.comparing.paired_executions import (
    GradePair,
    TurnPair,
    paired_grades,
    paired_turns,
)
from evals_app.admin.conversation.transcripts import turn_lines
from evals_app.engine.record.trial import ToolCall, Trial
from evals_app.models import GradeResult
from tests.makers import make_grade, make_trial


def turns_of(base: Trial | None, head: Trial | None) -> tuple[TurnPair, ...]:
    return paired_turns(*(turn_lines(trial, (), scale="0-1", known={}) for trial in (base, head)))


def notes(turn: TurnPair) -> list[tuple[str, bool, bool, bool]]:
    """Return of each message and call: its tool, on which sides it is, and whether it is the same."""
    return [(pair.tool, bool(pair.base), bool(pair.head), pair.is_same) for pair in turn.pairs]


def test_equal_conversations_have_no_difference_and_stay_folded() -> None:
    turns = turns_of(make_trial(turns=2), make_trial(turns=2))

    assert [(turn.differences, turn.is_open) for turn in turns] == [(0, False), (0, False)]


def test_calls_are_paired_by_their_tool() -> None:
    get, other = ToolCall("get", {"id": 1}, "a"), ToolCall("get", {"id": 2}, "a")
    note = ToolCall("note", {"text": "x"}, "ok")

    (turn,) = turns_of(make_trial(calls=[note, get]), make_trial(calls=[other]))

    assert notes(turn) == [
        ("note", True, False, False),
        ("get", True, True, False),
        ("", True, True, True),  # the reply
    ]
    changed = turn.pairs[1]
    assert changed.head is not None
    assert [piece.text for piece in changed.head.args if piece.is_only_here] == ["2"]


def test_equal_arguments_with_another_result_are_a_difference() -> None:
    calls = [ToolCall("get", {"id": 1}, result) for result in ("open", "closed")]
    calls.append(ToolCall("get", {"id": 1}, "open", error="No such order"))
    first, second, broken = (make_trial(calls=[call]) for call in calls)

    same, other, error = (turns_of(first, trial)[0].pairs[0] for trial in (first, second, broken))

    assert [pair.is_same for pair in (same, other, error)] == [True, False, False]
    assert "arguments" in other.note
    assert "result" in other.note


def test_a_turn_that_only_one_side_has_is_a_difference() -> None:
    turns = turns_of(make_trial(turns=1), make_trial(turns=2))

    assert [turn.differences for turn in turns] == [0, 2]  # the message, and the reply
    assert turns[1].base is None
    assert turns[1].user.base is None


def test_a_conversation_without_a_transcript_pairs_with_nothing() -> None:
    (turn,) = turns_of(None, make_trial())

    assert (turn.base, bool(turn.head)) == (None, True)
    assert turns_of(None, None) == ()


def pairs_of(base: list[GradeResult], head: list[GradeResult]) -> list[GradePair]:
    return list(paired_grades(base, head, scale="0-1", known={}))


def test_grades_are_paired_by_check_and_turn_and_say_how_they_changed() -> None:
    passed, failed = make_grade(label="A"), make_grade(label="A", passed=False, score=0.0)
    ungraded = make_grade(label="A", passed=None, score=None, status="ungraded")
    half = make_grade(label="A", score=0.5)

    changes = {
        name: pairs_of([base] if base else [], [head] if head else [])[0].change
        for name, base, head in [
            ("Worse", passed, failed),
            ("Better", failed, passed),
            ("Different", passed, ungraded),
            ("New", None, passed),
            ("Missing", passed, None),
            ("Score \u22120.50", passed, half),
        ]
    }

    assert all(word in str(change) for word, change in changes.items()), changes
    assert pairs_of([passed], [make_grade(label="A")])[0].change == ""


def test_equal_checks_of_other_turns_or_twice_in_one_turn_stay_apart() -> None:
    base = [make_grade(1), make_grade(1, passed=False, score=0.0), make_grade(2)]
    head = [make_grade(1), make_grade(1), make_grade(None)]

    pairs = pairs_of(base, head)

    assert [
        (pair.place, bool(pair.base), bool(pair.head), bool(pair.change)) for pair in pairs
    ] == [
        ("Turn 1", True, True, False),
        ("Turn 1", True, True, True),
        ("Whole conversation", False, True, True),
        ("Turn 2", True, False, True),
    ]
