"""What people write: suites, agents, fixtures and providers."""

from collections.abc import Callable
from datetime import date, datetime
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

from django.db.models import Prefetch
from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import BaseModel, Field, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.conditions import Condition
from evals_app.api.endpoint import FIELDS, ListEndpoint, OneEndpoint, describe_get, responses
from evals_app.api.filters import SuiteFilters
from evals_app.api.imports import ImportAnswer, import_json
from evals_app.api.parsers import YAML_PARSERS, JsonParser
from evals_app.api.permissions import Need, Scope
from evals_app.api.problems import (
    BLANK,
    INVALID_FILES,
    RefusedError,
    refused_at,
    refused_data,
    stale,
)
from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.spec import MaxTokensParameter, ProviderKind
from evals_app.engine.suite import SuiteSpec
from evals_app.formats.importing import SourceData, SourceFile
from evals_app.formats.problems import FormatError
from evals_app.library.changes import ImportReport
from evals_app.library.files import ChangedSinceError, import_files, version_of_suite
from evals_app.library.rights import Rights
from evals_app.models import Agent, ModelPrice, Provider, Suite
from evals_app.models.concurrency import one_moment
from evals_app.reports.answers import Answer, Json
from fixtures_app.library import fixture_specs
from fixtures_app.models import Fixture
from fixtures_app.spec import FixtureSpec

S = TypeVar("S")

_SUITES = Need(Scope.READ, "evals_app.view_suite")
_AGENTS = Need(Scope.READ, "evals_app.view_agent")
_FIXTURES = Need(Scope.READ, "fixtures_app.view_fixture")

_EDIT = "Written over REST."
_ETAG = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=[200, 201],
    description="Identifies this version.",
)
_IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The ETag of the version that this replaces.",
)
_IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    enum=["*"],
    description="Write only if it does not exist.",
)
_CHANGED = (
    "Someone changed this after you read it. Read it again, and send your change with the new ETag."
)
# In the order of files.
_PRICES = ModelPrice.objects.order_by("model", "is_batch", "valid_from", "above_prompt_tokens")


class SuiteRow(Answer):
    """A suite, as lists show it."""

    slug: str
    name: str
    agent: str = Field(description="Slug.")
    description: str
    tags: list[str]
    baseline: int | None = Field(description="The run that later runs are compared with.")
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
    """A fixture, as lists show it."""

    slug: str
    name: str
    description: str
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
    filterset_class = SuiteFilters

    def row_json(self, row: Suite) -> Json:
        return SuiteRow.of_object(row, agent=row.agent.slug, baseline=row.baseline_id)


def sound(read: Callable[[], S]) -> S:
    """Read a spec from rows; rows of an older version may no longer be valid."""
    try:
        with one_moment():
            return read()
    except ValidationError as exc:
        raise stale(exc) from exc


def _spec_json(spec: BaseModel | None) -> Json | None:
    return None if spec is None else spec.model_dump(mode="json", by_alias=True)


