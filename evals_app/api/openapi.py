"""The schema of the API, its pages, and what it must be told about tokens."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.response import Response
from rest_framework.views import APIView

from evals_app.api.auth import KEYWORD
from evals_app.api.problems import problem
from evals_app.api.spec_schema import SpecSchemas

__all__ = ["NotFound", "SpecSchemas", "TokenScheme"]


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema describes tokens."""

    target_class = "evals_app.api.auth.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ANN401
        return {"type": "http", "scheme": KEYWORD.lower()}


class NotFound(APIView):
    """Any other address below /api/: every method ends here."""

    authentication_classes = ()
    permission_classes = ()
    schema = None  # not part of the API

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Response:  # noqa: ANN401
        slash = "" if request.path.endswith("/") else " Addresses end in a slash."
        return problem(404, f"There is nothing at {request.path}.{slash} See /api/docs/.")

    options = http_method_not_allowed
