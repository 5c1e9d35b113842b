"""Which options a form folds away, and what it calls the values of a choice."""

from typing import Any, Literal, get_args, get_origin

import pytest
from django import forms
from django.http import QueryDict

from evals_app.admin.checks.options_form import initial_options, options_form_class
from evals_app.engine.graders import GRADERS
from evals_app.engine.specs.base_spec import mark_of
from evals_app.reports.reference.checks import assertions_reference

KINDS = pytest.mark.parametrize("kind", GRADERS)


@KINDS
def test_every_option_is_either_shown_or_folded_away_and_required_ones_are_shown(kind: str) -> None:
    form = options_form_class(kind)()
    main, advanced = (
        [field.name for field in fields] for fields in (form.main_fields, form.advanced_fields)
    )

    assert sorted(main + advanced) == sorted(form.fields)
    assert not [name for name in advanced if GRADERS[kind].model_fields[name].is_required()]


@pytest.mark.parametrize("kind", ["llm_judge", "rubric", "geval"])
def test_a_judge_is_asked_for_criteria_first(kind: str) -> None:
    form = options_form_class(kind)()

    assert form.main_fields[0].name == "criteria"
    assert "votes" in [field.name for field in form.advanced_fields]


@pytest.mark.parametrize(
    ("kind", "options", "is_set"),
    [
        ("llm_judge", {"criteria": "Polite"}, False),
        ("llm_judge", {"criteria": "Polite", "votes": 1}, False),
        ("llm_judge", {"criteria": "Polite", "votes": 3}, True),
        ("llm_judge", {"criteria": "Polite", "jury": ["a/b"]}, True),
        ("contains", {"value": "x"}, False),
    ],
)
def test_a_folded_option_that_is_set_is_noticed(
    kind: str, options: dict[str, Any], *, is_set: bool
) -> None:
    form = options_form_class(kind)(initial=initial_options(kind, options))

    assert form.has_advanced == is_set


def test_a_folded_option_that_is_wrong_is_noticed() -> None:
    wrong, right = (
        options_form_class("llm_judge")(QueryDict(f"criteria=x&scale=1-5&votes={votes}"))
        for votes in ("7", "3")
    )

    assert wrong.has_advanced
    assert not right.has_advanced


@KINDS
def test_choices_are_named_in_words_that_fit_their_values(kind: str) -> None:
    fields: dict[str, Any] = options_form_class(kind).base_fields
    for name, info in GRADERS[kind].model_fields.items():
        words = mark_of(info, "words")
        if not words:
            continue
        annotation = info.annotation
        values = get_args(
            annotation if get_origin(annotation) is Literal else get_args(annotation)[0]
        )
        assert list(words) == list(values), name
        assert isinstance(fields[name], forms.ChoiceField)
        assert [text for _, text in fields[name].choices] == list(words.values())


def test_the_reference_explains_the_values_of_a_choice() -> None:
    assert "`unicode`: words in every script" in assertions_reference()
