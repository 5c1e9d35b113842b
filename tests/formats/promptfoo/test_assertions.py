from typing import Any

import pytest

from tests.formats.promptfoo.projects import (
    checks,
    lost,
    problems,
    read,
    turns,
    with_assertion,
    with_tests,
)


def exact(kind: str, value: str) -> dict[str, Any]:
    return {"type": kind, "value": value, "case_sensitive": True}


def judged(criteria: str, **scale: Any) -> dict[str, Any]:
    return {"type": "llm_judge", "criteria": criteria, **scale}


def compared(kind: str, threshold: float, **options: Any) -> dict[str, Any]:
    return {"type": kind, "value": "x", "threshold": threshold, **options}


def called(value: str, kind: str = "tool_called", **options: Any) -> dict[str, Any]:
    return {"type": kind, "value": value, **options}


GOAL = "With its replies and tool calls the agent achieved this: Refunded"
FACT = "Nothing in the reply contradicts this; it may say less, or more: Rome is in Italy"
GEVAL = {"evaluation_params": ["input", "actual_output"], "threshold": 0.7}
ORDERED = {"type": "tool_calls", "tools": ["a", "b"], "ordered": True}


@pytest.mark.parametrize(
    ("assertion", "check"),
    [
        ("{type: equals, value: Paris}", {"type": "exact_match", "value": "Paris"}),
        ("{type: equals, value: 4}", {"type": "exact_match", "value": "4"}),
        ("{type: equals, value: {a: 1}}", {"type": "json_schema", "schema": {"const": {"a": 1}}}),
        ("{type: equals, value: ''}", exact("matches", r"\A\z")),
        ("{type: not-equals, value: a.b}", exact("not_matches", r"\Aa\.b\z")),
        ("{type: contains, value: x}", exact("contains", "x")),
        ("{type: contains, value: 0}", exact("contains", "0")),
        ("{type: icontains, value: x}", {"type": "contains", "value": "x"}),
        ("{type: not-contains, value: x}", exact("not_contains", "x")),
        ("{type: not-icontains, value: x}", {"type": "not_contains", "value": "x"}),
        ("{type: contains-any, value: ['1.5', b]}", exact("matches", r"1\.5|b")),
        ("{type: icontains-any, value: [a]}", {"type": "matches", "value": "a"}),
        ("{type: not-icontains-any, value: [a]}", {"type": "not_matches", "value": "a"}),
        (r"{type: regex, value: '\d{4}'}", exact("matches", r"\d{4}")),
        ("{type: not-regex, value: x+}", exact("not_matches", "x+")),
        ("{type: starts-with, value: 'Yes.'}", exact("matches", r"\AYes\.")),
        ("{type: ends-with, value: '!'}", exact("matches", r"!\z")),
        ("{type: contains-json}", {"type": "json_valid"}),
        (
            "{type: contains-json, value: {type: object}}",
            {"type": "json_schema", "schema": {"type": "object"}},
        ),
        ("{type: latency, threshold: 1500.5}", {"type": "latency", "max_ms": 1500}),
        ("{type: cost, threshold: 0.001}", {"type": "cost", "max_usd": 0.001}),
        ("{type: similar, value: x}", compared("semantic_similarity", 0.75)),
        (
            "{type: 'similar:cosine', value: [x], threshold: 0.8}",
            compared("semantic_similarity", 0.8),
        ),
        ("{type: rouge-n, value: x}", compared("rouge", 0.75, variant="rouge1")),
        ("{type: rouge-l, value: x}", compared("rouge", 0.75)),
        ("{type: bleu, value: x}", compared("bleu", 0.5)),
        ("{type: meteor, value: x, threshold: 0.7}", compared("meteor", 0.7)),
        ("{type: llm-rubric, value: Is kind}", judged("Is kind")),
        ("{type: not-llm-rubric, value: Is rude}", judged("The reply does not meet this: Is rude")),
        (
            "{type: llm-rubric, value: Is kind, threshold: 0.8}",
            judged("Is kind", scale="0-1", threshold=0.8),
        ),
        ("{type: model-graded-closedqa, value: Is kind}", judged("Is kind")),
        ("{type: factuality, value: Rome is in Italy}", judged(FACT)),
        ("{type: 'trajectory:goal-success', value: Refunded}", judged(GOAL)),
        ("{type: g-eval, value: Is clear}", {"type": "geval", "criteria": "Is clear", **GEVAL}),
        ("{type: answer-relevance}", {"type": "answer_relevancy", "threshold": 0.7}),
        ("{type: 'trajectory:tool-used', value: search_orders}", called("search_orders")),
        (
            "{type: 'trajectory:tool-used', value: {pattern: '*search*', min: 2, max: 3}}",
            called("search", name_match="contains", min_count=2, max_count=3),
        ),
        ("{type: 'not-trajectory:tool-used', value: delete}", called("delete", "tool_not_called")),
        (
            "{type: 'trajectory:tool-args-match', value: {name: find, args: {id: '{{what}}'}}}",
            called("find", args={"id": "hi"}),
        ),
        (
            "{type: 'trajectory:tool-args-match', value: {name: find, mode: exact, arguments: {n: 1}}}",
            called("find", args={"n": 1}, args_match="exact"),
        ),
        ("{type: 'trajectory:tool-sequence', value: {steps: [a, b]}}", ORDERED),
        (
            "{type: 'trajectory:tool-sequence', value: {mode: exact, steps: [a, b]}}",
            ORDERED | {"exact": True},
        ),
        (
            "{type: tool-call-f1, value: 'a, b'}",
            {"type": "tool_calls", "tools": ["a", "b"], "exact": True},
        ),
        (
            "{type: contains, value: '{{what}}', weight: 2, metric: 'Says {{what}}'}",
            exact("contains", "hi") | {"name": "Says hi", "weight": 2.0},
        ),
        (
            "{type: equals, value: x, transform: output.category}",
            {"type": "exact_match", "value": "x", "response_path": "category"},
        ),
        (
            "{type: equals, value: [1], transform: 'JSON.parse(output).order.items[0]'}",
            {"type": "json_path", "path": "order.items[0]", "value": [1]},
        ),
    ],
)
def test_an_assertion_is_reported_in_our_words(assertion: str, check: Any) -> None:
    assert checks(assertion) == [check]


