"""Import conversations that happened outside, and grade them."""

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.forms.models import model_to_dict

from evals_app.checks import FOR_COMMANDS
from evals_app.formats.conversations.read import read_conversations
from evals_app.management import usage_error
from evals_app.management.numbers import usd, whole
from evals_app.models import ConversationImport, ConversationSet, Run, Suite
from evals_app.reports.answers.forecasts import in_words
from evals_app.reports.words.imports import import_in_words
from evals_app.runs.recorded.copied_runs import (
    CannotCopyError,
    CopiedConversations,
    copy_conversations,
)
from evals_app.runs.recorded.grade_conversations import (
    WantedConversations,
    left_out_of,
    plan_grading,
    start_grading,
)
from evals_app.runs.recorded.import_conversations import (
    CannotImportConversationsError,
    import_conversations,
)
from evals_app.runs.recorded.masking import site_masker
from evals_app.runs.recorded.sets import find_or_make_set
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.starting.freeze import CannotStartError
from fixtures_app.ground.words import near


class Command(BaseCommand):
    """Import conversations into a set, once each, and grade a sample of them."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Import conversations that happened outside. Each is imported once, so the same file may be "
        "imported again: after an interruption, that continues it. Exit code: 0 done, 2 wrong usage."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="*", metavar="FILE", help="Files with conversations.")
        parser.add_argument(
            "--set",
            required=True,
            metavar="NAME",
            help="The set that they belong to; it is made where there is none of this name.",
        )
        parser.add_argument(
            "--from-run",
            type=int,
            action="append",
            default=[],
            metavar="RUN",
            help="Copy the conversations of this run, too; may be repeated.",
        )
        parser.add_argument(
            "--column",
            action="append",
            default=[],
            metavar="WHAT=COLUMN",
            help="What a column is, for example id=Ticket; may be repeated.",
        )
        parser.add_argument(
            "--no-masking",
            action="store_true",
            help="Keep names, e-mail addresses and numbers as they are.",
        )
        parser.add_argument(
            "--grade", metavar="SUITE", help="Then grade them by the general checks of this suite."
        )
        parser.add_argument(
            "--sample",
            type=whole(most=1_000_000),
            metavar="N",
            help="With --grade: at most N of them.",
        )
        parser.add_argument(
            "--only-new",
            action="store_true",
            help="With --grade: only conversations that these files brought, not all of the set.",
        )
        parser.add_argument(
            "--max-cost-usd",
            type=usd,
            metavar="USD",
            help="With --grade: stop before it costs more.",
        )

    def handle(self, *args: object, **options: Any) -> None:
        columns = dict(_column(written) for written in options["column"])
        suite = _suite(options["grade"]) if options["grade"] else None
        contents = [(Path(name).name, _content(name)) for name in options["files"]]
        runs = [_run(number) for number in options["from_run"]]
        if not contents and not runs:
            raise usage_error("Name a file, or a run with --from-run.")
        try:
            copied = [CopiedConversations.of_run(run) for run in runs]
        except CannotCopyError as error:
            raise usage_error(str(error)) from error
        target = find_or_make_set(options["set"])
        is_masked = not options["no_masking"]
        brought: list[int] = []
        try:
            for name, content in contents:
                masker = site_masker() if is_masked else None
                file = read_conversations(name, content, columns=columns)
                row = import_conversations(target, file, masker=masker, columns=columns)
                brought += self._report(row)
            for chosen in copied:
                row = copy_conversations(chosen, target, is_masked=is_masked, by_worker=False)
                brought += self._report(row)
        except CannotImportConversationsError as error:
            raise usage_error(str(error)) from error
        if suite is None:
            return
        wanted = WantedConversations(count=options["sample"])
        if options["only_new"] and not brought:
            self.stdout.write("Nothing is graded: there is nothing new.")
            return
        if options["only_new"]:
            wanted = replace(wanted, imports=tuple(brought))
        self._grade(target, suite, wanted, options)

    def _report(self, row: ConversationImport) -> list[int]:
        """Write what an import did, and return its run if it brought something."""
        self.stdout.write(f"{row.file_name}, into {row.conversation_set.name}:")
        for sentence in import_in_words(model_to_dict(row)):
            self.stdout.write(f"  {sentence}")
        return [row.run_id] if row.added else []

    def _grade(
        self,
        target: ConversationSet,
        suite: Suite,
        wanted: WantedConversations,
        options: dict[str, Any],
    ) -> None:
        limit = options["max_cost_usd"]
        try:
            with plan_grading(target, suite, wanted, max_cost_usd=limit) as plans:
                forecasts = [forecast_regrade(plan) for plan in plans]
                for sentence in plans[0].unused:
                    self.stdout.write(f"Not applied: {sentence}")
                for sentence in left_out_of(plans):
                    self.stdout.write(sentence)
            # Not by a worker: a command may take its time, and names the runs.
            runs = start_grading(target, suite, wanted, max_cost_usd=limit)
        except CannotStartError as error:
            raise usage_error(str(error)) from error
        for forecast in forecasts:
            self.stdout.write(in_words(forecast, max_cost_usd=limit))
        for run in runs:
            self.stdout.write(f"Run {run.pk} grades {run.total:,} conversations.")


def _column(written: str) -> tuple[str, str]:
    what, is_there, column = written.partition("=")
    if not is_there:
        raise usage_error(f"Write --column as WHAT=COLUMN, for example id=Ticket, not {written}.")
    return column.strip(), what.strip()


def _content(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise usage_error(f"{name} cannot be read: {error.strerror}.") from error


def _run(number: int) -> Run:
    run = Run.objects.filter(pk=number).defer("summary").first()
    if run is None:
        raise usage_error(f"There is no run {number}.")
    return run


def _suite(slug: str) -> Suite:
    suite = Suite.objects.filter(slug=slug).first()
    if suite is None:
        known = Suite.objects.values_list("slug", flat=True)
        raise usage_error(f"There is no suite {slug}.{near(slug, list(known))}")
    return suite
