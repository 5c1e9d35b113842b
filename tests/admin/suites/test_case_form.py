import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from evals_app.models import Assertion, Case, Turn
from tests.admin.case_pages import CHECKS, RICH, SPACED, checks_of, page_of
from tests.authored import CONTAINS, a_case, write_case, write_suite
from tests.engine.operator_code import operator_code_in
from tests.engine.permitting import permitting
from tests.page_form import open_page

pytestmark = pytest.mark.django_db


# Saving what is there


def test_lines_of_a_text_end_as_in_files(admin_client: Client) -> None:
    page = page_of(admin_client, write_case())

    page.post(turns__0__user="One\r\nTwo")

    assert Turn.objects.get().user == "One\nTwo"


JSON_VALUES: list[Any] = [
    None,
    "",
    [],
    {},
    0,
    False,
    " ",
    "null",
    {"any_of": [None]},
    {"a": None},
    [[]],
]
EMPTY: dict[str, Any] = {
    "name": "Empty",
    "turns": [
        {
            "user": "x",
            "assertions": [
                {"type": "json_path", "path": "a"},
                *({"type": "json_path", "path": "a", "value": value} for value in JSON_VALUES),
            ],
        }
    ],
}


@pytest.mark.parametrize("case", [RICH, SPACED, EMPTY], ids=lambda case: case["name"])
def test_saving_a_case_as_it_is_changes_nothing(admin_client: Client, case: dict[str, Any]) -> None:
    write_suite([case])
    row = Case.objects.get()
    before = row.to_spec().model_dump(mode="json")

    saved = page_of(admin_client, row).post()

    assert saved.is_saved, saved.problems
    assert Case.objects.get().to_spec().model_dump(mode="json") == before
    assert LogEntry.objects.get().get_change_message() == "No fields changed."


def test_a_case_without_a_name_is_called_by_its_first_message(admin_client: Client) -> None:
    case = write_case()
    page = page_of(admin_client, case)

    assert page.post(name="", turns__0__user="Where is\nmy order?").is_saved
    assert Case.objects.get().name == "Where is my order?"

    add = f"{reverse('admin:evals_app_case_add')}?suite={case.suite.pk}&template=look-up"
    again = open_page(admin_client, add).post(
        turns__0__user="Where is my order?", turns__0__expected="open"
    )
    assert again.is_saved, again.problems
    assert Case.objects.latest("pk").name == "Where is my order? (2)"


def test_a_case_without_a_name_in_no_suite_is_refused_in_words(admin_client: Client) -> None:
    refused = page_of(admin_client, write_case()).post(
        name="", suite="x", turns__7000000__user="Hi", turns__0__user=" "
    )

    assert "Name: Enter a name, or the first message." in refused.problems
    assert any(problem.startswith("Suite: ") for problem in refused.problems)


def test_a_value_of_nothing_but_spaces_is_refused_at_its_field(admin_client: Client) -> None:
    case = write_case()

    answer = page_of(admin_client, case).post(**{f"{CHECKS}-0-opt-value": "  "})

    (check,) = checks_of(case)
    assert check.options == {"value": "shipped"}
    assert len(answer.problems) == 1


@pytest.mark.parametrize(
    ("typed", "anchors", "is_warned"),
    [
        pytest.param({}, {}, True, id="without"),
        pytest.param(
            {"opt__anchors-key": ["5", "1"], "opt__anchors-text": ["Warm", "Rude"]},
            {"5": "Warm", "1": "Rude"},
            False,
            id="with",
        ),
    ],
)
def test_the_author_says_what_grades_mean(
    admin_client: Client, *, typed: dict[str, list[str]], anchors: dict[str, str], is_warned: bool
) -> None:
    case = write_case()
    page = page_of(admin_client, case)
    page.check(CHECKS, "llm_judge", opt__criteria="Is kind", opt__scale="1-5", **typed)

    saved = page.post()

    assert saved.is_saved, saved.problems
    assert checks_of(case)[-1].options.get("anchors", {}) == anchors
    again = page_of(admin_client, case)
    assert ("disagree" in again.text) is is_warned
    assert again.post().is_saved
    assert checks_of(case)[-1].options.get("anchors", {}) == anchors


