import pytest

from evals_app.engine.graders.measures.remembered import cached_by_word


@pytest.mark.parametrize(
    ("word", "times"),
    [
        pytest.param("refund", 1, id="word"),
        pytest.param("", 1, id="empty"),
        pytest.param("x" * 25, 2, id="long"),
    ],
)
def test_a_word_is_found_out_once_unless_it_is_long(word: str, times: int) -> None:
    asked = []

    @cached_by_word
    def upper(word: str) -> str:
        asked.append(word)
        return word.upper()

    assert [upper(word), upper(word)] == [word.upper()] * 2
    assert len(asked) == times


def test_the_memory_is_bounded() -> None:
    asked = []

    @cached_by_word
    def size(word: str) -> int:
        asked.append(word)
        return len(word)

    for number in range(50_000):
        assert size(str(number)) == len(str(number))
    size("49999")
    size("0")

    assert len(asked) == 50_001
