"""Undo what someone did to many cases at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from evals_app.admin.kit.pages import person
from evals_app.admin.kit.presentation import plural
from evals_app.admin.kit.undo import offer_undo
from evals_app.engine.basics.errors import CannotError
from evals_app.library.changes.edits import note_cases
from evals_app.library.deleting.written import delete_cases
from evals_app.models import BulkEdit, Case, Suite
from evals_app.models.authored.suites import CASES_AT_ONCE

Values = Mapping[int, list[Any]]  # of fields, by the key of a case


def values_of(cases: QuerySet[Case], fields: Sequence[str]) -> Values:
    """Return the values of fields of cases; remember them before an edit."""
    return {pk: values for pk, *values in cases.order_by().values_list("pk", *fields)}


def keep_edit(suite: Suite, what: str, *, fields: Sequence[str], before: Values) -> BulkEdit | None:
    """Store what an edit has changed, so that it can be undone; None if that is nothing."""
    after: dict[int, list[Any]] = {}
    for part in _parts(list(before)):
        after |= values_of(Case.objects.filter(pk__in=part), fields)
    changed = [
        [pk, values, after[pk]] for pk, values in before.items() if after.get(pk, values) != values
    ]
    if not changed:
        return None
    return BulkEdit.objects.create(suite=suite, what=what, fields=list(fields), changed=changed)


def report_edit(request: HttpRequest, what: str, count: int, edit: BulkEdit | None) -> None:
    """Show what was done to how many cases, with a button that undoes it."""
    done = f"{what}: {plural(count, 'case')}."
    if edit is None:
        messages.success(request, done)
    else:
        offer_undo(request, done, url=reverse("admin:evals_app_bulkedit_undo", args=[edit.pk]))


@require_POST
@permission_required("evals_app.change_case", raise_exception=True)
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Undo an edit, and return to the cases of its suite."""
    edit = get_object_or_404(BulkEdit.objects.select_related("suite"), pk=pk)
    if not (edit.fields or request.user.has_perm("evals_app.delete_case")):
        raise PermissionDenied
    try:
        undone, left = undo_edit(edit, by=person(request))
    except CannotError as error:
        messages.error(request, str(error))
    else:
        stay = f" {plural(left, 'case')} changed since and stayed as they are." if left else ""
        messages.success(request, f"Undone: {plural(undone, 'case')}.{stay}")
    return redirect("admin:evals_app_suite_cases", edit.suite_id)


@transaction.atomic
def undo_edit(edit: BulkEdit, *, by: User) -> tuple[int, int]:
    """Give cases the values that they had before, unless someone has changed those since.

    Return how many cases got them, and how many are as they were.

    Raises:
        CannotError: it was undone already, or the order of the cases has changed since.
    """
    if not BulkEdit.objects.select_for_update().filter(pk=edit.pk).exists():
        raise CannotError("This was undone already.")
    keys = [pk for pk, _, _ in edit.changed]
    cases = [case for part in _parts(keys) for case in _locked_cases(part)]
    edit.delete()
    if not edit.fields:
        if cases:
            delete_cases(edit.suite, [case.pk for case in cases], by=by, note=f"Undone: {edit}.")
        return len(cases), len(keys) - len(cases)
    back = _cases_to_change(edit, cases)
    fields = [Case._meta.get_field(name).name for name in edit.fields]  # noqa: SLF001 - documented
    Case.objects.bulk_update(back, [*fields, "updated_at"], batch_size=CASES_AT_ONCE)
    note_cases(f"Undone: {edit}", edit.suite, back, by=by)
    return len(back), len(keys) - len(back)


def _locked_cases(keys: Sequence[int]) -> QuerySet[Case]:
    return Case.objects.filter(pk__in=keys).order_by("pk").select_for_update()


def _cases_to_change(edit: BulkEdit, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that are as the edit has left them, with the values from before."""
    values = {pk: (before, after) for pk, before, after in edit.changed}
    same = [case for case in cases if _values(case, edit.fields) == values[case.pk][1]]
    if edit.fields == ["position"] and len(same) != len(cases):
        raise CannotError("The order of the cases has changed since.")
    if "suite_id" in edit.fields:  # its name may be taken where it was
        names = [case.name for case in same]
        known = Case.objects.filter(suite=edit.suite).values_list("name", flat=True)
        taken = set(known).intersection(names)
        same = [case for case in same if case.name not in taken]
    for case in same:
        for name, value in zip(edit.fields, values[case.pk][0], strict=True):
            setattr(case, name, value)
        case.updated_at = Now()
    return same


def _values(case: Case, fields: Sequence[str]) -> list[object]:
    return [getattr(case, name) for name in fields]


def _parts(keys: Sequence[int]) -> list[Sequence[int]]:
    return [keys[start : start + CASES_AT_ONCE] for start in range(0, len(keys), CASES_AT_ONCE)]
