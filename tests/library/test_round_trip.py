"""What everybody's examples hold survives the way out and in, and a refused import leaves nothing."""

import random
from typing import Any

import pytest

from evals_app.formats.foreign.attached import is_shown
from evals_app.formats.importing import SourceFile
from evals_app.formats.reading.problems import FormatError
from evals_app.library.exporting.file_export import FORMS, Form, export_files
from evals_app.library.importing.examples import import_examples
from evals_app.library.importing.file_import import import_files
from evals_app.models import Agent, Assertion, Case, Provider, Suite, Turn
from fixtures_app.models import Entity, Fixture

pytestmark = pytest.mark.django_db

ROWS = (Agent, Assertion, Case, Entity, Fixture, Provider, Suite, Turn)


def import_export(files: dict[str, bytes]) -> set[str]:
    """Import what was exported, though it has other paths; give what became of it."""
    sources = [SourceFile(path, files[path]) for path in files if not is_shown(path)]
    # Struere has few of our checks.
    accepts: Any = {"replace": True, "accept_no_checks": True}
    return {change.what for change in import_files(sources, find=files.get, **accepts).changes}


def test_every_example_is_the_same_after_export_and_import_byte_for_byte() -> None:
    import_examples()
    first = export_files()

    assert import_export(dict(first.files)) == {"unchanged"}
    assert export_files().files == first.files
    assert (first.losses, first.warnings) == ([], [])


@pytest.mark.parametrize("form", [form for form in FORMS if form != "native"])
def test_every_example_leaves_in_every_format_and_comes_back(form: Form) -> None:
    import_examples()
    suites = set(Suite.objects.values_list("slug", flat=True))

    export = export_files(form=form)

    assert {loss.level for loss in export.losses} <= {"loss"}
    after = import_export(dict(export.files))
    assert after == {"unchanged"} or form == "struere"  # tables lose nothing of a suite
    assert set(Suite.objects.values_list("slug", flat=True)) == suites


def test_a_refused_import_leaves_everything_as_it_was() -> None:
    import_examples()
    files = dict(export_files().files)
    before = [list(model.objects.order_by("pk").values_list()) for model in ROWS]
    dice = random.Random(5)
    for _ in range(3):
        path = dice.choice(sorted(path for path in files if not is_shown(path)))
        changed = {path: content.replace(b": ", b":  ") for path, content in files.items()}
        with pytest.raises(FormatError):
            import_export(changed | {path: files[path] + b"\n: ["})

    assert [list(model.objects.order_by("pk").values_list()) for model in ROWS] == before
