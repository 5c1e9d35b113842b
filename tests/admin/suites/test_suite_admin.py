import re
from typing import Any

import pytest
from django import forms
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from evals_app.admin.suites.gate_inputs import write_as_sentence
from evals_app.admin.suites.suite_form import GATES, _kinship
from evals_app.engine.graders.judged import Rubric
from evals_app.engine.suites.suite_spec import GatesSpec, SuiteSpec
from evals_app.models import Agent, Assertion, Run, Suite
from evals_app.reports.words.similarity import STAND_IN
from fixtures_app.models import Fixture
from tests.authored import CONTAINS, a_case, client_who_may, write_suite
from tests.makers import make_run
from tests.page_form import PageForm, open_page, shown_text

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/suite/"


def url_of(suite: Suite, what: str = "change") -> str:
    return f"{LIST}{suite.pk}/{what}/"


def page_of(client: Client, suite: Suite) -> PageForm:
    return open_page(client, url_of(suite))


def gate(name: str, number: str) -> dict[str, str]:
    """Return what a browser sends of a gate that is ticked."""
    return {name: number, f"{name}_on": "on"}


def cases_of(client: Client, suite: Suite) -> str:
    return client.get(url_of(suite, "cases")).content.decode()


RICH: dict[str, Any] = {
    "description": "Two\nlines\n",
    "tags": ["a", "b"],
    "trials": 3,
    "min_pass_rate": 0.6,
    "pass_rule": "score",
    "pass_threshold": 0.7,
    "run_rule": "gates",
    "score_scale": "1-5",
    "concurrency": 4,
    "judge_model": {"provider": "anthropic", "name": "claude-x", "temperature": 0.0},
    "judge_prompt": " Be strict.\n",
    "judge_context": "The shop\nis closed.",
    "rubric": "# Tone\n\n- Polite\n  - to all\n",
    "rubric_weight": 0.25,
    "assertions": [CONTAINS, {"type": "numeric", "weight": 0}],
    "gates": {
        "min_score": 0.5,
        "min_pass_rate": 0.9,
        "max_p95_ms": 3000,
        "max_cost_per_call_usd": 0.000000001,
        "max_cost_usd": 100,
    },
}


def test_a_new_suite_asks_for_what_it_needs_and_folds_the_rest(admin_client: Client) -> None:
    page: Any = open_page(admin_client, f"{LIST}add/").response

    first, *others = page.context["adminform"]
    assert list(first.fields)[:3] == ["name", "slug", "agent"]
    assert "description" not in first.fields
    assert all(fieldset.is_collapsible for fieldset in others)


def test_saving_a_suite_as_it_is_changes_nothing(admin_client: Client) -> None:
    fixture = Fixture.objects.create(slug="shop", name="Shop")
    suite = write_suite([a_case()], fixtures=["shop"], **RICH)
    before = suite.to_spec().model_dump(mode="json")

    saved = page_of(admin_client, suite).post()

    assert saved.is_saved, saved.problems
    assert Suite.objects.get().to_spec().model_dump(mode="json") == before
    assert list(suite.fixtures.all()) == [fixture]
    assert LogEntry.objects.get().get_change_message() == "No fields changed."


def test_a_suite_is_written_from_nothing_and_leads_to_its_first_case(admin_client: Client) -> None:
    write_suite(slug="other")
    page = open_page(admin_client, f"{LIST}add/")
    page.check("default_assertions", "contains", opt__value="x")

    saved = page.post(
        name="New", slug="new", agent=Agent.objects.get().pk, **gate("gate_pass_rate", "90")
    )

    suite = Suite.objects.get(slug="new")
    assert saved.is_saved, saved.problems
    assert saved.response.headers["Location"] == url_of(suite, "cases")
    assert suite.to_spec().gates.min_pass_rate == 0.9
    assert "Add your first case" in cases_of(admin_client, suite)


