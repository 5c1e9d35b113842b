"""Names that were probably meant."""

import time

import pytest

from fixtures_app.ground.words import near, nearest, numbered_name, plain_name, suggestion


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        pytest.param("studnet", ["teacher", "student"], "student", id="near"),
        pytest.param("STUDENT", ["student"], "student", id="case"),
        pytest.param("zzz", ["teacher", "student"], "", id="none-near"),
        pytest.param("x" * 200, ["x" * 201], "", id="long-name"),
        pytest.param("x" * 201, ["x" * 200], "", id="long-word"),
        pytest.param("a", [], "", id="nothing-known"),
        pytest.param("f1", ["bleu", "f1_score"], "f1_score", id="beginning"),
        pytest.param("rouge_longest", ["bleu", "rouge"], "rouge", id="with-more-after-it"),
        pytest.param("f1", ["f1_score", "f1_of_words"], "", id="beginning-of-two"),
        pytest.param("f", ["f1_score"], "", id="one-letter"),
    ],
)
def test_the_nearest_of_the_known_names(word: str, known: list[str], expected: str) -> None:
    assert nearest(word, known) == expected
    assert near(word, known) == (f" Did you mean {expected!r}?" if expected else "")


def test_a_slip_is_nearer_than_a_likeness() -> None:
    assert nearest("total prise", ["total price"], is_slip=True) == "total price"
    assert nearest("price", ["total price"]) == "total price"
    assert nearest("price", ["total price"], is_slip=True) == ""


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("studnet", ["student"], " Did you mean 'student'?"),
        ("zzz", ["teacher", "student"], " Known: teacher, student."),
        ("zzz", list("abcdefghij"), " Known: a, b, c, d, e, f, g, h, ...."),
        ("zzz", [], ""),
    ],
)
def test_a_suggestion_falls_back_on_the_known_names(
    word: str, known: list[str], expected: str
) -> None:
    assert suggestion(word, known) == expected


def test_many_long_names_are_compared_quickly() -> None:
    started = time.process_time()

    nearest("x" * 1_000_000, (f"name {number}" * 100 for number in range(100_000)))

    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Parcel Größe", "Parcel-Grosse"),
        ("  two   words ", "two-words"),
        ("a_ -b", "a-b"),
        ("snake_case", "snake_case"),
        ("安", ""),
    ],
)
def test_a_plain_name_is_made_of_any_text(text: str, name: str) -> None:
    assert plain_name(text) == name


def test_a_free_name_is_numbered() -> None:
    assert numbered_name("desk", ["desk", "desk-2"], length=20) == "desk-3"
    assert numbered_name("x" * 30, [], length=20) == "x" * 12
    assert numbered_name("A", ["A"], length=20, mark="_") == "A_2"
