from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evals_app.engine.basics.decimals import DecimalSign, is_within, read_number
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.graders.kit.base import MAX_TEXT_BYTES
from evals_app.engine.graders.kit.prose_numbers import find_numbers
from evals_app.engine.graders.numbers import Numeric
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause
from tests.engine.graders.makers import view_of

GROUPED: dict[str, object] = {"accept_thousands_separators": True}
EXACT: dict[str, object] = {"absolute_tolerance": 0}


@pytest.mark.parametrize(
    ("options", "reply", "passes"),
    [
        pytest.param({"value": 60.94}, "60.94", True, id="the same"),
        pytest.param({"value": 60.94}, " 60.94\n", True, id="trimmed"),
        pytest.param({"value": 60.94}, "60.940001", True, id="default tolerance, included"),
        pytest.param({"value": 60.94}, "60.9400011", False, id="just above it"),
        pytest.param({"value": 60}, "6e1", True, id="exponent"),
        pytest.param({"value": "-0.5"}, "-.5", True, id="sign, no leading zero"),
        pytest.param({"value": 5}, "+5.", True, id="plus, trailing dot"),
        pytest.param({"value": 5}, "5 dollars", False, id="not only a number"),
        pytest.param({"value": 5}, "$5", False, id="currency"),
        pytest.param({"value": 5}, "", False, id="empty"),
        pytest.param({"value": 5}, "inf", False, id="infinity"),
        pytest.param({"value": 5}, "nan", False, id="not a number"),
        pytest.param({"value": 5}, "\u0665", True, id="digits of another script"),
        pytest.param({"value": 1234}, "1,234", False, id="separators invalidate"),
        pytest.param({"value": 1234}, "1_234", False, id="underscores invalidate"),
        pytest.param(GROUPED | {"value": 1234}, "1,234", True, id="separators"),
        pytest.param(GROUPED | {"value": 1234}, "1\u202f2\u00a03_4", False, id="no groups"),
        pytest.param(GROUPED | {"value": 1234.5}, "1.234,5", True, id="of Europe"),
        pytest.param(GROUPED | {"value": 1234}, "1\u2019234", True, id="Swiss"),
        pytest.param(GROUPED | {"value": 1234, "decimal": "comma"}, "1.234", True, id="points"),
        pytest.param({"value": 1234, "decimal": "comma"}, "1.234", False, id="which invalidate"),
        pytest.param({"value": 3.5, "decimal": "comma"}, "3,5", True, id="decimal comma"),
        pytest.param({"value": 3.5, "decimal": "point"}, "3,5", False, id="no decimal comma"),
        pytest.param(GROUPED | {"value": 15}, "1,5", False, id="never 15"),
        pytest.param({"value": 1234}, "01234", False, id="a code"),
        pytest.param({"value": 0.0}, "0", True, id="zero"),
        pytest.param({"value": 0.35}, "35%", False, id="percent invalidates"),
        pytest.param({"value": 0.35, "accept_percent": True}, "35 %", True, id="percent"),
        pytest.param({"value": "35%", "accept_percent": True}, "0.35", True, id="percent expected"),
        (GROUPED | {"value": "1,234.5%", "accept_percent": True}, "12.345", True),
        pytest.param({"value": 100, "absolute_tolerance": 0.5}, "100.5", True, id="at the limit"),
        pytest.param({"value": 100, "absolute_tolerance": 0.5}, "100.51", False, id="above it"),
        pytest.param({"value": 200, "relative_tolerance": 0.01}, "198", True, id="1 % less"),
        pytest.param({"value": 200, "relative_tolerance": 0.01}, "197.9", False, id="more"),
        pytest.param({"value": -200, "relative_tolerance": 0.01}, "-202", True, id="1 % of -200"),
        pytest.param({"value": 0, "relative_tolerance": 0.5}, "0.1", False, id="a share of zero"),
        pytest.param({"value": 0.1, "absolute_tolerance": 0.2}, "0.3", True, id="exact tenths"),
        pytest.param(EXACT | {"value": 2**100}, str(2**100), True, id="large"),
        pytest.param(EXACT | {"value": 2**100}, str(2**100 + 1), False, id="large, off by 1"),
        pytest.param(EXACT | {"value": "1e999999999"}, "1e999999999", True, id="huge"),
        pytest.param({"value": "1e999999999"}, "1", False, id="huge against small"),
        pytest.param({"value": 1}, "1e-999999999999999999999", False, id="exponent out of range"),
    ],
)
def test_the_whole_reply_is_the_number(
    *, options: dict[str, object], reply: str, passes: bool
) -> None:
    grade = Numeric.model_validate(options).grade(view_of(reply))

    assert (grade.passed, grade.score) == (passes, float(passes))


