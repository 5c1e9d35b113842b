from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evals_app.engine.graders.base import PlainGrader
from evals_app.engine.graders.tools import ExpectedCall, ToolCalled, ToolCalls, ToolNotCalled
from evals_app.engine.trial import ToolCall, View
from tests.engine.graders.makers import make_call, make_trial, make_turn, view_of

QUERY_ORDERS = make_call("entity.query", type="order", limit=5)
QUERY_CUSTOMERS = make_call("entity.query", type="customer")
UPDATE = make_call("entity.update", id="order-123")
FAILED = ToolCall("entity.delete", {"id": "x"}, error="not_found: no entity x")
SEARCH = ToolCall("knowledge.search", {"query": "refund"}, result={"chunks": [{"id": "Policy-7"}]})


@pytest.mark.parametrize(
    ("options", "calls", "passes"),
    [
        pytest.param({"value": "entity.query"}, [QUERY_ORDERS], True, id="called"),
        pytest.param({"value": "entity.query"}, [UPDATE], False, id="another was called"),
        pytest.param({"value": "entity.query"}, [], False, id="none was called"),
        pytest.param({"value": "entity"}, [QUERY_ORDERS], False, id="part of a name"),
        pytest.param({"value": "Entity.query"}, [QUERY_ORDERS], False, id="case of the name"),
        pytest.param(
            {"value": "query", "name_match": "contains"}, [QUERY_ORDERS], True, id="name contains"
        ),
        pytest.param(
            {"value": "entity.query", "args": {"type": "order"}}, [QUERY_ORDERS], True, id="subset"
        ),
        pytest.param(
            {"value": "entity.query", "args": {"type": "order"}},
            [QUERY_CUSTOMERS, QUERY_ORDERS],
            True,
            id="a later call counts",
        ),
        pytest.param(
            {"value": "entity.query", "args": {"type": "order"}},
            [QUERY_CUSTOMERS],
            False,
            id="another argument",
        ),
        pytest.param(
            {"value": "entity.query", "args": {"type": "order"}, "args_match": "exact"},
            [QUERY_ORDERS],
            False,
            id="exact refuses others",
        ),
        pytest.param(
            {"value": "entity.query", "args": {"type": "customer"}, "args_match": "exact"},
            [QUERY_CUSTOMERS],
            True,
            id="exact and complete",
        ),
        pytest.param(
            {"value": "entity.query", "args": {"limit": {"any_of": [5, 10]}}},
            [QUERY_ORDERS],
            True,
            id="matcher",
        ),
        pytest.param({"value": "entity.delete"}, [FAILED], True, id="a failed call is a call"),
        pytest.param(
            {"value": "entity.delete", "succeeded": True}, [FAILED], False, id="without an error"
        ),
        pytest.param({"value": "entity.update", "succeeded": True}, [UPDATE], True, id="succeeded"),
        pytest.param(
            {"value": "knowledge.search", "output": "policy-7"}, [SEARCH], True, id="output"
        ),
        pytest.param(
            {"value": "knowledge.search", "output": "policy-8"}, [SEARCH], False, id="other output"
        ),
    ],
)
def test_tool_called_and_tool_not_called_never_agree(
    *, options: dict[str, Any], calls: list[ToolCall], passes: bool
) -> None:
    grade = ToolCalled.model_validate(options).grade(view_of(calls=calls))
    opposite = ToolNotCalled.model_validate(options).grade(view_of(calls=calls))

    assert (grade.passed, grade.score) == (passes, float(passes))
    assert (opposite.passed, opposite.score) == (not passes, float(not passes))


