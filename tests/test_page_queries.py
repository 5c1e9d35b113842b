"""How often pages and REST ask the database, however much they show.

tests/benchmarks has the same limit with the rows of a large site.
"""

import re
from dataclasses import replace
from decimal import Decimal
from http import HTTPStatus
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.pages import MAX_QUERIES
from evals_app.library.baselines import set_baseline
from evals_app.models import (
    AcceptedFailure,
    ApiToken,
    JudgeTally,
    ModelPrice,
    MonthlyCeiling,
    Review,
    ReviewTask,
    Run,
    Settlement,
    ShipDecision,
    Spending,
    Suite,
    Webhook,
    Worker,
)
from fixtures_app.library import save_fixture
from fixtures_app.models import Fixture
from fixtures_app.spec import FixtureSpec
from tests.addresses import Samples, routes, samples_for
from tests.authored import a_case, write_suite
from tests.labels import graded_again, judged_grade, label, make_yardstick
from tests.makers import make_execution, make_grade, make_run, make_suite, make_trial

pytestmark = pytest.mark.django_db

MANY = 14  # more than a page may ask queries
CHECKS = [{"type": "contains", "value": str(number)} for number in range(3)]

# These prepare or compare what a person asks for, once: files, a forecast, what to remove.
MORE = {
    "admin/evals_app/suite/export/": 16,
    "admin/evals_app/suite/<int:pk>/run-size/": 27,
    "admin/evals_app/suite/remove-examples/": 31,
    "api/export/": 16,
    # The price of a question: what asks it is written and removed again.
    "admin/evals_app/notegroup/<int:pk>/check/draft/": 35,
    # A form with choices of agents, fixtures and models, below the answer to “May we ship?”.
    "admin/evals_app/suite/<path:object_id>/change/": 14,
    # It asks once for each turn of its case.
    "admin/evals_app/execution/<int:pk>/checks/": 10 + MANY,
}


def crowded(samples: Samples) -> Samples:
    """Write so many rows of each kind that a query for each of them would be too many."""
    parts = dict(samples.parts)
    people = [User.objects.create_user(f"person {number}", is_staff=True) for number in range(MANY)]
    for person in people:
        person.groups.set(Group.objects.all())
        MonthlyCeiling.objects.create(max_usd=5, person=person)
    turns = [{"user": str(number), "assertions": CHECKS} for number in range(MANY)]
    more = [a_case(f"case {number}") for number in range(MANY)]
    suite = write_suite([a_case(turns=turns), *more], assertions=CHECKS)
    assert suite.cases.filter(pk=parts["case"]).exists()
    names = list(suite.cases.values_list("name", flat=True))
    runs = [make_run({name: ["failed", "passed"] for name in names}, suite=suite) for _ in range(3)]
    for number in range(MANY):
        other = make_run(suite=make_suite(f"suite-{number}", agent=suite.agent))
        ApiToken.issue(name=f"CI {number}", user=people[number], scope="read")
        Worker.objects.create(host="a", pid=number, version="1", processes=3)
        _spend(runs[0], people[number], f"acme/{number}")
        hook = Webhook.objects.create(name=f"Chat {number}", url="http://127.0.0.1:9/")
        for state in ("failed", "delivered", "dropped"):
            hook.deliveries.create(body="{}", state=state, next_at=timezone.now())
        ModelPrice.objects.create(
            provider_id=parts["provider"],
            model=f"model-{number}",
            valid_from="2026-05-01",
            input_usd="0.1",
            output_usd="0.5",
        )
        Settlement.objects.create(
            base=other, head=runs[1], compared=MANY, few=0, hopeless=0, suspects=0
        )
    _answer_with_everything(suite, base=runs[1], head=runs[2])
    parts |= {"run": runs[0].pk, "runs": runs[0].pk}
    parts |= _judged(parts, runs, people)
    chosen = f"?run={runs[1].pk}&run={runs[2].pk}"  # with the released version
    parts["admin/evals_app/run/compare/"] = f"/admin/evals_app/run/compare/{chosen}"
    parts["admin/evals_app/run/compare/case/"] = (
        f"/admin/evals_app/run/compare/case/{chosen}&case=Where+is+it"
    )
    models = "".join(f"&run={run.pk}" for run in Run.objects.exclude(verdict="").order_by("pk"))
    for page in ("", "live/", "cases/", "report/"):
        address = f"admin/evals_app/run/models/{page}"
        parts[address] = f"/{address}?{models.removeprefix('&')}&suite={suite.slug}&kind=md"
    regrade = f"/admin/evals_app/run/{samples.parts['run']}/regrade/"
    parts["admin/evals_app/run/<int:pk>/regrade/"] = regrade
    entities = [{"ref": str(number), "type": "note", "data": {}} for number in range(MANY)]
    relations = [{"from": "0", "to": entity["ref"], "type": "next"} for entity in entities[1:]]
    types = [{"slug": "note", "schema": {}}]
    large = {"name": "Large", "slug": "large", "entity_types": types}
    large |= {"entities": entities, "relations": relations}
    save_fixture(FixtureSpec.model_validate(large))
    parts["fixture"] = Fixture.objects.get(slug="large").pk
    return replace(samples, parts=parts)


