"""What people write: suites, agents, fixtures and providers, as specs."""

from collections.abc import Callable
from decimal import Decimal
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import BaseModel, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.conditions import Condition
from evals_app.api.endpoint import (
    FIELDS,
    Endpoint,
    ListEndpoint,
    answers,
    chosen,
    wanted_fields,
)
from evals_app.api.filters import SuiteFilters
from evals_app.api.imports import import_json
from evals_app.api.parsers import YAML_PARSERS, JsonParser
from evals_app.api.permissions import Need, Scope
from evals_app.api.problems import (
    BLANK,
    INVALID_FILES,
    RefusedError,
    error_at,
    refused_data,
    stale,
)
from evals_app.api.shapes import (
    AgentShape,
    FixtureShape,
    ImportShape,
    ProviderShape,
    SuiteShape,
)
from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.suite import SuiteSpec
from evals_app.formats import FormatError, SourceData, SourceFile
from evals_app.library import (
    ChangedSinceError,
    ImportReport,
    Rights,
    import_files,
    version_of_suite,
)
from evals_app.models import Agent, ModelPrice, Provider, Suite
from evals_app.models.concurrency import one_moment
from fixtures_app.library import fixture_specs
from fixtures_app.models import Fixture
from fixtures_app.spec import FixtureSpec

S = TypeVar("S")


_SUITES = Need(Scope.READ, "evals_app.view_suite")
_AGENTS = Need(Scope.READ, "evals_app.view_agent")
_FIXTURES = Need(Scope.READ, "fixtures_app.view_fixture")
_PROVIDERS = Need(Scope.READ, "evals_app.view_provider")


_EDIT = "Written over REST."
_ETAG = OpenApiParameter(
    "ETag", str, OpenApiParameter.HEADER, response=[200, 201], description="Of this version."
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
    description="Write it only if it does not exist.",
)
_CHANGED = "Somebody has changed this since you read it. Read it again, and send your change with its ETag."
# In the order of files.
_PRICES = ModelPrice.objects.order_by("model", "is_batch", "valid_from", "above_prompt_tokens")


class Written(ListEndpoint):
    """A list of what is known by its slug."""

    def get_queryset(self) -> QuerySet[Any, Any]:
        return super().get_queryset().all()

    def row_json(self, row: Any) -> dict[str, Any]:  # noqa: ANN401 - a row
        return {name: _plain(getattr(row, name)) for name in self.serializer_class().get_fields()}


def _plain(value: Any) -> Any:  # noqa: ANN401 - of a column
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


class Suites(Written):
    """Suites in use, or archived ones."""

    needs: ClassVar = {"GET": _SUITES}
    queryset = Suite.objects.select_related("agent").defer(
        "judge_prompt", "judge_context", "rubric"
    )
    serializer_class = SuiteShape
    filterset_class = SuiteFilters

    def row_json(self, row: Suite) -> dict[str, Any]:
        return {
            "slug": row.slug,
            "name": row.name,
            "agent": row.agent.slug,
            "description": row.description,
            "tags": row.tags,
            "updated_at": row.updated_at.isoformat(),
        }

    @extend_schema(
        operation_id="suites_list",
        summary="List suites",
        parameters=[FIELDS],
        responses=answers(SuiteShape(many=True)),
    )
    def get(self, request: Request) -> Response:
        return self.answer_list(request)


class SpecEndpoint(Endpoint):
    """Something that people write, as the spec that they would write."""

    parameters = ("fields",)

    def answer_spec(self, request: Request, spec: BaseModel) -> Response:
        data = spec.model_dump(mode="json", by_alias=True)
        return Response(chosen(data, wanted_fields(request, data)))


def sound(read: Callable[[], S]) -> S:
    """Read a spec from rows; rows of an older version may hold what no longer validates."""
    try:
        with one_moment():
            return read()
    except ValidationError as exc:
        raise stale(exc) from exc


