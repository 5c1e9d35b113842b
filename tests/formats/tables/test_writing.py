import codecs
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook

from evals_app.engine.suites.suite_spec import CaseSpec, LimitsSpec, SuiteSpec, TurnSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.tables.columns import COLUMNS, SheetColumn
from evals_app.formats.tables.suites import SUITE_KINDS
from evals_app.formats.tables.writing import write_csv, write_xlsx

KNOWN = ExistingObjects(
    agents={"desk": "model"}, fixtures=frozenset({"shop", "town"}), size_of=lambda _: 10
)
SHA = "0" * 64


def make_suite(*turns: dict[str, Any], **keys: Any) -> SuiteSpec:
    case = {"name": "first", "turns": list(turns) or [{"user": "hi"}], **keys.pop("case", {})}
    head = {"suite": "Desk", "slug": "desk", "agent": "desk"}
    return SuiteSpec.model_validate({**head, "cases": [case], **keys})


def again(path: str, content: bytes) -> Imported:
    return read_files([SourceFile(path, content)], known=KNOWN)


def from_csv(suite: SuiteSpec) -> SuiteSpec:
    content, losses = write_csv(suite)
    assert losses == []
    return again("any.csv", content).suites[0].spec


def from_xlsx(suite: SuiteSpec) -> SuiteSpec:
    content, losses = write_xlsx([suite])
    assert losses == []
    return again("any.xlsx", content).suites[0].spec


EVERYTHING = make_suite(
    {
        "user": "Where is it?",
        "expected": "On its way",
        "files": [{"path": "note.txt", "sha256": SHA}],
        "context": ["The shop is open.", "[It] closes at six."],
        "retrieval_context": ["A page"],
        "config": {"depth": [1, 2.0, None, True, "x"]},
        "inherit": True,
        "assertions": [
            {"type": "contains"},
            {"type": "fuzzy_match", "threshold": 0.25},
            {"type": "contains", "value": "way"},
            {"type": "contains", "value": "Its"},
            {"type": "not_matches", "value": r"\d{16}"},
            {"type": "tool_called", "value": "entity.query"},
            {"type": "llm_judge", "criteria": "Is polite", "scale": "pass_fail"},
            {"type": "contains", "value": "weighted", "weight": 3, "name": "Way"},
            {"type": "contains", "value": "behind what has no column"},
        ],
    },
    {"user": "Unscored", "assertions": []},
    {"user": "The suite's", "retrieval_context": []},
    {"user": "Empty", "expected": ""},
    description="All of it",
    tags=["a", "b, c"],
    fixtures=["shop", "town"],
    trials=3,
    min_pass_rate=0.5,
    pass_rule="score",
    pass_threshold=0.75,
    run_rule="gates",
    score_scale="1-5",
    concurrency=4,
    judge_model={"provider": "anthropic", "name": "claude-haiku-5-5", "temperature": 0.0},
    judge_prompt="Strict\nbut fair",
    judge_context="=context",
    rubric="- one\n- two",
    rubric_weight=0.25,
    assertions=[{"type": "latency", "max_ms": 5000}],
    gates={"min_score": 0.5, "max_cost_usd": 0.000000001},
    case={
        "description": "All of a case",
        "tags": ["[x", "y"],
        "channel": "api",
        "context_params": {
            "number": 42,
            "text": "42",
            "float": 1.0,
            "zeros": "007",
            "none": None,
            "no": False,
            "": "no name",
            " blank": "x",
            "quoted": '"42"',
            "said": '"hello"',
        },
        "clock": "2026-05-01T09:30:00+00:00",
        "limits": {
            "max_prompt_tokens": 1,
            "max_response_tokens": 2,
            "max_time_ms": 3,
            "max_cost_usd": 0.05,
            "max_tool_calls": 0,
        },
        "turn_timeout_s": 12.5,
        "enabled": False,
        "streaming": True,
        "trials": 2,
        "history": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "- Yes?"}],
        "final_assertions": [{"type": "tool_not_called", "value": "entity.delete"}],
    },
)


@pytest.mark.parametrize("way", [from_csv, from_xlsx])
def test_a_suite_with_everything_reads_back_equal(way: Any) -> None:
    assert way(EVERYTHING) == EVERYTHING


def test_every_key_of_a_suite_has_a_place_in_a_table() -> None:
    paths = {column.path for column in COLUMNS if isinstance(column, SheetColumn)}
    top = {path[0] for path in paths if path}

    assert CaseSpec.model_fields.keys() - {"turns"} <= top
    assert TurnSpec.model_fields.keys() <= top
    assert {("limits", key) for key in LimitsSpec.model_fields} <= paths
    assert SuiteSpec.model_fields.keys() - {"cases"} == SUITE_KINDS.keys()


def test_a_table_has_the_columns_that_it_needs_and_no_others() -> None:
    suite = make_suite({"user": "hi", "expected": "hello"}, assertions=[{"type": "contains"}])

    content, _ = write_csv(suite)

    assert content == codecs.BOM_UTF8 + (
        b"case,user,expected,suite,slug,agent,settings\r\nfirst,hi,hello,Desk,desk,desk,"
        b'"{""assertions"": [{""type"": ""contains""}]}"\r\n'
    )


@pytest.mark.parametrize("assertions", [[], [{"type": "exact_match"}]])
def test_an_expected_text_that_nothing_or_another_check_compares_stays_so(
    assertions: list[Any],
) -> None:
    suite = make_suite({"user": "hi", "expected": "hello"}, assertions=assertions)

    assert from_csv(suite) == suite
    assert from_xlsx(suite) == suite


