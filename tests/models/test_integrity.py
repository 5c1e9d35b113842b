"""What the database itself refuses, on every database."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from evals_app.models import ApiToken, Assertion, Case, Execution, Run
from evals_app.runs.starting.start_run import start_run
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return start_run(make_suite(cases=2))


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"passed": F("passed") + 1}, id="counters that do not add up"),
        pytest.param({"status": "finished"}, id="finished without a verdict"),
    ],
)
def test_a_run_that_contradicts_itself_is_refused(run: Run, columns: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(**columns)


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"status": "finished"}, id="finished without a verdict"),
        pytest.param({"status": "finished", "verdict": "failed"}, id="failed without a cause"),
        {"status": "finished", "verdict": "passed", "cause": "agent"},
        pytest.param({"status": "running"}, id="running without a lease"),
        pytest.param({"case": "case 1"}, id="a trial that exists twice"),
        pytest.param({"verdict": "passed"}, id="a verdict while queued"),
    ],
)
def test_an_execution_that_contradicts_itself_is_refused(run: Run, columns: dict[str, str]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Execution.objects.filter(run=run).update(**columns)


def test_a_case_is_known_by_its_name() -> None:
    suite = make_suite(cases=1)

    with pytest.raises(IntegrityError), transaction.atomic():
        Case.objects.create(suite=suite, name="case 1")


def test_a_check_belongs_to_exactly_one_owner() -> None:
    suite = make_suite(cases=1)
    case = suite.cases.get()

    Assertion.objects.create(suite=suite, type="contains", options={"value": "x"})
    for owners in ({}, {"suite": suite, "case": case}, {"case": case, "turn": case.turns.get()}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Assertion.objects.create(type="contains", **owners)


def test_a_token_is_found_by_its_text_until_it_expires_and_stored_as_a_hash() -> None:
    user = User.objects.create_user("ann")
    token, text = ApiToken.issue(name="CI", user=user, scope="run")
    past = timezone.now() - timedelta(seconds=1)
    _, expired = ApiToken.issue(name="CI", user=user, scope="run", expires_at=past)

    assert [ApiToken.valid(words) for words in (text, text + "x", expired)] == [token, None, None]
    assert text not in {str(value) for value in ApiToken.objects.values_list().get(pk=token.pk)}
