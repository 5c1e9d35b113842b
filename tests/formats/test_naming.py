"""Tools, chunks and entities that checks name, and what cannot fail: found when files are read."""

from typing import Any

import pytest

from evals_app.engine.inventory import Abilities
from evals_app.formats import FormatError, Known, Problem, SourceFile, read_files
from evals_app.formats.naming import Contents
from evals_app.formats.yaml_text import write_yaml

AGENT: dict[str, Any] = {
    "agent": "Support",
    "slug": "support",
    "driver": "scripted",
    "tools": ["entity.query", "entity.update", {"name": "refund", "rules": [{"result": 1}]}],
    "rules": [{"reply": "Hello"}],
}
FIXTURE = {
    "name": "Shop",
    "slug": "shop",
    "entity_types": [{"slug": "order", "schema": {}}],
    "entities": [{"ref": "order-1042", "type": "order", "data": {}}],
    "chunks": [{"id": "returns", "text": "Books can be returned."}],
}
OUTSIDE = {"agent": "Support", "slug": "support", "driver": "http", "url": "https://a.example/"}
SUPPORT = {"support": Abilities(frozenset({"refund"}), finds_elsewhere=False)}


def turn(*checks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"user": "hi", "assertions": list(checks)} | changes


def suite(*checks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    head = {"suite": "Refunds", "slug": "refunds", "agent": "support", "fixtures": ["shop"]}
    return head | {"cases": [{"name": "c", "turns": [turn(*checks)]}]} | changes


def found(
    *documents: dict[str, Any], known: Known | None = None, path: str = "s.suite.yaml"
) -> list[Problem]:
    """Read a suite and what stands beside it, and give everything that is said of it."""
    names = {"agent": "agent.yaml", "name": "fixture.yaml"}
    files = [
        SourceFile(
            next((f"{n}.{end}" for key, end in names.items() if next(iter(document)) == key), path),
            write_yaml(document),
        )
        for n, document in enumerate(documents)
    ]
    try:
        return read_files(files, known=known).warnings
    except FormatError as error:
        return error.problems


def levels(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.keys.partition("assertions[0].")[2], problem.level) for problem in problems]


# Names


@pytest.mark.parametrize(
    ("check", "keys", "near"),
    [
        pytest.param({"type": "tool_called", "value": "refnd"}, "value", "refund", id="called"),
        pytest.param({"type": "tool_not_called", "value": "refnd"}, "value", "refund", id="not"),
        pytest.param(
            {"type": "tool_called", "value": "refnd", "name_match": "contains"},
            "value",
            "refund",
            id="part of a name",
        ),
        pytest.param(
            {"type": "tool_calls", "tools": ["refund", "entity.qery"]},
            "tools[1]",
            "entity.query",
            id="trajectory",
        ),
        pytest.param(
            {"type": "tool_calls", "tools": [{"name": "refnd", "args": {"a": 1}}]},
            "tools[0].name",
            "refund",
            id="trajectory with arguments",
        ),
        pytest.param(
            {"type": "tool_use", "tool": "refnd", "threshold": 0.5}, "tool", "refund", id="use"
        ),
        pytest.param(
            {"type": "chunks_fetched", "chunks": ["returns", "retruns"]},
            "chunks[1]",
            "returns",
            id="chunk",
        ),
        pytest.param(
            {"type": "world_changes", "updated": [{"id": "order-1042b"}]},
            "updated[0].id",
            "order-1042",
            id="entity",
        ),
        pytest.param(
            {"type": "world_changes", "created": [{"type": "ordr"}]},
            "created[0].type",
            "order",
            id="entity type",
        ),
        pytest.param(
            {"type": "world_changes", "linked": [{"from": "order-1042", "to": "ordr-1042"}]},
            "linked[0].to",
            "order-1042",
            id="end of a relation",
        ),
    ],
)
def test_a_name_that_nothing_has_is_refused_at_its_place(
    check: dict[str, Any], keys: str, near: str
) -> None:
    problems = found(AGENT, FIXTURE, suite(check))

    assert levels(problems) == [(keys, "error")]
    assert f"{near!r}" in problems[0].message


