"""Remove the transcripts of old runs."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection

from evals_app.checks import FOR_COMMANDS
from evals_app.management import usage_error
from evals_app.management.numbers import MAX_DAYS, days, whole
from evals_app.reports.words.figures import count_text
from evals_app.runs.ground.workers import has_worker
from evals_app.runs.process.retention import (
    KEEP_LAST,
    Pruned,
    count_prunable,
    count_reviewed,
    due_runs,
    prune_run,
)


class Command(BaseCommand):
    """Remove transcripts; results stay."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Remove transcripts and what judges were asked from runs that ended long ago. Verdicts, "
        "scores, reasons and costs stay, and so does everything of pinned runs and of conversations "
        "that people have reviewed, unless you ask for these. Exit code: 0 done, "
        "2 wrong usage."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than",
            type=days,
            metavar="DAYS",
            help="Only runs that ended more than DAYS ago; default: EVALS_KEEP_TRANSCRIPTS_DAYS.",
        )
        parser.add_argument(
            "--keep-last",
            type=whole(least=0, most=MAX_DAYS),
            default=KEEP_LAST,
            metavar="N",
            help=f"Keep the last N runs of each suite, however old (default {KEEP_LAST}).",
        )
        parser.add_argument(
            "--include-reviewed",
            action="store_true",
            help="Also from conversations that people have reviewed; what they decided stays.",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="Only show what would be removed."
        )
        parser.add_argument(
            "--vacuum",
            action="store_true",
            help="SQLite: make the file smaller afterwards. Stop Evalwell first.",
        )

    def handle(self, *args: object, **options: Any) -> None:
        older_than = options["older_than"] or settings.EVALS_KEEP_TRANSCRIPTS_DAYS
        if not older_than:
            raise usage_error(
                "Give the age: --older-than DAYS, or set EVALS_KEEP_TRANSCRIPTS_DAYS."
            )
        if options["vacuum"]:
            refuse_vacuum(is_dry=options["dry_run"])
        act = count_prunable if options["dry_run"] else prune_run
        would = "would lose" if options["dry_run"] else "lost"
        reviewed: bool = options["include_reviewed"]
        count, total = 0, Pruned()
        due = due_runs(
            older_than_days=older_than,
            keep_last=options["keep_last"],
            include_reviewed=reviewed,
        )
        for run in due.defer("summary"):
            pruned = act(run, include_reviewed=reviewed)
            if pruned is None:
                self.stdout.write(f"{run} was pinned or resumed meanwhile: left alone.")
                continue
            count, total = count + 1, total + pruned
            ended = f"{run.finished_at:%Y-%m-%d}"
            kept = 0 if reviewed else count_reviewed(run)
            stays = (
                f" {count_text(kept, 'reviewed conversation')} {'stays' if kept == 1 else 'stay'}."
                if kept
                else ""
            )
            self.stdout.write(f"{run}, ended {ended}, {would} {_counts(pruned)}.{stays}")
        runs = count_text(count, "run")
        if count:
            self.stdout.write(f"In all {runs} {would} {_counts(total)}. Results stay.")
        else:
            self.stdout.write(f"Nothing to remove of runs that ended over {older_than} days ago.")
        if options["vacuum"]:
            vacuum()


def refuse_vacuum(*, is_dry: bool) -> None:
    """Refuse to shrink a database where that is not possible or would hurt.

    Raises:
        CommandError: dry run, not SQLite, or a worker is alive.
    """
    if is_dry:
        raise usage_error("--vacuum changes the file; leave out --dry-run.")
    if connection.vendor != "sqlite":
        raise usage_error("--vacuum is for SQLite; PostgreSQL's autovacuum makes room by itself.")
    if has_worker():
        raise usage_error(
            "A worker is alive, and --vacuum would make it wait too long: stop it first."
        )


def vacuum() -> None:
    """Rewrite the database without its free pages."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # only now the file itself is shorter


def _counts(pruned: Pruned) -> str:
    judged = f", {count_text(pruned.judged, 'prompt')} of judges" if pruned.judged else ""
    return f"{count_text(pruned.transcripts, 'transcript')}{judged}"