def numbers_in(text: str, *, percent: bool = False, decimal: DecimalSign = "auto") -> list[str]:
    numbers = find_numbers(text, percent=percent, decimal=decimal)
    return [f"{number.value.normalize():f}{'' if number.is_certain else '?'}" for number in numbers]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("GPT-4 scored 91", ["4", "91"], id="a hyphen after a letter"),
        pytest.param("takes 3-5 days", ["3", "5"], id="a hyphen after a digit"),
        pytest.param("it is -5 today", ["-5"], id="minus"),
        pytest.param("it is \u22125 today", ["-5"], id="true minus"),
        pytest.param("by +5", ["5"], id="plus"),
        pytest.param("was $25.14, up", ["25.14"], id="currency and comma"),
        pytest.param("-$5 and $-6 and €7", ["-5", "-6", "7"], id="sign and currency"),
        pytest.param("minus 5 and Minus $6", ["-5", "-6"], id="the word minus"),
        pytest.param("10 minus 5, x minus 6", ["10", "5", "6"], id="minus takes away"),
        pytest.param("founded (2020)", ["2020"], id="a year in brackets"),
        pytest.param("lost ($1,200.50)", ["-1200.5"], id="money in brackets"),
        pytest.param("(5 €), $(6), (7 EUR)", ["-5", "-6", "-7"], id="currency elsewhere"),
        pytest.param("(5 of 6)", ["5", "6"], id="brackets around more"),
        pytest.param("1,234,567.89", ["1234567.89"], id="thousands"),
        pytest.param("12\u202f000 and 12\u00a0000", ["12000", "12000"], id="narrow spaces"),
        pytest.param("1_000", ["1000"], id="underscores"),
        pytest.param("1,2,3", ["1", "2", "3"], id="a list is no group"),
        pytest.param("in 2010,2011", ["2010.2011?"], id="four digits are no group"),
        pytest.param("3,5 kg", ["3.5?"], id="a comma and one digit"),
        pytest.param("0,125 kg", ["0.125?"], id="a comma behind a zero"),
        pytest.param("1.234,56 or 1,234.56", ["1234.56", "1234.56"], id="both separators"),
        pytest.param("1.234.567 or 1,234,567", ["1234567", "1234567"], id="one of them twice"),
        pytest.param("1'234 or 1\u2019234.5", ["1234", "1234.5"], id="apostrophes"),
        pytest.param("$1{,}234$ or $12{,}345{.}5$", ["1234", "12345.5"], id="commas of LaTeX"),
        pytest.param(r"$1\,234$, $5\ 000\,000$", ["1234", "5000000"], id="spaces of LaTeX"),
        pytest.param("1&nbsp;234, 1&#8239;234", ["1234", "1234"], id="spaces of HTML"),
        pytest.param(r"3\,kg and \{1; 2\}", ["3", "1", "2"], id="LaTeX around numbers"),
        pytest.param("1 234, 1\u2009234, 1 234 567,8", ["1234", "1234", "1234567.8"], id="spaces"),
        pytest.param("12 345 67", ["12", "345", "67"], id="no groups of three"),
        pytest.param("2024 1 234", ["2024", "1", "234"], id="spaces in a row of numbers"),
        pytest.param("zip 01234, agent 007", [], id="codes"),
        pytest.param("1,234.5 million", ["1234500000"], id="a word of size"),
        pytest.param("5 thousand, 2 Mio., 3 Mrd", ["5000", "2000000", "3000000000"], id="words"),
        pytest.param("5 millionaires", ["5"], id="another word"),
        pytest.param("v2 and x1,2", [], id="behind a letter"),
        pytest.param("共42人,3億", ["42", "300000000"], id="scripts without spaces"),
        pytest.param("snake_5", [], id="behind an underscore"),
        pytest.param("version 1.2.3 of 10.0.0.1 at 192.168.100.200", [], id="chains"),
        pytest.param("Founded in 2010.", ["2010"], id="end of a sentence"),
        pytest.param("just .5 of it", ["0.5"], id="no leading zero"),
        pytest.param("wait...5", ["5"], id="after an ellipsis"),
        pytest.param("6.02e23 and 1E-3", ["602000000000000000000000", "0.001"], id="exponents"),
        pytest.param("5k, 2M, 3B, 4bn", ["5000", "2000000", "3000000000", "4000000000"], id="k"),
        pytest.param("5kg and 7MB and 10ms", ["5", "7", "10"], id="other units"),
        pytest.param("2024-01-05 at 10:30", ["2024", "1", "5", "10", "30"], id="date and time"),
        pytest.param("up 3.5%", ["3.5"], id="percent is not asked for"),
        pytest.param("10%-12%, 10 \u20ac\u201312 \u20ac", ["10", "12"] * 2, id="ranges with units"),
        pytest.param("\u20135 and -$5", ["-5", "-5"], id="an en dash as minus"),
        pytest.param("\u20b91,00,000 or 12,34,567.5", ["100000", "1234567.5"], id="lakhs"),
        pytest.param("none at all", [], id="no number"),
        pytest.param("", [], id="empty"),
    ],
)
def test_numbers_are_found_in_running_text(text: str, numbers: list[str]) -> None:
    assert numbers_in(text) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("up 3.5%, then 4 %", ["0.035", "0.04"], id="percent"),
        pytest.param("(5%)", ["0.05"], id="percent in brackets"),
        pytest.param("35 percent", ["0.35"], id="the word"),
        pytest.param("3 of 4", ["3", "4"], id="no percent"),
    ],
)
def test_percent_divides_where_it_is_asked_for(text: str, numbers: list[str]) -> None:
    assert numbers_in(text, percent=True) == numbers


