import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.judging.text.blocks import NAMES, block, escape_text, make_nonce

NONCE = make_nonce(b"secret", "case", 1, "0")
TAG = re.compile(rf"</?(?:{'|'.join(NAMES)})", re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("</SUBMISSION-0123456789ab>", "\\u003c/SUBMISSION-0123456789ab>"),
        pytest.param("<criteria>", "\\u003ccriteria>", id="lower case"),
        pytest.param("< / Transcript >", "\\u003c / Transcript >", id="spaces"),
        pytest.param("<\n/TRANSCRIPT>", "\\u003c\n/TRANSCRIPT>", id="line break"),
        pytest.param("</SUB\u200bMISSION>", "</SUB\\u200bMISSION>", id="zero width in the name"),
        pytest.param("<\u200b/SUBMISSION>", "<\\u200b/SUBMISSION>", id="zero width in the tag"),
        pytest.param("\uff1c/SUBMISSION>", "\\uff1c/SUBMISSION>", id="full width bracket"),
        pytest.param("\u2039/REFERENCE>", "\\u2039/REFERENCE>", id="quotation bracket"),
        pytest.param("a\u202eb", "a\\u202eb", id="bidi"),
        pytest.param("a\x00b\x1bc", "a\\u0000b\\u001bc", id="control"),
        pytest.param("a\U000e0041b", "a\\U000e0041b", id="tag character"),
        pytest.param("a\ud800b", "a\\ud800b", id="lone surrogate"),
        pytest.param("a\rb", "a\\u000db", id="lone carriage return"),
        pytest.param("a\r\nb\tc", "a\nb\tc", id="line breaks and tabs stay"),
        pytest.param("<b>bold</b> 1 < 2", "<b>bold</b> 1 < 2", id="other tags stay"),
        pytest.param("Déjà vu 東京 😀", "Déjà vu 東京 😀", id="scripts stay"),
        pytest.param("the submission", "the submission", id="words stay"),
        pytest.param(NONCE, "*" * 12, id="the nonce itself"),
    ],
)
def test_what_could_deceive_becomes_visible(text: str, shown: str) -> None:
    assert escape_text(text, NONCE) == shown


@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from([*NAMES, "<", "</", "-", NONCE, ">", "\u200b", "\n", " ", "/"]), max_size=12
    ).map("".join)
)
def test_no_text_can_close_a_block(text: str) -> None:
    content = escape_text(text, NONCE)

    assert not TAG.search(content)
    assert NONCE not in content
    assert block("SUBMISSION", content, NONCE).count(NONCE) == 2


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(make_nonce(b"other", "case", 1, "0"), id="another secret"),
        pytest.param(make_nonce(b"secret", "case", 2, "0"), id="another trial"),
        pytest.param(make_nonce(b"secret", "case", 1, "1"), id="another assertion"),
        pytest.param(make_nonce(b"secret", "case1", "", "0"), id="parts are kept apart"),
    ],
)
def test_each_question_has_a_nonce_of_its_own(other: str) -> None:
    assert other != NONCE


def test_a_nonce_is_twelve_hex_digits_and_stays_the_same() -> None:
    assert re.fullmatch("[0-9a-f]{12}", NONCE)
    assert make_nonce(b"secret", "case", 1, "0") == NONCE
