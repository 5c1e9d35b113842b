"""Conditions in JavaScript that checks can say; the verdict is what counts."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.formats.promptfoo.javascript import NotSayableError, checks_of
from tests.engine.graders.makers import view_of
from tests.formats.promptfoo.projects import HEAD, read

VARS = {"city": "Paris", "count": 3}


def holds(code: str, reply: str, *, inverse: bool = False, source: str = "reply") -> bool:
    """Whether all checks that say a condition pass on a reply."""
    said = checks_of(code, VARS, inverse=inverse, source=source)
    checks = [AssertionSpec.model_validate(item) for item in said]
    return all(check.grader.grade(view_of(reply)).passed for check in checks)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("code", "yes", "no"),
    [
        pytest.param("output.includes('Paris')", "In Paris.", "In paris.", id="includes"),
        pytest.param('output.includes("it\'s \\"x\\"")', 'it\'s "x"', "its x", id="quotes"),
        pytest.param("return output.includes('a');", "a", "b", id="return"),
        pytest.param("!output.includes('sorry')", "Sure.", "I am sorry.", id="not"),
        pytest.param("!(output.includes('a') || output.includes('b'))", "c", "b", id="neither"),
        pytest.param("output.includes('a') && output.includes('b')", "ab", "a", id="both"),
        pytest.param("output.includes('a') || output.includes('b')", "b", "c", id="either"),
        ("(output.includes('a.') || output.includes('b')) && !output.includes('c')", "a.", "ax"),
        pytest.param("output.toLowerCase().includes('paris')", "PARIS", "Rome", id="any case"),
        pytest.param("output.includes(context.vars.city)", "Paris!", "Rome!", id="a variable"),
        pytest.param("output.includes(context.vars['city'])", "Paris!", "Rome!", id="in brackets"),
        pytest.param("output.startsWith('Hi')", "Hi you", "Oh Hi", id="begins"),
        pytest.param("output.trim().endsWith('.')", "Yes. \n", "Yes", id="ends"),
        pytest.param("output === 'yes'", "yes", "yes.", id="is"),
        pytest.param("output.trim().toLowerCase() === 'yes'", " Yes\n", "Yes!", id="is nearly"),
        pytest.param("output !== 'yes'", "no", "yes", id="is not"),
        pytest.param("output.length < 5", "1234", "12345", id="less"),
        pytest.param("output.length <= 5", "12\n45", "123456", id="at most"),
        pytest.param("output.length > 2 && output.length < 1500", "x" * 1499, "x" * 1500, id="len"),
        pytest.param("output.length >= 1200", "x" * 1200, "x" * 1199, id="at least"),
        pytest.param("output.length === 3", "äöü", "ab", id="exactly"),
        pytest.param("output.length !== 3", "ab", "abc", id="not so long"),
        pytest.param("output.split(' ').length <= 2", "a b", "a b c", id="pieces"),
        pytest.param("output.trim().split(/\\s+/).length < 3", " a\n b ", "a b c", id="words"),
        pytest.param("output.trim().split(/\\s+/).length >= 3", "a b c", "a b", id="many words"),
        pytest.param("/^\\d+\\/\\d+$/.test(output)", "1/2", "1-2", id="pattern"),
        pytest.param("/yes|no/i.test(output)", "NO", "maybe", id="pattern in any case"),
        pytest.param("output.match(/a && b/)", "a && b", "a", id="signs in a pattern"),
        pytest.param("output.includes(' || ')", "a || b", "a", id="signs in a text"),
        pytest.param("output && output.includes('a')", "a", "b", id="there is one"),
        pytest.param("typeof output === 'string' && output.includes('a')", "a", "b", id="a text"),
        ("JSON.parse(output).state === 'sent'", '{"state": "sent"}', '{"state": 1}'),
        pytest.param(
            'JSON.parse(output).items[0]["unit price"] == 3',
            '{"items": [{"unit price": 3}]}',
            '{"items": [{"unit price": 4}]}',
            id="a place",
        ),
        pytest.param(
            "JSON.parse(output).ok === true && JSON.parse(output).n >= 2",
            '{"ok": true, "n": 2}',
            '{"ok": true, "n": 1}',
            id="several places",
        ),
        pytest.param("JSON.parse(output).a !== undefined", '{"a": 1}', "{}", id="is there"),
        pytest.param("output.a?.b === null", '{"a": {"b": null}}', '{"a": {"b": 1}}', id="object"),
        pytest.param("output.indexOf('a') !== -1", "cab", "b", id="has an index"),
        pytest.param("!(output.indexOf('a') > -1)", "b", "cab", id="has no index"),
        pytest.param("output.indexOf('a') === -1", "b", "cab", id="no index"),
        pytest.param("output.trim().length < 5", " 1234 ", "12345", id="length without space"),
        pytest.param("!(output.trim().length < 5)", "12345", " 1234 ", id="not so short"),
        pytest.param("output.split(',')[1].trim() === 'b'", "a, b", "a,c", id="a piece"),
        pytest.param("output.split('\\n').length === 3", "a\nb\n", "a\nb", id="lines"),
        pytest.param("/^a$/.test(output.trim())", " a\n", "ab", id="trimmed pattern"),
        pytest.param("!/A|B/i.test(output.trim())", "c", " a", id="pattern in no case"),
        pytest.param("/^it's/i.test(output.toLowerCase())", "IT'S", "its", id="lower pattern"),
        ("JSON.parse(output).n > 3", '{"n": 3.5}', '{"n": 3}'),
        ("JSON.parse(output).n < context.vars.count", '{"n": 2}', '{"n": 3}'),
        ("JSON.parse(output).a === JSON.parse(output).b", '{"a": 1, "b": 1.0}', '{"a": 1, "b": 2}'),
        ("JSON.parse(output).list.length > 3", '{"list": [1, 2, 3, 4]}', '{"list": [1]}'),
        ("JSON.parse(output).length === 2", "[1, 2]", "[1]"),
        ("JSON.parse(output).a.includes('x')", '{"a": ["x"]}', '{"a": ["xy"]}'),
        ("JSON.parse(output).a.toLowerCase().startsWith('x')", '{"a": "Xy"}', '{"a": "yx"}'),
        ("/^x$/.test(JSON.parse(output).a)", '{"a": "x"}', '{"a": "xx"}'),
    ],
)
def test_a_condition_is_checked_as_it_says(code: str, yes: str, no: str) -> None:
    assert holds(code, yes)
    assert not holds(code, no)


@pytest.mark.parametrize(
    ("code", "source", "yes", "no"),
    [
        ("output.length < 3", "trim(reply)", " ab ", "abc"),
        ("output === 'a' || output", "reply.x", None, None),
        ("output.includes('a') && output.length > 1", "lower(reply)", "AB", "A"),
        ("output.startsWith('a')", "reply.x", '{"x": "ab"}', '{"x": "b"}'),
        ("output.y === 1", "reply.x", '{"x": {"y": 1}}', '{"x": 1}'),
        ("JSON.parse(output).y === 1", "reply.x", None, None),
        ("JSON.parse(output).y === 1", "trim(reply)", None, None),
        ("output", "reply.x", None, None),
    ],
)
def test_output_may_be_a_part_of_the_reply(
    code: str, source: str, yes: str | None, no: str | None
) -> None:
    if yes is None or no is None:
        with pytest.raises(NotSayableError):
            checks_of(code, VARS, inverse=False, source=source)
        return
    assert holds(code, yes, source=source)
    assert not holds(code, no, source=source)


@pytest.mark.parametrize("code", ["output.includes('a')", "output.length < 3", "output === 'a'"])
def test_the_opposite_of_a_condition(code: str) -> None:
    assert holds(code, "bcde", inverse=True) is not holds(code, "bcde")
    assert holds(code, "a", inverse=True) is not holds(code, "a")


@pytest.mark.parametrize(
    "code",
    [
        "const x = output; return x.length > 3",
        "JSON.parse(output).a !== 'x'",  # of a reply without it, this is true
        "!(JSON.parse(output).n > 3)",
        "!/x/.test(JSON.parse(output).a)",
        "!output.a?.includes('x')",
        "output.split(',')[1] !== 'x'",
        "JSON.parse(output).a + JSON.parse(output).b === 3",
        "output.split('').length > 3",
        "output.trim().length < '5'",
        "'a' === 'a'",
        "output.trim() === output.trim()",
        "JSON.parse(output).$a > 3",
        "output.includes('a') || output.length > 3 && !output.includes('b')",
        "!(output.includes('a') && output.includes('b'))",
        "output.includes(word)",
        "output.toLowerCase().includes('Paris')",
        "output.includes(context.vars.count)",
        "output.includes(`${context.vars.city}`)",
        "output",
        "true",
        "",
        "({pass: output.includes('a'), score: 1})",
        "/a/y.test(output)",
    ],
)
def test_what_no_check_can_say_is_code(code: str) -> None:
    with pytest.raises(NotSayableError):
        checks_of(code, VARS, inverse=False)


WORDS = st.sampled_from(
    [
        *"()[]!&|<>=.'\"`/\\ \n",
        "output",
        "JSON.parse(output)",
        "JSON.parse(output).a",
        ".split(',')[0]",
        ".indexOf('a')",
        ".length",
        ".includes(",
        "context.vars",
        ".trim()",
        "&&",
        "||",
        "===",
        "'a'",
        "007",
        "\\ud83d",
        "return ",
        "/a/.test(output)",
        "1e999",
    ]
)


@given(st.lists(WORDS, max_size=30).map("".join))
def test_whatever_is_written_is_reported_or_code(code: str) -> None:
    with suppress(NotSayableError):
        for check in checks_of(code, VARS, inverse=False):
            with suppress(ValidationError):
                AssertionSpec.model_validate(check)


@pytest.mark.parametrize("code", ["!" * 500 + "output", "(" * 500 + "output" + ")" * 500])
def test_deep_conditions_are_code(code: str) -> None:
    with pytest.raises(NotSayableError):
        checks_of(code, VARS, inverse=False)


@pytest.mark.parametrize(
    "code", [r"output.includes('\ud83d\ude00')", "!!output.includes('\U0001f600')"]
)
def test_signs_outside_of_the_first_plane_are_one(code: str) -> None:
    assert holds(code, "\U0001f600")


def test_an_assertion_is_imported_and_code_is_lost_alone() -> None:
    config = f"""{HEAD}tests:
  - vars: {{what: hi}}
    assert:
      - {{type: javascript, value: "output.includes('hi')", weight: 2}}
      - {{type: not-javascript, value: "output.length > 9"}}
      - {{type: javascript, value: "return new Date() > 0"}}
      - {{type: javascript, value: "/(?=a)/.test(output)"}}
"""

    imported = read(config)

    checks: list[Any] = json.loads(imported.suites[0].spec.model_dump_json(exclude_defaults=True))[
        "cases"
    ][0]["turns"][0]["assertions"]
    assert [(check["type"], check.get("weight", 1)) for check in checks] == [
        ("contains", 2),
        ("not_matches", 1),
    ]
    assert [loss.keys for loss in imported.losses] == ["tests[0].assert[2]", "tests[0].assert[3]"]
