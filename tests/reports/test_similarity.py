import pytest

from evals_app.reports.similarity import is_measured_differently, similarity_json, stand_in_note

EMBEDDINGS = "embeddings openai/text-embedding-3-small"


@pytest.mark.parametrize(
    ("method", "is_stand_in", "words"),
    [
        pytest.param("fuzzy_match", True, ["shared words"], id="words"),
        pytest.param("semantic_equivalence acme/small", True, ["judge acme/small"], id="a judge"),
        pytest.param(EMBEDDINGS, False, [], id="embeddings"),
        pytest.param("", False, [], id="no texts are compared"),
    ],
)
def test_a_stand_in_for_embeddings_is_named(
    method: str,
    is_stand_in: bool,  # noqa: FBT001 - a column of the table above
    words: list[str],
) -> None:
    run = {"similarity": method, "is_similarity_stand_in": is_stand_in}

    note = stand_in_note(run)

    assert bool(note) == is_stand_in
    assert all(word in note for word in words)
    told = {"method": method, "is_stand_in": is_stand_in}
    assert similarity_json(run) == (told if method else None)


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