@pytest.mark.parametrize(
    ("decimal", "numbers"),
    [
        pytest.param("point", ["1.234", "1234", "3", "5", "1", "2", "3"], id="point"),
        pytest.param("comma", ["1234", "1.234", "3.5", "1", "2", "3"], id="comma"),
        pytest.param("auto", ["1.234", "1234", "3.5?", "1", "2", "3"], id="auto"),
    ],
)
def test_it_can_be_stated_how_decimals_are_written(
    decimal: DecimalSign, numbers: list[str]
) -> None:
    assert numbers_in("1.234; 1,234; 3,5; 1,2,3", decimal=decimal) == numbers


@pytest.mark.parametrize(
    ("options", "reply", "passed"),
    [
        pytest.param({"value": 3.5}, "It weighs 3,5 kg", None, id="decimals"),
        pytest.param({"value": 5}, "It weighs 3,5 kg", None, id="a list"),
        pytest.param({"value": 35}, "It weighs 3,5 kg", False, id="neither"),
        pytest.param({"value": 7}, "First 3,5, then 7", True, id="not the last"),
        pytest.param({"value": 7, "extract": "any"}, "3,5 or 7", True, id="another one"),
        pytest.param({"value": 5, "extract": "any"}, "3,5 or 7", None, id="one of a list"),
        pytest.param({"value": 3.5, "extract": "only"}, "3,5 kg", None, id="several, perhaps"),
        pytest.param({"value": 3.5, "extract": "whole"}, "3,5", None, id="the whole reply"),
        pytest.param({"value": 4, "absolute_tolerance": 1}, "3,5 kg", True, id="both are near"),
        pytest.param({"value": 1234}, "1.234 Euro", None, id="thousands, perhaps"),
        pytest.param({"value": 1.234}, "1.234 kg", True, id="a decimal point"),
        pytest.param({"value": 1234}, "1,234 Euro", True, id="a comma of thousands"),
        pytest.param({"value": 1.234}, "1,234 kg", None, id="decimals, perhaps"),
        pytest.param({"value": "1.234"}, "1234 Euro", None, id="uncertain in the case"),
        pytest.param({"value": 2}, "model x1,2", None, id="behind a letter"),
        pytest.param({"value": 3.5, "decimal": "comma"}, "3,5 kg", True, id="comma"),
        pytest.param({"value": 5, "decimal": "point"}, "3,5 kg", True, id="point"),
    ],
)
def test_a_number_that_can_be_read_in_two_ways_is_never_guessed(
    *, options: dict[str, object], reply: str, passed: bool | None
) -> None:
    grade = Numeric.model_validate({"extract": "last", **options}).grade(view_of(reply))

    assert grade.passed is passed
    assert (grade.cause is Cause.CASE) is (passed is None)


def test_both_readings_are_named() -> None:
    reason = Numeric(value=5, extract="last").grade(view_of("3,5 kg")).reason

    assert "“3,5”" in reason
    assert "3.5" in reason
    assert "3 and 5" in reason