@pytest.mark.parametrize(
    ("assertion", "first", "second"),
    [
        ("{type: contains-all, value: [a, b]}", exact("contains", "a"), exact("contains", "b")),
        ("{type: icontains-all, value: 'a, b'}", called("a", "contains"), called("b", "contains")),
        ("{type: 'trajectory:tool-used', value: [a, b]}", called("a"), called("b")),
    ],
)
def test_an_assertion_of_several_texts_is_as_many_checks(
    assertion: str, first: Any, second: Any
) -> None:
    assert checks(assertion) == [first | {"weight": 0.5}, second | {"weight": 0.5}]


def test_the_whole_reply_must_be_json_where_it_is_reported() -> None:
    valid, alone = checks('{type: is-json, value: \'{"type": "array"}\'}')

    assert valid == {"type": "json_schema", "schema": {"type": "array"}, "weight": 0.5}
    assert (alone["type"], alone["name"], alone["weight"]) == ("matches", "Nothing but JSON", 0.5)


def test_values_are_in_files_too() -> None:
    files: dict[str, str | bytes] = {"s.json": '{"type": "object"}', "t.txt": "Say {{what}}\n"}

    assert checks("{type: contains-json, value: file://s.json}", files) == [
        {"type": "json_schema", "schema": {"type": "object"}}
    ]
    assert checks("{type: icontains, value: file://t.txt}", files) == [
        {"type": "contains", "value": "Say hi"}
    ]


