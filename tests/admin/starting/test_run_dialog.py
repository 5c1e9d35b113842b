"""The dialog that starts a run: what it would take, and the most it may cost."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from evals_app.models import ModelPrice, Provider, Run, Suite
from tests.authored import a_case, write_suite
from tests.makers import make_run
from tests.page_form import shown_text
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A suite of two cases for a model that has a price."""
    monkeypatch.setenv("PROVIDER_LOCAL_KEY", "x")
    provider = Provider.objects.create(
        slug="local", name="Local", kind="anthropic", api_key_env="PROVIDER_LOCAL_KEY"
    )
    ModelPrice.objects.create(
        provider=provider, model="*", valid_from="2026-05-01", input_usd=1, output_usd=5
    )
    agent = make_agent("clerk", driver="model", rules=[], model="local/<b>claude</b>")
    return make_suite(["hello", "bye"], agent=agent)


def sentence(client: Client, suite: Suite, **chosen: Any) -> str:
    url = reverse("admin:evals_app_suite_run_size", args=[suite.pk])
    shown, label, _ = shown_text(client.get(url, chosen)).rpartition(" Run")
    assert label
    return shown


def start(client: Client, suite: Suite, **chosen: Any) -> Any:
    url = reverse("admin:evals_app_suite_run", args=[suite.pk])
    return client.post(url, {"_form_submitted": "on", **chosen})


def test_the_dialog_says_what_a_run_would_take(admin_client: Client, suite: Suite) -> None:
    words = sentence(admin_client, suite, trials="2")

    assert words.startswith("Conversations 4 Cost $0.00")
    assert "about 4 model calls Time " in words
    assert words.endswith("a guess from the text of the cases")


@pytest.mark.parametrize(
    ("chosen", "label"),
    [
        ({}, "Run 2 conversations"),
        ({"trials": "3"}, "Run 6 conversations"),
        ({"cases": "case 2"}, "Run 1 conversation"),
        ({"models": "local/a, local/b"}, "Run 4 conversations"),
        ({"cases": "no such case"}, "Run"),
        ({"trials": "0"}, "Run"),
    ],
)
def test_the_button_says_how_many_conversations_it_starts(
    admin_client: Client, suite: Suite, chosen: dict[str, str], label: str
) -> None:
    url = reverse("admin:evals_app_suite_run_size", args=[suite.pk])
    answer = admin_client.get(url, chosen).content.decode()
    dialog = admin_client.get(reverse("admin:evals_app_suite_run", args=[suite.pk]))

    assert f'<span id="run-label" hx-swap-oob="true">{label}</span>' in answer
    assert '<span id="run-label">Run</span>' in dialog.content.decode()


def test_what_failed_last_time_can_run_alone(admin_client: Client) -> None:
    suite = write_suite([a_case("Late"), a_case("Lost"), a_case("Off"), a_case("Fine")])
    suite.cases.filter(name="Off").update(enabled=False)
    make_run({"Late": ["passed"], "Lost": ["passed"], "Fine": ["failed"]}, suite=suite)
    failed = {
        "Late": ["failed", "passed"],
        "Lost": ["failed"],
        "Off": ["failed"],
        "Gone": ["failed"],
    }
    make_run(failed | {"Fine": ["passed"]}, suite=suite)

    dialog = shown_text(admin_client.get(reverse("admin:evals_app_suite_run", args=[suite.pk])))
    start(admin_client, suite, failed="on")

    assert "Run only the 2 that failed last time" in dialog
    assert sentence(admin_client, suite, failed="on").startswith("Conversations 2 ")
    executions = Run.objects.latest("pk").executions.order_by("position")
    assert [*executions.values_list("case", flat=True)] == ["Late", "Lost"]


def test_where_nothing_failed_nothing_is_offered(admin_client: Client, suite: Suite) -> None:
    dialog = admin_client.get(reverse("admin:evals_app_suite_run", args=[suite.pk]))

    assert 'name="failed"' not in dialog.content.decode()


def test_a_script_costs_nothing(admin_client: Client) -> None:
    words = sentence(admin_client, write_suite([a_case()]))

    assert words.startswith("Conversations 1 Cost Free no chat model is called Time ")


def test_a_limit_below_the_forecast_is_mentioned(admin_client: Client, suite: Suite) -> None:
    assert "stop" not in sentence(admin_client, suite, max_cost_usd="5")
    assert sentence(admin_client, suite, max_cost_usd="0.0001").endswith(
        "It will probably stop early at the limit of $0.0001."
    )


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        pytest.param({"max_cost_usd": "much"}, "Cost ceiling: enter a number above 0", id="text"),
        pytest.param({"max_cost_usd": "0"}, "Cost ceiling: enter a number above 0", id="nothing"),
        pytest.param({"max_cost_usd": "-1"}, "Cost ceiling: enter a number above 0", id="less"),
        pytest.param({"max_cost_usd": "NaN"}, "Cost ceiling: enter a number above 0", id="NaN"),
        pytest.param({"trials": "0"}, "Trials: enter a whole number", id="no trials"),
        pytest.param({"cases": "none"}, "No conversation: no case matches.", id="no case"),
    ],
)
def test_a_choice_that_cannot_be_is_explained(
    admin_client: Client, suite: Suite, chosen: dict[str, str], words: str
) -> None:
    assert sentence(admin_client, suite, **chosen).startswith(words)


def test_why_it_cannot_start_is_explained_before_it_is_tried(
    admin_client: Client, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROVIDER_LOCAL_KEY")

    words = sentence(admin_client, suite)

    assert words.startswith("The run cannot start. Agent clerk uses local/<b>claude</b>: ")
    assert "PROVIDER_LOCAL_KEY is not set" in words
    assert "can set up what is missing" not in words


def test_who_cannot_set_up_a_site_learns_who_can(
    admin_client: Client, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROVIDER_LOCAL_KEY")
    User.objects.create_user("ines", first_name="Ines").groups.add(Group.objects.get(name="Admin"))
    User.objects.create_user("gone", is_active=False, is_superuser=True)
    runner = User.objects.create_user("runner", is_staff=True)
    runner.groups.add(Group.objects.get(name="Runner"))
    client = Client()
    client.force_login(runner)

    assert "admin or Ines can set up what is missing." in sentence(client, suite)


def test_the_choices_are_folded_until_one_is_wrong(admin_client: Client, suite: Suite) -> None:
    dialog = admin_client.get(reverse("admin:evals_app_suite_run", args=[suite.pk]))
    refused = start(admin_client, suite, max_cost_usd="0")

    assert '<details class="ew-fold ew-options">' in dialog.content.decode()
    assert '<details class="ew-fold ew-options" open>' in refused.content.decode()
    assert dialog.content.decode().count('name="max_cost_usd"') == 1


def test_a_limit_of_cost_goes_with_the_run(admin_client: Client, suite: Suite) -> None:
    start(admin_client, suite, max_cost_usd="2.5")

    assert Run.objects.get().max_cost_usd == Decimal("2.5")


def test_without_one_there_is_no_limit(admin_client: Client, suite: Suite) -> None:
    start(admin_client, suite)

    assert Run.objects.get().max_cost_usd is None


def test_a_limit_that_cannot_be_starts_nothing(admin_client: Client, suite: Suite) -> None:
    response = start(admin_client, suite, max_cost_usd="0")

    assert "HX-Redirect" not in response.headers
    assert not Run.objects.exists()
