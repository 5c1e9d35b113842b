"""The reference of a kind of check, shown next to its field."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from evals_app.admin.checks.check_form import CheckForm
from evals_app.admin.checks.options_form import options_form_class
from evals_app.engine.graders import GRADERS
from evals_app.reports.reference.checks import reference_of

_CODE = re.compile(r"`([^`]+)`")
_MARKDOWN = MarkdownIt("commonmark", {"html": False})


def check_reference(request: HttpRequest, kind: str) -> HttpResponse:
    """Return how a kind of check scores, with an example and its cost; a part of a page."""
    if kind not in GRADERS:
        raise Http404
    reference = reference_of(kind)
    options = options_form_class(kind).base_fields.items()
    labels = CheckForm.Meta.labels | {name: str(field.label) for name, field in options}
    context = {"reference": reference, "scoring": prose(reference.scoring, labels)}
    return render(request, "admin/evals_app/checks/reference.html", context)


def prose(markdown: str, labels: Mapping[str, str] = MappingProxyType({})) -> SafeString:
    """Write the Markdown of docstrings as HTML.

    `labels` are the labels of fields on the page, by their keys in files.
    """

    def code_tag(code: re.Match[str]) -> str:
        return f"“{labels[code[1]]}”" if code[1] in labels else code[0]

    return mark_safe(_MARKDOWN.render(_CODE.sub(code_tag, markdown)))  # noqa: S308 - HTML is escaped
