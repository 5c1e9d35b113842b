"""Reading conversations: a sample that stays, one note of each reader on each, and their progress."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, Max, OuterRef, QuerySet

from evals_app.engine.basics.errors import CannotError
from evals_app.models import (
    Activity,
    ConversationSet,
    Execution,
    NoteGroup,
    Reading,
    ReadingItem,
    ReadingNote,
    Run,
)
from evals_app.models.judging.readings import MAX_NOTE
from evals_app.models.people.activity import note_act
from evals_app.models.people.names import author_of
from evals_app.runs.recorded.grade_conversations import WantedConversations
from evals_app.runs.reviews.reviewing import REVIEWING
from fixtures_app.ground.storable import storable

READING = ("evals_app.view_execution", REVIEWING)
USUAL = 50  # conversations of a sample
MAX_ITEMS = 2000  # of a reading: its pages count all of them

Kind = ReadingNote.Kind


class CannotReadError(CannotError):
    """Conversations cannot be read, noted or grouped as asked."""


def draw(of: ConversationSet | Run, wanted: WantedConversations, *, by: User) -> Reading:
    """Add conversations that fit to what people read of a set or of a run, and return the reading.

    The same are drawn each time, and what was said plays no part. Those that are there stay.

    Raises:
        CannotReadError: none is left that fits, or there would be too many.
    """
    with transaction.atomic():
        owner = {"run": of} if isinstance(of, Run) else {"conversation_set": of}
        reading, _ = Reading.objects.get_or_create(**owner)
        Reading.objects.select_for_update().get(pk=reading.pk)
        known = set(reading.items.values_list("execution", flat=True))
        count = USUAL if wanted.count is None else wanted.count
        if len(known) + count > MAX_ITEMS:
            raise CannotReadError(
                f"A reading has at most {MAX_ITEMS:,} conversations; {len(known):,} are there."
            )
        drawn = list(islice((key for key in _in_order(of, wanted) if key not in known), count))
        if not drawn:
            raise CannotReadError("No other conversation fits. Choose others.")
        last = reading.items.aggregate(last=Max("position"))["last"] or 0
        ReadingItem.objects.bulk_create(
            ReadingItem(reading=reading, position=last + n, execution_id=key)
            for n, key in enumerate(drawn, 1)
        )
        text = f"Drew {len(drawn):,} conversations to read."
        note_act(Activity.Kind.CHANGED, text, user=by, row=of)
    return reading


def _in_order(of: ConversationSet | Run, wanted: WantedConversations) -> Iterable[int]:
    """Return the executions that fit, in an order that is the same each time."""
    if isinstance(of, Run):
        rows = of.executions.filter(status=Execution.Status.FINISHED, content_removed_at=None)
        keys = rows.values_list("pk", flat=True)
        return sorted(keys, key=lambda key: hashlib.sha256(f"{key}".encode()).digest())
    fitting = wanted.of(of).filter(execution__content_removed_at=None).order_by("digest", "pk")
    return fitting.values_list("execution", flat=True).iterator(MAX_ITEMS)


def write_note(
    item: ReadingItem, *, by: User, kind: str, text: str = "", group: NoteGroup | None = None
) -> ReadingNote:
    """Store what a person says of a conversation, in place of what they said before.

    Raises:
        CannotReadError: it does not say what went wrong, or is too long.
    """
    line = storable(" ".join(text.split()))
    if kind not in Kind.values:
        raise CannotReadError(f"{kind!r} is none of {', '.join(Kind.values)}.")
    if kind == Kind.WRONG and not line:
        raise CannotReadError("Write in one line what went wrong, or choose Fine.")
    if len(line) > MAX_NOTE:
        raise CannotReadError(f"Write at most {MAX_NOTE} characters; these are {len(line):,}.")
    said: dict[str, object] = {"kind": kind, "text": line if kind != Kind.FINE else ""}
    if kind != Kind.WRONG or group is not None:
        said["group"] = group if kind == Kind.WRONG else None
    with transaction.atomic():
        # Its key stays when people change it, and so does its group.
        note, _ = ReadingNote.objects.update_or_create(
            item=item, by=by, defaults=said, create_defaults=said | author_of(by)
        )
        words = {Kind.FINE: "fine", Kind.WRONG: "a note", Kind.UNSURE: "not sure"}
        text = f"Read: {words[Kind(kind)]}."
        note_act(Activity.Kind.DECIDED, text, user=by, row=item.execution)
    return note


def next_to_read(reading: Reading, person: int, *, after: int = 0) -> int | None:
    """Return the place of the next conversation that a person has not read; then from the start."""
    own = ReadingNote.objects.filter(item__reading=reading, by=person)
    places = reading.items.exclude(pk__in=own.values("item")).order_by("position")
    unread = list(places.values_list("position", flat=True))
    return next((place for place in unread if place > after), unread[0] if unread else None)


@dataclass(frozen=True, slots=True)
class ReaderProgress:
    """What one person has read."""

    person: int | None
    name: str
    fine: int
    wrong: int
    unsure: int

    @property
    def read(self) -> int:
        return self.fine + self.wrong + self.unsure


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """How far a reading is; `shared` are read by two people or more, who `agreed` if it went wrong.

    `read` is how many conversations someone has read.
    """

    total: int
    read: int
    shared: int
    agreed: int
    people: Sequence[ReaderProgress]

    def of(self, person: int | None) -> ReaderProgress:
        """Return that of one person, who may have read nothing yet."""
        none = ReaderProgress(person, "", 0, 0, 0)
        return next((reader for reader in self.people if reader.person == person), none)


def progress_of(reading: Reading) -> ReadingProgress:
    """Return how far a reading is, in two queries."""
    rows = notes_of(reading).order_by("pk").values_list("item", "by", "by_name", "kind")
    kinds: dict[tuple[int | None, str], Counter[str]] = {}
    said: dict[int, list[str]] = {}
    for item, person, name, kind in rows:
        kinds.setdefault((person, name), Counter())[kind] += 1
        said.setdefault(item, []).append(kind)
    decided = [[kind for kind in words if kind != Kind.UNSURE] for words in said.values()]
    shared = [words for words in decided if len(words) > 1]
    return ReadingProgress(
        total=reading.items.count(),
        read=len(said),
        shared=len(shared),
        agreed=sum(len(set(words)) == 1 for words in shared),
        people=[
            ReaderProgress(person, name, *(counts[kind] for kind in ("fine", "wrong", "unsure")))
            for (person, name), counts in kinds.items()
        ],
    )


def is_shown_to(reader: int) -> Exists:
    """Return the condition on notes that a person may see them: their own is there.

    Who reads first what others wrote agrees with them too often.
    """
    return Exists(ReadingNote.objects.filter(item=OuterRef("item"), by=reader))


def notes_of(reading: Reading) -> QuerySet[ReadingNote]:
    """Return all notes of a reading."""
    return ReadingNote.objects.filter(item__reading=reading)
