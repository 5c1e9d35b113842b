"""A suite is not taken over by another file unless somebody says so."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from evals_app.formats.importing import SourceFile
from evals_app.library.changes.import_report import ImportReport
from evals_app.library.importing.file_import import EditedError, import_files
from evals_app.library.importing.sources import PASTED, is_same_file
from evals_app.models import Suite
from tests.library.written import EVERYTHING, SUITE, outcomes
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

CHANGED = SUITE.content.replace(b"trials: 2", b"trials: 4")


def bring(
    path: str, content: bytes = SUITE.content, *, root: str = "/a", **options: Any
) -> ImportReport:
    return import_files([SourceFile(path, content)], root=root, **options)


@pytest.fixture(autouse=True)
def _what_the_suite_needs() -> None:
    import_files([file for file in EVERYTHING if file is not SUITE])


def test_another_file_does_not_take_a_suite_over() -> None:
    bring("evals/refunds.suite.yaml")

    tried = bring("evals/refunds.suite.yaml", CHANGED, root="/b", dry_run=True)
    with pytest.raises(EditedError) as caught:
        bring("evals/refunds.suite.yaml", CHANGED, root="/b")

    assert Suite.objects.get().trials == 2
    assert [change.source for change in tried.replacing_edits] == ["/a/evals/refunds.suite.yaml"]
    assert "/a/evals/refunds.suite.yaml" in str(caught.value)
    assert "2 cases" in str(caught.value)


def test_who_says_so_lets_it_and_then_it_belongs_to_that_file() -> None:
    bring("refunds.suite.yaml")

    bring("refunds.suite.yaml", CHANGED, root="/b", replace=True)

    assert (Suite.objects.get().trials, Suite.objects.get().source) == (4, "/b/refunds.suite.yaml")
    assert bring("refunds.suite.yaml", root="/b").replacing_edits == []


def test_a_suite_whose_file_nobody_knows_may_be_updated() -> None:
    bring("refunds.suite.yaml")
    Suite.objects.update(source="")

    assert outcomes(bring("refunds.suite.yaml", CHANGED, root="/b")) == {"suite refunds": "updated"}


def test_a_file_that_was_renamed_goes_on_with_its_suite(tmp_path: Path) -> None:
    bring("old.suite.yaml", root=tmp_path.as_posix())

    report = bring("new.suite.yaml", CHANGED, root=tmp_path.as_posix())

    assert outcomes(report) == {"suite refunds": "updated"}


def test_an_upload_of_the_same_file_updates_its_suite_and_forgets_no_folder() -> None:
    bring("evals/refunds.suite.yaml")

    bring("evals/refunds.suite.yaml", CHANGED, root="")

    assert Suite.objects.get().source == "/a/evals/refunds.suite.yaml"


def test_uploads_of_different_files_do_not_take_over_each_other() -> None:
    bring("one/refunds.suite.yaml", root="")

    with pytest.raises(EditedError):
        bring("two/refunds.suite.yaml", CHANGED, root="")


def test_what_is_pasted_comes_from_no_file() -> None:
    bring("refunds.suite.yaml")

    bring(PASTED, CHANGED, root="")

    assert (Suite.objects.get().trials, Suite.objects.get().source) == (4, "/a/refunds.suite.yaml")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("/a/x.yaml", "/a/x.yaml", True, id="equal"),
        pytest.param("/a/b/x.yaml", "b/x.yaml", True, id="from further down"),
        pytest.param("x.yaml", "/a/x.yaml", True, id="from further up"),
        pytest.param("/a/x.yaml", "/b/x.yaml", False, id="another folder"),
        pytest.param("/a/ax.yaml", "x.yaml", False, id="the end of a name"),
        pytest.param("/a/x.suite.csv", "x.xlsx", True, id="a table as a workbook"),
        pytest.param("/a/x.csv", "x.suite.yaml", False, id="a table and a file"),
    ],
)
def test_paths_of_one_file(one: str, other: str, same: bool) -> None:  # noqa: FBT001
    assert is_same_file(one, other) is is_same_file(other, one) is same


def test_the_import_page_asks_before_another_file_takes_a_suite_over() -> None:
    bring("refunds.suite.yaml")
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    page = open_page(client, "/admin/evals_app/suite/import/")

    looked = page.post(pasted=CHANGED.decode(), pasted_name="other.suite.yaml")

    assert "/a/refunds.suite.yaml" in looked.text
    assert 'name="replace" required' in looked.html


def test_a_table_does_not_replace_cases_that_were_written_in_forms_unseen() -> None:
    client = Client()
    ada = User.objects.create_superuser("ada")
    client.force_login(ada)
    table = SourceFile("shop.csv", b"input,expected\nHi,Hello\n")
    import_files([table], agent="shop")
    row = Suite.objects.get(slug="shop")
    Suite.objects.update(imported_digest="", imported_at=None, source="")
    page = open_page(client, f"/admin/evals_app/suite/{row.pk}/change/")
    page.post(description="Mine")

    with pytest.raises(EditedError) as caught:
        import_files([SourceFile(table.path, b"input,expected\nBye,Bye\n")], agent="shop")

    for word in ("'shop'", "1 case", "written here", "ada"):
        assert word in str(caught.value)
