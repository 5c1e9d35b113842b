"""Suites as people write them: made from specs, as an import would."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import Permission, User
from django.test import Client

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.library.saving import save_agent, save_suite
from evals_app.models import Case, Suite

AGENT = {
    "agent": "Shop",
    "slug": "shop",
    "driver": "scripted",
    "tools": ["entity.query"],
    "rules": [{"reply": "Your order has shipped."}],
}
CONTAINS = {"type": "contains", "value": "shipped"}


def write_suite(
    cases: Sequence[dict[str, Any]] = (), *, slug: str = "refunds", **changes: Any
) -> Suite:
    """Write a suite for a scripted agent."""
    save_agent(AgentSpec.model_validate(AGENT))
    spec = {"suite": slug.capitalize(), "slug": slug, "agent": "shop", "cases": list(cases)}
    save_suite(SuiteSpec.model_validate(spec | changes))
    return Suite.objects.get(slug=slug)


def a_case(name: str = "Where is it", **changes: Any) -> dict[str, Any]:
    """Return a case with one turn and one check."""
    turn = {"user": "Where is my order?", "assertions": [CONTAINS]}
    return {"name": name, "turns": [turn]} | changes


def write_case(**changes: Any) -> Case:
    """Write a suite with a single case."""
    return write_suite([a_case(**changes)]).cases.get()


def client_who_may(*codenames: str, name: str = "writer") -> Client:
    """Return a client of a person with these permissions alone."""
    user = User.objects.create_user(name, password="secret", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client
