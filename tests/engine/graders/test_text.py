from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.graders.base import MAX_TEXT_BYTES, PlainGrader
from evals_app.engine.graders.text import Contains, ExactMatch, Matches, NotContains, NotMatches
from evals_app.engine.trial import Cause, GradeStatus, View
from tests.engine.graders.makers import make_trial, make_turn, view_of

DECOMPOSED_CAFE = "cafe\u0301"


@pytest.mark.parametrize(
    ("options", "reply", "passes"),
    [
        pytest.param({"value": "refund"}, "Your refund is on its way.", True, id="inside"),
        pytest.param({"value": "refund"}, "Your REFUND is on its way.", True, id="other case"),
        pytest.param({"value": "straße"}, "HAUPTSTRASSE", True, id="casefold, not lower"),
        pytest.param({"value": "café"}, f"a {DECOMPOSED_CAFE}", True, id="composed or not"),
        pytest.param({"value": "\U0001f600"}, "ok \U0001f600", True, id="emoji"),
        pytest.param({"value": "refund"}, "Your money is on its way.", False, id="absent"),
        pytest.param({"value": "refund"}, "", False, id="empty reply"),
        pytest.param(
            {"value": "refund", "case_sensitive": True}, "REFUND", False, id="case counts"
        ),
        pytest.param(
            {"value": "REFUND", "case_sensitive": True}, "REFUND", True, id="case counts and agrees"
        ),
    ],
)
def test_contains_and_its_opposite_never_agree(
    *, options: dict[str, object], reply: str, passes: bool
) -> None:
    grade = Contains.model_validate(options).grade(view_of(reply))
    opposite = NotContains.model_validate(options).grade(view_of(reply))

    assert (grade.passed, grade.score) == (passes, float(passes))
    assert (opposite.passed, opposite.score) == (not passes, float(not passes))


def test_contains_takes_the_expected_text_of_the_turn_when_it_has_no_value() -> None:
    grade = Contains().grade(view_of("It is Paris.", expected="Paris"))

    assert grade.passed is True
    assert grade.reason == "The reply contains “Paris”."


def test_contains_prefers_its_own_value() -> None:
    grade = Contains(value="Rome").grade(view_of("It is Paris.", expected="Paris"))

    assert grade.passed is False


def test_contains_does_not_pass_silently_when_the_expected_text_is_empty() -> None:
    grade = Contains().grade(view_of("It is Paris.", expected=""))

    assert (grade.status, grade.cause, grade.passed) == (GradeStatus.UNGRADED, Cause.CASE, None)


def test_a_miss_says_what_was_expected_and_what_was_found() -> None:
    grade = Contains(value="Refund").grade(view_of("Please wait."))

    assert grade.reason == "The reply does not contain “Refund”; it says “Please wait.”."
    assert grade.cause is Cause.ASSERTION


def test_what_was_found_is_quoted_as_written_with_its_turn() -> None:
    first, second = make_turn("Nothing."), make_turn("Your ReFund came.", index=2)
    trial = make_trial(first, second)

    grade = Contains(value="refund").grade(View(trial, None, whole_text=True))

    (evidence,) = grade.evidence
    assert (evidence.quote, evidence.turn, evidence.is_verified) == ("ReFund", 2, True)


def test_at_the_end_only_the_last_reply_is_read_unless_all_are_asked_for() -> None:
    trial = make_trial(make_turn("Your refund came."), make_turn("Bye.", index=2))

    last = Contains(value="refund").grade(View(trial))
    whole = Contains(value="refund").grade(View(trial, whole_text=True))

    assert (last.passed, whole.passed) == (False, True)


@pytest.mark.parametrize("grader", [Contains, NotContains, Matches, NotMatches, ExactMatch])
def test_an_empty_value_is_refused(grader: type[PlainGrader]) -> None:
    with pytest.raises(ValidationError) as refused:
        grader.model_validate({"value": ""})

    assert refused.value.errors()[0]["loc"] == ("value",)


@pytest.mark.parametrize("grader", [NotContains, Matches, NotMatches])
def test_a_value_is_required_where_the_expected_text_cannot_be_meant(
    grader: type[PlainGrader],
) -> None:
    with pytest.raises(ValidationError, match="Field required"):
        grader.model_validate({})


@pytest.mark.parametrize(
    ("options", "reply", "passes"),
    [
        pytest.param({"value": r"order #\d+"}, "Order #123 is here", True, id="searched"),
        pytest.param({"value": "order", "case_sensitive": True}, "Order", False, id="case counts"),
        pytest.param({"value": "(?i)order", "case_sensitive": True}, "ORDER", True, id="own flag"),
        pytest.param({"value": "^b"}, "a\nb", False, id="caret is the start of the text"),
        pytest.param({"value": "(?m)^b"}, "a\nb", True, id="multi-line flag"),
        pytest.param({"value": "a.b"}, "a\nb", False, id="dot stops at a newline"),
        pytest.param({"value": r"\d"}, "\u0663", False, id="digits are ASCII"),
        pytest.param({"value": "ÉTÉ"}, "l'été", True, id="case beyond ASCII"),
        pytest.param({"value": r"^[\s\S]*-.*-.*-"}, "a-\nb-\nc-", False, id="marks on three lines"),
        pytest.param({"value": "b$"}, "a\ud800b", True, id="half of a character in the reply"),
        pytest.param({"value": r"\bcat\b"}, "concatenate", False, id="word boundary"),
    ],
)
def test_matches_and_its_opposite_never_agree(
    *, options: dict[str, object], reply: str, passes: bool
) -> None:
    grade = Matches.model_validate(options).grade(view_of(reply))
    opposite = NotMatches.model_validate(options).grade(view_of(reply))

    assert (grade.passed, opposite.passed) == (passes, not passes)


