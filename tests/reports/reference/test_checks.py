from pathlib import Path

import pytest
import yaml

from evals_app.engine.graders import ALIASES, GRADERS, Grader
from evals_app.engine.suites.suite_spec import COMMON_KEYS, AssertionSpec
from evals_app.reports.reference.checks import COMMON, assertions_reference

PAGE = Path(__file__).resolve().parents[3] / "docs" / "assertions.md"


def test_the_page_is_what_the_graders_say() -> None:
    written = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""

    assert written == assertions_reference(), (
        "write it anew: python -m evals_app.reports.reference.checks > docs/assertions.md"
    )


@pytest.mark.parametrize("grader", GRADERS.values(), ids=GRADERS)
def test_every_grader_explains_itself(grader: type[Grader]) -> None:
    assert (grader.__doc__ or "").startswith("Pass when")
    assert grader.label
    assert grader.in_words.endswith(".")
    assert grader.model_validate(grader.example)


def test_every_common_key_is_explained() -> None:
    assert set(COMMON) == set(COMMON_KEYS)


def test_every_name_is_on_the_page() -> None:
    page = assertions_reference()

    assert [name for name in (*GRADERS, *ALIASES) if f"`{name}`" not in page] == []


def test_every_example_on_the_page_is_valid() -> None:
    blocks = assertions_reference().split("```yaml\n")[1:]
    examples = [yaml.safe_load(block.partition("```")[0]) for block in blocks]
    written = [
        assertion
        for example in examples
        for assertion in (example["assertions"] if isinstance(example, dict) else example)
    ]

    checked = [AssertionSpec.model_validate(assertion) for assertion in written]

    assert {spec.type for spec in checked} == set(GRADERS)
    assert [spec.type for spec in checked if not spec.grader.decides(spec.threshold)] == []


def test_no_cell_breaks_its_table() -> None:
    width = 0
    for line in assertions_reference().splitlines():
        columns = line.replace("\\|", "").count("|")
        if line.startswith("|"):
            assert width in (0, columns), line
        width = columns if line.startswith("|") else 0
