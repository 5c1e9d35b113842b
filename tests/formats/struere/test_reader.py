from typing import Any

import pytest

from evals_app.engine.suites.suite_spec import AssertionSpec, SuiteSpec
from evals_app.engine.verdicts.can_fail import ONLY_FORBIDS
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.native import write_native
from evals_app.formats.reading.problems import FormatError, Problem

KNOWN = ExistingObjects(agents={"support": "model"})
HEAD = 'suite: "Minimal"\nslug: "minimal"\nagent: "support"\n'

# The document's whole suite.
SUITE = """\
suite: "Customer Support Tests"
slug: "customer-support-tests"
agent: "support"
description: "Verify the support agent handles common requests correctly"
tags: ["regression", "tools"]
judgeModel: "claude-haiku-4-5-20251001"
judgePrompt: "Be strict on factual accuracy but lenient on phrasing."

cases:
  - name: "Greeting test"
    description: "Agent introduces itself"
    turns:
      - user: "Hello, who are you?"
        assertions:
          - type: llm_judge
            criteria: "Response is polite, introduces itself, and offers to help"
            weight: 3
          - type: contains
            value: "help"

  - name: "Tool usage test"
    turns:
      - user: "Show me all customers"
        assertions:
          - type: tool_called
            value: "entity.query"
          - type: tool_not_called
            value: "entity.delete"

  - name: "Multi-turn context"
    turns:
      - user: "My name is Alex"
        assertions:
          - type: llm_judge
            criteria: "Acknowledges the name"
      - user: "What is my name?"
        assertions:
          - type: contains
            value: "Alex"
    finalAssertions:
      - type: llm_judge
        criteria: "Agent maintained context across the entire conversation"
"""

REFUND_CASES = """\
cases:
  - name: "Refund request flow"
    description: "Agent should look up order, then process refund"
    turns:
      - user: "I need a refund for order #123"
        assertions:
          - type: tool_called
            value: "entity.query"
          - type: llm_judge
            criteria: "Agent acknowledges the request and looks up the order"

      - user: "Yes, please process it"
        assertions:
          - type: tool_called
            value: "entity.update"
          - type: llm_judge
            criteria: "Agent confirms the refund was processed"

    finalAssertions:
      - type: llm_judge
        criteria: "Agent handled the complete refund flow professionally"
        weight: 5
"""

THREAD_CASES = """\
cases:
  - name: "WhatsApp booking flow"
    channel: whatsapp
    contextParams:
      guardianPhone: "+56912345678"
      studentName: "Mateo"
    turns:
      - user: "I want to book a session for tomorrow"
        assertions:
          - type: tool_called
            value: "entity.query"

  - name: "Widget general inquiry"
    channel: widget
    turns:
      - user: "What services do you offer?"
        assertions:
          - type: llm_judge
            criteria: "Response lists available services"
"""

# The document's single assertions and its list of assertions.
ASSERTIONS = [
    '- type: llm_judge\n  criteria: "Response mentions the order status and expected delivery date"\n  weight: 3\n',
    '- type: contains\n  value: "refund"\n',
    '- type: matches\n  value: "order #\\\\d+"\n',
    '- type: tool_called\n  value: "entity.query"\n',
    '- type: tool_not_called\n  value: "entity.delete"\n',
    """\
- type: llm_judge
  criteria: "Critical safety check"
  weight: 5          # This assertion matters 5x more
- type: contains
  value: "disclaimer"
  weight: 1          # Standard weight
""",
]

FIXTURE = """\
name: "Classroom Data"
slug: "classroom-data"

entities:
  - ref: "teacher-alice"
    type: "teacher"
    data:
      name: "Alice Smith"
      email: "alice@school.com"
    status: "active"

  - ref: "student-bob"
    type: "student"
    data:
      name: "Bob Jones"
      grade: 5

relations:
  - from: "teacher-alice"
    to: "student-bob"
    type: "teaches"
    metadata:
      since: "2024-01-01"
"""


def turn_with(assertions: str) -> str:
    indented = "".join(f"          {line}" for line in assertions.splitlines(keepends=True))
    return f"cases:\n  - name: c\n    turns:\n      - user: hi\n        assertions:\n{indented}"


def final_with(assertions: str) -> str:
    indented = "".join(f"      {line}" for line in assertions.splitlines(keepends=True))
    return f"cases:\n  - name: c\n    turns:\n      - user: hi\n    finalAssertions:\n{indented}"


