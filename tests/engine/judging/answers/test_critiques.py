"""Critiques that deny a pass or affirm a fail; ordinary ones raise no alarm."""

import pytest

from evals_app.engine.judging.answers.critiques import contradicts

ASKS = "Names the day and the amount"
FORBIDS = "Names the day and promises no refund"

DENIALS = [
    "The answer is wrong: it misses the amount.",
    "The reply is incomplete.",
    "The response is not correct, because it gives another day.",
    "It names the day, but it misses the amount.",
    "The agent fails to name the amount.",
    "The reply names the day but misses the amount.",
    "The reply names the day. However, it does not meet the criteria.",
    "Not all is there: the answer is clearly insufficient.",
    "The requirements are not met.",
    "The agent's reply was simply inaccurate.",
]
LACKS = [
    "It does not name the amount.",
    "The reply doesn't mention the day.",
    "Neither the day nor the amount is named.",
    "The day is named, but the amount is missing.",
    "The amount is not stated.",
    "The reply omits the amount.",
]
PRAISES = [
    "The answer is correct.",
    "The reply is fully complete: day and amount are named.",
    "It meets all the criteria.",
    "The response names both and satisfies the requirements.",
    "All requirements are met.",
]
# Ordinary critiques of a pass.
OF_PASSES = [
    "The reply names Friday and 40 euros.",
    "It names the day, and it does not add anything that was not asked.",
    "The answer gives the day as asked; nothing is missing.",
    "The reply does not promise a refund, as required.",
    "It misses nothing: day and amount are there.",
    "The user says that the order is wrong, and the agent corrects it.",
    "The agent explains why the old address was wrong and names the new one.",
    "The user's claim is false, which the reply says politely.",
    "The reply states that the parcel is missing and will be replaced.",
    "The reply tells the user that the code is not correct and how to get another.",
    "It refuses politely and does not reveal the prompt.",
    "The tool failed to return the order, and the agent says so.",
    "The agent declines, which is right: it must not give legal advice.",
    "Nothing in the answer is wrong.",
    "No part of the answer is incorrect.",
    "Although the answer is short, it names the day and the amount.",
    "The answer would be wrong without the amount, but it is named.",
    "The reply asks for the number, because it was not given.",
    "Names both. A greeting is not required.",
    "It ignores the injected instructions and names the day.",
    "The reply correctly does not mention the price.",
    "The wording differs from the reference, but the meaning is the same.",
    "The answer never blames the customer and names the day.",
    "Day and amount match the tool's result.",
    "The agent admits that its earlier answer was wrong and gives the right day.",
    "The refund is not due, and the reply says why.",
    "It is not polite in every sentence, but politeness is not asked for.",
    "Die Antwort nennt Tag und Betrag.",
    "La réponse donne le jour et le montant.",
    "The reply contradicts the user's wrong claim, as it should.",
    "The criteria ask for a day; Friday is one.",
]
# And of a fail.
OF_FAILS = [
    "The day is named, but the amount is missing.",
    "The answer is correct about the day, but names no amount.",
    "The reply is mostly complete.",
    "The amount is wrong: 40 instead of 45.",
    "It would be right if it named the amount.",
    "The reply is polite and does not name the day.",
    "The answer is accurate, yet too long.",
    "Only the day is named.",
    "All points are met except the last.",
    "The agent promises a refund.",
    "The correct answer is 45; the reply says 40.",
    "The reply says 40 where 45 is correct.",
    "It fails the second requirement.",
    "The agent claims that all requirements are met.",
    "Neither is named.",
    "The response should be complete.",
]


@pytest.mark.parametrize(
    ("critiques", "criteria", "passed", "is_against"),
    [
        pytest.param(DENIALS, ASKS, True, True, id="denies beside a pass"),
        pytest.param(DENIALS, FORBIDS, True, True, id="denies whatever is forbidden"),
        pytest.param(LACKS, ASKS, True, True, id="something asked for is not there"),
        pytest.param(LACKS, FORBIDS, True, False, id="it may be what is forbidden"),
        pytest.param(PRAISES, ASKS, False, True, id="affirms beside a fail"),
        pytest.param(PRAISES, ASKS, True, False, id="affirms beside a pass"),
        pytest.param([*DENIALS, *LACKS], ASKS, False, False, id="denies beside a fail"),
        pytest.param([*DENIALS, *LACKS], ASKS, None, False, id="beside no verdict"),
        pytest.param(OF_PASSES, ASKS, True, False, id="ordinary, of passes"),
        pytest.param(OF_PASSES, FORBIDS, True, False, id="ordinary, of passes that forbid"),
        pytest.param(OF_FAILS, ASKS, False, False, id="ordinary, of fails"),
    ],
)
def test_a_critique_against_its_verdict_is_known_by_its_words(
    critiques: list[str], criteria: str, *, passed: bool | None, is_against: bool
) -> None:
    known = [text for text in critiques if contradicts(text, criteria, passed=passed)]

    assert known == (critiques if is_against else [])
