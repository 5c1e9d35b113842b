"""Masking as a site wants it: what everyone masks, and its own patterns."""

import re
from typing import TYPE_CHECKING

from evals_app.models import MaskingPattern
from fixtures_app.ground.patterns import find_all, pattern_problem

if TYPE_CHECKING:
    from evals_app.formats.masking.masker import Masker

MAX_PATTERNS = 50  # each is looked for in every text
_NAME = re.compile(r"[^\W_]+(?:[ -][^\W_]+)*")


def site_masker() -> "Masker":
    """Return what masks conversations, with the patterns that are enabled."""
    # Not above: a process that imports nothing would load what knows phone numbers.
    from evals_app.formats.masking.masker import Masker  # noqa: PLC0415

    rows = MaskingPattern.objects.filter(is_enabled=True).order_by("pk")
    return Masker(dict(rows.values_list("name", "pattern")))


def masked_sample(text: str, *, name: str, pattern: str) -> tuple[str, int]:
    """Return a text as it would be masked with one pattern more, and how often that was found."""
    masker = site_masker()
    masker = type(masker)({**masker.patterns, name: pattern})
    return masker.of_text(text), masker.counts[name]


def problem_of_name(name: str) -> str:
    """Return why a name cannot be the word in a mask; empty if it can."""
    if _NAME.fullmatch(name):
        return ""
    return "A name has letters, digits, single spaces and hyphens: it becomes the word in the mask."


def problem_of_pattern(pattern: str) -> str:
    """Return why nothing can be masked by a pattern; empty if it can."""
    if problem := pattern_problem(pattern):
        return problem
    return (
        "The pattern matches an empty text. Write what must be there."
        if find_all(pattern, "")
        else ""
    )
