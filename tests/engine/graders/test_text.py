from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.graders.kit.base import MAX_TEXT_BYTES, PlainGrader
from evals_app.engine.graders.text import Contains, ExactMatch, Matches, NotContains, NotMatches
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from tests.engine.graders.makers import make_trial, make_turn, view_of

DECOMPOSED_CAFE = "cafe\u0301"
NO_SIGNS = {"strip_punctuation": True}


@pytest.mark.parametrize(
    ("options", "reply", "passes"),
    [
        pytest.param({"value": "refund"}, "Your refund is on its way.", True, id="inside"),
        pytest.param({"value": "refund"}, "Your REFUND is on its way.", True, id="other case"),
        pytest.param({"value": "straße"}, "HAUPTSTRASSE", True, id="casefold, not lower"),
        pytest.param({"value": "café"}, f"a {DECOMPOSED_CAFE}", True, id="composed or not"),
        pytest.param({"value": "\U0001f600"}, "ok \U0001f600", True, id="emoji"),
        pytest.param({"value": "can't"}, "We can\u2019t.", True, id="typographic apostrophe"),
        pytest.param({"value": "can\u2019t"}, "We can't.", True, id="plain apostrophe"),
        pytest.param({"value": "credit card"}, "a credit\u00a0card", True, id="non-breaking"),
        pytest.param({"value": "credit card"}, "a credit\n  card", True, id="line wrap"),
        pytest.param({"value": "password"}, "pass\u00adword", True, id="soft hyphen"),
        pytest.param({"value": "pass\u200bword"}, "password", True, id="zero-width"),
        pytest.param({"value": "e-mail"}, "by e\u2011mail", True, id="non-breaking hyphen"),
        pytest.param({"value": "Refund"}, "\uff32\uff45\uff46\uff55\uff4e\uff44", True, id="wide"),
        pytest.param({"value": " refund \n"}, "refund", True, id="spaces around do not count"),
        pytest.param({"value": "5 days"}, "in 15 days", True, id="inside a number"),
        pytest.param({"value": "5 days", "whole_words": True}, "in 15 days", False, id="whole"),
        pytest.param({"value": "5 days", "whole_words": True}, "15 or 5 days", True, id="later"),
        pytest.param({"value": "42", "whole_words": True}, "1042, 42.5, 1,420", False, id="digits"),
        pytest.param({"value": "42", "whole_words": True}, "It is 42.", True, id="full stop"),
        pytest.param({"value": "été", "whole_words": True}, "répété", False, id="whole, accents"),
        pytest.param({"value": "!", "whole_words": True}, "Hi!there", True, id="signs are whole"),
        pytest.param({"value": "5天", "whole_words": True}, "要5天吧", True, id="no spaces"),
        pytest.param(
            {"value": "5天", "whole_words": True}, "要15天吧", False, id="no spaces, digits"
        ),
        pytest.param({"value": "30 days"}, "within **30** days", True, id="bold"),
        pytest.param({"value": "30 days"}, "_within `30` days_", True, id="italics and code"),
        pytest.param({"value": "2*3"}, "2*3*4", True, id="asterisks that mean something"),
        pytest.param({"value": "234"}, "2*3*4", False, id="no emphasis inside a word"),
        pytest.param({"value": "credit"}, "\u0441r\u0435dit", True, id="letters that look alike"),
        pytest.param({"value": "refund"}, "Your money is on its way.", False, id="absent"),
        pytest.param({"value": "refund"}, "", False, id="empty reply"),
        pytest.param({"value": "to", "case_sensitive": True}, "TO", False, id="case counts"),
        pytest.param({"value": "TO", "case_sensitive": True}, "TO", True, id="case agrees"),
    ],
)
def test_contains_and_its_opposite_never_agree(
    *, options: dict[str, object], reply: str, passes: bool
) -> None:
    grade = Contains.model_validate(options).grade(view_of(reply))
    opposite = NotContains.model_validate(options).grade(view_of(reply))

    assert (grade.passed, grade.score) == (passes, float(passes))
    assert (opposite.passed, opposite.score) == (not passes, float(not passes))