def _answer_with_everything(suite: Suite, *, base: Run, head: Run) -> None:
    """Write whatever the answer to “May we ship?” about a run may take into account."""
    set_baseline(base)
    Settlement.objects.create(base=base, head=head, compared=1, few=0, hopeless=0, suspects=0)
    named = {"suite": suite, "run_number": head.pk, "reason": "Known.", "by_name": "ann"}
    ShipDecision.objects.create(run=head, shipped=True, answered="No", **named)
    for case in suite.cases.all():
        AcceptedFailure.objects.create(case=case.name, **named)


def _spend(run: Run, person: User, model: str) -> None:
    day = timezone.now().date()
    JudgeTally.objects.create(
        run=run, day=day, model=model, graded=10, passed=6, failed=2, calls=10, prompt_tokens=900
    )
    Spending.objects.create(
        agent_slug=model,
        agent_name=model,
        role="agent",
        model=model,
        day=day,
        spent_usd=Decimal(1),
        person=person,
    )


def _judged(parts: dict[str, Any], runs: list[Run], people: list[User]) -> dict[str, Any]:
    """Write labels, a task and a long conversation, reviewed by many; return their parts."""
    yardsticks = [make_yardstick(f"Is polite {number}") for number in range(MANY)]
    for yardstick in yardsticks:
        first = label(yardstick, person=False, run=runs[1])
        graded_again(first, yardsticks[0], judge=True, run=runs[2])
    turns = [make_grade(turn) for turn in range(1, MANY + 1)]
    execution = make_execution(
        runs[0],
        "Where is it",
        number=3,
        trial=make_trial(turns=MANY),
        grades=[*turns, *map(judged_grade, yardsticks)],
    )
    task = ReviewTask.objects.get(pk=parts["reviewtask"])
    for position, grade in enumerate(execution.grades.all(), 2):
        task.items.create(position=position, grade=grade)
        for kind in ("comment", "verdict"):
            Review.objects.create(
                execution=execution,
                grade=grade,
                kind=kind,
                reason="Hm.",
                by=people[position % MANY],
                by_name="somebody",
            )
    return {"execution": execution.pk, "executions": execution.pk, "digest": yardsticks[0].digest}


@pytest.mark.slow
def test_nothing_takes_more_queries_than_are_allowed(admin_client: Client, settings: Any) -> None:
    samples = crowded(samples_for(settings))
    taken: dict[str, int] = {}

    for route in filter(re.compile("admin/|api/").match, routes()):
        url = samples.url(route)
        if admin_client.get(url).status_code == HTTPStatus.OK:  # what is remembered counts once
            with CaptureQueriesContext(connection) as queries:
                admin_client.get(url)
            taken[route] = len(queries)

    assert taken.keys() >= MORE.keys()
    assert {
        route: count for route, count in taken.items() if count > MORE.get(route, MAX_QUERIES)
    } == {}
