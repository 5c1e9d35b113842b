"""What a run keeps: its content once, and prices when it needs them."""

import json
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from evals_app.engine.preparing import obstacles
from evals_app.engine.specs.agent_spec import HttpAgent
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.models import Assertion, ModelPrice, Provider, Snapshot, SnapshotCase, Suite, Turn
from evals_app.models.authored import suites
from evals_app.runs.starting.freeze import CannotStartError, freeze
from tests.engine.permitting import permitting
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db

ENVIRON = {"ANTHROPIC_API_KEY": "secret"}
HAIKU = "anthropic/claude-haiku-5-5"


@pytest.fixture(autouse=True)
def _no_usual_prices() -> None:
    ModelPrice.objects.all().delete()


def make_price(model: str = "claude-haiku-5-5", *, days: int = 0, **changes: Any) -> ModelPrice:
    """Write a price that holds from so many days from now on."""
    columns: dict[str, Any] = {"input_usd": 1, "output_usd": 5}
    columns["provider"] = Provider.objects.get(slug="anthropic")
    return ModelPrice.objects.create(
        model=model, valid_from=timezone.now().date() + timedelta(days=days), **(columns | changes)
    )


def model_suite(**changes: Any) -> Suite:
    agent = make_agent("claude", driver="model", rules=[], model=HAIKU)
    return make_suite(agent=agent, **changes)


def head_of(suite: Suite, **options: Any) -> SnapshotSpec:
    """Freeze a suite, and give all but its cases."""
    with freeze(suite, **({"environ": ENVIRON} | options)) as frozen:
        return frozen.head


def frozen_prices(suite: Suite) -> list[tuple[str, int]]:
    (provider,) = head_of(suite).providers
    return [(price.model, int(price.input_usd)) for price in provider.prices]


def test_a_run_keeps_the_prices_of_its_models_that_are_in_force() -> None:
    make_price(days=-9, input_usd=1)
    make_price(days=0, input_usd=2)
    make_price(days=1, input_usd=3)
    make_price("claude-opus-5-5", input_usd=4)
    make_price("claude-haiku-*", input_usd=5)

    assert frozen_prices(model_suite()) == [("claude-haiku-5-5", 2)]


def test_judges_have_prices_too() -> None:
    make_price("claude-opus-5-5", input_usd=4)
    suite = model_suite(judge_model="anthropic/claude-opus-5-5")
    suite.default_assertions.create(type="llm_judge", options={"criteria": "Is kind"})

    assert frozen_prices(suite) == [("claude-opus-5-5", 4)]


def test_a_run_without_a_ceiling_needs_no_price() -> None:
    assert frozen_prices(model_suite(max_cost_usd=1)) == []


def why_not(suite: Suite, **options: Any) -> list[str]:
    with pytest.raises(CannotStartError) as refused:
        head_of(suite, **({"why_not_called": lambda _: None} | options))
    return refused.value.problems


def test_a_setting_that_no_model_of_its_provider_accepts_is_refused() -> None:
    agent = make_agent(
        "claude",
        driver="model",
        rules=[],
        model=HAIKU,
        model_settings={"seed": 1},
        settings={"response_format": "json"},
    )
    opus = "anthropic/claude-opus-5-5"
    suite = make_suite(agent=agent, judge_model=opus, judge_settings={"seed": 1})
    suite.default_assertions.create(type="llm_judge", options={"criteria": "Is kind"})

    seed, form, judges_seed = why_not(suite)

    assert seed.startswith("Agent claude sets seed for anthropic/claude-haiku-5-5")
    assert "JSON Schema" in form
    assert judges_seed.startswith("Suite greetings sets seed for anthropic/claude-opus-5-5")


def test_a_client_certificate_that_cannot_be_used_is_refused() -> None:
    certificate = {"certificate": {"env": "AGENT_CERT"}}
    url = "https://a.example/"
    agent = make_agent("bank", driver="http", rules=[], url=url, client_certificate=certificate)

    with permitting(variables=("AGENT_CERT",)):
        (problem,) = why_not(make_suite(agent=agent), environ={"AGENT_CERT": "/nowhere"})

    assert problem.startswith("Agent bank cannot show its client certificate: AGENT_CERT has")


