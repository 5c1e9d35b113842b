"""The page on which notes are put into groups: what goes wrong most, with examples."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from evals_app.admin.kit.pages import person
from evals_app.admin.kit.undo import offer_undo
from evals_app.admin.readings.read_page import find_reading, reading_context
from evals_app.models import NoteGroup, Reading
from evals_app.reports.words.figures import count_text
from evals_app.reports.words.shares import rate_text
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.recorded.group_counts import GroupCount, count_groups
from evals_app.runs.recorded.judge_proposals import proposed_groups, usual_judge
from evals_app.runs.recorded.note_groups import (
    find_or_make_group,
    merge_group,
    put_into_group,
    remove_group,
    rename_group,
    restore_group,
)
from evals_app.runs.recorded.readings import READING, CannotReadError, notes_of, progress_of
from evals_app.runs.reporting import encode, write_csv

_EXAMPLES = 3  # notes of a group that are shown at once
COLUMNS = ("conversation", "happened", "topics", "person", "said", "note", "group", "written")


class ShownGroup(NamedTuple):
    """A group as the page shows it."""

    counted: GroupCount
    words: str
    low: int  # percent, of the bar
    width: int
    examples: Sequence[object]
    more: Sequence[object]
    parts: Sequence[tuple[str, str]]


@permission_required(READING, raise_exception=True)
def show_groups(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the groups of notes, most frequent first, and move chosen notes."""
    reading = find_reading(pk)
    if request.method == "POST":
        return _move(request, reading)
    counts = count_groups(reading)
    context = reading_context(request, reading) | {
        "title": "What goes wrong most",
        "counts": counts,
        "readers": len(progress_of(reading).people),
        "may_try": request.user.has_perms(RUNNING),
        "has_judge": bool(usual_judge()),
        "proposed": proposed_groups(reading),
        "groups": [_show(count) for count in counts.groups],
    }
    return render(request, "admin/evals_app/readings/groups.html", context)


def _move(request: HttpRequest, reading: Reading) -> HttpResponse:
    keys = _keys(request.POST.getlist("notes"))
    name = " ".join(request.POST.get("group", "").split())
    by = person(request)
    try:
        group = find_or_make_group(reading, name, by=by) if name else None
    except CannotReadError as error:
        messages.error(request, str(error))
        return _back(reading)
    if not keys:
        messages.warning(request, "Choose notes first.")
    else:
        moved = put_into_group(reading, keys, group, by=by)
        messages.success(request, f"{count_text(len(moved), 'note')} moved.")
    return _back(reading, group)


def _keys(given: Sequence[str]) -> list[int]:
    return [int(key) for key in given if key.isascii() and key.isdecimal() and len(key) < 19]  # noqa: PLR2004 - what a database can look for


def _back(reading: Reading, group: NoteGroup | None = None) -> HttpResponse:
    url = reverse("admin:evals_app_reading_groups", args=[reading.pk])
    return redirect(f"{url}#group-{group.pk}" if group else url)


def _show(count: GroupCount) -> ShownGroup:
    low, high = count.rate.interval or (0.0, 0.0)
    return ShownGroup(
        count,
        rate_text(count.rate),
        round(low * 100),
        round((high - low) * 100),
        count.notes[:_EXAMPLES],
        count.notes[_EXAMPLES:],
        [(part.name, rate_text(part.rate)) for part in (*count.by_topic, *count.by_week)],
    )


@require_POST
@permission_required(READING, raise_exception=True)
def change_group(request: HttpRequest, pk: int) -> HttpResponse:
    """Rename, merge, remove or restore a group."""
    group = get_object_or_404(NoteGroup.objects.select_related("reading"), pk=pk)
    change = _CHANGES.get(request.POST.get("action", ""), _rename)
    try:
        change(request, group, person(request))
    except CannotReadError as error:
        messages.error(request, str(error))
    return _back(group.reading, group)


def _rename(request: HttpRequest, group: NoteGroup, by: User) -> None:
    rename_group(group, request.POST.get("name", ""), by=by)


def _merge(request: HttpRequest, group: NoteGroup, by: User) -> None:
    others = group.reading.groups.exclude(pk=group.pk)
    into = others.filter(pk__in=_keys([request.POST.get("into", "")])).first()
    if into is None:
        raise CannotReadError("Choose another group of the same conversations.")
    _offer_undo(
        request, f"“{group}” is part of “{into}” now.", group, merge_group(group, into, by=by)
    )


def _remove(request: HttpRequest, group: NoteGroup, by: User) -> None:
    notes = remove_group(group, by=by)
    _offer_undo(request, f"“{group}” was removed. Its notes stay.", group, notes)


def _restore(request: HttpRequest, group: NoteGroup, by: User) -> None:
    restore_group(group, _keys(request.POST.getlist("notes")), by=by)


_CHANGES: dict[str, Callable[[HttpRequest, NoteGroup, User], None]] = {
    "rename": _rename,
    "unite": _merge,
    "remove": _remove,
    "restore": _restore,
}


def _offer_undo(request: HttpRequest, done: str, group: NoteGroup, notes: Sequence[int]) -> None:
    url = reverse("admin:evals_app_notegroup", args=[group.pk])
    posted = [("action", "restore"), *(("notes", note) for note in notes)]
    offer_undo(request, done, url=url, posted=posted)


@require_GET
@permission_required(READING, raise_exception=True)
def download_notes(_request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Send all notes with their groups as CSV."""
    reading = find_reading(pk)
    headers = {"Content-Disposition": f'attachment; filename="notes-{reading.pk}.csv"'}
    content = encode(write_csv(_rows(reading)))
    return StreamingHttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def _rows(reading: Reading) -> Iterator[Sequence[str]]:
    yield COLUMNS
    rows = notes_of(reading).select_related("group", "item__execution__imported_conversation")
    rows = rows.defer("item__execution__summary", "item__execution__turn_ms")
    for note in rows.order_by("item__position", "pk"):
        execution = note.item.execution
        imported = getattr(execution, "imported_conversation", None)
        happened = imported.happened_at if imported else None
        yield (
            imported.external_id if imported else execution.case,
            happened.isoformat() if happened else "",
            ", ".join(imported.topic_list) if imported else "",
            note.by_name,
            note.kind,
            note.text,
            note.group.name if note.group else "",
            note.created_at.isoformat(),
        )