@pytest.mark.parametrize(
    "check",
    [
        pytest.param({"type": "tool_called", "value": "refund"}, id="own tool"),
        pytest.param({"type": "tool_called", "value": "entity.query"}, id="tool of the world"),
        pytest.param(
            {"type": "tool_called", "value": "entity", "name_match": "contains"}, id="part"
        ),
        pytest.param({"type": "tool_calls", "tools": [], "exact": True}, id="no tool"),
        pytest.param({"type": "chunks_fetched", "chunks": ["returns"]}, id="chunk"),
        pytest.param({"type": "world_changes", "updated": [{"id": "order-1042"}]}, id="entity"),
        pytest.param({"type": "world_changes", "created": [{"id": "order-1"}]}, id="a new one"),
        pytest.param(
            {"type": "world_changes", "linked": [{"type": "of", "to": "order-7"}]}, id="relation"
        ),
    ],
)
def test_a_name_that_something_has_is_fine(check: dict[str, Any]) -> None:
    assert found(AGENT, FIXTURE, suite(check)) == []


@pytest.mark.parametrize(
    ("check", "keys"),
    [
        pytest.param(
            {"type": "tool_called", "value": "entity.query", "args": {"type": "ordr"}},
            "args.type",
            id="called",
        ),
        pytest.param(
            {
                "type": "tool_calls",
                "tools": [
                    {"name": "entity.query", "args": {"type": {"any_of": ["order", "ordr"]}}}
                ],
            },
            "tools[0].args.type",
            id="one of several",
        ),
    ],
)
def test_a_type_that_is_to_be_passed_and_does_not_exist_is_warned_of(
    check: dict[str, Any], keys: str
) -> None:
    problems = found(AGENT, FIXTURE, suite(check))

    assert levels(problems) == [(keys, "warning")]
    assert "'order'" in problems[0].message


def test_what_the_suite_does_not_use_does_not_count() -> None:
    other = AGENT | {"slug": "other", "tools": ["entity.delete"]}
    check = {"type": "tool_not_called", "value": "entity.delete"}

    (problem,) = found(other, AGENT, FIXTURE, suite(check))

    assert problem.level == "error"
    assert "entity.update" in problem.message


def test_an_agent_without_any_tool_may_yet_be_given_some() -> None:
    check = {"type": "tool_called", "value": "entity.query"}

    (problem,) = found({**AGENT, "tools": []}, FIXTURE, suite(check))

    assert problem.level == "warning"


def test_names_are_found_in_every_place_of_a_suite_even_of_one_that_is_not_sound() -> None:
    check = {"type": "tool_called", "value": "refnd"}
    whole = suite(assertions=[check], cases=[{"name": "c", "turns": [turn(check)]}])
    whole["cases"][0]["final_assertions"] = [check]

    sound, broken = (found(AGENT, FIXTURE, item) for item in (whole, whole | {"trials": 0}))

    assert len(sound) == 3
    assert [item for item in broken if item.keys != "trials"] == sound


@pytest.mark.parametrize(
    "check",
    [
        pytest.param({"type": "tool_called", "value": "find_orders"}, id="tool"),
        pytest.param({"type": "chunks_fetched", "chunks": ["terms"]}, id="chunk"),
    ],
)
def test_nobody_knows_what_an_agent_brings(check: dict[str, Any]) -> None:
    assert found(OUTSIDE, FIXTURE, suite(check)) == []


def test_a_slip_in_the_name_of_a_tool_that_an_agent_brings_is_asked_about() -> None:
    names = ["find_orders", "find_orders", "find_oders", "refund"]
    checks = [{"type": "tool_called", "value": name} for name in names]

    (problem,) = found(OUTSIDE, FIXTURE, suite(*checks))

    assert (problem.keys, problem.level) == ("cases[0].turns[0].assertions[2].value", "warning")
    assert "'find_orders'" in problem.message


def test_chunks_of_other_tools_are_not_known() -> None:
    tool = {"name": "search", "rules": [{"result": []}], "retrieval": "found"}
    check = {"type": "chunks_fetched", "chunks": ["terms"]}

    assert found(AGENT | {"tools": [tool]}, FIXTURE, suite(check)) == []


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(AGENT | {"driver": "scriptd"}, id="agent"),
        pytest.param(FIXTURE | {"entities": 1}, id="fixture"),
    ],
)
def test_nothing_follows_from_a_file_that_is_not_sound(broken: dict[str, Any]) -> None:
    check: dict[str, Any] = {"type": "tool_called", "value": "refnd"}
    if broken["slug"] == "shop":
        check = {"type": "chunks_fetched", "chunks": ["retruns"]}
    whole = [broken if broken["slug"] == item["slug"] else item for item in (AGENT, FIXTURE)]

    assert not [item for item in found(*whole, suite(check)) if item.path == "s.suite.yaml"]


