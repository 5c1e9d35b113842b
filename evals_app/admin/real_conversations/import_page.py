"""The page that imports a file of real conversations: choose it, look at how it was read, confirm."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST
from unfold.widgets import (
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from evals_app.admin.kit.pages import form_data, page_context, person
from evals_app.admin.kit.permissions import refused_upload
from evals_app.admin.real_conversations.set_page import ADDING
from evals_app.formats.conversations.read import MAX_BYTES, read_conversations
from evals_app.formats.conversations.recorded import ConversationFile, RecordedConversation
from evals_app.formats.conversations.tables import MEANINGS
from evals_app.formats.masking.masker import Masker
from evals_app.models import ConversationSet
from evals_app.runs.recorded.import_conversations import (
    CannotImportConversationsError,
    import_conversations,
)
from evals_app.runs.recorded.masking import site_masker
from evals_app.runs.recorded.sets import find_or_make_set
from evals_app.runs.recorded.waiting_imports import NO_CONVERSATIONS, keep_upload

_TEMPLATES = "admin/evals_app/real_conversations"
_SHOWN = 5  # conversations, before and after masking
_LOOKED_AT = 200  # conversations that are read for a look
MAX_AT_ONCE = 2 * 1024 * 1024  # larger files are imported by a worker
_TOO_LARGE = (
    "The file is larger than 500 MB. Import it in parts, or by the command import_conversations."
)
_BY_LINES = (".csv", ".tsv", ".jsonl", ".ndjson", ".txt")  # files of which a part can be looked at
_NO_LOOK = "The file is too large to look at before it is imported."
_NOTHING = "Choose a file, or paste text."


class ImportConversationsForm(forms.Form):
    """A file with conversations, and the set that they belong to."""

    name = forms.CharField(
        label="Set",
        max_length=200,
        widget=UnfoldAdminTextInputWidget(
            attrs={"list": "known-sets", "placeholder": "for example Help desk"}
        ),
        help_text="Where they come from. The same name again adds to it.",
    )
    file = forms.FileField(label="File", required=False)
    pasted = forms.CharField(
        label="Or paste text", required=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 4})
    )
    is_masked = forms.BooleanField(
        label="Mask names, addresses and numbers",
        required=False,
        initial=True,
        widget=UnfoldBooleanWidget(),
        help_text="They are replaced before anything is stored, and cannot be brought back.",
    )

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if given.get("file") is None and not given.get("pasted", "").strip():
            raise forms.ValidationError(_NOTHING)
        if given.get("file") is not None and given["file"].size > MAX_BYTES:
            raise forms.ValidationError(_TOO_LARGE)
        return given

    @property
    def is_large(self) -> bool:
        """Whether the file is too large to be imported while someone waits."""
        upload = self.cleaned_data.get("file")
        return upload is not None and upload.size > MAX_AT_ONCE

    @property
    def is_part(self) -> bool:
        """Whether only the first part of the file is read here."""
        return self.is_large or "is_part" in self.data

    def read(self) -> ConversationFile | None:
        """Return the conversations of the file, or of the pasted text, its columns as chosen.

        Of a large file it is the first part; None if no part of it can be read.
        """
        upload = self.cleaned_data.get("file")
        if upload is None:
            return read_conversations("pasted text", self.cleaned_data["pasted"].encode())
        if self.is_part and not upload.name.lower().endswith(_BY_LINES):
            return None
        upload.seek(0)
        content: bytes = upload.read(MAX_AT_ONCE)
        if self.is_part:
            end = content.rfind(b"\n") + 1
            is_wide = content.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
            content = content[: end + (end % 2 if is_wide else 0)]
        file = read_conversations(upload.name, content)
        chosen = self.columns_for(file.headers)
        return read_conversations(upload.name, content, columns=chosen) if chosen else file

    def columns_for(self, headers: tuple[str, ...]) -> dict[str, str]:
        """Return what was chosen for columns; nothing if it was for those of another file."""
        chosen = self.all_of("header")
        if headers != tuple(chosen):
            return {}
        return dict(zip(chosen, self.all_of("meaning"), strict=False))

    def all_of(self, name: str) -> list[str]:
        """Return all values that were sent under a name."""
        return self.data.getlist(name) if isinstance(self.data, QueryDict) else []

    @property
    def masker(self) -> Masker | None:
        return site_masker() if self.cleaned_data["is_masked"] else None


@permission_required(ADDING, raise_exception=True)
def import_file(request: HttpRequest) -> HttpResponse:
    """Import a file into a set, and lead to the set."""
    context = page_context(request, ConversationSet) | {"title": "Import conversations"}
    given = form_data(request)
    if given is not None and (refused := refused_upload(request, context)):
        return refused
    form = ImportConversationsForm(
        given, request.FILES or None, initial={"name": request.GET.get("set", "")}
    )
    if form.is_valid() and (target := _import(request, form)):
        return redirect("admin:evals_app_conversationset_change", target.pk)
    context |= {"form": form, "known": ConversationSet.objects.order_by("name")[:100]}
    return render(request, f"{_TEMPLATES}/import.html", context)


def _import(request: HttpRequest, form: ImportConversationsForm) -> ConversationSet | None:
    """Import the file, or keep it for a worker; None if it cannot be imported as asked."""
    file = form.read()
    if file is not None and not any(True for _ in file):
        form.add_error(None, file.problems or [NO_CONVERSATIONS])
        return None
    target = find_or_make_set(form.cleaned_data["name"], by=person(request))
    how: Mapping[str, Any] = {"columns": file.columns if file else {}, "by": person(request)}
    try:
        if file is None or form.is_large:
            upload = form.cleaned_data["file"]
            upload.seek(0)
            is_masked = form.cleaned_data["is_masked"]
            keep_upload(target, upload.name, upload.chunks(), is_masked=is_masked, **how)
            messages.success(request, "A worker imports the file. This page shows how far it is.")
            return target
        row = import_conversations(target, file, masker=form.masker, **how)
    except CannotImportConversationsError as error:
        form.add_error(None, list(error.problems))
        return None
    level = messages.SUCCESS if row.added else messages.WARNING
    messages.add_message(request, level, f"{row.added:,} conversations were imported.")
    return target


@require_POST
@permission_required(ADDING, raise_exception=True)
def look(request: HttpRequest) -> HttpResponse:
    """Return how a file is read, with its first conversations as they would be stored."""
    form = ImportConversationsForm(request.POST, request.FILES)
    form.fields["name"].required = False
    if not form.is_valid():
        return render(request, f"{_TEMPLATES}/look.html", {"problems": _problems_of(form)})
    file, masker = form.read(), form.masker
    if file is None:
        return render(request, f"{_TEMPLATES}/look.html", {"remarks": [_NO_LOOK]})
    read = list(islice(file, _LOOKED_AT))
    stored = [masker.of_conversation(item) if masker else item for item in read]
    pairs = list(zip(read, stored, strict=True))
    context = {
        "problems": file.problems[:_SHOWN],
        "losses": list(islice(file.losses.items(), _SHOWN)),
        "kind": file.kind if read else "",
        "remarks": file.remarks,
        "columns": _columns(file, form.all_of("meaning")),
        "meanings": MEANINGS,
        "count": len(read),
        "is_part": form.is_part or len(read) == _LOOKED_AT,
        "shown": stored[:_SHOWN],
        "masked": sorted(masker.counts.items()) if masker else [],
        "is_masked": masker is not None,
        "examples": _examples(pairs),
    }
    return render(request, f"{_TEMPLATES}/look.html", context)


def _columns(file: ConversationFile, chosen: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    """Return each column of a table: its header, what it is, and what its first rows have."""
    meanings = [file.columns.get(header, "") for header in file.headers]
    if file.problems and len(chosen) == len(file.headers):
        meanings = list(chosen)
    cells = zip_longest(*file.first_rows, fillvalue="")
    return list(
        zip_longest(file.headers, meanings, ([text for text in some if text] for some in cells))
    )[: len(file.headers)]


def _problems_of(form: forms.Form) -> list[str]:
    return [str(error) for errors in form.errors.values() for error in errors]


def _examples(pairs: list[tuple[RecordedConversation, RecordedConversation]]) -> list[Any]:
    """Return messages that masking changed, before and after."""
    changed = (
        (was.user, now.user)
        for before, after in pairs
        for was, now in zip(before.turns, after.turns, strict=True)
        if was.user != now.user
    )
    return list(islice(changed, _SHOWN))
