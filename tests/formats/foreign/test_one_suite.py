"""The evals of a project as the cases of one suite."""

import json
from typing import Any

import pytest

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.native import write_native
from evals_app.formats.reading.problems import FormatError, Problem

KNOWN = ExistingObjects(
    agents={"shop": "http", "clerk": "http"}, fixtures=frozenset({"orders", "depot"})
)
PING = """\
name: ping
description: Says hello.
trials: 5
tags: [smoke, chat]
scoring: {pass_threshold: 0.6}
rubric: polite.md
turns:
  - content: hi
    assert:
      - {type: contains, value: hello there, weight: 2}
      - {type: regex, value: "hel+o there", weight: 1}
"""
REFUND = """\
name: refund
tags: [chat]
turns: [{content: I want my money back., assert: [{type: contains, value: refund policy}]}]
"""
ASK = REFUND.replace("refund\n", "ask\n", 1)
LOBU = {
    "agents/shop/evals/ping.yaml": PING,
    "agents/shop/evals/polite.md": "- Is polite.\n",
    "agents/shop/evals/refund.yaml": REFUND,
    "agents/shop/evals/ask.yaml": ASK,
}


def native(slug: str, **more: Any) -> str:
    suite = {
        "suite": slug.title(),
        "slug": slug,
        "agent": "shop",
        "cases": [{"name": "only", "turns": [{"user": f"About {slug}?"}]}],
        "assertions": [{"type": "contains", "value": f"the {slug}"}],
    }
    return json.dumps(suite | more)


def read(files: dict[str, str], **options: Any) -> Imported:
    sent = [SourceFile(path, text.encode()) for path, text in files.items() if ".md" not in path]
    found = {path: text.encode() for path, text in files.items()}
    how: dict[str, Any] = {"known": KNOWN, "find": found.get, "as_one_suite": True} | options
    return read_files(sent, **how)


def suite(files: dict[str, str], **options: Any) -> SuiteSpec:
    (located,) = read(files, **options).suites
    return located.spec


def problems(files: dict[str, str]) -> list[Problem]:
    with pytest.raises(FormatError) as raised:
        read(files)
    return raised.value.problems


def test_each_eval_is_a_case_with_its_own_trials_threshold_and_tags() -> None:
    shop = suite(LOBU)

    assert (shop.suite, shop.slug, shop.agent) == ("shop", "shop", "shop")
    assert (shop.trials, shop.pass_threshold, shop.min_pass_rate, shop.tags) == (
        3,
        0.8,
        0.8,
        ["chat"],
    )
    assert [
        (case.name, case.trials, case.pass_threshold, case.tags, case.description)
        for case in shop.cases
    ] == [
        ("ping", 5, 0.6, ["smoke"], "Says hello."),
        ("refund", None, None, [], ""),
        ("ask", None, None, [], ""),
    ]
    assert [len(case.turns[0].assertions or ()) for case in shop.cases] == [2, 1, 1]


def test_a_rubric_is_a_check_of_its_case_with_the_same_share_of_the_score() -> None:
    shop = suite(LOBU)

    assert shop.rubric == ""
    (rubric,) = shop.cases[0].final_assertions
    assert (rubric.type, rubric.threshold, rubric.weight) == ("rubric", 0.6, 3.0)
    assert [case.final_assertions for case in shop.cases[1:]] == [[], []]


def test_a_rubric_that_all_share_stays_the_one_of_the_suite() -> None:
    rubric = "rubric: polite.md\n"
    shop = suite(
        {
            **LOBU,
            "agents/shop/evals/ping.yaml": REFUND.replace("refund\n", "x\n", 1) + rubric,
            "agents/shop/evals/refund.yaml": REFUND + rubric,
            "agents/shop/evals/ask.yaml": ASK + rubric,
        }
    )

    assert shop.rubric == "- Is polite.\n"
    assert not any(case.final_assertions for case in shop.cases)


def test_one_eval_becomes_the_same_suite_as_many() -> None:
    shop = suite({"agents/shop/evals/refund.yaml": REFUND})

    assert (shop.slug, [case.name for case in shop.cases]) == ("shop", ["refund"])


