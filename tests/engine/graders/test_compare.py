"""Two values compared: what each side can say, what fails, and what is refused when it is written."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from evals_app.engine.graders.compare import CompareValues
from evals_app.engine.graders.kit.expressions import MAX_CHARS
from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.trial import Cause, ToolCall
from evals_app.engine.record.view import View
from evals_app.engine.specs.inventory import CheckedName
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.rehearsal import missed_by_expected
from evals_app.engine.verdicts.trying import try_check
from tests.engine.graders.makers import make_call, make_trial, make_turn, view_of

ORDER = """{
  "items": [{"price": 0.1, "tags": ["a"]}, {"price": 0.20, "tags": ["b", "c"]}],
  "total": 0.3, "count": "2", "state": "sent", "note": null, "paid": true, "none": [],
  "from": "2026-02-27", "until": "2026-03-13T10:00", "unit price": 1.50, "big": 1e400, "vast": 1e99999
}"""


def compare(left: str, comparison: str, right: object, view: View | None = None) -> Grade:
    check = CompareValues.model_validate({"left": left, "comparison": comparison, "right": right})
    return check.grade(view or view_of(ORDER))


@pytest.mark.parametrize(
    ("left", "comparison", "right", "passes"),
    [
        pytest.param("sum(reply.items[*].price)", "=", "reply.total", True, id="exact sum"),
        pytest.param("sum(reply.items[*].price)", "=", 0.31, False, id="a wrong sum"),
        ("reply.items[-1].price", "=", "0.2", True),
        ("reply['unit price'] * 2", "=", 3, True),
        ("reply.total - 0.1 - 0.2", "=", 0, True),
        ("1 - 2 - 3", "=", "reply.total - 4.3", True),
        ("2 + 3 * (reply.total + 1)", "=", "5.9", True),
        ("-reply.total", "<", 0, True),
        ("1 / 3 * 3", "=", "reply.total + 0.7", True),
        ("round(reply.total * 1.19, 2)", "=", "0.36", True),
        ("round(-2.5 - reply.total + reply.total)", "=", "-3", True),
        ("abs(reply.total - 0.31)", "<=", "0.01", True),
        ("reply.big", ">", "1", True),
        ("count(reply.items)", "=", 2, True),
        ("count(reply.items[*].tags[*])", "=", 3, True),
        ("count(reply.none)", "=", 0, True),
        ("max(reply.items[*].price)", "<", 0.2, False),
        ("MIN(reply.items[*].price)", ">=", 0.1, True),
        ("reply.state", "=", '"sent"', True),
        ("reply.state", "!=", "'sent'", False),
        ("reply.state", "=", "'it''s'", False),
        ("reply.note", "=", "null", True),
        ("reply.note", "!=", "'sent'", True),
        ("reply.paid", "=", True, True),
        ("reply.paid", "=", "FALSE", False),
        ("date(reply.from) + 14 days", "=", "date(reply.until)", True),
        ("date(reply.until) - date(reply.from)", ">", "14 days", False),
        ("2026-03-14 - 1 day", "=", "date(reply.until)", True),
        ("reply.items[*].price", "contains", "0.1", True),
        ("reply.items[*].tags[*]", "does not contain", '"d"', True),
        ("reply.items[*].tags[*]", "=", "split('a;b;c', ';')", True),
        ("split(reply.state, 'e')[0]", "=", "'s'", True),
        ("upper(trim(reply.state))", "=", "'SENT'", True),
        ("reply.state", "contains", "'en'", True),
        ("reply.state", "contains", "'EN'", False),
        ("reply.state", "does not contain", "'en'", False),
        ("reply.state", "matches", "'^s.+t$'", True),
        ("reply.state", "does not match", "'^s'", False),
        ("reply.state", "does not match", "'^e'", True),
        ("number(reply.count) + 1", "=", "3", True),
    ],
)
def test_two_values_compare_or_not(
    *, left: str, comparison: str, right: object, passes: bool
) -> None:
    grade = compare(left, comparison, right)

    assert (grade.passed, grade.score) == (passes, float(passes))
    assert left in grade.reason


@pytest.mark.parametrize(
    ("left", "comparison", "right", "shown"),
    [
        pytest.param("reply.totl", "=", 1, "Did you mean “total”?", id="missing key"),
        pytest.param("reply.items[2].price", "=", 1, "items is a list of 2", id="missing item"),
        pytest.param("reply.items[*].tags[1]", "=", "null", "[0]", id="missing in an item"),
        pytest.param("reply.state[*]", "=", "null", "not a list", id="no list"),
        pytest.param("sum(reply.none)", "=", 0, "empty", id="sum of nothing"),
        pytest.param("max(reply.none)", "<", 5, "empty", id="largest of nothing"),
        pytest.param("sum(reply.items[*].tags[*])", ">=", 0, "[0] is “a”", id="sum of texts"),
        pytest.param("sum(reply.state)", ">=", 0, "text", id="sum of a text"),
        pytest.param("reply.note + 1", ">=", 1, "null", id="null is not 0"),
        pytest.param("reply.count", "<", 6, "number(...)", id="text and number"),
        pytest.param("reply.count", "!=", 6, "number(...)", id="text is never unequal to a number"),
        pytest.param("reply.paid", "=", 1, "true", id="true is not 1"),
        pytest.param("reply.note", "<", 1, "null", id="null is not less"),
        pytest.param("reply.items[0]", "!=", 1, "an object", id="object"),
        pytest.param("reply.items", "!=", "reply.none", "[*]", id="lists of objects"),
        pytest.param("number(reply.state)", "=", 1, "no number", id="no number"),
        pytest.param("number(reply.from)", "=", 1, "several", id="several numbers"),
        pytest.param("date(reply.state)", "=", "2026-01-01", "no date", id="no date"),
        pytest.param("split(reply.state, 'e')[2]", "=", "'t'", "2 items", id="no such part"),
        pytest.param("1 / (reply.total - 0.3)", ">", 0, "divides by 0", id="division by 0"),
        pytest.param("reply.vast", ">", 0, "digits", id="too many digits"),
        pytest.param("reply.total days", ">", "1 days", "whole number", id="part of a day"),
        pytest.param("date(reply.from) + 9999999 days", ">", "2026-01-01", "calendar", id="far"),
        pytest.param("reply.state", "contains", "trim(' ')", "empty", id="contains nothing"),
    ],
)
def test_nothing_is_guessed(left: str, comparison: str, right: object, shown: str) -> None:
    grade = compare(left, comparison, right)

    assert (grade.passed, grade.cause) == (False, Cause.ASSERTION)
    assert shown in grade.reason


@pytest.mark.parametrize(
    ("left", "comparison", "right", "key", "says"),
    [
        pytest.param("lenght(reply)", "<", 9, "left", "Did you mean 'length'", id="function"),
        pytest.param("replay.total", "<", 9, "left", "Did you mean 'reply'", id="name"),
        pytest.param("1 + replay", "<", 9, "left", "Character 5, “replay”", id="place"),
        pytest.param("reply.a", "=", "open", "right", "Put a text", id="bare text"),
        pytest.param("reply.a", "=", "“open”", "right", "straight", id="typographic quotes"),
        pytest.param("reply.a", "=", '"open', "right", "not closed", id="open text"),
        pytest.param("=reply.a", "=", "1", "left", "Leave this sign out", id="as a formula"),
        pytest.param("reply.a = 1", "=", "true", "left", "Character 9", id="second comparison"),
        pytest.param("length(reply", "<", 9, "left", "closing bracket", id="bracket"),
        pytest.param("length()", "<", 9, "left", "missing|Expected", id="no value"),
        pytest.param("length(reply, 1)", "<", 9, "left", "takes", id="too many values"),
        pytest.param("reply.items[x]", "=", 9, "left", "position", id="position"),
        pytest.param("1.2.3", "=", "reply.a", "left", "1234.5", id="number"),
        pytest.param("2026-02-30", "=", "date(reply)", "left", "Expected a value", id="day"),
        pytest.param("", "=", "reply", "left", "missing", id="nothing"),
        pytest.param("reply 5", "=", "reply", "left", "end", id="two values"),
        pytest.param("params", "=", "reply", "left", "params.language", id="all parameters"),
        pytest.param("calls[0].args", "=", "1", "left", "order.get", id="no tool"),
        pytest.param("today.day", "=", "1", "left", "no parts", id="part of a date"),
        pytest.param("reply", "<", 9, "comparison", "text and a number", id="text and number"),
        pytest.param("date(reply) + 14", ">", "2026-01-01", "left", "14 days", id="no days"),
        pytest.param("sum(reply)", ">", 1, "left", "a list", id="sum of a text"),
        pytest.param("reply + 1", ">", 1, "left", "number(...)", id="text plus number"),
        pytest.param("reply", "matches", "'(a'", "right", "group", id="pattern"),
        pytest.param("reply", "matches", "reply.p", "right", "quotation", id="pattern of theirs"),
        pytest.param("split(reply, '')[0]", "=", "'a'", "left", "not empty", id="no separator"),
        pytest.param("reply", "contains", "''", "right", "empty", id="nothing in a text"),
        pytest.param("(" * 30 + "1", "=", "reply.a", "left", "levels", id="depth"),
        pytest.param("1" + "+1" * 50, "=", "reply.a", "left", "calculations", id="length"),
        pytest.param("1" * (MAX_CHARS + 1), "=", "reply.a", "left", "500", id="characters"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    left: str, comparison: str, right: object, key: str, says: str
) -> None:
    with pytest.raises(ValidationError, match="1 validation error") as caught:
        compare(left, comparison, right)

    (error,) = caught.value.errors()
    assert error["loc"] == (key,)
    assert any(word in error["msg"] for word in says.split("|"))


@pytest.mark.parametrize(
    ("left", "right", "view", "passes"),
    [
        ("reply", "expected", view_of("Paris", expected="Paris"), True),
        ("reply", "expected.city", view_of("Rome", expected='{"city": "Paris"}'), False),
        ("number(reply)", "number(expected)", view_of("It is $3.50.", expected="3.5"), True),
        ("number(reply)", "number(expected)", view_of("It is 3,50 €.", expected="3.5"), None),
        ("number(reply, 'comma')", "3.5", view_of("It is 3,50 €."), True),
        ("number(expected)", "number(expected)", view_of("4", expected="some"), None),
        ("message", "reply", view_of("Hello"), True),
        (
            "calls['order.get'][0].args.id",
            "4",
            view_of(calls=[make_call("order.get", id=4.0)]),
            True,
        ),
        (
            "calls['order.get'][0].args.id",
            "4",
            view_of(calls=[make_call("order.put", id=4)]),
            False,
        ),
        (
            "calls.get[-1].result.n",
            "1",
            view_of(calls=[ToolCall("get", {}, result={"n": 1})]),
            True,
        ),
        ("params.n", "1", View(make_trial(make_turn("Yes"), context_params={"n": 1})), True),
        ("params.m", "1", View(make_trial(make_turn("Yes"), context_params={"n": 1})), None),
        ("context[0]", "reply", View(make_trial(make_turn("Yes")), context=("Yes",)), True),
        (
            "today + 14 days",
            "date(reply)",
            View(make_trial(make_turn("By 2026-03-15."), clock="2026-03-01T09:00:00Z")),
            True,
        ),
        ("today", "date(reply)", view_of("2026-03-15"), None),
    ],
)
def test_sides_read_what_the_check_sees(
    left: str, right: str, view: View, *, passes: bool | None
) -> None:
    grade = compare(left, "=", right, view)

    assert grade.passed is passes
    # What the case lacks is no fault of the agent's.
    assert grade.status is (GradeStatus.UNGRADED if passes is None else GradeStatus.OK)


def test_a_reply_may_be_fenced_and_one_without_json_says_so() -> None:
    fenced = compare("reply.a", "=", 1, view_of('Here:\n```json\n{"a": 1}\n```\n'))
    prose = compare("reply.a", "=", 1, view_of("It is one."))

    assert (fenced.passed, fenced.details) == (True, {"is_fenced": True})
    assert prose.passed is False
    assert "It is one." in prose.reason


def test_what_is_written_often_is_calculated_once() -> None:
    many = view_of("9 x " * 10_000)
    started = time.process_time()

    assert compare("+".join(["number(reply)"] * 20), "=", "180", many).passed is True
    assert time.process_time() - started < 2  # several s if each is read again


def test_calls_that_are_not_reported_are_unknown() -> None:
    turn = make_turn("Yes", reports_calls=False)
    silent = View(make_trial(turn), turn)
    outside = make_trial(make_turn("Yes", calls=(make_call("get", id=1),)), is_outside=True)

    assert compare("calls.get[0].args.id", "=", 1, silent).passed is None
    assert compare("calls.get[0].result.id", "=", 1, View(outside)).passed is None
    assert compare("calls.get[0].args.id", "=", 1, View(outside)).passed is True


def test_a_check_says_what_it_needs_and_names() -> None:
    def made(left: str, right: str) -> CompareValues:
        return CompareValues(left=left, comparison="=", right=right)

    assert made("reply", "expected").needs() == {"expected"}
    assert list(made("1", "calls['order.get'][0].args.id").mentions()) == [
        CheckedName("tool", "order.get", ("right",))
    ]
    assert made("expected", "'a'").cannot_fail()
    assert made("reply.a", "reply.a").cannot_fail()
    assert not made("reply.a", "reply.b").cannot_fail()
    assert CompareValues(left="reply", comparison="matches", right=r"'\\d'").warnings()


@pytest.mark.anyio
async def test_one_reply_alone_is_enough_only_for_what_reads_nothing_else() -> None:
    def spec(right: str) -> AssertionSpec:
        written: dict[str, Any] = {"type": "compare", "left": "reply", "comparison": "="}
        return AssertionSpec.model_validate({**written, "right": right})

    of_calls, exact = (
        spec("calls.get[0].args.id"),
        AssertionSpec.model_validate({"type": "exact_match"}),
    )

    assert (await try_check(spec("'a'"), reply="a", turn=1)).passed is True
    assert (await try_check(of_calls, reply="a", turn=1)).status is GradeStatus.NOT_APPLICABLE
    assert list(missed_by_expected("a", [of_calls, exact])) == []


pieces = st.sampled_from(
    [
        *"()[],;+-*/. '\"0129",
        *("reply", "reply.a", "reply[*]", "expected.a", "calls['get'][0].args.id", "params.a"),
        *("sum(", "count(", "number(", "date(", "split(", "round(", " days", "[0]", "2026-03-05"),
        *("null", "true", "1e9", "9999999", "today", "context"),
    ]
)
replies = st.sampled_from(
    [
        '{"a": 1}',
        '{"a": [1, "2", null, {"b": 0}]}',
        "[[1], [2, 3]]",
        "2026-02-29",
        "3,5",
        "",
        "\ud800",
    ]
) | st.text(max_size=40)
comparisons = st.sampled_from(CompareValues.model_fields["comparison"].annotation.__args__)  # type: ignore[union-attr]
good = st.recursive(
    st.sampled_from(
        ["reply", "reply.a", "reply[*]", "reply.a[*]", "3", "0.1", "'a'", "2026-03-05", "null"]
    ),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        st.builds(
            "{}({})".format, st.sampled_from(["sum", "max", "length", "number", "date"]), inner
        ),
        st.builds("{} days".format, inner),
        st.builds("split({})[1]".format, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(st.lists(pieces, max_size=12).map("".join) | good, comparisons, good, replies)
def test_whatever_is_written_is_refused_or_graded(
    left: str, comparison: str, right: str, reply: str
) -> None:
    try:
        check = CompareValues.model_validate(
            {"left": left, "comparison": comparison, "right": right}
        )
    except ValidationError:
        return

    grade = check.grade(view_of(reply, calls=[make_call("get", id=float("nan"))]))

    assert grade.reason
    assert (grade.passed is None) is (grade.status is not GradeStatus.OK)
