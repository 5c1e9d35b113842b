"""What all views share: rights, known query parameters, and `fields=`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from pydantic import BaseModel
from rest_framework.generics import GenericAPIView
from rest_framework.mixins import ListModelMixin
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.reports.answers.run_answers import Answer
from evals_app.requests.pagination import MAX_ID
from evals_app.requests.parsers import JsonParser, MergePatchParser, merge_patch
from evals_app.requests.permissions import MeetsNeeds, Need
from evals_app.requests.problems import (
    BLANK,
    MEDIA_TYPE,
    MissingError,
    ProblemJson,
    RefusedError,
    refused_at,
    unknown,
)
from evals_app.requests.throttled_view import ThrottledView
from fixtures_app.ground.strict_json import JsonObject

M = TypeVar("M", bound=Model)
W = TypeVar("W", bound=str)
F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V", bound="type[ListEndpoint | OneEndpoint]")

ETAG = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=[200, 201],
    description="Identifies this version.",
)
FIELDS = OpenApiParameter("fields", str, description="Return only these top-level keys: a,b.")
COUNT = OpenApiParameter(
    "count", bool, description="With `true`, `count` is how many there are on all pages."
)


def responses(answer: object, *refused: int, status: int = 200) -> dict[tuple[int, str], object]:
    """Describe the answer of an endpoint, and the statuses of its problems."""
    return {(status, "application/json"): answer, **problems(*refused)}


def problems(*refused: int) -> dict[tuple[int, str], object]:
    """Describe the problems that any endpoint may answer, and those of some more statuses."""
    return {
        (code, MEDIA_TYPE): ProblemJson for code in (400, 401, 403, 404, 406, 429, 503, *refused)
    }


class AnyRenderer(JSONRenderer):
    """Lets clients accept any type; problems are JSON regardless."""

    media_type = "*/*"


class Endpoint(ThrottledView):
    """A view of the REST API.

    `needs` are the rights by method; `parameters` are the known query parameters. Others are refused,
    because a misspelt filter would return everything.
    """

    needs: ClassVar[Mapping[str, Need]]
    parameters: ClassVar[Sequence[str]] = ()
    permission_classes = [MeetsNeeds]
    parser_classes: Sequence[type[BaseParser]] = [JsonParser]

    def get_parsers(self) -> list[BaseParser]:
        if self.request is not None and self.request.method == "PATCH":
            return [JsonParser(), MergePatchParser()]
        return super().get_parsers()

    def merge_body(self, request: Request, stored: JsonObject) -> JsonObject:
        """Return what is stored with the keys that a request changes."""
        if not isinstance(request.data, dict):
            raise refused_at("", "Send a JSON object with the keys to change.")
        merged: JsonObject = merge_patch(stored, request.data)
        return merged

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        if not hasattr(self, (request.method or "").lower()):
            self.http_method_not_allowed(request)  # whatever its parameters are
        for key in kwargs.values():
            if isinstance(key, int) and key > MAX_ID:  # no database can look for it
                message = f"There is nothing with the number {key}: numbers end at {MAX_ID}."
                raise RefusedError(message, status=404, kind=BLANK)
        known = [*self.parameters, "format"]
        for name in request.query_params:
            if name not in known:
                raise unknown(name, known, what="query parameter", keys=name)


_OF_LISTS = ("cursor", "page_size", "fields", "count")


class ListEndpoint(Endpoint, ListModelMixin, GenericAPIView[Any]):
    """A list, page by page: each row that the filters leave is made into JSON by `row_json`."""

    answer: ClassVar[type[Answer]]
    # The columns of an index by what `ordering=` calls it; the last one is unique.
    orderings: ClassVar[Mapping[str, Sequence[str]]] = {"id": ("id",)}

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        filters: Collection[str] = ()
        if request.method in {"GET", "HEAD"}:
            filters = getattr(getattr(self, "filterset_class", None), "base_filters", ())
            sorting = ["ordering"] if self.orderings else []
            self.parameters = [*_OF_LISTS, *sorting, *filters]  # type: ignore[misc]
        super().initial(request, *args, **kwargs)
        for name in filters:
            if request.query_params.get(name) == "":
                # The filter would be left out, and everything returned.
                raise refused_at(name, f"{name} has no value; leave it out to see everything.")

    def row_json(self, row: Any, /) -> JsonObject:
        """Return the JSON of a row of the queryset, with what `add_details` adds."""
        return self.answer.of_object(row)

    def add_details(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Add to the rows of a page what is read for all of them at once."""
        return rows

    def get(self, request: Request, **kwargs: object) -> Response:
        rows = self.filter_queryset(self.get_queryset())
        wanted = wanted_fields(request, self.answer.KEYS)
        page = self.paginate_queryset(rows) or ()
        shown = [only_keys(self.row_json(row), wanted) for row in self.add_details(page)]
        return self.answer_with(rows, shown)

    def answer_with(self, rows: QuerySet[Any], shown: Sequence[JsonObject]) -> Response:
        """Return a page; `rows` are those of all pages, and counted only if that is asked for."""
        answer = self.get_paginated_response(shown)
        if flag(self.request, "count"):
            answer.data = {"count": rows.count(), **answer.data}
        return answer


