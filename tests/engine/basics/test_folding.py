import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.basics.folding import as_written, fold_text


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        pytest.param("can\u2019t", "can't", id="a typographic apostrophe"),
        pytest.param("credit\u00a0card", "credit card", id="an unbreakable space"),
        pytest.param("credit\n  card", "credit card", id="a line wrap"),
        pytest.param("credit\r\ncard", "credit card", id="a line wrap of Windows"),
        pytest.param("credit\u2028card", "credit card", id="a line separator"),
        pytest.param("pass\u00adword", "password", id="a soft hyphen"),
        pytest.param("pass\u200bword", "password", id="a zero-width space"),
        pytest.param("e\u2011mail", "e-mail", id="an unbreakable hyphen"),
        pytest.param("3\u20135 days", "3-5 days", id="an en dash"),
        pytest.param("wait\u2026", "wait...", id="an ellipsis"),
        pytest.param("\u201eyes\u201c", '"yes"', id="German quotation marks"),
        pytest.param("\uff32\uff45\uff46\uff55\uff4e\uff44", "refund", id="full-width letters"),
        pytest.param("caf\u0065\u0301", "caf\u00e9", id="a decomposed letter"),
        pytest.param("STRASSE", "stra\u00dfe", id="capitals of \u00df"),
        pytest.param("\u2764\ufe0f", "\u2764", id="a variation selector"),
        pytest.param("  30 days ", "30 days", id="spaces around"),
        pytest.param("\u0441ard", "card", id="a Cyrillic letter in a Latin word"),
        pytest.param("\u039fK", "OK", id="a Greek letter in a Latin word"),
    ],
)
def test_texts_that_look_alike_become_equal(written: str, seen: str) -> None:
    assert fold_text(written) == fold_text(seen)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("30 days", "30days", id="a space more"),
        pytest.param("refund", "refunds", id="a letter more"),
        pytest.param("resume", "r\u00e9sum\u00e9", id="an accent"),
        pytest.param("\u0441\u043e\u0440", "cop", id="a word of another script"),
        pytest.param("-5", "5", id="a sign"),
        pytest.param("1.5", "1,5", id="another separator"),
    ],
)
def test_texts_that_look_different_stay_different(one: str, other: str) -> None:
    assert fold_text(one) != fold_text(other)


def test_case_counts_if_it_should() -> None:
    assert fold_text("Refund", case_sensitive=True) == "Refund"


@given(st.text("aE\u00df\u0301 \n\u00a0\u200b\u2026\u2019\uff21\u00ad", max_size=30), st.data())
def test_a_piece_as_written_reads_as_what_was_looked_for(text: str, data: st.DataObject) -> None:
    seen = fold_text(text)
    start = data.draw(st.integers(0, len(seen)))
    length = data.draw(st.integers(0, len(seen) - start))

    piece = as_written(text, start, length)

    assert piece in text
    assert seen[start : start + length].strip() in fold_text(piece)


def test_ascii_is_folded_as_all_texts_are() -> None:
    ascii_text = "".join(map(chr, range(128)))

    assert fold_text(f"{ascii_text}\u00e9") == fold_text(ascii_text) + "\u00e9"