def known(**changes: Any) -> Known:
    return Known(
        **{
            "agents": {"support": "model"},
            "abilities": SUPPORT,
            "fixtures": frozenset({"shop"}),
            "contents_of": lambda _: Contents(chunks=frozenset({"returns"})),
            **changes,
        }
    )


def test_what_is_stored_counts_where_no_file_says_otherwise() -> None:
    checks: list[dict[str, Any]] = [
        {"type": "tool_called", "value": "refnd"},
        {"type": "chunks_fetched", "chunks": ["retruns"]},
    ]

    messages = [item.message for item in found(suite(*checks), known=known())]

    assert ["'refund'" in messages[0], "'returns'" in messages[1]] == [True, True]


def test_what_may_not_be_seen_is_not_repeated() -> None:
    check = {"type": "tool_called", "value": "refnd"}
    hidden = known(hidden=frozenset({"agent", "fixture"}))

    (problem,) = found(suite(check), known=hidden)

    assert problem.level == "error"
    assert "refund" not in problem.message


def test_files_of_other_systems_are_only_warned_of() -> None:
    struere = {
        "suite": "S",
        "slug": "s",
        "agent": "support",
        "cases": [{"name": "c", "turns": [turn({"type": "tool_called", "value": "refnd"})]}],
    }

    problems = found(AGENT, struere, path="s.eval.yaml")

    assert [problem.level for problem in problems] == ["warning"]
    assert "'refund'" in problems[0].message


# What cannot fail


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        pytest.param(
            suite({"type": "token_f1", "value": "a", "threshold": 0}),
            "cases[0].turns[0].assertions[0].threshold",
            id="threshold",
        ),
        pytest.param(
            suite({"type": "contains", "value": "a"}, gates={"min_score": 0}),
            "gates.min_score",
            id="gate",
        ),
        pytest.param(
            suite({"type": "contains", "value": "a"}, pass_rule="score", pass_threshold=0),
            "pass_threshold",
            id="score",
        ),
    ],
)
def test_what_cannot_fail_is_refused_in_our_files(written: dict[str, Any], keys: str) -> None:
    errors = [item for item in found(AGENT, FIXTURE, written) if item.level == "error"]

    assert [error.keys for error in errors] == [keys]


def test_in_files_of_other_systems_what_cannot_fail_decides_nothing() -> None:
    content = (
        "providers: [openai:gpt-5-mini]\nprompts: ['{{q}}']\n"
        "tests: [{vars: {q: hi}, assert: [{type: llm-rubric, value: Polite, threshold: 0}]}]\n"
    )

    imported = read_files([SourceFile("promptfooconfig.yaml", content.encode())])
    (check,) = imported.suites[0].spec.cases[0].turns[0].assertions or []

    assert check.hollow() is None
    assert imported.suites[0].spec.asserts_nothing(imported.suites[0].spec.cases[0])
    assert any("threshold" in warning.keys for warning in imported.warnings)


def test_a_suite_without_cases_is_warned_of() -> None:
    (problem,) = found(AGENT, FIXTURE, suite(cases=[]))

    assert (problem.keys, problem.level) == ("cases", "warning")


def test_a_weight_that_leaves_others_no_say_is_warned_of() -> None:
    checks = [{"type": "contains", "value": "refund", "weight": item} for item in (1, 99)]

    (problem,) = found(AGENT, FIXTURE, suite(*checks, pass_rule="score"))

    assert (problem.keys, problem.level) == ("cases[0]", "warning")


@pytest.mark.parametrize(
    ("expected", "check", "warns"),
    [
        pytest.param("Paris", {"type": "meteor", "threshold": 0.9}, True, id="out of reach"),
        pytest.param("Paris", {"type": "meteor", "threshold": 0.4}, False, id="within reach"),
        pytest.param("Paris", {"type": "contains"}, False, id="itself"),
    ],
)
def test_an_expected_answer_that_would_fail_is_warned_of(
    expected: str, check: dict[str, Any], *, warns: bool
) -> None:
    written = suite(cases=[{"name": "c", "turns": [turn(check, expected=expected)]}])

    problems = found(AGENT, FIXTURE, written)

    assert [problem.keys for problem in problems] == ["cases[0].turns[0].expected"] * warns
    assert all("0.90" in problem.message for problem in problems)


def test_a_blank_message_is_refused() -> None:
    check = {"type": "contains", "value": "a"}
    written = suite(cases=[{"name": "c", "turns": [turn(check, user="   ")]}])

    (problem,) = found(AGENT, FIXTURE, written)

    assert (problem.keys, problem.level) == ("cases[0].turns[0].user", "error")
