from typing import Any

import pytest

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.reading.problems import FormatError
from tests.formats.lobu.projects import EVALS, PING, RUBRIC, problems, read

FOLLOWS = r"""
name: follows-instructions
description: Agent follows formatting instructions without adding unrequested content
trials: 3
timeout: 60
tags: [behavioral]
rubric: follows-instructions.rubric.md

scoring:
  pass_threshold: 0.8

turns:
  - content: "List exactly 3 benefits of remote work. Use bullet points."
    assert:
      - type: regex
        value: "^[\\s\\S]*[-•].*[-•].*[-•]"
        weight: 0.5
      - type: llm-rubric
        value: "Lists exactly 3 benefits (not 2, not 4+), uses bullet points"
        weight: 0.5
"""
RETENTION = """\
name: context-retention
description: Agent remembers context across turns
trials: 3
timeout: 60
tags: [behavioral, multi-turn]

turns:
  - content: "My name is Alice and I work at Acme Corp."

  - content: "What company do I work at?"
    assert:
      - type: contains
        value: "Acme"
        weight: 0.5
      - type: llm-rubric
        value: "Correctly recalls Acme Corp from the previous message"
        weight: 0.5

  - content: "And what's my name?"
    assert:
      - type: contains
        value: "Alice"
"""


def suite(text: str) -> SuiteSpec:
    imported = read({f"{EVALS}x.yaml": text})
    assert (imported.warnings, imported.losses) == ([], [])
    return imported.suites[0].spec


def one_turn(assertions: str) -> str:
    rows = "".join(f"      {line}\n" for line in assertions.splitlines())
    return f"name: x\nturns:\n  - content: Hello\n    assert:\n{rows}"


def checks(assertions: str) -> Any:
    turn = suite(one_turn(assertions)).cases[0].turns[0]
    return [
        assertion.model_dump(mode="json", exclude_defaults=True)
        for assertion in turn.assertions or []
    ]


def test_the_smallest_eval_has_the_defaults_of_lobu_written_out() -> None:
    assert suite(PING).model_dump(mode="json", exclude_defaults=True) == {
        "suite": "my-agent - ping",
        "slug": "my-agent-ping",
        "agent": "my-agent",
        "description": "Agent responds to a greeting",
        "trials": 3,
        "min_pass_rate": 0.8,
        "pass_rule": "score",
        "cases": [
            {
                "name": "ping",
                "turn_timeout_s": 120.0,
                "turns": [
                    {
                        "user": "Hello, are you there?",
                        "assertions": [{"type": "contains", "value": "hello"}],
                    }
                ],
            }
        ],
    }
    assert suite(PING).pass_threshold == 0.8


def test_an_eval_with_everything_keeps_weights_and_gives_the_rubric_half() -> None:
    spec = suite(FOLLOWS)

    assert (spec.rubric, spec.rubric_weight) == (RUBRIC, 0.5)
    assert (spec.trials, spec.tags, spec.pass_threshold) == (3, ["behavioral"], 0.8)
    assert spec.cases[0].turn_timeout_s == 60
    turn = spec.cases[0].turns[0].model_dump(mode="json", exclude_defaults=True)
    assert turn["assertions"] == [
        {"type": "matches", "value": r"^[\s\S]*[-•].*[-•].*[-•]", "weight": 0.5},
        {
            "type": "llm_judge",
            "criteria": "Lists exactly 3 benefits (not 2, not 4+), uses bullet points",
            "weight": 0.5,
        },
    ]


def test_turns_without_checks_are_reported_and_not_graded() -> None:
    turns = suite(RETENTION).cases[0].turns

    assert [turn.user for turn in turns] == [
        "My name is Alice and I work at Acme Corp.",
        "What company do I work at?",
        "And what's my name?",
    ]
    assert [[assertion.type for assertion in turn.assertions or []] for turn in turns] == [
        [],
        ["contains", "llm_judge"],
        ["contains"],
    ]
    assert turns[0].assertions == []


EXACT = {"type": "contains", "value": "Alice", "case_sensitive": True}


@pytest.mark.parametrize(
    ("assertion", "check"),
    [
        (
            "{type: contains, value: Acme, options: {case_insensitive: true}}",
            {"type": "contains", "value": "Acme"},
        ),
        ("{type: contains, value: Alice}", EXACT),
        (
            "{type: contains, value: Alice, options: {case_insensitive: false}, weight: 3}",
            EXACT | {"weight": 3.0},
        ),
        (r'{type: regex, value: "\\d{3}-\\d{4}"}', {"type": "matches", "value": r"\d{3}-\d{4}"}),
        ("{type: llm-rubric, value: Is kind}", {"type": "llm_judge", "criteria": "Is kind"}),
    ],
)
def test_every_assertion_becomes_a_check(assertion: str, check: dict[str, Any]) -> None:
    assert checks(f"- {assertion}") == [check]


def test_the_slug_of_a_name_without_latin_letters_is_that_of_its_file() -> None:
    imported = read({f"{EVALS}Greet me.yaml": PING.replace("name: ping", "name: 挨拶")})

    spec = imported.suites[0].spec
    assert (spec.suite, spec.slug) == ("my-agent - 挨拶", "my-agent-greet-me")


def test_evals_of_two_agents_may_have_one_name() -> None:
    known = ExistingObjects(agents={"a": "model", "b": "model"})

    imported = read(
        {"agents/a/evals/ping.yaml": PING, "agents/b/evals/ping.yaml": PING}, known=known
    )

    assert [item.spec.slug for item in imported.suites] == ["a-ping", "b-ping"]


