"""Addresses of the pages that import and export files, and load the examples."""

from evals_app.admin.importing.examples import examples_to_remove, load_examples
from evals_app.admin.importing.exporting import export_everything, export_fixture
from evals_app.admin.importing.import_page import import_page, read_first_sheet, sample_to_fill_in
from evals_app.admin.kit.pages import page_path

urlpatterns = [
    page_path("suite/import/", import_page, name="suite_import"),
    page_path("suite/import/sample/", sample_to_fill_in, name="suite_import_sample"),
    page_path("suite/import/first-sheet/", read_first_sheet, name="first_sheet"),
    page_path("suite/export/", export_everything, name="export_everything"),
    page_path("suite/export/fixture/<slug:slug>/", export_fixture, name="export_fixture"),
    page_path("suite/load-examples/", load_examples, name="suite_load_examples"),
    page_path("suite/remove-examples/", examples_to_remove, name="suite_remove_examples"),
]