def test_an_expected_answer_of_nothing_but_spaces_is_saved_with_a_warning(
    admin_client: Client,
) -> None:
    case = write_case()

    page_of(admin_client, case).post(turns__0__expected="  ")

    assert Turn.objects.get().expected == "  "
    warning = "Turn 1: the expected answer contains only spaces."
    assert warning in page_of(admin_client, case).text


@pytest.mark.parametrize(
    ("check", "typed", "saved"),
    [
        pytest.param(
            {"type": "json_path", "path": "a", "value": 1},
            {"value-kind": "yes"},
            {"value": True},
            id="1",
        ),
        pytest.param(
            {"type": "json_path", "path": "a", "value": None},
            {"value-kind": "number", "value-value": "0"},
            {"value": 0},
            id="0",
        ),
        pytest.param(
            {"type": "tool_called", "value": "entity.query", "args": {"a": 1}},
            {"args-kind": "yes"},
            {"args": {"a": True}},
            id="of an argument",
        ),
        pytest.param(
            {"type": "json_schema", "schema": {"const": 1}},
            {"json_schema": '{"const": true}'},
            {"schema": {"const": True}},
            id="in JSON",
        ),
    ],
)
def test_a_value_that_merely_equals_the_one_before_is_saved(
    admin_client: Client, check: dict[str, Any], typed: dict[str, str], saved: dict[str, Any]
) -> None:
    case = write_case(turns=[{"user": "x", "expected": "1", "assertions": [check]}])
    changes = {f"{CHECKS}-0-opt-{option}": text for option, text in typed.items()}

    answer = page_of(admin_client, case).post(**changes)

    assert answer.is_saved, answer.problems
    (row,) = checks_of(case)
    assert repr(row.options | saved) == repr(row.options)  # as 1 == True


# Writing


def test_a_case_can_be_written_from_nothing(admin_client: Client) -> None:
    suite = write_suite()
    page = open_page(admin_client, f"{reverse('admin:evals_app_case_add')}?suite={suite.pk}")
    turn = page.turn(user="Where is it?", expected="Shipped", checks="both")
    page.check(f"{turn}-assertions", "contains", opt__value="shipped", opt__case_sensitive="on")
    page.check("final_assertions", "tool_not_called", opt__value="entity.query")

    saved = page.post(name="New", tags="b, a ,, a")

    assert saved.is_saved, saved.problems
    assert Case.objects.get().to_spec().model_dump(mode="json", exclude_defaults=True) == {
        "name": "New",
        "tags": ["b", "a"],
        "turns": [
            {
                "user": "Where is it?",
                "expected": "Shipped",
                "inherit": True,
                "assertions": [{"type": "contains", "value": "shipped", "case_sensitive": True}],
            }
        ],
        "final_assertions": [{"type": "tool_not_called", "value": "entity.query"}],
    }


def test_the_page_of_a_new_case_has_the_suite_it_was_asked_for(admin_client: Client) -> None:
    write_suite(slug="other")
    suite = write_suite()

    page = open_page(admin_client, f"{reverse('admin:evals_app_case_add')}?suite={suite.pk}")

    assert page.fields["suite"] == [str(suite.pk)]


def test_a_new_case_stands_behind_the_others(admin_client: Client) -> None:
    suite = write_suite([a_case("First"), a_case("Second")])
    page = open_page(admin_client, reverse("admin:evals_app_case_add"))
    page.turn()

    assert page.post(name="Third", suite=suite.pk).is_saved

    assert [case.name for case in suite.cases.order_by("position")] == ["First", "Second", "Third"]


def test_rows_are_saved_in_the_order_of_the_screen(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "one", "assertions": []}, {"user": "two", "assertions": []}])
    page = page_of(admin_client, case)
    page.turn(user="new", position=1)

    assert page.post(turns__0__position="9" * 50, turns__1__position="x").is_saved

    texts = case.turns.order_by("position").values_list("user", flat=True)
    assert list(texts) == ["two", "new", "one"]


