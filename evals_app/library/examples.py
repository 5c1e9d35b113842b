"""The examples that come with Touchstone."""

from django.conf import settings

from evals_app.formats import SourceFile, is_eval_file

EXAMPLES = settings.BASE_DIR / "examples"


def example_files() -> list[SourceFile]:
    """Read the examples in a stable order; none where they were not installed."""
    paths = (path for path in EXAMPLES.rglob("*") if is_eval_file(path.name))
    return [
        SourceFile(path.relative_to(EXAMPLES).as_posix(), path.read_bytes())
        for path in sorted(paths)
    ]
