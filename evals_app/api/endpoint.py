"""What every view shares: needs, query parameters that are known, and `fields=`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from drf_spectacular.utils import OpenApiParameter
from rest_framework.generics import GenericAPIView
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.parsers import JsonParser
from evals_app.api.permissions import MeetsNeeds, Need
from evals_app.api.problems import MEDIA_TYPE, RefusedError, error_at, unknown
from evals_app.api.shapes import ProblemShape, Shape
from evals_app.api.throttles import Counted

W = TypeVar("W", bound=str)

FIELDS = OpenApiParameter("fields", str, description="Answer only these top-level keys: a,b.")


def answers(shape: Any, *refused: int, status: int = 200) -> dict[tuple[int, str], Any]:  # noqa: ANN401
    """Describe what an endpoint answers, and with which statuses it may refuse."""
    problems = {(each, MEDIA_TYPE): ProblemShape for each in (400, 401, 403, 429, 503, *refused)}
    return {(status, "application/json"): shape, **problems}


class Endpoint(Counted):
    """A view of the REST API.

    `needs` says by method what it takes to be let in, `parameters` which query parameters exist;
    others are refused, because a misspelt filter would answer with everything.
    """

    needs: ClassVar[Mapping[str, Need]]
    parameters: ClassVar[Sequence[str]] = ()
    permission_classes = [MeetsNeeds]
    parser_classes: Sequence[type[BaseParser]] = [JsonParser]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        known = [*self.parameters, "format"]
        for name in request.query_params:
            if name not in known:
                message = unknown(name, known, what="query parameter")
                raise RefusedError(message, errors=[error_at(name, message)])


class ListEndpoint(ABC, Endpoint, GenericAPIView[Any]):
    """A list, page by page: rows as mappings, each made into JSON by `row_json`."""

    serializer_class: type[Shape]

    def list_parameters(self) -> Sequence[str]:
        filters = getattr(self, "filterset_class", None)
        return ["cursor", "page_size", "fields", *(filters.base_filters if filters else ())]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method in {"GET", "HEAD"}:
            self.parameters = self.list_parameters()  # type: ignore[misc]
        super().initial(request, *args, **kwargs)

    @abstractmethod
    def row_json(self, row: Any) -> dict[str, Any]:  # noqa: ANN401 - a row, or a mapping of columns
        """Make a row of the queryset into JSON."""

    def answer_list(self, request: Request) -> Response:
        """Answer a page of what the filters leave."""
        wanted = wanted_fields(request, self.serializer_class().get_fields())
        rows = self.filter_queryset(self.get_queryset())
        page = self.paginate_queryset(rows) or ()
        return self.get_paginated_response([chosen(self.row_json(row), wanted) for row in page])


def wanted_fields(request: Request, known: Mapping[str, Any]) -> list[str] | None:
    """Read `fields=`; None means all.

    Raises:
        RefusedError: one of them does not exist.
    """
    given = request.query_params.get("fields")
    if given is None:
        return None
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if name not in known:
            message = unknown(name, known, what="field")
            raise RefusedError(message, errors=[error_at("fields", message)])
    return names


def chosen(data: dict[str, Any], wanted: Sequence[str] | None) -> dict[str, Any]:
    """Give only the wanted keys, in their usual order."""
    if wanted is None:
        return data
    return {key: value for key, value in data.items() if key in wanted}


def one_of(request: Request, name: str, words: Sequence[W]) -> W | None:
    """Read a query parameter that is one of some words; None if it is not there.

    Raises:
        RefusedError: it is none of them.
    """
    given = request.query_params.get(name)
    if given is None:
        return None
    for word in words:
        if given == word:
            return word
    message = unknown(given, words, what=name)
    raise RefusedError(message, errors=[error_at(name, message)])


def flag(request: Request, name: str) -> bool:
    """Read a query parameter that is true or false.

    Raises:
        RefusedError: it is something else.
    """
    given = request.query_params.get(name, "false")
    if given not in {"true", "false"}:
        message = f"{name} is true or false."
        raise RefusedError(message, errors=[error_at(name, message)])
    return given == "true"