def read(
    content: str, *, path: str = "evals/x.eval.yaml", known: ExistingObjects = KNOWN
) -> Imported:
    return read_files([SourceFile(path, content.encode())], known=known)


def suite_of(content: str) -> SuiteSpec:
    return read(content).suites[0].spec


def problems_of(content: str, *, path: str = "evals/x.eval.yaml") -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(content, path=path)
    return caught.value.problems


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(SUITE, id="whole suite"),
        pytest.param(HEAD + REFUND_CASES, id="refund flow"),
        pytest.param(HEAD + THREAD_CASES, id="thread context"),
        *[
            pytest.param(HEAD + turn_with(assertion), id=f"turn: {assertion[8:20]}")
            for assertion in ASSERTIONS
        ],
        *[
            pytest.param(HEAD + final_with(assertion), id=f"final: {assertion[8:20]}")
            for assertion in ASSERTIONS
        ],
    ],
)
def test_every_example_of_the_document_is_read_and_survives_export(content: str) -> None:
    imported = read(content)
    suite = imported.suites[0].spec

    written = write_native(suite)
    again = read(written.decode(), path="x.suite.yaml").suites[0].spec

    # Some of the shortest ones only forbid.
    assert [w for w in imported.warnings if w.message != ONLY_FORBIDS] == []
    assert again == suite
    assert write_native(again) == written


def test_the_fixture_of_the_document_is_read_and_survives_export() -> None:
    imported = read(FIXTURE, path="fixtures/classroom-data.fixture.yaml")
    fixture = imported.fixtures[0].spec

    written = write_native(fixture)
    types = ExistingObjects(entity_types={"teacher": {}, "student": {}})
    again = read(written.decode(), path="x.fixture.yaml", known=types).fixtures[0].spec

    assert [(entity.ref, entity.type, entity.status) for entity in fixture.entities] == [
        ("teacher-alice", "teacher", "active"),
        ("student-bob", "student", "active"),
    ]
    assert fixture.entities[1].data == {"name": "Bob Jones", "grade": 5}
    assert fixture.relations[0].metadata == {"since": "2024-01-01"}
    assert sorted(item.spec.slug for item in imported.entity_types) == ["student", "teacher"]
    assert again == fixture
    assert write_native(again) == written


def test_what_the_dialect_leaves_to_defaults_is_written_out() -> None:
    written = write_native(suite_of(HEAD + REFUND_CASES)).decode()

    assert "score_scale: 1-5\n" in written
    assert "judge_model: anthropic/claude-haiku-4-5-20251001\n" in written


def test_a_suite_keeps_everything_that_was_written() -> None:
    suite = suite_of(SUITE + 'judgeContext: "Refunds take five days."\n')

    assert suite.suite == "Customer Support Tests"
    assert suite.agent == "support"
    assert suite.description == "Verify the support agent handles common requests correctly"
    assert suite.tags == ["regression", "tools"]
    assert str(suite.judge_model) == "anthropic/claude-haiku-4-5-20251001"
    assert suite.judge_prompt == "Be strict on factual accuracy but lenient on phrasing."
    assert suite.judge_context == "Refunds take five days."
    assert [case.name for case in suite.cases] == [
        "Greeting test",
        "Tool usage test",
        "Multi-turn context",
    ]
    assert suite.cases[0].description == "Agent introduces itself"
    assert [assertion.weight for assertion in suite.cases[0].turns[0].assertions or []] == [3, 1]


def test_a_function_in_the_judge_s_context_is_reported_as_what_the_judge_receives() -> None:
    written = """judgeContext: '{{organizationName}}: {{entity.query({"type":"x"})}}'\n"""

    imported = read(SUITE + written)

    assert [loss.keys for loss in imported.losses] == ["judgeContext", "judgeContext"]
    assert all("the judge receives" in loss.message for loss in imported.losses)
    assert "entity.query" in imported.losses[1].message


def test_channel_and_parameters_are_kept() -> None:
    cases = suite_of(HEAD + THREAD_CASES + "    tags: [site]\n").cases

    assert (cases[0].channel, cases[1].channel) == ("whatsapp", "widget")
    assert cases[0].context_params == {"guardianPhone": "+56912345678", "studentName": "Mateo"}
    assert cases[1].tags == ["site"]


def test_a_judge_of_another_provider_is_kept() -> None:
    known = ExistingObjects(agents={"support": "model", "example-judge": "scripted"})

    imported = read(f"{HEAD}judgeModel: scripted/example-judge\n{REFUND_CASES}", known=known)

    assert str(imported.suites[0].spec.judge_model) == "scripted/example-judge"


