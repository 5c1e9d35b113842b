from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import pytest
from django import forms
from django.http import QueryDict
from pydantic import BaseModel, Field

from evals_app.admin.checks.options_form import (
    OptionsForm,
    OwnText,
    Prose,
    initial_options,
    option_field,
    options_form_class,
)
from evals_app.admin.kit.lines import KeyedTexts, RecordLines, TextLines
from evals_app.admin.kit.number_or_text import NumberOrText
from evals_app.admin.kit.value_lines import MatcherField, MatcherLines
from evals_app.engine.basics.matchers import Matcher
from evals_app.engine.graders import GRADERS, PlainGrader
from evals_app.engine.specs.base_spec import Usd
from evals_app.engine.suites.suite_spec import AssertionSpec
from fixtures_app.editing.json_field import JsonTextField
from tests.page_form import posted_by


class Part(BaseModel):
    name: str
    size: Literal["small", "large"] = "small"


class Nested(BaseModel):
    part: Part


class Everything(PlainGrader):
    """Pass when everything is there.

    More to know.
    """

    label: ClassVar[str] = "Everything"
    family: ClassVar[Any] = "text"
    example: ClassVar[dict[str, Any]] = {}

    flag: bool = False
    maybe: bool | None = None
    choice: Literal["one", "two_words"] = "one"
    level: Literal[1, 2] | None = None
    count: Annotated[int, Field(ge=1, le=9)] = 3
    share: float | None = None
    text: Annotated[str, Field(title="A text", description="Any.", max_length=5)]
    long: Annotated[str, Field(json_schema_extra={"rows": 3})] = ""
    prose: Annotated[str, Field(json_schema_extra={"rows": 3})]
    mixed: int | float | str | None = None
    names: list[str] = Field(default_factory=list)
    several: list[Literal["one", "two_words"]] = Field(default_factory=list)
    parts: list[Part] = Field(default_factory=list)
    either: list[str | Part] = Field(default_factory=list)
    numbers: list[int] = Field(default_factory=list)
    args: dict[str, Matcher] = Field(default_factory=dict)
    words: dict[Literal["5", "1"], str] = Field(default_factory=dict)
    plain: dict[str, Any] = Field(default_factory=dict)
    nested: Nested | None = None
    anything: Any = None
    matcher: Matcher = None
    usd: Usd = Decimal(0)


@pytest.mark.parametrize(
    ("name", "field_class"),
    [
        ("flag", forms.BooleanField),
        ("maybe", forms.TypedChoiceField),
        ("choice", forms.TypedChoiceField),
        ("level", forms.TypedChoiceField),
        ("count", forms.IntegerField),
        ("share", forms.FloatField),
        ("text", OwnText),
        ("long", OwnText),
        ("prose", Prose),
        ("mixed", NumberOrText),
        ("names", TextLines),
        ("several", forms.MultipleChoiceField),
        ("parts", RecordLines),
        ("either", RecordLines),
        ("numbers", JsonTextField),
        ("args", MatcherLines),
        ("words", KeyedTexts),
        ("plain", JsonTextField),
        ("nested", JsonTextField),
        ("anything", JsonTextField),
        ("matcher", MatcherField),
        ("usd", forms.FloatField),
    ],
)
def test_an_annotation_becomes_a_field(name: str, field_class: type[forms.Field]) -> None:
    assert type(option_field(name, Everything.model_fields[name])) is field_class


def form_with(**posted: Any) -> OptionsForm:
    fields = {n: option_field(n, i) for n, i in Everything.model_fields.items()}
    form_class = type("EverythingForm", (OptionsForm,), {"grader_class": Everything, **fields})
    data = QueryDict(mutable=True)
    for key, value in {"text": "x", "prose": "x", "choice": "one", **posted}.items():
        data.setlist(key.replace("__", "-"), value if isinstance(value, list) else [value])
    form: OptionsForm = form_class(data)
    return form


def written(**posted: Any) -> dict[str, Any]:
    form = form_with(**posted)
    assert form.is_valid(), form.errors
    return form.to_mapping()


