from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.engine.graders.tools import ExpectedCall, ToolCalled, ToolCalls, ToolNotCalled
from evals_app.engine.record.trial import Cause, KnownTool, ToolCall
from evals_app.engine.record.view import View
from tests.engine.graders.makers import make_call, make_trial, make_turn, view_of

QUERY_ORDERS = make_call("entity.query", type="order", limit=5)
QUERY_CUSTOMERS = make_call("entity.query", type="customer")
UPDATE = make_call("entity.update", id="order-123")
FAILED = ToolCall("entity.delete", {"id": "x"}, error="not_found: no entity x")
SEARCH = ToolCall("knowledge.search", {"query": "refund"}, result={"chunks": [{"id": "Policy-7"}]})


ORDER: dict[str, Any] = {"args": {"type": "order"}}
UPDATED: dict[str, Any] = {"args": {"id": "order-123"}}
EXACT: dict[str, Any] = {"args_match": "exact"}


@pytest.mark.parametrize(
    ("value", "options", "calls", "passes"),
    [
        pytest.param("entity.query", {}, [QUERY_ORDERS], True, id="called"),
        pytest.param("entity.query", {}, [UPDATE], False, id="another was called"),
        pytest.param("entity.query", {}, [], False, id="none was called"),
        pytest.param("entity", {}, [QUERY_ORDERS], False, id="part of a name"),
        pytest.param("Entity.query", {}, [QUERY_ORDERS], False, id="case of the name"),
        pytest.param("query", {"name_match": "contains"}, [QUERY_ORDERS], True, id="contains"),
        pytest.param("entity.query", ORDER, [QUERY_ORDERS], True, id="subset"),
        pytest.param("entity.query", ORDER, [QUERY_CUSTOMERS, QUERY_ORDERS], True, id="a later"),
        pytest.param("entity.query", ORDER, [QUERY_CUSTOMERS], False, id="another argument"),
        pytest.param("entity.query", ORDER | EXACT, [QUERY_ORDERS], False, id="others"),
        pytest.param("entity.update", UPDATED | EXACT, [UPDATE], True, id="exact and complete"),
        ("entity.query", {"args": {"limit": {"any_of": [5, 10]}}}, [QUERY_ORDERS], True),
        pytest.param("entity.delete", {}, [FAILED], True, id="a failed call is a call"),
        pytest.param("entity.delete", {"succeeded": True}, [FAILED], False, id="with an error"),
        pytest.param("entity.update", {"succeeded": True}, [UPDATE], True, id="succeeded"),
        pytest.param("knowledge.search", {"output": "policy-7"}, [SEARCH], True, id="output"),
        pytest.param("knowledge.search", {"output": "policy-8"}, [SEARCH], False, id="other"),
    ],
)
def test_tool_called_and_tool_not_called_never_agree(
    *, value: str, options: dict[str, Any], calls: list[ToolCall], passes: bool
) -> None:
    options = {"value": value, **options}

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
    ("value", "options", "calls", "reason"),
    [
        pytest.param("entity.query", {}, [], "the agent called no tools.", id="nothing"),
        pytest.param(
            "entity.qery",
            {},
            [QUERY_ORDERS, QUERY_ORDERS, UPDATE],
            "entity.query (2 times), entity.update. Did you mean 'entity.query'?",
            id="a near name",
        ),
        pytest.param(
            "entity.query",
            {"args": {"type": "invoice", "limit": 5}},
            [QUERY_CUSTOMERS, QUERY_ORDERS],
            "type is order; expected type = invoice.",
            id="the nearest call",
        ),
        ("entity.delete", {"succeeded": True}, [FAILED], "but it failed: not_found"),
        ("entity.query", {"min_count": 3}, [QUERY_ORDERS], "once; expected at least 3"),
        pytest.param(
            "entity.query",
            ORDER | {"min_count": 2},
            [QUERY_ORDERS, QUERY_CUSTOMERS],
            "in another call, type is customer; expected type = order",
            id="too few, and a near one",
        ),
        pytest.param(
            "entity.update",
            {"args": {"ids": "order-123"}} | EXACT,
            [UPDATE],
            "ids is missing (the call has id), id was not expected; expected ids = order-123.",
            id="a near argument",
        ),
        pytest.param(
            "knowledge.search",
            {"output": "policy-8"},
            [SEARCH],
            '[{"id": "Policy-7"}]} does not contain “policy-8”.',
            id="another result",
        ),
        ("entity.query", {"max_count": 1}, [QUERY_ORDERS] * 2, "expected at most once"),
    ],
)
def test_a_miss_shows_what_was_called_instead(
    value: str, options: dict[str, Any], calls: list[ToolCall], reason: str
) -> None:
    grade = ToolCalled.model_validate({"value": value, **options}).grade(view_of(calls=calls))

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


