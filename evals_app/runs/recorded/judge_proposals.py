"""What a judge proposes for notes: groups of them, and the criterion of a group's check.

It only proposes; people decide. Both are questions as any other (`runs/questions.py`).
"""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from evals_app.engine.judging.answers.asking import UnreadableAnswerError
from evals_app.engine.proposing.from_notes import (
    GroupFromNotes,
    criterion_prompt,
    groups_prompt,
    read_criterion,
    read_groups,
)
from evals_app.models import Activity, NoteGroup, Reading, ReadingNote, Run
from evals_app.models.judging.readings import MAX_GROUP
from evals_app.models.people.activity import note_act
from evals_app.runs.questions import Question, answer_of, ask_model
from evals_app.runs.recorded.note_groups import current_groups
from evals_app.runs.recorded.readings import CannotReadError, Kind, notes_of

MAX_NOTES = 300  # of one question
_MIN_NOTES = 2


class ProposedGroup(NamedTuple):
    """A group that a judge proposes."""

    name: str
    notes: Sequence[ReadingNote]


def usual_judge() -> str:
    """Return the judge of the site; empty if none is set up."""
    return str(settings.EVALS_JUDGE_MODEL or "")


def question_of_groups(reading: Reading) -> Question:
    """Return what a judge is asked for groups of the notes that are in none.

    Raises:
        CannotReadError: there are too few.
    """
    notes = {note.pk: note.text for note in _loose(reading)[:MAX_NOTES]}
    if len(notes) < _MIN_NOTES:
        raise CannotReadError(f"At least {_MIN_NOTES} notes must be in no group.")
    known = [group.name for group in current_groups(reading)]
    prompt = groups_prompt(notes, known=known, secret=secrets.token_bytes())
    return Question("Propose groups of notes", prompt, str(reading))


def question_of_criterion(group: NoteGroup) -> Question:
    """Return what a judge is asked for the criterion of a group's check.

    Raises:
        CannotReadError: it has no notes.
    """
    notes = list(group.notes.order_by("pk").values_list("text", flat=True)[:MAX_NOTES])
    if not notes:
        raise CannotReadError("The group has no notes.")
    prompt = criterion_prompt(group.name, notes, secret=secrets.token_bytes())
    return Question("Draft a check of a group", prompt, group.name)


@transaction.atomic
def propose_groups(reading: Reading, judge: str, *, by: User) -> Run:
    """Ask a judge for groups; the answer is read by `proposed_groups`.

    Raises:
        CannotStartError: the judge cannot be asked.
        CannotReadError: there are too few notes.
    """
    run = ask_model(judge, question_of_groups(reading), by=by)
    Reading.objects.filter(pk=reading.pk).update(proposal=run)
    return run


def close_proposal(reading: Reading, *, by: User) -> None:
    """Stop showing what a judge proposed."""
    Reading.objects.filter(pk=reading.pk).update(proposal=None)
    note_act(
        Activity.Kind.CHANGED, "Closed the groups that a judge proposed.", user=by, row=reading
    )


@transaction.atomic
def propose_criterion(group: NoteGroup, judge: str, *, by: User) -> Run:
    """Ask a judge for the criterion of a group's check; `drafted_criterion` reads the answer.

    Raises:
        CannotStartError: the judge cannot be asked.
        CannotReadError: the group has no notes.
    """
    run = ask_model(judge, question_of_criterion(group), by=by)
    # Again from scratch: what was tried has other words.
    NoteGroup.objects.filter(pk=group.pk).update(draft=run, criterion="", trial=None)
    return run


def drafted_criterion(group: NoteGroup) -> str:
    """Return the criterion that a judge drafted; empty if it has not, or could not."""
    with suppress(UnreadableAnswerError):
        return read_criterion(_reply_of(group.draft))
    return ""


def proposed_groups(reading: Reading) -> list[ProposedGroup]:
    """Return the groups that a judge proposed, with notes that are still in none."""
    groups: Sequence[GroupFromNotes] = ()
    with suppress(UnreadableAnswerError):
        groups = read_groups(_reply_of(reading.proposal))
    loose = {note.pk: note for note in _loose(reading)} if groups else {}
    found = []
    for group in groups:
        # A note is in the first group that names it.
        notes = [loose.pop(key) for key in dict.fromkeys(group.notes) if key in loose]
        if notes and group.name.strip():
            found.append(ProposedGroup(" ".join(group.name.split())[:MAX_GROUP], notes))
    return found


def _reply_of(run: Run | None) -> str:
    return "" if run is None or run.is_open else answer_of(run).reply


def _loose(reading: Reading) -> QuerySet[ReadingNote]:
    return notes_of(reading).filter(kind=Kind.WRONG, group=None).order_by("pk")
