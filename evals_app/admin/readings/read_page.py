"""The page on which a conversation is read: it, one line about it, and how far the readers are."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from evals_app.admin.conversation.transcripts import readable_trial, turn_lines
from evals_app.admin.kit.pages import page_context, person
from evals_app.models import ConversationSet, Reading, ReadingItem, ReadingNote, Run, Transcript
from evals_app.models.judging.readings import MAX_NOTE
from evals_app.reports.renderers.conversations import json_text
from evals_app.runs.recorded.note_groups import current_groups, find_or_make_group
from evals_app.runs.recorded.readings import (
    READING,
    CannotReadError,
    Kind,
    ReadingProgress,
    is_shown_to,
    next_to_read,
    progress_of,
    write_note,
)


def find_reading(pk: int) -> Reading:
    """Return a reading with the set or the run that it belongs to."""
    rows = Reading.objects.select_related("conversation_set", "run", "proposal")
    rows = rows.defer("run__summary", "proposal__summary")
    return get_object_or_404(rows, pk=pk)


def reading_context(request: HttpRequest, reading: Reading) -> dict[str, Any]:
    """Return what the frame of a page about a reading needs."""
    of = reading.conversation_set or reading.run
    model = ConversationSet if reading.conversation_set_id else Run
    kind = "conversationset" if reading.conversation_set_id else "run"
    more = reverse(f"admin:evals_app_{kind}_read", args=[of.pk if of else 0])
    return page_context(request, model, of) | {"reading": reading, "of": of, "more": f"{more}?more"}


@require_GET
@permission_required(READING, raise_exception=True)
def read_next(request: HttpRequest, pk: int) -> HttpResponse:
    """Lead to the next conversation that the person has not read, or to the groups."""
    return _lead_on(find_reading(pk), person(request).pk)


def _lead_on(reading: Reading, reader: int, *, after: int = 0) -> HttpResponse:
    place = next_to_read(reading, reader, after=after)
    if place is None:
        return redirect("admin:evals_app_reading_groups", reading.pk)
    return redirect("admin:evals_app_reading_item", reading.pk, place)


@permission_required(READING, raise_exception=True)
def read_one(request: HttpRequest, pk: int, position: int) -> HttpResponse:
    """Show a conversation, and store what the person says of it."""
    reading = find_reading(pk)
    rows = reading.items.select_related("execution__run", "execution__imported_conversation")
    rows = rows.defer("execution__run__summary", "execution__summary", "execution__turn_ms")
    item = get_object_or_404(rows, position=position)
    item.reading = reading
    if request.method == "POST" and (taken := _take(request, item)):
        return taken
    own, others, waiting = _notes(item, person(request).pk)
    progress = progress_of(reading)
    context = reading_context(request, reading) | {
        "title": f"Conversation {position}",
        "item": item,
        "imported": getattr(item.execution, "imported_conversation", None),
        "own": own,
        "others": others,
        "others_wait": waiting,
        "groups": current_groups(reading),
        "max_note": MAX_NOTE,
        "text": request.POST.get("text", own.text if own else ""),
        "group": request.POST.get("group", own.group.name if own and own.group else ""),
        **_progress(progress, person(request).pk),
        "back": position - 1,
        "skip": position + 1 if position < progress.total else 0,
        **_conversation(item),
    }
    return render(request, "admin/evals_app/readings/read.html", context)


def _take(request: HttpRequest, item: ReadingItem) -> HttpResponse | None:
    """Store a note and lead to the next conversation; None if it was refused."""
    kind = request.POST.get("kind", "")
    name = " ".join(request.POST.get("group", "").split())
    by = person(request)
    try:
        group = (
            find_or_make_group(item.reading, name, by=by) if name and kind == Kind.WRONG else None
        )
        write_note(item, by=by, kind=kind, text=request.POST.get("text", ""), group=group)
    except CannotReadError as error:
        messages.error(request, str(error))
        return None
    return _lead_on(item.reading, by.pk, after=item.position)


def _notes(item: ReadingItem, reader: int) -> tuple[ReadingNote | None, list[ReadingNote], int]:
    """Return the person's own note, those of others that are shown, and how many wait for it."""
    notes = item.notes.select_related("group").annotate(is_shown=is_shown_to(reader))
    own: ReadingNote | None = None
    shown: list[ReadingNote] = []
    waiting = 0
    for note in notes.order_by("pk"):
        if note.by_id == reader:
            own = note
        elif note.is_shown:
            shown.append(note)
        else:
            waiting += 1
    return own, shown, waiting


def _progress(progress: ReadingProgress, reader: int) -> dict[str, object]:
    return {
        "progress": progress,
        "own_progress": progress.of(reader),
        "other_readers": [one for one in progress.people if one.person != reader],
    }


def _conversation(item: ReadingItem) -> dict[str, object]:
    trial = readable_trial(Transcript.objects.of(item.execution))
    if trial is None:
        return {"trial": None, "turns": ()}
    return {
        "trial": trial,
        "history": trial.history,
        "context_params": json_text(trial.context_params) if trial.context_params else "",
        "turns": turn_lines(trial, (), scale="0-1", known={}),
    }