def test_context_is_what_the_reply_is_to_rest_on() -> None:
    config = with_assertion("{type: context-faithfulness, threshold: 0.9}", context="It is open.")

    (turn,) = turns(
        config.replace(
            "threshold: 0.9}", "threshold: 0.9}\n      - {type: context-recall, value: 'Open'}"
        )
    )

    assert turn["retrieval_context"] == ["It is open."]
    assert turn["expected"] == "Open"
    assert turn["assertions"] == [
        {"type": "faithfulness", "threshold": 0.9},
        {"type": "contextual_recall", "threshold": 0.5},
    ]


def test_a_set_shares_its_weight_among_its_assertions() -> None:
    result = checks(
        "{type: assert-set, weight: 4, assert: [{type: cost, threshold: 1}, {type: latency, threshold: 9, weight: 3}]}"
    )

    assert [(item["type"], item.get("weight", 1)) for item in result] == [
        ("cost", 1),
        ("latency", 3),
    ]


def test_of_a_set_with_a_threshold_all_must_pass_which_is_reported() -> None:
    imported = read(
        with_assertion("{type: assert-set, threshold: 0.5, assert: [{type: cost, threshold: 1}]}")
    )

    assert [loss.keys for loss in imported.losses] == ["tests[0].assert[0].threshold"]
    assert len(imported.suites[0].spec.cases[0].turns[0].assertions or []) == 1


def test_templates_of_assertions_are_followed() -> None:
    config = with_assertion("{$ref: '#/assertionTemplates/kind'}")

    (turn,) = turns(
        f"{config}assertionTemplates: {{kind: {{type: icontains, value: '{{{{what}}}}'}}}}\n"
    )

    assert turn["assertions"] == [{"type": "contains", "value": "hi"}]


@pytest.mark.parametrize(
    ("grader", "model"),
    [
        ("openai:gpt-5", "openai/gpt-5"),
        ("openai:gpt-5-mini", "openai/gpt-5-mini"),  # there is an agent openai-gpt-5-mini
        ("{id: openai:gpt-5, config: {temperature: 0}}", {"provider": "openai", "name": "gpt-5", "temperature": 0.0}),
        ("{text: {id: anthropic:messages:claude-opus-4-6}, embedding: openai:embedding:x}", "anthropic/claude-opus-4-6"),
        ("{id: echo, label: Phrase book}", "scripted/phrase-book"),
    ],
)  # fmt: skip
def test_a_grader_judges_where_a_judge_is_asked(grader: str, model: Any) -> None:
    own = checks(f"{{type: llm-rubric, value: x, provider: {grader}}}")
    config = (
        with_assertion("{type: llm-rubric, value: x}")
        + f"defaultTest: {{options: {{provider: {grader}}}}}\n"
    )

    assert own[0]["model"] == model
    assert turns(config)[0]["assertions"][0]["model"] == model
    assert "model" not in checks("{type: icontains, value: x}")[0]


def test_a_grader_may_name_the_model_of_embeddings() -> None:
    provider = "{embedding: {id: 'openai:embedding:text-embedding-3-small'}}"

    assert checks(f"{{type: similar, value: x, provider: {provider}}}")[0]["embedding_model"] == (
        "openai/text-embedding-3-small"
    )


def test_a_grader_that_is_nothing_here_is_lost() -> None:
    imported = read(with_assertion("{type: llm-rubric, value: x, provider: file://judge.py}"))

    assert [loss.keys for loss in imported.losses] == ["tests[0].assert[0].provider"]