def test_a_removed_turn_takes_its_checks_along_even_if_they_are_wrong(admin_client: Client) -> None:
    turns = [{"user": "one", "assertions": [CONTAINS]}, {"user": "two", "assertions": [CONTAINS]}]
    case = write_case(turns=turns)
    page = page_of(admin_client, case)
    page.check(CHECKS, "matches", opt__value="(")

    saved = page.post(turns__0__DELETE="on")

    assert saved.is_saved, saved.problems
    assert [turn.user for turn in case.turns.all()] == ["two"]
    assert Assertion.objects.count() == 1


def test_a_new_row_that_was_removed_again_leaves_nothing(admin_client: Client) -> None:
    case = write_case()
    page = page_of(admin_client, case)
    turn = page.turn(user="")
    page.check(f"{turn}-assertions", "")
    check = page.check(CHECKS, "")
    page.fields |= {f"{turn}-DELETE": ["on"], f"{check}-DELETE": ["on"]}

    saved = page.post()

    assert saved.is_saved, saved.problems
    assert case.turns.count() == 1
    assert len(checks_of(case)) == 1


def test_another_kind_of_check_brings_options_of_its_own(admin_client: Client) -> None:
    case = write_case()
    page = page_of(admin_client, case)

    page.post(
        **{
            f"{CHECKS}-0-type": "numeric",
            f"{CHECKS}-0-opt-value": "42",
            f"{CHECKS}-0-opt-case_sensitive": None,
            f"{CHECKS}-0-opt-extract": "last",
        }
    )

    (check,) = checks_of(case)
    assert (check.type, check.options) == ("numeric", {"value": 42, "extract": "last"})


def test_blank_numbers_take_their_defaults(admin_client: Client) -> None:
    check = {"type": "numeric", "value": 1, "relative_tolerance": 0.5}
    case = write_case(turns=[{"user": "x", "assertions": [check]}])
    page = page_of(admin_client, case)

    page.post(**{f"{CHECKS}-0-opt-relative_tolerance": "", f"{CHECKS}-0-weight": ""})

    (saved,) = checks_of(case)
    assert (saved.options, saved.weight) == ({"value": 1}, 1.0)
    assert "Leave blank for 0 %." in page.text
    assert "Leave blank for 0.000001." in page.text


def test_a_check_that_decides_nothing_says_so(admin_client: Client) -> None:
    checks: list[dict[str, Any]] = [
        {"type": "rouge", "value": "x", "threshold": 0.5},
        {"type": "contains", "value": "x"},
        {"type": "geval", "criteria": "x", "strict_mode": True},
    ]
    decides = write_case(turns=[{"user": "x", "assertions": checks}])
    assert "Score only" not in page_of(admin_client, decides).text

    checks.append({"type": "rouge", "value": "x"})
    measures = write_case(turns=[{"user": "x", "assertions": checks}])
    assert page_of(admin_client, measures).text.count("Score only") == 1


def test_a_check_with_a_mistake_is_called_by_its_kind(admin_client: Client) -> None:
    page = page_of(admin_client, write_case())

    answer = page.post(**{f"{CHECKS}-0-type": "tool_use", f"{CHECKS}-0-opt-tool": ""})

    assert "Tool was used correctly Needs fixing" in answer.text


def test_the_page_says_what_the_suite_checks_too(admin_client: Client) -> None:
    check = {"type": "not_contains", "value": "as an AI"}
    suite = write_suite([a_case()], assertions=[check, CONTAINS | {"enabled": False}])

    text = page_of(admin_client, suite.cases.get()).text

    assert "The suite also checks: Reply does not contain “as an AI”. Open the suite" in text


# Refusing


