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
from evals_app.admin.import_changes import counted
from evals_app.admin.import_samples import SAMPLES, sample_workbook
from evals_app.admin.import_shown import AGENT_FIELD, Preview, preview
from evals_app.engine.files import media_type
from evals_app.formats import FormatError, Problem, SourceFile
from evals_app.library import (
    PASTED,
    ChangedSinceError,
    EditedError,
    ImportReport,
    Rights,
    import_files,
)
from evals_app.library.uploads import MAX_UNPACKED_BYTES, Upload, unpack
from evals_app.models import Agent, Suite

_LISTS = {
    "suite": "evals_app_suite",
    "agent": "evals_app_agent",
    "provider": "evals_app_provider",
    "fixture": "fixtures_app_fixture",
    "entity type": "fixtures_app_entitytype",
}
_KEPT_S = 24 * 3600
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
_EDITED = (
    "Nothing was imported: it would replace what somebody edited here, or what came from another "
    "file. Confirm that below, or import other files."
)


class _AgentField(forms.ModelChoiceField):
    def label_from_instance(self, obj: Any) -> str:  # noqa: ANN401 - Django's signature
        # Two agents may have one name: the same assistant as a model and as a script.
        return f"{obj.name} ({obj.slug})"


class _AgentsForm(forms.Form):
    """A form that asks for an agent, and offers those that a person may see."""

    def __init__(self, rights: Rights, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["agent"]
        if isinstance(field, _AgentField) and not rights.may_see("agent"):
            field.queryset = Agent.objects.none()


class AgentForm(_AgentsForm):
    """Which agent is asked what stands in files that name none."""

    prefix = "asked"  # the page has another field for it

    agent = _AgentField(
        queryset=Agent.objects.order_by("name"),
        to_field_name="slug",
        empty_label="Choose one",
        label="Agent",
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, rights: Rights, *args: Any, **kwargs: Any) -> None:
        super().__init__(rights, *args, **kwargs)
        if len(only := Agent.objects.order_by("pk")[:2]) == 1:
            self.initial.setdefault("agent", only[0].slug)


class ImportForm(_AgentsForm):
    """What is sent beside files."""

    agent = _AgentField(
        queryset=Agent.objects.order_by("name"),
        to_field_name="slug",
        required=False,
        empty_label="(not chosen yet)",
        label=AGENT_FIELD,
        help_text="Most spreadsheets do not say whom their questions are for. You will be asked if "
        "this is missing.",
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
        initial=PASTED,
        help_text="The end of the name tells what it is, for example refunds.suite.yaml.",
        widget=UnfoldAdminTextInputWidget,
    )

    def pasted_file(self) -> SourceFile | None:
        """Give what was pasted as a file; None: nothing was."""
        text = self.cleaned_data["pasted"].replace("\r\n", "\n")  # as browsers send lines
        if not text.strip():
            return None
        return SourceFile(self.cleaned_data["pasted_name"] or PASTED, text.encode())


@dataclass(frozen=True, slots=True)
class Checked:
    """What somebody checked, and what stood there then under the same slugs."""

    upload: Upload
    agent: str | None
    before: str = ""

    def try_out(self, rights: Rights) -> ImportReport:
        """Tell what the import would do.

        Raises:
            PermissionDenied: whoever imports may not.
            FormatError: with every problem of every file.
        """
        return self._import(rights=rights, dry_run=True)

    def carry_out(self, rights: Rights, *, replace_edited: bool) -> ImportReport:
        """Import everything, as it was checked.

        Raises:
            PermissionDenied: whoever imports may not.
            FormatError: with every problem of every file.
            ChangedSinceError: it would replace something else than it would have then.
            EditedError: it would replace what somebody edited, or what came from another file, and
                nobody said that it may.
        """
        return self._import(rights=rights, before={self.before} - {""}, replace=replace_edited)

    def _import(self, **options: Any) -> ImportReport:
        report = import_files(
            self.upload.files,
            find=self.upload.find,
            find_paths=self.upload.find_paths,
            agent=self.agent,
            **options,
        )
        return replace(report, warnings=[*report.warnings, *self.upload.passed_over()])

    @property
    def contents(self) -> Mapping[str, bytes]:
        return {**self.upload.beside, **{each.path: each.content for each in self.upload.files}}


def import_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Show the form; what was sent is checked and shown, what was checked is imported."""
    Rights.of(request.user).require_some()
    if "import" in request.POST:
        return _import(request, context)
    if "kept" in request.POST:
        return _assign(request, context)
    form = ImportForm(Rights.of(request.user), request.POST if request.method == "POST" else None)
    if not form.is_bound or not form.is_valid():
        return _page(request, context, form)
    agent = form.cleaned_data["agent"]
    try:
        upload = unpack(_sent(request, form))
    except FormatError as error:
        return _page(request, context, form, looked=preview(error, {}))
    return _look(request, context, form, Checked(upload, agent.slug if agent else None))


def sample_to_fill_in(request: HttpRequest) -> HttpResponse:
    """Download the sample of a spreadsheet as a workbook."""
    Rights.of(request.user).require_some()
    name = "questions.xlsx"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(sample_workbook(), content_type=media_type(name), headers=headers)


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
    try:
        outcome = checked.try_out(Rights.of(request.user))
        checked = replace(checked, before=outcome.before)
    except FormatError as error:
        outcome = error
    except PermissionDenied as error:
        return _page(request, context, form, note=str(error))
    looked = preview(outcome, checked.contents)
    token = _keep(request, checked) if looked.objects or looked.asks else ""
    return _page(request, context, form, looked=looked, note=note, token=token)


def _assign(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Look again at what was checked, with the agent that somebody has chosen for it."""
    checked = _kept(request, request.POST["kept"])
    if checked is None:
        return _page(request, context, _again(request), note=_GONE)
    answer = AgentForm(Rights.of(request.user), request.POST)
    agent = answer.cleaned_data["agent"].slug if answer.is_valid() else None
    return _look(request, context, _again(request, agent), replace(checked, agent=agent))


def _again(request: HttpRequest, agent: str | None = None) -> ImportForm:
    return ImportForm(Rights.of(request.user), initial={"agent": agent})


def _import(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Import what was checked, unless it would do something else by now."""
    checked = _kept(request, request.POST["import"])
    if checked is None:
        return _page(request, context, _again(request), note=_GONE)
    try:
        report = checked.carry_out(
            Rights.of(request.user), replace_edited="replace" in request.POST
        )
    except PermissionDenied as error:
        return _page(request, context, _again(request, checked.agent), note=str(error))
    except EditedError:
        return _look(request, context, _again(request, checked.agent), checked, note=_EDITED)
    except (ChangedSinceError, FormatError):
        return _look(request, context, _again(request, checked.agent), checked, note=_CHANGED)
    cache.delete(_cache_key(request))
    written = [each for each in report.changes if each.what != "unchanged"]
    messages.success(request, f"Imported: {counted(written)}.")
    rights = Rights.of(request.user)
    if not all(rights.may_see(each.kind) for each in report.changes):
        return redirect("admin:index")
    slugs = [each.slug for each in report.changes if each.kind == "suite"]
    suites = list(Suite.objects.filter(slug__in=slugs[:2]))  # somebody may delete it meanwhile
    if len(slugs) == len(suites) == 1:
        return redirect("admin:evals_app_suite_change", suites[0].pk)
    kinds = {_LISTS[each.kind] for each in report.changes}
    return redirect(f"admin:{kinds.pop() if len(kinds) == 1 else _LISTS['suite']}_changelist")


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
        "asked": AgentForm(Rights.of(request.user)) if looked and looked.asks else None,
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
