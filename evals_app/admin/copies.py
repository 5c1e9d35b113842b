"""Copies of cases and suites, checks of a kind that no longer exists included."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.contrib import messages
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.forms import BaseDialogForm

from evals_app.admin.starting import leave_dialog
from evals_app.models import Assertion, Case, Suite

R = TypeVar("R", bound=models.Model)

_NAME_LENGTH = 200
_SLUG_LENGTH = 100


def free_name(wanted: str, taken: Iterable[str], *, length: int, mark: str = " ") -> str:
    """Return a free name: Refund copy, Refund copy 2."""
    known = set(taken)
    number = 1
    while True:
        end = f"{mark}copy" if number == 1 else f"{mark}copy{mark}{number}"
        # A slug must not end up with two hyphens in a row.
        name = f"{wanted[: length - len(end)].rstrip(' -_')}{end}"
        if name not in known:
            return name
        number += 1


@transaction.atomic
def copy_case(case: Case, *, suite: Suite | None = None) -> Case:
    """Copy a case with its turns and checks, to the end of its suite or into another one."""
    into = suite or case.suite
    if suite is None:
        names = into.cases.values_list("name", flat=True)
        name = free_name(case.name, names, length=_NAME_LENGTH)
        position = next_position(into)
    else:
        name, position = case.name, case.position
    copied = _copy(case, suite=into, name=name, position=position)
    for turn in case.turns.order_by("position", "pk"):
        _copy_checks(turn.assertions.all(), turn=_copy(turn, case=copied))
    _copy_checks(case.final_assertions.all(), case=copied)
    return copied


@transaction.atomic
def copy_suite(suite: Suite) -> Suite:
    """Copy a suite with everything in it."""
    known = Suite.objects.values_list("name", "slug")
    name = free_name(suite.name, (name for name, _ in known), length=_NAME_LENGTH)
    slug = free_name(suite.slug, (slug for _, slug in known), length=_SLUG_LENGTH, mark="-")
    copied = _copy(suite, name=name, slug=slug, archived_at=None, source="", baseline=None)
    copied.fixtures.set(suite.fixtures.all())
    _copy_checks(suite.default_assertions.all(), suite=copied)
    for case in suite.cases.order_by("position", "pk"):
        copy_case(case, suite=copied)
    return copied


def next_position(suite: Suite) -> int:
    """Return the position after the last case."""
    last = suite.cases.aggregate(last=models.Max("position"))["last"]
    return 0 if last is None else last + 1


def _copy(row: R, **changes: object) -> R:
    columns = {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields  # noqa: SLF001 - the documented API of models
        if not field.primary_key
    }
    copied = type(row)(**columns)
    for name, value in changes.items():
        setattr(copied, name, value)
    copied.save()
    return copied


def _copy_checks(checks: Iterable[Assertion], **owner: models.Model) -> None:
    no_owner = {"suite": None, "case": None, "turn": None}
    for check in checks:
        _copy(check, **no_owner | owner)


class Duplicating(ModelAdmin):
    """Lets people duplicate a row; `copied` saves and returns the copy."""

    copied: Callable[[Any], Any]

    @action(
        description="Duplicate",
        icon="content_copy",
        url_path="duplicate",
        permissions=["copy"],
        dialog={
            "title": "Duplicate?",
            "description": "Copies the saved version with everything in it.",
            "form_submit_text": "Duplicate",
        },
    )
    def duplicate(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        copy = self.copied(get_object_or_404(self.model, pk=object_id))
        self.log_addition(request, copy, [{"added": {}}])
        messages.success(request, f"Duplicated as “{copy}”.")
        kind = self.opts.model_name
        return leave_dialog(reverse(f"admin:evals_app_{kind}_change", args=[copy.pk]))