class SuiteDetails(SpecEndpoint):
    """One suite, read and written whole."""

    needs: ClassVar = {"GET": _SUITES, "PUT": Need(Scope.AUTHOR)}
    parser_classes = [JsonParser, *YAML_PARSERS]

    @extend_schema(
        operation_id="suites_get",
        summary="Read a suite with its cases",
        description="The header `ETag` stands for this version of the suite; PUT takes it as "
        "`If-Match`. With `If-None-Match` the answer is 304 while nothing has changed.",
        parameters=[FIELDS, _ETAG],
        responses={**answers(SuiteSpec, 404, 409), (304, None): None},
    )
    def get(self, request: Request, slug: str) -> HttpResponse:
        row, spec = sound(lambda: _read_suite(slug))
        etag = quote_etag(version_of_suite(row, spec))
        answer = self.answer_spec(request, spec)
        answer.headers["ETag"] = etag
        return get_conditional_response(request, etag=etag, response=answer) or answer

    @extend_schema(
        operation_id="suites_put",
        summary="Write a suite whole",
        description="The body is the spec, as GET answers it or as a native file says it. Cases "
        "that it does not name are gone afterwards. With `If-Match` it is refused (412) if "
        "somebody else has changed the suite since; a token can be made to ask for it (428). "
        "`If-None-Match: *` only writes a suite that does not exist yet.",
        parameters=[_IF_MATCH, _IF_NONE_MATCH, _ETAG],
        request={
            "application/json": SuiteSpec,
            "application/yaml": OpenApiTypes.STR,
        },
        responses={
            (201, "application/json"): ImportShape,
            **answers(ImportShape, 412, 428),
        },
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
                message = f"The address says {slug!r}, the body {written.slug!r}."
                raise RefusedError(message, errors=[error_at("slug", message, written.slug)])
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
            # What came as JSON is no file: keys alone say the place.
            raise refused_data(exc.problems, kind=INVALID_FILES) from exc
        status = 201 if report.changes[0].what == "created" else 200
        answer = Response(import_json(report, dry_run=False), status=status)
        answer.headers["ETag"] = quote_etag(report.after)
        return answer


def _read_suite(slug: str) -> tuple[Suite, SuiteSpec]:
    row = Suite.objects.with_everything().filter(slug=slug).first()
    if row is None:
        raise Http404
    return row, row.to_spec()


class Agents(Written):
    """All agents."""

    needs: ClassVar = {"GET": _AGENTS}
    queryset = Agent.objects.defer(
        "system_prompt", "tools", "rules", "settings", "headers", "command"
    )
    serializer_class = AgentShape

    def row_json(self, row: Agent) -> dict[str, Any]:
        return super().row_json(row) | {"model": row.model or None}

    @extend_schema(
        operation_id="agents_list",
        summary="List agents",
        parameters=[FIELDS],
        responses=answers(AgentShape(many=True)),
    )
    def get(self, request: Request) -> Response:
        return self.answer_list(request)


class AgentDetails(SpecEndpoint):
    """One agent."""

    needs: ClassVar = {"GET": _AGENTS}

    @extend_schema(
        operation_id="agents_get",
        summary="Read an agent",
        parameters=[FIELDS],
        responses=answers(AgentSpec, 404, 409),
    )
    def get(self, request: Request, slug: str) -> Response:
        row = Agent.objects.filter(slug=slug).first()
        if row is None:
            raise Http404
        return self.answer_spec(request, sound(row.to_spec))


class Fixtures(Written):
    """All fixtures."""

    needs: ClassVar = {"GET": _FIXTURES}
    queryset = Fixture.objects.all()
    serializer_class = FixtureShape

    @extend_schema(
        operation_id="fixtures_list",
        summary="List fixtures",
        parameters=[FIELDS],
        responses=answers(FixtureShape(many=True)),
    )
    def get(self, request: Request) -> Response:
        return self.answer_list(request)


class FixtureDetails(SpecEndpoint):
    """One fixture, with the entity types of the site."""

    needs: ClassVar = {"GET": _FIXTURES}

    @extend_schema(
        operation_id="fixtures_get",
        summary="Read a fixture",
        parameters=[FIELDS],
        responses=answers(FixtureSpec, 404, 409),
    )
    def get(self, request: Request, slug: str) -> Response:
        if not Fixture.objects.filter(slug=slug).exists():
            raise Http404
        return self.answer_spec(request, sound(lambda: fixture_specs([slug])[0]))


class Providers(Written):
    """All providers."""

    needs: ClassVar = {"GET": _PROVIDERS}
    queryset = Provider.objects.prefetch_related(Prefetch("prices", _PRICES))
    serializer_class = ProviderShape

    def row_json(self, row: Provider) -> dict[str, Any]:
        return super().row_json(row) | {
            "base_url": row.base_url or None,
            "api_key_env": row.api_key_env or None,
            "max_tokens_parameter": row.max_tokens_parameter or None,
            "prices": [
                {name: _plain(value) for name, value in price.written().items()}
                for price in row.prices.all()
            ],
        }

    @extend_schema(
        operation_id="providers_list",
        summary="List providers, and whether their keys are set",
        parameters=[FIELDS],
        responses=answers(ProviderShape(many=True)),
    )
    def get(self, request: Request) -> Response:
        return self.answer_list(request)
