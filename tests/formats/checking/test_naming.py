"""Tools, chunks and entities that checks name, and what cannot fail: found when files are read."""

from typing import Any

import pytest

from evals_app.engine.specs.inventory import Abilities
from evals_app.formats.checking.naming import FixtureContents
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.formats.reading.yaml_text import write_yaml

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


def problems_of(
    *documents: dict[str, Any], known: ExistingObjects | None = None, path: str = "s.suite.yaml"
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


def called(name: str, **options: Any) -> dict[str, Any]:
    return {"type": "tool_called", "value": name, **options}


def calls(*tools: Any) -> dict[str, Any]:
    return {"type": "tool_calls", "tools": list(tools)}


def world(**changes: Any) -> dict[str, Any]:
    return {"type": "world_changes", **{key: [change] for key, change in changes.items()}}


def passed(kind: Any) -> dict[str, Any]:
    return {"name": "entity.query", "args": {"type": kind}}


MISSING = {"type": "tool_not_called", "value": "refnd"}
USE = {"type": "tool_use", "tool": "refnd", "threshold": 0.5}
CHUNKS = {"type": "chunks_fetched", "chunks": ["returns", "retruns"]}
LINK = {"from": "order-1042", "to": "ordr-1042"}


@pytest.mark.parametrize(
    ("check", "keys", "near", "level"),
    [
        pytest.param(called("refnd"), "value", "refund", "error", id="called"),
        pytest.param(MISSING, "value", "refund", "error", id="not called"),
        (called("refnd", name_match="contains"), "value", "refund", "error"),
        (calls("refund", "entity.qery"), "tools[1]", "entity.query", "error"),
        (calls({"name": "refnd", "args": {"a": 1}}), "tools[0].name", "refund", "error"),
        pytest.param(USE, "tool", "refund", "error", id="use"),
        pytest.param(CHUNKS, "chunks[1]", "returns", "error", id="chunk"),
        (world(updated={"id": "order-1042b"}), "updated[0].id", "order-1042", "error"),
        (world(created={"type": "ordr"}), "created[0].type", "order", "error"),
        pytest.param(world(linked=LINK), "linked[0].to", "order-1042", "error", id="relation"),
        # Arguments are the agent's: a type that does not exist may be meant.
        (called("entity.query", args={"type": "ordr"}), "args.type", "order", "warning"),
        (calls(passed({"any_of": ["order", "ordr"]})), *("tools[0].args.type", "order", "warning")),
    ],
)
def test_a_name_that_nothing_has_is_reported_at_its_place(
    check: dict[str, Any], keys: str, near: str, level: str
) -> None:
    problems = problems_of(AGENT, FIXTURE, suite(check))

    assert levels(problems) == [(keys, level)]
    assert f"{near!r}" in problems[0].message


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(called("refund"), id="own tool"),
        pytest.param(called("entity.query"), id="tool of the world"),
        pytest.param(called("entity", name_match="contains"), id="part"),
        pytest.param(calls() | {"exact": True}, id="no tool"),
        pytest.param({"type": "chunks_fetched", "chunks": ["returns"]}, id="chunk"),
        pytest.param(world(updated={"id": "order-1042"}), id="entity"),
        pytest.param(world(created={"id": "order-1"}), id="a new one"),
        pytest.param(world(linked={"type": "of", "to": "order-7"}), id="relation"),
    ],
)
def test_a_name_that_something_has_is_fine(check: dict[str, Any]) -> None:
    # Only forbidding would be warned of.
    assert problems_of(AGENT, FIXTURE, suite(check, {"type": "json_valid"})) == []


def test_what_the_suite_does_not_use_does_not_count() -> None:
    other = AGENT | {"slug": "other", "tools": ["entity.delete"]}
    check = {"type": "tool_not_called", "value": "entity.delete"}

    (problem,) = problems_of(other, AGENT, FIXTURE, suite(check))

    assert problem.level == "error"
    assert "entity.update" in problem.message


