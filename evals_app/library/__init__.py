"""Specs <-> rows: save them, import files in one transaction, export everything again."""

from evals_app.library.beside import Beside
from evals_app.library.changes import Change, ImportReport
from evals_app.library.exporting import FORMS, Export, Form, export_files
from evals_app.library.files import (
    ChangedSinceError,
    EditedError,
    edited_words,
    import_files,
    version_of_suite,
)
from evals_app.library.rights import Rights
from evals_app.library.saving import save_agent, save_provider, save_suite
from evals_app.library.sources import PASTED
from fixtures_app.library import Saved, save_fixture

__all__ = [
    "FORMS",
    "PASTED",
    "Beside",
    "Change",
    "ChangedSinceError",
    "EditedError",
    "Export",
    "Form",
    "ImportReport",
    "Rights",
    "Saved",
    "edited_words",
    "export_files",
    "import_files",
    "save_agent",
    "save_fixture",
    "save_provider",
    "save_suite",
    "version_of_suite",
]
