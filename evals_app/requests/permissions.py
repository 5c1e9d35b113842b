"""Rights: the scope of the token, and the Django permissions of its user."""

from django.contrib.auth.models import AnonymousUser, User
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from evals_app.library.importing.rights import Rights
from evals_app.models import ApiToken
from evals_app.requests.auth import token_of
from evals_app.runs.sent_decisions import Shown

Scope = ApiToken.Scope
# What a token with each scope may do.
_INCLUDED = {
    Scope.SPANS: {Scope.SPANS},
    Scope.CONNECT: {Scope.CONNECT},
    Scope.READ: {Scope.READ},
    Scope.RUN: {Scope.SPANS, Scope.READ, Scope.RUN},
    Scope.AUTHOR: set(Scope),
}
_SAFE = {"HEAD": "GET", "OPTIONS": "GET"}


def includes(scope: str, needed: Scope) -> bool:
    """Whether a token with this scope may do what needs another one."""
    return needed in _INCLUDED[Scope(scope)]


class Need:
    """What a method requires: a scope, and permissions (none: checked later)."""

    def __init__(self, scope: ApiToken.Scope, *permissions: str) -> None:
        self.scope = scope
        self.permissions = permissions


class MeetsNeeds(BasePermission):
    """Checks both: a token may do no more than its user, and no more than its scope."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        needs: dict[str, Need] = getattr(view, "needs", {})
        method = request.method or ""
        need = needs.get(method) or needs.get(_SAFE.get(method, ""))
        if need is None:
            return True  # the view does not have this method and answers so
        token = token_of(request)
        scope = None if token is None else Scope(token.scope)
        if lack := lacking(need, user=request.user, scope=scope):
            raise PermissionDenied(lack)
        return True


def lacking(need: Need, *, user: User | AnonymousUser, scope: ApiToken.Scope | None) -> str:
    """Return what a user, or their token with this scope, lacks; empty if nothing."""
    if scope is not None and not includes(scope, need.scope):
        return f"This requires a token with scope {need.scope}; yours has {scope}."
    return next((why for name in need.permissions if (why := _lack(user, name))), "")


def require(request: Request, permission: str) -> None:
    """Refuse a request (PermissionDenied) whose user lacks a permission."""
    if lack := _lack(request.user, permission):
        raise PermissionDenied(lack)


def shown_to(user: User | AnonymousUser) -> Shown:
    """Return what this user may see of a decision that is sent."""
    return Shown(
        replies=user.has_perm("evals_app.view_execution"),
        settings=Rights.of(user).may_see_everything(),
    )


def _lack(user: User | AnonymousUser, permission: str) -> str:
    if user.has_perm(permission):
        return ""
    return f"The user {user.get_username()} does not have permission {permission}."
