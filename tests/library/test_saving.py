from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.basics.permits import OUR_COMMAND, OUR_MODULE
from evals_app.engine.specs.agent_spec import AgentSpec, ModelAgent
from evals_app.engine.specs.base_spec import ProviderSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import SourceFile, read_files
from evals_app.library.changes.spec_changes import compare_specs, same
from evals_app.library.importing.file_import import import_files
from evals_app.library.saving import save_agent, save_prices, save_suite, write_providers
from evals_app.models import Agent, Assertion, Case, Provider, Suite, Turn
from tests.engine.permitting import permitting
from tests.library.written import AGENT, EVERYTHING, JUDGE, PROVIDER

pytestmark = pytest.mark.django_db

SUITE: dict[str, Any] = {
    "suite": "Talks",
    "slug": "talks",
    "agent": "shop",
    "assertions": [{"type": "not_contains", "value": "sorry"}],
    "cases": [
        {
            "name": "first",
            "context_params": {"count": 1},
            "turns": [
                {"user": "Hello", "assertions": [{"type": "contains", "value": "hello"}]},
                {"user": "Bye"},
            ],
            "final_assertions": [{"type": "contains", "value": "bye"}],
        },
        {"name": "second", "turns": [{"user": "One"}]},
        {"name": "third", "turns": [{"user": "Two"}]},
    ],
}


def make_spec(change: Callable[[dict[str, Any]], object] | None = None) -> SuiteSpec:
    data = SuiteSpec.model_validate(SUITE).model_dump(mode="json")
    if change is not None:
        change(data)
    return SuiteSpec.model_validate(data)


@pytest.fixture(autouse=True)
def agents() -> None:
    import_files([AGENT, JUDGE])


def whole(slug: str = "talks") -> Suite:
    return Suite.objects.with_everything().get(slug=slug)


def test_every_key_of_a_suite_comes_back_from_its_rows() -> None:
    import_files(EVERYTHING)

    spec = read_files(EVERYTHING, known=ExistingObjects()).suites[0].spec
    assert whole("refunds").to_spec() == spec
    assert same(whole("refunds").to_spec(), spec)


def test_every_key_of_an_agent_comes_back_from_its_row() -> None:
    import_files(EVERYTHING)

    for agent in read_files(EVERYTHING).agents:
        assert Agent.objects.get(slug=agent.spec.slug).to_spec() == agent.spec


@pytest.mark.parametrize(
    "changes",
    [
        {
            "driver": "http",
            "url": "https://a.example/chat",
            "headers": {"X-Tenant": "acme", "Authorization": {"env": "AGENT_KEY"}},
            "protocol": "openai-chat",
            "remote_model": "big",
            "system_prompt": "Be kind.",
        },
        {
            "driver": "http",
            "url": "https://a.example/chat",
            "request": {"question": "{{input}}", "with": [1, {"session": "{{session_id}}"}]},
            "response": {
                "text": "data.answer",
                "tool_calls": "data.steps",
                "name": "tool",
                "arguments": "input",
                "result": "$",
                "input_tokens": "usage.in",
                "output_tokens": "usage['out put']",
            },
            "stream": {"format": "ndjson", "text_events": ["token"]},
            "pace": {"max_concurrency": 2},
        },
        {
            "driver": "http",
            "url": "https://a.example/chat",
            "poll": {"interval_s": 0.5, "url": "https://b.example/{{job}}", "job": "$"},
            "oauth": {
                "token_url": "https://c.example/token",
                "client_id": "d",
                "client_secret": {"env": "AGENT_SECRET"},
                "scope": "a b",
            },
        },
        {"driver": "command", "command": [*OUR_COMMAND.split(), "--loud"]},
        {"driver": "python", "callable": f"{OUR_MODULE}.agents:analyst"},
        {
            "model": "anthropic/claude-haiku-5-5",
            "tools": [
                "entity.get",
                {"name": "orders.find", "rules": [{"when": {"a": 1}, "result": [1, 1.0, True]}]},
                {"name": "weather", "url": "https://a.example/", "method": "GET"},
            ],
        },
    ],
    ids=["http", "own JSON", "later", "command", "python", "tools"],
)
def test_an_agent_of_any_kind_comes_back_from_its_row(changes: dict[str, Any]) -> None:
    spec = AgentSpec.model_validate({"agent": "Outside", "slug": "outside"} | changes)

    assert save_agent(spec) == "created"
    assert save_agent(spec) == "unchanged"
    row = Agent.objects.get(slug="outside")
    assert row.to_spec() == spec
    assert row.tool_names == spec.tool_names


