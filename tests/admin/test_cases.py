import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from evals_app.models import Assertion, Case, Run, Suite, Turn
from tests.authored import CONTAINS, a_case, client_who_may, write_case, write_suite
from tests.page_form import PageForm, open_page

pytestmark = pytest.mark.django_db

CHECKS = "turns-0-assertions"
ALL_OF_CASES = ("add_case", "change_case", "delete_case", "view_case")


def url_of(case: Case) -> str:
    return reverse("admin:evals_app_case_change", args=[case.pk])


def page_of(client: Client, case: Case) -> PageForm:
    return open_page(client, url_of(case))


def checks_of(case: Case) -> list[Assertion]:
    rows = Assertion.objects.filter(turn__case=case)
    return list(rows.order_by("turn__position", "position"))


# Saving what is there


RICH: dict[str, Any] = {
    "name": "Everything",
    "description": "Two lines\nof text\n",
    "tags": ["orders", "smoke"],
    "channel": "widget",
    "context_params": {"name": "Ann", "level": 3, "code": "5", "ok": True, "none": None, "e": ""},
    "clock": "2026-05-01T09:30:00+00:00",
    "limits": {"max_prompt_tokens": 100, "max_tool_calls": 0, "max_cost_usd": 0.1},
    "turn_timeout_s": 12.5,
    "streaming": True,
    "trials": 3,
    "history": [
        {"role": "user", "content": "Hello\nthere"},
        {"role": "assistant", "content": " Hi "},
    ],
    "turns": [
        {"user": "A\nB\n", "expected": "", "assertions": []},
        {"user": "Thanks"},
        {
            "user": "Find it",
            "expected": "It has 3 parts",
            "inherit": True,
            "assertions": [
                {"type": "contains", "name": "Says it", "weight": 0.5, "scope": "conversation"},
                {"type": "not_contains", "value": " an AI", "enabled": False},
                {"type": "matches", "value": '"quoted" [a-z]+\\d{2}', "case_sensitive": True},
                {"type": "exact_match", "value": "line\nline"},
                {"type": "numeric", "value": 60.94, "relative_tolerance": 0.01, "extract": "any"},
                {"type": "numeric", "value": "1234", "absolute_tolerance": 0},
                {
                    "type": "tool_called",
                    "value": "entity.query",
                    "args": {
                        "type": "order",
                        "limit": 5,
                        "text": "5",
                        "some": {"any_of": ["a", 1, None]},
                        "commas": {"any_of": ["a,b"]},
                        "close": {"fuzzy": "1,000"},
                        "like": {"regex": "[a-z]+"},
                        "like_quoted": {"regex": '"a"'},
                        "has": {"contains": "x y"},
                        "there": {"present": True},
                        "gone": {"present": False},
                        "deep": {"a": [1, 2.5, "x"]},
                        "empty": "",
                        "spaces": "  ",
                    },
                    "min_count": 0,
                    "max_count": 2,
                },
                {
                    "type": "tool_calls",
                    "tools": ["entity.get", {"name": "entity.query", "args": {"type": "order"}}],
                    "exact": True,
                },
                {"type": "chunks_fetched", "chunks": ["a", "b"]},
                {
                    "type": "llm_judge",
                    "criteria": "Polite\nand short",
                    "scale": "0-1",
                    "threshold": 0.5,
                    "fail_on_error": True,
                    "model": {"provider": "anthropic", "name": "claude-x", "temperature": 0.0},
                },
            ],
        },
    ],
    "final_assertions": [{"type": "tool_not_called", "value": "entity.delete"}],
}


def test_saving_a_case_as_it_is_changes_nothing(admin_client: Client) -> None:
    write_suite([RICH])
    case = Case.objects.get()
    before = case.to_spec().model_dump(mode="json")

    assert page_of(admin_client, case).post().is_saved

    assert Case.objects.get().to_spec().model_dump(mode="json") == before


def test_saving_a_case_as_it_is_writes_no_changes_into_its_history(admin_client: Client) -> None:
    write_suite([RICH])
    page_of(admin_client, Case.objects.get()).post()

    assert LogEntry.objects.get().get_change_message() == "No fields changed."


def test_lines_of_a_text_end_as_in_files(admin_client: Client) -> None:
    page = page_of(admin_client, write_case())

    page.post(turns__0__user="One\r\nTwo")

    assert Turn.objects.get().user == "One\nTwo"