@pytest.mark.parametrize(
    ("value", "expected", "passed"),
    [
        pytest.param(None, "Paris", True, id="the turn's"),
        pytest.param("Rome", "Paris", False, id="its own comes first"),
        pytest.param(None, "", None, id="an empty one passes nothing"),
    ],
)
def test_contains_takes_the_expected_text_of_the_turn_when_it_has_no_value(
    value: str | None, expected: str, *, passed: bool | None
) -> None:
    grade = Contains(value=value).grade(view_of("It is Paris.", expected=expected))

    assert grade.passed is passed
    assert (grade.cause is Cause.CASE) is (passed is None)


def test_a_miss_says_what_was_expected_and_what_was_found() -> None:
    grade = Contains(value="Refund").grade(view_of("Please wait."))

    assert "“Refund”" in grade.reason
    assert "“Please wait.”" in grade.reason
    assert grade.cause is Cause.ASSERTION


@pytest.mark.parametrize(
    ("options", "reply", "shown"),
    [
        pytest.param({"case_sensitive": True}, "a refund", "“refund”", id="other case"),
        pytest.param({"whole_words": True}, "Refundable", "whole words", id="part of a word"),
        pytest.param({}, "Hm. " * 90 + "It is a refond." + "Hm. " * 90, "Hm.", id="nothing near"),
    ],
)
def test_a_miss_names_what_is_near(options: dict[str, Any], reply: str, shown: str) -> None:
    grade = Contains.model_validate({"value": "Refund", **options}).grade(view_of(reply))

    assert grade.passed is False
    assert shown in grade.reason


def test_of_a_long_reply_the_nearest_passage_is_shown() -> None:
    reply = "Hm. " * 90 + "You have 30 working days for it. " + "Hm. " * 90

    grade = Contains(value="within 30 days").grade(view_of(reply))

    assert "30 working days" in grade.reason
    assert len(grade.reason) < 400


@pytest.mark.parametrize(
    ("value", "reply", "piece"),
    [
        pytest.param("refund", "Your ReFund came.", "ReFund", id="as it is"),
        pytest.param("30 days", "in\u200b 30\u00a0 \n days!", "30\u00a0 \n days", id="spaces"),
        pytest.param("straße", "HAUPTSTRA\u00adSSE 5", "STRA\u00adSSE", id="longer when folded"),
        pytest.param("wait...", "Oh, wait\u2026 no", "wait\u2026", id="shorter as written"),
        pytest.param("café", f"a {DECOMPOSED_CAFE}!", DECOMPOSED_CAFE, id="marks with letters"),
    ],
)
def test_evidence_is_the_piece_as_the_reply_has_it(value: str, reply: str, piece: str) -> None:
    for check in (Contains(value=value), NotContains(value=value)):
        (evidence,) = check.grade(view_of(reply)).evidence
        assert evidence.quote == piece


@pytest.mark.parametrize("grader", [Contains, NotContains])
@pytest.mark.parametrize("value", [" ", "\n", "\u200b\u00ad"])
def test_an_invisible_text_cannot_decide(grader: type[Contains | NotContains], value: str) -> None:
    check = grader(value=value)

    assert check.cannot_fail()
    assert check.grade(view_of("any reply")).cause is Cause.CASE
    assert grader(value="refund").cannot_fail() is None


@pytest.mark.parametrize("grader", [Contains, NotContains])
@pytest.mark.parametrize(
    ("value", "warns"),
    [
        pytest.param("42", True, id="number"),
        pytest.param("€1,000.50", True, id="number with signs"),
        pytest.param("yes", True, id="short"),
        pytest.param(" agent ", True, id="spaces around"),
        pytest.param("refund", False, id="word"),
        pytest.param("30 days", False, id="number and word"),
        pytest.param("東京", False, id="a script without spaces"),
        pytest.param("\U0001f600", False, id="emoji"),
    ],
)
def test_what_is_found_inside_other_words_warns(
    grader: type[Contains | NotContains], value: str, *, warns: bool
) -> None:
    assert bool(grader(value=value).warnings()) is warns
    assert not grader(value=value, whole_words=True).warnings()