@pytest.mark.parametrize(
    ("assertion", "words"),
    [
        ("{type: javascript, value: score(output)}", "does not run on import"),
        ("{type: regex, value: '(?=x)y'}", "Lookahead"),
        ("{type: is-json, value: {pattern: '(?=x)y'}}", "Lookahead"),
        ("{type: python, value: file://check.py}", "`code`"),
        ("{type: webhook, value: 'https://example.com'}", "code"),
        ("{type: select-best, value: funniest}", "not compared"),
        ("{type: not-is-sql}", "matches"),
        ("{type: levenshtein, value: x, threshold: 5}", "fuzzy_match"),
        ("{type: is-valid-openai-tools-call}", "succeeded: true"),
        ("{type: perplexity, threshold: 1.5}", "confidence"),
        ("{type: 'trace-span-count', value: {pattern: '*', min: 1}}", "tool_called"),
        ("{type: 'promptfoo:redteam:pii'}", "judge"),
        ("{type: cost}", "measures"),
        ("{type: not-similar, value: x}", "negated"),
        ("{type: not-contains-all, value: [a, b]}", "negated"),
        ("{type: not-factuality, value: x}", "negated"),
        ("{type: not-equals, value: {a: 1}}", "negated"),
        ("{type: not-llm-rubric, value: x, threshold: 0.5}", "negated"),
        ("{type: bleu, value: [a, b]}", "one text"),
        ("{type: contains, value: file://x.js}", "code"),
        ("{type: contains, value: '{{ what | capitalize }}'}", "capitalize"),
        ("{type: contains, value: x, transform: output.slice(2)}", "transform"),
        ("{type: contains, value: ' x', transform: output.trim()}", "trimmed"),
        ("{type: contains, value: X, transform: output.toLowerCase()}", "lower case"),
        ("{type: llm-rubric, value: x, transform: output.toLowerCase()}", "lower case"),
        ("{type: javascript, value: output.slice(1), transform: output.trim()}", "does not run"),
        ("{type: is-json, transform: output.name}", "json_path"),
        ("{type: equals, value: x, transform: output.length}", "transform"),
        ("{type: 'trajectory:tool-used', value: 'find*'}", "*part*"),
        ("{type: 'trajectory:tool-used', value: 'a*b'}", "part of it"),
        ("{type: 'trajectory:tool-sequence', value: {steps: ['*a*']}}", "full names"),
        ("{type: 'trajectory:tool-args-match', value: {name: a, ignore: [id]}}", "ignore"),
        ("{type: tool-call-f1, value: [a], threshold: 0.5}", "called or not"),
    ],
)
def test_an_assertion_without_an_equal_is_lost_with_what_to_do_instead(
    assertion: str, words: str
) -> None:
    assert words in lost(assertion)


def test_a_second_ground_truth_is_lost() -> None:
    config = with_assertion(
        "{type: context-recall, value: a}\n      - {type: context-recall, value: b}"
    )

    assert [loss.keys for loss in read(config).losses] == ["tests[0].assert[1]"]


@pytest.mark.parametrize("kind", ["llm-rubric", "factuality", "g-eval", "context-recall"])
def test_a_judge_does_not_read_a_part_of_the_reply_as_if_it_were_all(kind: str) -> None:
    assert "A judge reads the whole reply" in lost(
        f"{{type: {kind}, value: x, transform: output.answer}}"
    )


@pytest.mark.parametrize("kind", ["contains-any", "not-icontains-any", "not-equals", "starts-with"])
def test_texts_that_are_too_long_for_a_pattern_are_lost(kind: str) -> None:
    assert "1,000" in lost(f"{{type: {kind}, value: {'long ' * 250}}}")


def test_a_variable_of_an_assertion_that_a_test_does_not_set_is_warned_of() -> None:
    imported = read(with_assertion("{type: llm-rubric, value: 'Says {{what}} to {{who}}'}"))

    assert [(warning.line, warning.keys) for warning in imported.warnings] == [
        (6, "tests[0].assert[0].value")
    ]
    assert "{{who}}" in imported.warnings[0].message


DATA = """\
prompts: ['{{q}}']
providers: [openai:gpt-5-mini]
tests:
- vars: {q: hello, words: [secret, token], order: {id: A-12, tags: [new, paid]}, ids: [1, 2]}
  options: {disableVarExpansion: true}
  assert:
  - {type: contains, value: hello}
  - %s
"""


