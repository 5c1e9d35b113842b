import pytest
from django.conf import settings

from evals_app.admin.import_samples import SAMPLES, Sample
from evals_app.formats import SourceFile
from evals_app.formats.kinds import DIALECTS
from evals_app.library import import_files
from tests.library.written import AGENT

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.title)
def test_every_sample_can_be_imported_and_loses_nothing(sample: Sample) -> None:
    import_files([AGENT])
    files = [SourceFile(path, text.encode()) for path, text in sample.files]

    report = import_files(files, agent=None if sample.names_agent else "shop", dry_run=True)

    assert "suite" in {each.kind for each in report.changes}
    assert report.losses == []
    assert [each.message for each in report.warnings] == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.title)
def test_every_sample_names_a_page_that_exists(sample: Sample) -> None:
    assert (settings.BASE_DIR / "docs" / f"{sample.page}.md").is_file()


def test_every_format_has_a_sample() -> None:
    assert len(SAMPLES) == len(DIALECTS)
