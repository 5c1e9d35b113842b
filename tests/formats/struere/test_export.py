from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.basics.folding import fold_text
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.struere.export import fixture_file, suite_file, write_fixture, write_suite
from fixtures_app.spec import FixtureSpec

TURN: dict[str, Any] = {"user": "hi", "assertions": [{"type": "contains", "value": "hello"}]}


def suite(*turns: dict[str, Any], **more: Any) -> SuiteSpec:
    case = {"name": "c", "turns": list(turns or [TURN]), **more.pop("case", {})}
    data = {"suite": "S", "slug": "s", "agent": "a", "score_scale": "1-5", "cases": [case]}
    return SuiteSpec.model_validate({"judge_model": "anthropic/claude", **data, **more})


def reread(**files: bytes) -> Imported:
    sources = [SourceFile(path, content) for path, content in files.items()]
    return read_files(sources, known=ExistingObjects(agents={"a": "model"}))


def lost(spec: SuiteSpec) -> list[tuple[str, str]]:
    _, problems = write_suite(spec)
    assert all(problem.level == "loss" for problem in problems)
    return [(problem.keys, problem.message) for problem in problems]


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
FULL = TEXT.filter(bool)
PROSE = TEXT.filter(fold_text)  # a text of invisible characters cannot be looked for
WEIGHT = st.integers(0, 9)
SAID = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("contains"), "value": PROSE}, optional={"weight": WEIGHT}
    ),
    st.fixed_dictionaries(
        {"type": st.just("llm_judge"), "criteria": PROSE, "scale": st.just("1-5")}
    ),
    st.fixed_dictionaries({"type": st.just("tool_called"), "value": st.just("entity.query")}),
)
TURNS = st.fixed_dictionaries({"user": PROSE}, optional={"assertions": st.lists(SAID, max_size=3)})
CASES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"name": FULL, "turns": st.lists(TURNS, min_size=1, max_size=3)},
    optional={
        "description": TEXT,
        "tags": st.lists(FULL, max_size=2),
        "channel": st.sampled_from(["widget", "whatsapp"]),
        "context_params": st.dictionaries(TEXT, TEXT | st.integers() | st.booleans(), max_size=2),
        "final_assertions": st.lists(
            SAID.map(
                lambda item: (
                    item if item["type"] == "tool_called" else {**item, "scope": "conversation"}
                )
            ),
            max_size=2,
        ),
    },
)


@given(st.lists(CASES, max_size=3, unique_by=lambda item: str(item["name"])), TEXT)
def test_what_struere_can_say_is_the_same_after_export_and_import(
    cases: list[dict[str, Any]], prompt: str
) -> None:
    spec = suite(cases=cases, judge_prompt=prompt)

    written, losses = write_suite(spec)

    assert losses == []
    (read,) = reread(**{suite_file(spec): written}).suites
    assert read.spec == spec


@pytest.mark.parametrize(
    ("judge", "written"),
    [
        ("anthropic/claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001"),
        pytest.param("openrouter/claude-haiku", "openrouter/claude-haiku", id="other provider"),
        pytest.param("anthropic/claude-a/b", "anthropic/claude-a/b", id="slash in the name"),
        pytest.param("anthropic/opus", "anthropic/opus", id="name that tells no provider"),
    ],
)
def test_a_judge_is_named_as_struere_does_where_that_is_enough(judge: str, written: str) -> None:
    spec = suite(judge_model=judge)

    content, losses = write_suite(spec)

    assert losses == []
    assert f"judgeModel: {written}\n" in content.decode()
    (read,) = reread(**{suite_file(spec): content}).suites
    assert read.spec == spec


def test_weights_are_written_as_people_write_them() -> None:
    weighed = [{"type": "contains", "value": "x", "weight": weight} for weight in (3.0, 0.5)]

    content, _ = write_suite(suite({"user": "hi", "assertions": weighed}))

    assert [line.strip() for line in content.decode().splitlines() if "weight" in line] == [
        "weight: 3",
        "weight: 0.5",
    ]


def test_defaults_of_the_suite_are_written_out_for_each_turn() -> None:
    spec = suite(
        {"user": "a"},
        {"user": "b", "inherit": True, "assertions": [{"type": "matches", "value": "x"}]},
        {"user": "c", "assertions": []},
        assertions=[{"type": "contains", "value": "hello"}],
    )

    written, losses = write_suite(spec)

    assert losses == []
    (read,) = reread(**{suite_file(spec): written}).suites
    turns = read.spec.cases[0].turns
    assert [[assertion.type for assertion in turn.assertions or []] for turn in turns] == [
        ["contains"],
        ["contains", "matches"],
        [],
    ]


def test_an_expected_text_becomes_the_value_of_a_check() -> None:
    spec = suite({"user": "a", "expected": "Paris", "assertions": [{"type": "contains"}]})

    written, losses = write_suite(spec)

    assert losses == []
    assert b"value: Paris" in written


