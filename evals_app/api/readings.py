"""Reading conversations over REST: what is read, notes, and their groups."""

from datetime import date
from typing import Annotated, ClassVar, Literal

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.engine.specs.base_spec import Slug, Spec
from evals_app.models import ConversationSet, NoteGroup, Reading, ReadingNote, Run
from evals_app.models.judging.readings import MAX_GROUP, MAX_NOTE
from evals_app.reports.answers.reading.reading_answers import (
    NoteGroupJson,
    PartJson,
    ReaderJson,
    ReadingDetails,
    ReadingNoteJson,
    ReadingRow,
)
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import RunId, read_body
from evals_app.requests.endpoint import (
    Endpoint,
    ListEndpoint,
    OneEndpoint,
    describe_get,
    find_or_404,
    new_response,
    responses,
)
from evals_app.requests.permissions import Need, Scope
from evals_app.runs.recorded.grade_conversations import WantedConversations
from evals_app.runs.recorded.group_counts import GroupCount, PartOfGroup, count_groups
from evals_app.runs.recorded.note_groups import (
    find_or_make_group,
    put_into_group,
    remove_group,
    rename_group,
)
from evals_app.runs.recorded.readings import (
    MAX_ITEMS,
    READING,
    USUAL,
    CannotReadError,
    draw,
    is_shown_to,
    notes_of,
    progress_of,
    write_note,
)
from fixtures_app.ground.strict_json import JsonObject

READS = Need(Scope.READ, *READING)
WRITES = Need(Scope.AUTHOR, *READING)
_GroupName = Annotated[str, Field(min_length=1, max_length=MAX_GROUP)]
_Notes = Annotated[list[RunId], Field(max_length=MAX_ITEMS)]


class DrawConversations(Spec):
    """Conversations to read, of a set or of a run."""

    conversation_set: Slug | None = Field(default=None, description="The slug of a set.")
    run: RunId | None = None
    count: int = Field(default=USUAL, ge=1, le=MAX_ITEMS)
    since: Annotated[date, Field(strict=False)] | None = Field(
        default=None, description="Of a set."
    )
    until: Annotated[date, Field(strict=False)] | None = Field(
        default=None, description="Of a set."
    )
    topic: str = Field(default="", max_length=200, description="Of a set.")


class GivenNote(Spec):
    """What you say of a conversation."""

    position: int = Field(ge=1, le=MAX_ITEMS, description="Its place in the order of reading.")
    kind: Literal["fine", "wrong", "unsure"]
    text: str = Field(default="", max_length=MAX_NOTE, description="What went wrong, in one line.")
    group: _GroupName | None = Field(
        default=None, description="The name of its group, which is made where there is none."
    )


class NewNoteGroup(Spec):
    """A group of notes; one of this name is filled."""

    name: _GroupName
    notes: _Notes = Field(default_factory=list, description="The ids of notes to put into it.")


class ChangeNoteGroup(Spec):
    """What to change of a group; what is left out stays."""

    name: _GroupName | None = None
    notes: _Notes | None = Field(default=None, description="All of its notes.")


@describe_get("readings_list", "List what people read")
class Readings(ListEndpoint):
    """All sets and runs whose conversations people read, newest first."""

    needs: ClassVar = {"GET": READS, "POST": WRITES}
    queryset = Reading.objects.select_related("conversation_set")
    answer = ReadingRow

    def row_json(self, row: Reading) -> JsonObject:
        return ReadingRow.of(_row(row))

    @extend_schema(
        operation_id="readings_draw",
        summary="Draw conversations to read, of a set or of a run",
        description="The same are drawn each time. Those that are there stay, and others are added.",
        request=DrawConversations,
        responses=responses(ReadingDetails, 404, 422, status=201),
    )
    def post(self, request: Request) -> Response:
        body = read_body(DrawConversations, request.data)
        if (body.conversation_set is None) is (body.run is None):
            raise CannotReadError("Name either conversation_set or run.")
        of: ConversationSet | Run
        if body.run is not None:
            of = find_or_404(Run.objects.defer("summary"), pk=body.run)
        else:
            of = find_or_404(ConversationSet.objects.all(), slug=body.conversation_set)
        wanted = WantedConversations(
            since=body.since, until=body.until, topic=body.topic, count=body.count
        )
        reading = draw(of, wanted, by=user_of(request))
        return new_response(_details(reading), "reading", reading.pk)


@describe_get("readings_get", "Read how far a reading is, and what goes wrong most", 404)
class OneReading(OneEndpoint):
    """One reading with its groups."""

    needs: ClassVar = {"GET": READS}
    model = Reading
    answer = ReadingDetails

    def read(self, key: int) -> JsonObject | None:
        reading = Reading.objects.select_related("conversation_set").filter(pk=key).first()
        return None if reading is None else _details(reading)


