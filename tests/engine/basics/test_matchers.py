from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from evals_app.engine.basics.matchers import (
    ABSENT,
    MATCHER_KEYS,
    Matcher,
    equal,
    matcher_warnings,
    matches,
    mismatches,
    phrase,
)

MATCHER: TypeAdapter[Any] = TypeAdapter(Matcher)
HUGE = 10**400
TOO_LONG_TO_WRITE = 10**5_000


def nest(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("matcher", "actual", "is_match"),
    [
        pytest.param("open", "open", True, id="text"),
        pytest.param("open", "Open", False, id="case counts"),
        pytest.param("5", 5, False, id="a text is no number"),
        pytest.param(5, "5", False, id="a number is no text"),
        pytest.param(1, 1.0, True, id="int equals float"),
        pytest.param(HUGE, HUGE, True, id="huge"),
        pytest.param(HUGE, HUGE + 1, False, id="huge, off by one"),
        pytest.param(HUGE, 1e300, False, id="huge against float"),
        pytest.param(2**53 + 1, float(2**53), False, id="no rounding to float"),
        pytest.param(1, Decimal(1), True, id="decimal"),
        pytest.param(0.1, Decimal("0.1"), True, id="a float means its shortest text"),
        pytest.param(0.1, Decimal("0.1000000000000000055"), False, id="decimal, off by little"),
        pytest.param({"a": [2.5]}, {"a": [Decimal("2.50")]}, True, id="deep decimal"),
        pytest.param(float("inf"), Decimal(1), False, id="infinite"),
        pytest.param(True, 1, False, id="true is not 1"),
        pytest.param(0, False, False, id="0 is not false"),
        pytest.param(True, True, True, id="true"),
        pytest.param(None, None, True, id="null"),
        pytest.param(None, ABSENT, False, id="null is passed"),
        pytest.param({"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 2}]}, True, id="deep"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, False, id="key sets are equal"),
        pytest.param({"a": {"b": True}}, {"a": {"b": 1}}, False, id="deep bool"),
        pytest.param([1, 2], [2, 1], False, id="order counts"),
        pytest.param({}, {}, True, id="empty mapping"),
        pytest.param({}, [], False, id="mapping and list"),
        pytest.param({"fuzzy": "60.94"}, 60.94, True, id="fuzzy number"),
        pytest.param({"fuzzy": "60.94"}, "60.9400000001", True, id="fuzzy within 1e-9"),
        pytest.param({"fuzzy": "60.94"}, "60.94001", False, id="fuzzy beyond 1e-9"),
        pytest.param({"fuzzy": 0.35}, "35%", True, id="fuzzy percent"),
        pytest.param({"fuzzy": "35 %"}, 0.35, True, id="fuzzy percent with space"),
        pytest.param({"fuzzy": "1,5"}, "15", False, id="fuzzy never reads 15"),
        pytest.param({"fuzzy": "1,5"}, 15, False, id="fuzzy never reads 15, a number"),
        pytest.param({"fuzzy": 1.5}, "1,5", False, id="fuzzy does not guess"),
        pytest.param({"fuzzy": "1,5"}, "1,5", True, id="fuzzy, the same text"),
        pytest.param({"fuzzy": 1.5, "decimal": "comma"}, "1,5", True, id="fuzzy decimal comma"),
        pytest.param({"fuzzy": 1234, "decimal": "comma"}, "1.234", True, id="fuzzy thousands"),
        pytest.param({"fuzzy": 1234.5}, "1.234,50", True, id="fuzzy number of Europe"),
        pytest.param({"fuzzy": 1234}, "01234", False, id="fuzzy zip code"),
        pytest.param({"fuzzy": "01234"}, "01234", True, id="fuzzy zip code, the same"),
        pytest.param({"fuzzy": 44}, "0044", False, id="fuzzy phone number"),
        pytest.param({"fuzzy": "Bonn, Germany"}, "bonn germany", True, id="fuzzy comma of a text"),
        pytest.param({"fuzzy": "it's"}, "It\u2019s", True, id="fuzzy apostrophe"),
        pytest.param({"fuzzy": "true"}, True, True, id="fuzzy bool"),
        pytest.param({"fuzzy": "1,234"}, 1234, True, id="fuzzy thousands"),
        pytest.param({"fuzzy": "1\u202f234"}, "1_234", True, id="fuzzy narrow space"),
        pytest.param({"fuzzy": "206 588"}, 206588, True, id="fuzzy space"),
        pytest.param({"fuzzy": 206588}, "206\u00a0588.0", True, id="fuzzy unbreakable space"),
        pytest.param({"fuzzy": "New York"}, "  new   york ", True, id="fuzzy text"),
        pytest.param({"fuzzy": "New York"}, "newyork", False, id="fuzzy keeps words"),
        pytest.param({"fuzzy": "1e400"}, HUGE, True, id="fuzzy huge"),
        pytest.param({"fuzzy": "x"}, ABSENT, False, id="fuzzy absent"),
        pytest.param({"fuzzy": "x"}, ["x"], False, id="fuzzy list"),
        pytest.param({"regex": r"\d+"}, "123", True, id="regex"),
        pytest.param({"regex": r"\d+"}, "a123", False, id="regex fits the whole"),
        pytest.param({"regex": r"\d+"}, 123, True, id="regex on a number"),
        pytest.param({"regex": "1.5"}, 1.5, True, id="regex on a float"),
        pytest.param({"regex": "True"}, True, True, id="regex on a bool"),
        pytest.param({"regex": "true"}, True, True, id="regex on a bool of JSON"),
        pytest.param({"regex": "null|"}, None, True, id="regex on null"),
        pytest.param({"regex": "a"}, "A", False, id="regex case counts"),
        pytest.param({"regex": ".*"}, ABSENT, False, id="regex absent"),
        pytest.param({"regex": r"10+"}, TOO_LONG_TO_WRITE, True, id="regex on a very long number"),
        pytest.param({"any_of": ["a", 1]}, 1.0, True, id="one of"),
        pytest.param({"any_of": ["a", 1]}, "b", False, id="none of"),
        pytest.param({"any_of": [{"regex": "a+"}, None]}, "aaa", True, id="one of, a matcher"),
        pytest.param({"any_of": [{"present": False}, "a"]}, ABSENT, True, id="absent or a value"),
        pytest.param({"any_of": ["a"]}, ABSENT, False, id="one of, absent"),
        pytest.param({"contains": "ref"}, "A REFUND", True, id="contains"),
        pytest.param({"contains": "ref"}, "money", False, id="contains not"),
        pytest.param({"contains": "a"}, ["a", "b"], True, id="list has it"),
        pytest.param({"contains": "a"}, ["banana"], False, id="list has only a longer text"),
        pytest.param({"contains": "Caf\u00e9"}, ["cafe\u0301"], True, id="list, case and encoding"),
        pytest.param({"contains": 1}, [True], False, id="list has only true"),
        pytest.param({"contains": 1}, [1.0], True, id="list has the number"),
        pytest.param({"contains": {"a": 1}}, [{"a": 1}], True, id="list has the mapping"),
        pytest.param({"contains": "42"}, {"id": 42}, True, id="text form of a mapping"),
        pytest.param({"contains": "x"}, ABSENT, False, id="contains absent"),
        pytest.param({"regex": "10"}, 10.0, True, id="a whole number of JSON"),
        pytest.param({"regex": r"10\.0"}, 10.0, True, id="a whole number with decimals"),
        pytest.param({"present": True}, None, True, id="present, though null"),
        pytest.param({"present": True}, ABSENT, False, id="not present"),
        pytest.param({"present": False}, ABSENT, True, id="absent as wanted"),
        pytest.param({"present": False}, None, False, id="null is present"),
        pytest.param({"color": "red"}, {"color": "red"}, True, id="a mapping, no matcher key"),
        pytest.param(
            {"filters": {"contains": "x"}}, {"filters": {"contains": "x"}}, True, id="inner literal"
        ),
        pytest.param({"a": {"contains": "x"}}, {"a": "xyz"}, True, id="matcher in a mapping"),
        pytest.param({"a": {"contains": "x"}}, {"a": "yz"}, False, id="which does not match"),
        pytest.param({"a": {"contains": "x"}}, {"a": "x", "b": 1}, False, id="another key beside"),
        pytest.param({"a": 1, "b": {"present": False}}, {"a": 1}, True, id="absent in a mapping"),
        pytest.param({"a": 1, "b": {"present": True}}, {"a": 1}, False, id="present in a mapping"),
        pytest.param([{"regex": "A-.*"}, 2], ["A-1", 2], True, id="matcher in a list"),
        pytest.param([{"regex": "A-.*"}], ["A-1", 2], False, id="a longer list"),
        ({"items": [{"sku": {"fuzzy": "X"}}]}, {"items": [{"sku": "x"}]}, True),
        pytest.param({"a": {"regex": "("}}, {"a": {"regex": "("}}, True, id="no matcher inside"),
        pytest.param("caf\u00e9", "cafe\u0301", True, id="encoding of a literal"),
        pytest.param({"a": ["caf\u00e9"]}, {"a": ["cafe\u0301"]}, True, id="encoding, deep"),
    ],
)
def test_an_argument_matches_or_not(*, matcher: Any, actual: Any, is_match: bool) -> None:
    assert matches(MATCHER.validate_python(matcher), actual) is is_match


@pytest.mark.parametrize(
    ("written", "says"),
    [
        pytest.param({"fuzzy": "x", "regexp": "y"}, "Did you mean 'regex'?", id="unknown beside"),
        pytest.param({"contains": "x", "color": 1}, "Unknown key 'color'", id="foreign beside"),
        pytest.param({"fuzzy": "x", "regex": "y"}, "Choose one of", id="two ways"),
        pytest.param({"regex": "("}, "not closed", id="bad pattern"),
        pytest.param({"regex": ""}, "every text", id="empty pattern"),
        pytest.param({"regex": 5}, "pattern as text", id="pattern is no text"),
        pytest.param({"fuzzy": ["x"]}, "text or a number", id="fuzzy list"),
        pytest.param({"fuzzy": True}, "text or a number", id="fuzzy bool"),
        pytest.param({"any_of": []}, "at least one", id="none to choose from"),
        pytest.param({"any_of": "x"}, "at least one", id="any_of is no list"),
        pytest.param({"any_of": [{"regex": "("}]}, "not closed", id="bad pattern inside"),
        pytest.param({"contains": ""}, "not empty", id="contains nothing"),
        pytest.param({"present": "yes"}, "true or false", id="present is no bool"),
        pytest.param({"fuzzy": 5, "decimal": "dot"}, "comma", id="no way to write decimals"),
        pytest.param({"regex": "a", "decimal": "comma"}, "decimal", id="decimal beside a pattern"),
        pytest.param({"a": b"x"}, "bytes", id="no JSON"),
        pytest.param({1: "x"}, "keys of a mapping", id="key is no text"),
        pytest.param(nest(60), "nested more than", id="too deep"),
    ],
)
def test_a_matcher_that_cannot_work_is_refused(written: Any, says: str) -> None:
    with pytest.raises(ValidationError) as refused:
        MATCHER.validate_python(written)

    (error,) = refused.value.errors()
    assert says in error["msg"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
matchers = (
    json_values
    | st.builds(lambda v: {"fuzzy": v}, st.text(max_size=8) | st.integers() | st.floats())
    | st.builds(lambda v: {"regex": v}, st.sampled_from([r"\d+", ".*", "a|b", r"\PL+"]))
    | st.builds(lambda v: {"any_of": v}, st.lists(json_values, min_size=1, max_size=3))
    | st.builds(lambda v: {"contains": v}, st.text(min_size=1, max_size=3))
    | st.builds(lambda v: {"present": v}, st.booleans())
)


@given(matchers, json_values)
def test_matching_never_raises_and_what_was_written_is_kept(matcher: Any, actual: Any) -> None:
    try:
        validated = MATCHER.validate_python(matcher)
    except ValidationError:
        return

    assert matches(validated, actual) in (True, False)
    assert repr(MATCHER.dump_python(validated)) == repr(matcher)


@given(json_values.filter(lambda value: "nan" not in repr(value)))
def test_every_value_equals_itself(value: Any) -> None:
    assert equal(value, value)


@pytest.mark.parametrize("matcher", [{"fuzzy": "x"}, {"regex": ".*"}, {"contains": "x"}, "x", []])
def test_arguments_nested_beyond_reason_do_not_raise(matcher: Any) -> None:
    assert matches(matcher, nest(100_000)) is False


def test_two_values_nested_beyond_reason_compare() -> None:
    assert equal(nest(100_000), nest(100_000))
    assert not equal(nest(100_000), nest(100_001))


@pytest.mark.parametrize(
    ("matchers", "exact", "wrong"),
    [
        pytest.param({"type": "order"}, False, [], id="others may be passed"),
        pytest.param({"type": "order"}, True, ["limit was not expected"], id="exact"),
        pytest.param({"type": "order", "limit": 5}, True, [], id="exact and complete"),
        pytest.param({"type": "customer"}, False, ["type is order"], id="another value"),
        pytest.param({"id": "a"}, False, ["id is missing"], id="missing"),
        pytest.param({"typ": "a"}, False, ["typ is missing (the call has type)"], id="near name"),
        pytest.param({"typ": "a", "type": "order"}, False, ["typ is missing"], id="name is taken"),
        pytest.param({"id": {"present": False}}, False, [], id="absent as wanted"),
    ],
)
def test_mismatches_say_what_was_passed(
    *, matchers: dict[str, Any], exact: bool, wrong: list[str]
) -> None:
    assert mismatches(matchers, {"type": "order", "limit": 5}, exact=exact) == wrong


@pytest.mark.parametrize(
    ("matcher", "actual", "words"),
    [
        (14, "14", ["the text", "the number 14"]),
        ("14", 14, ["the number 14", "the text"]),
        (14, "15", []),
        (14, 15, []),
        (1, True, []),
        ({"fuzzy": 15}, "14", []),
    ],
)
def test_a_text_and_a_number_that_look_alike_are_named(
    matcher: Any, actual: Any, words: list[str]
) -> None:
    (wrong,) = mismatches({"room": matcher}, {"room": actual}, exact=False)

    assert [word for word in words if word not in wrong] == []
    assert ("the text" in wrong) is bool(words)


def test_a_number_that_another_reading_would_match_is_named() -> None:
    (wrong,) = mismatches({"amount": {"fuzzy": 3.5}}, {"amount": "3,5"}, exact=False)
    (other,) = mismatches({"amount": {"fuzzy": 4}}, {"amount": "3,5"}, exact=False)

    assert "decimal: comma" in wrong
    assert "decimal" not in other


@pytest.mark.parametrize(
    ("matcher", "words"),
    [
        pytest.param("order", "x = order", id="text"),
        pytest.param("true", 'x = "true"', id="a text that looks like a bool"),
        pytest.param("5", 'x = "5"', id="a text that looks like a number"),
        pytest.param(5, "x = 5", id="number"),
        pytest.param({"fuzzy": 5}, "x ≈ 5", id="fuzzy"),
        pytest.param({"regex": r"\d+"}, r"x matching \d+", id="regex"),
        pytest.param({"any_of": [1, 2]}, "x one of [1, 2]", id="any_of"),
        pytest.param({"contains": "a"}, "x containing a", id="contains"),
        pytest.param({"present": True}, "x present", id="present"),
        pytest.param({"present": False}, "x absent", id="absent"),
    ],
)
def test_a_matcher_reads_as_words(matcher: Any, words: str) -> None:
    assert phrase("x", matcher) == words


@pytest.mark.parametrize(
    ("matcher", "warns"),
    [
        pytest.param({"regex": r"\\d"}, True, id="doubled backslash"),
        pytest.param({"regexp": "a"}, True, id="nearly a matcher"),
        pytest.param({"a": {"regex": "("}}, True, id="no matcher inside a literal"),
        pytest.param([{"a": {"present": "yes"}}], True, id="no matcher inside a list"),
        pytest.param({"fuzzy": "3,5"}, True, id="a number that may be two"),
        pytest.param({"contains": " "}, True, id="nothing to see"),
        pytest.param({"fuzzy": "3,5", "decimal": "comma"}, False, id="a number for certain"),
        pytest.param([{"fuzzy": "b"}], False, id="matcher inside a list"),
        pytest.param({"regex": r"\d"}, False, id="pattern"),
        pytest.param({"content": "a"}, False, id="another mapping"),
        pytest.param({"a": {"color": "b"}}, False, id="inner mapping"),
        pytest.param("regex", False, id="text"),
    ],
)
def test_what_is_hardly_meant_warns(*, matcher: Any, warns: bool) -> None:
    assert bool(matcher_warnings({"x": matcher})) is warns


def test_the_keys_are_those_of_the_documentation() -> None:
    assert MATCHER_KEYS == ("fuzzy", "regex", "any_of", "contains", "present")