# Writing


def test_a_case_can_be_written_from_nothing(admin_client: Client) -> None:
    suite = write_suite()
    page = open_page(admin_client, f"{reverse('admin:evals_app_case_add')}?suite={suite.pk}")
    turn = page.turn(user="Where is it?", expected="Shipped", checks="both")
    page.check(f"{turn}-assertions", "contains", opt__value="shipped", opt__case_sensitive="on")
    page.check("final_assertions", "tool_not_called", opt__value="entity.delete")

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
        "final_assertions": [{"type": "tool_not_called", "value": "entity.delete"}],
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

    page.post(turns__0__position=2, turns__1__position=0)

    texts = case.turns.order_by("position").values_list("user", flat=True)
    assert list(texts) == ["two", "new", "one"]


@pytest.mark.parametrize("junk", ["", "-1", "x", "9" * 50, "\u0661"])
def test_a_position_that_is_none_is_no_reason_to_refuse_a_save(
    admin_client: Client, junk: str
) -> None:
    page = page_of(admin_client, write_case())

    assert page.post(turns__0__position=junk).is_saved


def test_a_removed_turn_takes_its_checks_along_even_if_they_are_wrong(admin_client: Client) -> None:
    turns = [
        {"user": "one", "assertions": [CONTAINS]},
        {"user": "two", "assertions": [CONTAINS]},
    ]
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
    assert "Blank means 0.0." in page.text


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
    page.set(turns__0__position=1, context_params__key=["a"], context_params__value=["[1"])
    page.check(CHECKS, "tool_calls", **{"opt__tools-name": ["one", "two"], "opt__tools-args": ""})

    refused = page.post(name="Other")

    assert not refused.is_saved
    assert refused.fields["name"] == ["Other"]
    assert refused.fields["turns-1-user"] == ["Second"]
    assert refused.fields["context_params-value"] == ["[1"]
    assert refused.fields[f"{CHECKS}-1-opt-tools-name"] == ["one", "two"]
    # In the order of the screen, not of the indices.
    assert refused.html.index("turns-1-row") < refused.html.index("turns-0-row")
    assert Case.objects.get().name == "Where is it"


def refused_check(
    client: Client, kind: str, expected: str | None = None, **options: Any
) -> list[str]:
    turn = {"user": "x", "assertions": [CONTAINS]} | ({"expected": expected} if expected else {})
    page = page_of(client, write_case(turns=[turn]))
    page.check(CHECKS, kind, **options)
    refused = page.post()
    assert not refused.is_saved
    return refused.problems


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        pytest.param(
            "", {}, "kind of check: Choose what to check, or remove this row.", id="no kind"
        ),
        pytest.param("telepathy", {}, "kind of check: Select a valid choice.", id="no such kind"),
        pytest.param(
            "not_contains", {}, "text that must not occur: This field is required.", id="required"
        ),
        pytest.param(
            "not_contains",
            {"opt__value": "   "},
            "text that must not occur: This field is required.",
            id="only spaces",
        ),
        pytest.param("matches", {"opt__value": "(x"}, "pattern: ", id="pattern"),
        pytest.param(
            "numeric",
            {"opt__value": "many"},
            "expected number: “many” is not a number.",
            id="not a number",
        ),
        pytest.param(
            "contains",
            {},
            "text to look for: Fill this in, or give the turn an expected answer.",
            id="nothing to compare",
        ),
        pytest.param(
            "contains",
            {"opt__value": "x", "weight": "-1"},
            "weight: Ensure this value is greater than or equal to 0.",
            id="weight",
        ),
        pytest.param(
            "llm_judge",
            {"opt__criteria": "x", "opt__scale": "1-5", "model": "gemma"},
            "judge model: Write the model as provider/model, for example anthropic/gemma.",
            id="judge",
        ),
        pytest.param(
            "tool_called",
            {
                "opt__value": "x",
                "opt__args-key": ["a", "a"],
                "opt__args-must": ["equals", "equals"],
                "opt__args-value": ["1", "2"],
            },
            "arguments: Line 2: a stands twice.",
            id="argument twice",
        ),
        pytest.param(
            "tool_called",
            {
                "opt__value": "x",
                "opt__args-key": ["a"],
                "opt__args-must": ["regex"],
                "opt__args-value": ["("],
            },
            "arguments: a: ",
            id="pattern of an argument",
        ),
        pytest.param(
            "tool_called",
            {"opt__value": "x", "opt__min_count": "0"},
            "min_count 0 without max_count holds whatever the agent does.",
            id="says nothing",
        ),
        pytest.param(
            "tool_calls",
            {"opt__tools-name": ["a"], "opt__tools-args": ["{'a': 1}"]},
            "tools: Line 1, arguments: This is not valid JSON: line 1, column 2: "
            'texts stand in double quotes: "...".',
            id="JSON",
        ),
        pytest.param(
            "chunks_fetched",
            {},
            "chunks: At least one entry is needed; this list is empty.",
            id="empty list",
        ),
    ],
)
def test_a_wrong_check_is_refused_in_words_that_name_its_place(
    admin_client: Client, kind: str, options: dict[str, Any], problem: str
) -> None:
    (found,) = refused_check(admin_client, kind, **options)

    assert found.removeprefix("Turn 1, check 2").lstrip(",: ").startswith(problem)