A_QUERY = {"name": "entity.query", **ORDER}


@pytest.mark.parametrize("calls", [*permutations([QUERY_ORDERS, QUERY_CUSTOMERS])])
@pytest.mark.parametrize("tools", [*permutations([A_QUERY, "entity.query"])])
def test_a_loose_tool_does_not_take_the_call_of_a_strict_one(
    calls: tuple[ToolCall, ...], tools: tuple[Any, ...]
) -> None:
    grader = ToolCalls.model_validate({"tools": list(tools), "exact": True})

    assert grader.grade(view_of(calls=calls)).passed is True


TWO = ["entity.query", "entity.update"]
IN_ORDER: dict[str, Any] = {"ordered": True, "exact": True}


@pytest.mark.parametrize(
    ("tools", "options", "calls", "says"),
    [
        pytest.param(TWO, {}, [QUERY_CUSTOMERS], "entity.update is missing", id="missing"),
        pytest.param([A_QUERY], {}, [QUERY_CUSTOMERS], "; expected type = order", id="nearest"),
        pytest.param(["a", "a"], {}, [make_call("a")], "expected 2 times", id="twice"),
        (TWO, {"exact": True}, [QUERY_ORDERS, UPDATE, SEARCH], "expected: knowledge"),
        pytest.param(TWO, {"ordered": True}, [UPDATE, QUERY_ORDERS], "but not after", id="order"),
        pytest.param(TWO, IN_ORDER, [UPDATE], "Call 1 should be entity.query", id="first"),
        pytest.param(
            [A_QUERY],
            IN_ORDER,
            [QUERY_CUSTOMERS],
            'should be entity.query with type = order, but is entity.query({"type": "customer"}),'
            " where type is customer.",
            id="first, another argument",
        ),
        pytest.param(TWO, IN_ORDER, [QUERY_ORDERS], "Not called: entity.update", id="short"),
        pytest.param([], {"exact": True}, [UPDATE], "Expected no tool at all", id="none wanted"),
    ],
)
def test_a_missed_trajectory_says_what_differs(
    tools: list[Any], options: dict[str, Any], calls: list[ToolCall], says: str
) -> None:
    grade = ToolCalls.model_validate({"tools": tools, **options}).grade(view_of(calls=calls))

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