@pytest.mark.parametrize(
    ("extract", "written", "reply"),
    [
        pytest.param("last", "1,875", "It is 1,875.", id="thousands"),
        pytest.param("last", "$1,234.56", "It is 1234.56", id="currency"),
        pytest.param("any", "35%", "35 % of it", id="percent"),
        pytest.param("only", "1.2 million", "1,200,000", id="a word of size"),
        pytest.param("last", "12 apples", "12", id="other words"),
    ],
)
def test_what_is_expected_is_read_like_the_reply(extract: str, written: str, reply: str) -> None:
    own = Numeric.model_validate({"value": written, "extract": extract})
    general = Numeric.model_validate({"extract": extract})

    assert own.grade(view_of(reply)).passed is True
    assert general.grade(view_of(reply, expected=written)).passed is True
    assert general.expected_problem(written) is None


@pytest.mark.parametrize(
    ("extract", "reply", "passes"),
    [
        pytest.param("last", "From 80 down to 91", True, id="last is it"),
        pytest.param("last", "It is 91, up from 80", False, id="last is another"),
        pytest.param("last", "no idea", False, id="last of none"),
        pytest.param("only", "It is 91.", True, id="only one"),
        pytest.param("only", "91 apples, so 91", True, id="one that is repeated"),
        pytest.param("only", "91 apples, 91.0 in all", True, id="repeated in other digits"),
        pytest.param("only", "91 apples, 92 pears", False, id="several"),
        pytest.param("only", "no idea", False, id="only one of none"),
        pytest.param("any", "91 of 100", True, id="any, first"),
        pytest.param("any", "100, 91, 3", True, id="any, in the middle"),
        pytest.param("any", "100, 92", False, id="any, none of them"),
        pytest.param("any", "v91", False, id="any, no number"),
        pytest.param("whole", "It is 91.", False, id="whole"),
    ],
)
def test_the_number_is_taken_from_where_it_stands(
    *, extract: str, reply: str, passes: bool
) -> None:
    grader = Numeric.model_validate({"value": 91, "extract": extract})

    assert grader.grade(view_of(reply)).passed is passes


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        pytest.param("sixty", "is not a number", id="word"),
        pytest.param("", "is not a number", id="empty"),
        pytest.param("35%", "accept_percent", id="percent"),
        pytest.param("1,234", "accept_thousands_separators", id="separators"),
        pytest.param(float("nan"), "is not a number", id="nan"),
        pytest.param(float("inf"), "is not a number", id="infinity"),
        pytest.param(True, "Write a number", id="bool"),
        pytest.param([60], "Write a number", id="list"),
    ],
)
def test_an_expected_value_that_is_no_number_is_refused(value: object, advice: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Numeric.model_validate({"value": value})

    (error,) = refused.value.errors()
    assert error["loc"] == ("value",)
    assert advice in error["msg"]


@pytest.mark.parametrize("tolerance", ["absolute_tolerance", "relative_tolerance"])
@pytest.mark.parametrize("value", [-1, float("inf"), float("nan"), "1"])
def test_a_tolerance_that_means_nothing_is_refused(tolerance: str, value: object) -> None:
    with pytest.raises(ValidationError):
        Numeric.model_validate({"value": 1, tolerance: value})


@pytest.mark.parametrize("value", [60, 60.0, "60", "6e1", 10**50])
def test_the_value_is_kept_as_it_was_written(value: float | str) -> None:
    dumped = Numeric.model_validate({"value": value}).model_dump(exclude_unset=True)

    assert repr(dumped) == repr({"value": value})


@pytest.mark.parametrize("expected", ["about sixty", "3,5", "007"])
def test_an_expected_text_that_cannot_be_read_is_the_fault_of_the_case(expected: str) -> None:
    grade = Numeric().grade(view_of("60.94", expected=expected))

    assert (grade.passed, grade.cause) == (None, Cause.CASE)
    assert f"“{expected}”" in grade.reason
    assert Numeric().expected_problem(expected)
    assert Numeric(extract="last").expected_problem("3 or 5")
    assert Numeric().expected_problem("60.94") is None


def test_a_stored_value_that_would_be_refused_today_is_read_and_not_graded() -> None:
    check = Numeric.model_validate({"value": "3,5"}, context=FROZEN)

    assert check.grade(view_of("3.5")).cause is Cause.CASE


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        pytest.param("It is \uff11\uff0c\uff12\uff13\uff14.", "1234", id="full-width"),
        pytest.param("\u0663\u066b\u0665", "3.5", id="Arabic"),
        pytest.param("It is 1\u200b234.", "1234", id="a zero-width space inside"),
        pytest.param("10\u00b2", "10", id="a superscript is no digit"),
    ],
)
def test_digits_of_all_scripts_are_read(reply: str, number: str) -> None:
    assert Numeric(value=number, extract="last").grade(view_of(reply)).passed


