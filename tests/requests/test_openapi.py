import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer
from rest_framework.test import APIClient

from evals_app.api.urls import urlpatterns
from evals_app.engine.record.trial import Verdict
from evals_app.engine.verdicts.execution_verdict import Decision, execution_summary
from evals_app.library.importing.file_import import import_files
from evals_app.models import Execution
from evals_app.reports.answers.run_answers import Answer, Summary, schema_name
from tests.api.clients import make_client, make_user
from tests.library.written import AGENT, EVERYTHING
from tests.makers import make_execution, make_grade, make_run, make_trial
from tests.signed_in import sign_in


def answers(base: type[Answer] = Answer) -> Iterator[type[Answer]]:
    for answer in base.__subclasses__():
        yield answer
        yield from answers(answer)


def test_no_two_answers_have_one_name_in_the_schema() -> None:
    names = Counter(schema_name(answer.__name__) for answer in set(answers()))

    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.slow
def test_the_schema_is_openapi_3_without_a_warning() -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=StringIO())


def test_another_validator_agrees(schema: Any) -> None:
    validate(schema)


def test_every_endpoint_is_in_the_schema(schema: Any) -> None:
    others = {"schema", "docs", "not-found"}
    described = [one for one in urlpatterns if getattr(one, "name", "") not in others]
    assert len(schema["paths"]) == len(described)


