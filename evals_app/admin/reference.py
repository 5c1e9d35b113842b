"""What a kind of check does, beside the field in which it is chosen."""

import re
from collections.abc import Iterator

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from evals_app.engine.graders import GRADERS
from evals_app.reports.assertions import reference_of

_BULLET = re.compile(r"\n(?=\* )")
_CODE = re.compile(r"(`[^`]+`)")


def check_reference(request: HttpRequest, kind: str) -> HttpResponse:
    """Show how a kind of check scores, an example of it and what it costs; a part of a page."""
    if kind not in GRADERS:
        raise Http404
    reference = reference_of(kind)
    context = {"reference": reference, "scoring": prose(reference.scoring)}
    return render(request, "admin/evals_app/check_reference.html", context)


def prose(markdown: str) -> SafeString:
    """Write the little Markdown of docstrings as HTML: paragraphs, lists of one level, code."""
    return format_html_join("\n", "{}", ((block,) for block in _blocks(markdown)))


def _blocks(markdown: str) -> Iterator[SafeString]:
    for block in filter(None, (part.strip() for part in markdown.split("\n\n"))):
        before, *bullets = _BULLET.split(f"\n{block}")
        if before.strip():
            yield format_html("<p>{}</p>", _inline(before))
        if bullets:
            items = ((_inline(bullet.removeprefix("* ")),) for bullet in bullets)
            yield format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", items))


def _inline(text: str) -> SafeString:
    pieces = _CODE.split(" ".join(text.split()))
    return mark_safe(  # noqa: S308 - every piece is escaped
        "".join(
            format_html("<code>{}</code>", piece.strip("`"))
            if _CODE.fullmatch(piece)
            else conditional_escape(piece)
            for piece in pieces
        )
    )