def test_a_match_is_shown_with_what_matched() -> None:
    grade = Matches(value=r"#\d+").grade(view_of("Order #123 is here"))

    assert grade.reason == r"The reply matches the pattern #\d+: “#123”."
    assert grade.evidence[0].quote == "#123"


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*b", r"(.*)*x", r"(a|aa)+$", r"(x+x+)+y"])
def test_a_pattern_that_hangs_elsewhere_ends_here(pattern: str) -> None:
    reply = "a" * (MAX_TEXT_BYTES - 1) + "!"

    grade = Matches(value=pattern).grade(view_of(reply))

    assert grade.status is GradeStatus.OK


@pytest.mark.parametrize(
    "grader",
    [
        pytest.param(Contains(value="x"), id="contains"),
        pytest.param(NotContains(value="x"), id="not_contains"),
        pytest.param(Matches(value="x"), id="matches"),
        pytest.param(NotMatches(value="x"), id="not_matches"),
        pytest.param(ExactMatch(value="x"), id="exact_match"),
    ],
)
def test_a_reply_that_is_too_long_is_an_error_and_is_not_cut(grader: PlainGrader) -> None:
    at_the_limit = grader.grade(view_of("é" * (MAX_TEXT_BYTES // 2)))
    above_it = grader.grade(view_of("é" * (MAX_TEXT_BYTES // 2) + "!"))

    assert at_the_limit.status is GradeStatus.OK
    assert (above_it.status, above_it.passed, above_it.score) == (GradeStatus.ERROR, None, None)
    assert "200,001 bytes" in above_it.reason


@pytest.mark.parametrize(
    ("options", "reply", "passes"),
    [
        pytest.param({}, "Paris", True, id="the same"),
        pytest.param({}, "paris", False, id="case counts"),
        pytest.param({}, " Paris", False, id="spaces count"),
        pytest.param({}, "Paris.", False, id="punctuation counts"),
        pytest.param({"case_insensitive": True}, "pARIS", True, id="case ignored"),
        pytest.param({"strip_whitespace": True}, " Paris\n", True, id="trimmed"),
        pytest.param({"strip_whitespace": True}, "Par is", False, id="inner space stays"),
        pytest.param({"strip_punctuation": True}, "“Paris”", False, id="only ASCII signs"),
        pytest.param({"strip_punctuation": True}, "'Paris'!", True, id="ASCII signs left out"),
        pytest.param(
            {"strip_punctuation": True, "strip_whitespace": True}, "Paris !", True, id="in order"
        ),
        pytest.param({"strip_punctuation": True}, "Paris !", False, id="a space is left"),
    ],
)
def test_exact_match_compares_after_the_chosen_normalisation(
    *, options: dict[str, Any], reply: str, passes: bool
) -> None:
    grader = ExactMatch(value="Paris", **options)

    assert grader.grade(view_of(reply)).passed is passes


def test_exact_match_collapses_inner_whitespace() -> None:
    grader = ExactMatch(value="New  York", strip_whitespace=True)

    assert grader.grade(view_of("New\tYork")).passed is True


def test_exact_match_sees_composed_and_decomposed_letters_as_equal() -> None:
    assert ExactMatch(value="café").grade(view_of(DECOMPOSED_CAFE)).passed is True


def test_exact_match_takes_the_expected_text_of_the_turn() -> None:
    assert ExactMatch().grade(view_of("Paris", expected="Paris")).passed is True


@pytest.mark.parametrize(
    ("value", "options", "warns"),
    [
        pytest.param("?!", {"strip_punctuation": True}, True, id="nothing is left"),
        pytest.param("?!", {}, False, id="kept"),
        pytest.param("a?", {"strip_punctuation": True}, False, id="a letter is left"),
    ],
)
def test_exact_match_warns_when_nothing_is_left_to_compare(
    *, value: str, options: dict[str, Any], warns: bool
) -> None:
    assert bool(ExactMatch(value=value, **options).warnings()) is warns


@pytest.mark.parametrize(
    ("grader", "sentence"),
    [
        pytest.param(Contains(value="refund"), "Reply contains “refund”", id="contains"),
        pytest.param(Contains(), "Reply contains the expected text", id="contains expected"),
        pytest.param(NotContains(value="x"), "Reply does not contain “x”", id="not_contains"),
        pytest.param(Matches(value=r"\d"), r"Reply matches \d", id="matches"),
        pytest.param(NotMatches(value=r"\d"), r"Reply does not match \d", id="not_matches"),
        pytest.param(ExactMatch(), "Reply is exactly the expected text", id="exact_match"),
    ],
)
def test_a_closed_row_reads_as_a_sentence(grader: PlainGrader, sentence: str) -> None:
    assert grader.summary() == sentence


@pytest.mark.parametrize("grader", [Matches, NotMatches])
def test_a_doubled_backslash_warns(grader: type[Matches | NotMatches]) -> None:
    assert grader(value=r"order #\\d+").warnings()
    assert not grader(value=r"order #\d+").warnings()
