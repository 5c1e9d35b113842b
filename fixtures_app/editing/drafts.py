"""Drafts: unsaved text, kept by the browser (fixtures_app/drafts.js).

The browser sends a draft like a save, with `_restore`. The answer is the page as after an error, but
without errors: a draft may be incomplete.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.forms.utils import ErrorDict, ErrorList
from django.http import HttpRequest, HttpResponse

ID, RESTORE = "_draft", "_restore"
SAVED = "saved_draft"  # the cookie that names the draft to remove
_AN_ID = re.compile(r"[a-z0-9.]{1,40}")


def is_restored(posted: Mapping[str, object]) -> bool:
    """Whether the request asks for the page with a draft in its form."""
    return RESTORE in posted


def forget_errors(form: Any, formsets: Sequence[object]) -> None:
    """Show a form and its rows as if not submitted yet."""
    form._errors = ErrorDict()  # noqa: SLF001 - Django has no other way to take errors back
    for formset in formsets:
        _forget_errors_of_rows(formset)


def _forget_errors_of_rows(formset: Any) -> None:
    formset._non_form_errors = ErrorList()  # noqa: SLF001 - as above
    for row in formset.rows:
        for part in row.parts:
            forget_errors(part, [])
        for nested in getattr(row, "nested_formsets", []):
            _forget_errors_of_rows(nested.formset)


def note_saved(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Tell the browser which draft has been saved."""
    draft = request.POST.get(ID, "")
    is_saved = 300 <= response.status_code < 400  # noqa: PLR2004 - a redirect
    if is_saved and _AN_ID.fullmatch(draft):
        response.set_cookie(SAVED, draft, samesite="Lax", secure=request.is_secure())
    return response
