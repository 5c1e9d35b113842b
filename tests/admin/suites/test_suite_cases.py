"""The cases of a suite: what the list shows, and what people do with chosen ones."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from evals_app.admin.suites.case_edits import move_case
from evals_app.admin.suites.case_selection import ACTIONS
from evals_app.admin.suites.suite_cases import LAST_RUNS
from evals_app.models import Case, CaseResult, Run, Suite, Turn
from evals_app.runs.ground.rights import RUNNING
from tests.authored import a_case, client_who_may, write_suite
from tests.makers import make_run
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db

LOOKING = ("view_suite", "view_case")


def url_of(suite: Suite, query: str = "") -> str:
    return f"/admin/evals_app/suite/{suite.pk}/cases/{query}"


def read(client: Client, suite: Suite, query: str = "") -> Any:
    return client.get(url_of(suite, query))


def lines(client: Client, suite: Suite, query: str = "") -> dict[str, Any]:
    return {line.case.name: line for line in read(client, suite, query).context["list"].lines}


def names(suite: Suite) -> list[str]:
    return list(suite.cases.order_by("position").values_list("name", flat=True))


def act(client: Client, suite: Suite, do: str, *chosen: str, query: str = "", **answer: Any) -> Any:
    keys = list(suite.cases.filter(name__in=chosen).values_list("pk", flat=True))
    answered = {"answered": "1"} | answer if answer else {}
    return client.post(url_of(suite, query), {"do": do, "case": keys, **answered})


# The list


def test_a_case_shows_what_it_asks_and_how_it_did(admin_client: Client) -> None:
    suite = write_suite([a_case("Zebra", tags=["wild"]), a_case("Ant"), a_case("New")])
    make_run({"Zebra": ["passed", "failed"], "Ant": ["passed"]}, suite=suite)

    shown = lines(admin_client, suite)

    zebra, ant, new = shown.values()
    assert list(shown) == ["Zebra", "Ant", "New"]
    assert (zebra.first, zebra.turns, zebra.checks) == ("Where is my order?", "1 turn", "1 check")
    assert (zebra.state, zebra.rate.replace("\u00a0", " ")) == ("failed", "50 % (1 of 2)")
    assert [(line.state, line.rate) for line in (ant, new)] == [("passed", ""), ("", "")]


def test_a_case_shows_what_changed_since_the_released_version_and_its_last_results(
    admin_client: Client,
) -> None:
    suite = write_suite([a_case("Ant")])
    released, *_ = (make_run({"Ant": ["passed"]}, suite=suite) for _ in range(LAST_RUNS + 1))
    make_run({"Ant": ["failed"]}, suite=suite)
    for kept_out in ({"is_whole": False}, {"grades_of": released, "is_whole": False}):
        make_run({"Ant": ["errored"]}, suite=suite, **kept_out)
    Suite.objects.update(baseline=released)

    (line,) = lines(admin_client, suite).values()

    assert (line.change.word, line.change.tone) == ("worse", "bad")
    assert line.last == ("passed",) * 4 + ("failed",)
    assert line.reason
    (unread,) = lines(client_who_may("view_suite", "view_case", "view_run"), suite).values()
    assert unread.reason == ""


def test_cases_are_filtered_by_what_changed_since_the_released_version(
    admin_client: Client,
) -> None:
    suite = write_suite(
        [a_case(name, tags=["x"]) for name in ("Ant", "Bee", "Cat", "Renamed", "Emu")]
    )
    before = {"Ant": "passed", "Bee": "failed", "Cat": "passed", "Dog": "passed"}
    now = {"Ant": "failed", "Bee": "passed", "Cat": "passed", "Renamed": "failed", "Emu": "passed"}
    released, last = (
        make_run({name: [verdict] * 3 for name, verdict in cases.items()}, suite=suite)
        for cases in (before, now)
    )
    for run in (released, last):
        for row in run.case_results.all():
            digest = "Dog" if row.name == "Renamed" else row.name
            CaseResult.objects.filter(pk=row.pk).update(digest=digest)
    Suite.objects.update(baseline=released)

    shown = lines(admin_client, suite, "?tag=x")
    page = read(admin_client, suite).content.decode()

    words = {name: line.change.word for name, line in shown.items()}
    assert words == {"Ant": "worse", "Bee": "better", "Cat": "", "Renamed": "worse", "Emu": "new"}
    assert shown["Ant"].alike == "tag=x&change=worse"
    assert list(lines(admin_client, suite, f"?{shown['Ant'].alike}")) == ["Ant", "Renamed"]
    assert list(lines(admin_client, suite, "?change=better")) == ["Bee"]
    assert list(lines(admin_client, suite, "?change=new")) == ["Emu"]
    assert len(lines(admin_client, suite, "?change=nonsense")) == len(now)
    assert f'<a href="{url_of(suite, "?change=worse")}"' in page


def test_a_case_that_was_edited_since_its_last_verdict_says_so(admin_client: Client) -> None:
    suite = make_suite(cases=2)
    finished(suite)
    first, second = suite.cases.order_by("position")
    Turn.objects.filter(case=second).update(user="Something else")
    suite.cases.filter(pk=first.pk).update(tags=["of no matter"])

    edited = {name: line.is_edited for name, line in lines(admin_client, suite).items()}

    assert edited == {first.name: False, second.name: True}


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        pytest.param("", "abcd", id="all"),
        pytest.param("?q=parcel", "b", id="text of a turn"),
        pytest.param("?q=B", "b", id="name, in capitals or not"),
        pytest.param("?tag=smoke", "a", id="tag"),
        pytest.param("?tag=Smoke", "b", id="a tag is exact"),
        pytest.param("?tag=smo", "", id="and whole"),
        pytest.param("?tag=gr%C3%B6%C3%9Fe", "a", id="in any script"),
        pytest.param("?tag=said", "d", id="and not a part of another"),
        pytest.param("?verdict=failed", "b", id="last verdict"),
        pytest.param("?verdict=none", "cd", id="no result"),
        pytest.param("?state=disabled", "c", id="disabled"),
        pytest.param("?state=enabled&verdict=none", "d", id="both"),
        pytest.param("?verdict=nonsense", "abcd", id="nonsense"),
        pytest.param("?q=%00", "abcd", id="no text"),
    ],
)
def test_cases_are_filtered(admin_client: Client, query: str, shown: str) -> None:
    parcel = {"turns": [{"user": "My parcel?", "assertions": []}]}
    suite = write_suite(
        [
            a_case("a", tags=["x", "smoke", "größe"]),
            a_case("b", tags=["Smoke"], **parcel),
            a_case("c", enabled=False),
            a_case("d", tags=['he "said', "said"]),
        ]
    )
    make_run({"a": ["passed"], "b": ["failed"]}, suite=suite)

    assert "".join(lines(admin_client, suite, query)) == shown


def test_disabled_cases_are_counted_and_marked(admin_client: Client) -> None:
    suite = write_suite([a_case("a"), a_case("b", enabled=False)])

    response = read(admin_client, suite)

    assert response.context["list"].counts == {"total": 2, "disabled": 1}
    assert "1 disabled" in response.content.decode()


def test_the_places_of_a_later_page_go_on(admin_client: Client) -> None:
    suite = write_suite([a_case(f"case {number}") for number in range(60)])

    shown = lines(admin_client, suite, "?p=2")

    assert [line.number for line in shown.values()] == list(range(51, 61))


# Changes of many


@pytest.mark.parametrize(
    ("do", "answer", "tags"),
    [
        pytest.param("tag", {"tags": "new, x"}, [["x", "new"], ["new", "x"], []], id="add"),
        pytest.param("untag", {"tags": "x"}, [[], [], []], id="remove"),
    ],
)
def test_tags_of_chosen_cases_change(
    admin_client: Client, do: str, answer: dict[str, str], tags: list[list[str]]
) -> None:
    suite = write_suite([a_case("a", tags=["x"]), a_case("b"), a_case("c")])

    act(admin_client, suite, do, "a", "b", **answer)

    assert list(suite.cases.order_by("position").values_list("tags", flat=True)) == tags


def test_disabling_is_entered_in_the_history_of_the_cases_and_the_suite(
    admin_client: Client,
) -> None:
    suite = write_suite([a_case("a"), a_case("b")])
    before = suite.cases.get(name="a").updated_at

    act(admin_client, suite, "disable", "a")

    case = suite.cases.get(name="a")
    assert (case.enabled, suite.cases.get(name="b").enabled) == (False, True)
    assert case.updated_at > before  # an open editor reports the conflict
    logged = LogEntry.objects.values_list("content_type__model", "object_id", "change_message")
    assert set(logged) == {
        ("case", str(case.pk), "Disabled."),
        ("suite", str(suite.pk), "Disabled: 1 case (a)."),
    }
    act(admin_client, suite, "enable", "a", "b")
    assert not suite.cases.filter(enabled=False).exists()


def test_all_that_match_are_changed_though_a_page_shows_fewer(admin_client: Client) -> None:
    suite = write_suite([a_case(f"x {n}") for n in range(60)] + [a_case("y")])

    admin_client.post(url_of(suite, "?q=x"), {"do": "disable", "everything": "1"})

    assert list(suite.cases.filter(enabled=True).values_list("name", flat=True)) == ["y"]


def test_cases_move_to_another_suite_with_all_they_have(admin_client: Client) -> None:
    other = write_suite([a_case("z")], slug="other")
    suite = write_suite([a_case("a"), a_case("b"), a_case("c")])
    before = suite.cases.get(name="c").to_spec()

    act(admin_client, suite, "move", "a", "c", into=other.pk)

    assert (names(suite), names(other)) == (["b"], ["z", "a", "c"])
    assert other.cases.get(name="c").to_spec() == before


def test_a_name_that_is_taken_stops_the_move_of_all(admin_client: Client) -> None:
    other = write_suite([a_case("b")], slug="other")
    suite = write_suite([a_case("a"), a_case("b")])

    act(admin_client, suite, "move", "a", "b", into=other.pk)

    assert (names(suite), names(other)) == (["a", "b"], ["b"])
    assert "“b”" in read(admin_client, suite).content.decode()
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(
    ("into", "after"),
    [("other", ["b", "a", "b copy"]), ("refunds", ["a", "b", "a copy", "b copy"])],
)
def test_cases_are_copied_under_free_names(
    admin_client: Client, into: str, after: list[str]
) -> None:
    write_suite([a_case("b")], slug="other")
    suite = write_suite([a_case("a"), a_case("b")])
    target = Suite.objects.get(slug=into)

    act(admin_client, suite, "copy", "a", "b", into=target.pk)

    assert names(target) == after


def test_deleting_asks_first_and_counts(admin_client: Client) -> None:
    suite = write_suite([a_case("a"), a_case("b"), a_case("c")])

    asked = act(admin_client, suite, "delete", "a", "b")
    assert (asked.context["count"], names(suite)) == (2, ["a", "b", "c"])
    act(admin_client, suite, "delete", "a", "b", answered="1")

    assert names(suite) == ["c"]
    assert Turn.objects.count() == 1


def test_chosen_cases_run_and_the_verdict_of_the_suite_stays(admin_client: Client) -> None:
    suite = write_suite([a_case("a"), a_case("b"), a_case("c", enabled=False)])

    asked = act(admin_client, suite, "run", "a", "c")
    assert asked.context["size"].startswith("Runs 1 conversation.")
    response = act(admin_client, suite, "run", "a", "c", answered="1")

    run = Run.objects.get()
    assert response.headers["Location"] == f"/admin/evals_app/run/{run.pk}/change/"
    assert list(run.executions.values_list("case", flat=True)) == ["a"]
    assert not run.is_whole


@pytest.mark.parametrize(
    ("place", "after"), [("1", "bdac"), ("2", "abdc"), ("4", "acbd"), ("99", "acbd")]
)
def test_cases_take_another_place_in_their_order(
    admin_client: Client, place: str, after: str
) -> None:
    suite = write_suite([a_case(name) for name in "abcd"])

    act(admin_client, suite, "place", "d", "b", place=place)

    assert "".join(names(suite)) == after


@pytest.mark.parametrize(
    ("do", "answer", "field"),
    [
        pytest.param("tag", {"tags": " , "}, "tags", id="no tag"),
        pytest.param("place", {"place": "0"}, "place", id="no place"),
        pytest.param("move", {"into": "999999"}, "into", id="no suite"),
        pytest.param("copy", {"into": ""}, "into", id="none chosen"),
    ],
)
def test_a_wrong_answer_is_asked_again_with_the_same_cases(
    admin_client: Client, do: str, answer: dict[str, str], field: str
) -> None:
    suite = write_suite([a_case("a"), a_case("b")])

    response = act(admin_client, suite, do, "a", **answer)

    assert response.context["form"].errors.keys() == {field}
    assert ("case", str(suite.cases.get(name="a").pk)) in response.context["posted"]
    assert names(suite) == ["a", "b"]


def test_who_selects_no_case_is_asked_to(admin_client: Client) -> None:
    suite = write_suite([a_case("a")])

    response = admin_client.post(url_of(suite), {"do": "disable"}, follow=True)

    assert "Select at least one case" in response.content.decode()
    assert suite.cases.filter(enabled=True).exists()


@pytest.mark.parametrize("do", ACTIONS)
def test_each_action_needs_its_right(do: str) -> None:
    suite = write_suite([a_case("a")])
    needs = [right.removeprefix("evals_app.") for right in ACTIONS[do].needs]
    allowed = client_who_may(*LOOKING, *needs)
    rights = {*(f"{verb}_case" for verb in ("add", "change", "delete")), *RUNNING}
    others = {right.removeprefix("evals_app.") for right in rights} - set(needs)

    assert list(read(allowed, suite).context["actions"]).count(do) == 1
    assert act(allowed, suite, do, "a").status_code in {200, 302}
    refused = client_who_may(*LOOKING, *others, name="other")
    assert do not in read(refused, suite).context["actions"]
    assert act(refused, suite, do, "a").status_code == 403


# One at a time


@pytest.mark.parametrize(
    ("case", "how", "after"),
    [
        pytest.param("b", "up", "bac", id="up"),
        pytest.param("b", "down", "acb", id="down"),
        pytest.param("a", "up", "abc", id="first up"),
        pytest.param("c", "down", "abc", id="last down"),
    ],
)
def test_cases_change_places(admin_client: Client, case: str, how: str, after: str) -> None:
    suite = write_suite([a_case(name) for name in "abc"])
    key = suite.cases.get(name=case).pk

    response = admin_client.post(url_of(suite), {how: key})

    assert response.headers["Location"] == f"{url_of(suite)}#case-{key}"
    assert "".join(names(suite)) == after


def test_cases_whose_positions_are_equal_can_be_moved() -> None:
    suite = write_suite([a_case(name) for name in "abc"])
    suite.cases.update(position=0)

    move_case(suite.cases.get(name="b"), up=False)

    assert names(suite) == ["a", "c", "b"]


def test_a_case_is_copied_from_the_page_of_its_suite(admin_client: Client) -> None:
    suite = write_suite([a_case("a")])
    case = suite.cases.get()

    admin_client.post(url_of(suite), {"copy": case.pk})
    admin_client.post(url_of(suite), {"copy": case.pk})

    assert names(suite) == ["a", "a copy", "a copy 2"]


def test_a_request_that_names_no_case_of_the_suite_is_not_found(admin_client: Client) -> None:
    other = write_suite([a_case("a")], slug="other")
    suite = write_suite()

    for key in ("x", "", "999999", str(other.cases.get().pk)):
        assert admin_client.post(url_of(suite), {"up": key}).status_code == 404
    assert admin_client.post(url_of(suite), {"do": "explode"}).status_code == 404


# Permissions


def test_who_may_only_look_sees_no_buttons() -> None:
    suite = write_suite([a_case("a"), a_case("b")])

    page = read(client_who_may(*LOOKING), suite).content.decode()

    assert "2 cases" in page
    for absent in ("Add a case", "Duplicate", "arrow_upward", 'name="case"', 'name="do"'):
        assert absent not in page, absent


def test_who_may_not_see_cases_is_led_to_the_settings() -> None:
    suite = write_suite([a_case("Secret case")])
    client = client_who_may("view_suite")

    page = client.get(url_of(suite), follow=True)

    assert page.redirect_chain == [(f"/admin/evals_app/suite/{suite.pk}/change/", 302)]
    assert "Secret case" not in page.content.decode()
    assert Case.objects.exists()


@pytest.mark.parametrize(
    ("do", "answer"),
    [
        ("place", {"place": "1"}),
        ("tag", {"tags": "x"}),
        ("disable", {}),
        ("delete", {"answered": "1"}),
    ],
)
def test_a_change_of_many_takes_no_query_for_each(
    admin_client: Client, django_assert_max_num_queries: Any, do: str, answer: dict[str, str]
) -> None:
    suite = write_suite([a_case(f"case {number}") for number in range(60)])

    with django_assert_max_num_queries(35):
        act(admin_client, suite, do, *(f"case {number}" for number in range(30, 60)), **answer)