def test_votes_and_juries_are_written_in_the_form(admin_client: Client) -> None:
    suite = write_suite()
    page = page_of(admin_client, suite)
    page.check("default_assertions", "rubric", opt__criteria="- Polite\n- Brief", opt__votes="3")
    jury = ["claude-haiku-5-5", "openai/gpt-6", "scripted/judge"]
    page.check("default_assertions", "llm_judge", opt__criteria="Is kind", opt__jury=jury)

    saved = page.post()

    assert saved.is_saved, saved.problems
    rubric, kind = (check.grader for check in Suite.objects.get().to_spec().assertions)
    assert isinstance(rubric, Rubric)
    assert (rubric.criteria, rubric.votes) == ("- Polite\n- Brief", 3)
    assert [str(juror) for juror in kind.jurors()] == [
        *("anthropic/claude-haiku-5-5", "openai/gpt-6", "scripted/judge")
    ]


def test_another_judge_is_stored_with_its_provider_and_not_the_settings_of_the_first(
    admin_client: Client,
) -> None:
    suite = write_suite(judge_model=RICH["judge_model"])

    page_of(admin_client, suite).post(judge_model="claude-y")

    suite.refresh_from_db()
    assert (suite.judge_model, suite.judge_settings) == ("anthropic/claude-y", {})


@pytest.mark.parametrize(
    ("judge", "rubric", "is_kin"),
    [
        pytest.param("anthropic/claude-opus-5", "", True, id="of the family"),
        pytest.param("agent", "", True, id="the agent itself"),
        pytest.param(None, "- Polite", True, id="the site's, for the rubric"),
        pytest.param(None, "", False, id="nobody, as far as the suite says"),
        pytest.param("openai/gpt-6", "- Polite", False, id="of another family"),
        pytest.param("scripted/claude", "- Polite", False, id="a script of that name"),
    ],
)
def test_a_judge_of_the_agents_family_is_known(
    judge: str | None, rubric: str, *, is_kin: bool
) -> None:
    spec = {"suite": "S", "slug": "s", "agent": "a", "cases": []}
    suite = SuiteSpec.model_validate(spec | {"judge_model": judge, "rubric": rubric})

    assert bool(_kinship(suite, Agent(model="anthropic/claude-haiku-5-5"))) is is_kin


def test_a_judge_of_the_agents_family_is_warned_of_when_it_is_saved(admin_client: Client) -> None:
    suite = write_suite()
    Agent.objects.update(driver="model", model="anthropic/claude-haiku-5-5", connection={})

    assert page_of(admin_client, suite).post(judge_model="agent").is_saved
    assert "both Claude models" in page_of(admin_client, suite).text


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        pytest.param(
            {"name": "", **gate("max_p95_ms", "-1"), "min_pass_rate": "0"},
            [
                "95th-percentile reply time, at most (s): ",
                "Name: This field is required.",
                "Share of trials that must pass: “0 %”",
            ],
            id="fields",
        ),
        pytest.param(
            {"slug": "-a", "judge_model": "gemma"},
            ["Judge model: Write the model as", "Slug: A slug has lower-case letters"],
            id="keys of the spec",
        ),
        ({"rubric": "- x\n" * 401}, ["Rubric: A rubric has at most 400 bullets"]),
        pytest.param(
            {"run_rule": "gates", "gate_pass_rate": "90 %"},  # without its tick
            ["Share of passed cases, at least: "],
            id="gates without a gate",
        ),
    ],
)
def test_a_wrong_field_is_refused_with_its_name(
    admin_client: Client, changes: dict[str, Any], problems: list[str]
) -> None:
    refused = page_of(admin_client, write_suite()).post(**changes)

    for problem, beginning in zip(sorted(refused.problems), problems, strict=True):
        assert problem.startswith(beginning)


@pytest.mark.parametrize("name", ["gate_pass_rate", "max_cost_usd"])
def test_one_gate_is_enough_where_gates_decide(admin_client: Client, name: str) -> None:
    suite = write_suite()

    saved = page_of(admin_client, suite).post(run_rule="gates", **gate(name, "50"))

    assert saved.is_saved, saved.problems
    assert Suite.objects.get().to_spec().run_rule == "gates"


