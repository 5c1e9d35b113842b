"""The examples that come with Evalwell."""

from django.conf import settings

from evals_app.formats.detect import is_eval_file
from evals_app.formats.foreign.attached import is_shown
from evals_app.formats.importing import SourceFile
from evals_app.formats.reading.sibling_files import SiblingFiles
from evals_app.library.changes.import_report import ImportReport
from evals_app.library.importing.file_import import import_files
from evals_app.library.importing.rights import EVERYTHING, Rights

EXAMPLES = settings.FILES_DIR / "examples"


def import_examples(rights: Rights = EVERYTHING, *, dry_run: bool = False) -> ImportReport:
    """Import the examples in a stable order; nothing if they are not installed.

    Raises:
        EditedError: one of them was edited.
        FormatError: something stored under the same name conflicts with them.
    """
    all_paths = sorted(path for path in EXAMPLES.rglob("*") if is_eval_file(path.as_posix()))
    paths = [path for path in all_paths if not is_shown(path.relative_to(EXAMPLES).as_posix())]
    files = [SourceFile(path.relative_to(EXAMPLES).as_posix(), path.read_bytes()) for path in paths]
    beside = SiblingFiles.of(paths, root=EXAMPLES)
    return import_files(
        files, find=beside.find, find_paths=beside.find_paths, rights=rights, dry_run=dry_run
    )