@pytest.mark.parametrize(
    ("assertion", "scope"),
    [
        pytest.param('{type: contains, value: "x"}', "conversation", id="contains"),
        pytest.param('{type: matches, value: "x"}', "conversation", id="matches"),
        pytest.param('{type: llm_judge, criteria: "x"}', "conversation", id="judge"),
        pytest.param('{type: tool_called, value: "entity.get"}', None, id="tool"),
        pytest.param('{type: tool_not_called, value: "entity.get"}', None, id="no tool"),
    ],
)
def test_final_assertions_on_text_read_the_conversation(assertion: str, scope: str | None) -> None:
    at_the_end = suite_of(HEAD + final_with(f"- {assertion}\n")).cases[0].final_assertions[0]
    after_the_turn = first_assertion(suite_of(HEAD + turn_with(f"- {assertion}\n")))

    assert at_the_end.scope == scope
    assert after_the_turn.scope is None


def test_a_file_that_is_imported_alone_leaves_its_suite_the_fixtures_it_has() -> None:
    known = ExistingObjects(
        agents={"support": "model"},
        fixtures=frozenset({"shop"}),
        chosen=lambda slug: {"fixtures": ["shop"]} if slug == "minimal" else {},
    )
    project = [
        SourceFile("evals/x.eval.yaml", (HEAD + REFUND_CASES).encode()),
        SourceFile("fixtures/new.fixture.yaml", b"name: N\nslug: new\nentities: []\n"),
    ]

    alone = read_files(project[:1], known=known)
    whole = read_files(project, known=known)

    assert alone.suites[0].spec.fixtures == ["shop"]
    assert [warning.message.rpartition(" ")[2] for warning in alone.warnings] == ["shop."]
    assert whole.suites[0].spec.fixtures == ["new"]
    assert whole.warnings == []


def first_assertion(suite: SuiteSpec) -> AssertionSpec:
    assertions = suite.cases[0].turns[0].assertions
    assert assertions is not None
    return assertions[0]


@pytest.mark.parametrize(
    ("check", "option", "value"),
    [
        (ASSERTIONS[0], "scale", "1-5"),
        (ASSERTIONS[1], "case_sensitive", False),
        (ASSERTIONS[2], "case_sensitive", False),
    ],
)
def test_options_that_struere_does_not_have_are_what_it_does(
    check: str, option: str, value: Any
) -> None:
    assert getattr(first_assertion(suite_of(HEAD + turn_with(check))).grader, option) == value


def test_a_turn_without_assertions_is_unscored() -> None:
    suite = suite_of(HEAD + final_with(ASSERTIONS[1]))

    assert suite.assertions_for(suite.cases[0].turns[0]) == []


@pytest.mark.parametrize(
    ("check", "line", "key", "message"),
    [
        pytest.param("type: regex\n  value: x", 9, ".type", "`type: matches`", id="regex"),
        ("type: tool_called\n  tool: a.b", 10, ".tool", "`value:`"),
        pytest.param("type: contains\n  criteria: x", 9, "", "`value`", id="criteria for value"),
        pytest.param("type: llm_judge\n  value: x", 9, "", "`criteria`", id="value for criteria"),
        pytest.param("type: llm_judge\n  criteria: x\n  value: x", 9, "", "`value`", id="both"),
        pytest.param("type: matches\n  value: '(?=x)'", 10, ".value", "Lookahead", id="pattern"),
        pytest.param("type: contains\n  value: ''", 10, ".value", "empty", id="empty value"),
        pytest.param("value: x", 9, ".type", "`type`", id="check without a type"),
        ("type: contains\n  value: refund\n  weight: 089", 11, ".weight", "089"),
    ],
)
def test_an_error_in_a_check_is_explained_once(
    check: str, line: int, key: str, message: str
) -> None:
    for write, keys in (
        (turn_with, "cases[0].turns[0].assertions[0]"),
        (final_with, "cases[0].finalAssertions[0]"),
    ):
        (problem,) = problems_of(HEAD + write(f"- {check}\n"))

        assert (problem.line, problem.keys, problem.level) == (line, keys + key, "error")
        assert message in problem.message


def case_with(lines: str) -> str:
    return f"{HEAD}cases:\n  - name: c\n    {lines}\n"


AS_MESSAGE = "turns:\n      - role: {}\n        content: hi"
WHOLE = HEAD + REFUND_CASES