@pytest.mark.parametrize("grader", [Contains, NotContains, Matches, NotMatches])
@pytest.mark.parametrize(
    ("value", "warns"),
    [
        ('["refund", "credit"]', True),
        ("['refund', 'credit']", True),
        ("[[], ['a']]", True),
        pytest.param("[1]", False, id="perhaps a reference"),
        pytest.param("[abc]+", False, id="perhaps a pattern"),
        pytest.param("refund", False, id="text"),
    ],
)
def test_a_list_written_as_one_text_warns(grader: Any, value: str, *, warns: bool) -> None:
    warnings = grader(value=value).warnings()

    assert any("one text" in warning for warning in warnings) is warns


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


def test_a_text_does_not_begin_in_one_reply_and_end_in_the_next() -> None:
    view = View(make_trial(make_turn("credit"), make_turn("card", index=2)), None, whole_text=True)

    assert Contains(value="credit card").grade(view).passed is False
    assert NotContains(value="credit card").grade(view).passed is True
    assert NotContains(value="card").grade(view).evidence[0].turn == 2


@pytest.mark.parametrize("grader", [Contains, NotContains, Matches, NotMatches, ExactMatch])
def test_an_empty_value_is_refused(grader: type[PlainGrader]) -> None:
    with pytest.raises(ValidationError) as refused:
        grader.model_validate({"value": ""})

    assert refused.value.errors()[0]["loc"] == ("value",)


@pytest.mark.parametrize("grader", [NotContains, Matches, NotMatches])
def test_a_value_is_required_where_no_expected_text_can_be_meant(grader: type[PlainGrader]) -> None:
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


@pytest.mark.parametrize(
    ("pattern", "reply"),
    [
        pytest.param("can't", "We can\u2019t.", id="typographic apostrophe"),
        pytest.param(r"credit\s+card", "a credit\u00a0card", id="non-breaking"),
        pytest.param("password", "pass\u200bword", id="zero-width"),
        pytest.param("e-mail", "by e\u2011mail", id="non-breaking hyphen"),
        pytest.param("password", "p\u0430ssw\u043erd", id="letters of another script"),
    ],
)
def test_typography_hides_nothing_from_a_pattern_that_must_not_occur(
    pattern: str, reply: str
) -> None:
    assert NotMatches(value=pattern).grade(view_of(reply)).passed is False


def test_a_pattern_that_only_typography_keeps_from_matching_says_so() -> None:
    grade = Matches(value=r"\d+ days").grade(view_of("in 30\u202fdays"))

    assert grade.passed is False
    assert "spaces" in grade.reason


def test_a_match_is_shown_with_what_matched() -> None:
    grade = Matches(value=r"#\d+").grade(view_of("Order #123 is here"))

    assert "“#123”" in grade.reason
    assert grade.evidence[0].quote == "#123"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grader", "passes"),
    [
        pytest.param(Contains(value="the end"), True, id="contains"),
        pytest.param(NotContains(value="the end"), False, id="not_contains"),
        pytest.param(Matches(value="the end$"), True, id="matches"),
        pytest.param(NotMatches(value="the end$"), False, id="not_matches"),
        pytest.param(ExactMatch(value="the end"), False, id="exact_match"),
    ],
)
def test_the_end_of_a_long_reply_counts(grader: PlainGrader, *, passes: bool) -> None:
    grade = grader.grade(view_of("返金は三日以内です。" * 30_000 + "the end"))

    assert (grade.status, grade.passed) == (GradeStatus.OK, passes)


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*b", r"(.*)*x", r"(a|aa)+$", r"(x+x+)+y"])
def test_a_pattern_that_hangs_elsewhere_ends_here(pattern: str) -> None:
    reply = "a" * (MAX_TEXT_BYTES - 1) + "!"

    grade = Matches(value=pattern).grade(view_of(reply))

    assert grade.status is GradeStatus.OK


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
        pytest.param(NO_SIGNS, "“Paris”\u2026\u3002", True, id="signs of all kinds"),
        pytest.param(NO_SIGNS, "'Paris'!", True, id="ASCII signs left out"),
        pytest.param(NO_SIGNS | {"strip_whitespace": True}, "Paris !", True, id="in order"),
        pytest.param(NO_SIGNS, "Paris !", False, id="a space is left"),
    ],
)
def test_exact_match_compares_after_the_chosen_normalisation(
    *, options: dict[str, Any], reply: str, passes: bool
) -> None:
    grader = ExactMatch(value="Paris", **options)

    assert grader.grade(view_of(reply)).passed is passes