@describe_get("readings_notes", "List the notes of a reading", 404)
class ReadingNotes(ListEndpoint):
    """What people say of conversations that you have answered yourself, newest first."""

    needs: ClassVar = {"GET": READS, "POST": WRITES}
    queryset = ReadingNote.objects.none()  # for the schema
    answer = ReadingNoteJson

    def get_queryset(self) -> QuerySet[ReadingNote]:
        notes = notes_of(_reading(self.kwargs["pk"])).select_related("item")
        return notes.filter(is_shown_to(user_of(self.request).pk))

    def row_json(self, row: ReadingNote) -> JsonObject:
        return _note_json(row)

    @extend_schema(
        operation_id="readings_note",
        summary="Say of a conversation that it is fine, or what went wrong",
        description="Replaces what you said of it before.",
        request=GivenNote,
        responses=responses(ReadingNoteJson, 404, 422),
    )
    def post(self, request: Request, pk: int) -> Response:
        body, by = read_body(GivenNote, request.data), user_of(request)
        reading = _reading(pk)
        items = reading.items.select_related("execution")
        item = find_or_404(items, position=body.position)
        group = None
        if body.group is not None and body.kind == "wrong":
            group = find_or_make_group(reading, body.group, by=by)
        note = write_note(item, by=by, kind=body.kind, text=body.text, group=group)
        return Response(_note_json(note))


class NoteGroups(Endpoint):
    """The groups of a reading; its details list them."""

    needs: ClassVar = {"POST": WRITES}

    @extend_schema(
        operation_id="readings_group",
        summary="Put notes into a group, which is made where there is none",
        request=NewNoteGroup,
        responses=responses(NoteGroupJson, 404, 422, status=201),
    )
    def post(self, request: Request, pk: int) -> Response:
        body, by = read_body(NewNoteGroup, request.data), user_of(request)
        reading = _reading(pk)
        group = find_or_make_group(reading, body.name, by=by)
        put_into_group(reading, body.notes, group, by=by)
        return new_response(_group_json(group), "note-group", group.pk)


@describe_get("note_groups_get", "Read a group of notes, and how often it happens", 404)
class OneNoteGroup(OneEndpoint):
    """One group."""

    needs: ClassVar = {"GET": READS, "PATCH": WRITES, "DELETE": WRITES}
    model = NoteGroup
    answer = NoteGroupJson

    def read(self, key: int) -> JsonObject | None:
        group = _groups().filter(pk=key).first()
        return None if group is None else _group_json(group)

    @extend_schema(
        operation_id="note_groups_patch",
        summary="Rename a group, or say which notes it has",
        request=ChangeNoteGroup,
        responses=responses(NoteGroupJson, 404, 422),
    )
    def patch(self, request: Request, pk: int) -> Response:
        body, by = read_body(ChangeNoteGroup, request.data), user_of(request)
        group = find_or_404(_groups(), pk=pk)
        if body.name is not None:
            rename_group(group, body.name, by=by)
        if body.notes is not None:
            others = group.notes.exclude(pk__in=body.notes).values_list("pk", flat=True)
            put_into_group(group.reading, list(others), None, by=by)
            put_into_group(group.reading, body.notes, group, by=by)
        return Response(_group_json(group))

    @extend_schema(
        operation_id="note_groups_delete",
        summary="Remove a group",
        description="Its notes stay.",
        request=None,
        responses=responses(None, 404, status=204),
    )
    def delete(self, request: Request, pk: int) -> Response:
        remove_group(find_or_404(_groups(), pk=pk), by=user_of(request))
        return Response(status=204)


def _reading(pk: int) -> Reading:
    return find_or_404(Reading.objects.all(), pk=pk)


def _groups() -> QuerySet[NoteGroup]:
    return NoteGroup.objects.filter(removed_at=None).select_related("reading")


def _row(reading: Reading) -> dict[str, object]:
    target = reading.conversation_set
    return {
        "id": reading.pk,
        "conversation_set": target.slug if target else None,
        "run": reading.run_id,
        "created_at": reading.created_at,
    }


def _details(reading: Reading) -> JsonObject:
    progress, counts = progress_of(reading), count_groups(reading)
    return ReadingDetails.of(
        _row(reading),
        total=progress.total,
        read=counts.read,
        fine=counts.fine,
        wrong=counts.wrong,
        shared=progress.shared,
        agreed=progress.agreed,
        people=[ReaderJson.of_object(reader) for reader in progress.people],
        groups=[_count_json(count) for count in counts.groups],
    )


def _group_json(group: NoteGroup) -> JsonObject:
    counts = count_groups(group.reading).groups
    return next(_count_json(count) for count in counts if count.group == group)


def _count_json(count: GroupCount) -> JsonObject:
    low, high = count.rate.interval or (None, None)
    return NoteGroupJson.of_object(
        count.group,
        notes=[note.pk for note in count.notes],
        count=count.rate.count,
        total=count.rate.total,
        share=count.rate.share,
        likely_from=low,
        likely_to=high,
        by_topic=[_part_json(part) for part in count.by_topic],
        by_week=[_part_json(part) for part in count.by_week],
    )


def _part_json(part: PartOfGroup) -> JsonObject:
    return PartJson.of(name=part.name, count=part.rate.count, total=part.rate.total)


def _note_json(note: ReadingNote) -> JsonObject:
    return ReadingNoteJson.of_object(
        note,
        position=note.item.position,
        execution=note.item.execution_id,
        by=note.by_name,
        group=note.group_id,
    )
