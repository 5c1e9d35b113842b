"""Tools about real conversations: sets of them, importing and grading."""

from datetime import UTC

from pydantic import Field

from evals_app.engine.specs.base_spec import Name, Slug, Spec
from evals_app.formats.conversations.read import read_conversations
from evals_app.mcp.results import run_row
from evals_app.mcp.tool import Caller, Told
from evals_app.models import ConversationGrading, ConversationSet
from evals_app.reports.answers.run_answers import Answer, RunRow
from evals_app.reports.words.figures import count_text
from evals_app.requests.bodies import Ceiling, RunId
from evals_app.requests.conversation_sets import (
    ConversationSetAnswer,
    CopyConversations,
    GradeConversations,
    ImportedConversationAnswer,
    Wanted,
    chosen_conversations,
    conversation_json,
    grade,
    grading_forecast,
    import_json,
)
from evals_app.requests.problems import refused_at
from evals_app.runs.recorded.copied_runs import copy_conversations
from evals_app.runs.recorded.import_conversations import import_conversations
from evals_app.runs.recorded.masking import site_masker
from evals_app.runs.recorded.sets import find_or_make_set
from evals_app.runs.recorded.waiting_imports import NO_CONVERSATIONS
from fixtures_app.ground.words import near

MAX_LISTED = 50
MAX_CONTENT = 1_000_000  # characters


class AllSets(Spec):
    """No arguments."""


class FindConversations(Wanted):
    """The set, and which of its conversations."""

    set: Slug
    before: RunId | None = Field(default=None, description="Only those before this number.")


class ImportText(Spec):
    """A file of conversations, and the set that they belong to."""

    set: Name = Field(description="Name or slug.")
    file_name: Name = Field(description="For example week-47.csv; its ending says what it is.")
    content: str = Field(min_length=1, max_length=MAX_CONTENT)


class CopyIntoSet(CopyConversations):
    """The set that they are copied into, and which conversations."""

    set: Name = Field(description="Name or slug; it is made if there is none.")


class GradeOfSet(GradeConversations):
    """The set, the suite whose general checks apply, and which conversations."""

    set: Slug
    max_cost_usd: Ceiling = Field(description="Each run stops before a call that costs more.")


class SetsData(Answer):
    """Sets of real conversations."""

    sets: list[ConversationSetAnswer]


class ConversationsData(Answer):
    """Conversations of a set."""

    conversations: list[ImportedConversationAnswer]
    before: int | None = Field(description="Pass it on to read more; null: these were the last.")


class GradingData(Answer):
    """The runs that grade, one for each import."""

    runs: list[RunRow]
    is_waiting: bool = Field(description="A worker starts the runs: list_runs shows them then.")


def list_sets(_caller: Caller, _given: AllSets) -> Told:
    """List the sets."""
    rows = ConversationSet.objects.order_by("-pk")[: 2 * MAX_LISTED]
    lines = [f"- {row.slug}: {row.name}, {count_text(row.count, 'conversation')}" for row in rows]
    sets = [ConversationSetAnswer.of_object(row) for row in rows]
    return Told(
        "\n".join(lines) or "No set yet: import_conversations makes one.", SetsData.of(sets=sets)
    )


def list_conversations(_caller: Caller, given: FindConversations) -> Told:
    """List conversations of a set."""
    rows = given.to_wanted().of(find_set(given.set)).order_by("-pk")
    if given.before is not None:
        rows = rows.filter(pk__lt=given.before)
    found = list(rows[: MAX_LISTED + 1])
    shown = found[:MAX_LISTED]
    before = shown[-1].pk if len(found) > MAX_LISTED else None
    lines = [
        f"- {row.external_id}, {row.happened_at.astimezone(UTC).date() if row.happened_at else 'day unknown'}:"
        f" {', '.join(row.topic_list) or 'no topic'} (conversation {row.execution_id})"
        for row in shown
    ]
    if before is not None:
        lines.append(f"More: call this again with before: {before}.")
    data = ConversationsData.of(conversations=list(map(conversation_json, shown)), before=before)
    return Told("\n".join(lines) or "No conversation fits.", data)


def import_text(caller: Caller, given: ImportText) -> Told:
    """Import the content of a file, masked."""
    file = read_conversations(given.file_name, given.content.encode())
    if not any(True for _ in file):
        raise refused_at("content", (file.problems or [NO_CONVERSATIONS])[0])
    target = find_or_make_set(given.set, by=caller.user)
    data = import_json(import_conversations(target, file, masker=site_masker(), by=caller.user))
    return Told("\n".join([f"Into {target.slug}:", *data["in_words"]]), data)


def copy_into_set(caller: Caller, given: CopyIntoSet) -> Told:
    """Copy conversations of runs, masked unless asked otherwise."""
    chosen = chosen_conversations(given)
    target = find_or_make_set(given.set, by=caller.user)
    row = copy_conversations(chosen, target, is_masked=given.masking, by=caller.user)
    data = import_json(row)
    if row.finished_at is None:
        text = f"A worker copies {chosen.count:,} conversations into {target.slug}."
        return Told(f"{text} list_real_conversations has them once all are there.", data)
    return Told("\n".join([f"Into {target.slug}:", *data["in_words"]]), data)


def forecast_grading(caller: Caller, given: GradeOfSet) -> Told:
    """Return what grading would take."""
    data = grading_forecast(find_set(given.set), given, caller.user)
    lines = [data["in_words"], f"Checks: {'; '.join(data['checks']) or 'the rubric'}"]
    return Told("\n".join([*lines, *(f"Not applied: {why}" for why in data["unused"])]), data)


def grade_conversations(caller: Caller, given: GradeOfSet) -> Told:
    """Start grading."""
    started = grade(find_set(given.set), given, caller.user)
    if isinstance(started, ConversationGrading):
        text = (
            f"A worker starts the run of {started.total:,} conversations. list_runs shows it then."
        )
        return Told(text, GradingData.of(runs=[], is_waiting=True))
    runs = [run.pk for run in started]
    text = f"Started {', '.join(f'run {pk}' for pk in runs)}. Follow: read_run with run: {runs[0]}."
    return Told(text, GradingData.of(runs=list(map(run_row, runs)), is_waiting=False))


def find_set(slug: str) -> ConversationSet:
    """Return a set by its slug; without one, the nearest is named."""
    target = ConversationSet.objects.filter(slug=slug).first()
    if target is None:
        known = ConversationSet.objects.values_list("slug", flat=True)
        raise refused_at("set", f"No set is called {slug!r}.{near(slug, known)}")
    return target