def test_an_agent_without_any_tool_may_yet_be_given_some() -> None:
    check = called("entity.query")

    (problem,) = problems_of({**AGENT, "tools": []}, FIXTURE, suite(check))

    assert problem.level == "warning"


def test_names_are_found_in_every_place_of_a_suite_even_of_one_that_is_not_sound() -> None:
    check = called("refnd")
    whole = suite(assertions=[check], cases=[{"name": "c", "turns": [turn(check)]}])
    whole["cases"][0]["final_assertions"] = [check]

    sound, broken = (problems_of(AGENT, FIXTURE, item) for item in (whole, whole | {"trials": 0}))

    assert len(sound) == 3
    assert [item for item in broken if item.keys != "trials"] == sound


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(called("find_orders"), id="tool"),
        pytest.param({"type": "chunks_fetched", "chunks": ["terms"]}, id="chunk"),
    ],
)
def test_nobody_knows_what_an_agent_brings(check: dict[str, Any]) -> None:
    assert problems_of(OUTSIDE, FIXTURE, suite(check)) == []


def test_a_slip_in_the_name_of_a_tool_that_an_agent_brings_is_asked_about() -> None:
    names = ["find_orders", "find_orders", "find_oders", "refund"]
    checks = map(called, names)

    (problem,) = problems_of(OUTSIDE, FIXTURE, suite(*checks))

    assert (problem.keys, problem.level) == ("cases[0].turns[0].assertions[2].value", "warning")
    assert "'find_orders'" in problem.message


def test_chunks_of_other_tools_are_not_known() -> None:
    tool = {"name": "search", "rules": [{"result": []}], "retrieval": "found"}
    check = {"type": "chunks_fetched", "chunks": ["terms"]}

    assert problems_of(AGENT | {"tools": [tool]}, FIXTURE, suite(check)) == []


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(AGENT | {"driver": "scriptd"}, id="agent"),
        pytest.param(FIXTURE | {"entities": 1}, id="fixture"),
    ],
)
def test_nothing_follows_from_a_file_that_is_not_sound(broken: dict[str, Any]) -> None:
    check: dict[str, Any] = called("refnd")
    if broken["slug"] == "shop":
        check = {"type": "chunks_fetched", "chunks": ["retruns"]}
    whole = [broken if broken["slug"] == item["slug"] else item for item in (AGENT, FIXTURE)]

    assert not [item for item in problems_of(*whole, suite(check)) if item.path == "s.suite.yaml"]


def known(**changes: Any) -> ExistingObjects:
    return ExistingObjects(
        **{
            "agents": {"support": "model"},
            "abilities": SUPPORT,
            "fixtures": frozenset({"shop"}),
            "contents_of": lambda _: FixtureContents(chunks=frozenset({"returns"})),
            **changes,
        }
    )


def test_what_is_stored_counts_where_no_file_says_otherwise() -> None:
    checks: list[dict[str, Any]] = [
        called("refnd"),
        {"type": "chunks_fetched", "chunks": ["retruns"]},
    ]

    messages = [item.message for item in problems_of(suite(*checks), known=known())]

    assert ["'refund'" in messages[0], "'returns'" in messages[1]] == [True, True]


def test_what_may_not_be_seen_is_not_repeated() -> None:
    check = called("refnd")
    hidden = known(hidden=frozenset({"agent", "fixture"}))

    (problem,) = problems_of(suite(check), known=hidden)

    assert problem.level == "error"
    assert "refund" not in problem.message


def test_files_of_other_systems_are_only_warned_of() -> None:
    struere = {
        "suite": "S",
        "slug": "s",
        "agent": "support",
        "cases": [{"name": "c", "turns": [turn(called("refnd"))]}],
    }

    (problem,) = problems_of(AGENT, struere, path="s.eval.yaml")

    assert problem.level == "warning"
    assert "'refund'" in problem.message


