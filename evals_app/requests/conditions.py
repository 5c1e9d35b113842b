"""Conditions of a PUT or DELETE: If-Match and If-None-Match (RFC 9110)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

from django.utils.http import parse_etags
from rest_framework.request import Request

from evals_app.requests.auth import token_of
from evals_app.requests.problems import BLANK, RefusedError

_ANY = "*"
_CHANGED = (
    "Someone changed this after you read it. Read it again, and send your change with the new ETag."
)


@dataclass(frozen=True, slots=True)
class Condition:
    """Whether a thing must exist or must not; with `versions`, it must have one of them."""

    versions: Collection[str] = ()
    must_exist: bool = False
    must_be_new: bool = False
    is_required: bool = False

    @classmethod
    def of(cls, request: Request) -> Self:
        """Read the headers of a request, and whether its token requires If-Match."""
        match, none = request.headers.get("If-Match"), request.headers.get("If-None-Match")
        if none is not None and none.strip() != _ANY:
            raise RefusedError(
                "Only * is accepted as If-None-Match here: write only if it does not exist."
            )
        tags = parse_etags(match) if match is not None else []
        is_any = match is None or _ANY in tags
        token = token_of(request)
        return cls(
            # An unreadable header matches nothing.
            versions=[] if is_any else [_version(tag) for tag in tags] or [""],
            must_exist=match is not None,
            must_be_new=none is not None,
            is_required=token is not None and token.requires_if_match,
        )

    def require(self, current: Callable[[], str] | None) -> None:
        """Check the conditions; `current` returns the version of what exists, None if nothing does.

        Raises:
            RefusedError: one is not met.
        """
        failed, is_new = HTTPStatus.PRECONDITION_FAILED, current is None
        if self.must_exist and is_new:
            raise RefusedError(
                "If-Match was sent, but this does not exist yet.", status=failed, kind=BLANK
            )
        if self.must_be_new and not is_new:
            raise RefusedError(
                "If-None-Match: * was sent, but this already exists.", status=failed, kind=BLANK
            )
        if self.is_required and not is_new and not self.must_exist:
            message = "This token requires If-Match: send the ETag that GET returned."
            raise RefusedError(message, status=HTTPStatus.PRECONDITION_REQUIRED, kind=BLANK)
        if self.versions and current is not None and current() not in self.versions:
            raise RefusedError(_CHANGED, status=failed, kind=BLANK)


def _version(tag: str) -> str:
    # A proxy that compresses answers makes a tag weak; it means the same version.
    return tag.removeprefix("W/").strip('"')