def test_an_agent_that_was_permitted_once_can_still_be_read_and_exported() -> None:
    written = {"agent": "A", "slug": "a", "driver": "http", "url": "http://10.0.0.1/"}
    with permitting(hosts=("10.0.0.1",)):
        save_agent(AgentSpec.model_validate(written))

    assert Agent.objects.get(slug="a").connection["url"] == "http://10.0.0.1/"


OURS = b"""\
provider: Ours
slug: ours
kind: openai
base_url: https://models.example/v1
api_key_env: PROVIDER_OURS
max_tokens_parameter: max_tokens
"""


def save_provider(spec: ProviderSpec) -> str:
    entries = compare_specs(Provider.objects.prefetch_related("prices"), [spec])
    write_providers(entries)
    return entries[0].what


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(PROVIDER, id="with prices"),
        pytest.param(SourceFile("ours.provider.yaml", OURS), id="a server of one's own"),
    ],
)
def test_every_key_of_a_provider_comes_back_from_its_rows(file: SourceFile) -> None:
    spec = read_files([file]).providers[0].spec

    assert save_provider(spec) == "created"
    assert save_provider(spec) == "unchanged"
    assert Provider.objects.get(slug=spec.slug).to_spec() == spec


def test_prices_are_replaced_and_those_that_stay_keep_their_rows() -> None:
    spec = read_files([PROVIDER]).providers[0].spec
    save_provider(spec)
    provider = Provider.objects.get(slug="proxy")
    before = {
        price.above_prompt_tokens: price.pk for price in provider.prices.filter(is_batch=False)
    }
    base, longer, _ = spec.prices

    dearer = longer.model_copy(update={"output_usd": Decimal(9)})
    saved = save_provider(spec.model_copy(update={"prices": [base, dearer]}))

    assert saved == "updated"
    after = {price.above_prompt_tokens: price for price in provider.prices.all()}
    assert set(after) == {0, 100_000}
    assert after[0].pk == before[0]
    assert after[100_000].output_usd == 9


def test_prices_may_change_places() -> None:
    spec = read_files([PROVIDER]).providers[0].spec
    save_provider(spec)
    base, longer, batch = spec.prices

    swapped = [
        base.model_copy(update={"is_batch": True}),
        longer.model_copy(update={"above_prompt_tokens": 0}),
        batch.model_copy(update={"valid_from": date(2026, 6, 1)}),
    ]
    save_prices(Provider.objects.get(slug="proxy"), swapped)

    stored = Provider.objects.get(slug="proxy").to_spec()
    assert stored == ProviderSpec.model_validate(dict(spec) | {"prices": swapped})


