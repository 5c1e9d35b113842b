"""The expected grade of a reply, from how likely its model thought each grade.

Source: Liu et al., G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment (2023), eq. 1.
"""

import math
import re
from collections.abc import Sequence

from evals_app.engine.llm.call import TokenLogprob

_MIN_MASS = 0.5
_SCORE_KEY = re.compile(r'"score"\s*:\s*')


def grade_probabilities(
    text: str, logprobs: Sequence[TokenLogprob], *, written: float | str, grades: range
) -> dict[int, float] | None:
    """Return the probability of each of the grades at the last `"score":`, unscaled.

    None if it is not the grade that was `written`, if the tokens do not cover that place, or
    if less than half of the mass is on grades.
    """
    place = _place_of_score(text)
    token = score_token(text, logprobs)
    if place is None or token is None or not text.startswith(str(written), place):
        return None
    by_word = {str(grade): grade for grade in grades}
    masses: dict[int, float] = {}
    # The token that was written need not be among the alternatives.
    for word, logprob in {token.token: token.logprob, **dict(token.top)}.items():
        grade = by_word.get(word.strip())
        if grade is not None:
            # In this order NaN fails the comparison.
            masses[grade] = masses.get(grade, 0.0) + math.exp(min(logprob, 0.0))
    return masses if sum(masses.values()) >= _MIN_MASS else None


def score_token(text: str, logprobs: Sequence[TokenLogprob]) -> TokenLogprob | None:
    """Return the token in which the last score begins; None if it is not known."""
    place = _place_of_score(text)
    if place is None:
        return None
    return next((token for token in logprobs if _covers(token, place)), None)


def _place_of_score(text: str) -> int | None:
    places = [key.end() for key in _SCORE_KEY.finditer(text)]
    return places[-1] if places else None


def _covers(token: TokenLogprob, place: int) -> bool:
    return token.offset <= place < token.offset + len(token.token)


def expected_grade(probabilities: dict[int, float]) -> float:
    """Return sum(p * grade) / sum(p)."""
    mass = sum(probabilities.values())
    return sum(p * grade for grade, p in probabilities.items()) / mass
