"""What people write: suites, agents, fixtures and providers."""

from datetime import date, datetime
from typing import ClassVar

from django.contrib.auth.models import User
from django.db.models import Prefetch
from drf_spectacular.utils import extend_schema
from pydantic import BaseModel, Field
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.authored.writing import StoredVersion, WrittenEndpoint, describe_written
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import MaxTokensParameter, ProviderKind, ProviderSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.library.changes.import_report import ImportReport, Kind
from evals_app.library.deleting.written import archive_suite, restore_suite
from evals_app.library.importing.file_import import version_of
from evals_app.library.probing import probe_stored, short_budget
from evals_app.models import Agent, ModelPrice, Provider, Suite
from evals_app.reports.answers.probed import ProbedSuiteJson, probed_json
from evals_app.reports.answers.run_answers import Answer, Json
from evals_app.requests.bodies import Nothing, read_body
from evals_app.requests.endpoint import (
    Endpoint,
    ListEndpoint,
    OneEndpoint,
    describe_get,
    find_or_404,
    responses,
)
from evals_app.requests.filters import SuiteFilters
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import sound
from fixtures_app.library import fixture_specs
from fixtures_app.models import EntityType, Fixture
from fixtures_app.spec import FixtureSpec

_AUTHOR = Need(Scope.AUTHOR)  # what is written decides: see library.rights
_SUITES = Need(Scope.READ, "evals_app.view_suite")
_AGENTS = Need(Scope.READ, "evals_app.view_agent")
_FIXTURES = Need(Scope.READ, "fixtures_app.view_fixture")
_SEE_FIXTURE = ("fixtures_app.view_fixture", "fixtures_app.view_entitytype")  # its spec has both
_PROVIDERS = Need(Scope.READ, "evals_app.view_provider")
_ARCHIVE = Need(Scope.AUTHOR, "evals_app.change_suite")  # as on the pages of the admin


def _patching(*permissions: str) -> Need:
    """Who changes parts of something also sees the rest."""
    return Need(Scope.AUTHOR, *permissions)


_IN_USE = "This is refused (409) while suites, even archived ones, use it."
_BY_SLUG = {"id": ("id",), "slug": ("slug",)}
# In the order of files.
_PRICES = ModelPrice.objects.order_by("model", "is_batch", "valid_from", "above_prompt_tokens")
_PROVIDER_ROWS = Provider.objects.prefetch_related(Prefetch("prices", _PRICES))


class SuiteRow(Answer):
    """A suite, as lists show it."""

    slug: str
    name: str
    agent: str = Field(description="Slug.")
    description: str
    tags: list[str]
    baseline: int | None = Field(description="The run that later runs are compared with.")
    archived_at: datetime | None = Field(description="null: it is not archived.")
    updated_at: datetime


class AgentRow(Answer):
    """An agent, as lists show it."""

    slug: str
    name: str
    driver: str
    model: str | None
    description: str
    updated_at: datetime


class FixtureRow(Answer):
    """A set of test data, as lists show it."""

    slug: str
    name: str
    description: str
    updated_at: datetime


class EntityTypeRow(Answer):
    """A type of rows of test data, of the whole site."""

    slug: str
    schema_of_data: dict[str, object] = Field(
        description="JSON Schema of the data of a row; {} allows anything."
    )
    updated_at: datetime


class Price(Answer):
    """What a model costs from a day on, in USD per million tokens of each kind."""

    model: str = Field(description="Its name at the provider; may end in *.")
    valid_from: date
    above_prompt_tokens: int
    is_batch: bool
    input_usd: float
    output_usd: float
    cache_read_usd: float | None
    cache_write_5m_usd: float | None
    cache_write_1h_usd: float | None


class ProviderRow(Answer):
    """A provider, as lists show it."""

    slug: str
    name: str
    kind: ProviderKind
    base_url: str | None
    api_key_env: str | None
    has_key: bool | None = Field(description="Whether its variable is set; null: it needs none.")
    max_tokens_parameter: MaxTokensParameter | None
    max_concurrency: int | None
    requests_per_minute: int | None
    prices: list[Price]


@describe_get("suites_list", "List suites")
class Suites(ListEndpoint):
    """Current suites, or archived ones."""

    needs: ClassVar = {"GET": _SUITES}
    queryset = Suite.objects.select_related("agent").defer(
        "judge_prompt", "judge_context", "rubric"
    )
    answer = SuiteRow
    orderings: ClassVar = _BY_SLUG
    filterset_class = SuiteFilters

    def row_json(self, row: Suite) -> Json:
        return _suite_json(row)


def _suite_json(row: Suite) -> Json:
    return SuiteRow.of_object(row, agent=row.agent.slug, baseline=row.baseline_id)


@describe_written(
    "suites",
    deleting="The suite is hidden from lists and cannot run until someone restores it. It keeps its"
    " cases, runs and results. If it is archived already, nothing changes.",
)
class OneSuite(WrittenEndpoint):
    """One suite with its cases."""

    needs: ClassVar = {
        "GET": _SUITES,
        "PUT": _AUTHOR,
        "PATCH": _patching("evals_app.view_suite"),
        "DELETE": _ARCHIVE,
    }
    kind = "suite"
    answer = SuiteSpec

    def find_version(self, key: str) -> StoredVersion | None:
        for row in Suite.objects.with_everything().filter(slug=key):
            spec = row.to_spec()
            return StoredVersion(spec, version_of("suite", spec, archived_at=row.archived_at))
        return None

    def remove(self, row: Suite, user: User) -> None:
        archive_suite(row, by=user)