def test_exact_match_takes_the_expected_text_and_sees_letters_and_spaces_as_people_do() -> None:
    grader = ExactMatch(strip_whitespace=True)

    assert grader.grade(view_of(f"{DECOMPOSED_CAFE}\tzu", expected="café  zu")).passed is True


@pytest.mark.parametrize(
    ("value", "options", "warns"),
    [
        pytest.param("?!", NO_SIGNS, True, id="nothing is left"),
        pytest.param("?!", {}, False, id="kept"),
        pytest.param("a?", NO_SIGNS, False, id="a letter is left"),
        pytest.param("Paris\n", {}, True, id="a line break at the end"),
        pytest.param("Paris\n", {"strip_whitespace": True}, False, id="which is ignored"),
    ],
)
def test_an_exact_text_that_is_hardly_meant_warns(
    *, value: str, options: dict[str, Any], warns: bool
) -> None:
    assert bool(ExactMatch(value=value, **options).warnings()) is warns


@pytest.mark.parametrize(
    ("grader", "sentence"),
    [
        (Contains(value="refund"), "Reply contains “refund”"),
        (Contains(), "Reply contains the expected text"),
        (NotContains(value="x"), "Reply does not contain “x”"),
        (Matches(value=r"\d"), r"Reply matches \d"),
        (NotMatches(value=r"\d"), r"Reply does not match \d"),
        (ExactMatch(), "Reply is exactly the expected text"),
    ],
)
def test_a_closed_row_reads_as_a_sentence(grader: PlainGrader, sentence: str) -> None:
    assert grader.summary() == sentence


@pytest.mark.parametrize("grader", [Contains, NotContains, Matches, NotMatches])
@pytest.mark.parametrize("value", ["<think>", "the </Thinking>"])
def test_a_tag_that_no_reply_has_warns(grader: type[Contains | Matches], value: str) -> None:
    (warning,) = grader(value=value).warnings()

    assert "reasoning" in warning


@pytest.mark.parametrize("grader", [Matches, NotMatches])
def test_a_doubled_backslash_warns(grader: type[Matches | NotMatches]) -> None:
    assert grader(value=r"order #\\d+").warnings()
    assert not grader(value=r"order #\d+").warnings()


@pytest.mark.parametrize(
    ("value", "reply", "passes"),
    [
        pytest.param("-5", "5", False, id="sign"),
        pytest.param("1.5", "15", False, id="decimal point"),
        pytest.param(".5", "5", False, id="leading point"),
        pytest.param("3-5", "35", False, id="range"),
        pytest.param("don\u2019t", "dont", True, id="typographic apostrophe"),
        pytest.param("a-b", "ab", True, id="hyphen in a word"),
        pytest.param("- 5", " 5", True, id="dash of a list"),
        pytest.param("5.", "5", True, id="full stop"),
    ],
)
def test_ignoring_punctuation_never_changes_a_number(
    value: str, reply: str, *, passes: bool
) -> None:
    check = ExactMatch(value=value, strip_punctuation=True)

    assert check.grade(view_of(reply)).passed is passes


