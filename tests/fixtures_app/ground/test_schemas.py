"""JSON Schema: what fits and what does not, in words; and documents made to keep it busy."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures_app.ground.json_text import MAX_JSON_LEVELS, read_json
from fixtures_app.ground.schemas import MAX_MISMATCHES, UncheckableError, mismatches, schema_misfits

TREE = {"$defs": {"node": {"items": {"$ref": "#/$defs/node"}}}, "$ref": "#/$defs/node"}


@pytest.mark.parametrize(
    ("schema", "document", "fits"),
    [
        pytest.param({}, "null", True, id="anything"),
        pytest.param({"type": "integer"}, "1.0", True, id="a whole number with a point"),
        pytest.param({"type": "integer"}, "1e400", True, id="a huge whole number"),
        pytest.param({"type": "integer"}, "1.5", False, id="no whole number"),
        pytest.param({"type": "integer"}, "1e-999999999", False, id="a tiny number"),
        pytest.param({"type": "number"}, "true", False, id="true is no number"),
        pytest.param({"type": "boolean"}, "1", False, id="1 is no boolean"),
        pytest.param({"type": "null"}, "null", True, id="null"),
        pytest.param({"const": 0.1}, "0.10", True, id="equal by value"),
        pytest.param({"const": 0.1}, "0.1000000000000000055", False, id="no rounding"),
        pytest.param({"const": 1}, "true", False, id="true is not 1"),
        pytest.param({"const": 10**30}, str(10**30 + 1), False, id="big, off by one"),
        pytest.param({"enum": ["a", 1]}, "1.0", True, id="one of"),
        pytest.param({"minimum": 0.3}, "0.3", True, id="limit included"),
        pytest.param({"minimum": 0.3}, "0.29999999999999999999", False, id="just below"),
        pytest.param({"multipleOf": 0.1}, "0.3", True, id="multiple of a fraction"),
        pytest.param({"multipleOf": 0.1}, "0.35", False, id="no multiple"),
        pytest.param({"multipleOf": 3}, "1e999999999", False, id="multiple of a huge number"),
        pytest.param({"multipleOf": 4}, "1e999999999", True, id="a huge multiple"),
        pytest.param({"multipleOf": 100}, "300", True, id="zeros at the end"),
        pytest.param({"multipleOf": 1}, "1e-999999999", False, id="a tiny number is none"),
        pytest.param({"multipleOf": 7}, "0", True, id="zero is"),
        pytest.param({"pattern": "^a+$"}, '"aaa"', True, id="pattern"),
        pytest.param({"pattern": "^a+$"}, '"AAA"', False, id="case counts in a pattern"),
        pytest.param({"pattern": "b"}, '"abc"', True, id="a pattern is searched"),
        pytest.param({"pattern": "b"}, "5", True, id="a pattern speaks of texts"),
        ({"patternProperties": {"^n_": {"type": "number"}}}, '{"n_a": "x"}', False),
        ({"patternProperties": {"^n_": {}}, "additionalProperties": False}, '{"n_a": "x"}', True),
        ({"properties": {"a": {}}, "additionalProperties": False}, '{"b": 1}', False),
        ({"additionalProperties": {"type": "number"}}, '{"b": "x"}', False),
        pytest.param({"additionalProperties": True}, '{"b": 1}', True, id="others are allowed"),
        pytest.param({"uniqueItems": True}, "[1, 1.0]", False, id="equal numbers"),
        pytest.param({"uniqueItems": True}, "[1, true, 0, false]", True, id="true is not 1 here"),
        pytest.param({"uniqueItems": True}, '[{"a": [1]}, {"a": [1.0]}]', False, id="deep"),
        pytest.param({"uniqueItems": False}, "[1, 1]", True, id="not asked for"),
        pytest.param({"unevaluatedProperties": False}, '{"a": 1}', False, id="unevaluated"),
        ({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, '{"a": 1}', True),
        pytest.param({"prefixItems": [{}], "items": False}, "[1, 2]", False, id="one too many"),
        pytest.param({"contains": {"const": 2}}, "[1, 2]", True, id="contains"),
    ],
)
def test_a_document_fits_or_not(*, schema: dict[str, Any], document: str, fits: bool) -> None:
    assert (mismatches(read_json(document), schema) == []) is fits


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("date-time", "2026-01-01T10:00:00Z", True),
        ("date-time", "2026-01-01t10:00:00.123456789+02:00", True),
        ("date-time", 5, True),
        ("date-time", "2026-01-01T10:00:00", False),  # no time zone
        ("date-time", "2026-01-01 10:00:00Z", False),
        ("date-time", "2026-01-01", False),
        ("date-time", "2026-02-30T10:00:00Z", False),
        ("date-time", "2026-01-01T25:00:00Z", False),
        ("date-time", "2026-W01-1T10:00:00Z", False),
        ("date-time", "", False),
        ("time", "10:00:00Z", True),
        ("time", 5, True),
        ("time", "10:00", False),
        ("date", "2026-02-28", True),
        ("date", "2026-02-30", False),
        ("date", "28.02.2026", False),
        ("date", 5, True),
        ("email", "jo@example.org", True),
        ("email", '"jo b"@[127.0.0.1]', True),
        ("email", "jo@", False),
        ("email", "@", False),
        ("email", "jo b@example.org", False),
        ("email", 5, True),
        ("regex", "(a+)+$", True),
        ("regex", "(", False),
        ("regex", 5, True),
        ("uuid", "not-a-uuid", False),
        ("ipv4", "300.1.1.1", False),
        ("phone", "anything", True),
    ],
)
def test_formats_are_checked(kind: str, value: object, *, fits: bool) -> None:
    assert (mismatches(value, {"format": kind}) == []) is fits


@pytest.mark.parametrize(
    ("number", "factor", "fits"),
    [
        pytest.param(19.99, 0.01, True, id="cents"),
        pytest.param(19.995, 0.01, False, id="half a cent"),
        pytest.param(10**400, 0.5, True, id="larger than any float"),
        pytest.param(1e308, 1e-300, True, id="many places"),
        pytest.param(-7.5, 2.5, True, id="negative"),
        pytest.param("7", 2, True, id="a text"),
        pytest.param(True, 2, True, id="true"),
    ],
)
def test_numbers_of_python_are_as_exact(number: object, factor: float, *, fits: bool) -> None:
    assert (mismatches(number, {"multipleOf": factor}) == []) is fits


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        pytest.param({"$ref": "https://example.org/schema.json"}, "itself", id="remote"),
        pytest.param({"pattern": "("}, "itself", id="pattern"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "deep"),
        pytest.param({"enum": [[0] * 200_000]}, "steps", id="too much"),
    ],
)
def test_a_check_that_is_not_possible_is_a_misfit(schema: dict[str, Any], word: str) -> None:
    (message,) = schema_misfits("a", schema, whole="the data")

    assert message.startswith("The data cannot be checked: ")
    assert word in message


def test_misfits_are_whole_sentences() -> None:
    (message,) = schema_misfits({"a": 1}, {"additionalProperties": False})

    assert message == "“a” is not allowed."


def test_a_schema_with_anchors_is_not_searched_for_each_of_them() -> None:
    many = {f"k{n}": {"type": "string"} for n in range(3_000)}
    schema = {
        "additionalProperties": {"items": {"$ref": "#a"}},
        "$defs": {"a": {"$anchor": "a", "type": "integer"}, "many": {"properties": many}},
    }

    assert mismatches({"a": [1] * 4_000}, schema) == []


@pytest.mark.parametrize(
    ("schema", "document", "words"),
    [
        pytest.param(
            {"properties": {"n": {"type": "number"}}},
            '{"n": "12"}',
            [["“n”", "a number", "the text “12”"]],
            id="type",
        ),
        pytest.param(
            {"items": {"type": ["string", "null"]}},
            "[{}, 1.50]",
            [["“[0]”", "text or null", "empty object"], ["“[1]”", "1.50"]],
            id="types",
        ),
        pytest.param(
            {"required": ["answer", "why"]},
            '{"anser": 1}',
            [["“answer”, “why” are missing", "the reply has “anser”"]],
            id="required",
        ),
        ({"properties": {"a": {"required": ["b"]}}}, '{"a": {}}', [["“a.b” is missing"]]),
        ({"dependentRequired": {"a": ["b"]}}, '{"a": 1}', [["“b” is missing"]]),
        pytest.param(
            {"properties": {"answer": {}}, "additionalProperties": False},
            '{"answr": 1}',
            [["“answr” is not allowed", "is “answer” meant?"]],
            id="other key",
        ),
        pytest.param(
            {"enum": ["open", "closed"]},
            '"opened"',
            [["the reply", '"open", "closed"', "is “open” meant?"]],
            id="enum",
        ),
        pytest.param({"const": 5}, "6", [["be 5", "the number 6"]], id="const"),
        pytest.param(
            {"properties": {"unit price": {"minimum": 1.50}}},
            '{"unit price": 1.20}',
            [["['unit price']", "at least 1.5", "1.20"]],
            id="minimum",
        ),
        pytest.param({"pattern": "^a"}, '"b"', [["pattern ^a", "“b”"]], id="pattern"),
        pytest.param({"minLength": 3}, '"b"', [["at least 3 characters"]], id="length"),
        pytest.param({"maxItems": 0}, "[1]", [["at most 0 items"]], id="items"),
        pytest.param({"format": "date"}, '"x"', [["format", "date"]], id="format"),
        pytest.param({"multipleOf": 2}, "3", [["multiple of 2"]], id="multiple"),
        pytest.param({"not": {}}, "3", [["must not be"]], id="not"),
        pytest.param({"contains": {"const": 1}}, "[3]", [["items"]], id="contains"),
        pytest.param({"items": False}, "[3]", [["more items"]], id="one too many"),
        pytest.param({"oneOf": [{}, {}]}, "3", [["exactly one"]], id="two alternatives"),
        pytest.param(
            {"anyOf": [{"type": "string"}, {"type": ["null", "array"]}]},
            "5",
            [["the reply should be a text or null or a list but is the number 5"]],
            id="types of alternatives",
        ),
        pytest.param(
            {"anyOf": [{"minLength": 3}, {"enum": ["b"]}]},
            '"a"',
            [["alternatives", "at least 3", "one of"]],
            id="several alternatives",
        ),
        ({"propertyNames": {"pattern": "^a"}}, '{"b": 1}', [["the key “b”", "^a"]]),
        ({"unevaluatedProperties": False}, '{"a": 1}', [["does not name"]]),
        pytest.param(
            {"anyOf": [{"type": "string"}, {"properties": {"a": {"type": "null"}}}]},
            '{"a": 1}',
            [["“a”", "null", "the number 1"]],
            id="the likeliest alternative",
        ),
        pytest.param({"uniqueItems": True}, '[{"a": 1.0}, {"a": 1}]', [["twice"]], id="twice"),
    ],
)
def test_a_mismatch_reads_as_a_sentence_of_our_own(
    schema: dict[str, Any], document: str, words: list[list[str]]
) -> None:
    sentences = mismatches(read_json(document), schema, whole="the reply")

    assert len(sentences) == len(words)
    for sentence, expected in zip(sentences, words, strict=True):
        for word in expected:
            assert word in sentence


def test_of_many_mismatches_the_first_are_shown() -> None:
    sentences = mismatches(read_json("[" + "1," * 999 + "1]"), {"items": {"type": "string"}})

    assert len(sentences) == MAX_MISMATCHES


def test_a_long_document_is_not_repeated_in_the_words() -> None:
    document = read_json('{"a": ["' + "x" * 500_000 + '"]}')

    schemas: list[Any] = [{"anyOf": [{"type": "string"}]}, {"not": {}}, {"maxProperties": 0}]
    for schema in schemas:
        (sentence,) = mismatches(document, schema)
        assert len(sentence) < 500


def nested(depth: int) -> Any:
    return read_json("[" * depth + "]" * depth)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(TREE, id="references"),
        pytest.param({"allOf": [{"anyOf": [{"items": {"$ref": "#"}}]}]}, id="alternatives"),
        pytest.param({"if": {"items": {"$ref": "#"}}, "then": {}}, id="conditions"),
    ],
)
def test_as_many_levels_as_may_be_read_are_followed(schema: dict[str, Any]) -> None:
    assert mismatches(nested(MAX_JSON_LEVELS), schema) == []


DOUBLING = {"anyOf": [{"items": {"$ref": "#"}, "minItems": 9}, {"items": {"$ref": "#"}}]}


@pytest.mark.parametrize(
    ("schema", "make"),
    [
        pytest.param({"anyOf": [DOUBLING, DOUBLING]}, lambda: nested(60), id="twice a level"),
        pytest.param(
            {"unevaluatedProperties": False, "properties": {"k": {}}},
            lambda: read_json("{" + ",".join(f'"k{n}": 1' for n in range(60_000)) + "}"),
            id="unevaluated keys",
        ),
        pytest.param(
            {"unevaluatedItems": False, "contains": {"const": 1}},
            lambda: read_json("[" + "1," * 200_000 + "1]"),
            id="unevaluated items",
        ),
        pytest.param(
            {"uniqueItems": True},
            lambda: read_json("[" + ",".join(f'{{"a": {n}}}' for n in range(60_000)) + ', "x"]'),
            id="unique items of two kinds",
        ),
        pytest.param(
            {"items": {"$ref": "#"}, "uniqueItems": True},
            lambda: read_json("[" * 99 + "1," * 200_000 + "1" + "]" * 99),
            id="unique at each level",
        ),
        ({"multipleOf": 7}, lambda: read_json("1" * 900_000)),
        pytest.param({"pattern": "(a+)+$"}, lambda: "a" * 500_000 + "!", id="pattern that hangs"),
        pytest.param(
            {"patternProperties": {"(a+)+$": {}}, "additionalProperties": False},
            lambda: {"a" * 50_000 + "!": 1},
            id="a key made for a pattern",
        ),
        pytest.param(
            {"anyOf": [{"type": "string"}, {"items": {"$ref": "#"}}]},
            lambda: read_json("[" * 99 + '"' + "x" * 900_000 + '"' + "]" * 99),
            id="a long text at the bottom",
        ),
    ],
)
def test_nothing_keeps_it_busy(schema: dict[str, Any], make: Callable[[], Any]) -> None:
    document = make()  # only now: a parameter stays in memory until all tests have run
    started = time.process_time()
    try:
        mismatches(document, schema)
    except UncheckableError as exc:
        assert "steps" in str(exc) or "deeply" in str(exc)  # noqa: PT017 - it may, or may not

    assert time.process_time() - started < 20  # of the processor; alone, about one


json_texts = st.recursive(
    st.sampled_from(["null", "true", "0", "-1.5e3", "1e999", '"a"', '""', "12345678901234567890"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda pairs: "{" + ",".join(f'"{key}":{value}' for key, value in pairs.items()) + "}"
        )
    ),
    max_leaves=6,
)
schemas = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "number", "integer", "string", "null"]),
        "properties": st.just({"a": {"type": "number"}, "b": {"minLength": 1}}),
        "required": st.just(["a"]),
        "additionalProperties": st.sampled_from([True, False, {"type": "string"}]),
        "items": st.sampled_from([True, {"multipleOf": 0.5}, {"$ref": "#"}]),
        "uniqueItems": st.booleans(),
        "enum": st.just([1, "a", None, {"a": 1}]),
        "minimum": st.integers(-2, 2),
        "pattern": st.just("^a*$"),
        "not": st.just({"const": 0}),
    },
)


@given(schemas, json_texts)
def test_any_document_can_be_compared_with_any_schema(schema: dict[str, Any], text: str) -> None:
    for sentence in mismatches(read_json(text), schema):
        assert sentence
        assert "\n" not in sentence


@pytest.mark.parametrize("keyword", ["enum", "const"])
def test_values_that_are_compared_to_their_end_count_as_often(keyword: str) -> None:
    lists = [[0] * 1_000] * 150

    with pytest.raises(UncheckableError):
        mismatches(read_json("[0]"), {"items": {keyword: lists}})