def test_a_gate_is_a_sentence_that_a_tick_turns_on(admin_client: Client) -> None:
    suite = write_suite()
    page = page_of(admin_client, suite)
    assert "at least of the cases pass" in page.text

    page.post(gate_pass_rate_on="on", max_regressions_on="on")  # with the numbers that are there

    assert Suite.objects.get().to_spec().gates == GatesSpec(min_pass_rate=0.9, max_regressions=0)

    page_of(admin_client, suite).post(gate_pass_rate_on=None)

    assert Suite.objects.get().to_spec().gates == GatesSpec(max_regressions=0)


@pytest.mark.parametrize("name", GATES)
def test_a_tick_without_a_number_is_an_error_of_its_gate(admin_client: Client, name: str) -> None:
    refused = page_of(admin_client, write_suite()).post(**gate(name, ""))

    (problem,) = refused.problems
    assert "number" in problem
    assert f"{name}_on" in refused.fields


def test_a_gate_without_words_of_its_own_shows_its_label() -> None:
    field = forms.IntegerField(label="Calls, at most")

    write_as_sentence(field, "max_calls", about="Of all tools.")

    html = field.widget.render("max_calls", 3, {"id": "id_max_calls"})
    assert "Calls, at most: " in html
    assert 'value="3"' in html
    assert " checked" in html
    assert field.help_text == "Of all tools."


def test_default_checks_may_compare_with_what_each_turn_expects_and_are_refused_with_their_place(
    admin_client: Client,
) -> None:
    page = page_of(admin_client, write_suite())
    page.check("default_assertions", "contains")
    page.check("default_assertions", "matches", opt__value="(")

    (problem,) = page.post().problems

    assert problem.startswith("Check 2, pattern: ")


# Running


def start(client: Client, suite: Suite, **chosen: Any) -> Any:
    return client.post(url_of(suite, "run"), {"_form_submitted": "on", **chosen})


def test_a_suite_is_run_whole(admin_client: Client) -> None:
    suite = write_suite([a_case("a"), a_case("b")])

    response = start(admin_client, suite)

    run = Run.objects.get()
    assert response.headers["HX-Redirect"] == reverse("admin:evals_app_run_change", args=[run.pk])
    assert (run.total, run.is_tryout) == (2, False)


def test_a_part_of_a_suite_is_run(admin_client: Client) -> None:
    suite = write_suite([a_case("Order late", tags=["x"]), a_case("Order"), a_case("Hello")])

    start(admin_client, suite, cases="order, nothing", tags="x", trials="2")

    executions = Run.objects.get().executions.order_by("trial")
    assert [(execution.case, execution.trial) for execution in executions] == [
        ("Order late", 1),
        ("Order late", 2),
    ]


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        pytest.param({}, "Conversations 6 ", id="all"),
        pytest.param({"cases": "order"}, "Conversations 4 ", id="named"),
        pytest.param({"tags": "x", "trials": "1"}, "Conversations 1 ", id="tagged, one trial"),
        pytest.param({"cases": "none"}, "No conversation", id="none"),
        ({"trials": "many"}, "Trials: enter a whole number from 1 to 100."),
        pytest.param({"trials": "0"}, "Trials: enter a whole number from 1 to 100.", id="zero"),
    ],
)
def test_the_dialog_tells_how_many_conversations_it_would_start(
    admin_client: Client, chosen: dict[str, str], sentence: str
) -> None:
    cases = [a_case("Order late", tags=["x"]), a_case("Order"), a_case("Hello")]
    suite = write_suite(cases, trials=2)

    size = admin_client.get(url_of(suite, "run-size"), chosen)

    assert shown_text(size).startswith(sentence)


def test_why_a_run_cannot_start_is_explained(admin_client: Client) -> None:
    suite = write_suite([a_case("Order")])

    response = start(admin_client, suite, cases="Ordr")

    assert response.headers["HX-Redirect"] == url_of(suite, "cases")
    text = page_of(admin_client, suite).text
    assert "No case of refunds has 'Ordr' in its name" in text
    assert "Did you mean 'Order'?" in text


