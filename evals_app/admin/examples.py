"""The bundled examples, loaded from the dashboard."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html

from evals_app.admin.presentation import plural
from evals_app.formats.problems import FormatError
from evals_app.library.examples import EXAMPLES, import_examples
from evals_app.library.files import EditedError
from evals_app.library.rights import Rights


def may_load_examples(request: HttpRequest) -> bool:
    """Whether there are examples, and this person may write all their parts."""
    return EXAMPLES.is_dir() and Rights.of(request.user).may_add_everything()


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
            '{} loaded. <a class="ts-plain-link" href="{}">Open one</a> and press Run to try it.',
            plural(suites, "example suite"),
            reverse("admin:evals_app_suite_changelist"),
        ),
    )
    return redirect("admin:index")