@pytest.mark.parametrize("tools", [[], "entity.query", [{"tool": "entity.query"}], [5], [""], None])
def test_a_trajectory_that_says_nothing_is_refused(tools: object) -> None:
    with pytest.raises(ValidationError):
        ToolCalls.model_validate({"tools": tools})


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
            "A tool named …book… was called 2 times",
            id="called too often",
        ),
        pytest.param(ToolNotCalled(value="book"), [], "book was not called.", id="its own name"),
    ],
)
def test_a_reason_begins_as_a_sentence_does(
    grader: ToolCalled | ToolNotCalled, called: list[str], reason: str
) -> None:
    assert reason in grader.grade(view_of(calls=map(make_call, called))).reason


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
        (ToolCalled(value="a", min_count=0, max_count=1), [], "ungraded"),
        pytest.param(ToolCalls(tools=[], exact=True), [], "ungraded", id="no call at all"),
        pytest.param(ToolNotCalled(value="a"), [make_call("a")], "ok", id="called all the same"),
        pytest.param(ToolCalled(value="a"), [make_call("a")], "ok", id="called"),
        pytest.param(ToolCalled(value="a"), [], "ungraded", id="missing"),
        pytest.param(ToolCalled(value="a"), [make_call("b")], "ungraded", id="only another"),
        (ToolCalls(tools=[ExpectedCall(name="a")]), [], "ungraded"),
        (ToolCalls(tools=[ExpectedCall(name="a")]), [make_call("a")], "ok"),
    ],
)
def test_silence_about_calls_is_not_that_there_were_none(
    grader: PlainGrader, calls: list[ToolCall], status: str
) -> None:
    turn = make_turn("Done.", calls=tuple(calls), reports_calls=False)

    grade = grader.grade(View(make_trial(turn), turn))

    assert grade.status == status
    assert (grade.cause is Cause.CASE) is (status == "ungraded")
    assert ("docs/own-agents.md" in grade.reason) is (status == "ungraded")


UNREPORTED = make_call("find", id=1)
FOUND = ToolCall("find", {"id": 1}, result={"state": "sent"})


@pytest.mark.parametrize(
    ("options", "calls", "verdicts"),
    [
        pytest.param({}, [UNREPORTED], (None, None), id="unknown"),
        pytest.param({}, [UNREPORTED, FOUND], (True, False), id="one is enough"),
        pytest.param({"args": {"id": 2}}, [UNREPORTED], (False, True), id="another call anyway"),
        pytest.param({"max_count": 1}, [UNREPORTED, FOUND], (None, False), id="perhaps too many"),
        pytest.param({}, [ToolCall("find", {}, error="No.")], (False, True), id="failed"),
        pytest.param({}, [], (False, True), id="none"),
    ],
)
def test_a_result_that_an_agent_does_not_report_may_have_been_any(
    options: dict[str, Any], calls: list[ToolCall], verdicts: tuple[bool | None, bool | None]
) -> None:
    turn = make_turn("Done.", calls=tuple(calls))
    view = View(make_trial(turn, is_outside=True), turn)
    written = {"value": "find", "output": "sent"}
    shared = {key: value for key, value in options.items() if key != "max_count"}

    wanted = ToolCalled.model_validate(written | options).grade(view)
    forbidden = ToolNotCalled.model_validate(written | shared).grade(view)

    assert (wanted.passed, forbidden.passed) == verdicts
    for grade in (wanted, forbidden):
        assert (grade.cause is Cause.CASE) is (grade.passed is None)


NO_CALL = ToolCalls(tools=[], exact=True)


@pytest.mark.parametrize(
    ("grader", "reported", "silent", "cause"),
    [
        pytest.param(NO_CALL, [make_call("a")], {}, Cause.ASSERTION, id="one that must not be"),
        pytest.param(NO_CALL, [], {}, Cause.CASE, id="no other is known"),
        pytest.param(ToolCalled(value="a"), [], {}, Cause.CASE, id="missing where it reports"),
        (ToolCalled(value="a"), [], {"error": "It crashed."}, Cause.AGENT),
    ],
)
def test_of_an_agent_that_reports_some_turns_what_is_certain_counts(
    grader: PlainGrader, reported: list[ToolCall], silent: dict[str, Any], cause: Cause
) -> None:
    turns = (
        make_turn("Done.", calls=tuple(reported)),
        make_turn("Bye.", index=2, reports_calls=False, **silent),
    )

    assert grader.grade(View(make_trial(*turns))).cause is cause