def test_a_ceiling_asks_for_the_price_of_every_model_that_is_paid_for() -> None:
    make_price("claude-opus-5-5", days=1)
    suite = model_suite(judge_model="anthropic/claude-opus-5-5")
    suite.default_assertions.create(type="llm_judge", options={"criteria": "Is kind"})

    haiku, opus = why_not(suite, max_cost_usd=Decimal("2.5"))

    assert haiku.startswith("anthropic/claude-haiku-5-5 has no price today")
    assert opus.startswith("anthropic/claude-opus-5-5 has no price today")
    assert "$2.50" in haiku
    assert "anthropic.provider.yaml" in haiku


def test_a_price_of_batches_is_none_for_a_ceiling() -> None:
    make_price(is_batch=True)

    with pytest.raises(CannotStartError, match="has no price"):
        head_of(model_suite(), max_cost_usd=Decimal(1))


def test_what_follows_a_script_needs_no_price() -> None:
    suite = make_suite(judge_model="scripted/echo")
    suite.default_assertions.create(type="llm_judge", options={"criteria": "Is kind"})

    head = head_of(suite, max_cost_usd=Decimal(1), environ={})

    assert [provider.slug for provider in head.providers] == ["scripted"]


# Cases


def stored(suite: Suite, **options: Any) -> Snapshot:
    with freeze(suite, **({"environ": ENVIRON} | options)) as frozen:
        snapshot = frozen.snapshot()
        list(frozen.complete(snapshot))
    snapshot.refresh_from_db()
    return snapshot


def texts(snapshot: Snapshot) -> list[str]:
    return [json.loads(case.content)["name"] for case in snapshot.cases.order_by("position")]


def test_the_same_content_is_stored_once() -> None:
    suite = make_suite(cases=3)

    first, second = stored(suite), stored(suite, names=["case 2"], trials=5)

    assert first == second
    assert texts(first) == ["case 1", "case 2", "case 3"]


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda suite: suite.cases.filter(position=1).update(name="x"), id="a case"),
        pytest.param(lambda suite: suite.cases.filter(position=0).update(position=9), id="order"),
        pytest.param(lambda suite: suite.cases.filter(position=2).delete(), id="one less"),
        pytest.param(lambda _: Turn.objects.update(user="hello you"), id="what is said"),
        pytest.param(lambda _: Assertion.objects.update(weight=2), id="a check"),
        pytest.param(lambda _: Suite.objects.update(trials=2), id="the suite"),
    ],
)
def test_another_content_is_another_snapshot(edit: Callable[[Suite], object]) -> None:
    suite = make_suite(cases=3)
    before = stored(suite)
    edit(suite)

    after = stored(suite)

    assert after != before
    assert texts(before) == ["case 1", "case 2", "case 3"]
    assert SnapshotCase.objects.count() == 3 + after.cases.count()


def test_the_head_that_is_stored_has_no_case() -> None:
    snapshot = stored(make_suite(cases=2))

    assert SnapshotSpec.read(snapshot.content).suite.cases == []
    assert "hello" not in snapshot.content


