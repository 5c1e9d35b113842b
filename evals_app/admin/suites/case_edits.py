"""Changes of many cases of a suite at once: their tags, whether they run, their places."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from evals_app.admin.agents.copies import NAME_LENGTH, copy_case, next_position
from evals_app.engine.basics.errors import CannotError
from evals_app.engine.suites.suite_spec import MIXED_USERS
from evals_app.library.saving import mixes_users
from evals_app.models import Case, Suite
from evals_app.models.authored.suites import CASES_AT_ONCE
from fixtures_app.ground.words import free_name


def add_tags(cases: QuerySet[Case], tags: Sequence[str]) -> int:
    """Add tags to cases; return how many have changed."""
    return _retag(cases, lambda own: [*own, *(tag for tag in tags if tag not in own)])


def remove_tags(cases: QuerySet[Case], tags: Sequence[str]) -> int:
    """Remove tags from cases; return how many have changed."""
    return _retag(cases, lambda own: [tag for tag in own if tag not in tags])


@transaction.atomic
def _retag(cases: QuerySet[Case], change: Callable[[list[str]], list[str]]) -> int:
    changed = []
    for case in cases.select_for_update().only("suite", "tags"):
        before, case.tags = case.tags, change(case.tags)
        changed += [case] if case.tags != before else []
    for case in changed:
        case.updated_at = Now()
    Case.objects.bulk_update(changed, ["tags", "updated_at"], batch_size=CASES_AT_ONCE)
    return len(changed)


def set_enabled(cases: QuerySet[Case], *, enabled: bool) -> int:
    """Enable or disable cases; return how many have changed."""
    return cases.exclude(enabled=enabled).order_by().update(enabled=enabled, updated_at=Now())


@transaction.atomic
def copy_cases(cases: Iterable[Case], into: Suite) -> list[int]:
    """Copy cases to the end of a suite, under free names; return the keys of the copies.

    Raises:
        CannotError: users would be simulated in some cases of the suite, and written in others.
    """
    cases = list(cases)
    _refuse_mixed_users(cases, into)
    taken = set(into.cases.values_list("name", flat=True))
    position = next_position(into)
    copies: list[int] = []
    for case in cases:
        name = case.name
        if name in taken:
            name = free_name(name, taken, length=NAME_LENGTH)
        copied = copy_case(case, suite=into, name=name, position=position + len(copies))
        taken.add(name)
        copies.append(copied.pk)
    return copies


@transaction.atomic
def move_cases(cases: QuerySet[Case], into: Suite) -> int:
    """Move cases to the end of another suite; return how many.

    Raises:
        CannotError: that suite has cases of the same name, or of the other kind of users.
    """
    moved = list(cases.select_for_update().only("suite", "name", "position", "simulated_user"))
    _refuse_mixed_users(moved, into)
    taken = into.cases.filter(name__in=cases.order_by().values("name"))
    if names := list(taken.order_by("name").values_list("name", flat=True)[:5]):
        known = ", ".join(f"“{name}”" for name in names)
        raise CannotError(
            f"Suite “{into}” already has cases of the same name: {known}. Rename them first, or copy"
            " the cases instead."
        )
    position = next_position(into)
    for number, case in enumerate(moved):
        case.suite, case.position, case.updated_at = into, position + number, Now()
    fields = ["suite", "position", "updated_at"]
    Case.objects.bulk_update(moved, fields, batch_size=CASES_AT_ONCE)
    return len(moved)


def _refuse_mixed_users(cases: Iterable[Case], into: Suite) -> None:
    kinds = {bool(case.simulated_user) for case in cases}
    if len(kinds) > 1 or any(mixes_users(into, is_simulated=kind) for kind in kinds):
        raise CannotError(MIXED_USERS)


def move_case(case: Case, *, up: bool) -> None:
    """Swap a case with its neighbour."""
    keys = _order(case.suite)
    place = keys.index(case.pk) + (-1 if up else 1)
    place_cases(case.suite, [case.pk], at=max(1, place + 1))


@transaction.atomic
def place_cases(suite: Suite, moved: Iterable[int], *, at: int) -> None:
    """Put cases, in their order, where the first of them becomes number `at` of the suite."""
    cases: list[Any] = list(
        suite.cases.select_for_update().order_by("position", "pk").only("suite", "position")
    )
    keys = set(moved)
    others = [case for case in cases if case.pk not in keys]
    others[at - 1 : at - 1] = [case for case in cases if case.pk in keys]
    changed = [case for number, case in enumerate(others) if case.position != number]
    for number, case in enumerate(others):
        case.position = number
    Case.objects.bulk_update(changed, ["position"], batch_size=CASES_AT_ONCE)


def _order(suite: Suite) -> list[int]:
    return list(suite.cases.order_by("position", "pk").values_list("pk", flat=True))
