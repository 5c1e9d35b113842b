"""Critiques that say the opposite of their verdict: "The answer is wrong", next to a pass.

Words of English only, and only of main clauses about the answer as a whole, so that ordinary
critiques raise no alarm. A match raises a doubt; it never decides.
"""

import re
from collections.abc import Iterator

from evals_app.engine.judging.text.languages import is_conditional, is_forbidding

_SENTENCE = re.compile(r"(?<=[.!?;:])\s+")
_CLAUSE = re.compile(
    r",?\s+(?:but|however|yet|and|so)\s+|,\s+(?:because|since|as)\s+|^(?:but|however|yet|unfortunately),?\s+",
    re.IGNORECASE,
)
# "It does not name the price, as required": this is not a fault.
_EXCUSE = re.compile(
    r"\b(?:as (?:required|asked|expected|intended|instructed|demanded|it should|forbidden)"
    r"|not (?:required|needed|necessary|asked|requested|expected|demanded)"
    r"|which is (?:right|fine|allowed|correct|what)|rightly|correctly|properly|appropriately"
    r"|forbids?|forbidden|prohibit\w*|must not|should not|need not|required by|optional)\b",
    re.IGNORECASE,
)

_ANSWER = (
    r"(?:(?:the|this|its|that) )?(?:(?:agent|assistant|model)['\u2019]s )?(?:final |last )?"
    r"(?:answer|reply|response|submission|output|message|agent|assistant)"
)
_SUBJECT = rf"(?:{_ANSWER}|it|this|he|she|they)"
_ADVERB = r"(?: (?:\w+ly|also|still|just|quite|very|thus|therefore))?"
_IS = r"(?:is|are|was|were)"
_NOT = r"(?: not|n['\u2019]t)"
_YARDSTICK = r"(?:(?:all|every|each|any|any of|all of) )?(?:(?:the|its|their) )?(?:stated |given )?(?:criteria|criterion|requirements?)"

_FAULT = re.compile(
    rf"(?:{_ANSWER} {_IS}{_ADVERB} (?:wrong|incorrect|inaccurate|false|mistaken|incomplete|insufficient"
    r"|inadequate|unacceptable|irrelevant|not (?:correct|right|accurate|complete|enough|sufficient"
    r"|adequate|acceptable))\b"
    rf"|(?:{_SUBJECT}{_ADVERB} )?(?:misses|missed|fails to|failed to|violates|violated)\b"
    r"(?! (?:no|none|nothing)\b)"
    rf"|{_SUBJECT} (?:does|did|do){_NOT}{_ADVERB} (?:meet|satisfy|fulfil|fulfill)\b"
    rf"|{_YARDSTICK} {_IS}{_NOT}{_ADVERB} (?:met|satisfied|fulfilled)\b)",
    re.IGNORECASE,
)
# These are a fault only where the criteria forbid nothing: there, they may be what is wanted.
_SAY = r"name|mention|state|say|give|provide|include|contain|explain|tell|list|specify|offer|answer|address"
_SAID = r"named|mentioned|stated|given|said|provided|included|answered|addressed|explained|listed"
_LACK = re.compile(
    rf"(?:{_SUBJECT} (?:does|did|do){_NOT}{_ADVERB} (?:{_SAY})\b"
    rf"|{_SUBJECT}{_ADVERB} (?:omits|omitted|lacks|lacked|leaves out|left out)\b(?! (?:no|none|nothing)\b)"
    rf"|(?:the|its|a|an) \w+(?: \w+)? {_IS} (?:missing|not{_ADVERB} (?:{_SAID}))\b"
    rf"|neither (?:\w+ ){{1,4}}nor (?:\w+ ){{1,4}}{_IS}{_ADVERB} (?:{_SAID}|met)\b)",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    rf"(?:{_ANSWER} {_IS}{_ADVERB} (?:correct|right|accurate|complete|acceptable)\b"
    rf"|(?:{_SUBJECT}{_ADVERB} )?(?:meets|met|satisfies|satisfied|fulfils|fulfills) {_YARDSTICK}\b"
    rf"|(?:all|every)(?: of)?(?: the)?(?: stated| given)? (?:criteria|criterion|requirements?|points) {_IS}{_ADVERB} (?:met|satisfied|fulfilled)\b)",
    re.IGNORECASE,
)
_LIMITED = re.compile(
    r"\b(?:but|however|although|though|while|whereas|except|only|instead|yet|if|no|not|never|none"
    r"|nothing|neither|without|missing|misses|lacks|fails|wrong|incorrect|incomplete|unclear|partly"
    r"|partially|mostly|too|should|would)\b|n['\u2019]t\b",
    re.IGNORECASE,
)


def contradicts(critique: str, criteria: str, *, passed: bool | None) -> bool:
    """Return whether a critique plainly says the opposite of the verdict that it explains."""
    if passed is None:
        return False
    if passed:
        return _denies(critique, may_lack=is_forbidding(criteria) or is_conditional(criteria))
    return not _LIMITED.search(critique) and any(map(_PRAISE.match, _clauses(critique)))


def _denies(critique: str, *, may_lack: bool) -> bool:
    faults = [_FAULT] if may_lack else [_FAULT, _LACK]
    return any(fault.match(clause) for clause in _clauses(critique) for fault in faults)


def _clauses(critique: str) -> Iterator[str]:
    """Yield the main clauses of sentences that excuse nothing."""
    for sentence in _SENTENCE.split(" ".join(critique.split())):
        if not _EXCUSE.search(sentence):
            yield from filter(None, _CLAUSE.split(sentence))