def test_cases_are_loaded_a_few_at_a_time_in_their_order(
    monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    suite = make_suite(cases=7)
    suite.cases.filter(name__in=["case 2", "case 3", "case 4"]).update(position=5)
    monkeypatch.setattr(suites, "CASES_AT_ONCE", 2)

    with django_assert_max_num_queries(30), freeze(suite, environ=ENVIRON) as frozen:
        names = [case.name for case in frozen]

    assert names == ["case 1", "case 5", "case 2", "case 3", "case 4", "case 6", "case 7"]


def test_the_plan_names_what_was_chosen_by_its_place_in_the_suite() -> None:
    suite = make_suite(cases=4, trials=2)

    with freeze(suite, names=["case 2", "case 4"], environ=ENVIRON) as frozen:
        plan = list(frozen.plan())

    assert plan == [("case 2", 1, 1), ("case 2", 1, 2), ("case 4", 3, 1), ("case 4", 3, 2)]
    assert (frozen.cases, frozen.executions) == (4, 4)


def test_a_case_that_no_longer_validates_is_named_with_its_place() -> None:
    suite = make_suite(cases=3)
    broken = Assertion.objects.get(turn__case__name="case 2")
    broken.type, broken.options = "gone", {}
    broken.save()

    (problem,) = why_not(suite)

    assert problem.startswith("cases[1].turns[0].assertions[0].type: Unknown check 'gone'.")


def test_a_judge_of_a_single_case_is_kept_with_its_price() -> None:
    make_price("claude-opus-5-5", input_usd=4)
    suite = make_suite(cases=3)
    turn = Turn.objects.get(case__name="case 3")
    turn.assertions.create(
        type="llm_judge", options={"criteria": "Is kind"}, model="anthropic/claude-opus-5-5"
    )

    head = head_of(suite)

    assert [provider.slug for provider in head.providers] == ["anthropic"]
    assert [price.model for price in head.providers[0].prices] == ["claude-opus-5-5"]
    assert head.judge is None


@pytest.mark.parametrize(
    ("kind", "named", "variable"),
    [
        pytest.param("openai", "", "OPENAI_API_KEY", id="the usual one of its kind"),
        pytest.param("groq", "", "GROQ_API_KEY", id="of another kind"),
        pytest.param("openai", "PROVIDER_OURS", "PROVIDER_OURS", id="the one that is named"),
        pytest.param("ollama", "PROVIDER_OURS", "PROVIDER_OURS", id="named where none is usual"),
    ],
)
def test_a_key_that_is_missing_is_named(kind: str, named: str, variable: str) -> None:
    Provider.objects.create(slug="other", name="Other", kind=kind, api_key_env=named)
    suite = make_suite(agent=make_agent("o", driver="model", rules=[], model="other/m"))

    with pytest.raises(CannotStartError, match=f"uses other/m: .+ variable {variable} is not set"):
        head_of(suite)

    assert len(head_of(suite, environ={variable: "k"}).providers) == 1


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        pytest.param({"api_key_env": "EVALWELL_SECRET_KEY"}, "EVALS_KEY_VARIABLES", id="secret"),
        ({"base_url": "https://evil.example"}, "is sent only to https://api"),
        pytest.param(
            {"base_url": "http://[::ffff:10.0.0.1]", "api_key_env": "PROVIDER_X"},
            "EVALS_PRIVATE_HOSTS",
            id="private",
        ),
        ({"base_url": "https://inside.example", "api_key_env": "PROVIDER_X"}, "leads inside"),
    ],
)
def test_a_provider_from_before_that_is_not_permitted_is_named(
    columns: dict[str, str], words: str
) -> None:
    Provider.objects.create(slug="other", name="Other", kind="openai", **columns)
    suite = make_suite(agent=make_agent("o", driver="model", rules=[], model="other/m"))
    secrets = {"EVALWELL_SECRET_KEY": "s", "OPENAI_API_KEY": "s", "PROVIDER_X": "s"}

    with pytest.raises(CannotStartError, match=words):
        head_of(suite, environ=secrets, why_not_called=lambda url: f"{url} leads inside.")


def test_a_model_of_this_machine_needs_no_key() -> None:
    agent = make_agent("o", driver="model", rules=[], model="ollama/qwen3:8b")

    (provider,) = head_of(make_suite(agent=agent), environ={}).providers
    assert provider.slug == "ollama"


JURY = ["anthropic/claude-haiku-5-5", "anthropic/claude-opus-5-5", "scripted/echo"]


def test_the_models_of_a_jury_are_kept_with_their_prices_and_scripts() -> None:
    make_price("claude-haiku-5-5", input_usd=1)
    make_price("claude-opus-5-5", input_usd=4)
    suite = make_suite()
    suite.default_assertions.create(type="llm_judge", options={"criteria": "Is kind", "jury": JURY})

    head = head_of(suite, max_cost_usd=Decimal(1))

    assert [provider.slug for provider in head.providers] == ["anthropic", "scripted"]
    assert [price.model for price in head.providers[0].prices] == [
        "claude-haiku-5-5",
        "claude-opus-5-5",
    ]
    assert [agent.slug for agent in head.scripted] == ["echo"]
    assert head.judge is None


