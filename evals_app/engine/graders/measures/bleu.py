"""BLEU of a single reply: runs of one to four words that are also in the expected text.

Cut into words as by mteval-v13a, smoothed as by NIST; the values are those of sacreBLEU's
`sentence_bleu`, with which the tests compare.

Source: Papineni et al., BLEU, ACL 2002; Post, A Call for Clarity in Reporting BLEU Scores, WMT 2018.
"""

import math
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from evals_app.engine.graders.measures.bags import Overlap, overlap
from evals_app.engine.graders.measures.remembered import cached_by_word

_MAX_RUN = 4

_ALONE = str.maketrans({sign: f" {sign} " for sign in set(string.punctuation) - set("'-,.")})
_BEHIND_NO_DIGIT = re.compile(r"([^0-9])([.,])")
_BEFORE_NO_DIGIT = re.compile(r"([.,])([^0-9])")
_DASH = re.compile(r"([0-9])-")


@dataclass(frozen=True, slots=True)
class BleuCounts:
    """The counts behind a score: `shared` counts words, pairs, triples and quadruples."""

    score: float
    brevity_penalty: float
    shared: tuple[Overlap, ...]


def words(text: str) -> list[str]:
    """Return words and signs; period and comma belong to a number between its digits."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "")
    if "&" in text:
        for name, sign in (("quot", '"'), ("amp", "&"), ("lt", "<"), ("gt", ">")):
            text = text.replace(f"&{name};", sign)
    tokens: list[str] = []
    for piece in text.split():
        if piece.isalnum():
            tokens.append(piece)
        else:
            tokens += _cut(piece)
    return tokens


@cached_by_word
def _cut(piece: str) -> list[str]:
    piece = _BEHIND_NO_DIGIT.sub(r"\1 \2 ", f" {piece} ".translate(_ALONE))
    piece = _BEFORE_NO_DIGIT.sub(r" \1 \2", piece)
    return _DASH.sub(r"\1 - ", piece).split()


def bleu(reply: str, expected: str) -> BleuCounts:
    """Compare a reply with the expected text; the order matters."""
    given, wanted = words(reply), words(expected)
    lengths = range(1, min(_MAX_RUN, len(given)) + 1)
    shared = tuple(overlap(given, wanted, run=length) for length in lengths)
    penalty = 1.0
    if len(given) < len(wanted):
        penalty = math.exp(1 - len(wanted) / len(given)) if given else 0.0
    score = penalty * math.exp(_mean_log(shared)) if shared and shared[0].shared else 0.0
    return BleuCounts(score, penalty, shared)


def _mean_log(shared: Sequence[Overlap]) -> float:
    """Average the logarithms; where nothing is shared, a half counts, then a quarter, and so on."""
    smoothing = 1.0
    total = 0.0
    for runs in shared:
        if not runs.shared:
            smoothing /= 2
        total += math.log((runs.shared or smoothing) / runs.in_reply)
    return total / len(shared)
