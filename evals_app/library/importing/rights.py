"""What a person may import: one rule for the browser and REST."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

from django.core.exceptions import PermissionDenied

from evals_app.library.changes.import_report import Kind, ObjectChange

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
    """What a user may write and read by an import; by default, everything.

    `user` is None on the command line.
    """

    has_perm: Callable[[str], bool] = lambda _: True
    name: str = ""
    user: object = None

    @classmethod
    def of(cls, user: Any) -> Self:
        return cls(user.has_perm, user.get_username(), user)

    def may(self, verb: str, kind: Kind) -> bool:
        """Whether they may `add`, `change` or `view` objects of a kind."""
        return self.has_perm(_PERMISSIONS[kind].format(verb))

    def may_see_everything(self) -> bool:
        """Whether they may see prompts, data and settings of any kind."""
        return all(map(self.may_see, _PERMISSIONS))

    def may_see(self, kind: Kind) -> bool:
        """Whether they may see stored objects of a kind; the admin shows what may be changed."""
        return self.may("view", kind) or self.may("change", kind)

    def may_import(self) -> bool:
        return any(self.may(verb, kind) for kind in _PERMISSIONS for verb in ("add", "change"))

    def may_add_everything(self) -> bool:
        return all(self.may("add", kind) for kind in _PERMISSIONS)

    def hidden_kinds(self) -> frozenset[str]:
        """Return the kinds that must not be revealed to them."""
        return frozenset(kind for kind in _PERMISSIONS if not self.may_see(kind))

    def require_some(self) -> None:
        """Refuse users who may not write anything; called before anything is read.

        Raises:
            PermissionDenied: they may neither add nor change anything that files contain.
        """
        if not self.may_import():
            raise PermissionDenied(
                f"The user {self.name} may not import: they have no permission to add or change anything."
            )

    def require_kinds(self, kinds: Iterable[Kind]) -> None:
        """Refuse kinds that they may neither see nor add; called before anything is compared.

        Raises:
            PermissionDenied: naming what is missing.
        """
        for kind in sorted(set(kinds)):
            if not (self.may_see(kind) or self.may("add", kind)):
                self._refuse("add", kind)

    def require(self, changes: Iterable[ObjectChange]) -> None:
        """Refuse unless they may make each change, and see what stays unchanged.

        Raises:
            PermissionDenied: naming what is missing.
        """
        wanted = {(change.kind, _VERBS.get(change.what, "view")) for change in changes}
        for kind, verb in sorted(wanted):
            if not (self.may_see(kind) if verb == "view" else self.may(verb, kind)):
                self._refuse(verb, kind)

    def _refuse(self, verb: str, kind: Kind) -> None:
        permission = _PERMISSIONS[kind].format(verb)
        raise PermissionDenied(f"The user {self.name} does not have the permission {permission}.")


EVERYTHING = Rights()