class OneEndpoint(ABC, Endpoint):
    """One thing with all its keys, unless `fields=` names some of them."""

    answer: ClassVar[type[BaseModel]]
    model: ClassVar[type[Model]]  # of what is named in the address
    parameters: ClassVar[Sequence[str]] = ("fields",)

    @abstractmethod
    def read(self, key: Any, /) -> JsonObject | None:
        """Return it as JSON; None if it does not exist."""

    def get(self, request: Request, **named: object) -> HttpResponse:
        (key,) = named.values()
        data = self.read(key)
        if data is None:
            raise MissingError(self.model, key)
        return Response(only_keys(data, wanted_fields(request, data)))


def find_or_404(rows: QuerySet[M], **key: object) -> M:
    """Return the row with this key; a refusal names the last part of the key."""
    row = rows.filter(**key).first()
    if row is None:
        raise MissingError(rows.model, [*key.values()][-1])
    return row


def new_response(answer: object, name: str, *args: int | str) -> Response:
    """Return the response for something new, which is at the address of this name."""
    address = reverse(f"api:{name}", args=args)
    return Response(answer, status=201, headers={"Location": address})


def describe_patch(
    noun: str, a_kind: str, answer: object, *refused: int, **more: Any
) -> Callable[[F], F]:
    """Describe a PATCH for the schema."""
    description = (
        "A JSON Merge Patch (RFC 7396) of what PUT takes: keys that are left out stay as they are, null"
        " means the default, a list replaces the list."
    )
    return extend_schema(
        operation_id=f"{noun}_patch",
        summary=f"Change parts of {a_kind}",
        description=description,
        # Its own media type is accepted, too; generated clients take one body.
        request={JsonParser.media_type: OpenApiTypes.OBJECT},
        responses=responses(answer, 404, *refused),
        **more,
    )


def describe_get(operation_id: str, summary: str, *refused: int) -> Callable[[V], V]:
    """Describe a view of `answer` for the schema."""

    def describe(view: V) -> V:
        more = list(_list_parameters(view)) if issubclass(view, ListEndpoint) else []
        schema = extend_schema(
            operation_id=operation_id,
            summary=summary,
            parameters=[FIELDS, *more],
            responses=responses(view.answer, *refused),
        )
        return extend_schema_view(get=schema)(view)

    return describe


def _list_parameters(view: type[ListEndpoint]) -> Iterator[OpenApiParameter]:
    yield COUNT
    if words := [sign + name for name in view.orderings for sign in ("", "-")]:
        text = "What rows are sorted by, with `-` from the last to the first."
        yield OpenApiParameter("ordering", str, enum=words, description=text)


def wanted_fields(request: Request, known: Collection[str]) -> list[str] | None:
    """Read `fields=`; None means all. An unknown field is refused."""
    given = request.query_params.get("fields")
    if given is None:
        return None
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if name not in known:
            raise unknown(name, known, what="field", keys="fields")
    return names


def only_keys(data: JsonObject, wanted: Sequence[str] | None) -> JsonObject:
    """Return only the wanted keys, in their original order."""
    if wanted is None:
        return data
    return {key: value for key, value in data.items() if key in wanted}


def one_of(request: Request, name: str, words: Sequence[W]) -> W | None:
    """Read a query parameter that is one of some words; None if it is missing."""
    given = request.query_params.get(name)
    if given is None:
        return None
    for word in words:
        if given == word:
            return word
    raise unknown(given, words, what=name, keys=name)


def flag(request: Request, name: str) -> bool:
    """Read a query parameter that is true or false."""
    given = request.query_params.get(name, "false")
    if given not in {"true", "false"}:
        raise refused_at(name, f"{name} must be true or false.")
    return given == "true"
