"""Several runs from one page: of several agents and models, and of several suites."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from evals_app.admin.kit.model_choices import known_models
from evals_app.admin.starting.run_choices import MAX_VARIANTS
from evals_app.models import ModelPrice, Provider, Run, Suite
from tests.page_form import shown_text
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db

PAGE = "admin:evals_app_suite_run_suites"
SIZE = "admin:evals_app_suite_suites_size"


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A suite of two cases, run three times each, for a model that has a price."""
    monkeypatch.setenv("PROVIDER_LOCAL_KEY", "x")
    provider = Provider.objects.create(
        slug="local", name="Local", kind="anthropic", api_key_env="PROVIDER_LOCAL_KEY"
    )
    for model in ("small", "large*"):
        ModelPrice.objects.create(
            provider=provider, model=model, valid_from="2026-05-01", input_usd=1, output_usd=5
        )
    agent = make_agent("clerk", driver="model", rules=[], model="local/small")
    return make_suite(["hello", "bye"], agent=agent, trials=3, stop_when_decided=True)


def other(suite: Suite) -> Suite:
    return make_suite(["hello"], slug="second", name="Second", agent=suite.agent)


def sign_in_with(*permissions: str) -> Client:
    user = User.objects.create_user("reader", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def start(client: Client, suite: Suite, **chosen: Any) -> Any:
    url = reverse("admin:evals_app_suite_run", args=[suite.pk])
    return client.post(url, {"_form_submitted": "on", **chosen})


def sentence(client: Client, suite: Suite, **chosen: Any) -> str:
    url = reverse("admin:evals_app_suite_run_size", args=[suite.pk])
    shown, label, _ = shown_text(client.get(url, chosen)).rpartition(" Run")
    assert label
    return shown


def test_several_models_get_a_run_each_with_all_trials(admin_client: Client, suite: Suite) -> None:
    response = start(admin_client, suite, models=["local/small", "local/large-2"])

    runs = Run.objects.order_by("pk")
    assert [run.model for run in runs] == ["local/small", "local/large-2"]
    assert {run.stops_when_decided for run in runs} == {False}
    assert runs[0].group == runs[1].group
    assert response.headers["HX-Redirect"].endswith(f"/run/models/?group={runs[0].group}")


def test_agents_and_models_are_combined(admin_client: Client, suite: Suite) -> None:
    second = make_agent("second", driver="model", rules=[], model="local/small")

    agents = [suite.agent_id, second.pk]
    start(admin_client, suite, agents=agents, models=["local/a, local/b"])

    assert sorted(Run.objects.values_list("agent_slug", "model")) == [
        *(("clerk", "local/a"), ("clerk", "local/b"), ("second", "local/a"), ("second", "local/b"))
    ]


def test_one_run_leads_to_its_page_and_may_skip_trials(admin_client: Client, suite: Suite) -> None:
    response = start(admin_client, suite)

    run = Run.objects.get()
    assert response.headers["HX-Redirect"] == reverse("admin:evals_app_run_change", args=[run.pk])
    assert run.stops_when_decided is True


def test_all_trials_can_be_asked_for(admin_client: Client, suite: Suite) -> None:
    start(admin_client, suite, all_trials="on")

    assert Run.objects.get().stops_when_decided is False


def test_of_several_runs_all_start_or_none(admin_client: Client, suite: Suite) -> None:
    start(admin_client, suite, models=["local/small", "nowhere/large"])

    assert not Run.objects.exists()


def test_the_forecast_covers_all_runs(admin_client: Client, suite: Suite) -> None:
    words = sentence(admin_client, suite, models=["local/small", "local/large-2"], max_cost_usd="2")

    assert words.startswith("Runs 2 12 conversations Cost ")
    assert "$4" in words
    # What is compared runs all trials.
    assert "skipped" not in words
    assert "skipped" in sentence(admin_client, suite)


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param({"agents": ["999999"]}, id="no such agent"),
        pytest.param({"agents": ["x"]}, id="no key"),
        pytest.param({"models": [f"local/m{n}" for n in range(MAX_VARIANTS + 1)]}, id="too many"),
        pytest.param({"models": ["no provider"]}, id="no model"),
    ],
)
def test_what_cannot_be_chosen_is_explained_and_starts_nothing(
    admin_client: Client, suite: Suite, chosen: dict[str, Any]
) -> None:
    words = sentence(admin_client, suite, **chosen)
    response = start(admin_client, suite, **chosen)

    assert words
    assert not words.startswith(("Runs", "Conversations"))
    assert response.status_code == 200
    assert not Run.objects.exists()