@pytest.mark.parametrize(
    ("tools", "called", "meant"),
    [
        pytest.param(["entity.query", "entity.update"], "entity.query", "", id="it has both"),
        pytest.param(["entity.query"], "entity.query", "entity.query", id="it has only the other"),
        pytest.param([], "entity.updated", "entity.updated", id="a slip, where none are known"),
        pytest.param([], "entity.query", "", id="another tool, where none are known"),
    ],
)
def test_a_hint_never_leads_away_from_a_tool_of_the_agent(
    tools: list[str], called: str, meant: str
) -> None:
    turn = make_turn("Done.", calls=(make_call(called),))
    trial = make_trial(turn, tools=tuple(map(KnownTool, tools)))

    for grader in (
        ToolCalled(value="entity.update"),
        ToolCalls(tools=[ExpectedCall(name="entity.update")]),
    ):
        reason = grader.grade(View(trial, turn)).reason

        assert ("Did you mean" in reason, f"mean {meant!r}" in reason) == (bool(meant),) * 2


@pytest.mark.parametrize(
    ("result", "passes"),
    [
        pytest.param({"error": "no such order"}, False, id="a text"),
        pytest.param({"error": {"message": "no such order"}}, False, id="as our tools say it"),
        pytest.param({"error": True}, False, id="a flag"),
        pytest.param({"error": None, "id": 1}, True, id="none"),
        pytest.param({"error": "", "id": 1}, True, id="an empty one"),
        pytest.param({"isError": True, "content": []}, False, id="as MCP says it"),
        pytest.param({"is_error": True, "content": "no"}, False, id="as its package says it"),
        pytest.param({"isError": False, "content": []}, True, id="no error of MCP"),
        pytest.param({"isError": "true"}, True, id="a text in its place"),
        pytest.param({"status": 500}, True, id="a field of the tool's own"),
        pytest.param("Error: 404 not found", True, id="a text that begins like an error"),
        pytest.param("error: a text is a result", True, id="a text that speaks of errors"),
    ],
)
def test_a_result_with_an_error_is_no_success(result: object, *, passes: bool) -> None:
    call = ToolCall("refund", {}, result=result)

    grade = ToolCalled(value="refund", succeeded=True).grade(view_of(calls=[call]))

    assert grade.passed is passes


@pytest.mark.parametrize(
    ("others", "begin"),
    [
        pytest.param([], "refund was called", id="once"),
        pytest.param([make_call("refund")], "refund was called 2 times", id="several times"),
    ],
)
def test_what_happened_stands_beside_what_was_expected(others: list[ToolCall], begin: str) -> None:
    view = view_of(calls=[make_call("refund", order="1043", amount=40), *others])
    wanted = {"order": "1042", "amount": {"fuzzy": 40}}
    graders = [
        ToolCalled(value="refund", args=wanted),
        ToolCalls.model_validate({"tools": [{"name": "refund", "args": wanted}]}),
    ]

    for reason in (grader.grade(view).reason for grader in graders):
        for part in (begin, 'order is "1043"', 'expected order = "1042"'):
            assert part in reason
        assert "amount is" not in reason


WITH_ID: dict[str, Any] = {"args": {"id": 1}}


@pytest.mark.parametrize(
    ("tool", "passed", "passes"),
    [
        pytest.param(EXACT, {}, True, id="no arguments"),
        pytest.param(EXACT, {"id": 1}, False, id="but one"),
        pytest.param(WITH_ID | EXACT, {"id": 1, "note": "x"}, False, id="one more"),
        pytest.param(WITH_ID | EXACT, {"id": 1}, True, id="these"),
        pytest.param(WITH_ID, {"id": 1, "note": "x"}, True, id="subset"),
    ],
)
def test_a_trajectory_can_forbid_other_arguments(
    tool: dict[str, Any], passed: dict[str, Any], *, passes: bool
) -> None:
    grader = ToolCalls.model_validate({"tools": [{"name": "refund"} | tool]})

    assert grader.grade(view_of(calls=[make_call("refund", **passed)])).passed is passes
    assert ToolCalls.model_validate(grader.model_dump()) == grader


def test_blanks_around_the_name_of_a_tool_are_taken_off() -> None:
    assert ToolCalled(value="entity.query ").value == "entity.query"
    assert ToolCalls.model_validate({"tools": [" refund"]}).tools[0].name == "refund"
    with pytest.raises(ValidationError):
        ToolCalled(value=" ")
