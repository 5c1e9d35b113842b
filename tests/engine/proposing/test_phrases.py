"""The phrases by which people recognise a reply."""

import pytest

from evals_app.engine.proposing.phrases import MAX_PHRASES, phrases_of


@pytest.mark.parametrize(
    ("reply", "phrases"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param(
            "That comes to 24.50 EUR, which we refund to you within 30 days of today.",
            ["24.50", "30"],
            id="numbers",
        ),
        ("You can choose one of 2, and nothing else is there, sadly, to choose from.", []),
        pytest.param(
            "I have cancelled order A-1042, and you can follow it as #77812 on the usual page.",
            ["A-1042", "#77812"],
            id="ids",
        ),
        pytest.param(
            "We meet on 2026-05-04 at 14:30, or if you would rather have it on May 5, 2026.",
            ["2026-05-04", "14:30", "May 5, 2026"],
            id="dates and times",
        ),
        pytest.param(
            "Hello! Your teacher is Ada Lovelace, who comes from London to every lesson.",
            ["Ada Lovelace", "London"],
            id="names, but no beginnings of sentences",
        ),
        pytest.param(
            "The page says “not available”, so please write to help@example.org about it then.",
            ["not available", "help@example.org"],
            id="quotes and addresses",
        ),
        pytest.param(
            "It is **24.50** in bold, and again 24.50, as the price list of the shop says.",
            ["24.50"],
            id="once",
        ),
        pytest.param("pong", ["pong"], id="a short reply as a whole"),
    ],
)
def test_short_distinctive_phrases_are_found(reply: str, phrases: list[str]) -> None:
    assert [phrase.text for phrase in phrases_of(reply)] == phrases


def test_of_many_phrases_the_most_distinctive_are_kept_in_their_order() -> None:
    names = " and ".join(f"with {name}" for name in ("Berta", "Carlo", "Dunja", "Emilio", "Fiona"))
    phrases = [phrase.text for phrase in phrases_of(f"We met {names}, code X-77, for 24.50 or 80.")]

    assert len(phrases) == MAX_PHRASES
    assert phrases[-3:] == ["X-77", "24.50", "80"]