class OneSuite(OneEndpoint):
    """One suite with its cases."""

    needs: ClassVar = {"GET": _SUITES, "PUT": Need(Scope.AUTHOR)}
    parser_classes = [JsonParser, *YAML_PARSERS]
    etag: str  # of what was read

    @extend_schema(
        operation_id="suites_get",
        summary="Read a suite with its cases",
        description="The header `ETag` identifies this version of the suite; send it with PUT as "
        "`If-Match`. With `If-None-Match`, the answer is 304 if nothing has changed.",
        parameters=[FIELDS, _ETAG],
        responses={**responses(SuiteSpec, 404, 409), (304, None): None},
    )
    def get(self, request: Request, **named: Any) -> HttpResponse:
        answer = super().get(request, **named)
        answer.headers["ETag"] = self.etag
        return get_conditional_response(request, etag=self.etag, response=answer) or answer

    def read(self, key: str) -> Json | None:
        suites = Suite.objects.with_everything().filter(slug=key)
        read = sound(lambda: next(((row, row.to_spec()) for row in suites), None))
        if read is None:
            return None
        self.etag = quote_etag(version_of_suite(*read))
        return _spec_json(read[1])

    @extend_schema(
        operation_id="suites_put",
        summary="Write a suite with its cases",
        description="The body is the spec, as in the answer of GET or in a native file. Cases "
        "that are not in it are deleted. With `If-Match`, it is refused (412) if someone else has "
        "changed the suite; a token can require this header (428). `If-None-Match: *` writes only "
        "a suite that does not exist yet.",
        parameters=[_IF_MATCH, _IF_NONE_MATCH, _ETAG],
        request={"application/json": SuiteSpec, "application/yaml": OpenApiTypes.STR},
        responses={(201, "application/json"): ImportAnswer, **responses(ImportAnswer, 412, 428)},
    )
    def put(self, request: Request, slug: str) -> Response:
        rights = Rights.of(request.user)
        rights.require_some()  # before the body is read
        condition = Condition.of(request)
        body: Any = request.data
        path = f"{slug}.suite.yaml"
        is_yaml = isinstance(body, bytes)
        source = SourceFile(path, body) if is_yaml else SourceData(path, body)

        def approve(report: ImportReport) -> None:
            written = report.changes[0]
            if written.slug != slug:
                message = f"The slug in the address is {slug!r}, but in the body {written.slug!r}."
                raise refused_at("slug", message, written.slug)
            condition.require(is_new=written.what == "created")

        try:
            report = import_files(
                [source],
                dialect="native",
                before=condition.versions,
                edit=_EDIT,
                rights=rights,
                approve=approve,
            )
        except ChangedSinceError as exc:
            raise RefusedError(_CHANGED, status=HTTPStatus.PRECONDITION_FAILED, kind=BLANK) from exc
        except FormatError as exc:
            if is_yaml:
                raise
            # JSON is not a file: it has keys, but no lines.
            raise refused_data(exc.problems, kind=INVALID_FILES) from exc
        status = 201 if report.changes[0].what == "created" else 200
        answer = Response(import_json(report, dry_run=False), status=status)
        answer.headers["ETag"] = quote_etag(report.after)
        return answer


@describe_get("agents_list", "List agents")
class Agents(ListEndpoint):
    """All agents."""

    needs: ClassVar = {"GET": _AGENTS}
    queryset = Agent.objects.defer(
        "system_prompt", "tools", "rules", "settings", "headers", "command"
    )
    answer = AgentRow

    def row_json(self, row: Agent) -> Json:
        return AgentRow.of_object(row, model=row.model or None)


@describe_get("agents_get", "Read an agent", 404, 409)
class OneAgent(OneEndpoint):
    """One agent."""

    needs: ClassVar = {"GET": _AGENTS}
    answer = AgentSpec

    def read(self, key: str) -> Json | None:
        row = Agent.objects.filter(slug=key).first()
        return None if row is None else _spec_json(sound(row.to_spec))


@describe_get("fixtures_list", "List fixtures")
class Fixtures(ListEndpoint):
    """All fixtures."""

    needs: ClassVar = {"GET": _FIXTURES}
    queryset = Fixture.objects.all()
    answer = FixtureRow

    def row_json(self, row: Fixture) -> Json:
        return FixtureRow.of_object(row)


@describe_get("fixtures_get", "Read a fixture", 404, 409)
class OneFixture(OneEndpoint):
    """One fixture, with the entity types of the site."""

    needs: ClassVar = {"GET": _FIXTURES}
    answer = FixtureSpec

    def read(self, key: str) -> Json | None:
        return _spec_json(sound(lambda: next(iter(fixture_specs([key])), None)))


@describe_get("providers_list", "List providers, and whether their keys are set")
class Providers(ListEndpoint):
    """All providers."""

    needs: ClassVar = {"GET": Need(Scope.READ, "evals_app.view_provider")}
    queryset = Provider.objects.prefetch_related(Prefetch("prices", _PRICES))
    answer = ProviderRow

    def row_json(self, row: Provider) -> Json:
        return ProviderRow.of_object(
            row,
            base_url=row.base_url or None,
            api_key_env=row.api_key_env or None,
            max_tokens_parameter=row.max_tokens_parameter or None,
            prices=[Price.of_object(price) for price in row.prices.all()],
        )