def test_an_assertion_is_described_by_the_options_of_its_type(schema: Any) -> None:
    parts = schema["components"]["schemas"]

    place = parts["AssertionSpec"]["discriminator"]["mapping"]["contains"]
    contains = parts[place.rpartition("/")[2]]
    assert {"$ref": place} in parts["AssertionSpec"]["oneOf"]
    assert {"type", "value", "case_sensitive", "weight", "scope"} <= contains["properties"].keys()
    assert "grader" not in contains["properties"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/api/runs/", "/api/runs/"),
        ("/api/runs/{id}/", "/api/runs/{run}/"),
        ("/api/runs/{id}/executions/", "/api/runs/{run}/executions/"),
        ("/api/executions/{id}/", "/api/executions/{execution}/"),
        ("/api/suites/", "/api/suites/"),
        ("/api/suites/{slug}/", "/api/suites/refunds/"),
        ("/api/suites/{slug}/cases/history/", "/api/suites/refunds/cases/history/?case=A"),
        ("/api/agents/", "/api/agents/"),
        ("/api/agents/{slug}/", "/api/agents/clerk/"),
        ("/api/fixtures/", "/api/fixtures/"),
        ("/api/fixtures/{slug}/", "/api/fixtures/orders/"),
        ("/api/providers/", "/api/providers/"),
    ],
)
def test_what_is_answered_is_what_the_schema_says(schema: Any, path: str, address: str) -> None:
    import_files(EVERYTHING)
    run = make_run({"A": ["passed", "failed"], "B": ["errored", "not_run"]}, gates={"min_score": 1})
    execution = make_execution(
        run, state="failed", trial=make_trial(turns=2), grades=[make_grade(), make_grade(None)]
    )
    summary = execution_summary(make_trial(), [], Decision(Verdict.FAILED, 0.5))
    Execution.objects.exclude(summary={}).update(summary=summary)

    body = make_client().get(address.format(run=run.pk, execution=execution.pk)).json()

    answer = schema["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
    described = {**answer["schema"], "components": schema["components"]}
    errors = [
        f"{error.json_path}: {error.message}"
        for error in OAS31Validator(described).iter_errors(body)
    ]
    assert errors == []


def test_the_summary_of_an_execution_is_described_whole() -> None:
    summary = execution_summary(make_trial(), [], Decision(Verdict.PASSED, 1.0))

    assert list(summary) == list(Summary.KEYS)


@pytest.mark.django_db
def test_a_problem_is_what_the_schema_says(schema: Any) -> None:
    files = [{"path": AGENT.path, "content": "agent: x"}, {"path": "a.txt", "content": ""}]

    body = make_client().post("/api/import/", {"files": files}, format="json").json()

    described = {"$ref": "#/components/schemas/Problem", "components": schema["components"]}
    assert len(body["errors"]) > 1
    assert list(OAS31Validator(described).iter_errors(body)) == []


@pytest.fixture
def made_before(schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the site serve the document that this test run has made already."""
    monkeypatch.setattr(SchemaGenerator, "get_schema", lambda *_args, **_kwargs: schema)


@pytest.mark.django_db
@pytest.mark.usefixtures("made_before")
def test_the_schema_is_served_whatever_is_accepted() -> None:
    for accept in ("application/json", "application/yaml", "*/*"):
        response = make_client("read", []).get("/api/schema/", headers={"Accept": accept})

        assert response.status_code == 200
        assert b"openapi" in response.content[:20]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("get", "/api/nothing/", 404, "/api/ lists what there is."),
        ("post", "/api/runs", 404, "Addresses end with a slash. /api/ lists what there is."),
        ("options", "/api/nothing/", 404, "/api/ lists what there is."),
        ("delete", "/api/runs/", 405, "not allowed."),
        ("put", "/api/runs/", 405, "not allowed."),
    ],
)
def test_an_address_or_a_method_that_does_not_exist_is_a_problem(
    method: str, path: str, status: int, detail: str
) -> None:
    response = getattr(make_client(), method)(path)

    assert response.status_code == response.json()["status"] == status
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["detail"].endswith(detail)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("setting", "strangers", "callers"),
    [
        pytest.param("people", [401, 302], [200, 200], id="people"),
        pytest.param("public", [200, 200], [200, 200], id="public"),
        pytest.param("off", [404, 404], [404, 404], id="off"),
    ],
)
@pytest.mark.usefixtures("made_before")
def test_who_reads_how_the_api_is_asked_is_a_setting(
    settings: Any, setting: str, strangers: list[int], callers: list[int]
) -> None:
    settings.API_DOCS = setting
    person = Client()
    person.force_login(make_user([]))
    paths = ("/api/schema/", "/api/docs/")

    answers = {
        name: [client.get(path).status_code for path in paths]
        for name, client in {
            "stranger": APIClient(),
            "token": make_client("read", []),
            "person": person,
        }.items()
    }

    assert answers == {"stranger": strangers, "token": callers, "person": callers}


@pytest.mark.django_db
def test_somebody_who_opens_the_documentation_is_asked_to_sign_in() -> None:
    response = Client().get("/api/docs/", headers={"Accept": "text/html"})

    assert response.headers["Location"] == "/admin/login/?next=/api/docs/"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/api/docs/", "/api/schema/"])
@pytest.mark.parametrize("method", ["options", "post", "delete"])
@pytest.mark.parametrize("has_token", [True, False], ids=["token", "no token"])
def test_the_documentation_is_only_read(path: str, method: str, *, has_token: bool) -> None:
    client = make_client() if has_token else APIClient()

    response = getattr(client, method)(path)

    assert response.status_code == (405 if has_token else 401)
    assert response.headers["Content-Type"] == "application/problem+json"


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_documentation_works_under_the_policy_of_the_site(
    page: Page, live_server: LiveServer, admin_user: User
) -> None:
    sign_in(page, live_server, admin_user)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url))

    response = page.goto(f"{live_server.url}/api/docs/")
    tags = page.locator(".opblock-tag")
    tags.filter(has_text=re.compile(r"^runs")).click()
    page.get_by_text("Start a run").first.click()
    page.get_by_role("button", name="Try it out").first.wait_for()

    assert response is not None
    assert "script-src 'self' 'unsafe-eval';" in response.headers["content-security-policy"]
    assert complaints == []
    assert [url for url in foreign if not url.startswith((live_server.url, "data:"))] == []
