"""The page of a set: how many conversations, of which days and topics, and what was imported."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.fields.json import KT
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.text import Truncator
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.kit.pages import ask, list_url, person
from evals_app.admin.kit.presentation import SIGNS, Sign, plural
from evals_app.admin.real_conversations.daily_section import daily_context
from evals_app.admin.real_conversations.inbox_section import inbox_context
from evals_app.admin.starting.run_dialog import leave_dialog
from evals_app.library.changes.edits import note_deletion
from evals_app.models import (
    ConversationImport,
    ConversationSet,
    Execution,
    ImportedConversation,
    Run,
    Transcript,
)
from evals_app.reports.words.imports import import_in_words
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.recorded.grade_conversations import WantedConversations, flag_of
from evals_app.runs.recorded.readings import READING
from evals_app.runs.recorded.sets import CannotRemoveSetError, remove_set
from evals_app.runs.recorded.waiting_imports import discard_import

ADDING = "evals_app.add_conversationset"
DELETING = "evals_app.delete_conversationset"
AT_ONCE = 50  # conversations of a page
_SHOWN = 12  # days and topics that are shown
_LAST = 5  # imports and runs
_CHARS = 100
_MAX_ID = 2**63 - 1


class FilterForm(forms.Form):
    """Which conversations of a set are listed."""

    id = forms.CharField(
        label="Id", required=False, max_length=200, widget=UnfoldAdminTextInputWidget
    )
    since = forms.DateField(
        label="From", required=False, widget=UnfoldAdminTextInputWidget({"type": "date"})
    )
    until = forms.DateField(
        label="To", required=False, widget=UnfoldAdminTextInputWidget({"type": "date"})
    )
    topic = forms.CharField(
        label="Topic", required=False, max_length=200, widget=UnfoldAdminTextInputWidget
    )
    flag = forms.CharField(
        label="Fact",
        required=False,
        max_length=400,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "for example channel=chat"}),
    )
    verdict = forms.ChoiceField(
        label="Graded",
        required=False,
        choices=[
            ("", "Any or not"),
            *((word, word.capitalize()) for word in ("passed", "failed", "errored")),
        ],
        widget=UnfoldAdminSelectWidget,
    )

    def to_wanted(self) -> WantedConversations:
        """Return what was asked for; what cannot be read asks for nothing."""
        given: Mapping[str, Any] = getattr(self, "cleaned_data", {})
        return WantedConversations(
            since=given.get("since"),
            until=given.get("until"),
            topic=given.get("topic") or "",
            flag=flag_of(given.get("flag") or ""),
            text_id=given.get("id") or "",
        )


class ConversationLine(NamedTuple):
    """A conversation as the list shows it."""

    row: ImportedConversation
    words: str
    sign: Sign | None
    graded: int | None  # the execution that has the verdict


def set_context(request: HttpRequest, target: ConversationSet) -> dict[str, object]:
    """Return what the page of a set shows."""
    imports = target.imports.select_related("created_by").order_by("-pk")[:_LAST]
    return {
        "title": target.name,
        "target": target,
        "counted": plural(target.count, "real conversation"),
        **_counts_of("days", target.days, newest=True),
        **_counts_of("topics", target.topics),
        "imports": [(row, list(import_in_words(model_to_dict(row)))) for row in imports],
        "is_importing": any(_is_under_way(row) for row in imports),
        "runs": _graded_runs(request, target),
        **_gradings(target),
        **list_context(request, target),
        **daily_context(target),
        **inbox_context(target),
        "may_make_cases": request.user.has_perms(
            ("evals_app.view_execution", "evals_app.add_case")
        ),
        "may_note": request.user.has_perms(READING),
        "may_import": request.user.has_perm(ADDING),
        "may_grade": request.user.has_perms(RUNNING) and target.count,
        "may_remove": request.user.has_perm(DELETING),
    }


def list_context(request: HttpRequest, target: ConversationSet) -> dict[str, object]:
    """Return the conversations of a set that the address asks for, and the form to filter them."""
    form = FilterForm(request.GET)
    form.is_valid()
    rows = _page(form, target, request.GET.get("before", ""))
    shown = rows[:AT_ONCE]
    may_read = request.user.has_perm("evals_app.view_execution")
    return {
        "form": form,
        "is_filtered": any(request.GET.get(name) for name in form.fields),
        "lines": _lines(shown, may_read=may_read),
        "may_read": may_read,
        "before": shown[-1].pk if len(rows) > AT_ONCE else None,
        "query": _query(request),
    }


def _is_under_way(row: ConversationImport) -> bool:
    return row.is_by_worker and row.finished_at is None and not row.failure


def _page(form: FilterForm, target: ConversationSet, before: str) -> list[ImportedConversation]:
    """Return the conversations of a page, the newest first, and one more if there is one."""
    rows = form.to_wanted().of(target).order_by("-pk")
    if verdict := getattr(form, "cleaned_data", {}).get("verdict"):
        again = Execution.objects.filter(source=OuterRef("execution"), verdict=verdict)
        rows = rows.filter(Exists(again))
    if before.isdecimal() and int(before) <= _MAX_ID:
        rows = rows.filter(pk__lt=int(before))
    return list(rows[: AT_ONCE + 1])


def _lines(rows: Sequence[ImportedConversation], *, may_read: bool) -> list[ConversationLine]:
    keys = [row.execution_id for row in rows]
    stored = Transcript.objects.filter(pk__in=keys).annotate(first=KT("trial__turns__0__user"))
    words = dict(stored.values_list("pk", "first")) if may_read else {}
    again: QuerySet[Execution] = Execution.objects.filter(source__in=keys).exclude(verdict="")
    verdicts = {
        source: (pk, verdict)
        for source, pk, verdict in again.order_by("pk").values_list("source", "pk", "verdict")
    }
    lines = []
    for row in rows:
        graded, verdict = verdicts.get(row.execution_id, (None, ""))
        text = Truncator(words.get(row.execution_id) or "").chars(_CHARS)
        lines.append(ConversationLine(row, text, SIGNS[verdict] if verdict else None, graded))
    return lines


def _graded_runs(request: HttpRequest, target: ConversationSet) -> list[Run]:
    if not request.user.has_perm("evals_app.view_run"):
        return []
    graded = target.runs.filter(is_tryout=False).order_by("-pk")
    return list(graded.defer("summary")[:_LAST])


def _gradings(target: ConversationSet) -> dict[str, object]:
    """Return the gradings that are not started, and whether a worker starts one."""
    rows = target.gradings.filter(finished_at=None).select_related("suite").order_by("-pk")[:_LAST]
    return {"gradings": rows, "is_starting": any(not row.failure for row in rows)}


def _counts_of(what: str, counts: Mapping[str, int], *, newest: bool = False) -> dict[str, object]:
    """Return the largest counts by name, or the newest days, and how many more there are."""
    known = [(name, count) for name, count in counts.items() if name]
    by: Any = (lambda item: item[0]) if newest else (lambda item: item[1])
    shown = sorted(known, key=by, reverse=True)[:_SHOWN]
    return {what: shown, f"more_{what}": len(known) - len(shown)}


def _query(request: HttpRequest) -> str:
    query = request.GET.copy()
    query.pop("before", None)
    return f"{query.urlencode()}&" if query else ""


@permission_required(DELETING, raise_exception=True)
def ask_to_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then remove a set for good."""
    target = get_object_or_404(ConversationSet, pk=pk)
    if request.method != "POST":
        return ask(
            request,
            title=f"Remove {target.name}?",
            text=f"All {target.count:,} conversations and the runs that graded them are removed for"
            " good. They cannot be restored.",
            submit="Remove for good",
            dismiss="Keep it",
        )
    try:
        remove_set(target)
    except CannotRemoveSetError as error:
        messages.error(request, str(error))
    else:
        target.pk = pk  # removing it took its key
        note_deletion(target, user=request.user, note="Removed for good.")
        messages.success(request, f"{target.name} was removed.")
    return leave_dialog(list_url(ConversationSet))


@permission_required(ADDING, raise_exception=True)
def ask_to_discard(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then remove an import that did not end."""
    row = get_object_or_404(ConversationImport, pk=pk)
    if request.method != "POST":
        return ask(
            request,
            title=f"Discard the import of {row.file_name}?",
            text="Its file and what it has read so far are removed. Nothing of it is in the set yet.",
            submit="Discard",
            dismiss="Keep it",
        )
    if discard_import(row, by=person(request)):
        messages.success(request, f"The import of {row.file_name} was discarded.")
    else:
        messages.error(request, f"The import of {row.file_name} has ended.")
    return leave_dialog(
        reverse("admin:evals_app_conversationset_change", args=[row.conversation_set_id])
    )