@pytest.mark.parametrize(
    ("expected", "reply", "named"),
    [
        pytest.param("Paris", "Paris ", "a space at its end", id="space"),
        pytest.param("Paris", "Paris\n", "a line break at its end", id="line break"),
        pytest.param("Paris\n", "Paris", "no line break at its end", id="no line break"),
        pytest.param("Paris", " Paris", "at its beginning", id="beginning"),
        pytest.param("a\nb", "a\r\nb", "CR/LF", id="Windows"),
        pytest.param("a b", "a\u00a0b", "non-breaking", id="non-breaking space"),
        pytest.param("a b", "a  b", "between words", id="two spaces"),
        pytest.param("Paris", "paris", "upper and lower case", id="case"),
        pytest.param("it's", "it\u2019s", "typographic apostrophe", id="apostrophe"),
        pytest.param("it\u2019s", "it's", "plain apostrophe", id="plain apostrophe"),
        pytest.param('"a"', "“a”", "quotation mark", id="quotation marks"),
        pytest.param("a-b", "a\u2011b", "dash", id="dash"),
        pytest.param("wait...", "wait\u2026", "ellipsis", id="ellipsis"),
        pytest.param("Paris", "Pa\u200bris", "U+200B", id="invisible"),
        pytest.param("Paris", "\uff30aris", "full-width", id="full-width"),
        pytest.param("a \n", "b", "it says", id="visible"),
    ],
)
def test_an_exact_match_names_a_hidden_difference(expected: str, reply: str, named: str) -> None:
    grade = ExactMatch(value=expected).grade(view_of(reply))

    assert grade.passed is False
    assert named in grade.reason


def test_an_exact_match_names_only_what_makes_the_difference() -> None:
    check = ExactMatch(value="it's", case_insensitive=True)

    reason = check.grade(view_of("IT'S ")).reason

    assert "space" in reason
    assert "case" not in reason
    assert "apostrophe" not in reason


def test_an_empty_text_that_no_reply_can_match_is_the_fault_of_the_case() -> None:
    whole, part = ExactMatch(), ExactMatch(response_path="answer")

    assert whole.grade(view_of("Paris", expected="")).cause is Cause.CASE
    assert whole.expected_problem("")
    assert part.grade(view_of('{"answer": ""}', expected="")).passed is True


@pytest.mark.parametrize(
    ("pattern", "everything", "nothing"),
    [
        pytest.param("(refund)?", True, False, id="all of it optional"),
        pytest.param(".*", True, False, id="any number of anything"),
        pytest.param("^", True, False, id="the beginning"),
        pytest.param("yes|", True, False, id="or nothing"),
        pytest.param("a*", True, False, id="any number"),
        pytest.param("^$", False, False, id="an empty reply"),
        pytest.param("^(refund)?$", False, False, id="a word or nothing"),
        pytest.param("^.{0,1000}$", False, False, id="a short reply"),
        pytest.param(r"\S", True, False, id="anything at all"),
        pytest.param(".+", True, False, id="any sign"),
        pytest.param(r"\w|\W", True, False, id="this or anything else"),
        pytest.param(r"[^\s\S]", False, True, id="no character"),
        pytest.param("$a", False, True, id="behind the end"),
    ],
)
def test_a_pattern_that_fits_all_or_nothing_cannot_fail(
    pattern: str, *, everything: bool, nothing: bool
) -> None:
    wanted, unwanted = Matches(value=pattern), NotMatches(value=pattern)

    assert (bool(wanted.cannot_fail()), bool(unwanted.cannot_fail())) == (everything, nothing)
    assert (bool(wanted.warnings()), bool(unwanted.warnings())) == (nothing, everything)


@pytest.mark.parametrize("reply", ["Your order #123456", "No idea"])
@pytest.mark.parametrize("grader", [Matches, NotMatches])
def test_what_a_pattern_means_is_shown_instead_of_it(
    grader: type[Matches | NotMatches], reply: str
) -> None:
    check = grader(value=r"order #\d{6}", means="an order number (# and six digits)")

    for shown in (check.grade(view_of(reply)).reason, check.summary()):
        assert "an order number" in shown
        assert r"\d" not in shown
