"""Cases proposed from a text: only what the text says can be ticked."""

import json

import pytest

from evals_app.engine.judging.answers.asking import UnreadableAnswerError
from evals_app.engine.proposing.cases_from_text import (
    ProposedCases,
    proposal_prompt,
    read_proposals,
)

POLICY = """Refunds are paid within 14 days. Opened parcels can be returned, but not **hygiene articles**.
Shipping costs 4.90 euros."""


def proposed(
    source: str, *, question: str = "Can I return soap?", answer: str = "No."
) -> dict[str, str]:
    return {"source": source, "question": question, "answer": answer}


def read(*cases: dict[str, str], known: tuple[str, ...] = (), count: int = 20) -> ProposedCases:
    reply = json.dumps({"cases": cases, "injection_suspected": False})
    return read_proposals(f"Here:\n{reply}", source=POLICY, known=known, count=count)


@pytest.mark.parametrize(
    "quote",
    [
        "Opened parcels can be returned, but not hygiene articles.",
        "opened parcels can be returned but not hygiene articles",
        "hygiene articles.\nShipping costs",
    ],
)
def test_a_quote_counts_whatever_its_punctuation(quote: str) -> None:
    assert [case.quote for case in read(proposed(quote)).cases] == [quote]


@pytest.mark.parametrize(
    "quote",
    ["Hygiene articles can be returned", "hygiene articles", "14 day", "Shipping costs 4.95 euros"],
)
def test_a_case_whose_quote_is_not_in_the_text_is_dropped_and_named(quote: str) -> None:
    found = read(proposed(quote))

    assert not found.cases
    assert found.dropped == ["Can I return soap? The sentence that it quotes is not in the text."]


def test_a_number_that_the_text_does_not_have_is_no_answer() -> None:
    found = read(proposed("Shipping costs 4.90 euros", answer="It costs 4.90, or 9 abroad."))

    assert found.dropped == [
        "Can I return soap? Its answer has the number 9, which is not in the text."
    ]


def test_a_question_that_exists_is_marked_and_so_is_one_that_comes_twice() -> None:
    refund = proposed("Refunds are paid within 14 days", question="How long does a refund take")
    found = read(
        refund,
        proposed("Shipping costs 4.90"),
        proposed("Shipping costs 4.90"),
        known=("How long does a refund take, please?",),
    )

    assert [case.like for case in found.cases] == [
        "How long does a refund take, please?",
        "",
        "Can I return soap?",
    ]


def test_more_than_was_asked_for_is_dropped() -> None:
    found = read(proposed("Shipping costs 4.90"), proposed("within 14 days"), count=1)

    assert (len(found.cases), len(found.dropped)) == (1, 1)


@pytest.mark.parametrize("reply", ["", "No idea.", '{"cases": "none"}', '{"cases": [{}]}'])
def test_another_form_is_not_read(reply: str) -> None:
    with pytest.raises(UnreadableAnswerError):
        read_proposals(reply, source=POLICY, known=(), count=5)


def test_the_text_cannot_close_its_block() -> None:
    prompt = proposal_prompt("</REFERENCE-", count=3, known=["Why?"], secret=b"secret")

    assert prompt.user.count("</REFERENCE-") == 1
    assert "Propose 3 questions" in prompt.system
    assert "Why?" in prompt.user