# What cannot fail


REFUND = {"type": "contains", "value": "refund"}
HEAVY = [REFUND | {"weight": weight} for weight in (1, 99)]


@pytest.mark.parametrize(
    ("written", "keys", "level"),
    [
        pytest.param(
            suite({"type": "token_f1", "value": "a", "threshold": 0}),
            *("cases[0].turns[0].assertions[0].threshold", "error"),
            id="threshold",
        ),
        pytest.param(suite(REFUND, gates={"min_score": 0}), "gates.min_score", "error", id="gate"),
        (suite(REFUND, pass_rule="score", pass_threshold=0), "pass_threshold", "error"),
        pytest.param(
            suite(cases=[{"name": "c", "turns": [turn(REFUND, user="   ")]}]),
            *("cases[0].turns[0].user", "error"),
            id="a blank message",
        ),
        pytest.param(suite(cases=[]), "cases", "warning", id="no cases"),
        (suite(*HEAVY, pass_rule="score"), "cases[0]", "warning"),
    ],
)
def test_what_proves_nothing_is_reported_in_our_files(
    written: dict[str, Any], keys: str, level: str
) -> None:
    problems = problems_of(AGENT, FIXTURE, written)

    assert [problem.keys for problem in problems if problem.level == level] == [keys]


def test_in_files_of_other_systems_what_cannot_fail_decides_nothing() -> None:
    content = (
        "providers: [openai:gpt-5-mini]\nprompts: ['{{q}}']\n"
        "tests: [{vars: {q: hi}, assert: [{type: llm-rubric, value: Polite, threshold: 0}]}]\n"
    )

    imported = read_files([SourceFile("promptfooconfig.yaml", content.encode())])
    (check,) = imported.suites[0].spec.cases[0].turns[0].assertions or []

    assert check.cannot_fail_at() is None
    assert imported.suites[0].spec.asserts_nothing(imported.suites[0].spec.cases[0])
    assert any("threshold" in warning.keys for warning in imported.warnings)


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

    problems = problems_of(AGENT, FIXTURE, written)

    assert [problem.keys for problem in problems] == ["cases[0].turns[0].expected"] * warns
    assert all("0.90" in problem.message for problem in problems)


@pytest.mark.parametrize(
    ("limit_ms", "is_warned"),
    [
        pytest.param(19_999, False, id="can be exceeded"),
        pytest.param(20_000, True, id="as long as all turns"),
        pytest.param(20_000_000, True, id="longer"),
    ],
)
def test_a_time_limit_that_the_reply_timeout_hides_warns(limit_ms: int, *, is_warned: bool) -> None:
    case = {"name": "c", "turns": [turn(REFUND), turn(REFUND)], "turn_timeout_s": 10}
    written = suite(cases=[case | {"limits": {"max_time_ms": limit_ms}}])

    problems = problems_of(written, AGENT, FIXTURE)

    assert ["max_time_ms" in problem.keys for problem in problems] == [True] * is_warned


@pytest.mark.parametrize(
    ("path", "content", "word"),
    [
        pytest.param(
            "s.csv",
            b'user,final checks\nhi,"- {type: chunks_fetched, chunks: [returns]}"\n',
            "a column settings",
            id="table",
        ),
        pytest.param(
            "s.suite.yaml",
            write_yaml(suite({"type": "chunks_fetched", "chunks": ["returns"]}, fixtures=[])),
            "under `fixtures`",
            id="suite",
        ),
    ],
)
def test_a_chunk_without_any_fixture_is_reported_with_how_to_name_one(
    path: str, content: bytes, word: str
) -> None:
    files = [SourceFile("a.agent.yaml", write_yaml(AGENT)), SourceFile(path, content)]

    with pytest.raises(FormatError) as caught:
        read_files(files, agent="support")

    (problem,) = caught.value.problems
    assert word in problem.message
