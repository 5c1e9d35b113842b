"""REST is asked what its schema allows, and what it forbids; every answer is as the schema says.

By hand, for longer, against a server of your own:

    schemathesis run http://127.0.0.1:8000/api/schema/?format=json -H "Authorization: Bearer TOKEN"
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup

from evals_app.engine.record.trial import Verdict
from evals_app.engine.verdicts.execution_verdict import Decision, execution_summary
from evals_app.library.importing.file_import import import_files
from evals_app.models import ApiToken, Case, Execution
from tests.api.clients import make_user
from tests.library.written import EVERYTHING, PROVIDER
from tests.makers import make_execution, make_grade, make_run, make_trial

EXAMPLES = 2  # of requests that the schema allows, and as many that it forbids, by operation
CONFIG = {
    "generation": {"with-security-parameters": False},
    "checks": {
        # What is written has rules that a schema cannot express: names must exist, checks must be
        # able to fail. So a request that the schema allows may be refused.
        "positive_data_acceptance": {
            "expected-statuses": ["2xx", "3xx", "400", "403", "404", "409", "412", "422"]
        }
    },
}


@pytest.fixture
def site(no_limits: None) -> Iterator[Any]:
    """The site in this process and in the transaction of the test, without limits of requests."""
    moments = (request_started, request_finished)
    for moment in moments:  # as Django's own test client does
        moment.disconnect(close_old_connections)
    yield get_wsgi_application()
    for moment in moments:
        moment.connect(close_old_connections)


@pytest.mark.slow
@pytest.mark.django_db
def test_every_answer_is_as_the_schema_says(schema: Any, site: Any) -> None:
    import_files([*EVERYTHING, PROVIDER])
    _, token = ApiToken.issue(name="CI", user=make_user(), scope="author")
    config = schemathesis.Config.from_dict(CONFIG)
    api: Any = schemathesis.openapi.from_dict(schema, config=config)
    api.app = site
    execution = make_execution(
        make_run({"A": ["passed", "failed"]}),
        state="failed",
        trial=make_trial(),
        grades=[make_grade()],
    )
    summary = execution_summary(make_trial(), [], Decision(Verdict.FAILED, 0.5))
    Execution.objects.exclude(summary={}).update(summary=summary)
    known = {
        "suites": "refunds",
        "agents": "shop",
        "fixtures": "orders",
        "providers": "proxy",
        "runs": execution.run_id,
        "executions": execution.pk,
        "cases": Case.objects.values_list("pk", flat=True)[0],
    }
    # Compressed answers cannot be compared.
    headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"}

    complaints = [
        complaint
        for result in api.get_all_operations()
        for mode in GenerationMode
        for complaint in complaints_of(result.ok(), mode, known, headers)
    ]

    assert complaints == []


def complaints_of(
    operation: Any, mode: GenerationMode, known: Mapping[str, Any], headers: dict[str, str]
) -> list[str]:
    """Ask an operation a few times, and undo what came of it; return what the schema does not say.

    Requests that the schema allows are about what is `known`, by the noun in the address.
    """
    complaints = []
    places = re.findall(r"(\w+)/{(\w+)}", operation.path)
    parameters = {name: known[noun] for noun, name in places if noun in known}

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    def ask(case: Any) -> None:
        if mode.is_positive:
            case.path_parameters.update(parameters)
        with transaction.atomic():
            try:
                case.call_and_validate(headers=headers)
            except FailureGroup as failures:
                complaints.append(f"{operation.label}: {failures.exceptions}"[:2000])
            transaction.set_rollback(True)

    with suppress(Unsatisfiable):  # nothing can be forbidden there
        ask()
    return complaints