@pytest.mark.parametrize(
    ("counts", "number", "passes"),
    [
        pytest.param({}, 3, True, id="once or more"),
        pytest.param({"min_count": 2}, 1, False, id="too few"),
        pytest.param({"min_count": 2}, 2, True, id="just enough"),
        pytest.param({"max_count": 2}, 2, True, id="just not too many"),
        pytest.param({"max_count": 2}, 3, False, id="too many"),
        pytest.param({"max_count": 2}, 0, False, id="none, though one is wanted"),
        pytest.param({"min_count": 0, "max_count": 2}, 0, True, id="none is allowed"),
        pytest.param({"min_count": 2, "max_count": 2}, 2, True, id="exactly"),
    ],
)
def test_calls_are_counted(*, counts: dict[str, int], number: int, passes: bool) -> None:
    grader = ToolCalled.model_validate({"value": "entity.query", **counts})

    grade = grader.grade(view_of(calls=[QUERY_ORDERS] * number + [UPDATE]))

    assert grade.passed is passes


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"max_count": 0}, "tool_not_called", id="at most none"),
        pytest.param({"min_count": 0}, "whatever the agent does", id="at least none"),
        pytest.param({"min_count": 3, "max_count": 2}, "less than", id="impossible"),
        pytest.param({"min_count": -1}, "greater than", id="negative"),
        pytest.param({"min_count": True}, "valid integer", id="bool"),
        pytest.param({"args": {"type": {"regex": "("}}}, "not closed", id="bad matcher"),
        pytest.param({"output": ""}, "at least 1", id="empty output"),
        pytest.param({"value": ""}, "at least 1", id="empty name"),
        pytest.param({"tool": "entity.query"}, "Extra inputs", id="unknown option"),
    ],
)
def test_a_check_that_cannot_be_meant_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ToolCalled.model_validate({"value": "entity.query", **options})

    assert says in refused.value.errors()[0]["msg"]


def test_a_bad_argument_is_refused_where_it_stands() -> None:
    with pytest.raises(ValidationError) as refused:
        ToolCalled.model_validate({"value": "entity.query", "args": {"type": {"regex": "("}}})

    assert refused.value.errors()[0]["loc"] == ("args", "type")


@pytest.mark.parametrize(
    ("options", "calls", "reason"),
    [
        pytest.param(
            {"value": "entity.query"},
            [],
            "the agent called no tools.",
            id="nothing was called",
        ),
        pytest.param(
            {"value": "entity.qery"},
            [QUERY_ORDERS, QUERY_ORDERS, UPDATE],
            "the agent called entity.query (2 times), entity.update. Did you mean 'entity.query'?",
            id="a near name",
        ),
        pytest.param(
            {"value": "entity.query", "args": {"type": "invoice", "limit": 5}},
            [QUERY_CUSTOMERS, QUERY_ORDERS],
            "type is order; expected type = invoice.",
            id="the nearest call",
        ),
        pytest.param(
            {"value": "entity.delete", "succeeded": True},
            [FAILED],
            "entity.delete was called, but it failed: not_found: no entity x.",
            id="a failed call",
        ),
        pytest.param(
            {"value": "entity.query", "min_count": 3},
            [QUERY_ORDERS],
            "entity.query was called once; expected at least 3 times.",
            id="too few",
        ),
        pytest.param(
            {"value": "entity.query", "args": {"type": "order"}, "min_count": 2},
            [QUERY_ORDERS, QUERY_CUSTOMERS],
            "in another call, type is customer; expected type = order",
            id="too few, and a near one",
        ),
        pytest.param(
            {"value": "entity.update", "args": {"ids": "order-123"}, "args_match": "exact"},
            [UPDATE],
            "ids is missing (the call has id), id was not expected; expected ids = order-123.",
            id="a near argument",
        ),
        pytest.param(
            {"value": "knowledge.search", "output": "policy-8"},
            [SEARCH],
            'its result {"chunks": [{"id": "Policy-7"}]} does not contain “policy-8”.',
            id="another result",
        ),
        pytest.param(
            {"value": "entity.query", "max_count": 1},
            [QUERY_ORDERS, QUERY_ORDERS],
            "called 2 times; expected at most once.",
            id="too many",
        ),
    ],
)
def test_a_miss_shows_what_was_called_instead(
    options: dict[str, Any], calls: list[ToolCall], reason: str
) -> None:
    grade = ToolCalled.model_validate(options).grade(view_of(calls=calls))

    assert reason in grade.reason


def test_a_call_that_must_not_happen_is_shown() -> None:
    grade = ToolNotCalled(value="entity.update").grade(view_of(calls=[UPDATE]))

    assert grade.reason == (
        'entity.update was called once, which must not happen: entity.update({"id": "order-123"}).'
    )


