"""Meaningless checks in the editors: unknown names, checks that cannot fail, missing answers."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.library.saving import save_agent
from evals_app.models import Agent, Assertion, Case, Suite
from fixtures_app.library import save_fixture
from fixtures_app.spec import FixtureSpec
from tests.admin.case_pages import CHECKS, checks_of, page_of
from tests.authored import AGENT, write_case, write_suite
from tests.page_form import PageForm, open_page

pytestmark = pytest.mark.django_db

UNKNOWN = {"type": "tool_called", "value": "entity.qery"}
HOLLOW = {"type": "token_f1", "value": "Paris", "threshold": 0}
SHOP = {
    "name": "Shop",
    "slug": "shop-data",
    "entities": [],
    "chunks": [{"id": "returns", "text": "Within 30 days."}],
}


def suite_page(client: Client, suite: Suite) -> PageForm:
    return open_page(client, reverse("admin:evals_app_suite_change", args=[suite.pk]))


# Names


def test_a_name_that_nothing_has_is_refused_at_its_field(admin_client: Client) -> None:
    save_fixture(FixtureSpec.model_validate(SHOP))
    case = write_suite(
        [{"name": "c", "turns": [{"user": "hi", "assertions": []}]}], fixtures=["shop-data"]
    ).cases.get()
    page = page_of(admin_client, case)
    for prefix in (CHECKS, "final_assertions"):
        page.check(prefix, "tool_called", opt__value="entity.qery")
        page.check(prefix, "tool_calls", **{"opt__tools-name": "entity.qery"})
        page.check(prefix, "chunks_fetched", opt__chunks="retruns")

    problems = page.post().problems

    expected = [("tool", "entity.query"), ("tools", "Line 1"), ("chunks", "returns")] * 2
    for problem, words in zip(problems, expected, strict=True):
        assert all(word in problem for word in words), problem
    assert not checks_of(case)


def test_what_was_stored_so_is_no_reason_to_refuse_a_save(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "hi", "assertions": [UNKNOWN, HOLLOW]}])

    assert page_of(admin_client, case).post(turns__0__user="hello").is_saved
    text = page_of(admin_client, case).text
    assert "check 1:" in text
    assert "check 2:" in text


@pytest.mark.parametrize(
    ("driver", "is_warned"),
    [pytest.param("scripted", True, id="may be given some"), pytest.param("http", False, id="own")],
)
def test_an_agent_without_tools_here_may_yet_have_some(
    admin_client: Client, driver: str, *, is_warned: bool
) -> None:
    case = write_case(turns=[{"user": "hi", "assertions": []}])
    url = "https://a.example/" if driver == "http" else ""
    Agent.objects.update(driver=driver, connection={"url": url} if url else {}, tools=[])
    page = page_of(admin_client, case)
    page.check(CHECKS, "tool_called", opt__value="find_orders")

    assert page.post().is_saved
    html = page_of(admin_client, case).html
    assert ("no tool &#x27;find_orders&#x27;" in html) is is_warned


def test_default_checks_are_compared_with_the_agent_that_the_suite_is_given(
    admin_client: Client,
) -> None:
    suite = write_suite(assertions=[{"type": "tool_called", "value": "entity.query"}])
    other = AGENT | {"slug": "other", "tools": ["entity.get"]}
    save_agent(AgentSpec.model_validate(other))

    answer = suite_page(admin_client, suite).post(agent=Agent.objects.get(slug="other").pk)

    assert ["entity.get" in problem for problem in answer.problems] == [True]


def test_the_names_that_there_are_are_offered(admin_client: Client) -> None:
    save_fixture(FixtureSpec.model_validate(SHOP))
    suite = write_suite(
        [{"name": "c", "turns": [{"user": "hi", "assertions": [UNKNOWN]}]}], fixtures=["shop-data"]
    )

    for html in (
        page_of(admin_client, Case.objects.get()).html,
        suite_page(admin_client, suite).html,
    ):
        assert '<datalist id="ew-tool"><option value="entity.query">' in html
        assert '<option value="returns">' in html
    for kind, list_name in {"tool_called": "ew-tool", "chunks_fetched": "ew-chunk"}.items():
        inputs = admin_client.get(reverse("admin:evals_app_check_kind_inputs", args=[kind]))
        assert f'list="{list_name}"' in inputs.content.decode()


def test_a_new_case_is_offered_what_its_suite_has(admin_client: Client) -> None:
    suite = write_suite()
    url = reverse("admin:evals_app_case_add")

    for address, is_offered in ((f"{url}?suite={suite.pk}", True), (f"{url}?suite=x", False)):
        html = open_page(admin_client, address).html
        assert ('<datalist id="ew-tool"><option value="entity.query">' in html) is is_offered


def test_an_argument_that_a_tool_does_not_take_is_a_warning(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "hi", "assertions": []}])
    page = page_of(admin_client, case)
    arguments = {"opt__args-key": "typ", "opt__args-kind": "text", "opt__args-value": "order"}
    page.check(CHECKS, "tool_called", opt__value="entity.query", **arguments)

    assert page.post().is_saved
    assert "no argument &#x27;typ&#x27;" in page_of(admin_client, case).html


# What cannot fail


def test_a_threshold_of_0_is_refused_at_its_field(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "hi", "assertions": []}])
    page = page_of(admin_client, case)
    page.check(CHECKS, "token_f1", opt__value="Paris", threshold="0")

    answer = page.post()

    assert ["pass at or above" in problem for problem in answer.problems] == [True]
    assert not Assertion.objects.exists()


def test_what_lets_every_run_pass_is_refused_at_its_field(admin_client: Client) -> None:
    answer = suite_page(admin_client, write_suite()).post(
        min_score="0",
        min_score_on="on",
        gate_pass_rate="0",
        gate_pass_rate_on="on",
        pass_rule="score",
        pass_threshold="0",
    )

    labels = {problem.partition(":")[0] for problem in answer.problems}
    assert labels == {"Mean score, at least", "Share of passed cases, at least", "Score to reach"}


# Answers that miss


def test_an_expected_answer_that_its_own_check_fails_is_named(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "hi", "expected": "Paris", "assertions": []}])
    page = page_of(admin_client, case)
    page.check(CHECKS, "meteor", threshold="90 %")

    assert page.post().is_saved
    text = page_of(admin_client, case).text
    assert "Turn 1, expected answer" in text
    assert "0.50" in text


def test_a_weight_that_leaves_others_no_say_is_named(admin_client: Client) -> None:
    checks = [{"type": "contains", "value": "a", "weight": weight} for weight in (1, 99)]
    case = write_suite(
        [{"name": "c", "turns": [{"user": "hi", "assertions": checks}]}], pass_rule="score"
    ).cases.get()

    assert page_of(admin_client, case).post(turns__0__user="hello").is_saved
    assert "so much weight" in page_of(admin_client, case).text


# Arguments of a trajectory


def test_other_arguments_of_a_trajectory_are_kept_as_they_are_and_forbidden_in_the_form(
    admin_client: Client,
) -> None:
    tools: list[Any] = [
        "entity.query",
        {"name": "entity.query", "args": {"type": "order"}},
        {"name": "entity.query", "args_match": "exact"},
        {"name": "entity.query", "args": {"type": "order"}, "args_match": "exact"},
    ]
    checks = [{"type": "tool_calls", "tools": tools}]
    case = write_case(turns=[{"user": "hi", "assertions": checks}])
    page = page_of(admin_client, case)
    exact = {"opt__tools-name": "entity.query", "opt__tools-args_match": "exact"}
    page.check(CHECKS, "tool_calls", **exact)

    answer = page.post(turns__0__user="hello")

    assert answer.is_saved, answer.problems
    stored, added = checks_of(case)
    assert stored.options["tools"] == tools
    assert added.options["tools"] == [{"name": "entity.query", "args_match": "exact"}]
