"""Authentication by tokens in the Authorization header."""

from datetime import timedelta
from typing import cast

from django.contrib.auth.models import AbstractBaseUser, User
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from evals_app.models import ApiToken
from evals_app.models.people.activity import source_of_acts

KEYWORD = "Bearer"
# Otherwise every request of a busy client would write to the database.
NOTED_EVERY = timedelta(minutes=1)


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer ew_...`; the token acts as its user, within its scope."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, ApiToken] | None:
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != KEYWORD.lower().encode():
            return None
        if len(words) != 2:  # noqa: PLR2004 - the keyword and the token
            raise AuthenticationFailed(f"Write the header as Authorization: {KEYWORD} TOKEN.")
        token = ApiToken.valid(words[1].decode("latin-1"))
        if token is None:
            raise AuthenticationFailed("This token does not exist, or it has expired.")
        if not token.user.is_active:
            raise AuthenticationFailed("The user of this token is not active.")
        note_use(token)
        source_of_acts().token = token.name
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return KEYWORD


def note_use(token: ApiToken) -> None:
    """Store when a token was last used, at most once a minute."""
    if token.last_used_at is not None and token.last_used_at > timezone.now() - NOTED_EVERY:
        return
    # Two requests may get here at the same moment: the second one has nothing to write.
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=Now() - NOTED_EVERY)
    ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=Now())


def user_of(request: Request) -> User:
    """Return who sends a request; no view runs without a user."""
    return cast("User", request.user)


def token_of(request: object) -> ApiToken | None:
    """Return the token of a request; None for a person with a session."""
    auth = getattr(request, "auth", None)
    return auth if isinstance(auth, ApiToken) else None