def test_what_is_missing_of_a_jury_is_named() -> None:
    suite = make_suite()
    jury = ["anthropic/claude-haiku-5-5", "nobody/model", "scripted/nobody"]
    suite.default_assertions.create(type="llm_judge", options={"criteria": "Kind", "jury": jury})

    problems = why_not(suite, environ={}, max_cost_usd=Decimal(1))

    assert [problem[:55] for problem in problems] == [
        "The jury of 'Judge: Kind' uses anthropic/claude-haiku-5",
        "The jury of 'Judge: Kind' uses nobody/model: there is n",
        "The judge scripted/nobody names no agent that exists.",
        "anthropic/claude-haiku-5-5 has no price today, so a cei",
    ]


def test_the_rubric_of_a_suite_needs_the_judge() -> None:
    suite = make_suite(judge_model="anthropic/claude-opus-5-5", rubric="- Polite")

    assert str(head_of(suite).judge) == "anthropic/claude-opus-5-5"
    with pytest.raises(CannotStartError, match=r"Suite .+ uses anthropic/claude-opus-5-5"):
        head_of(suite, environ={})


KIND: dict[str, Any] = {"type": "llm_judge", "options": {"criteria": "Is kind"}}


def test_a_suite_without_a_judge_is_shown_the_providers_whose_keys_are_set() -> None:
    make_price("claude-opus-5-5", output_usd=9)
    openai = Provider.objects.get(slug="openai")
    for model, output_usd in {"gpt-dear": 9, "gpt-cheap": 5, "embeds": 0}.items():
        make_price(model, output_usd=output_usd, provider=openai)
    suite = make_suite()
    Turn.objects.get(case__name="case 1").assertions.create(**KIND)

    (problem,) = why_not(suite, environ={"OPENAI_API_KEY": "k", "GROQ_API_KEY": "k"})

    assert "greetings" in problem
    assert {"OpenAI", "(openai/gpt-cheap),", "Groq", "(groq/MODEL)."} <= set(problem.split())
    assert "claude-opus" not in problem


def test_where_no_key_is_set_the_variables_are_named() -> None:
    suite = make_suite(rubric="- Polite")

    with pytest.raises(CannotStartError, match=r"ANTHROPIC_API_KEY, .*OPENAI_API_KEY"):
        head_of(suite, environ={})


@pytest.mark.parametrize(
    ("check", "part"),
    [
        pytest.param(KIND | {"enabled": False}, {}, id="a check that is switched off"),
        pytest.param(KIND, {"cases": ["case 2"]}, id="a case that is not run"),
        pytest.param(KIND | {"model": HAIKU}, {"environ": ENVIRON}, id="a check with its own"),
    ],
)
def test_an_unneeded_judge_keeps_no_run_from_starting(
    check: dict[str, Any], part: dict[str, Any]
) -> None:
    suite = make_suite(cases=2)
    Turn.objects.get(case__name="case 1").assertions.create(**check)

    assert head_of(suite, **({"environ": {}} | part)).suite.slug == "greetings"


def test_an_agent_with_a_model_judges_itself() -> None:
    agent = make_agent("o", driver="model", rules=[], model="ollama/qwen3:8b")
    suite = make_suite(agent=agent, rubric="- Polite")

    assert str(head_of(suite, environ={}).judge) == "ollama/qwen3:8b"


# Agents outside, and tools of their own


def http_suite(**changes: Any) -> Suite:
    columns = {"driver": "http", "rules": [], "url": "https://agent.example/chat"} | changes
    return make_suite(agent=make_agent("outside", **columns))


KEY = {"Authorization": {"env": "AGENT_KEY"}}


