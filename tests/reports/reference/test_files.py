"""The reference of files says what the specs say."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ProviderSpec, fields_of
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec, TurnSpec
from evals_app.reports.reference.files import files_reference
from fixtures_app.spec import FixtureSpec

PAGE = Path(__file__).resolve().parents[3] / "docs" / "files.md"


def test_the_page_is_the_one_that_the_specs_give() -> None:
    written = PAGE.read_text(encoding="utf-8")

    assert written == files_reference(), (
        "Write it anew: python -m evals_app.reports.reference.files > docs/files.md"
    )


@pytest.mark.parametrize(
    "spec", [SuiteSpec, CaseSpec, TurnSpec, AgentSpec, ProviderSpec, FixtureSpec]
)
def test_every_key_of_a_file_is_explained(spec: type[BaseModel]) -> None:
    page = files_reference()

    for name, field in fields_of(spec).items():
        assert f"| `{field.alias or name}` |" in page
        assert field.description, f"{spec.__name__}.{name} has no description"
