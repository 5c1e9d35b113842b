"""The side bar, in the order of the work."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from evals_app.models import (
    Agent,
    ApiToken,
    Case,
    EvaluationSteps,
    Execution,
    JudgeTally,
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

# Title of the group -> model, icon, title of the entry.
_GROUPS: dict[str, list[tuple[type[Model], str, str]]] = {
    "Write": [
        (Suite, "checklist", "Suites"),
        (Case, "forum", "Cases"),
        (Agent, "smart_toy", "Agents"),
        (Fixture, "dataset", "Fixtures"),
        (EntityType, "schema", "Entity types"),
        (EvaluationSteps, "rule", "Evaluation steps"),
    ],
    "Run and review": [
        (Run, "play_circle", "Runs"),
        (Execution, "rate_review", "Executions"),
        (Schedule, "schedule", "Schedules"),
        (ReviewTask, "task_alt", "To check"),
        (Settlement, "balance", "Settlements"),
        (JudgeTally, "gavel", "Judges"),
        (Spending, "payments", "Spending"),
    ],
    "Set up": [
        (Provider, "hub", "Providers"),
        (MonthlyCeiling, "savings", "Monthly ceilings"),
        (ApiToken, "key", "API tokens"),
        (Webhook, "send", "Webhooks"),
        (User, "person", "People"),
        (Group, "group", "Roles"),
    ],
}


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the groups of the side bar; UNFOLD["SIDEBAR"]["navigation"] names this function."""
    home = {"title": "Dashboard", "icon": "dashboard", "link": reverse("admin:index")}
    groups: list[dict[str, Any]] = [{"items": [home]}]
    for title, entries in _GROUPS.items():
        items: list[dict[str, Any]] = [
            {
                "title": name,
                "icon": icon,
                "link": _list_url(model),
                "permission": _may_see(model),
            }
            for model, icon, name in entries
            if admin.site.is_registered(model)
        ]
        # No heading without entries.
        if any(item["permission"](request) for item in items):
            groups.append({"title": title, "separator": True, "items": items})
    guide = {"title": "Help", "icon": "help", "link": reverse("help")}
    return [*groups, {"separator": True, "items": [guide]}]


def _list_url(model: type[Model]) -> str:
    options = model._meta  # noqa: SLF001 - the documented API of models
    return reverse(f"admin:{options.app_label}_{options.model_name}_changelist")


def _may_see(model: type[Model]) -> Callable[[HttpRequest], bool]:
    def may_see(request: HttpRequest) -> bool:  # no method: Unfold copies the navigation deeply
        return admin.site.get_model_admin(model).has_view_permission(request)

    return may_see