def test_checks_before_the_first_without_a_column_are_in_columns_the_rest_as_data() -> None:
    checks = [
        {"type": "contains", "value": "a"},
        {"type": "not_contains", "value": "b"},
        {"type": "contains", "value": "c"},
    ]

    content, _ = write_csv(make_suite({"user": "hi", "assertions": checks}))

    assert content.decode("utf-8-sig").splitlines()[:2] == [
        "case,user,contains,not contains,checks,suite,slug,agent",
        'first,hi,a,b,"[{""type"": ""contains"", ""value"": ""c""}]",Desk,desk,desk',
    ]


@pytest.mark.parametrize("text", ["=1+1", "+49 30", "-5", "@here", "\tx", "'=x", "''-", "\r=x"])
def test_what_looks_like_a_formula_is_a_text_and_comes_back_as_it_was(text: str) -> None:
    suite = make_suite({"user": text, "expected": text})

    in_csv, _ = write_csv(suite)
    in_xlsx, _ = write_xlsx([suite])
    cell = load_workbook(io.BytesIO(in_xlsx))["desk"]["B2"]

    assert f"'{text}" in in_csv.decode("utf-8-sig")
    assert (cell.data_type, cell.number_format) == ("s", "@")
    assert from_csv(suite) == suite
    assert from_xlsx(suite) == suite


def test_equal_suites_give_equal_bytes() -> None:
    assert write_xlsx([EVERYTHING]) == write_xlsx([EVERYTHING])


def test_suites_of_a_workbook_have_a_sheet_each_and_one_about_all() -> None:
    long = "a" * 60
    suites = [
        make_suite(slug=slug, suite=slug.title(), trials=n)
        for n, slug in enumerate([f"{long}-1", f"{long}-2", "suite", "history"], 1)
    ]

    content, losses = write_xlsx(suites)
    book = load_workbook(io.BytesIO(content))
    specs = [suite.spec for suite in again("any.xlsx", content).suites]

    assert losses == []
    assert book.sheetnames == ["a" * 31, "a" * 26 + "~2", "suite~2", "history~2", "Suite"]
    headers = [cell.value for cell in book["Suite"][1]]
    assert headers == ["sheet", "suite", "slug", "agent", "trials"]
    assert specs == suites


def test_a_text_that_is_too_long_for_a_workbook_is_a_loss_and_not_cut() -> None:
    suite = make_suite({"user": "x" * 40_000})

    content, losses = write_xlsx([suite])

    (loss,) = losses
    assert (loss.path, loss.keys) == ("desk.suite.xlsx", "cases[0].turns[0].user")
    assert (loss.level, "32,767" in loss.message) == ("loss", True)
    assert load_workbook(io.BytesIO(content))["desk"]["B2"].value is None
    assert from_csv(suite) == suite


def test_a_control_character_is_a_loss_in_csv_and_none_in_a_workbook() -> None:
    suite = make_suite({"user": "ring \x07 the bell"})

    _, (loss,) = write_csv(suite)

    assert (loss.path, loss.keys) == ("desk.suite.csv", "cases[0].turns[0].user")
    assert from_xlsx(suite) == suite


def test_a_suite_without_a_case_is_a_loss() -> None:
    suite = make_suite(cases=[])

    assert [item.keys for item in write_csv(suite)[1]] == ["cases"]
    assert [item.keys for item in write_xlsx([suite])[1]] == ["cases"]


def test_many_parameters_are_data_in_one_column() -> None:
    suite = make_suite(case={"context_params": {f"p{n}": n for n in range(60)}})

    content, _ = write_csv(suite)

    assert (
        content.decode("utf-8-sig").splitlines()[0] == "case,context params,user,suite,slug,agent"
    )
    assert from_csv(suite) == suite


TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60
)
TRICKY = TEXT | st.sampled_from(
    [
        *('"', '""', " ", "\n", "\r\n", "a\rb", "[", "none"),
        *("_x0041_", "_x005F_", "x005F_", "#N/A", "1e5"),
    ]
)
SCALAR = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TRICKY
CHECK = st.one_of(
    st.builds(lambda value: {"type": "contains", "value": value}, TRICKY),
    st.builds(lambda value: {"type": "tool_called", "value": value}, TRICKY.filter(str.strip)),
    st.builds(
        lambda value: {"type": "llm_judge", "criteria": value, "scale": "pass_fail"},
        TRICKY.filter(str.strip),
    ),
    st.builds(lambda level: {"type": "rouge", "threshold": level}, st.floats(0, 1)),
    st.just({"type": "exact_match"}),
)
TURN = st.fixed_dictionaries(
    {"user": TRICKY.filter(str.strip), "expected": TRICKY | st.just("")},
    optional={
        "context": st.lists(TRICKY, min_size=1, max_size=2),
        "config": st.dictionaries(TRICKY, SCALAR, max_size=2),
        "assertions": st.lists(CHECK, max_size=4),
    },
)
CASE = st.fixed_dictionaries(
    {"turns": st.lists(TURN, min_size=1, max_size=2)},
    optional={
        "description": TRICKY,
        "tags": st.lists(TRICKY, max_size=2),
        "channel": TRICKY,
        "context_params": st.dictionaries(TRICKY | st.just(""), SCALAR, max_size=3),
    },
)


@given(st.lists(st.tuples(TRICKY, CASE), min_size=1, max_size=2, unique_by=lambda pair: pair[0]))
def test_whatever_is_in_a_suite_comes_back_or_is_a_loss(cases: list[Any]) -> None:
    suite = make_suite(cases=[{"name": name, **case} for name, case in cases])

    for path, written in (("a.csv", write_csv(suite)), ("a.xlsx", write_xlsx([suite]))):
        content, losses = written
        if not losses and not any(check.cannot_fail_at() for check in suite.checks()):
            assert again(path, content).suites[0].spec == suite
