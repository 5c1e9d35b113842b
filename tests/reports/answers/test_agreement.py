"""What people read of how far a judge agrees with them."""

import pytest

from evals_app.engine.statistics.agreement import Agreement, Kappa, OnScale
from evals_app.reports.answers.agreement import (
    NOT_COMPARED,
    agreement_in_short,
    agreement_in_words,
    standing_in_words,
)


def words(agreement: Agreement, blind: int | None = None) -> str:
    return " ".join(agreement_in_words(agreement, blind=blind)).replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("agreement", "least", "sentence"),
    [
        pytest.param(Agreement(), None, f"This judge was {NOT_COMPARED}.", id="none"),
        pytest.param(
            Agreement(5, 1, 0, 2), None, "Only 8 answers checked: too few to say.", id="8"
        ),
        pytest.param(
            Agreement(16, 3, 8, 3),
            None,
            "Worse than always saying “pass”: do not let it decide.",
            id="worse",
        ),
        pytest.param(
            Agreement(2, 5, 2, 30),
            None,
            "Worse than always saying “fail”: do not let it decide.",
            id="worse than failing everything",
        ),
        pytest.param(
            Agreement(38, 2),
            None,
            "No better than always saying “pass”: do not let it decide.",
            id="always passes",
        ),
        pytest.param(
            Agreement(30, 3, 2, 15),
            None,
            "Agrees with people in 45 of 50 answers (90 %, 79 to 96 %): may decide.",
            id="may decide",
        ),
        pytest.param(
            Agreement(28, 8, 4, 10),
            0.8,
            "Agrees with people in 38 of 50 answers (76 %, 63 to 86 %), and the suite asks for"
            " 80 %: it only informs.",
            id="the suite asks for more",
        ),
        pytest.param(
            Agreement(20),
            0.8,
            "Agrees with people in 20 of 20 answers (100 %, 84 to 100 %): may decide.",
            id="people passed all",
        ),
    ],
)
def test_the_first_sentence_says_whether_the_judge_may_decide(
    agreement: Agreement, least: float | None, sentence: str
) -> None:
    first, *_ = agreement_in_words(agreement, least=least)

    assert first.replace("\u00a0", " ") == sentence
    assert first == standing_in_words(agreement, least=least)[0]


@pytest.mark.parametrize(
    ("agreement", "has", "has_not"),
    [
        pytest.param(Agreement(), [NOT_COMPARED], ["%"], id="none"),
        pytest.param(
            Agreement(1),
            ["1 answer ", "20 are needed", "People failed none"],
            ["Kappa", "1 answers"],
            id="one",
        ),
        pytest.param(Agreement(15, 0, 0, 4), ["few"], ["Kappa"], id="19 have no kappa"),
        pytest.param(Agreement(15, 0, 0, 5), ["Kappa 1.00"], ["few"], id="20 have one"),
        (Agreement(28, 4, 2, 6), ["6 of 10 failures", "28 of the 30", "would agree in 30"], []),
        pytest.param(Agreement(40), ["passed all", "notices failures"], ["Kappa"], id="no failure"),
        pytest.param(Agreement(0, 0, 0, 40), ["failed all", "good answers"], [], id="no pass"),
        pytest.param(Agreement(39, 0, 1), ["People failed none"], [], id="no failure, and worse"),
        pytest.param(Agreement(0, 1, 0, 39), ["People passed none"], [], id="no pass, and worse"),
        pytest.param(Agreement(38, 2), ["38 of 40", "would in 38"], [], id="always passes"),
        pytest.param(
            Agreement(0, 1), ["0 of 1 answer "], ["always saying"], id="too few to say so"
        ),
        pytest.param(Agreement(2, 6, 4, 28), ["saying “fail” would in 34"], [], id="mostly failed"),
        pytest.param(
            Agreement(20, on_scale=OnScale("1-5", 20, 12, 6, Kappa(0.7, (0.5, 0.9)))),
            ["1-5", "12 of 20", "6 more", "0.70", "0.50 and 0.90"],
            [],
            id="on a scale",
        ),
    ],
)
def test_the_sentences_say_what_the_numbers_mean(
    agreement: Agreement, has: list[str], has_not: list[str]
) -> None:
    text = words(agreement)

    assert [part for part in has if part not in text] == []
    assert [part for part in has_not if part in text] == []


@pytest.mark.parametrize(
    ("blind", "words_on_it"),
    [(None, ""), (40, ""), (12, "In 28 of 40 answers"), (0, "People saw")],
    ids=str,
)
def test_labels_given_after_seeing_the_judge_are_named(blind: int | None, words_on_it: str) -> None:
    text = words(Agreement(40), blind)

    assert ("saw the judge" in text) is bool(words_on_it)
    assert words_on_it in text


@pytest.mark.parametrize(
    ("agreement", "text"),
    [(Agreement(), NOT_COMPARED), (Agreement(28, 4, 2, 6), "agrees with people in 34 of 40")],
    ids=["none", "forty"],
)
def test_in_short(agreement: Agreement, text: str) -> None:
    assert agreement_in_short(agreement) == text
