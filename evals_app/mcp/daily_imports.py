"""Tools about what a set imports every day: see it, set it, stop it."""

from pydantic import Field

from evals_app.engine.specs.base_spec import Slug, Spec
from evals_app.mcp.conversations import find_set
from evals_app.mcp.tool import Caller, Told
from evals_app.models import DailyImport
from evals_app.reports.answers.run_answers import Answer, Json
from evals_app.requests.daily_imports import (
    DailyImportAnswer,
    WriteDailyImport,
    daily_import_json,
    daily_imports,
    write_daily_import,
)
from evals_app.requests.problems import refused_at
from evals_app.runs.recorded.daily_imports import remove_daily_import

_NO_LIMIT = "Grading costs money each time: give the limit of each time."


class SetOfDailyImport(Spec):
    """The set that imports every day."""

    set: Slug


class DailyImportOfSet(WriteDailyImport):
    """The set, and its whole daily import: what is left out gets its default."""

    set: Slug


class DailyImportData(Answer):
    """The daily import of a set."""

    daily_import: DailyImportAnswer | None = Field(description="null: there is none.")


def read_daily_import(_caller: Caller, given: SetOfDailyImport) -> Told:
    """Say where new conversations come from, when, and what the last times brought."""
    row = daily_imports().filter(conversation_set=find_set(given.set)).first()
    if row is None:
        text = "Nothing is imported every day. set_daily_import begins it."
        return Told(text, DailyImportData.of(daily_import=None))
    return _words_about(row)


def set_daily_import(caller: Caller, given: DailyImportOfSet) -> Told:
    """Store a daily import, which then runs as the caller."""
    if given.suite and given.max_cost_usd is None:
        raise refused_at("max_cost_usd", _NO_LIMIT)
    return _words_about(write_daily_import(find_set(given.set), given, caller.user))


def stop_daily_import(caller: Caller, given: SetOfDailyImport) -> Told:
    """Stop importing every day; conversations and runs stay."""
    target = find_set(given.set)
    row = daily_imports().filter(conversation_set=target).first()
    if row is None:
        raise refused_at("set", f"{target.slug} imports nothing every day.")
    remove_daily_import(row, by=caller.user)
    text = f"{target.slug} imports nothing any more. Conversations and runs stay."
    return Told(text, DailyImportData.of(daily_import=None))


def _words_about(row: DailyImport) -> Told:
    data = daily_import_json(row)
    lines = [f"From {row.source} {row.in_words}, as {data['owner'] or 'nobody'}."]
    if not row.is_enabled:
        lines.append("It is paused.")
    if row.suite is not None:
        how_many = f"at most {row.count:,}" if row.count else "all"
        lines.append(f"{how_many.capitalize()} of what is new is graded by {row.suite.slug}.")
    lines += [f"Problem: {problem}" for problem in data["problems"]]
    lines += [_time_line(due) for due in data["last"]]
    return Told("\n".join(lines), DailyImportData.of(daily_import=data))


def _time_line(due: Json) -> str:
    brought = [f"{file['file_name']}: {file['added']:,} new" for file in due["imports"]]
    runs = [f"graded by run {run}" for run in due["runs"]]
    said = [*brought, *due["problems"], *runs, *filter(None, [due["why"]])]
    return f"- {str(due['due_at'])[:16]}, {due['state']}: {'; '.join(said) or 'nothing yet'}"