def test_an_expected_answer_that_cannot_serve_a_check_is_refused(admin_client: Client) -> None:
    (found,) = refused_check(admin_client, "numeric", expected="soon", opt__extract="last")

    assert found.startswith("Turn 1, check 2, expected number: The expected text “soon” is not")


def test_a_final_check_needs_a_value_of_its_own(admin_client: Client) -> None:
    page = page_of(admin_client, write_case())
    page.check("final_assertions", "contains")

    (found,) = page.post().problems

    assert found.startswith("Final check 1, text to look for: Fill this in: only a turn has")


def test_own_checks_of_a_turn_that_takes_the_suites_are_refused(admin_client: Client) -> None:
    refused = page_of(admin_client, write_case()).post(turns__0__checks="suite")

    (found,) = refused.problems
    assert found.startswith("Turn 1, checks after this turn: This turn has checks of its own")


def test_a_case_needs_a_turn(admin_client: Client) -> None:
    refused = page_of(admin_client, write_case()).post(turns__0__DELETE="on")

    assert refused.problems == ["A conversation needs at least one turn."]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"name": ""}, "Name: This field is required.", id="name"),
        pytest.param({"clock": "noon"}, "Clock: Write the time as 2026-05", id="clock"),
        pytest.param({"tags": "x" * 201}, "Tags: ", id="tag too long"),
        pytest.param({"turn_timeout_s": "0"}, "Longest wait for a reply (s): ", id="timeout"),
        pytest.param({"trials": "0"}, "Trials: ", id="trials"),
        pytest.param(
            {"context_params__key": ["a"], "context_params__value": ["[1, 2]"]},
            "Context parameters: ",
            id="parameter",
        ),
        pytest.param(
            {"history__role": ["user"], "history__content": [""]}, "", id="blank line is dropped"
        ),
        pytest.param(
            {"history__role": ["user", "user"], "history__content": ["Hello", "Are you there?"]},
            "Said before: ",
            id="history that does not alternate",
        ),
        pytest.param(
            {"turns__0__user": " "}, "Turn 1, user message: This field is required.", id="turn"
        ),
    ],
)
def test_a_wrong_field_is_refused_with_its_name(
    admin_client: Client, changes: dict[str, Any], problem: str
) -> None:
    answer = page_of(admin_client, write_case()).post(**changes)

    assert [each[: len(problem)] for each in answer.problems] == ([problem] if problem else [])
    assert answer.is_saved is not bool(problem)


def test_a_second_case_of_the_same_name_is_refused(admin_client: Client) -> None:
    suite = write_suite([a_case("One"), a_case("Two")])

    refused = page_of(admin_client, suite.cases.get(name="Two")).post(name="One")

    assert refused.problems == ["This suite has another case of that name; results go by name."]


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


# Two people


def test_a_save_over_somebody_elses_is_refused(admin_client: Client) -> None:
    case = write_case()
    mine, other = page_of(admin_client, case), page_of(admin_client, case)
    other.post(name="Theirs")

    refused = mine.post(name="Mine")

    assert refused.problems[0].startswith("Somebody saved this at ")
    assert refused.fields["name"] == ["Mine"]
    assert Case.objects.get().name == "Theirs"


