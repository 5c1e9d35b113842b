"""The cells of lists: a first line and quiet ones below it, and a bar of cases."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evals_app.reports.words.shares import CASE_COUNTS
from fixtures_app.editing.markup import segment_bar

_ENDS = (("good", "passed"), ("bad", "failed"), ("warn", "not graded"))  # as CASE_COUNTS


def two_lines(first: str, *below: str) -> SafeString:
    """Return a line, and a quiet one for each other text that is not empty."""
    quiet = format_html_join("", "<small>{}</small>", ((line,) for line in below if line))
    return format_html('<div class="ew-two">{}{}</div>', first, quiet)


def bar_of_cases(run: object) -> SafeString | str:
    """Return a bar of how the cases of a run ended, loaded `with_pass_rates`; empty without results."""
    numbers = [getattr(run, column) or 0 for column in CASE_COUNTS]
    if not any(numbers):
        return ""
    ends = [(tone, number, word) for (tone, word), number in zip(_ENDS, numbers, strict=True)]
    label = ", ".join(f"{number:,} {word}" for _, number, word in ends if number)
    return segment_bar([(tone, number) for tone, number, _ in ends], label)
