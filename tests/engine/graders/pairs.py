"""Pairs of texts: eleven whose scores are known, and as many generated ones as a test asks for."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Reference:
    """A reply, the expected text, and the scores to reach within 5e-5."""

    reply: str
    expected: str
    bleu: float
    rouge1: float
    rouge2: float
    rouge_l: float
    meteor: float
    token_f1: float
    fuzzy_match: float


TOLERANCE = 5e-5
REFERENCES = (
    Reference(
        "The cat sat on the mat",
        "The cat is on the mat",
        *(0.3799, 0.8333, 0.6000, 0.8333, 0.8067, 0.7500, 0.6667),
    ),
    Reference(
        "The automobile is red",
        "The car is red",
        *(0.3536, 0.7500, 0.3333, 0.7500, 0.6389, 0.6667, 0.6000),
    ),
    Reference("60.94", "60.94", *(1, 1, 1, 1, 0.5000, 1, 1)),
    Reference("", "Paris", *(0, 0, 0, 0, 0, 0, 0)),
    Reference(
        "It is a guide to action which ensures that the military always obeys the commands of the"
        " party",
        "It is a guide to action that ensures that the military will forever heed Party commands",
        *(0.4118, 0.7059, 0.5000, 0.6471, 0.6944, 0.7143, 0.6316),
    ),
    Reference(
        "To reset your password, open Settings. Then click Security.",
        "Open Settings, go to Security, and reset the password.",
        *(0.0530, 0.6667, 0.1250, 0.3333, 0.4434, 0.7059, 0.5000),
    ),
    Reference(
        "Founded in 2010 by two engineers",
        "The company was founded in 2010.",
        *(0.1374, 0.5000, 0.4000, 0.5000, 0.4267, 0.5455, 0.3333),
    ),
    Reference(
        "I don't know.",
        "The weighted average was $25.14, up 3.5% from 2005.",
        *(0.0168, 0, 0, 0, 0.0410, 0, 0),
    ),
    Reference(
        "Déjà vu in the café \u2013 東京",
        "deja vu at the cafe in Tokyo",
        *(0.0864, 0.4615, 0, 0.3077, 0.2143, 0.3333, 0.3000),
    ),
    Reference(
        "Refund was approved!! It'll take 3-5 days",
        "Your refund has been approved and takes three to five business days.",
        *(0.0372, 0.2857, 0, 0.2857, 0.1575, 0.3158, 0.1667),
    ),
    Reference(
        "Begin the task quickly",
        "Start the job fast",
        *(0.1597, 0.2500, 0, 0.2500, 0.7361, 0, 0.1429),
    ),
)

_WORDS = """
    the a an The cat cats dog begin began beginning start started commence job jobs task quick
    quickly fast rapid car auto refund refunds refunded refunding skies dying news happily running
    5 3.5 25.14 $25 1,200 -5 3-5 2005 a..5 .,5 5,. don't It's I'll we've cannot gonna 'tis d'ye U.S.
    café Déjà cafe\u0301 東京 Straße re-do x--y ... . , ! ? ( ) [x] "Yes" "No." 'so' ; : # @me & &amp;
    &quot; <skipped> «oui» “well” \u2018it\u2019s\u2019 \u2013 … ``` '' *bold* _x_ a/b x=1
"""


def generated_pairs(count: int, *, seed: int) -> Iterator[tuple[str, str]]:
    """Return a reply and an expected text that share more or less, the same ones for a seed."""
    random, words = Random(seed), _WORDS.split()
    for _ in range(count):
        expected = random.choices(words, k=random.randint(0, 14))
        reply = expected[random.randint(0, len(expected)) :] if random.random() < 0.7 else []
        for _ in range(random.randint(0, 8)):
            reply.insert(random.randint(0, len(reply)), random.choice(words))
        yield random.choice([" ", " ", "\n", "", "-\n"]).join(reply), " ".join(expected)
