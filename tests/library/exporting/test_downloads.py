import io
import zipfile

import pytest

from evals_app.formats.importing import SourceFile
from evals_app.library.exporting import downloads
from evals_app.library.exporting.downloads import download, download_fixture
from evals_app.library.exporting.file_export import Form
from evals_app.library.importing.file_import import import_files
from evals_app.models import Provider
from tests.library.written import AGENT, EVERYTHING, written

PLAIN = written(
    "plain.suite.yaml",
    """
    suite: Plain
    slug: plain
    agent: shop
    cases:
      - {name: Hello, turns: [{user: Hi, assertions: [{type: contains, value: Hello}]}]}
    """,
)

pytestmark = pytest.mark.django_db


def names(content: bytes) -> set[str]:
    return set(zipfile.ZipFile(io.BytesIO(content)).namelist())


def test_several_files_are_one_archive_the_same_each_time() -> None:
    import_files(EVERYTHING)

    file = download("everything")

    assert (file.name, file.media_type) == ("everything.zip", "application/zip")
    assert {"refunds.suite.yaml", "orders.fixture.yaml"} <= names(file.content)
    assert download("everything").content == file.content


def test_one_file_is_taken_as_it_is() -> None:
    Provider.objects.exclude(slug="openai").delete()

    file = download("everything")

    assert (file.name, file.media_type) == ("everything.provider.yaml", "application/yaml")
    assert b"kind: openai" in file.content


@pytest.mark.parametrize("form", ["xlsx", "csv"])
def test_a_suite_that_loses_nothing_is_a_table_as_it_is(form: Form) -> None:
    import_files([AGENT, PLAIN])

    file = download("plain", ["plain"], form=form)

    assert file.name == f"plain.suite.{form}"
    report = import_files([SourceFile(file.name, file.content)])
    assert [(change.slug, change.what) for change in report.changes] == [("plain", "unchanged")]


def test_a_suite_that_loses_something_as_a_table_says_so_in_an_archive() -> None:
    context = f"judge_context: {'x' * 40_000}\n"  # more than a cell takes
    import_files([AGENT, SourceFile(PLAIN.path, PLAIN.content + context.encode())])

    file = download("plain", ["plain"], form="xlsx")

    assert file.name == "plain.zip"
    assert downloads.LOST in names(file.content)


def test_everything_as_tables_says_what_stays_behind() -> None:
    import_files([AGENT, PLAIN])

    archive = zipfile.ZipFile(io.BytesIO(download("everything", form="csv").content))

    assert "shop.agent.yaml" in archive.read(downloads.LOST).decode()


def test_what_is_lost_stands_in_the_archive() -> None:
    import_files(EVERYTHING)

    file = download("refunds", ["refunds"], form="struere")

    archive = zipfile.ZipFile(io.BytesIO(file.content))
    assert "Struere projects do not support this." in archive.read(downloads.LOST).decode()


def test_a_fixture_is_a_native_file() -> None:
    import_files(EVERYTHING)

    file = download_fixture("orders")

    assert (file.name, file.media_type) == ("orders.fixture.yaml", "application/yaml")
    assert b"order-1" in file.content


def test_a_fixture_that_does_not_exist_is_shown_so() -> None:
    with pytest.raises(LookupError, match="no set of test data called 'nothing'"):
        download_fixture("nothing")
