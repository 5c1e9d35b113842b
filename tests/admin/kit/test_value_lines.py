"""Values and conditions in rows: distinguished by a choice, read back as written."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.http import QueryDict

from evals_app.admin.kit.lines import LinesField
from evals_app.admin.kit.value_lines import UNSAID, MatcherField, MatcherLines, ValueLines
from evals_app.engine.basics.matchers import MATCHER_KEYS
from tests.page_form import posted_by


def posted(field: LinesField, **columns: list[str]) -> Any:
    data = QueryDict(mutable=True)
    for key, values in columns.items():
        data.setlist(f"f-{key}", values)
    return field.clean(field.widget.value_from_datadict(data, {}, "f"))


def sent_back(field: LinesField, value: Any) -> Any:
    """Return what a page with this value would post."""
    shown = field.widget.render("f", field.prepare_value(value))
    return posted(field, **{key[2:]: texts for key, texts in posted_by(str(shown)).items()})


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("text", "14", "14"),
        ("text", " two words ", "two words"),
        ("text", "[1", "[1"),
        ("text", "true", "true"),
        ("", "14", "14"),
        ("number", "14", 14),
        ("number", " -2.50 ", -2.5),
        ("number", "5.0", 5.0),
        ("yes", "ignored", True),
        ("no", "", False),
        ("nothing", "", None),
        ("json", '""', ""),
        ("json", "[1, 2]", [1, 2]),
    ],
)
def test_a_choice_says_what_a_value_is(kind: str, text: str, value: Any) -> None:
    read = posted(ValueLines(key_label="Name"), key=["a"], kind=[kind], value=[text])["a"]

    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    ("keys", "kinds", "values", "message"),
    [
        (["a", "a"], ["text", "text"], ["1", "2"], "Line 2: a "),
        (["", "b"], ["text", "text"], ["1", "2"], "Line 1: name "),
        (["a", "b"], ["text", "json"], ["1", "[2"], "Line 2: "),
        (["a"], ["number"], ["1,5"], "Line 1: “1,5” "),
        (["a"], ["number"], ["NaN"], "Line 1: “NaN” "),
        (["a"], ["number"], ["true"], "Line 1: “true” "),
        (["a"], ["json"], ['"\\u0000"'], "Line 1: "),
        (["a", "b"], ["text", "number"], ["1", " "], "Line 2: "),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(
    keys: list[str], kinds: list[str], values: list[str], message: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        posted(ValueLines(key_label="Name"), key=keys, kind=kinds, value=values)

    assert caught.value.messages[0].startswith(message)


@pytest.mark.parametrize(
    ("must", "kind", "text", "matcher"),
    [
        ("equals", "text", "order", "order"),
        ("equals", "number", "5", 5),
        ("equals", "json", '{"a": [1]}', {"a": [1]}),
        ("fuzzy", "text", "1,000", {"fuzzy": "1,000"}),
        ("contains", "text", "5", {"contains": "5"}),
        ("regex", "text", " [a-z]+", {"regex": " [a-z]+"}),
        ("regex", "number", "5", {"regex": "5"}),
        ("any_of", "text", "a, 5", {"any_of": ["a", "5"]}),
        ("any_of", "number", "1, 5,", {"any_of": [1, 5]}),
        ("any_of", "json", '["a, b", null]', {"any_of": ["a, b", None]}),
        ("any_of", "text", "", {"any_of": []}),
        ("present", "text", "", {"present": True}),
        ("absent", "text", "ignored", {"present": False}),
    ],
)
def test_matchers_are_read(must: str, kind: str, text: str, matcher: Any) -> None:
    columns = {"key": ["a"], "must": [must], "kind": [kind], "value": [text]}

    assert posted(MatcherLines(), **columns) == {"a": matcher}


MATCHERS: list[Any] = [
    "order",
    "5",
    "true",
    "",
    " ",
    " a ",
    "a, b",
    '"a"',
    "two\nlines",
    5,
    5.5,
    True,
    False,
    None,
    [1],
    {"a": "b"},
    {"fuzzy": 5},
    {"fuzzy": "1,5", "decimal": "comma"},
    {"regex": '"x"'},
    {"regex": " spaced "},
    {"regex": "two\nlines"},
    {"any_of": ["a", "b"]},
    {"any_of": [1, 2.5]},
    {"any_of": ["1", 1]},
    {"any_of": [True, False]},
    {"any_of": ["a,b"]},
    {"any_of": [{"regex": "x"}]},
    {"contains": {"a": 1}},
    {"contains": 5},
    {"present": True},
    {"present": False},
    {"deep": {"regex": "x"}},
]


@pytest.mark.parametrize("matcher", MATCHERS, ids=repr)
@pytest.mark.parametrize("field", [MatcherLines(), MatcherField()], ids=["lines", "one"])
def test_matchers_are_written_so_that_they_read_back(field: LinesField, matcher: Any) -> None:
    value = matcher if isinstance(field, MatcherField) else {"a": matcher}

    assert repr(sent_back(field, value)) == repr(value)
    assert not field.has_changed(value, field.prepare_value(value))


def test_every_matcher_is_among_them() -> None:
    written = {key for matcher in MATCHERS if isinstance(matcher, dict) for key in matcher}

    assert written >= set(MATCHER_KEYS)


@pytest.mark.parametrize(("before", "after"), [(1, True), (0, None), ("", None), (UNSAID, None)])
def test_values_that_python_takes_for_equal_are_a_change(before: Any, after: Any) -> None:
    field = MatcherField()

    assert field.has_changed(before, field.prepare_value(after))


def test_no_value_is_none() -> None:
    assert sent_back(MatcherField(), UNSAID) is UNSAID
