"""The menu: five places, and the rest below two folds. It shows only what the person may see."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from evals_app.admin.kit.pages import list_url, may_view
from evals_app.models import (
    Activity,
    Agent,
    ApiToken,
    Case,
    ConversationSet,
    DeletedObject,
    EvaluationSteps,
    Execution,
    JudgeTally,
    MaskingPattern,
    MonthlyCeiling,
    Provider,
    ReviewTask,
    Run,
    Schedule,
    Settlement,
    Spending,
    Suite,
    Webhook,
)
from fixtures_app.models import EntityType, Fixture

# Model, icon, title of the entry.
Entries = list[tuple[type[Model], str, str]]

_PLACES: Entries = [
    (Suite, "checklist", "Suites"),
    (Run, "bar_chart", "Results"),
    (Fixture, "dataset", "Test data"),
    (Agent, "smart_toy", "Agents"),
]
_FOLDS: dict[str, Entries] = {
    "More": [
        (Case, "forum", "All cases"),
        (EntityType, "schema", "Entity types"),
        (EvaluationSteps, "rule", "Evaluation steps"),
        (Execution, "rate_review", "Conversations"),
        (ConversationSet, "forum", "Real conversations"),
        (Schedule, "schedule", "Schedules"),
        (ReviewTask, "task_alt", "Check grades"),
        (Settlement, "balance", "Retests"),
        (JudgeTally, "gavel", "Judges"),
        (Spending, "payments", "Spending"),
        (DeletedObject, "delete", "Deleted"),
    ],
    "Settings": [
        (Provider, "hub", "Providers"),
        (MonthlyCeiling, "savings", "Monthly ceilings"),
        (ApiToken, "key", "API tokens"),
        (Webhook, "send", "Webhooks"),
        (MaskingPattern, "visibility_off", "Masking"),
        (User, "person", "People"),
        (Group, "group", "Roles"),
        (Activity, "history", "Activity"),
    ],
}
# A single row of these belongs to a place; the entry below the fold is the list of all.
_INSIDE: dict[type[Model], type[Model]] = {Case: Suite, Execution: Run, Settlement: Run}


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the groups of the menu; those with a title are folds. Unfold's SIDEBAR names this function."""
    here = _place_of(request.path)
    home = {"title": "Home", "icon": "home", "link": reverse("admin:index")}
    guide = {"title": "Help", "icon": "help", "link": reverse("help")}
    folds = [
        {"title": title, "items": items}
        for title, entries in _FOLDS.items()
        if (items := _items(request, entries, here))
    ]
    places = {"items": [home, *_items(request, _PLACES, here)]}
    return [places, *folds, {"items": [guide]}]


def _items(
    request: HttpRequest, entries: Entries, here: type[Model] | None
) -> list[dict[str, object]]:
    return [
        {"title": title, "icon": icon, "link": list_url(model), "active": model is here}
        for model, icon, title in entries
        if admin.site.is_registered(model) and may_view(request, model)
    ]


def _place_of(path: str) -> type[Model] | None:
    """Return the model whose entry leads to a page."""
    for model, _icon, _title in sum(_FOLDS.values(), _PLACES):
        if path.startswith(url := list_url(model)):
            return model if path == url else _INSIDE.get(model, model)
    return None
