"""What people read of how far a judge agrees with them."""

import pytest

from evals_app.engine.statistics.agreement import Agreement, Kappa, OnScale
from evals_app.reports.answers.agreement import (
    NOT_COMPARED,
    agreement_in_short,
    agreement_in_words,
    whole_percent,
)


def words(agreement: Agreement, blind: int | None = None) -> str:
    return " ".join(agreement_in_words(agreement, blind=blind)).replace("\u00a0", " ")


def test_the_number_of_answers_comes_first_and_the_commoner_verdict_beside_the_agreement() -> None:
    sentences = agreement_in_words(Agreement(28, 4, 2, 6))

    first, agreed, beside, *_ = [sentence.replace("\u00a0", " ") for sentence in sentences]
    assert "40" in first
    for part in ("34", "85 %", "71 %", "93 %"):
        assert part in agreed
    assert "75 %" in beside
    assert "passed" in beside


@pytest.mark.parametrize(
    ("agreement", "has", "has_not"),
    [
        pytest.param(Agreement(), [NOT_COMPARED], ["%"], id="none"),
        pytest.param(Agreement(1), ["1 answer.", "100 %"], ["Kappa", "1 answers"], id="one"),
        pytest.param(Agreement(15, 0, 0, 4), ["few"], ["Kappa"], id="19 have no kappa"),
        pytest.param(Agreement(15, 0, 0, 5), ["Kappa 1.00"], ["few"], id="20 have one"),
        (Agreement(28, 4, 2, 6), ["6 of 10 failures", "28 of the 30"], []),
        pytest.param(Agreement(40), ["People failed none"], ["Kappa"], id="no failure"),
        pytest.param(Agreement(0, 0, 0, 40), ["People passed none"], [], id="no pass"),
        pytest.param(Agreement(38, 2), ["just as much", "of no use"], [], id="always passes"),
        pytest.param(Agreement(20, 10, 10, 0), ["more, so"], [], id="worse than always passing"),
        pytest.param(Agreement(0, 1), ["100 %, more."], ["of no use"], id="too few to say so"),
        pytest.param(Agreement(2, 6, 4, 28), ["always says “failed”"], [], id="mostly failed"),
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


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (0.001, "1 %"), (0.5, "50 %"), (0.999, "99 %"), (1, "100 %")]
)
def test_only_what_is_exactly_nothing_or_all_reads_so(share: float, text: str) -> None:
    assert whole_percent(share).replace("\u00a0", " ") == text