@pytest.mark.parametrize(
    ("posted", "options"),
    [
        ({}, {}),
        ({"flag": "on"}, {"flag": True}),
        ({"maybe": "False"}, {"maybe": False}),
        ({"choice": "two_words"}, {"choice": "two_words"}),
        ({"level": "2"}, {"level": 2}),
        ({"count": "5"}, {"count": 5}),
        ({"share": "0"}, {"share": 0.0}),
        ({"text": " y "}, {"text": " y "}),
        ({"text": "  "}, {"text": "  "}),
        ({"long": "  "}, {"long": "  "}),
        ({"mixed": "42"}, {"mixed": 42}),
        ({"mixed": "4.5"}, {"mixed": 4.5}),
        ({"mixed": '"42"'}, {"mixed": "42"}),
        ({"mixed": "NaN"}, {"mixed": "NaN"}),
        ({"mixed": "true"}, {"mixed": "true"}),
        ({"names": ["a", "", "b"]}, {"names": ["a", "b"]}),
        ({"several": ["two_words", "one"]}, {"several": ["two_words", "one"]}),
        (
            {"parts__name": ["a"], "parts__size": ["large"]},
            {"parts": [{"name": "a", "size": "large"}]},
        ),
        ({"numbers": "[1, 2]"}, {"numbers": [1, 2]}),
        (
            {"args__key": "a", "args__must": "equals", "args__kind": "number", "args__value": "1"},
            {"args": {"a": 1}},
        ),
        ({"plain": '{"a": 1}'}, {"plain": {"a": 1}}),
        ({"anything": "null"}, {}),
        ({"matcher__kind": "text", "matcher__value": "5"}, {"matcher": "5"}),
        ({"matcher__kind": "number", "matcher__value": "5"}, {"matcher": 5}),
        (
            {"matcher__must": "fuzzy", "matcher__kind": "number", "matcher__value": "5"},
            {"matcher": {"fuzzy": 5}},
        ),
        ({"matcher__must": "absent"}, {"matcher": {"present": False}}),
        ({"matcher__kind": "nothing"}, {"matcher": None}),
        ({"matcher__kind": "no"}, {"matcher": False}),
        ({"matcher__kind": "json", "matcher__value": '""'}, {"matcher": ""}),
        ({"matcher__kind": "json", "matcher__value": "[]"}, {"matcher": []}),
        ({"matcher__kind": "text", "matcher__value": " "}, {}),
        ({"usd": "0.01"}, {"usd": 0.01}),
    ],
)
def test_what_is_blank_is_left_out(posted: dict[str, Any], options: dict[str, Any]) -> None:
    usual = {"flag": False, "text": "x", "prose": "x", "choice": "one"}

    assert written(**posted) == usual | options


@pytest.mark.parametrize(
    ("posted", "message"),
    [
        ({"text": ""}, "This field is required."),
        ({"prose": "  "}, "This field is required."),
        ({"count": "10"}, "Ensure this value is less than or equal to 9."),
        ({"count": "0"}, "Ensure this value is greater than or equal to 1."),
        ({"choice": "three"}, "Select a valid choice."),
        ({"text": "123456"}, "Ensure this value has at most 5 characters"),
        ({"plain": "[1]"}, "Write an object in { }."),
        (
            {"matcher__kind": "json", "matcher__value": "{fuzzy: 5}"},
            "This is not valid JSON: line 1, column 2",
        ),
        ({"matcher__kind": "number", "matcher__value": "1,5"}, "“1,5” is not a valid number."),
        ({"plain": "{'a': 1}"}, "This is not valid JSON: line 1, column 2: texts need double"),
    ],
)
def test_what_a_form_can_refuse_it_refuses(posted: dict[str, Any], message: str) -> None:
    form = form_with(**posted)

    assert not form.is_valid()
    ((error,),) = form.errors.values()
    assert str(error).startswith(message)


def test_a_default_is_named_where_blank_means_it() -> None:
    fields = form_with().fields

    assert fields["count"].help_text == "Leave blank for 3."
    assert fields["share"].help_text == ""
    assert fields["text"].help_text == "Any."


def test_the_help_of_a_kind_is_the_first_line_of_its_description() -> None:
    assert form_with().help == "Pass when everything is there."


@pytest.mark.parametrize("kind", GRADERS)
def test_the_example_of_every_kind_goes_through_its_form_unchanged(kind: str) -> None:
    grader = GRADERS[kind]
    form_class = options_form_class(kind)
    shown = form_class(initial=initial_options(kind, grader.example))
    data = QueryDict(mutable=True)
    for name, values in posted_by("".join(str(field) for field in shown)).items():
        data.setlist(name, values)

    form = form_class(data)

    assert form.is_valid(), form.errors
    spec = AssertionSpec.model_validate({"type": kind, **form.to_mapping()})
    assert spec.grader == grader.model_validate(grader.example)


@pytest.mark.parametrize("kind", GRADERS)
def test_only_a_mapping_without_a_shape_is_written_as_json(kind: str) -> None:
    fields = options_form_class(kind).base_fields

    in_json = {name for name, field in fields.items() if isinstance(field, JsonTextField)}

    assert in_json <= {"json_schema"}


def test_a_place_in_a_reply_is_a_line_of_text() -> None:
    form = options_form_class("numeric")({"value": "5", "response_path": "order.total"})

    assert form.is_valid(), form.errors
    assert form.to_mapping()["response_path"] == "order.total"
