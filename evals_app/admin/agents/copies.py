"""Copies of agents, cases and suites, including checks of kinds that no longer exist."""

from collections.abc import Iterable
from typing import TypeVar

from django.db import models, transaction

from evals_app.models import Agent, Assertion, Case, Suite
from fixtures_app.ground.words import free_name

R = TypeVar("R", bound=models.Model)

NAME_LENGTH = 200
_SLUG_LENGTH = 100


@transaction.atomic
def copy_case(case: Case, **changes: object) -> Case:
    """Copy a case with its turns and checks: to the end of its suite, unless `changes` say otherwise."""
    if not changes:
        names = case.suite.cases.values_list("name", flat=True)
        changes = {
            "name": free_name(case.name, names, length=NAME_LENGTH),
            "position": next_position(case.suite),
        }
    copied = _copy(case, **changes)
    for turn in case.turns.order_by("position", "pk"):
        _copy_checks(turn.assertions.all(), turn=_copy(turn, case=copied))
    _copy_checks(case.final_assertions.all(), case=copied)
    return copied


@transaction.atomic
def copy_suite(suite: Suite) -> Suite:
    """Copy a suite with its cases and checks."""
    known = Suite.objects.values_list("name", "slug")
    name = free_name(suite.name, (name for name, _ in known), length=NAME_LENGTH)
    slug = free_name(suite.slug, (slug for _, slug in known), length=_SLUG_LENGTH, mark="-")
    fresh = {"archived_at": None, "source": "", "baseline": None, "had_baseline": False}
    copied = _copy(suite, name=name, slug=slug, **fresh)
    copied.fixtures.set(suite.fixtures.all())
    _copy_checks(suite.default_assertions.all(), suite=copied)
    for case in suite.cases.order_by("position", "pk"):
        copy_case(case, suite=copied)
    return copied


@transaction.atomic
def copy_agent(agent: Agent) -> Agent:
    """Copy an agent."""
    known = list(Agent.objects.values_list("name", "slug"))
    name = free_name(agent.name, (name for name, _ in known), length=NAME_LENGTH)
    slug = free_name(agent.slug, (slug for _, slug in known), length=_SLUG_LENGTH, mark="-")
    return _copy(agent, name=name, slug=slug)


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