def test_models_with_a_price_and_those_of_agents_are_suggested(suite: Suite) -> None:
    names = known_models()

    assert "local/small" in names
    assert not [name for name in names if "*" in name]


def test_agents_are_offered_only_to_people_who_may_see_them(suite: Suite) -> None:
    client = sign_in_with("view_run", "add_run", "view_suite")

    page = client.get(reverse("admin:evals_app_suite_run", args=[suite.pk])).content.decode()
    start(client, suite, agents=[suite.agent_id])

    assert 'name="agents"' not in page
    assert Run.objects.get().overrides == {}


# Several suites


def test_chosen_suites_start_together(admin_client: Client, suite: Suite) -> None:
    suites = [suite.pk, other(suite).pk]

    response = admin_client.post(reverse(PAGE), {"suites": suites, "max_cost_usd": "2"})

    (group,) = {run.group for run in Run.objects.all()}
    assert response.headers["Location"].endswith(f"/run/models/?group={group}")
    rows = Run.objects.order_by("pk").values_list("suite_slug", "max_cost_usd")
    assert list(rows) == [("greetings", Decimal(2)), ("second", Decimal(2))]


def test_a_tag_chooses_the_suites_that_have_it(admin_client: Client, suite: Suite) -> None:
    second = other(suite)
    second.tags = ["smoke"]
    second.save()
    chosen: dict[str, Any] = {"suites": [suite.pk, second.pk], "tags": "smoke"}

    words = shown_text(admin_client.get(reverse(SIZE), chosen))
    admin_client.post(reverse(PAGE), chosen)

    assert words.startswith("Conversations 1 ")
    assert "1 suite" in words
    assert Run.objects.get().suite_slug == "second"


def test_if_one_cannot_start_none_does(
    admin_client: Client, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = make_suite(["hello"], slug="third", name="Third")
    monkeypatch.delenv("PROVIDER_LOCAL_KEY")

    response = admin_client.post(reverse(PAGE), {"suites": [scripted.pk, suite.pk]})

    assert response.status_code == 200
    assert "PROVIDER_LOCAL_KEY" in response.content.decode()
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    "chosen",
    [{}, {"suites": ["999999"]}, {"suites": ["x"]}, {"tags": "unknown"}, {"trials": "0"}],
    ids=str,
)
def test_nothing_to_run_is_explained(
    admin_client: Client, suite: Suite, chosen: dict[str, Any]
) -> None:
    whole = {"suites": [suite.pk]} | chosen if chosen else {}

    assert admin_client.get(reverse(SIZE), whole).content
    assert admin_client.post(reverse(PAGE), whole).status_code == 200
    assert not Run.objects.exists()


def test_an_archived_suite_is_not_offered(admin_client: Client, suite: Suite) -> None:
    Suite.objects.filter(pk=suite.pk).archive()

    admin_client.post(reverse(PAGE), {"suites": [suite.pk]})

    assert "Greetings (" not in admin_client.get(reverse(PAGE)).content.decode()
    assert not Run.objects.exists()


def test_ticked_rows_and_an_agent_choose_suites(admin_client: Client, suite: Suite) -> None:
    second = other(suite)
    make_suite(["hello"], slug="third", name="Third")
    changelist = reverse("admin:evals_app_suite_changelist")

    ticked = admin_client.post(
        changelist, {"action": "run_ticked", "_selected_action": [second.pk]}
    )
    of_agent = admin_client.get(
        reverse("admin:evals_app_agent_run_its_suites", args=[suite.agent_id])
    )

    assert ticked.headers["Location"] == f"{reverse(PAGE)}?suites={second.pk}"
    keys = f"suites={suite.pk}&suites={second.pk}"
    assert of_agent.headers["Location"] == f"{reverse(PAGE)}?{keys}"


def test_without_the_right_the_page_is_refused(suite: Suite) -> None:
    client = sign_in_with("view_run", "view_suite")

    assert client.get(reverse(PAGE)).status_code == 403
    assert client.post(reverse(PAGE), {"suites": [suite.pk]}).status_code == 403
    assert not Run.objects.exists()
