import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures_app.ground.patterns import (
    MAX_PATTERN_CHARS,
    _Kept,
    fits,
    matches_nothing,
    pattern_problem,
    pattern_warnings,
    search,
)


@pytest.mark.parametrize(
    ("pattern", "advice"),
    [
        pytest.param("(?=a)b", "one check for each", id="lookahead"),
        pytest.param("(?!a)b", "not_matches", id="negative lookahead"),
        pytest.param("(?<=a)b", "Write the text before it", id="lookbehind"),
        pytest.param("(?<!a)b", "not_matches", id="negative lookbehind"),
        pytest.param(r"(a)\1", "cannot refer back", id="backreference"),
        pytest.param("(?P<n>a)(?P=n)", "cannot refer back", id="named backreference"),
        pytest.param(r"(?<n>a)\k<n>", "cannot refer back", id="another named backreference"),
        pytest.param("a*+", "second +", id="possessive star"),
        pytest.param("a++", "second +", id="possessive plus"),
        pytest.param("a{2}+", "second +", id="possessive repeat"),
        pytest.param("a**", "in a group", id="repeated repeat"),
        pytest.param("(?>a)", "(?:...)", id="atomic group"),
        pytest.param(r"a\Z", r"\z", id="end of text"),
        pytest.param(r"\u00e9", r"\x{XXXX}", id="code point"),
        pytest.param(r"[\u00e9]", r"\x{XXXX}", id="code point in a set"),
        pytest.param("a{1001}", "1,000", id="large repeat"),
        pytest.param("(a{100}){100}", "1,000", id="large nested repeat"),
        pytest.param(r"([\p{L}\p{N}]{1000})xx", "too much memory", id="large program"),
        pytest.param("a" * (MAX_PATTERN_CHARS + 1), "1,000", id="long"),
        pytest.param("(?x) a", "without spaces", id="verbose flag"),
        pytest.param("(?#why)a", "Leave it out", id="comment"),
        pytest.param("(?(1)a|b)", "both cases", id="condition"),
        pytest.param(r"\h", r"[ \t]", id="horizontal space"),
        pytest.param("(a", "not closed", id="open group"),
        pytest.param("a)", "no group", id="closed group"),
        pytest.param("[a", "not closed", id="open set"),
        pytest.param("*a", "nothing to repeat", id="leading repeat"),
        pytest.param("a\\", "single backslash", id="trailing backslash"),
        pytest.param("", "every text", id="empty"),
        pytest.param("\ud800", "half of a character", id="lone surrogate"),
    ],
)
def test_what_is_not_supported_is_refused_with_what_to_write_instead(
    pattern: str, advice: str
) -> None:
    problem = pattern_problem(pattern)

    assert problem is not None
    assert advice in problem
    assert "perl" not in problem


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"order #\d{6}", id="usual"),
        pytest.param("a{1000}", id="largest repeat"),
        pytest.param("a" * MAX_PATTERN_CHARS, id="longest"),
        pytest.param(r"\x{e9}|\pL", id="code point and class"),
        pytest.param(r"(?i)a(?P<n>b)\z", id="flag, name, end"),
        pytest.param(r"a+?b??", id="reluctant"),
        pytest.param(r"\(\?=", id="escaped brackets"),
    ],
)
def test_what_is_supported_has_no_problem(pattern: str) -> None:
    assert pattern_problem(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "warns"),
    [
        pytest.param(r"\\d+", True, id="digit"),
        pytest.param(r"order #\\d", True, id="digit later"),
        pytest.param(r"\\.", True, id="dot"),
        pytest.param(r"\d+", False, id="single"),
        pytest.param(r"\\", False, id="a backslash alone"),
        pytest.param(r"\\\\d", True, id="two backslashes, then d"),
        pytest.param(r"\\\d", False, id="a backslash, then a digit"),
        pytest.param(r"C:\\Program", False, id="a path"),
    ],
)
def test_a_doubled_backslash_is_noticed(*, pattern: str, warns: bool) -> None:
    assert bool(pattern_warnings(pattern)) is warns


def test_a_match_is_given_as_the_text_has_it() -> None:
    assert search("b+", "aéBB\ud800c", case_sensitive=False) == "BB"
    assert search("x", "abc", case_sensitive=False) is None


def test_fitting_needs_the_whole_text_and_its_case() -> None:
    assert fits(r"\d+", "123")
    assert not fits(r"\d+", "123a")
    assert not fits("a", "A")


@given(st.text(max_size=40), st.text(max_size=200))
def test_any_text_is_a_pattern_or_has_a_problem(pattern: str, text: str) -> None:
    if pattern_problem(pattern) is None:
        match = search(pattern, text, case_sensitive=False)

        assert match is None or match in text


@given(st.text("ab^$.*|()[]\\bBz", max_size=8), st.text("ab\n", max_size=6))
def test_what_is_shown_to_match_nothing_does_so(pattern: str, text: str) -> None:
    if pattern_problem(pattern) is None and matches_nothing(pattern, case_sensitive=True):
        assert search(pattern, text, case_sensitive=True) is None


def test_more_patterns_than_the_library_keeps_are_compiled_once() -> None:
    kept = _Kept(max_instructions=300_000)
    patterns = [f"order {number}[0-9]+" for number in range(1_319)]

    first = [kept.get(pattern, case_sensitive=False) for pattern in patterns]
    again = [kept.get(pattern, case_sensitive=False) for pattern in patterns]

    assert all(one is other for one, other in zip(first, again, strict=True))


def test_patterns_are_kept_within_bounds_and_the_oldest_goes_first() -> None:
    kept = _Kept(max_instructions=100)
    used = kept.get("often", case_sensitive=True)

    for number in range(50):
        kept.get(f"pattern {number}", case_sensitive=True)
        assert kept.get("often", case_sensitive=True) is used

    assert 1 < len(kept) < 20
    kept.get("x" * 500, case_sensitive=True)
    assert len(kept) == 1
