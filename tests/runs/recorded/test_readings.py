"""Reading: a sample that stays, a note of each reader, groups of notes, and how often each happens."""

import json

import pytest
from django.contrib.auth.models import User

from evals_app.engine.statistics.agreement import Proportion
from evals_app.models import Activity, ConversationSet, Reading, ReadingNote, SnapshotCase
from evals_app.runs.forgetting.conversations import REMOVED, forget_conversation
from evals_app.runs.recorded.grade_conversations import WantedConversations
from evals_app.runs.recorded.group_counts import count_groups
from evals_app.runs.recorded.note_groups import (
    find_or_make_group,
    merge_group,
    put_into_group,
    remove_group,
    rename_group,
    restore_group,
)
from evals_app.runs.recorded.readings import (
    CannotReadError,
    draw,
    next_to_read,
    progress_of,
    write_note,
)
from evals_app.runs.recorded.sets import remove_set
from tests.makers import make_run
from tests.runs.recorded.conversations import imported, row_of, rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann")


@pytest.fixture
def ben() -> User:
    return User.objects.create_user("ben")


def of(count: int, **wanted: object) -> WantedConversations:
    return WantedConversations(count=count, **wanted)  # type: ignore[arg-type]


def read_set(count: int = 4, *, by: User) -> Reading:
    rows = [
        *rows_of(count, date="2026-11-16", tags=["price"]),
        *(row_of(f"b{n}", date="2026-11-23", tags=["return"]) for n in range(count)),
    ]
    return draw(imported(rows).conversation_set, of(2 * count), by=by)


def say(reading: Reading, position: int, by: User, text: str = "", group: str = "") -> ReadingNote:
    made = find_or_make_group(reading, group, by=by) if group else None
    kind = "wrong" if text else "fine"
    item = reading.items.get(position=position)
    return write_note(item, by=by, kind=kind, text=text, group=made)


def test_a_sample_is_the_same_each_time_and_later_ones_are_added_behind(ann: User) -> None:
    target = imported(rows_of(10)).conversation_set
    reading = draw(target, of(4), by=ann)
    first = list(reading.items.order_by("position").values_list("execution", flat=True))
    reading.delete()
    again = draw(target, of(4), by=ann)
    assert list(again.items.order_by("position").values_list("execution", flat=True)) == first

    imported([row_of("new", date="2026-11-23")], target)
    draw(target, of(1, topic=""), by=ann)
    more = draw(target, of(50), by=ann)
    places = list(more.items.order_by("position").values_list("position", "execution"))
    assert [place for place, _ in places] == list(range(1, 12))
    assert [key for _, key in places][:4] == first
    with pytest.raises(CannotReadError):
        draw(target, of(1), by=ann)  # none is left
    with pytest.raises(CannotReadError):
        draw(target, of(2000), by=ann)  # too many


def test_each_reader_has_their_own_progress_and_place(ann: User, ben: User) -> None:
    reading = read_set(2, by=ann)
    assert next_to_read(reading, ann.pk) == 1
    say(reading, 1, ann, "Wrong price")
    say(reading, 3, ann)
    say(reading, 1, ben)
    write_note(reading.items.get(position=3), by=ben, kind="unsure")

    progress = progress_of(reading)
    assert (progress.total, progress.read, progress.shared, progress.agreed) == (4, 2, 1, 0)
    assert [(one.name, one.fine, one.wrong, one.unsure) for one in progress.people] == [
        ("ann", 1, 1, 0),
        ("ben", 1, 0, 1),
    ]
    assert progress.of(None).read == 0
    assert next_to_read(reading, ann.pk, after=3) == 4
    assert next_to_read(reading, ann.pk, after=4) == 2
    for place in (2, 4):
        say(reading, place, ann)
    assert next_to_read(reading, ann.pk) is None


def test_a_new_answer_replaces_the_old_one_and_keeps_the_group_while_it_is_wrong(ann: User) -> None:
    reading = read_set(1, by=ann)
    note = say(reading, 1, ann, "Wrong  price\n", "Prices")
    say(reading, 1, ann, "Wrong fee")
    note.refresh_from_db()
    assert (note.text, str(note.group)) == ("Wrong fee", "Prices")
    say(reading, 1, ann)
    note.refresh_from_db()
    assert (note.kind, note.text, note.group) == ("fine", "", None)
    item = reading.items.get(position=1)
    for kind, text in (("wrong", " "), ("bad", "x"), ("wrong", "x" * 501)):
        with pytest.raises(CannotReadError):
            write_note(item, by=ann, kind=kind, text=text)
    assert Activity.objects.filter(object_type="execution", by_name="ann").count() == 3


