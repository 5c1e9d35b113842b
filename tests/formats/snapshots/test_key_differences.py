from typing import Any

import pytest

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.snapshots.key_differences import differences

CASE: dict[str, Any] = {"name": "a", "turns": [{"user": "hi"}]}


def suite(*cases: dict[str, Any], **more: Any) -> SuiteSpec:
    return SuiteSpec.model_validate(
        {"suite": "S", "slug": "s", "agent": "a", "cases": list(cases or [CASE]), **more}
    )


def changes(before: SuiteSpec, after: SuiteSpec) -> list[tuple[str, str, str]]:
    return [
        (difference.keys, difference.before, difference.after)
        for difference in differences(before, after)
    ]


def test_equal_specs_differ_nowhere() -> None:
    assert changes(suite(), suite(trials=1)) == []


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(suite(trials=3), ("trials", "", "3"), id="set"),
        pytest.param(suite(suite="T"), ("suite", '"S"', '"T"'), id="changed"),
        pytest.param(
            suite({"name": "a", "turns": [{"user": "hello"}]}),
            ("cases.a.turns[0].user", '"hi"', '"hello"'),
            id="in a case, by its name",
        ),
        (suite(CASE, {"name": "b", "turns": [{"user": "x"}]}), ("cases.b", "", "(2 keys)")),
    ],
)
def test_each_difference_is_reported_by_its_keys(
    after: SuiteSpec, expected: tuple[str, str, str]
) -> None:
    assert changes(suite(), after) == [expected]


def turns(*texts: str) -> dict[str, Any]:
    return {"name": "a", "turns": [{"user": text} for text in texts]}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("b c", "a b c", [("cases.a.turns[0]", "", "(1 key)")], id="one more in front"),
        pytest.param("a b c", "b c", [("cases.a.turns[0]", "(1 key)", "")], id="the first removed"),
        pytest.param("a b c", "a x c", [("cases.a.turns[1].user", '"b"', '"x"')], id="one edited"),
        pytest.param(
            "a b",
            "b a",
            [("cases.a.turns[0]", "", "(1 key)"), ("cases.a.turns[1]", "(1 key)", "")],
            id="moved",
        ),
    ],
)
def test_entries_without_names_are_matched_by_what_they_contain(
    before: str, after: str, expected: list[tuple[str, str, str]]
) -> None:
    assert changes(suite(turns(*before.split())), suite(turns(*after.split()))) == expected


def test_a_removed_case_and_a_default_that_comes_back_have_no_value_after() -> None:
    before = suite(CASE, {"name": "b c", "turns": [{"user": "x"}]}, trials=3)

    assert changes(before, suite()) == [("trials", "3", ""), ('cases["b c"]', "(2 keys)", "")]


def test_true_and_one_are_different() -> None:
    before = suite({**CASE, "context_params": {"x": 1}})
    after = suite({**CASE, "context_params": {"x": True}})

    assert changes(before, after) == [("cases.a.context_params.x", "1", "true")]


def test_the_name_of_a_case_makes_no_secret_of_what_is_in_it() -> None:
    def named(name: str, user: str) -> SuiteSpec:
        return suite({"name": name, "turns": [{"user": user}]})

    ((_, before, after),) = changes(
        named("Forgot password", "hi"), named("Forgot password", "hello")
    )

    assert (before, after) == ('"hi"', '"hello"')


def test_a_secret_in_a_case_is_not_reported() -> None:
    def with_token(token: str) -> SuiteSpec:
        return suite({**CASE, "context_params": {"api_token": token}})

    ((_, before, after),) = changes(with_token("one"), with_token("two"))

    assert (before, after) == ("***", "***")


def test_long_texts_are_shown_from_where_they_differ() -> None:
    shared = "You work for a shop. " * 20
    before, after = (
        suite(judge_prompt=f"{shared}Be strict."),
        suite(judge_prompt=f"{shared}Be kind."),
    )

    ((keys, old, new),) = changes(before, after)

    assert keys == "judge_prompt"
    assert old.startswith('"… ')
    assert old.endswith('Be strict."')
    assert new.endswith('Be kind."')


def test_a_long_secret_stays_hidden() -> None:
    before, after = (
        suite({**CASE, "context_params": {"api_key": "x" * 100 + end}}) for end in ("one", "two")
    )

    assert changes(before, after) == [("cases.a.context_params.api_key", "***", "***")]
