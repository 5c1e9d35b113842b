import pytest

from evals_app.reports.words.similarity import (
    compared_by,
    is_measured_differently,
    similarity_json,
    stand_in_note,
)

EMBEDDINGS = "embeddings openai/text-embedding-3-small"


@pytest.mark.parametrize(
    ("method", "word"),
    [
        pytest.param("fuzzy_match", "words", id="words"),
        pytest.param("semantic_equivalence acme/small", "judge acme/small", id="a judge"),
        pytest.param(EMBEDDINGS, "openai/text-embedding-3-small", id="embeddings"),
    ],
)
def test_what_compares_texts_is_named(method: str, word: str) -> None:
    run = {"similarity": method, "is_similarity_stand_in": method != EMBEDDINGS}

    assert word in compared_by(method)
    assert word in stand_in_note(method)
    assert similarity_json(run) == {"method": method, "is_stand_in": method != EMBEDDINGS}


def test_where_no_texts_are_compared_there_is_no_method() -> None:
    assert similarity_json({"similarity": "", "is_similarity_stand_in": False}) is None


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        pytest.param(EMBEDDINGS, "fuzzy_match", True, id="two ways"),
        pytest.param(EMBEDDINGS, EMBEDDINGS, False, id="one way"),
        pytest.param("", "fuzzy_match", False, id="only one compares texts"),
    ],
)
def test_two_ways_of_comparing_do_not_compare(
    one: str,
    other: str,
    differs: bool,  # noqa: FBT001 - a column of the table above
) -> None:
    assert is_measured_differently(one, other) == is_measured_differently(other, one) == differs
