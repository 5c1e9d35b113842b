"""Import new conversations every day and grade a sample of them, each time once.

The rows are the truth: what is due is noted in the transaction that moves the time, and each step of
it is one change of its state. A process that dies leaves a step to be done again: files that it
imported are known by their digest, runs that it started by their key.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import CharField, Exists, OuterRef, Prefetch, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from evals_app.engine.basics.errors import CannotError
from evals_app.models import (
    Activity,
    ConversationGrading,
    ConversationImport,
    ConversationSet,
    DailyImport,
    DueImport,
    Run,
    SpanInbox,
    Suite,
)
from evals_app.models.people.activity import acts_from, note_act
from evals_app.runs.ground.patience import AWAY
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.recorded.daily_sources import (
    FETCH_S,
    MAX_FILES,
    CannotFetchError,
    StoredCopy,
    copy_file,
    fetch_file,
    files_in,
    read_headers,
    source_problems,
)
from evals_app.runs.recorded.grade_conversations import WantedConversations
from evals_app.runs.recorded.growing_groups import count_graded, end_rises, note_rises
from evals_app.runs.recorded.import_conversations import (
    CannotImportConversationsError,
    begin_import,
)
from evals_app.runs.schedules import next_time, owner_problem, take_due

log = logging.getLogger(__name__)

IMPORTING = "evals_app.add_conversationset"
KEEP = timedelta(days=90)  # of results, longer than those that groups are compared with
_CLAIMED_FOR = timedelta(seconds=FETCH_S + 60)
_INTERNAL = "Internal error in Evalwell. The worker's log has the reason."
_CANCELLED = "The grading was cancelled."
_STEP = Decimal("0.000001")  # USD
_STILL_GOING = "The previous import was still in progress."
_NOTHING_NEW = "There was nothing new."
State = DueImport.State


class CannotSaveDailyImportError(CannotError):
    """A daily import cannot be saved as written; `wrong` has what is wrong by input."""

    def __init__(self, wrong: Sequence[tuple[str, str]]) -> None:
        super().__init__(*(problem for _, problem in wrong))
        self.wrong = wrong


# What people do


def rights_for(*, is_graded: bool) -> tuple[str, ...]:
    """Return what a person needs to save a daily import, and it as long as it runs as them."""
    return (IMPORTING, *(RUNNING if is_graded else ()))


def save_daily_import(
    target: ConversationSet, *, by: User, suite: Suite | None, **written: Any
) -> DailyImport:
    """Store where conversations of a set come from, and when. From now on it runs as this person.

    `written` has the columns that people write.

    Raises:
        CannotSaveDailyImportError: no file may come from there, or the person may not start runs.
    """
    where = {name: written[name] for name in ("folder", "url", "headers")}
    wrong = list(source_problems(**where, is_sent=_takes_what_is_sent(target)))
    if suite is not None and not by.has_perms(RUNNING):
        wrong.append(("suite", "Grading takes the right to start runs."))
    if wrong:
        raise CannotSaveDailyImportError(wrong)
    written["headers"] = read_headers(written["headers"], written["url"]) if written["url"] else {}
    with transaction.atomic():
        ConversationSet.objects.select_for_update().get(pk=target.pk)
        row = DailyImport.objects.filter(conversation_set=target).first()
        is_new = row is None
        row = row or DailyImport(conversation_set=target)
        if row.url != written["url"]:
            row.validators = {}
        for name, value in written.items():
            setattr(row, name, value)
        row.suite, row.is_graded, row.owner = suite, suite is not None, by
        row.next_at = next_time(row, after=timezone.now())
        row.save()
        if suite is None:
            end_rises(target)
        words = "Imports every day" if is_new else "Changed how it imports every day"
        _note(row, f"{words}: {row.in_words}.", by, Activity.Kind.ADDED if is_new else None)
    return row


def _takes_what_is_sent(target: ConversationSet) -> bool:
    inbox: SpanInbox | None = getattr(target, "span_inbox", None)
    return inbox is not None and inbox.is_open


def pause(row: DailyImport, *, is_paused: bool, by: User) -> None:
    """Stop a daily import for a while, or let it continue; it then runs as this person."""
    row.is_enabled, row.owner = not is_paused, row.owner if is_paused else by
    row.next_at = next_time(row, after=timezone.now())
    with transaction.atomic():
        row.save(update_fields=["is_enabled", "owner", "next_at", "updated_at"])
        _note(row, f"{'Paused' if is_paused else 'Continued'} the daily import.", by)


def import_now(row: DailyImport, *, by: User) -> None:
    """Look for new files at once, as this person; the next time stays."""
    with transaction.atomic():
        DailyImport.objects.filter(pk=row.pk).update(owner=by)
        DueImport.objects.create(daily_import=row, due_at=timezone.now())
        _note(row, "Started the daily import now.", by)


def remove_daily_import(row: DailyImport, *, by: User) -> None:
    """Stop importing for good; conversations and runs stay."""
    with transaction.atomic():
        _note(row, "Removed the daily import.", by, Activity.Kind.DELETED)
        end_rises(row.conversation_set)
        row.delete()


def _note(row: DailyImport, text: str, by: User, kind: str | None = None) -> None:
    note_act(kind or Activity.Kind.CHANGED, text, user=by, row=row.conversation_set)


def problems_of(row: DailyImport) -> Iterator[str]:
    """Return what prevents a daily import from doing what it should, as far as it is known."""
    if row.is_enabled and row.next_at is None:
        yield "Its time is not valid or never occurs. Change it and save."
    if problem := _owner_problem(row):
        yield problem
    where = {"folder": row.folder, "url": row.url, "headers": row.headers}
    wrong = source_problems(**where, is_sent=_takes_what_is_sent(row.conversation_set))
    for _, problem in wrong:
        yield problem
    if row.folder and not wrong and not Path(row.folder).is_dir():
        yield f"This machine has no folder {row.folder}."
    yield from _problems_of_suite(row)


def _problems_of_suite(row: DailyImport) -> Iterator[str]:
    if row.is_graded and row.suite is None:
        yield "Its suite was deleted. Choose another one, or none."
    elif row.suite is not None and row.suite.archived_at:
        yield "Its suite is archived. Restore it, or choose another one."


def _owner_problem(row: DailyImport) -> str:
    what = "import conversations and start runs" if row.is_graded else "import conversations"
    return owner_problem(row, rights_for(is_graded=row.is_graded), what)


# When it is due


def note_due_imports(now: datetime | None = None) -> None:
    """Note which sets are due; any number of processes may do this at any time."""
    now = now or timezone.now()
    due = DailyImport.objects.filter(next_at__lte=now).order_by("next_at")
    for pk in due.values_list("pk", flat=True):
        with transaction.atomic():
            if (taken := take_due(DailyImport.objects.all(), pk, now=now)) is None:
                continue
            row, due_at = taken
            going = row.times.filter(state__in=[State.DUE, State.IMPORTING]).exists()
            how = {"state": State.ENDED, "why": _STILL_GOING} if going else {}
            DueImport.objects.bulk_create(
                [DueImport(daily_import=row, due_at=due_at, **how)], ignore_conflicts=True
            )


def has_work() -> bool:
    """Whether a step of a daily import can be done now."""
    return _ready().exists()


def _ready() -> QuerySet[DueImport]:
    imports = ConversationImport.objects.filter(due=OuterRef("pk"))
    is_importing = Exists(imports.filter(finished_at=None, failure=""))
    number = Cast(OuterRef("grading"), CharField())
    key = Concat(Value(f"{ConversationGrading.KEYS}:"), number, Value(":"))
    going = Run.all_runs.filter(status__in=[*Run.OPEN, Run.PREPARING])
    is_grading = Q(grading__finished_at=None, grading__failure="") | Exists(
        going.filter(idempotency_key__startswith=key)
    )
    is_free = Q(claimed_until=None) | Q(claimed_until__lt=timezone.now())
    can_go_on = (
        Q(state=State.DUE)
        | Q(~is_importing, state=State.IMPORTING)
        | Q(~is_grading | Q(grading=None), state=State.GRADING)
    )
    return DueImport.objects.filter(is_free, can_go_on).order_by("pk")


def work_on_due_imports() -> None:
    """Do each step that can be done, each of them in one process."""
    seen: set[tuple[int, str]] = set()
    while due := _claim(seen):
        seen.add((due.pk, due.state))
        try:
            with acts_from(Activity.Origin.WORKER):
                _STEPS[State(due.state)](due)
        except AWAY:
            raise
        except Exception:
            log.exception("Daily import %d failed.", due.daily_import_id)
            due.settle(due.state, State.ENDED, why=_INTERNAL)


def _claim(seen: Iterable[tuple[int, str]]) -> DueImport | None:
    rows = _ready().select_related("daily_import__owner", "daily_import__conversation_set")
    for due in rows.select_related("daily_import__suite", "grading"):
        mine = _ready().filter(pk=due.pk, state=due.state)
        is_new = (due.pk, due.state) not in seen
        if is_new and mine.update(claimed_until=timezone.now() + _CLAIMED_FOR):
            return due
    return None


# The steps


def _collect(due: DueImport) -> None:
    """Copy new files for workers to import; each with its import in one transaction."""
    row = due.daily_import
    if problem := _owner_problem(row):
        due.settle(State.DUE, State.ENDED, why=problem)
        return
    problems: list[str] = []
    try:
        if row.folder:
            problems = list(_copy_new_files(due))
        elif row.url:
            _fetch(due)
    except CannotFetchError as error:
        due.settle(State.DUE, State.ENDED, why=str(error))
        return
    _take_what_was_sent(due)
    why = "" if problems or due.imports.exists() else _NOTHING_NEW
    due.settle(State.DUE, State.IMPORTING, why=why, problems=problems)


def _take_what_was_sent(due: DueImport) -> None:
    """Count what agents sent since the last time as brought by this one."""
    row = due.daily_import
    sent = ConversationImport.objects.filter(
        conversation_set=row.conversation_set_id,
        inbox__isnull=False,
        due=None,
        created_at__gte=row.created_at,
    )
    sent.update(due=due)


def _copy_new_files(due: DueImport) -> Iterator[str]:
    """Begin the imports of new files; return what is wrong with others."""
    row = due.daily_import
    known = set(_known_files(row).exclude(stamp="").values_list("file_name", "stamp").iterator())
    fresh = (file for file in files_in(row.folder) if (file.name, file.stamp) not in known)
    for count, file in enumerate(fresh):
        if count == MAX_FILES:
            yield f"More files are there. The next {MAX_FILES} are imported the next time."
            return
        try:
            if copy := copy_file(file):
                _begin(due, file.name, copy, stamp=file.stamp)
        except (CannotFetchError, CannotImportConversationsError) as error:
            yield from (f"{file.name}: {problem}" for problem in error.problems)


def _known_files(row: DailyImport) -> QuerySet[ConversationImport]:
    """Return the imports whose files are not imported again."""
    return ConversationImport.objects.filter(conversation_set=row.conversation_set_id)


def _fetch(due: DueImport) -> None:
    row = due.daily_import
    known = row.validators
    if not _known_files(row).filter(found_digest=known.get("digest") or "-").exists():
        known = {}  # its import was discarded
    fetched = fetch_file(row.url, row.headers, known)
    if fetched is None:
        return
    try:
        _begin(due, fetched.name, fetched.copy, validators=fetched.validators)
    except CannotImportConversationsError as error:
        raise CannotFetchError(*error.problems) from None


def _begin(
    due: DueImport,
    name: str,
    copy: StoredCopy,
    *,
    stamp: str = "",
    validators: Mapping[str, str] | None = None,
) -> None:
    """Begin the import of a copy, unless one of the same content is there."""
    row = due.daily_import
    try:
        with transaction.atomic():
            is_known = _known_files(row).filter(found_digest=copy.digest).exists()
            if not is_known:
                begun = begin_import(
                    row.conversation_set,
                    name,
                    kind="",
                    is_masked=row.is_masked,
                    columns=row.columns,
                    by=row.owner,
                    upload=copy.path.name,
                )
                begun.due, begun.stamp, begun.found_digest = due, stamp, copy.digest
                begun.save(update_fields=["due", "stamp", "found_digest"])
            if validators is not None:
                DailyImport.objects.filter(pk=row.pk, url=row.url).update(
                    validators={**validators, "digest": copy.digest}
                )
    except BaseException:
        copy.path.unlink(missing_ok=True)
        raise
    if is_known:
        copy.path.unlink(missing_ok=True)


def _grade(due: DueImport) -> None:
    """Let workers grade what was imported; ended if there is nothing, or nothing may start."""
    row = due.daily_import
    done = due.imports.filter(finished_at__isnull=False, added__gt=0)
    runs = tuple(done.values_list("run", flat=True))
    why = ""
    if row.is_graded and runs:
        why = _owner_problem(row) or next(_problems_of_suite(row), "")
    if why or not row.is_graded or not runs:
        due.settle(State.IMPORTING, State.ENDED, why=why or due.why)
        return
    wanted = WantedConversations(count=row.count, imports=runs)
    with transaction.atomic():
        grading = ConversationGrading.objects.create(
            conversation_set=row.conversation_set,
            suite=row.suite,
            wanted=wanted.to_json(),
            max_cost_usd=_limit_of_each(row.max_cost_usd, len(runs)),
            total=wanted.sample(row.conversation_set).count(),
            created_by=row.owner,
        )
        if not due.settle(State.IMPORTING, State.GRADING, grading=grading):
            grading.delete()  # another process was faster


def _limit_of_each(limit: Decimal | None, runs: int) -> Decimal | None:
    """Divide a limit evenly, so that all runs of a time together stay within it."""
    return None if limit is None else max(_STEP, (limit / runs).quantize(_STEP, ROUND_DOWN))


def _end(due: DueImport) -> None:
    """Count what the runs found, and end."""
    why = _CANCELLED if due.grading is None else due.grading.failure
    with transaction.atomic():
        found = count_graded(due)
        noted = {"topics": found.topics, "groups": found.groups, "why": why}
        if due.settle(State.GRADING, State.ENDED, **noted):
            note_rises(due, found)


_STEPS = {State.DUE: _collect, State.IMPORTING: _grade, State.GRADING: _end}


def last_times(row: DailyImport, *, count: int = 5) -> Sequence[DueImport]:
    """Return the last times, the newest first, each with its imports."""
    imports = ConversationImport.objects.order_by("pk")
    times = row.times.prefetch_related(Prefetch("imports", imports)).select_related("grading")
    return list(times.order_by("-due_at")[:count])


def runs_of(times: Iterable[DueImport]) -> dict[int, list[Run]]:
    """Return the runs that grade what times brought, with their imports read, in one query."""
    keys = {
        due.grading.key_of(brought.run_id): due.pk
        for due in times
        if due.grading
        for brought in due.imports.all()
    }
    found: dict[int, list[Run]] = {}
    runs = Run.objects.filter(idempotency_key__in=keys).defer("summary").order_by("pk")
    for run in runs if keys else ():
        found.setdefault(keys[run.idempotency_key or ""], []).append(run)
    return found


def forget_due_imports() -> int:
    """Remove the results of times long ago; return how many."""
    old = DueImport.objects.filter(due_at__lt=timezone.now() - KEEP, state=State.ENDED)
    return old.delete()[0]