def test_a_person_may_decide_to_save_over_somebody_elses(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "one", "assertions": [CONTAINS]}, {"user": "two"}])
    mine, other = page_of(admin_client, case), page_of(admin_client, case)
    other.post(name="Theirs", turns__0__DELETE="on")

    refused = mine.post(name="Mine")
    (version,) = re.findall(r'data-overwrite="([^"]+)"', refused.html)
    saved = refused.post(_overwrite=version)

    assert saved.is_saved, saved.problems
    assert Case.objects.get().name == "Mine"
    # What the other person removed is written anew, with its checks.
    assert [turn.user for turn in case.turns.order_by("position")] == ["one", "two"]
    assert [check.type for check in checks_of(case)] == ["contains"]


def test_a_form_that_names_no_version_is_refused(admin_client: Client) -> None:
    refused = page_of(admin_client, write_case()).post(version=None)

    assert not refused.is_saved


def test_a_row_of_another_case_cannot_be_taken_over(admin_client: Client) -> None:
    suite = write_suite([a_case("One"), a_case("Two")])
    one, two = suite.cases.order_by("name")
    theirs = two.turns.get()

    page_of(admin_client, one).post(turns__0__id=theirs.pk, turns__0__user="Mine")

    theirs.refresh_from_db()
    assert (theirs.case_id, theirs.user) == (two.pk, "Where is my order?")


# History


def test_the_history_names_changes_inside_turns(admin_client: Client) -> None:
    case = write_case()
    page = page_of(admin_client, case)
    page.check(CHECKS, "contains", opt__value="x")

    page.post(**{f"{CHECKS}-0-opt-value": "other"})

    message = LogEntry.objects.get().get_change_message()
    assert "Added check" in message
    assert "Changed Text to look for for check" in message


# Permissions


def test_who_may_only_look_sees_a_readable_page_that_cannot_be_changed() -> None:
    case = write_case(tags=["orders", "smoke"])
    client = client_who_may("view_case")

    page = page_of(client, case)

    assert "Where is my order?" in page.html
    assert "orders, smoke" in page.text
    assert page.fields.keys() <= {"csrfmiddlewaretoken", "version"}
    assert "Save" not in page.text
    assert "Run now" not in page.text
    assert client.post(url_of(case), {}).status_code == 403


def test_who_may_change_cases_may_remove_what_is_in_them() -> None:
    turns = [{"user": "one", "assertions": [CONTAINS]}, {"user": "two"}]
    case = write_case(turns=turns)
    client = client_who_may("change_case")

    saved = page_of(client, case).post(turns__0__DELETE="on")

    assert saved.is_saved, saved.problems
    assert case.turns.count() == 1


@pytest.mark.parametrize("what", ["run-now", "duplicate"])
def test_who_may_not_start_or_copy_is_refused(what: str) -> None:
    case = write_case()
    client = client_who_may("view_case", "change_case")

    response = client.post(f"/admin/evals_app/case/{case.pk}/{what}/", {"_form_submitted": "on"})

    assert response.status_code == 403


def test_save_and_run_is_refused_to_who_may_not_start() -> None:
    case = write_case()
    client = client_who_may("change_case")

    page = page_of(client, case).post(evals_app_case_save_and_run="1")

    assert page.response.status_code == 403
    assert not Run.objects.exists()


# Running


def test_save_and_run_runs_this_case_alone_outside_of_trends(admin_client: Client) -> None:
    suite = write_suite([a_case("Order"), a_case("Order again")])
    case = suite.cases.get(name="Order")

    answer = page_of(admin_client, case).post(
        turns__0__user="New text", evals_app_case_save_and_run="1"
    )

    run = Run.objects.get()
    assert answer.response.headers["Location"] == reverse(
        "admin:evals_app_run_change", args=[run.pk]
    )
    assert run.is_tryout
    assert [each.case for each in run.executions.all()] == ["Order"]
    assert "New text" in run.snapshot.cases.get(position=0).content
    assert run.created_by is not None


def test_a_new_case_can_be_saved_and_run(admin_client: Client) -> None:
    suite = write_suite()
    page = open_page(admin_client, f"{reverse('admin:evals_app_case_add')}?suite={suite.pk}")
    turn = page.turn()
    page.check(f"{turn}-assertions", "contains", opt__value="x")

    page.post(name="New", evals_app_case_save_and_run="1")

    assert Run.objects.get().executions.get().case == "New"


