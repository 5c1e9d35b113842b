"""Import suites, agents, test data and providers from files."""

import os
import time
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from evals_app.checks import FOR_COMMANDS
from evals_app.formats.foreign.attached import FindFile
from evals_app.library.changes.import_report import ImportReport, ObjectChange
from evals_app.library.importing.file_import import EditedError, NoChecksError
from evals_app.library.importing.rights import Rights
from evals_app.management import Options, usage_error
from evals_app.management.eval_files import Lookout, read_paths
from evals_app.management.importing import import_paths, refusal_of, table_choices_of
from evals_app.management.problems import tell_report
from evals_app.management.reading_options import add_env_file, add_reading_options
from fixtures_app.ground.words import near

PAUSE_S = 0.5
SHOWN_DIFFERENCES = 20

# How changes are headed, after an import and in a dry run.
_HEADINGS = {
    "created": ("Created", "Would create"),
    "updated": ("Updated", "Would update"),
    "archived": ("Archived", "Would archive"),
    "unchanged": ("Unchanged", "Unchanged"),
}


class Command(BaseCommand):
    """Import files and folders, all or nothing."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Import suites, agents, test data and providers from files, or from all eval files in "
        "folders. With any error nothing is imported. Exit code: 0 imported, 2 otherwise."
    )

    def __init__(
        self, *args: Any, pause: Callable[[], None] = lambda: time.sleep(PAUSE_S), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._pause = pause

    def add_arguments(self, parser: ArgumentParser) -> None:
        add, flag = parser.add_argument, partial(parser.add_argument, action="store_true")
        add("paths", nargs="+", metavar="PATH", help="Files and folders.")
        add("--agent", metavar="SLUG", help="The agent to test, for files of other systems.")
        add_reading_options(parser)
        add_env_file(parser)
        flag("--dry-run", help="Only show what would change.")
        flag(
            "--replace",
            help="Replace even what someone edited on the site since its last import, and suites "
            "that came from another file.",
        )
        add("--user", metavar="NAME", help="The user shown in the history of what is imported.")
        flag("--prune", help="Archive suites whose files are no longer in these folders.")
        flag("--watch", help="Import again whenever a file changes, until Ctrl-C.")

    def handle(self, *args: object, **options: Any) -> None:
        if options["prune"] and not any(map(os.path.isdir, options["paths"])):
            raise usage_error("--prune archives what vanished from a folder, so it needs one.")
        table_choices_of(options)  # a wrong option ends it at once
        options["rights"] = Rights(user=_user(options["user"]))
        if not options["watch"]:
            report = self._import(options)
            self._tell(report, options)
            # Only of a dry run.
            if report.replacing_edits and not options["replace"]:
                raise refusal_of(EditedError(report.replacing_edits))
            if report.without_checks and not options["accept_no_checks"]:
                raise refusal_of(NoChecksError(report))
            return
        read_paths(options["paths"])  # what is wrong with the paths themselves ends it at once
        with suppress(KeyboardInterrupt):
            self._watch(options)

    def _watch(self, options: Options) -> None:
        lookout = Lookout(options["paths"], pause=self._pause)
        is_first = True
        while True:
            lookout.begin()
            try:
                report = self._import(options, over=lookout.over)
            except CommandError as error:
                self.stderr.write(str(error), self.style.ERROR)
            else:
                self._tell(report, options, lists_unchanged=is_first)
            is_first = False
            self.stdout.write("Waiting for the next change; Ctrl-C ends it.")
            if not connection.in_atomic_block:
                connection.close()  # it may be hours: idle connections are closed
            lookout.wait()

    def _import(
        self, options: Options, over: Callable[[FindFile], FindFile] = lambda find: find
    ) -> ImportReport:
        """Import once; `over` is notified of other files that are looked for."""
        return import_paths(
            self,
            options["paths"],
            options,
            agent=options["agent"],
            over=over,
            dry_run=options["dry_run"],
            prune=_folders(options["paths"]) if options["prune"] else (),
            replace=options["replace"],
            rights=options["rights"],
        )

    def _tell(
        self, report: ImportReport, options: Options, *, lists_unchanged: bool = True
    ) -> None:
        tell_report(self, report)
        width = max((len(change.name) for change in report.changes), default=0)
        for what, headings in _HEADINGS.items():
            changes = [change for change in report.changes if change.what == what]
            if not changes:
                continue
            heading = f"{headings[options['dry_run']]} ({len(changes)})"
            self.stdout.write(heading, self.style.MIGRATE_HEADING)
            for change in changes if what != "unchanged" or lists_unchanged else ():
                replaced = f"  ({change.overwrites})" if change.overwrites else ""
                self.stdout.write(f"  {change.name:<{width}}  {change.slug}{replaced}")
                self._tell_differences(change)
        for entry in report.deleted:
            self.stdout.write(f"Deleted: {entry} ({entry.about}); the page Deleted can restore it.")

    def _tell_differences(self, change: ObjectChange) -> None:
        for difference in change.differences[:SHOWN_DIFFERENCES]:
            before, after = (value or "nothing" for value in (difference.before, difference.after))
            self.stdout.write(f"      {difference.keys}: {before} -> {after}")
        if (more := len(change.differences) - SHOWN_DIFFERENCES) > 0:
            self.stdout.write(f"      and {more} more")


def _user(name: str | None) -> object:
    """Return who imports; None: the user of the command line.

    Raises:
        CommandError: there is no such user.
    """
    users = get_user_model()._default_manager  # noqa: SLF001 - Django's name
    if name is None:
        return None
    user = users.filter(username=name).first()
    if user is None:
        known = users.order_by("username").values_list("username", flat=True)[:1000]
        raise usage_error(f"There is no user {name!r}.{near(name, known)}")
    return user


def _folders(paths: list[str]) -> list[str]:
    return [Path(os.path.abspath(path)).as_posix() for path in paths if Path(path).is_dir()]  # noqa: PTH100 - resolve() would follow links