@pytest.mark.parametrize(
    ("assertion", "made"),
    [
        ("{type: contains-all, value: '{{words}}'}", [exact("contains", "secret"), exact("contains", "token")]),
        ("{type: icontains-all, value: '{{ids}}, 3'}", [{"type": "contains", "value": number} for number in "123"]),
        ("{type: contains-any, value: '{{words}}'}", [exact("matches", "secret|token")]),
        ("{type: not-contains-any, value: '{{order.tags}}'}", [exact("not_matches", "new|paid")]),
        ("{type: 'trajectory:tool-used', value: '{{words}}'}", [called("secret"), called("token")]),
        ("{type: not-contains, value: '{{words[0]}}'}", [exact("not_contains", "secret")]),
        ("{type: not-contains, value: '{{order.id}}'}", [exact("not_contains", "A-12")]),
        ("{type: llm-rubric, value: 'Mentions {{words}}'}", [judged('Mentions ["secret", "token"]')]),
    ],
)  # fmt: skip
def test_a_list_in_a_variable_is_the_texts_in_it(assertion: str, made: Any) -> None:
    (turn,) = turns(DATA % assertion)

    found = [
        {key: value for key, value in check.items() if key != "weight"}
        for check in turn["assertions"]
    ]
    assert found[1:] == made


@pytest.mark.parametrize(
    "assertion",
    [
        "{type: not-icontains, value: '{{words}}'}",
        "{type: not-icontains, value: '{{order}}'}",
        "{type: contains, value: 'say {{words}}'}",
        "{type: contains-any, value: '{{order}}'}",
        "{type: not-contains-any, value: ['{{words}}', x]}",
        "{type: regex, value: '{{words}}'}",
        "{type: equals, value: '{{order}}'}",
        "{type: starts-with, value: '{{words}}'}",
        "{type: similar, value: '{{words}}'}",
        "{type: javascript, value: \"output.includes('{{words}}')\"}",
    ],
)
def test_data_in_a_variable_is_never_looked_for(assertion: str) -> None:
    imported = read(DATA % assertion)

    (turn,) = imported.suites[0].spec.cases[0].turns
    assert [check.type for check in turn.assertions or []] == ["contains"]
    (loss,) = imported.losses
    assert loss.keys == "tests[0].assert[1]"
    assert "{{words}}" in loss.message or "{{order}}" in loss.message


def test_what_is_next_to_a_reference_is_lost() -> None:
    config = with_assertion("{$ref: '#/assertionTemplates/t', weight: 3}")
    template = "assertionTemplates: {t: {type: icontains, value: x}}\n"

    (loss,) = read(config + template).losses

    assert (loss.keys, "$ref" in loss.message) == ("tests[0].assert[0].weight", True)


@pytest.mark.parametrize(
    ("test", "keys"),
    [
        ("{vars: {what: '{{ a | fancy }}', a: b}}", "tests[0].vars.what"),
        ("{vars: {what: '{{ f({a: 1}) }}'}}", "tests[0].vars.what"),
        ("{vars: {what: hi}, options: {prefix: '{{ what | fancy }}'}}", "tests[0].options.prefix"),
        (
            "{vars: {what: hi}, assert: [{type: is-json, metric: '{{ what | fancy }}'}]}",
            "tests[0].assert[0].metric",
        ),
    ],
)
def test_an_expression_that_is_not_filled_in_is_reported_wherever_it_is(
    test: str, keys: str
) -> None:
    assert [loss.keys for loss in read(with_tests(f"  - {test}\n")).losses] == [keys]


def test_a_reference_to_nothing_is_reported_once() -> None:
    assert len(problems(with_assertion("{$ref: '#/assertionTemplates/t'}"))) == 1


