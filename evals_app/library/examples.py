"""The examples that come with Touchstone."""

from django.conf import settings

from evals_app.formats import SourceFile, is_eval_file, is_shown
from evals_app.library.beside import Beside
from evals_app.library.changes import ImportReport
from evals_app.library.files import import_files
from evals_app.library.rights import EVERYTHING, Rights

EXAMPLES = settings.BASE_DIR / "examples"


def import_examples(rights: Rights = EVERYTHING, *, dry_run: bool = False) -> ImportReport:
    """Import the examples in a stable order; nothing where they were not installed.

    Raises:
        EditedError: somebody edited one of them.
        FormatError: something of the same name is here already and does not go together with them.
    """
    found = sorted(path for path in EXAMPLES.rglob("*") if is_eval_file(path.as_posix()))
    paths = [path for path in found if not is_shown(path.relative_to(EXAMPLES).as_posix())]
    files = [SourceFile(path.relative_to(EXAMPLES).as_posix(), path.read_bytes()) for path in paths]
    beside = Beside.of(paths, root=EXAMPLES)
    return import_files(
        files, find=beside.find, find_paths=beside.find_paths, rights=rights, dry_run=dry_run
    )
