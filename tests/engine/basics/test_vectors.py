"""Vectors of texts: nearness, a bounded memory, and a small model2vec model on this machine."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.basics.vectors import KnownVectors, cosine, static_vectors, unit

numbers = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3)


@pytest.mark.parametrize(
    ("one", "other", "nearness"),
    [
        pytest.param([3, 4], [6, 8], 1.0, id="the same direction"),
        pytest.param([1, 0], [1, 1], 0.5**0.5, id="half a right angle"),
        pytest.param([1, 0], [0, 2], 0.0, id="a right angle"),
        pytest.param([1, 0], [-1, 0], 0.0, id="opposite is clamped"),
        pytest.param([0, 0], [1, 0], 0.0, id="no direction"),
        pytest.param([1e-200, 0], [1e200, 0], 1.0, id="very short and very long"),
    ],
)
def test_nearness_is_the_cosine(one: list[float], other: list[float], nearness: float) -> None:
    assert cosine(unit(one), unit(other)) == pytest.approx(nearness)


@given(numbers, numbers)
def test_nearness_lies_between_0_and_1(one: list[float], other: list[float]) -> None:
    assert 0.0 <= cosine(unit(one), unit(other)) <= 1.0


@pytest.mark.parametrize("numbers", [[float("nan"), 1], [float("inf"), 1]])
def test_what_is_no_number_is_refused(numbers: list[float]) -> None:
    with pytest.raises(ValueError, match="not a number"):
        unit(numbers)


def test_vectors_of_different_length_do_not_compare() -> None:
    with pytest.raises(ValueError, match="2 and 3 numbers"):
        cosine(unit([1, 0]), unit([1, 0, 0]))


def test_the_texts_that_were_last_used_are_known() -> None:
    known = KnownVectors(most=2)
    known.keep("a", "x", unit([1]))
    known.keep("a", "y", unit([2]))
    known.get("a", "x")
    known.keep("a", "z", unit([3]))

    assert [known.get("a", text) is not None for text in "xyz"] == [True, False, True]


def test_vectors_of_different_makers_are_not_mixed_up() -> None:
    known = KnownVectors()
    known.keep("a", "x", unit([1]))

    assert known.get("b", "x") is None


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a model of four words."""
    numpy = pytest.importorskip("numpy")
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, "yes": 1, "certainly": 2, "no": 3}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = numpy.array([[0, 0], [1, 0], [0.9, 0.1], [0, 1]], dtype="float32")
    folder = tmp_path_factory.mktemp("models") / "tiny"
    model2vec.StaticModel(vectors=vectors, tokenizer=tokenizer).save_pretrained(folder)
    return folder


@pytest.mark.anyio
async def test_a_model_on_this_machine_gives_vectors(directory: Path) -> None:
    yes, certainly, no = await static_vectors(str(directory), ["yes", "certainly", "no"])

    assert cosine(yes, certainly) > 0.9
    assert cosine(yes, no) == 0.0


@pytest.mark.anyio
async def test_long_texts_are_read_to_their_end(directory: Path) -> None:
    one, other = await static_vectors(str(directory), ["yes " * 600 + "no " * 600, "yes " * 600])

    assert cosine(one, other) < 0.8


@pytest.mark.anyio
async def test_half_of_a_character_does_no_harm(directory: Path) -> None:
    (vector,) = await static_vectors(str(directory), ["yes \ud800"])

    assert len(vector) == 2


@pytest.mark.anyio
async def test_a_folder_that_is_gone_is_no_name_of_a_model_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="There is no folder"):
        await static_vectors(str(tmp_path / "minishlab" / "potion-base-8M"), ["yes"])