def test_what_is_only_measured_weighs_nothing() -> None:
    metric = "{type: icontains, value: m, metricOnly: true}"
    inner = f"[{metric}, {{type: icontains, value: a}}, {{type: icontains, value: b}}]"

    assert [
        check.get("weight", 1) for check in checks(f"{{type: assert-set, assert: {inner}}}")
    ] == [0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("assertion", "check"),
    [
        pytest.param(
            "{type: icontains, value: x, transform: output.trim()}",
            {"type": "contains", "value": "x"},
            id="text in a trimmed reply",
        ),
        pytest.param(
            "{type: contains, value: x, transform: ' return output.trim().toLowerCase(); '}",
            {"type": "contains", "value": "x"},
            id="text in a reply in lower case",
        ),
        pytest.param(
            "{type: equals, value: x y, transform: output.trim()}",
            {"type": "matches", "value": r"\A\s*x\ y\s*\z", "case_sensitive": True},
            id="a trimmed reply",
        ),
        pytest.param(
            "{type: starts-with, value: x, transform: output.trim().toLowerCase()}",
            {"type": "matches", "value": r"\A\s*x"},
            id="the beginning of a trimmed reply in lower case",
        ),
        pytest.param(
            "{type: not-equals, value: x, transform: output.toLowerCase()}",
            {"type": "not_matches", "value": r"\Ax\z"},
            id="not a reply in lower case",
        ),
        pytest.param(
            "{type: llm-rubric, value: Polite, transform: output.trim()}",
            {"type": "llm_judge", "criteria": "Polite"},
            id="a judge of a trimmed reply",
        ),
    ],
)
def test_a_change_that_a_check_can_do_without_is_read(assertion: str, check: Any) -> None:
    assert checks(assertion) == [check]


@pytest.mark.parametrize(
    ("assertion", "compared"),
    [
        ("{type: contains, value: it's, transform: output.a}", ("reply.a", "contains", "'it''s'")),
        (
            "{type: not-icontains, value: X, transform: 'JSON.parse(output).a[0]'}",
            ("lower(reply.a[0])", "does not contain", "'x'"),
        ),
        (
            "{type: contains-all, value: [x], transform: output.a}",
            ("reply.a", "contains", "'x'"),
        ),
        (
            "{type: icontains-any, value: [x, y], transform: output.a}",
            ("reply.a", "matches", "'(?i)x|y'"),
        ),
        (
            "{type: starts-with, value: x, transform: output.a}",
            ("reply.a", "matches", r"'\Ax'"),
        ),
        (
            "{type: not-regex, value: ^x$, transform: output.trim()}",
            ("trim(reply)", "does not match", "'^x$'"),
        ),
        (
            "{type: regex, value: x, transform: output.trim().toLowerCase()}",
            ("lower(trim(reply))", "matches", "'x'"),
        ),
        (
            "{type: javascript, value: output.length < 9, transform: output.trim()}",
            ("length(trim(reply))", "<", "9"),
        ),
        (
            "{type: not-javascript, value: output.includes('x'), transform: output.trim()}",
            ("trim(reply)", "does not contain", "'x'"),
        ),
    ],
)
def test_a_text_at_a_place_or_of_a_changed_reply_is_compared(
    assertion: str, compared: tuple[str, str, str]
) -> None:
    (check,) = checks(assertion)

    usual = {"comparison": "="}  # which is left out
    assert usual | check == {
        "type": "compare",
        **dict(zip(("left", "comparison", "right"), compared, strict=True)),
    }


@pytest.mark.parametrize(
    ("options", "provider"),
    [
        ("{transform: output.toUpperCase()}", "echo"),
        ("{postprocess: output.toUpperCase()}", "echo"),
        ("{}", "{id: echo, transform: output.toUpperCase()}"),
    ],
)
def test_a_reply_that_code_changes_is_not_checked_as_if_it_were_not(
    options: str, provider: str
) -> None:
    config = (
        f"prompts: ['{{{{what}}}}']\n"
        f"providers: [{provider}]\n"
        "tests:\n"
        "  - vars: {what: hi}\n"
        f"    options: {options}\n"
        "    assert: [{type: contains, value: HI}, {type: latency, threshold: 100}]\n"
    )

    imported = read(config)

    assert [loss.keys for loss in imported.losses] == ["tests[0].assert[0]"]
    assert [
        assertion.type for assertion in imported.suites[0].spec.cases[0].turns[0].assertions or []
    ] == ["latency"]


def test_parts_that_count_one_by_one_are_reported_where_a_score_decides() -> None:
    config = with_tests(
        "  - {vars: {what: a}, threshold: 0.5, assert: [{type: contains-all, value: [a, b]}]}\n"
    )

    assert [loss.keys for loss in read(config).losses] == ["tests[0].assert[0]"]