def test_nothing_is_lost_when_a_save_is_refused(admin_client: Client) -> None:
    case = write_case()
    page = page_of(admin_client, case)
    page.turn(user="Second", position=0)
    page.set(
        turns__0__position=1,
        context_params__key=["a"],
        context_params__value=["[1"],
        context_params__kind=["json"],
    )
    page.check(CHECKS, "tool_calls", **{"opt__tools-name": ["one", "two"]})

    refused = page.post(name="Other")

    assert not refused.is_saved
    assert refused.fields["name"] == ["Other"]
    assert refused.fields["turns-1-user"] == ["Second"]
    assert refused.fields["context_params-value"] == ["[1"]
    assert refused.fields[f"{CHECKS}-1-opt-tools-name"] == ["one", "two"]
    # In the order of the screen, not of the indices.
    assert refused.html.index("turns-1-row") < refused.html.index("turns-0-row")
    assert Case.objects.get().name == "Where is it"


WRONG_CHECKS: list[tuple[str, dict[str, Any], str]] = [
    ("", {}, ", kind of check: Choose what to check, or remove this row."),
    ("telepathy", {}, ", kind of check: Select a valid choice."),
    ("not_contains", {}, ", text that must not occur: This field is required."),
    ("contains", {}, ", text to look for: Fill this in, or give the turn an expected answer."),
    (
        "geval",
        {"opt__criteria": "x", "opt__evaluation_params": ["actual_output", "context"]},
        ": Give the turn a context.",
    ),
    ("contains", {"opt__value": "x", "weight": "-1"}, ", weight: Ensure this value is greater"),
    (
        "llm_judge",
        {"opt__criteria": "x", "opt__scale": "1-5", "model": "gemma"},
        ", judge model: Write the model as provider/model, for example anthropic/gemma.",
    ),
    (
        "tool_called",
        {"opt__value": "x", "opt__min_count": "0"},
        ": min_count 0 without max_count passes whatever the agent does.",
    ),
    (
        "tool_calls",
        {
            "opt__tools-name": ["a"],
            "opt__tools-args-key": ["begins", "a"],
            "opt__tools-args-must": ["begins", "equals"],
            "opt__tools-args-kind": ["begins", "json"],
            "opt__tools-args-value": ["begins", "{'a': 1}"],
        },
        ", tools: Line 1, arguments: Line 1: This is not valid JSON: line 1, column 2: ",
    ),
    ("chunks_fetched", {}, ", chunks: At least one entry"),
]


def test_wrong_checks_are_refused_in_words_that_name_their_place(admin_client: Client) -> None:
    page = page_of(admin_client, write_case())
    for kind, options, _ in WRONG_CHECKS:
        page.check(CHECKS, kind, **options)
    page.check("final_assertions", "contains")
    page.check("final_assertions", "contextual_precision")

    problems = page.post().problems

    *of_turn, no_value, no_turn = problems
    wrong = zip(of_turn, WRONG_CHECKS, strict=True)
    for number, (problem, (_, _, words)) in enumerate(wrong, 2):
        assert problem.startswith(f"Turn 1, check {number}{words}")
    assert no_value.startswith("Final check 1, text to look for: Fill this in. Only a turn has")
    assert (
        no_turn == "Final check 2: Only a turn has an expected answer. Move this check to a turn."
    )


def test_own_checks_of_a_turn_that_takes_the_suites_are_refused(admin_client: Client) -> None:
    refused = page_of(admin_client, write_case()).post(turns__0__checks="suite")

    (problem,) = refused.problems
    assert problem.startswith("Turn 1, checks after this turn: This turn has its own checks")