def test_groups_count_conversations_with_intervals_by_topic_and_week(ann: User, ben: User) -> None:
    reading = read_set(by=ann)
    for place in range(1, 9):
        say(reading, place, ann)
    prices = [item.position for item in reading.items.all() if _topic(item) == ["price"]]
    say(reading, prices[0], ann, "9 euros", "Wrong price")
    say(reading, prices[0], ben, "Not 9 euros", "wrong PRICE")  # the same conversation
    say(reading, prices[1], ben, "Fee made up", "Wrong price")
    say(reading, prices[2], ben, "Rude")

    counts = count_groups(reading)
    [group] = counts.groups
    assert (counts.read, counts.fine, counts.wrong) == (8, 5, 3)
    assert [note.text for note in counts.loose] == ["Rude"]
    assert sorted(note.text for note in group.notes) == ["9 euros", "Fee made up", "Not 9 euros"]
    assert group.rate == Proportion(2, 8)
    assert [(part.name, part.rate) for part in group.by_topic] == [
        ("price", Proportion(2, 4)),
        ("return", Proportion(0, 4)),
    ]
    assert [(part.name, part.rate.count) for part in group.by_week] == [
        ("2026-W47", 2),
        ("2026-W48", 0),
    ]


def _topic(item: object) -> list[str]:
    return item.execution.imported_conversation.topic_list  # type: ignore[attr-defined, no-any-return]


def test_groups_are_renamed_merged_removed_and_come_back(ann: User) -> None:
    reading = read_set(by=ann)
    notes = [say(reading, place, ann, f"Note {place}") for place in (1, 2, 3)]
    keys = [note.pk for note in notes]
    prices, fees = (find_or_make_group(reading, name, by=ann) for name in ("Prices", "Fees"))
    put_into_group(reading, keys[:2], prices, by=ann)
    put_into_group(reading, keys[2:], fees, by=ann)

    with pytest.raises(CannotReadError):
        rename_group(fees, "prices", by=ann)
    rename_group(fees, "Made-up fees", by=ann)
    moved = merge_group(fees, prices, by=ann)
    assert _groups(reading) == {"Prices": 3}
    restore_group(fees, moved, by=ann)
    assert _groups(reading) == {"Prices": 2, "Made-up fees": 1}

    removed = remove_group(prices, by=ann)
    assert _groups(reading) == {"Made-up fees": 1}
    again = find_or_make_group(reading, "Prices", by=ann)
    prices.refresh_from_db()
    with pytest.raises(CannotReadError):
        restore_group(prices, removed, by=ann)  # its name is taken
    rename_group(again, "Other prices", by=ann)
    restore_group(prices, removed, by=ann)
    assert _groups(reading) == {"Made-up fees": 1, "Prices": 2, "Other prices": 0}
    with pytest.raises(CannotReadError):
        merge_group(prices, prices, by=ann)
    with pytest.raises(CannotReadError):
        find_or_make_group(reading, " ", by=ann)
    fine = say(reading, 4, ann)
    assert put_into_group(reading, [fine.pk, 10**9], prices, by=ann) == []


def _groups(reading: Reading) -> dict[str, int]:
    return {str(count.group): len(count.notes) for count in count_groups(reading).groups}


def test_conversations_of_a_run_are_read_too(ann: User) -> None:
    run = make_run({"one": ["passed", "failed"], "two": ["passed"]})
    reading = draw(run, of(2), by=ann)
    say(reading, 1, ann, "Rude", "Tone")
    [group] = count_groups(reading).groups
    assert (reading.run, group.rate, group.by_week) == (run, Proportion(1, 1), [])


def test_notes_go_with_what_was_said_and_with_the_set(ann: User) -> None:
    reading = read_set(1, by=ann)
    note = say(reading, 1, ann, "Ann Miller got a wrong price")
    forget_conversation(note.item.execution, by=ann)
    note.refresh_from_db()
    assert note.text == REMOVED
    say(reading, 2, ann)
    remove_set(ConversationSet.objects.get())
    assert not Reading.objects.exists()


def test_what_a_judge_was_asked_about_notes_goes_with_the_set(ann: User) -> None:
    reading = read_set(1, by=ann)
    asked = make_run()
    content = json.dumps({"name": "q", "turns": [{"user": "Ann Miller got a wrong price"}]})
    SnapshotCase.objects.create(snapshot=asked.snapshot, position=0, content=content)
    Reading.objects.filter(pk=reading.pk).update(proposal=asked)

    remove_set(ConversationSet.objects.get())

    assert "Miller" not in asked.snapshot.cases.get().content