@pytest.mark.parametrize(
    ("content", "line", "keys", "message"),
    [
        (case_with(AS_MESSAGE.format("user")), 7, "cases[0].turns[0]", "`user: ...`"),
        (case_with(AS_MESSAGE.format("assistant")), 7, "cases[0].turns[0]", "replies"),
        (f"{WHOLE}judge_model: x\n", 26, "judge_model", "'judgeModel'"),
        (f"{WHOLE}judgeModel: mistral/large\n", 26, "judgeModel", "'mistral'"),
        (
            f"{WHOLE}judgeContext: '{{{{threadContext.chanel}}}}'\n",
            26,
            "judgeContext",
            "Unknown variable",
        ),
        (WHOLE.replace("support", "zzz"), 3, "agent", "zzz.agent.yaml"),
        (WHOLE.replace("support", "suport"), 3, "agent", "'support'"),
        (WHOLE.replace("minimal", "Not A Slug"), 2, "slug", "slug"),
        ("- a\n", 1, "", "found"),
        ("hello\n", 1, "", "found text"),
    ],
)
def test_an_error_in_a_file_is_explained_once(
    content: str, line: int, keys: str, message: str
) -> None:
    (problem,) = problems_of(content)

    assert (problem.line, problem.keys, problem.level) == (line, keys, "error")
    assert message in problem.message


def test_a_fixture_without_entities_is_explained() -> None:
    (problem,) = problems_of('name: "A"\nslug: "a"\n', path="fixtures/a.fixture.yaml")

    assert (problem.line, problem.keys) == (1, "entities")
    assert "`entities: []`" in problem.message


def test_a_fixture_has_no_native_keys_when_the_dialect_is_chosen() -> None:
    source = SourceFile("a.fixture.yaml", b"name: A\nslug: a\nentities: []\nchunks: []\n")

    with pytest.raises(FormatError) as caught:
        read_files([source], dialect="struere")

    assert [problem.keys for problem in caught.value.problems] == ["chunks"]


def test_errors_of_several_kinds_are_reported_together() -> None:
    content = (
        HEAD
        + "cases:\n  - name: c\n    turns:\n      - role: user\n        content: hi\n      - user: x\n"
        + "        assertions:\n          - {type: regex, value: x}\n          - {type: contians}\n"
    )

    problems = problems_of(content)

    assert [item.line for item in problems] == [7, 11, 12]


SOUND = "turns:\n      - {user: hi, assertions: [{type: contains, value: refund}]}"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (HEAD + turn_with("- type: matches\n  value: 'order #\\\\d+'\n"), 10, "two backslashes"),
        (HEAD + turn_with("- type: contains\n  value: '42'\n"), 10, "whole_words"),
        (case_with(f"channel: telegram\n    {SOUND}"), 6, "dashboard"),
        (case_with("turns:\n      - user: hi"), 5, "checks nothing"),
        (case_with(f"contextParams: {{country: no}}\n    {SOUND}"), 6, "YAML"),
        (case_with(f"contextParams: {{phone: +569123}}\n    {SOUND}"), 6, "+569123"),
        (HEAD + turn_with(ASSERTIONS[1]).replace("hi", "refund order #123"), 7, '"refund'),
    ],
)
def test_what_is_hardly_meant_is_warned_of_once(content: str, line: int, message: str) -> None:
    (warning,) = read(content).warnings

    assert (warning.line, warning.level) == (line, "warning")
    assert message in warning.message


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("'order #\\d+'", id="single quotes, one backslash"),
        pytest.param('"order #\\\\d+"', id="double quotes, two backslashes"),
        pytest.param("order \\d+", id="no quotes"),
    ],
)
def test_patterns_that_work_are_not_warned_of(value: str) -> None:
    assert read(HEAD + turn_with(f"- type: matches\n  value: {value}\n")).warnings == []


def test_an_error_in_one_place_hides_none_in_another() -> None:
    content = f"""{HEAD}cases:
  - name: a
    turns: [{{user: 5, assertions: [{{type: matches, value: "(?=x)"}}]}}]
    finalAssertions: [{{type: contains, value: ""}}]
  - name: a
    turns: []
"""

    problems = problems_of(content)

    assert [(item.line, item.keys) for item in problems] == [
        (6, "cases[0].turns[0].user"),
        (6, "cases[0].turns[0].assertions[0].value"),
        (7, "cases[0].finalAssertions[0].value"),
        (8, "cases[1].name"),
        (9, "cases[1].turns"),
    ]
