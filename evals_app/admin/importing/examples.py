"""The bundled examples, loaded and removed from the dashboard."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import get_text_list
from django.views.decorators.http import require_POST

from evals_app.admin.bin.deleting import offer_to_restore
from evals_app.admin.importing.import_changes import count_of_kind
from evals_app.admin.kit.pages import person
from evals_app.admin.kit.presentation import plural
from evals_app.formats.reading.problems import FormatError
from evals_app.library.deleting.written import InUseError
from evals_app.library.importing.examples import EXAMPLES, import_examples
from evals_app.library.importing.file_import import ChangedSinceError, EditedError
from evals_app.library.importing.removing import REMOVED, Removal, plan_removal, remove_examples
from evals_app.library.importing.rights import Rights

_DELETING = (
    *("evals_app.delete_suite", "evals_app.delete_case", "evals_app.delete_agent"),
    *("fixtures_app.delete_fixture", "fixtures_app.delete_entitytype"),
)


def may_load_examples(request: HttpRequest) -> bool:
    """Whether there are examples, and this person may write all of them."""
    return EXAMPLES.is_dir() and Rights.of(request.user).may_add_everything()


@require_POST
def load_examples(request: HttpRequest) -> HttpResponse:
    """Import the examples."""
    if not may_load_examples(request):
        raise PermissionDenied
    try:
        report = import_examples(Rights.of(request.user))
    except EditedError as error:
        messages.error(
            request,
            f"The examples were not loaded because they would replace existing data. {error}",
        )
        return redirect("admin:index")
    except FormatError as error:
        for problem in error.problems:
            messages.error(request, f"The examples were not loaded. {problem.message}")
        return redirect("admin:index")
    suites = sum(change.kind == "suite" for change in report.changes)
    messages.success(
        request,
        format_html(
            '{} loaded. <a class="ew-plain-link" href="{}">Open one</a> and press Run to try it.',
            plural(suites, "example suite"),
            reverse("admin:evals_app_suite_changelist"),
        ),
    )
    return redirect("admin:index")


def may_remove_examples(request: HttpRequest) -> bool:
    """Whether this person may see and delete all that the examples contain."""
    user: Any = request.user
    sees_all = all(map(Rights.of(user).may_see, REMOVED))
    return EXAMPLES.is_dir() and sees_all and user.has_perms(_DELETING)


def examples_to_remove(request: HttpRequest) -> HttpResponse:
    """Show what would be removed and what stays (GET), or remove it (POST)."""
    if not may_remove_examples(request):
        raise PermissionDenied
    try:
        if request.method == "POST":
            removal = remove_examples(person(request), version=request.POST.get("version", ""))
            offer_to_restore(request, removal.deleted, done=_removal_message(removal))
            return redirect("admin:index")
        removal = plan_removal()
    except FormatError as error:
        for problem in error.problems:
            messages.error(request, f"The examples were not removed. {problem.message}")
        return redirect("admin:index")
    except (ChangedSinceError, InUseError):
        messages.error(
            request,
            "The examples were not removed, because one of them has changed meanwhile. This page "
            "now shows the present state.",
        )
        return redirect("admin:evals_app_suite_remove_examples")
    context = admin.site.each_context(request) | {
        "title": "Remove the examples",
        "removal": removal,
        "days": settings.EVALS_KEEP_DELETED_DAYS,
        "groups": [
            (count_of_kind(len(rows), kind), rows) for kind, rows in removal.rows.items() if rows
        ],
    }
    return render(request, "admin/evals_app/importing/remove_examples.html", context)


def _removal_message(removal: Removal) -> str:
    counts = [count_of_kind(len(rows), kind) for kind, rows in removal.rows.items() if rows]
    kept = f" {plural(len(removal.kept), 'example')} kept." if removal.kept else ""
    return (
        f"Removed {get_text_list(counts, 'and')}.{kept}" if counts else f"Nothing to remove.{kept}"
    )
