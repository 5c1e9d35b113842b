"""The first page: whether each suite may be shipped, what runs, and what waits for people.

Every part is a fixed number of queries, however many suites and runs there are.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, Subquery, Sum, Value
from django.http import HttpRequest
from pydantic import ValidationError

from evals_app.admin.comparing.release_asks import release_asks
from evals_app.admin.history.activity import (
    MAX_SHOWN,
    ActivityRow,
    decided_lately,
    failed_cases,
    grades_to_check,
    grown_groups,
    really_worse,
)
from evals_app.admin.history.suite_rows import suite_rows
from evals_app.admin.history.trends import SuiteLine, lines_next_to
from evals_app.admin.importing.examples import may_load_examples, may_remove_examples
from evals_app.admin.runs.open_runs import open_rows
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.specs.base_spec import read_model
from evals_app.library.importing.removing import example_suites
from evals_app.library.importing.rights import Rights
from evals_app.models import Agent, GroupRise, MonthlyCeiling, Provider, Run, Spending, Suite
from evals_app.models.people.names import shown_name
from evals_app.runs.ground.ledger import today
from evals_app.runs.ground.workers import live_workers
from evals_app.runs.money.ceilings import in_month

MAX_OPEN_RUNS = 10
MAX_ADMINISTRATORS = 3
_OPEN = Q(status__in=Run.OPEN)


def dashboard(request: HttpRequest, context: dict[str, object]) -> dict[str, object]:
    """Add what the first page shows, limited to what the person may see."""
    user: Any = request.user
    sees_runs = user.has_perm("evals_app.view_run")
    sees_results = sees_runs and user.has_perm("evals_app.view_suite")
    seen = Suite.objects.current() if sees_results else Suite.objects.none()
    suites, open_runs = lines_next_to(seen, _OPEN) if sees_runs else ([], [])
    decided = decided_lately(seen) if suites else []
    there_is = _site_facts(user)
    may_write = user.has_perm("evals_app.add_suite")
    shows_examples = there_is["example"] and (sees_results or may_write)
    may_import = Rights.of(user).may_import()
    may_anything = sees_results or may_write or may_import
    return context | {
        "title": "May we ship?",
        "suites": suites,
        "sees_results": sees_results,
        "has_suites": there_is["suite"],
        "has_agent": there_is["agent"],
        "asks": release_asks(request, [line.release for line in suites]),
        "rows": suite_rows(request, suites, really_worse(decided)),
        "open_runs": open_rows(open_runs[: -MAX_OPEN_RUNS - 1 : -1]),
        "open_count": len(open_runs),
        "open_suites": len({run.suite_slug for run in open_runs}),
        "is_poll": "HX-Request" in request.headers,
        "look": _worth_a_look(user, suites, there_is),
        "decided": [row.to_row() for row in decided[:MAX_SHOWN]],
        "spent": _month_spending(there_is) if sees_runs else None,
        "has_worker": there_is["worker"],
        "keyless": _keyless() if user.has_perm("evals_app.change_provider") else [],
        "rights": _rights(request),
        "administrators": [] if may_anything else _administrators(),
        "may_run": may_run(request),
        "may_write": may_write,
        "may_load_examples": may_load_examples(request),
        "may_import": may_import,
        "shows_tour": shows_examples,
        "may_remove_examples": shows_examples and may_remove_examples(request),
    }


def _site_facts(user: Any) -> dict[str, object]:
    """Return whether the site has any of these, what was spent this month and may be, in one query."""
    month = Spending.objects.filter(in_month(today())).order_by().values(every=Value(1))
    ceilings = MonthlyCeiling.objects.values("max_usd")
    facts = {
        "suite": Exists(Suite.objects.all()),
        "example": Exists(example_suites()),
        "agent": Exists(Agent.objects.all()),
        "worker": Exists(live_workers()),
        "rise": Exists(GroupRise.objects.current()),
        "spent": Subquery(month.annotate(spent=Sum("spent_usd")).values("spent")),
        "for the site": Subquery(ceilings.filter(person=None)),
        "for you": Subquery(ceilings.filter(person=OuterRef("pk"))),
    }
    values = User.objects.filter(pk=user.pk).values_list(*facts.values()).get()
    return dict(zip(facts, values, strict=True))


def _worth_a_look(
    user: Any, suites: Sequence[SuiteLine], there_is: Mapping[str, object]
) -> list[ActivityRow]:
    """Return what grew in real conversations, grades to check, and failures that no one looked at."""
    failed = failed_cases(suites) if user.has_perm("evals_app.view_execution") else []
    grown = grown_groups(user) if there_is["rise"] else []
    return [*grown, *grades_to_check(user), *failed] if suites else grown


def _month_spending(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return what the site spent this month, and the ceilings that apply to a person."""
    ceilings = [
        f"{usd_text(facts[whose])} {whose}"
        for whose in ("for the site", "for you")
        if facts[whose] is not None
    ]
    return {"amount": usd_text(facts["spent"] or 0), "ceilings": ", ".join(ceilings)}


def _rights(request: HttpRequest) -> list[str]:
    """Return what a person may do, in words."""
    user = request.user
    known = {
        "evals_app.view_suite": "read suites",
        "evals_app.view_run": "read results",
        "evals_app.add_suite": "write suites",
        "evals_app.change_case": "edit cases",
        "evals_app.change_agent": "edit agents",
        "fixtures_app.change_fixture": "edit test data",
    }
    words = [word for right, word in known.items() if user.has_perm(right)]
    return [*words, "start runs"] if may_run(request) else words


def _administrators() -> list[str]:
    """Return the names of people who may give rights."""
    people = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
    return [shown_name(person) for person in people[:MAX_ADMINISTRATORS]]


def _keyless() -> list[dict[str, str]]:
    """Return providers that an agent uses but whose key is not set in this process, in one query."""
    names = Agent.objects.exclude(model="").order_by()
    models = names.values_list("model", Value(""), Value(""), Value(""))
    used, providers = set(), []
    for text, *columns in models.union(Provider.objects.values_list("slug", *_KEYED)):
        if any(columns):
            providers.append(Provider(slug=text, **dict(zip(_KEYED, columns, strict=True))))
            continue
        with suppress(ValidationError):  # the agent's own page reports it
            used.add(read_model(text).provider)
    return [
        {"provider": provider.name, "variable": provider.key_variable}
        for provider in sorted(providers, key=attrgetter("name"))
        if provider.slug in used and provider.has_key is False
    ]


_KEYED = ("name", "kind", "api_key_env")
