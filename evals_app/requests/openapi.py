"""The schema of the API, its pages, and how it describes tokens and pydantic models."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import reverse
from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from pydantic import Field
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evals_app import API_VERSION, __version__
from evals_app.reports.answers.run_answers import Answer, Json, schema_name
from evals_app.reports.reference.spec_schema import model_schema
from evals_app.requests.auth import KEYWORD, token_of
from evals_app.requests.endpoint import Endpoint, responses
from evals_app.requests.permissions import Need, Scope, includes
from evals_app.requests.problems import problem
from evals_app.requests.throttled_view import ThrottledView

_COMPONENT = "#/components/schemas/{model}"


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema describes tokens."""

    target_class = "evals_app.requests.auth.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": KEYWORD.lower()}


class ModelSchemas(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Lets `extend_schema` take a model: it and its parts become components."""

    target_class = "pydantic.BaseModel"
    match_subclasses = True
    priority = 1  # before the one of drf-spectacular, which describes a spec after its validation

    def get_name(self, auto_schema: object, direction: object) -> str:
        set_override(self.target, "suppress_collision_warning", value=True)
        return schema_name(self.target.__name__)

    def map_serializer(self, auto_schema: Any, direction: object) -> Json:
        whole, parts = model_schema(self.target, reference=_COMPONENT)
        for name, schema in parts.items():
            component = ResolvedComponent(  # type: ignore[no-untyped-call]
                name=name, type=ResolvedComponent.SCHEMA, object=name, schema=schema
            )
            auto_schema.registry.register_on_missing(component)
        return whole


class MaySeeDocs(BasePermission):
    """Lets in those whom the operator allows to read the documentation."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if settings.API_DOCS == "off":
            raise Http404
        token = token_of(request)
        is_in = request.user.is_authenticated and (
            token is None or includes(token.scope, Scope.READ)
        )
        return settings.API_DOCS == "public" or bool(is_in)


class Schema(ThrottledView, SpectacularAPIView):
    """The schema."""

    http_method_names = ["get", "head"]
    permission_classes = [MaySeeDocs]


class Docs(ThrottledView, SpectacularSwaggerSplitView):
    """The pages to read and try the API."""

    http_method_names = ["get", "head"]
    permission_classes = [MaySeeDocs]

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]  # a page
        # A person opened the page, not a program with a wrong token.
        if isinstance(exc, NotAuthenticated) and self.request.method == "GET":
            return redirect_to_login(self.request.get_full_path())
        return super().handle_exception(exc)


class ApiResource(Answer):
    """An address, and what is there."""

    address: str = Field(description="Parts in braces are ids or slugs.")
    methods: list[str]
    about: str


class ApiIndex(Answer):
    """What there is below /api/."""

    version: str = Field(description="Of this API, as in the header API-Version.")
    evalwell: str = Field(description="Version of the product.")
    schema_url: str = Field(description="The OpenAPI document.")
    docs_url: str
    resources: list[ApiResource]


class Index(Endpoint):
    """All addresses of this API."""

    needs: ClassVar = {"GET": Need(Scope.READ)}
    views: Sequence[tuple[str, type[APIView], str]] = ()  # address, view, name

    @extend_schema(
        operation_id="index", summary="List all addresses", responses=responses(ApiIndex)
    )
    def get(self, request: Request) -> Response:
        answer = ApiIndex.of(
            version=API_VERSION,
            evalwell=__version__,
            schema_url=reverse("api:schema"),
            docs_url=reverse("api:docs"),
            resources=[_resource(address, view) for address, view, _ in self.views],
        )
        return Response(answer)


def _resource(address: str, view: type[APIView]) -> Json:
    parts = re.sub(r"<\w+:(\w+)>", r"{\1}", address).replace("{pk}", "{id}")
    return ApiResource.of(
        address=reverse("api:index") + parts,
        methods=[*getattr(view, "needs", {"GET": None})],
        about=str(view.__doc__).partition("\n")[0],
    )


class NotFound(ThrottledView):
    """Any other address below /api/, with any method."""

    authentication_classes = ()
    permission_classes = ()
    schema = None  # not part of the API

    def http_method_not_allowed(
        self, request: HttpRequest, *args: object, **kwargs: object
    ) -> Response:
        slash = "" if request.path.endswith("/") else " Addresses end with a slash."
        return problem(
            404, f"There is nothing at {request.path}.{slash} /api/ lists what there is."
        )

    options = http_method_not_allowed
