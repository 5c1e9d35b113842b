"""People: who asks, their own tokens, and for admins everyone."""

from datetime import datetime
from typing import Any, ClassVar, Literal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.library.changes.edits import note_deletion
from evals_app.models import ApiToken
from evals_app.models.people.names import shown_name
from evals_app.reports.answers.run_answers import Answer, Json
from evals_app.requests.auth import token_of, user_of
from evals_app.requests.endpoint import (
    Endpoint,
    ListEndpoint,
    describe_get,
    find_or_404,
    problems,
    responses,
)
from evals_app.requests.permissions import Need, Scope


class TokenRow(Answer):
    """A token: what it is for and may do, never the token itself."""

    id: int
    name: str
    prefix: str = Field(description="What it begins with.")
    scope: Literal["spans", "read", "run", "author"]
    requires_if_match: bool
    expires_at: datetime | None = Field(description="null: never.")
    last_used_at: datetime | None = Field(description="To the minute; null: never.")
    created_at: datetime


class MeAnswer(Answer):
    """Who asks, and what they may do."""

    username: str
    name: str
    email: str
    roles: list[str]
    is_superuser: bool = Field(description="May do everything.")
    permissions: list[str] = Field(description="Of the person; a token also needs the scope.")
    token: TokenRow | None = Field(description="The token that was sent; null: a session.")


class PersonRow(Answer):
    """A person, as lists show them."""

    id: int
    username: str
    name: str
    email: str
    roles: list[str]
    is_active: bool
    is_superuser: bool
    last_login: datetime | None
    date_joined: datetime


class Me(Endpoint):
    """Who asks, and what they may do."""

    needs: ClassVar = {"GET": Need(Scope.READ)}

    @extend_schema(operation_id="me", summary="Who am I?", responses=responses(MeAnswer))
    def get(self, request: Request) -> Response:
        user, token = user_of(request), token_of(request)
        answer = MeAnswer.of(
            username=user.get_username(),
            name=shown_name(user),
            email=user.email,
            roles=_roles(user),
            is_superuser=user.is_superuser,
            permissions=sorted(user.get_all_permissions()),
            token=None if token is None else TokenRow.of_object(token),
        )
        return Response(answer)


@describe_get("tokens_list", "List your own tokens")
class OwnTokens(ListEndpoint):
    """Your own tokens, newest first."""

    needs: ClassVar = {"GET": Need(Scope.READ, "evals_app.view_apitoken")}
    queryset = ApiToken.objects.none()  # for the schema
    answer = TokenRow

    def get_queryset(self) -> QuerySet[ApiToken]:
        return _tokens(self.request)


class OwnToken(Endpoint):
    """One of your own tokens."""

    needs: ClassVar = {"DELETE": Need(Scope.AUTHOR, "evals_app.delete_apitoken")}

    @extend_schema(
        operation_id="tokens_revoke",
        summary="Revoke a token of your own",
        description="It stops working at once, also if it is the one that was sent.",
        request=None,
        responses={(204, None): None, **problems(404)},
    )
    def delete(self, request: Request, pk: int) -> Response:
        token = find_or_404(_tokens(request), pk=pk)
        with transaction.atomic():
            note_deletion(token, user=request.user)
            token.delete()
        return Response(status=204)


@describe_get("people_list", "List the people of the site")
class People(ListEndpoint):
    """All people, newest first."""

    needs: ClassVar = {"GET": Need(Scope.READ, "auth.view_user")}
    queryset = User.objects.prefetch_related("groups")
    answer = PersonRow
    orderings: ClassVar = {"id": ("id",), "username": ("username",)}

    def row_json(self, row: User) -> Json:
        return PersonRow.of_object(row, name=shown_name(row), roles=_roles(row))


def _tokens(request: Request) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(user=user_of(request))


def _roles(user: Any) -> list[str]:
    return sorted(group.name for group in user.groups.all())