@pytest.mark.parametrize(
    ("called", "subset", "exact", "ordered", "both"),
    [
        pytest.param("a b b", True, True, False, False, id="another order"),
        pytest.param("b a b", True, True, True, True, id="as listed"),
        pytest.param("b c a b", True, False, True, False, id="one between"),
        pytest.param("b a", False, False, False, False, id="one too few"),
        pytest.param("b a b b", True, False, True, False, id="one too many"),
        pytest.param("a b", False, False, False, False, id="two of three"),
        pytest.param("c", False, False, False, False, id="another"),
        pytest.param("", False, False, False, False, id="none"),
        pytest.param("a b b a b", True, False, True, False, id="order found later"),
    ],
)
def test_a_trajectory_is_compared_in_four_ways(
    *, called: str, subset: bool, exact: bool, ordered: bool, both: bool
) -> None:
    view = view_of(calls=[make_call(name) for name in called.split()])

    def passes(**options: bool) -> bool | None:
        return ToolCalls.model_validate({"tools": ["b", "a", "b"], **options}).grade(view).passed

    assert passes() is subset
    assert passes(exact=True) is exact
    assert passes(ordered=True) is ordered
    assert passes(exact=True, ordered=True) is both


@pytest.mark.parametrize(
    "calls", [[QUERY_ORDERS, QUERY_CUSTOMERS], [QUERY_CUSTOMERS, QUERY_ORDERS]]
)
@pytest.mark.parametrize("strict_first", [True, False])
def test_a_loose_tool_does_not_take_the_call_of_a_strict_one(
    *, calls: list[ToolCall], strict_first: bool
) -> None:
    tools: list[Any] = [{"name": "entity.query", "args": {"type": "order"}}, "entity.query"]
    grader = ToolCalls.model_validate(
        {"tools": tools if strict_first else tools[::-1], "exact": True}
    )

    assert grader.grade(view_of(calls=calls)).passed is True


@pytest.mark.parametrize(
    ("options", "calls", "says"),
    [
        pytest.param({}, [QUERY_CUSTOMERS], "entity.update is missing", id="missing"),
        pytest.param(
            {"tools": [{"name": "entity.query", "args": {"type": "order"}}]},
            [QUERY_CUSTOMERS],
            "type is customer; expected type = order",
            id="nearest call",
        ),
        pytest.param({"tools": ["a", "a"]}, [make_call("a")], "expected 2 times", id="twice"),
        pytest.param(
            {"exact": True}, [QUERY_ORDERS, UPDATE, SEARCH], "Not expected: knowledge", id="extra"
        ),
        pytest.param({"ordered": True}, [UPDATE, QUERY_ORDERS], "but not after", id="out of order"),
        pytest.param(
            {"ordered": True, "exact": True}, [UPDATE], "Call 1 should be entity.query", id="first"
        ),
        pytest.param(
            {
                "tools": [{"name": "entity.query", "args": {"type": "order"}}],
                "ordered": True,
                "exact": True,
            },
            [QUERY_CUSTOMERS],
            'Call 1 should be entity.query with type = order, but is entity.query({"type":'
            ' "customer"}), where type is customer.',
            id="first, another argument",
        ),
        pytest.param(
            {"ordered": True, "exact": True},
            [QUERY_ORDERS],
            "Not called: entity.update",
            id="short",
        ),
        pytest.param(
            {"tools": [], "exact": True}, [UPDATE], "Expected no tool at all", id="none wanted"
        ),
    ],
)
def test_a_missed_trajectory_says_what_differs(
    options: dict[str, Any], calls: list[ToolCall], says: str
) -> None:
    grader = ToolCalls.model_validate({"tools": ["entity.query", "entity.update"], **options})

    grade = grader.grade(view_of(calls=calls))

    assert grade.passed is False
    assert says in grade.reason


@pytest.mark.parametrize(
    "grader",
    [
        pytest.param(ToolCalled(value="entity.query", args={"type": "x"}), id="tool_called"),
        pytest.param(ToolNotCalled(value="entity.query"), id="tool_not_called"),
        pytest.param(ToolCalls.model_validate({"tools": ["entity.update"]}), id="tool_calls"),
    ],
)
def test_the_details_hold_the_calls_with_their_arguments(grader: PlainGrader) -> None:
    grade = grader.grade(view_of(calls=[QUERY_ORDERS] * 30))

    assert grade.details["called"] == ['entity.query({"type": "order", "limit": 5})'] * 20


def test_a_tool_with_an_endless_name_does_not_fill_the_reason() -> None:
    calls = [make_call("x" * 500_000)] * 3

    for grader in (
        ToolCalled(value="x"),
        ToolCalls.model_validate({"tools": ["x"], "exact": True}),
    ):
        assert len(grader.grade(view_of(calls=calls)).reason) < 1_000