def test_run_now_runs_the_saved_case(admin_client: Client) -> None:
    case = write_case()

    response = admin_client.post(
        f"/admin/evals_app/case/{case.pk}/run-now/", {"_form_submitted": "on"}
    )

    run = Run.objects.get()
    assert response.headers["HX-Redirect"] == reverse("admin:evals_app_run_change", args=[run.pk])


def test_looking_at_the_dialog_starts_nothing(admin_client: Client) -> None:
    case = write_case()

    response = admin_client.get(f"/admin/evals_app/case/{case.pk}/run-now/")

    assert "Run this case now?" in response.content.decode()
    assert not Run.objects.exists()


def test_why_a_run_cannot_start_is_told_in_words(admin_client: Client) -> None:
    case = write_case()
    Assertion.objects.update(type="telepathy")

    page_of(admin_client, case).post(evals_app_case_save_and_run="1")

    text = page_of(admin_client, case).text
    assert "The run did not start." in text
    assert not Run.objects.exists()


def test_a_case_that_checks_nothing_is_saved_with_a_warning(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "Hi", "assertions": []}])
    page_of(admin_client, case).post()

    assert "Nothing is checked in this case" in page_of(admin_client, case).text


def test_what_is_hardly_meant_is_saved_with_a_warning(admin_client: Client) -> None:
    case = write_case()
    page_of(admin_client, case).post(
        **{f"{CHECKS}-0-type": "matches", f"{CHECKS}-0-opt-value": r"\\d+"}
    )

    assert "Turn 1, check 1: " in page_of(admin_client, case).text


# Copies


def test_a_case_is_copied_whole(admin_client: Client) -> None:
    suite = write_suite([RICH])
    case = suite.cases.get()

    admin_client.post(f"/admin/evals_app/case/{case.pk}/duplicate/", {"_form_submitted": "on"})

    copied = suite.cases.exclude(pk=case.pk).get()
    assert copied.name == "Everything copy"
    assert copied.to_spec().model_copy(update={"name": "Everything"}) == case.to_spec()


# How many queries


def big_case() -> Case:
    checks = [{"type": "contains", "value": str(number)} for number in range(5)]
    turns = [{"user": str(number), "assertions": checks} for number in range(20)]
    return write_case(turns=turns, final_assertions=checks)


def test_the_page_asks_the_same_however_many_turns_it_has(
    admin_client: Client, django_assert_num_queries: Any
) -> None:
    case = big_case()
    page_of(admin_client, case)

    with django_assert_num_queries(9):
        page_of(admin_client, case)


def test_saving_asks_the_same_however_many_turns_did_not_change(
    admin_client: Client, django_assert_num_queries: Any
) -> None:
    page = page_of(admin_client, big_case())

    with django_assert_num_queries(19):
        assert page.post().is_saved


def test_the_list_asks_the_same_however_many_cases_there_are(
    admin_client: Client, django_assert_num_queries: Any
) -> None:
    write_suite([a_case(str(number)) for number in range(30)])
    for number in range(5):
        write_suite([a_case()], slug=f"suite-{number}")
    admin_client.get("/admin/evals_app/case/")

    with django_assert_num_queries(4):
        text = admin_client.get("/admin/evals_app/case/").content.decode()

    assert "Where is it" in text


def test_a_case_leads_to_its_suite(admin_client: Client) -> None:
    case = write_case()

    answer = admin_client.get(f"/admin/evals_app/case/{case.pk}/suite/")

    assert answer["Location"] == f"/admin/evals_app/suite/{case.suite_id}/change/"


def test_the_list_can_be_searched_and_filtered(admin_client: Client) -> None:
    write_suite([a_case("Refund late"), a_case("Greeting", tags=["smoke"])])
    other = write_suite([a_case("Refund early")], slug="other")

    def names(query: str) -> set[str]:
        text = admin_client.get(f"/admin/evals_app/case/?{query}").content.decode()
        return {case.name for case in Case.objects.all() if f">{case.name}</a>" in text}

    assert names("q=refund") == {"Refund late", "Refund early", "Greeting"}
    assert names("q=late") == {"Refund late"}
    assert names("q=smoke") == {"Greeting"}
    assert names(f"suite__id__exact={other.pk}") == {"Refund early"}
    assert Suite.objects.count() == 2
