"""The page that imports files: it checks uploads and saves all of them or none.

Checked files are kept in the cache for a day, so that the import uses exactly what was checked. If
they are gone, people upload them again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from django.contrib import messages
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.crypto import get_random_string
from django.views.decorators.http import require_GET, require_POST

from evals_app.admin.bin.deleting import offer_to_restore
from evals_app.admin.importing.exporting import attachment, may_export_everything
from evals_app.admin.importing.import_changes import count_by_kind
from evals_app.admin.importing.import_columns import show_sheets
from evals_app.admin.importing.import_forms import (
    ColumnsForm,
    ImportForm,
    MissingAgentForm,
    OfferedChoices,
    offer_choices,
    suites_to_add_to,
)
from evals_app.admin.importing.import_preview import Preview, preview
from evals_app.admin.importing.kept_choices import (
    forget_choices,
    keep_choices,
    kept_choices,
    kept_in_words,
)
from evals_app.admin.kit.pages import page_context
from evals_app.admin.kit.permissions import refused_upload
from evals_app.admin.kit.presentation import plural
from evals_app.engine.specs.files import media_type
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.foreign.shapes import NO_CHOICES, KeptChoices, TableChoices, TablesRead
from evals_app.formats.importing import SourceFile
from evals_app.formats.reader_plugins import all_dialects
from evals_app.formats.reading.parsed_file import MAX_BYTES
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.formats.tables import DIALECT as TABLES
from evals_app.formats.tables.guide import guides_of
from evals_app.formats.tables.separated import read_csv
from evals_app.formats.tables.table import NO_NAME, Table, cell_name
from evals_app.library.changes.import_report import ImportReport, ObjectChange
from evals_app.library.exporting.downloads import Download
from evals_app.library.importing.file_import import (
    ChangedSinceError,
    EditedError,
    NoChecksError,
    import_files,
)
from evals_app.library.importing.rights import Rights
from evals_app.library.importing.uploads import MAX_UNPACKED_BYTES, Upload, unpack
from evals_app.models import DeletedObject, Suite
from evals_app.requests.throttles import Uploads, in_minutes
from fixtures_app.editing.markup import TemplateContext

_LISTS = {
    "suite": "evals_app_suite",
    "agent": "evals_app_agent",
    "provider": "evals_app_provider",
    "fixture": "fixtures_app_fixture",
    "entity type": "fixtures_app_entitytype",
}
_KEPT_S = 24 * 3600
_WRITING_FIXTURES = ("fixtures_app.add_fixture", "fixtures_app.change_fixture")
_MAX_FAULTS = 5  # of cells of a sheet
_NO_FILE = Problem("", 0, 0, "", "", "Choose at least one file, or paste text.")
_TOO_LARGE = Problem(
    *("", 0, 0, "", ""),
    f"The files are larger than {MAX_UNPACKED_BYTES // 1024**2} MB in total. Import them in parts.",
)
_GONE = (
    "These files are no longer available: they were already imported, you have checked other files "
    "since, or a day has passed. Choose them again."
)
_ADDED = "Cases added from {path}."
_CHANGED = (
    "Nothing was imported because something it would replace has changed since you checked. This "
    "is what the import would do now."
)
_EDITED = (
    "Nothing was imported because it would replace something that was edited here or imported from "
    "another file. Confirm this below, or import other files."
)
_UNCHECKED = (
    "Nothing was imported because no case of a suite checks anything. Confirm this below, or add "
    "checks to the file."
)


@dataclass(frozen=True, slots=True)
class CheckedFiles:
    """Checked files, and what existed under the same slugs at that time.

    `tables` has the choices made for tables, `offered` what else may be chosen. `into` is the slug of
    a suite to which their cases are added.
    """

    upload: Upload
    agent: str | None
    into: str = ""
    before: str = ""
    tables: TableChoices = NO_CHOICES
    offered: OfferedChoices = OfferedChoices()  # noqa: RUF009 - frozen
    as_one_suite: bool = False

    def carry_out(self, **options: Any) -> ImportReport:
        """Import everything as checked, with the options of `import_files`."""
        report = import_files(
            self.upload.files,
            find=self.upload.find,
            find_paths=self.upload.find_paths,
            agent=self.agent,
            tables=self.tables,
            as_one_suite=self.as_one_suite,
            into=self.into,
            edit=_ADDED if self.into else "",
            **options,
        )
        return replace(report, warnings=[*report.warnings, *self.upload.passed_over()])

    def columns_form(self, data: Any = None) -> ColumnsForm:
        return ColumnsForm(self.offered, self.tables, data)

    @property
    def contents(self) -> Mapping[str, bytes]:
        return {**self.upload.beside, **{file.path: file.content for file in self.upload.files}}


def import_page(request: HttpRequest) -> HttpResponse:
    """Show the form, check uploads, and import what was checked."""
    context = page_context(request, Suite)
    if request.method == "POST" and (too_many := refused_upload(request, context)):
        return too_many
    page = _Page(request, context, Rights.of(request.user))
    page.rights.require_some()
    acts = {
        "import": page.import_kept,
        "kept": page.assign,
        "columns": page.choose_columns,
        "forget": page.forget_columns,
    }
    for key, act in acts.items():
        if key in request.POST:
            checked = _load_checked(request, request.POST[key])
            return act(checked) if checked else page.show(page.form(), note=_GONE)
    if request.method != "POST":
        wanted = request.GET.get("into", "")
        return page.show(page.form(into=suites_to_add_to(page.rights).filter(slug=wanted).first()))
    form = ImportForm(page.rights, request.POST)
    if not form.is_valid():
        return page.show(form)
    into, is_one = form.cleaned_data["into"], form.cleaned_data["as_one_suite"]
    agent = into.agent if into else form.cleaned_data["agent"]
    try:
        upload = unpack(_posted_files(request, form))
    except FormatError as error:
        return page.show(form, looked=preview(error, {}))
    tables = TableChoices(kept=kept_choices(request.session))
    slug = agent.slug if agent else None
    checked = CheckedFiles(
        upload, slug, into.slug if into else "", tables=tables, as_one_suite=is_one
    )
    return page.look(form, checked)


@require_GET
def sample_to_fill_in(request: HttpRequest) -> HttpResponse:
    """Download the sample of a spreadsheet as a workbook."""
    from evals_app.formats.tables.workbook_writing import write_workbook  # noqa: PLC0415 - loads openpyxl

    Rights.of(request.user).require_some()
    ((path, text),) = TABLES.sample
    (rows,) = read_csv(path, text.encode()).data.values()
    workbook = write_workbook([("Cases", rows)], guides={"Cases": guides_of(rows)})
    return attachment(Download("questions.xlsx", media_type("questions.xlsx"), workbook))


def _posted_files(request: HttpRequest, form: ImportForm) -> list[SourceFile]:
    uploads = request.FILES.getlist("files")
    if sum(upload.size or 0 for upload in uploads) > MAX_UNPACKED_BYTES:
        raise FormatError([_TOO_LARGE])
    sent = [SourceFile(upload.name or "", upload.read()) for upload in uploads]
    if pasted := form.pasted_file():
        sent.append(pasted)
    if not sent:
        raise FormatError([_NO_FILE])
    return sent


@dataclass(frozen=True, slots=True)
class _Page:
    """The page for one request."""

    request: HttpRequest
    context: TemplateContext
    rights: Rights

    def form(self, agent: str | None = None, into: Suite | str | None = None) -> ImportForm:
        return ImportForm(self.rights, initial={"agent": agent, "into": into})

    def form_of(self, checked: CheckedFiles) -> ImportForm:
        return self.form(checked.agent, checked.into)

    def look(
        self, form: ImportForm, checked: CheckedFiles, *, note: str = "", keeps: bool = False
    ) -> HttpResponse:
        """Show what an import would do, and keep the files for it.

        `keeps`: what is chosen for tables is kept for other files.
        """
        outcome: ImportReport | FormatError
        seen = TablesRead()
        try:
            outcome = checked.carry_out(rights=self.rights, dry_run=True, seen=seen)
            checked = replace(checked, before=outcome.before)
        except FormatError as error:
            outcome = error
        except PermissionDenied as error:
            return self.show(form, note=str(error))
        looked = preview(outcome, checked.contents, seen)
        if keeps:
            keep_choices(self.request.session, checked.tables, looked.sheets)
        offered = offer_choices(*(looked.sheets, looked.unknown, looked.answers, checked.tables))
        checked = replace(checked, offered=offered)
        columns = checked.columns_form()
        is_kept = looked.objects or looked.asks or columns.fields
        token = _keep(self.request, checked) if is_kept else ""
        return self.show(form, looked=looked, note=note, token=token, columns=columns)

    def assign(self, checked: CheckedFiles) -> HttpResponse:
        """Check the kept files again, with the chosen agent."""
        answer = MissingAgentForm(self.rights, self.request.POST)
        agent = answer.cleaned_data["agent"].slug if answer.is_valid() else None
        checked = replace(checked, agent=agent)
        return self.look(self.form_of(checked), checked)

    def choose_columns(self, checked: CheckedFiles) -> HttpResponse:
        """Check the kept files again, with the choices for their columns."""
        answer = checked.columns_form(self.request.POST)
        tables = answer.choices() if answer.is_valid() else checked.tables
        return self.look(self.form_of(checked), replace(checked, tables=tables), keeps=True)

    def forget_columns(self, checked: CheckedFiles) -> HttpResponse:
        """Check the kept files again, without the choices for earlier ones."""
        forget_choices(self.request.session)
        tables = replace(checked.tables, kept=KeptChoices())
        return self.look(self.form_of(checked), replace(checked, tables=tables))

    def import_kept(self, checked: CheckedFiles) -> HttpResponse:
        """Import the kept files, unless the result would now differ from the preview."""
        form = self.form_of(checked)
        try:
            report = checked.carry_out(
                rights=self.rights,
                before={checked.before} - {""},
                replace="replace" in self.request.POST,
                accept_no_checks="accept_no_checks" in self.request.POST,
            )
        except PermissionDenied as error:
            return self.show(form, note=str(error))
        except EditedError:
            return self.look(form, checked, note=_EDITED)
        except NoChecksError:
            return self.look(form, checked, note=_UNCHECKED)
        except (ChangedSinceError, FormatError):
            return self.look(form, checked, note=_CHANGED)
        cache.delete(_cache_key(self.request))
        written = [change for change in report.changes if change.what != "unchanged"]
        messages.success(self.request, _outcome(written, checked))
        if report.deleted:
            offer_to_restore(self.request, report.deleted, done=_deleted_words(report.deleted))
        return self._leave(report)

    def _leave(self, report: ImportReport) -> HttpResponse:
        """Redirect to the imported objects, as far as the person may see them."""
        if not all(self.rights.may_see(change.kind) for change in report.changes):
            return redirect("admin:index")
        slugs = [change.slug for change in report.changes if change.kind == "suite"]
        suites = list(Suite.objects.filter(slug__in=slugs[:2]))  # it may have been deleted by now
        if len(slugs) == len(suites) == 1:
            return redirect("admin:evals_app_suite_cases", suites[0].pk)
        kinds = {_LISTS[change.kind] for change in report.changes}
        return redirect(f"admin:{kinds.pop() if len(kinds) == 1 else _LISTS['suite']}_changelist")

    def show(
        self,
        form: ImportForm,
        *,
        looked: Preview | None = None,
        note: str = "",
        token: str = "",
        columns: ColumnsForm | None = None,
    ) -> HttpResponse:
        into = _suite_of(form, self.rights)
        context = self.context | {
            "title": f"Add cases to “{into}”" if into else "Import files",
            "into": into,
            "form": form,
            "looked": looked,
            "columns": columns if columns and columns.fields else None,
            "sheets": show_sheets(looked.sheets, columns) if looked and columns else (),
            "kept": kept_in_words(looked.sheets, columns.kept_headers())
            if looked and columns
            else (),
            "other_columns": columns.fields_beside(looked.sheets) if looked and columns else (),
            "asked": MissingAgentForm(self.rights) if looked and looked.asks else None,
            "note": note,
            "token": token,
            "samples": [TABLES] if into else all_dialects().values(),
            "endings": "".join(f",{ending}" for ending in sorted(_plugin_endings())),
            "may_export": not into and may_export_everything(self.request),
        }
        return render(self.request, "admin/evals_app/importing/page.html", context)


def _plugin_endings() -> set[str]:
    """Return the ends of names of files that plug-ins read."""
    files = (
        file for name, item in all_dialects().items() if name not in DIALECTS for file in item.files
    )
    return {PurePosixPath(file).suffix for file in files} - {""}


def _deleted_words(deleted: Sequence[DeletedObject]) -> str:
    """Return which cases an import has deleted."""
    names = [entry.name if entry.object_id is None else f"“{entry}”" for entry in deleted]
    return f"No longer in the files, so deleted: {', '.join(names)}."


def _suite_of(form: ImportForm, rights: Rights) -> Suite | None:
    """Return the suite to which cases are added."""
    into: Any = form["into"].value()
    if isinstance(into, Suite) or not into:
        return into or None
    return suites_to_add_to(rights).filter(slug=into).first()


def _outcome(written: Sequence[ObjectChange], checked: CheckedFiles) -> str:
    if checked.into:
        return f"Added: {plural(sum(len(change.cases.added) for change in written), 'case')}."
    return f"Imported: {count_by_kind(written)}."


# One entry per person; the token identifies it.


def _cache_key(request: HttpRequest) -> str:
    return f"import:{request.user.pk}"


def _keep(request: HttpRequest, checked: CheckedFiles) -> str:
    token = get_random_string(22)
    cache.set(_cache_key(request), (token, checked), _KEPT_S)
    return token


def _load_checked(request: HttpRequest, token: str) -> CheckedFiles | None:
    kept, checked = cache.get(_cache_key(request)) or ("", None)
    return checked if kept == token else None


# The first sheet of a workbook, for the grids of test data; nothing is stored.


@require_POST
def read_first_sheet(request: HttpRequest) -> JsonResponse:
    """Return the rows of the first visible sheet of `file`, or what is wrong with it."""
    from evals_app.formats.tables.workbook import read_xlsx  # noqa: PLC0415 - loads openpyxl

    if not any(map(request.user.has_perm, _WRITING_FIXTURES)):
        raise PermissionDenied
    rate = Uploads()
    if not rate.allow_request(request, None):
        again = in_minutes(rate.wait() or 1)
        problem = f"You have uploaded more within an hour than this site allows. Try again {again}."
        headers = {"Retry-After": rate.retry_after}
        return JsonResponse({"problem": problem}, status=429, headers=headers)
    file = request.FILES.get("file")
    if file is None:
        return JsonResponse({"problem": "Choose a file."}, status=400)
    try:
        table = read_xlsx(file.name or "", file.read(MAX_BYTES + 1))
    except FormatError as error:
        return JsonResponse({"problem": error.problems[0].message})
    return _first_sheet(table)


def _first_sheet(table: Table) -> JsonResponse:
    name, rows = next(iter(table.data.items()), (NO_NAME, []))
    faults = [
        f"{cell_name((NO_NAME, *place))}: {message}"
        for (sheet, *place), message in table.faults.items()
        if sheet == name
    ]
    if faults:
        return JsonResponse({"problem": " ".join(faults[:_MAX_FAULTS])})
    return JsonResponse({"rows": [row for row in rows if any(map(str.strip, row))]})