class RestoreSuite(Endpoint):
    """Restore an archived suite."""

    needs: ClassVar = {"POST": _ARCHIVE}

    @extend_schema(
        operation_id="suites_restore",
        summary="Restore an archived suite",
        description="It returns to the lists and can run again. If it is not archived, nothing "
        "changes.",
        request=None,
        responses=responses(SuiteRow, 404),
    )
    def post(self, request: Request, slug: str) -> Response:
        read_body(Nothing, request.data)
        row = find_or_404(Suite.objects.all(), slug=slug)
        restore_suite(row, by=request.user)
        return Response(_suite_json(Suite.objects.select_related("agent").get(pk=row.pk)))


@describe_get("suites_check", "Find checks that cannot fail", 409)
class CheckedSuite(OneEndpoint):
    """Whether the checks of a suite can fail: what they pass of the answers that they ought to fail."""

    needs: ClassVar = {"GET": _SUITES}
    model = Suite
    answer = ProbedSuiteJson

    def read(self, key: str) -> Json | None:
        def probe() -> Json | None:
            for suite in Suite.objects.with_everything().filter(slug=key):
                return probed_json(key, probe_stored(suite, is_over=short_budget()))
            return None

        return sound(probe)


@describe_get("agents_list", "List agents")
class Agents(ListEndpoint):
    """All agents."""

    needs: ClassVar = {"GET": _AGENTS}
    queryset = Agent.objects.defer("system_prompt", "tools", "settings", "connection")
    answer = AgentRow
    orderings: ClassVar = _BY_SLUG

    def row_json(self, row: Agent) -> Json:
        return AgentRow.of_object(row, model=row.model or None)


@describe_written(
    "agents",
    deleting="This is refused (409) while suites, even archived ones, or schedules use it.",
)
class OneAgent(WrittenEndpoint):
    """One agent."""

    needs: ClassVar = {
        "GET": _AGENTS,
        "PUT": _AUTHOR,
        "PATCH": _patching("evals_app.view_agent"),
        "DELETE": Need(Scope.AUTHOR, "evals_app.delete_agent"),
    }
    kind = "agent"
    answer = AgentSpec

    def find_version(self, key: str) -> StoredVersion | None:
        row = Agent.objects.filter(slug=key).first()
        return None if row is None else _stored_version(self.kind, row.to_spec())


@describe_get("fixtures_list", "List test data")
class Fixtures(ListEndpoint):
    """All test data."""

    needs: ClassVar = {"GET": _FIXTURES}
    queryset = Fixture.objects.all()
    answer = FixtureRow
    orderings: ClassVar = _BY_SLUG


@describe_written("fixtures", deleting=_IN_USE)
class OneFixture(WrittenEndpoint):
    """One set of test data, with the entity types of the site."""

    needs: ClassVar = {
        "GET": Need(Scope.READ, *_SEE_FIXTURE),
        "PUT": _AUTHOR,
        "PATCH": _patching(*_SEE_FIXTURE),
        "DELETE": Need(Scope.AUTHOR, "fixtures_app.delete_fixture"),
    }
    kind = "fixture"
    answer = FixtureSpec
    after: str

    def find_version(self, key: str) -> StoredVersion | None:
        specs = fixture_specs([key])
        return _stored_version(self.kind, specs[0]) if specs else None

    def note_written(self, slug: str) -> None:
        # A body need not repeat all types, but the answer of GET has them.
        self.after = self.version(slug)

    def version_written(self, report: ImportReport) -> str:
        return self.after


@describe_get("entity_types_list", "List the types of rows of test data")
class EntityTypes(ListEndpoint):
    """The types of rows of test data."""

    needs: ClassVar = {"GET": Need(Scope.READ, "fixtures_app.view_entitytype")}
    queryset = EntityType.objects.all()
    answer = EntityTypeRow
    orderings: ClassVar = _BY_SLUG

    def row_json(self, row: EntityType) -> Json:
        return EntityTypeRow.of_object(row, schema_of_data=row.schema)


@describe_get("providers_list", "List providers, and whether their keys are set")
class Providers(ListEndpoint):
    """All providers."""

    needs: ClassVar = {"GET": _PROVIDERS}
    queryset = _PROVIDER_ROWS
    answer = ProviderRow
    orderings: ClassVar = _BY_SLUG

    def row_json(self, row: Provider) -> Json:
        return ProviderRow.of_object(
            row,
            base_url=row.base_url or None,
            api_key_env=row.api_key_env or None,
            max_tokens_parameter=row.max_tokens_parameter or None,
            prices=[Price.of_object(price) for price in row.prices.all()],
        )


@describe_written(
    "providers",
    deleting="Runs that have started keep using it. Agents that use its models cannot run until there"
    " is a provider with its slug again.",
)
class OneProvider(WrittenEndpoint):
    """One provider with the prices of its models: the name of the variable with its key, never the key."""

    needs: ClassVar = {
        "GET": _PROVIDERS,
        "PUT": _AUTHOR,
        "PATCH": _patching("evals_app.view_provider"),
        "DELETE": Need(Scope.AUTHOR, "evals_app.delete_provider"),
    }
    kind = "provider"
    answer = ProviderSpec

    def find_version(self, key: str) -> StoredVersion | None:
        row = _PROVIDER_ROWS.filter(slug=key).first()
        return None if row is None else _stored_version(self.kind, row.to_spec())


def _stored_version(kind: Kind, spec: BaseModel) -> StoredVersion:
    return StoredVersion(spec, version_of(kind, spec))
