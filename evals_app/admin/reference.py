"""What a kind of check does, beside the field in which it is chosen."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from evals_app.admin.checks import CheckForm
from evals_app.admin.options_form import options_form_class
from evals_app.engine.graders import GRADERS
from evals_app.reports.assertions import reference_of

_BULLET = re.compile(r"\n(?=\* )")
_CODE = re.compile(r"(`[^`]+`)")


def check_reference(request: HttpRequest, kind: str) -> HttpResponse:
    """Show how a kind of check scores, an example of it and what it costs; a part of a page."""
    if kind not in GRADERS:
        raise Http404
    reference = reference_of(kind)
    fields = {**CheckForm.base_fields, **options_form_class(kind).base_fields}
    labels = {name: str(field.label or "") for name, field in fields.items()}
    context = {"reference": reference, "scoring": prose(reference.scoring, labels)}
    return render(request, "admin/evals_app/check_reference.html", context)


def prose(markdown: str, labels: Mapping[str, str] = MappingProxyType({})) -> SafeString:
    """Write the little Markdown of docstrings as HTML: paragraphs, lists of one level, code.

    `labels` are what fields are called on the page, by the keys that files have for them.
    """
    return format_html_join("\n", "{}", ((block,) for block in _blocks(markdown, labels)))


def _blocks(markdown: str, labels: Mapping[str, str]) -> Iterator[SafeString]:
    for block in filter(None, (part.strip() for part in markdown.split("\n\n"))):
        before, *bullets = _BULLET.split(f"\n{block}")
        if before.strip():
            yield format_html("<p>{}</p>", _inline(before, labels))
        if bullets:
            items = ((_inline(bullet.removeprefix("* "), labels),) for bullet in bullets)
            yield format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", items))


def _inline(text: str, labels: Mapping[str, str]) -> SafeString:
    pieces = _CODE.split(" ".join(text.split()))
    return mark_safe("".join(_piece(each, labels) for each in pieces))  # noqa: S308 - all escaped


def _piece(piece: str, labels: Mapping[str, str]) -> str:
    if not _CODE.fullmatch(piece):
        return conditional_escape(piece)
    code = piece.strip("`")
    if label := labels.get(code):
        return format_html("“{}”", label)
    return format_html("<code>{}</code>", code)