@pytest.mark.parametrize(
    ("text", "line", "keys", "message"),
    [
        ("turns: [{content: x}]", 1, "", "`name`"),
        ("name: x", 1, "", "`turns`"),
        ("name: x\nturns: []", 2, "turns", "entry"),
        ("name: x\nturns: [3]", 2, "turns[0]", "Expected keys"),
        (PING.replace("name: ping", "name: 3"), 2, "name", '"3"'),
        ("trails: 3\n" + PING, 1, "trails", "'trials'"),
        ("trials: 0\n" + PING, 1, "trials", "greater"),
        ("timeout: 0\n" + PING, 1, "timeout", "greater"),
        ("scoring: {threshold: 1}\n" + PING, 1, "scoring.threshold", "'pass_threshold'"),
        ("scoring: {pass_threshold: 80}\n" + PING, 1, "scoring.pass_threshold", "equal"),
        ("rubric: ping.rubric.md\n" + PING, 1, "rubric", f"{EVALS}ping.rubric.md"),
        ("name: x\nturns:\n  - content: x\n    asserts: []\n", 4, "turns[0].asserts", "'assert'"),
        ("name: x\nturns:\n  - content: x\n    assert:\n", 4, "turns[0].assert", "a list"),
    ],
)
def test_an_error_is_reported_at_its_line(text: str, line: int, keys: str, message: str) -> None:
    (problem,) = problems({f"{EVALS}x.yaml": text})

    assert (problem.line, problem.keys) == (line, keys)
    assert message in problem.message


@pytest.mark.parametrize(
    ("assertion", "key", "message"),
    [
        ("{type: contain, value: x}", ".type", "'contains'"),
        ("{value: x}", "", "`type`"),
        ("{type: regex}", "", "`value`"),
        ("{type: regex, value: '(?=x)'}", ".value", "Lookahead"),
        ("{type: regex, value: x, weight: -1}", ".weight", "greater"),
    ],
)
def test_an_error_in_an_assertion_is_reported_at_its_key(
    assertion: str, key: str, message: str
) -> None:
    (problem,) = problems({f"{EVALS}x.yaml": one_turn(f"- {assertion}")})

    assert (problem.line, problem.keys) == (5, f"turns[0].assert[0]{key}")
    assert message in problem.message


def test_all_errors_of_all_files_come_in_one_go() -> None:
    broken = """\
name: broken
trials: often
rubric: nowhere.md
turns:
  - user: Hello
  - content: 5
    assert:
      - {type: equals, value: x}
      - {type: contains, valu: x}
      - {type: regex, value: "(?=x)"}
"""

    errors = problems({f"{EVALS}a.yaml": broken, "b/ping.yaml": PING, "lobu.toml": "agents = 1"})

    assert [(item.path, item.line, item.keys) for item in errors] == [
        (f"{EVALS}a.yaml", 2, "trials"),
        (f"{EVALS}a.yaml", 3, "rubric"),
        (f"{EVALS}a.yaml", 5, "turns[0]"),
        (f"{EVALS}a.yaml", 5, "turns[0].user"),
        (f"{EVALS}a.yaml", 6, "turns[1].content"),
        (f"{EVALS}a.yaml", 8, "turns[1].assert[0].type"),
        (f"{EVALS}a.yaml", 9, "turns[1].assert[1]"),
        (f"{EVALS}a.yaml", 9, "turns[1].assert[1].valu"),
        (f"{EVALS}a.yaml", 10, "turns[1].assert[2].value"),
        ("b/ping.yaml", 2, ""),
        ("lobu.toml", 1, "agents"),
    ]


def test_an_empty_rubric_is_an_error() -> None:
    path = f"{EVALS}follows-instructions.rubric.md"

    with pytest.raises(FormatError, match="This file is empty"):
        read({f"{EVALS}x.yaml": FOLLOWS}, beside={path: " \n"})


def test_options_that_mean_nothing_are_losses() -> None:
    rows = (
        "- {type: regex, value: x, options: {case_insensitive: false}}\n"
        "- {type: llm-rubric, value: x, options: {}}\n"
        "- {type: contains, value: x, options: {fuzzy: true}}\n"
    )

    imported = read({f"{EVALS}x.yaml": one_turn(rows)})

    assert [(loss.line, loss.keys) for loss in imported.losses] == [
        (5, "turns[0].assert[0].options"),
        (6, "turns[0].assert[1].options"),
        (7, "turns[0].assert[2].options.fuzzy"),
    ]


CHECK = {"type": "contains", "value": "refund"}


@pytest.mark.parametrize(
    ("turns", "word"),
    [
        pytest.param("[{content: Hello}]", "checks nothing", id="no check"),
        pytest.param(str([{"content": "x", "assert": [CHECK]}] * 13), "1560", id="13 slow turns"),
    ],
)
def test_an_eval_that_is_hardly_meant_so_is_warned_of(turns: str, word: str) -> None:
    (warning,) = read({f"{EVALS}x.yaml": f"name: x\nturns: {turns}\n"}).warnings

    assert word in warning.message


def test_a_missing_rubric_is_not_looked_for_among_eval_files() -> None:
    other = PING.replace("name: ping", "name: pong")
    (problem,) = problems(
        {f"{EVALS}ping.yaml": PING + "rubric: ping.md\n", f"{EVALS}pong.yaml": other}
    )

    assert problem.message == f"There is no file {EVALS}ping.md."