def test_past_runs_are_those_of_this_suite(admin_client: Client) -> None:
    suite = write_suite()

    response = admin_client.get(url_of(suite, "runs"))

    assert response.headers["Location"] == "/admin/evals_app/run/?suite_slug=refunds"


# Exporting and copying


def test_why_a_suite_cannot_be_exported_is_explained(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    Assertion.objects.update(type="telepathy")

    for what in ("export", "export-all"):
        assert admin_client.get(url_of(suite, what)).headers["Location"] == url_of(suite)
    assert page_of(admin_client, suite).text.count("This cannot be exported") == 2


def test_a_suite_is_copied_whole(admin_client: Client) -> None:
    Fixture.objects.create(slug="shop", name="Shop")
    suite = write_suite([a_case("b"), a_case("a")], fixtures=["shop"], **RICH)

    admin_client.post(url_of(suite, "duplicate"), {"_form_submitted": "on"})

    copied = Suite.objects.get(slug="refunds-copy")
    names = {"suite": suite.name, "slug": suite.slug}
    assert copied.name == "Refunds copy"
    assert copied.to_spec().model_copy(update=names) == suite.to_spec()


# Permissions


def test_the_page_leads_to_the_last_run(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    assert "Never run" in page_of(admin_client, suite).html
    make_run(["passed"], suite=suite)
    last = make_run(["failed"], suite=suite)
    part = make_run(["passed"], suite=suite, is_whole=False, suite_case_count=38)
    going_on = make_run(["queued"], suite=suite)

    text = page_of(admin_client, suite).html

    assert text.index(last.in_short) < text.index(part.in_short)
    for run in (last, part, going_on):
        assert f'href="/admin/evals_app/run/{run.pk}/change/"' in text


def test_agents_of_one_name_can_be_distinguished(admin_client: Client) -> None:
    suite = write_suite()
    Agent.objects.create(name="Shop", slug="shop-model", model="anthropic/claude-haiku-5-5")

    text = page_of(admin_client, suite).html

    assert "Shop (shop)" in text
    assert "Shop (shop-model)" in text


# The list


def test_no_number_of_suites_that_no_one_counted_is_offered_for_selection(
    admin_client: Client,
) -> None:
    write_suite()

    html = admin_client.get(LIST).content.decode()

    assert "Select record" in html
    assert not re.search(r"Select all\s+\d", html)


def test_the_list_shows_the_last_verdict_of_a_real_run(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    make_run(["failed", "passed", "passed"], suite=suite, is_similarity_stand_in=True)
    part = make_run(["passed"], suite=suite, is_whole=False, suite_case_count=38)

    text = admin_client.get(LIST).content.decode()

    assert "Failed" in text
    assert "Passed" not in text
    assert "66.7\u00a0%" in text
    assert STAND_IN in text
    assert part.in_short in text


def test_the_list_leads_to_what_was_only_tried_by_hand(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    tried = make_run(["passed"], suite=suite, is_tryout=True)

    text = admin_client.get(LIST).content.decode()

    assert "Never run as a whole" in text
    assert f'href="/admin/evals_app/run/{tried.pk}/change/"' in text


def test_who_may_not_see_runs_is_not_led_to_them() -> None:
    run = make_run(["failed"], suite=write_suite([a_case()]))

    text = client_who_may("view_suite").get(LIST).content.decode()

    assert "Failed" in text
    assert f"run/{run.pk}/" not in text


def test_suites_are_found_by_their_tags_and_filtered_by_one(admin_client: Client) -> None:
    tagged = write_suite([a_case()], tags=["smoke", "Eile"])
    write_suite([a_case()], slug="other", tags=["eile"])

    def found(query: str) -> list[int]:
        return [suite.pk for suite in admin_client.get(LIST + query).context["cl"].result_list]

    assert found("?q=smoke") == [tagged.pk]
    assert found("?tag=Eile") == [tagged.pk]
    assert found("?tag=none") == []
    assert len(found("")) == 2
