"""What a person may import: one rule for the browser and REST."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

from django.core.exceptions import PermissionDenied

from evals_app.library.changes import Change, Kind

_PERMISSIONS: dict[Kind, str] = {
    "suite": "evals_app.{}_suite",
    "agent": "evals_app.{}_agent",
    "provider": "evals_app.{}_provider",
    "fixture": "fixtures_app.{}_fixture",
    "entity type": "fixtures_app.{}_entitytype",
}
_VERBS = {"created": "add", "updated": "change", "archived": "change"}


@dataclass(frozen=True, slots=True)
class Rights:
    """What somebody may write, and read, by an import; everything unless something else is said.

    `user` is in whose name it is done: nobody's where the command line is used.
    """

    has_perm: Callable[[str], bool] = lambda _: True
    name: str = ""
    user: Any = None

    @classmethod
    def of(cls, user: Any) -> Self:  # noqa: ANN401 - whatever the site has for users
        """Give the rights of a user."""
        return cls(user.has_perm, user.get_username(), user)

    def may(self, verb: str, kind: Kind) -> bool:
        """Whether they may `add`, `change` or `view` objects of a kind."""
        return self.has_perm(_PERMISSIONS[kind].format(verb))

    def may_see(self, kind: Kind) -> bool:
        """Whether they may know what is stored of a kind; the admin shows what may be changed."""
        return self.may("view", kind) or self.may("change", kind)

    def may_import(self) -> bool:
        """Whether there is anything at all that they may write."""
        return any(self.may(verb, kind) for kind in _PERMISSIONS for verb in ("add", "change"))

    def may_add_everything(self) -> bool:
        """Whether they may add objects of all kinds."""
        return all(self.may("add", kind) for kind in _PERMISSIONS)

    def hidden(self) -> frozenset[str]:
        """Give the kinds of which nothing may be revealed to them."""
        return frozenset(kind for kind in _PERMISSIONS if not self.may_see(kind))

    def require_some(self) -> None:
        """Refuse who may write nothing: asked before anything is read.

        Raises:
            PermissionDenied: they may neither add nor change anything that files hold.
        """
        if not self.may_import():
            message = (
                f"The user {self.name} may not import: no permission to add or change anything."
            )
            raise PermissionDenied(message)

    def require_kinds(self, kinds: Iterable[Kind]) -> None:
        """Refuse kinds of which they may do nothing: asked before anything is compared.

        Raises:
            PermissionDenied: naming what is missing.
        """
        for kind in sorted(set(kinds)):
            if not (self.may_see(kind) or self.may("add", kind)):
                self._refuse("add", kind)

    def require(self, changes: Iterable[Change]) -> None:
        """Refuse unless they may make each change, and see what would stay as it is.

        Raises:
            PermissionDenied: naming what is missing.
        """
        wanted = {(each.kind, _VERBS.get(each.what, "view")) for each in changes}
        for kind, verb in sorted(wanted):
            if not (self.may_see(kind) if verb == "view" else self.may(verb, kind)):
                self._refuse(verb, kind)

    def _refuse(self, verb: str, kind: Kind) -> None:
        permission = _PERMISSIONS[kind].format(verb)
        message = f"The user {self.name} lacks permission {permission}."
        raise PermissionDenied(message)


EVERYTHING = Rights()
