"""The page on which files are imported: sent, looked through, and saved all or none.

What somebody checked is kept for a day, so that the import takes the very files that were looked
at. It is kept in the cache, not in a table: whoever finds it gone sends the files again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.crypto import get_random_string
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.exporting import may_export_everything
from evals_app.admin.import_samples import SAMPLES
from evals_app.admin.import_shown import Preview, preview
from evals_app.admin.presentation import plural
from evals_app.formats import FormatError, Problem, SourceFile
from evals_app.library import ChangedSinceError, ImportReport, import_files
from evals_app.library.uploads import MAX_UNPACKED_BYTES, Upload, unpack
from evals_app.models import Agent, Suite

# An import writes what it finds: objects of all these kinds, old ones too.
_KINDS = (
    "evals_app.{}_suite",
    "evals_app.{}_case",
    "evals_app.{}_agent",
    "evals_app.{}_provider",
    "fixtures_app.{}_fixture",
    "fixtures_app.{}_entitytype",
)
_KEPT_S = 24 * 3600
_PASTED = "pasted.yaml"
_NO_FILE = Problem("", 0, 0, "", "", "Choose at least one file, or paste one.")
_TOO_LARGE = Problem(
    *("", 0, 0, "", ""),
    f"The files are larger than {MAX_UNPACKED_BYTES // 1024**2} MB together; import them in parts.",
)
_GONE = (
    "These files are not kept any more: they were imported already, you have checked other files "
    "since, or a day has passed. Choose them again."
)
_CHANGED = (
    "Nothing was imported: what it would replace has been changed since you looked. This is what "
    "would happen now."
)


def may_import(request: HttpRequest) -> bool:
    """Whether this person may write everything that files may hold."""
    return request.user.has_perms(
        [kind.format(action) for kind in _KINDS for action in ("add", "change")]
    )


class _AgentField(forms.ModelChoiceField):
    def label_from_instance(self, obj: Any) -> str:  # noqa: ANN401 - Django's signature
        # Two agents may have one name: the same assistant as a model and as a script.
        return f"{obj.name} ({obj.slug})"


class ImportForm(forms.Form):
    """What is sent beside files."""

    agent = _AgentField(
        queryset=Agent.objects.order_by("name"),
        to_field_name="slug",
        required=False,
        empty_label="(they name one)",
        label="Agent for files that name none",
        help_text="Spreadsheets and files of some other systems do not say what they test.",
        widget=UnfoldAdminSelectWidget,
    )
    pasted = forms.CharField(
        required=False,
        max_length=1_000_000,
        strip=False,
        label="One file as text",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6, "spellcheck": "false"}),
    )
    pasted_name = forms.CharField(
        required=False,
        max_length=200,
        label="Its name",
        initial=_PASTED,
        help_text="The end of the name tells what it is, for example refunds.suite.yaml.",
        widget=UnfoldAdminTextInputWidget,
    )

    def pasted_file(self) -> SourceFile | None:
        """Give what was pasted as a file; None: nothing was."""
        text = self.cleaned_data["pasted"].replace("\r\n", "\n")  # as browsers send lines
        if not text.strip():
            return None
        return SourceFile(self.cleaned_data["pasted_name"] or _PASTED, text.encode())


@dataclass(frozen=True, slots=True)
class Checked:
    """What somebody checked, and what stood there then under the same slugs."""

    upload: Upload
    agent: str | None
    before: str = ""

    def try_out(self) -> ImportReport:
        """Tell what the import would do.

        Raises:
            FormatError: with every problem of every file.
        """
        return self._import(dry_run=True)

    def carry_out(self) -> ImportReport:
        """Import everything, as it was checked.

        Raises:
            FormatError: with every problem of every file.
            ChangedSinceError: it would replace something else than it would have then.
        """
        return self._import(before=self.before)

    def _import(self, **options: Any) -> ImportReport:
        files, find = self.upload.files, self.upload.find
        return import_files(files, find=find, agent=self.agent, **options)

    @property
    def contents(self) -> Mapping[str, bytes]:
        return {**self.upload.beside, **{each.path: each.content for each in self.upload.files}}


def import_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Show the form; what was sent is checked and shown, what was checked is imported."""
    if not may_import(request):
        raise PermissionDenied
    if "import" in request.POST:
        return _import(request, context)
    form = ImportForm(request.POST if request.method == "POST" else None)
    if not form.is_bound or not form.is_valid():
        return _page(request, context, form)
    agent = form.cleaned_data["agent"]
    try:
        upload = unpack(_sent(request, form))
    except FormatError as error:
        return _page(request, context, form, looked=preview(error, {}))
    return _look(request, context, form, Checked(upload, agent.slug if agent else None))


def _sent(request: HttpRequest, form: ImportForm) -> list[SourceFile]:
    uploads = request.FILES.getlist("files")
    if sum(each.size or 0 for each in uploads) > MAX_UNPACKED_BYTES:
        raise FormatError([_TOO_LARGE])
    sent = [SourceFile(each.name or "", each.read()) for each in uploads]
    if pasted := form.pasted_file():
        sent.append(pasted)
    if not sent:
        raise FormatError([_NO_FILE])
    return sent


def _look(
    request: HttpRequest,
    context: dict[str, Any],
    form: ImportForm,
    checked: Checked,
    *,
    note: str = "",
) -> HttpResponse:
    """Show what an import would do, and keep what was checked for it."""
    outcome: ImportReport | FormatError
    token = ""
    try:
        outcome = checked.try_out()
        token = _keep(request, replace(checked, before=outcome.before))
    except FormatError as error:
        outcome = error
    looked = preview(outcome, checked.contents)
    return _page(request, context, form, looked=looked, note=note, token=token)


def _import(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Import what was checked, unless it would do something else by now."""
    checked = _kept(request, request.POST["import"])
    if checked is None:
        return _page(request, context, ImportForm(), note=_GONE)
    try:
        report = checked.carry_out()
    except (ChangedSinceError, FormatError):
        return _look(request, context, ImportForm(), checked, note=_CHANGED)
    cache.delete(_cache_key(request))
    changed = sum(each.what != "unchanged" for each in report.changes)
    messages.success(request, f"Imported: {plural(changed, 'object')} written.")
    slugs = [each.slug for each in report.changes if each.kind == "suite"]
    suites = list(Suite.objects.filter(slug__in=slugs[:2]))  # somebody may delete it meanwhile
    if len(slugs) == len(suites) == 1:
        return redirect("admin:evals_app_suite_change", suites[0].pk)
    return redirect("admin:evals_app_suite_changelist")


def _page(
    request: HttpRequest,
    context: dict[str, Any],
    form: ImportForm,
    *,
    looked: Preview | None = None,
    note: str = "",
    token: str = "",
) -> HttpResponse:
    context |= {
        "title": "Import files",
        "form": form,
        "looked": looked,
        "note": note,
        "token": token,
        "samples": SAMPLES,
        "may_export": may_export_everything(request),
    }
    return render(request, "admin/evals_app/import.html", context)


# One entry for each person, who checks one thing at a time; the token tells which.


def _cache_key(request: HttpRequest) -> str:
    return f"import:{request.user.pk}"


def _keep(request: HttpRequest, checked: Checked) -> str:
    token = get_random_string(22)
    cache.set(_cache_key(request), (token, checked), _KEPT_S)
    return token


def _kept(request: HttpRequest, token: str) -> Checked | None:
    kept, checked = cache.get(_cache_key(request)) or ("", None)
    return checked if kept == token else None