@pytest.mark.parametrize(
    ("more", "keys", "reason"),
    [
        pytest.param({"trials": 3}, "trials", "no `trials`", id="key of the suite"),
        pytest.param({"score_scale": "0-1"}, "score_scale", "from", id="scale"),
        pytest.param({"judge_model": None}, "judge_model", "judge", id="no judge"),
        pytest.param({"judge_model": "agent"}, "judge_model", "agent's", id="own judge"),
        pytest.param(
            {"judge_model": {"provider": "openai", "name": "g", "temperature": 0}},
            "judge_model",
            "no settings",
            id="settings of the judge",
        ),
        ({"case": {"limits": {"max_time_ms": 5}}}, "cases[0].limits", "no `limits`"),
        pytest.param({"case": {"channel": "sms"}}, "cases[0].channel", "channels", id="channel"),
        pytest.param(
            {"case": {"final_assertions": [{"type": "contains", "value": "x"}]}},
            "cases[0].final_assertions[0].scope",
            "whole conversation",
            id="the last reply",
        ),
    ],
)
def test_what_struere_cannot_say_is_named(more: dict[str, Any], keys: str, reason: str) -> None:
    ((place, message),) = lost(suite(**more))

    assert place == keys
    assert reason in message


@pytest.mark.parametrize(
    ("assertion", "keys", "reason"),
    [
        pytest.param({"type": "latency", "max_ms": 5}, "", "latency", id="type"),
        pytest.param({"type": "contains", "value": "x", "enabled": False}, "", "disable", id="off"),
        pytest.param(
            {"type": "contains", "value": "x", "case_sensitive": True},
            ".case_sensitive",
            "`case_sensitive`",
            id="option",
        ),
        ({"type": "contains", "value": "x", "scope": "conversation"}, ".scope", "no `scope`"),
    ],
)
def test_checks_that_struere_does_not_have_are_named(
    assertion: dict[str, Any], keys: str, reason: str
) -> None:
    ((place, message),) = lost(suite({"user": "hi", "assertions": [assertion]}))

    assert place == f"cases[0].turns[0].assertions[0]{keys}"
    assert reason in message


def test_a_project_gives_every_suite_all_of_its_fixtures() -> None:
    spec = suite(fixtures=["shop"])

    _, same = write_suite(spec, fixtures=["shop"])
    _, more = write_suite(spec, fixtures=["shop", "school"])

    assert same == []
    assert [(item.keys, "school" in item.message) for item in more] == [("fixtures", True)]


def test_a_fixture_keeps_entities_and_relations() -> None:
    spec = FixtureSpec.model_validate(
        {
            "name": "F",
            "slug": "f",
            "entities": [
                {"ref": "a", "type": "person", "data": {"x": 1}},
                {"ref": "b", "type": "person", "data": {}, "status": "gone"},
            ],
            "relations": [{"from": "a", "to": "b", "type": "knows"}],
            "chunks": [{"id": "c", "text": "t"}],
            "entity_types": [
                {"slug": "person", "schema": {}},  # an import makes it again
                {"slug": "pet", "schema": {}},
                {"slug": "place", "schema": {"type": "object"}},
            ],
        }
    )

    written, losses = write_fixture(spec)

    assert [loss.keys for loss in losses] == ["chunks", "entity_types[1]", "entity_types[2]"]
    (read,) = reread(**{fixture_file(spec): written}).fixtures
    assert read.spec == spec.model_copy(update={"chunks": [], "entity_types": []})


def test_an_expected_text_that_no_check_looks_for_is_lost() -> None:
    said_otherwise = {"type": "contains", "value": "London"}
    spec = suite({"user": "a", "expected": "Paris", "assertions": [said_otherwise]})

    assert lost(spec) == [("cases[0].turns[0].expected", "Struere has no expected answers.")]


def test_an_expected_text_that_the_judge_is_shown_is_lost() -> None:
    judge = {"type": "llm_judge", "criteria": "Names the capital", "scale": "1-5"}
    assertions = [{"type": "contains"}, judge]
    spec = suite({"user": "a", "expected": "Paris", "assertions": assertions})

    assert [keys for keys, _ in lost(spec)] == ["cases[0].turns[0].expected"]


@pytest.mark.parametrize(
    ("options", "key"),
    [
        pytest.param({}, "scale", id="pass or fail"),
        pytest.param({"scale": "0-1"}, "scale", id="tenths"),
        pytest.param({"scale": "1-5", "anchors": {"5": "kind"}}, "anchors", id="own words"),
    ],
)
def test_a_judge_who_grades_otherwise_is_lost(options: dict[str, Any], key: str) -> None:
    judge = {"type": "llm_judge", "criteria": "Is kind", **options}

    losses = [keys for keys, _ in lost(suite({"user": "a", "assertions": [judge]}))]

    assert losses == [f"cases[0].turns[0].assertions[0].{key}"]


def test_a_default_of_the_suite_that_no_turn_takes_is_lost() -> None:
    spec = suite(TURN, {"user": "b", "assertions": []}, assertions=TURN["assertions"])

    assert [keys for keys, _ in lost(spec)] == ["assertions[0]"]


def test_a_default_of_the_suite_that_is_lost_is_lost_once() -> None:
    spec = suite({"user": "a"}, {"user": "b"}, assertions=[{"type": "json_valid"}])

    assert [keys for keys, _ in lost(spec)] == ["assertions[0]"]