def test_an_empty_trajectory_passes_only_without_calls() -> None:
    grader = ToolCalls(tools=[], exact=True)

    assert grader.grade(view_of()).passed is True
    assert grader.grade(view_of(calls=[UPDATE])).passed is False


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"tools": []}, id="nothing listed"),
        pytest.param({"tools": "entity.query"}, id="not a list"),
        pytest.param({"tools": [{"tool": "entity.query"}]}, id="unknown key"),
        pytest.param({"tools": [5]}, id="a number"),
        pytest.param({"tools": [""]}, id="an empty name"),
        pytest.param({}, id="no tools"),
    ],
)
def test_a_trajectory_that_says_nothing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ToolCalls.model_validate(options)


def test_a_trajectory_is_written_back_as_it_was() -> None:
    written = {"tools": ["a", {"name": "b", "args": {"x": {"fuzzy": 1}}}], "ordered": True}

    dumped = ToolCalls.model_validate(written).model_dump(exclude_unset=True)

    assert dumped == written


names = st.lists(st.sampled_from("ab"), max_size=5)


@given(names, names)
def test_the_four_ways_imply_each_other(tools: list[str], called: list[str]) -> None:
    if not tools:
        return
    view = view_of(calls=[make_call(name) for name in called])

    def passes(**options: bool) -> bool:
        return bool(ToolCalls.model_validate({"tools": tools, **options}).grade(view).passed)

    assert passes(exact=True) is (sorted(tools) == sorted(called))
    assert passes(exact=True, ordered=True) is (tools == called)
    assert passes() is all(called.count(name) >= tools.count(name) for name in tools)
    rest = iter(called)
    assert passes(ordered=True) is all(name in rest for name in tools)


@pytest.mark.parametrize(
    ("grader", "called", "reason"),
    [
        pytest.param(
            ToolNotCalled(value="book", name_match="contains"),
            [],
            "A tool named …book… was not called.",
            id="not called",
        ),
        pytest.param(
            ToolCalled(value="book", name_match="contains", max_count=1),
            ["book.one", "book.two"],
            "A tool named …book… was called 2 times; expected at most once.",
            id="called too often",
        ),
        pytest.param(
            ToolNotCalled(value="book"), [], "book was not called.", id="a name stays as it is"
        ),
    ],
)
def test_a_reason_begins_as_a_sentence_does(
    grader: ToolCalled | ToolNotCalled, called: list[str], reason: str
) -> None:
    grade = grader.grade(view_of(calls=[make_call(name) for name in called]))

    assert reason in grade.reason


def test_arguments_that_cannot_be_written_do_not_break_the_reason() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    call = make_call("a", x=deep, y=10**5_000)

    grade = ToolCalled(value="a", args={"x": 1}, output="z").grade(view_of(calls=[call]))

    assert grade.passed is False
    assert len(grade.reason) < 1_000


@pytest.mark.parametrize(
    ("grader", "sentence"),
    [
        pytest.param(
            ToolCalled(value="entity.query", args={"type": "order"}),
            "Calls entity.query with type = order",
            id="arguments",
        ),
        pytest.param(
            ToolCalled(value="query", name_match="contains", max_count=2),
            "Calls a tool named …query…, at least once and at most 2 times",
            id="counts",
        ),
        pytest.param(
            ToolCalled(value="a", min_count=2, max_count=2, args_match="exact", succeeded=True),
            "Calls a without arguments and without an error, exactly 2 times",
            id="exact",
        ),
        pytest.param(ToolNotCalled(value="a"), "Does not call a", id="not"),
        pytest.param(
            ToolCalls.model_validate({"tools": ["a", "b"], "exact": True, "ordered": True}),
            "Calls exactly in this order: a, b",
            id="trajectory",
        ),
        pytest.param(ToolCalls(tools=[], exact=True), "Calls no tool at all", id="none"),
    ],
)
def test_a_closed_row_reads_as_a_sentence(grader: PlainGrader, sentence: str) -> None:
    assert grader.summary() == sentence


def test_doubled_backslashes_in_arguments_warn() -> None:
    args = {"x": {"regex": r"\\d"}}

    assert ToolCalled(value="a", args=args).warnings()
    assert ToolNotCalled(value="a", args=args).warnings()
    assert ToolCalls.model_validate({"tools": [{"name": "a", "args": args}]}).warnings()
    assert not ToolCalled(value="a", args={"x": {"regex": r"\d"}}).warnings()