def test_a_case_needs_a_turn(admin_client: Client) -> None:
    refused = page_of(admin_client, write_case()).post(turns__0__DELETE="on")

    assert refused.problems == ["A conversation needs at least one turn."]


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        pytest.param(
            {"name": "", "turns__0__user": " "},
            [
                "Name: Enter a name, or the first message.",
                "Turn 1, user message: This field is required.",
            ],
            id="fields",
        ),
        pytest.param(
            {
                "trials": "0",
                "context_params__key": ["a"],
                "context_params__kind": ["json"],
                "context_params__value": ["[1, 2]"],
            },
            ["Context parameters: ", "Trials: "],
            id="keys of the spec",
        ),
        pytest.param(
            {
                "history__role": ["user", "assistant", "user"],
                "history__content": ["Hello", "", "Are you there?"],  # a blank line is dropped
            },
            ["Earlier messages: "],
            id="history that does not alternate",
        ),
    ],
)
def test_wrong_fields_are_refused_with_their_names(
    admin_client: Client, changes: dict[str, Any], problems: list[str]
) -> None:
    refused = page_of(admin_client, write_case()).post(**changes)

    for problem, beginning in zip(sorted(refused.problems), problems, strict=True):
        assert problem.startswith(beginning)


def test_a_second_case_of_the_same_name_is_refused(admin_client: Client) -> None:
    suite = write_suite([a_case("One"), a_case("Two")])

    refused = page_of(admin_client, suite.cases.get(name="Two")).post(name="One")

    assert refused.problems


# What no longer exists


def test_a_check_of_a_kind_that_no_longer_exists_says_so_and_survives(admin_client: Client) -> None:
    case = write_case()
    Assertion.objects.update(type="telepathy", options={"value": [1]})

    page = page_of(admin_client, case)
    assert page.post(name="Renamed").is_saved

    assert "“telepathy” is no longer available" in page.text
    assert '{ "value": [ 1 ] }' in page.text
    (check,) = checks_of(case)
    assert (check.type, check.options) == ("telepathy", {"value": [1]})


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("tool_calls", {"tools": [None, 5]}),
        ("tool_called", {"value": "t", "args": ["a"]}),
        ("chunks_fetched", {"chunks": 5}),
        ("world_changes", {"created": [{"type": "order", "data": ["total"]}]}),
    ],
)
def test_options_of_another_shape_than_today_are_shown_as_they_are_stored(
    admin_client: Client, kind: str, options: dict[str, Any]
) -> None:
    case = write_case()
    Assertion.objects.update(type=kind, options=options)

    text = page_of(admin_client, case).text

    assert "cannot be read. Open and save it" in text
    assert " ".join(json.dumps(options, indent=2).split()) in text


# What the operator permits no longer


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Return a check by a function whose module is permitted while it is written, and then not."""
    with operator_code_in(tmp_path, monkeypatch) as written:
        yield {"type": "code", "grader": written.function("def it(context): return True")}


def test_a_function_that_is_no_longer_permitted_does_not_hinder_the_save_of_its_case(
    admin_client: Client, code: dict[str, Any]
) -> None:
    case = write_case(turns=[{"user": "x", "assertions": [code]}])

    with permitting(modules=()):
        saved = page_of(admin_client, case).post(
            name="Renamed", **{f"{CHECKS}-0-enabled": None, f"{CHECKS}-0-position": 3}
        )
        text = page_of(admin_client, case).text

    assert saved.is_saved, saved.problems
    (check,) = checks_of(case)
    assert (check.options, check.enabled) == ({"grader": code["grader"]}, False)
    assert "Turn 1, check 1: Your administrator does not permit the module operator_" in text


def test_what_is_not_permitted_is_refused_where_it_is_written(
    admin_client: Client, code: dict[str, Any]
) -> None:
    case = write_case(turns=[{"user": "x", "assertions": [code]}])

    with permitting(modules=()):
        refused = page_of(admin_client, case).post(**{f"{CHECKS}-0-opt-timeout_s": "3"})

    (problem,) = refused.problems
    assert problem.startswith(
        "Turn 1, check 1, function: Your administrator does not permit the module"
    )


def test_a_check_of_the_suite_that_is_no_longer_permitted_hides_no_warning(
    admin_client: Client, code: dict[str, Any]
) -> None:
    suite = write_suite([a_case(turns=[{"user": "x", "assertions": []}])], assertions=[code])

    with permitting(modules=()):
        assert page_of(admin_client, suite.cases.get()).post().is_saved
        text = page_of(admin_client, suite.cases.get()).text

    assert "neither pass nor fail" in text