def test_an_agent_outside_is_frozen_with_all_that_it_is_asked_with() -> None:
    suite = http_suite(headers=KEY | {"X-Tenant": "acme"})

    head = head_of(suite, environ={"AGENT_KEY": "x"}, why_not_called=lambda _: None)

    again = SnapshotSpec.read(head.canonical())
    assert again.agent == head.agent
    assert isinstance(again.agent, HttpAgent)
    assert again.agent.url == "https://agent.example/chat"
    assert '"x"' not in head.canonical()


def test_a_frozen_agent_is_read_whatever_is_permitted_by_now() -> None:
    with permitting(hosts=("10.0.0.1",), variables=("OTHER_KEY",)):
        suite = http_suite(url="http://10.0.0.1/", headers={"Authorization": {"env": "OTHER_KEY"}})
        head = head_of(suite, environ={"OTHER_KEY": "x"})

    assert SnapshotSpec.read(head.canonical()).agent == head.agent


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        pytest.param(
            {"headers": KEY},
            {},
            "Agent outside needs the environment variable AGENT_KEY, which is not set.",
            id="no key",
        ),
        pytest.param(
            {"headers": {"Authorization": {"env": "HOME"}}},
            {},
            "headers.Authorization: Your administrator does not permit HOME in headers",
            id="a variable that is not permitted",
        ),
        ({"url": "http://10.0.0.1/"}, {}, "url: 10.0.0.1 is in a private"),
        pytest.param(
            {},
            {"why_not_called": lambda url: f"{url} is 10.0.0.1."},
            "Agent outside cannot be asked: https://agent.example/chat is 10.0.0.1.",
            id="a name that leads inside",
        ),
        pytest.param(
            {"driver": "python", "url": "", "callable": "os:system"},
            {},
            "callable: Your administrator does not permit the module os",
            id="module",
        ),
        pytest.param(
            {"driver": "command", "url": "", "command": ["rm"]},
            {},
            "command: Your administrator does not permit the program 'rm'",
            id="program",
        ),
        pytest.param(
            {
                "driver": "scripted",
                "url": "",
                "rules": [{"reply": "a"}],
                "tools": [{"name": "weather", "url": "https://a.example/", "headers": KEY}],
            },
            {},
            "Tool weather of agent outside needs the environment variable AGENT_KEY",
            id="key of a tool",
        ),
        pytest.param(
            {
                "driver": "scripted",
                "url": "",
                "rules": [{"reply": "a"}],
                "tools": [{"mcp": "files", "tools": ["read"]}],
            },
            {},
            "tools[0].mcp: There is no MCP server 'files'",
            id="server of tools",
        ),
    ],
)
def test_what_an_agent_lacks_keeps_the_run_from_starting(
    columns: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    (problem,) = why_not(http_suite(**columns), **options)

    assert problem.startswith(words)


def test_an_agent_outside_has_no_model_that_could_be_replaced() -> None:
    (problem,) = why_not(http_suite(), model=HAIKU)

    assert problem.startswith("Agent outside has driver http")


def test_a_script_is_no_model_of_an_agent() -> None:
    suite = make_suite(agent=make_agent("helper", driver="model", model="scripted/other", rules=[]))

    (problem,) = why_not(suite)

    assert problem.startswith("Agent helper has scripted/other as its model")


def test_without_the_package_for_mcp_no_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obstacles, "find_spec", lambda _: None)
    tools = [{"mcp": "files", "tools": ["read"]}]
    agent = make_agent("helper", tools=tools)

    with permitting(mcp_servers={"files": "mcp-files"}):
        (problem,) = why_not(make_suite(agent=agent))

    assert problem.startswith("Agent helper uses tools of files. The package for MCP")


def test_a_withdrawn_permission_refuses_the_run_and_leaves_the_suite_readable() -> None:
    suite = make_suite()
    turn = Turn.objects.filter(case__suite=suite).first()
    Assertion.objects.create(turn=turn, type="code", options={"grader": "withdrawn.module:it"})

    spec = Suite.objects.with_everything().get(pk=suite.pk).to_spec()

    assert [check.type for check in spec.cases[0].assertions()][-1] == "code"
    [problem] = why_not(suite)
    assert "Your administrator does not permit the module withdrawn.module" in problem