@pytest.mark.parametrize(
    ("grader", "calls", "status"),
    [
        pytest.param(ToolNotCalled(value="a"), [], "ungraded", id="not called"),
        pytest.param(
            ToolCalled(value="a", min_count=0, max_count=1), [], "ungraded", id="at most once"
        ),
        pytest.param(ToolCalls(tools=[], exact=True), [], "ungraded", id="no call at all"),
        pytest.param(ToolNotCalled(value="a"), [make_call("a")], "ok", id="called all the same"),
        pytest.param(ToolCalled(value="a"), [make_call("a")], "ok", id="called"),
        pytest.param(ToolCalled(value="a"), [], "ok", id="missing"),
        pytest.param(ToolCalls(tools=[ExpectedCall(name="a")]), [], "ok", id="missing of several"),
    ],
)
def test_silence_about_calls_is_not_that_there_were_none(
    grader: PlainGrader, calls: list[ToolCall], status: str
) -> None:
    turn = make_turn("Done.", calls=tuple(calls), reports_calls=False)

    found = grader.grade(View(make_trial(turn), turn))

    assert found.status == status
    assert ("does not report its tool calls" in found.reason) is not bool(calls)


@pytest.mark.parametrize(
    ("result", "passes"),
    [
        pytest.param({"error": "no such order"}, False, id="a text"),
        pytest.param({"error": {"message": "no such order"}}, False, id="as our tools say it"),
        pytest.param({"error": True}, False, id="a flag"),
        pytest.param({"error": None, "id": 1}, True, id="none"),
        pytest.param({"error": "", "id": 1}, True, id="an empty one"),
        pytest.param("error: a text is a result", True, id="a text that speaks of errors"),
    ],
)
def test_a_result_with_an_error_is_no_success(result: object, *, passes: bool) -> None:
    call = ToolCall("refund", {}, result=result)

    grade = ToolCalled(value="refund", succeeded=True).grade(view_of(calls=[call]))

    assert grade.passed is passes


@pytest.mark.parametrize(
    ("calls", "parts"),
    [
        pytest.param(
            [make_call("refund", order="1043", amount=40)],
            ["refund was called", 'order is "1043"', 'expected order = "1042"'],
            id="once",
        ),
        pytest.param(
            [make_call("refund", order="1043", amount=40), make_call("refund")],
            ["refund was called 2 times", 'order is "1043"', 'expected order = "1042"'],
            id="several times",
        ),
    ],
)
def test_what_happened_stands_beside_what_was_expected(
    calls: list[ToolCall], parts: list[str]
) -> None:
    wanted = {"order": "1042", "amount": {"fuzzy": 40}}
    found = [
        ToolCalled(value="refund", args=wanted).grade(view_of(calls=calls)).reason,
        ToolCalls.model_validate({"tools": [{"name": "refund", "args": wanted}]})
        .grade(view_of(calls=calls))
        .reason,
    ]

    assert [part for part in parts for reason in found if part not in reason] == []
    assert "amount is" not in found[0]


@pytest.mark.parametrize(
    ("tool", "call", "passes"),
    [
        pytest.param({"args_match": "exact"}, make_call("refund"), True, id="no arguments"),
        pytest.param({"args_match": "exact"}, make_call("refund", id=1), False, id="but one"),
        pytest.param(
            {"args": {"id": 1}, "args_match": "exact"},
            make_call("refund", id=1, note="x"),
            False,
            id="one more",
        ),
        pytest.param(
            {"args": {"id": 1}, "args_match": "exact"}, make_call("refund", id=1), True, id="these"
        ),
        pytest.param({"args": {"id": 1}}, make_call("refund", id=1, note="x"), True, id="subset"),
    ],
)
def test_a_trajectory_can_forbid_other_arguments(
    tool: dict[str, Any], call: ToolCall, *, passes: bool
) -> None:
    grader = ToolCalls.model_validate({"tools": [{"name": "refund"} | tool]})

    assert grader.grade(view_of(calls=[call])).passed is passes
    assert ToolCalls.model_validate(grader.model_dump()) == grader


def test_blanks_around_the_name_of_a_tool_are_taken_off() -> None:
    assert ToolCalled(value="entity.query ").value == "entity.query"
    assert ToolCalls.model_validate({"tools": [" refund"]}).tools[0].name == "refund"
    with pytest.raises(ValidationError):
        ToolCalled(value=" ")