CHANGES = [
    pytest.param(lambda s: s.update(suite="Chats"), id="name"),
    pytest.param(lambda s: s.update(agent="strict"), id="agent"),
    pytest.param(lambda s: s["gates"].update(min_pass_rate=0.5), id="gate"),
    pytest.param(lambda s: s["gates"].update(max_cost_usd=0.5), id="gate on cost"),
    pytest.param(lambda s: s["cases"][0]["limits"].update(max_cost_usd=0.01), id="limit on cost"),
    pytest.param(lambda s: s["assertions"][0].update(value="excuse"), id="default assertion"),
    pytest.param(lambda s: s.update(assertions=[]), id="no default assertions"),
    pytest.param(lambda s: s["cases"].reverse(), id="order of cases"),
    pytest.param(lambda s: s["cases"].pop(0), id="a case less"),
    pytest.param(lambda s: s["cases"][0].update(name="new"), id="a case renamed"),
    pytest.param(
        lambda s: s["cases"].insert(0, {"name": "zero", "turns": [{"user": "0"}]}), id="a case more"
    ),
    pytest.param(lambda s: s["cases"][1].update(tags=["slow"]), id="a case's column"),
    pytest.param(lambda s: s["cases"][0]["context_params"].update(count=1.0), id="1 to 1.0"),
    pytest.param(lambda s: s["cases"][0]["context_params"].update(count=True), id="1 to true"),
    pytest.param(lambda s: s["cases"][0]["turns"].reverse(), id="order of turns"),
    pytest.param(lambda s: s["cases"][0]["turns"][1].update(expected=""), id="expected empty"),
    pytest.param(lambda s: s["cases"][0]["turns"][0].update(inherit=True), id="inherit"),
    pytest.param(lambda s: s["cases"][0]["turns"][0].update(assertions=[]), id="unscored"),
    pytest.param(
        lambda s: s["cases"][0]["turns"][0]["assertions"][0].update(case_sensitive=True),
        id="option",
    ),
    pytest.param(lambda s: s["cases"][0].update(final_assertions=[]), id="no final assertions"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_differs_is_written_and_only_once(change: Callable[[dict[str, Any]], object]) -> None:
    save_suite(make_spec())
    wanted = make_spec(change)

    first, second = save_suite(wanted), save_suite(wanted)

    assert (first, second) == ("updated", "unchanged")
    assert same(whole().to_spec(), wanted)


SAME = [
    pytest.param(dict.copy, id="nothing"),
    pytest.param(lambda s: s["cases"][0].pop("description"), id="a default left out"),
    pytest.param(lambda s: s["cases"][0]["turns"][0]["assertions"][0].update(weight=1), id="int"),
    pytest.param(lambda s: s.update(fixtures=[], tags=[]), id="empty lists"),
    pytest.param(lambda s: s["cases"][0].update(limits={}), id="no limits"),
]


@pytest.mark.parametrize("change", SAME)
def test_what_says_the_same_is_not_written(change: Callable[[dict[str, Any]], object]) -> None:
    save_suite(make_spec())
    before = whole().updated_at

    saved = save_suite(make_spec(change))

    assert saved == "unchanged"
    assert whole().updated_at == before


def test_cases_keep_their_rows_by_name_and_others_stay_untouched() -> None:
    save_suite(make_spec())
    before = {case.name: case for case in Case.objects.all()}
    turns = set(Turn.objects.filter(case__name="second").values_list("pk", flat=True))

    save_suite(make_spec(lambda s: s["cases"][0]["turns"][0].update(user="Hi")))

    after = {case.name: case for case in Case.objects.all()}
    assert {name: case.pk for name, case in after.items()} == {
        name: case.pk for name, case in before.items()
    }
    assert after["first"].updated_at > before["first"].updated_at
    assert after["second"].updated_at == before["second"].updated_at
    assert set(Turn.objects.filter(case__name="second").values_list("pk", flat=True)) == turns


def test_removed_cases_leave_nothing_behind() -> None:
    save_suite(make_spec())

    save_suite(make_spec(lambda s: s.update(cases=s["cases"][1:2], assertions=[])))

    assert Case.objects.count() == 1
    assert Turn.objects.count() == 1
    assert not Assertion.objects.exists()


def test_rows_that_no_longer_validate_are_replaced() -> None:
    save_suite(make_spec())
    Assertion.objects.filter(turn__isnull=False).update(type="of an older version")

    saved = save_suite(make_spec())

    assert saved == "updated"
    assert same(whole().to_spec(), make_spec())


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        pytest.param({"agent": "nobody"}, "agent 'nobody'", id="agent"),
        pytest.param({"fixtures": ["orders"]}, "test data 'orders'", id="fixture"),
    ],
)
def test_a_suite_of_what_does_not_exist_is_refused_and_leaves_nothing_behind(
    changes: dict[str, Any], missing: str
) -> None:
    with pytest.raises(ValueError, match=missing):
        save_suite(make_spec(lambda suite: suite.update(changes)))

    assert not Suite.objects.exists()


def test_the_number_of_queries_does_not_grow_with_the_cases(
    django_assert_max_num_queries: Any,
) -> None:
    cases = [
        {
            "name": f"case {n}",
            "turns": [{"user": "Hi", "assertions": [{"type": "contains", "value": "x"}]}],
        }
        for n in range(200)
    ]

    with django_assert_max_num_queries(30):
        save_suite(make_spec(lambda s: s.update(cases=cases)))
    with django_assert_max_num_queries(12):
        assert save_suite(make_spec(lambda s: s.update(cases=cases))) == "unchanged"


def test_an_agent_spec_with_defaults_stores_no_defaults() -> None:
    save_agent(ModelAgent(agent="Plain", slug="plain", model="anthropic/claude-haiku-5-5"))  # type: ignore[arg-type]

    assert Agent.objects.get(slug="plain").settings == {}


# Archived suites, and where suites come from


def test_saving_an_archived_suite_restores_it_and_counts_as_a_change() -> None:
    save_suite(make_spec())
    Suite.objects.archive()

    first, second = save_suite(make_spec()), save_suite(make_spec())

    assert (first, second) == ("updated", "unchanged")
    assert Suite.objects.get().archived_at is None


def test_a_suite_keeps_the_file_it_came_from_until_it_comes_from_another() -> None:
    def seen(source: str) -> tuple[str, str]:
        saved = save_suite(make_spec(), source=source)
        return saved, Suite.objects.get().source

    assert seen("/a/x.suite.yaml") == ("created", "/a/x.suite.yaml")
    assert seen("") == ("unchanged", "/a/x.suite.yaml")
    assert seen("/b/x.suite.yaml") == ("unchanged", "/b/x.suite.yaml")