def test_each_agent_has_a_suite_of_its_own() -> None:
    suites = read({**LOBU, "agents/clerk/evals/ask.yaml": ASK}).suites

    assert {(located.path, located.spec.slug, len(located.spec.cases)) for located in suites} == {
        ("agents/shop/evals", "shop", 3),
        ("agents/clerk/evals", "clerk", 1),
    }


def test_checks_of_a_suite_become_those_of_its_turns() -> None:
    turns = [
        {"user": "a"},
        {"user": "b", "assertions": []},
        {"user": "c", "inherit": True, "assertions": [{"type": "contains", "value": "some text"}]},
    ]
    files = {
        "evals/one.suite.yaml": native("one", cases=[{"name": "only", "turns": turns}]),
        "evals/two.suite.yaml": native("two"),
    }

    project = suite(files, root="/home/me/Help Desk")

    assert (project.suite, project.slug) == ("Help Desk evals", "help-desk-evals")
    assert [case.name for case in project.cases] == ["One", "Two"]
    assert project.assertions == []
    assert [
        [check.grader.model_dump()["value"] for check in turn.assertions or ()]
        for case in project.cases
        for turn in case.turns
    ] == [["the one"], [], ["the one", "some text"], ["the two"]]


def test_a_suite_of_several_cases_gives_each_its_name() -> None:
    cases = [{"name": name, "turns": [{"user": "Hello?"}]} for name in ("a", "b")]
    files = {"x/one.suite.yaml": native("one", cases=cases), "x/two.suite.yaml": native("two")}

    assert [case.name for case in suite(files).cases] == ["One - a", "One - b", "Two"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("judge_prompt", "Be strict."),
        ("fixtures", ["orders"]),
        ("gates", {"min_score": 0.5}),
        ("pass_rule", "score"),
    ],
)
def test_what_a_case_cannot_have_must_be_the_same_in_all(key: str, value: object) -> None:
    files = {
        "x/one.suite.yaml": native("one"),
        "x/two.suite.yaml": native("two", **{key: value}),
    }

    (problem,) = problems(files)

    assert (problem.path, problem.keys) == ("x/two.suite.yaml", key)
    assert "x/one.suite.yaml" in problem.message


def test_what_is_wrong_is_reported_where_it_is_written() -> None:
    files = {f"x/{slug}.suite.yaml": native(slug, fixtures=["ordrs"]) for slug in ("one", "two")}

    assert [(problem.path, problem.keys) for problem in problems(files)] == [
        ("x/one.suite.yaml", "fixtures[0]"),
        ("x/two.suite.yaml", "fixtures[0]"),
    ]


def test_warnings_about_checks_name_the_file_of_their_eval() -> None:
    short = [{"type": "contains", "value": "5"}]
    files = {
        "x/one.suite.yaml": native("one"),
        "x/two.suite.yaml": native("two", assertions=short),
    }

    (warning,) = read(files).warnings

    assert (warning.path, warning.keys) == ("x/two.suite.yaml", "assertions[0].value")


def test_losses_belong_to_the_suite_of_their_eval() -> None:
    files = {
        **{path: text for path, text in LOBU.items() if "ask" not in path},
        "agents/clerk/evals/ask.yaml": ASK.replace(
            "refund policy}", "x, options: {flags: i}}"
        ).replace("contains", "regex"),
    }

    losses = {located.spec.slug: located.losses.parts for located in read(files).suites}

    assert (len(losses["shop"]), len(losses["clerk"])) == (0, 1)


def test_a_sidecar_of_an_eval_is_applied_before() -> None:
    beside = {"agents/shop/evals/refund.evalwell.yaml": "trials: 9\n"}

    assert suite({**LOBU, **beside}).cases[1].trials == 9


def test_a_choice_on_the_site_stays() -> None:
    chosen = ExistingObjects(
        agents=KNOWN.agents,
        fixtures=KNOWN.fixtures,
        chosen=lambda slug: {"fixtures": ["orders"]} if slug == "shop" else {},
    )

    assert suite(LOBU, known=chosen).fixtures == ["orders"]


def test_the_suite_is_the_same_when_it_is_read_again() -> None:
    shop = suite(LOBU)
    again = read({"shop.suite.yaml": write_native(shop).decode()}, as_one_suite=False)

    assert again.suites[0].spec == shop
