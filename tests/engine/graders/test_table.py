"""Rules for every grader, and for the table of them."""

from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.graders import ALIASES, GRADERS, GROUPS, Grader
from evals_app.engine.suites.suite_spec import COMMON_KEYS, AssertionSpec

every_grader = pytest.mark.parametrize(
    ("kind", "grader"), [pytest.param(*row, id=row[0]) for row in GRADERS.items()]
)


@every_grader
def test_an_example_validates_and_comes_back_as_written(kind: str, grader: type[Grader]) -> None:
    spec = AssertionSpec.model_validate({"type": kind, **grader.example})

    assert spec.model_dump(mode="json", exclude_unset=True) == {"type": kind, **grader.example}


@every_grader
def test_an_example_is_read_again_with_its_defaults_written_out(
    kind: str, grader: type[Grader]
) -> None:
    spec = AssertionSpec.model_validate({"type": kind, **grader.example})

    assert AssertionSpec.model_validate_json(spec.model_dump_json()) == spec


@every_grader
def test_options_have_titles_and_hide_no_common_key(kind: str, grader: type[Grader]) -> None:
    assert grader.model_validate(grader.example).warnings() == []
    assert not set(grader.model_fields) & set(COMMON_KEYS)
    assert [name for name, field in grader.model_fields.items() if not field.title] == []


def test_some_only_score_until_there_is_a_threshold() -> None:
    examples = {kind: grader.model_validate(grader.example) for kind, grader in GRADERS.items()}

    assert {kind for kind, check in examples.items() if not check.decides(None)} == {
        *("fuzzy_match", "token_f1", "bleu", "rouge", "meteor", "semantic_similarity"),
        *("tool_use", "rubric", "geval", *GROUPS["rag"][1]),
    }
    assert all(check.decides(0.0) for check in examples.values())


@every_grader
def test_an_unknown_option_is_refused(kind: str, grader: type[Grader]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        grader.model_validate({**grader.example, "colour": "red"})


@every_grader
def test_a_closed_row_never_shows_code(kind: str, grader: type[Grader]) -> None:
    summary = grader.model_validate(grader.example).summary()

    assert summary
    assert "\n" not in summary
    assert "None" not in summary


@pytest.mark.parametrize(("alias", "meant"), [(a, m) for a, (m, _) in ALIASES.items()])
def test_an_alias_means_a_known_type(alias: str, meant: str) -> None:
    assert meant in GRADERS
    assert alias not in GRADERS


@pytest.mark.parametrize(
    ("written", "says"),
    [
        pytest.param({"type": "contain", "value": "x"}, "Did you mean 'contains'", id="type"),
        pytest.param({"type": "contains", "vlue": "x"}, "Did you mean 'value'", id="option"),
        pytest.param({"value": "x"}, "needs a type", id="no type"),
    ],
)
def test_a_misspelt_word_is_refused_when_it_is_written(written: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        AssertionSpec.model_validate(written)
