import json
import subprocess
import sys
from pathlib import Path, PurePath

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import is_eval_file, is_table
from evals_app.formats.dialect import Dialect
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.importing import SourceFile, read_files
from evals_app.formats.reading.yaml_source import read_yaml
from evals_app.formats.tables.reader import read_table

EVERY = [pytest.param(dialect, id=name) for name, dialect in DIALECTS.items()]
DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("dialect", EVERY)
def test_its_sample_is_read_as_nothing_else_and_loses_nothing(dialect: Dialect) -> None:
    files = [SourceFile(path, text.encode()) for path, text in dialect.sample]
    agent = None if dialect.names_agent else "shop"
    known = ExistingObjects(agents={"shop": "model"})

    imported = read_files(files, agent=agent, known=known)

    assert len(imported.suites) == 1
    assert imported.losses == imported.warnings == []
    assert read_files(files, agent=agent, known=known, dialect=dialect.name) == imported


@pytest.mark.parametrize("dialect", EVERY)
def test_no_other_dialect_is_certain_that_its_sample_is_its_own(dialect: Dialect) -> None:
    files = {
        path: read_table(path, text.encode()) if is_table(path) else read_yaml(path, text.encode())
        for path, text in dialect.sample
    }

    for path, document in files.items():
        for name in (path, f"x{PurePath(path).suffix}"):
            certain = {
                other.name for other in DIALECTS.values() if other.is_certain(name, document.data)
            }
            assert certain <= {dialect.name}, path


@pytest.mark.parametrize("dialect", EVERY)
def test_its_files_are_found_in_a_folder_and_its_page_exists(dialect: Dialect) -> None:
    recognized = [is_eval_file(f"some/{path.replace('*', 'x')}") for path in dialect.files]

    assert recognized
    assert all(recognized)
    assert (DOCS / f"{dialect.page}.md").is_file()


def test_a_native_file_is_read_without_other_dialects_and_without_openpyxl() -> None:
    script = """\
import json, sys
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.importing import SourceFile, read_files
read_files([SourceFile(path, text.encode()) for path, text in DIALECTS["native"].sample])
print(json.dumps(sorted(sys.modules)))
"""
    modules = json.loads(subprocess.check_output([sys.executable, "-c", script], text=True))

    readers = {f"{dialect.package}.reader" for dialect in DIALECTS.values() if dialect.package}
    assert len(readers) == len(DIALECTS) - 1
    assert not {"openpyxl", *readers} & {*modules}
