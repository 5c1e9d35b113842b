import json
from pathlib import Path

from jsonschema import Draft202012Validator

from evals_app.reports.reference.report_schema import report_schema

DOCS = Path(__file__).resolve().parent.parent.parent.parent / "docs"


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(report_schema())


def test_the_file_in_the_docs_is_the_schema() -> None:
    # python -m evals_app.reports.reference.report_schema > docs/report.schema.json
    assert json.loads((DOCS / "report.schema.json").read_text()) == report_schema()