def test_a_reply_that_has_separators_names_the_setting() -> None:
    grade = Numeric(value=1234).grade(view_of("1,234"))

    assert grade.passed is False
    assert "accept_thousands_separators" in grade.reason


@pytest.mark.parametrize(
    ("tolerance", "cannot_fail", "warns"),
    [
        pytest.param({"absolute_tolerance": 1e300}, True, False, id="any difference"),
        pytest.param({"relative_tolerance": 1e6}, True, True, id="any share"),
        pytest.param({"relative_tolerance": 5}, False, True, id="500 %"),
        pytest.param({"relative_tolerance": 0.05}, False, False, id="5 %"),
        pytest.param({"absolute_tolerance": 1000}, False, True, id="many times the number"),
        pytest.param({"absolute_tolerance": 5}, False, False, id="a difference"),
    ],
)
def test_a_tolerance_that_covers_everything_cannot_fail(
    tolerance: dict[str, float], *, cannot_fail: bool, warns: bool
) -> None:
    check = Numeric.model_validate({"value": 5, **tolerance})

    assert (bool(check.cannot_fail()), bool(check.warnings())) == (cannot_fail, warns)


def test_a_miss_names_both_numbers_and_the_difference() -> None:
    grade = Numeric(value=60.94, relative_tolerance=0.01).grade(view_of("55"))

    for shown in ("55", "60.94", "±1 %", "5.94"):
        assert shown in grade.reason


@pytest.mark.slow
@pytest.mark.parametrize("extract", ["whole", "last", "only", "any"])
@pytest.mark.parametrize(
    "piece",
    ["1", "1,", "1.", "1e", "1e1", "-", "$-", "(1", "1_000,", "9" * 50 + " ", "1,234", "%", "1k"],
)
def test_long_and_hostile_replies_are_read(extract: str, piece: str) -> None:
    reply = (piece * MAX_TEXT_BYTES)[:MAX_TEXT_BYTES]

    grade = Numeric.model_validate({"value": 12345, "extract": extract}).grade(view_of(reply))

    assert grade.status is GradeStatus.OK
    assert len(grade.reason) < 2_000


number_texts = st.from_regex(r"\A[+-]?[0-9]{1,40}(\.[0-9]{0,40})?(e[+-]?[0-9]{1,2})?\Z")


@given(number_texts, number_texts, number_texts)
def test_comparing_is_exact(left: str, right: str, tolerance: str) -> None:
    actual, expected = read_number(left), read_number(right)
    absolute = read_number(tolerance.lstrip("-"))
    assert actual is not None
    assert expected is not None
    assert absolute is not None

    is_close = is_within(actual, expected, absolute=absolute)

    exact = abs(Fraction(actual) - Fraction(expected)) <= Fraction(absolute)
    assert is_close is exact


@given(
    st.text(max_size=100) | st.text("0123456789.,-+_()$%eEkMbn \u00a0\u2212", max_size=60),
    st.integers(0, 20),
)
def test_no_text_makes_reading_numbers_raise(text: str, value: int) -> None:
    for extract in ("whole", "last", "only", "any"):
        grader = Numeric.model_validate(
            {"value": value, "extract": extract, "accept_percent": True, "relative_tolerance": 0.1}
        )

        assert grader.grade(view_of(text)).passed in (True, False, None)


@given(st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=3))
def test_a_number_in_a_sentence_is_found_again(number: int | Decimal) -> None:
    written = f"{Decimal(number):f}"  # an int would be formatted through a float

    assert [hit.value for hit in find_numbers(f"The answer is {written} today.")] == [number]


def test_a_closed_row_reads_as_a_sentence() -> None:
    wide = Numeric(value=5, absolute_tolerance=0.5, relative_tolerance=0.01)

    assert wide.summary() == "Reply gives 5 (±1 % or ±0.5)"
    assert Numeric(value=5, absolute_tolerance=1e12).summary() == (
        "Reply gives 5 (±1,000,000,000,000)"
    )
    assert Numeric().summary() == "Reply gives the expected number"
