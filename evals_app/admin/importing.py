"""The page on which files are imported: chosen, looked through, and saved all or none."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from evals_app.admin.presentation import plural
from evals_app.formats import MAX_BYTES, FormatError, Problem, SourceFile
from evals_app.library import ImportReport, import_files

# An import writes what it finds: objects of all these kinds, old ones too.
_KINDS = (
    "evals_app.{}_suite",
    "evals_app.{}_case",
    "evals_app.{}_agent",
    "evals_app.{}_provider",
    "fixtures_app.{}_fixture",
    "fixtures_app.{}_entitytype",
)
_NO_FILE = Problem("", 0, 0, "", "", "Choose at least one file.")


def may_import(request: HttpRequest) -> bool:
    """Whether this person may write everything that files may hold."""
    return request.user.has_perms(
        [kind.format(action) for kind in _KINDS for action in ("add", "change")]
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the page says of the files that were sent; `report` None: nothing can be imported."""

    report: ImportReport | None
    problems: tuple[Problem, ...]


def import_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Show the form; with files say what an import would do, or do it."""
    if not may_import(request):
        raise PermissionDenied
    outcome = None
    if request.method == "POST":
        is_trial = "import" not in request.POST
        outcome = _import(_files(request), dry_run=is_trial)
        if outcome.report and not is_trial:
            changed = sum(each.what != "unchanged" for each in outcome.report.changes)
            messages.success(request, f"Imported: {plural(changed, 'object')} written.")
            for warning in outcome.report.warnings:
                messages.warning(request, str(warning))
            return redirect("admin:evals_app_suite_changelist")
    context |= {"title": "Import files", "outcome": outcome}
    return render(request, "admin/evals_app/import.html", context)


def _files(request: HttpRequest) -> list[SourceFile]:
    # One byte more than is allowed tells that a file is too long.
    return [
        SourceFile(each.name or "", each.read(MAX_BYTES + 1))
        for each in request.FILES.getlist("files")
    ]


def _import(files: list[SourceFile], *, dry_run: bool) -> Outcome:
    if not files:
        return Outcome(None, (_NO_FILE,))
    try:
        report = import_files(files, dry_run=dry_run)
    except FormatError as error:
        return Outcome(None, tuple(error.problems))
    return Outcome(report, tuple(report.warnings))
