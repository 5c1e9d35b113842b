"""What everybody's examples hold survives the way out and in, and a refused import leaves nothing."""

import random

import pytest

from evals_app.formats import FormatError, SourceFile, is_shown
from evals_app.library import FORMS, Form, export_files, import_files
from evals_app.library.examples import import_examples
from evals_app.models import Agent, Assertion, Case, Provider, Suite, Turn
from fixtures_app.models import Entity, Fixture

pytestmark = pytest.mark.django_db

ROWS = (Agent, Assertion, Case, Entity, Fixture, Provider, Suite, Turn)


def import_export(files: dict[str, bytes]) -> set[str]:
    """Import what was exported, though it has other paths; give what became of it."""
    sources = [SourceFile(path, each) for path, each in files.items() if not is_shown(path)]
    return {each.what for each in import_files(sources, find=files.get, replace=True).changes}


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

    assert {each.level for each in export.losses} <= {"loss"}
    import_export(dict(export.files))
    assert set(Suite.objects.values_list("slug", flat=True)) == suites


@pytest.mark.parametrize("form", ["xlsx", "csv"])
def test_suites_lose_nothing_in_tables(form: Form) -> None:
    import_examples()
    export = export_files(form=form)

    assert import_export(dict(export.files)) == {"unchanged"}


def test_a_refused_import_leaves_everything_as_it_was() -> None:
    import_examples()
    files = dict(export_files().files)
    before = [list(model.objects.order_by("pk").values_list()) for model in ROWS]
    dice = random.Random(5)
    refused = 0
    for _ in range(10):
        path = dice.choice(sorted(each for each in files if not is_shown(each)))
        spoiled = files[path] + b"\n: ["
        changed = {each: content.replace(b": ", b":  ") for each, content in files.items()}
        with pytest.raises(FormatError):
            import_export(changed | {path: spoiled})
        refused += 1

    assert refused == 10
    assert [list(model.objects.order_by("pk").values_list()) for model in ROWS] == before
