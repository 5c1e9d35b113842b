import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from evals_app.library import import_files
from evals_app.models import ApiToken, Run
from tests.api.clients import make_client, make_user, start_talks
from tests.library.written import AGENT, FIXTURE, JUDGE
from tests.makers import make_run

pytestmark = pytest.mark.django_db

SPEC = {"suite": "New", "slug": "new", "agent": "shop", "cases": []}


def ask(client: APIClient, method: str, path: str, body: object) -> int:
    return int(getattr(client, method)(path, body, format="json").status_code)


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        pytest.param("read", {"get": 200, "cancel": 403, "put": 403}, id="read"),
        pytest.param("run", {"get": 200, "cancel": 200, "put": 403}, id="run"),
        pytest.param("author", {"get": 200, "cancel": 200, "put": 201}, id="author"),
    ],
)
def test_a_scope_bounds_what_a_token_may(scope: str, expected: dict[str, int]) -> None:
    run = start_talks()
    client = make_client(scope)

    found = {
        "get": client.get("/api/runs/").status_code,
        "cancel": ask(client, "post", f"/api/runs/{run.pk}/cancel/", {}),
        "put": ask(client, "put", "/api/suites/new/", SPEC),
    }

    assert found == expected


@pytest.mark.parametrize(
    ("path", "permission"),
    [
        ("/api/runs/", "evals_app.view_run"),
        ("/api/suites/", "evals_app.view_suite"),
        ("/api/agents/", "evals_app.view_agent"),
        ("/api/providers/", "evals_app.view_provider"),
        ("/api/fixtures/", "fixtures_app.view_fixture"),
    ],
)
def test_reading_takes_the_permission_of_the_user(path: str, permission: str) -> None:
    allowed, refused = make_client("read", [permission]), make_client("read", [])

    assert allowed.get(path).status_code == 200
    assert refused.get(path).status_code == 403
    assert permission in refused.get(path).json()["detail"]


def test_an_author_token_does_not_make_up_for_missing_permissions() -> None:
    run = make_run(["queued"])
    client = make_client("author", ["evals_app.view_run"])

    assert ask(client, "post", f"/api/runs/{run.pk}/cancel/", {}) == 403
    assert Run.objects.get(pk=run.pk).stop_reason == ""


@pytest.mark.parametrize(
    ("permissions", "status"),
    [
        pytest.param(["evals_app.add_suite"], 201, id="add"),
        pytest.param(["evals_app.change_suite"], 403, id="change is not add"),
        pytest.param([], 403, id="nothing"),
    ],
)
def test_writing_a_new_suite_takes_the_permission_to_add_one(
    permissions: list[str], status: int
) -> None:
    import_files([AGENT])

    assert ask(make_client("author", permissions), "put", "/api/suites/new/", SPEC) == status


def test_an_import_takes_the_permission_for_each_of_its_changes() -> None:
    files = [
        {"path": file.path, "content": file.content.decode()} for file in (AGENT, FIXTURE, JUDGE)
    ]
    some = ["evals_app.add_agent", "fixtures_app.add_fixture"]
    refused = make_client("author", some)
    allowed = make_client("author", [*some, "fixtures_app.add_entitytype"])

    first = refused.post("/api/import/", {"files": files}, format="json")
    second = allowed.post("/api/import/", {"files": files}, format="json")

    assert (first.status_code, second.status_code) == (403, 200)
    assert "fixtures_app.add_entitytype" in first.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("post", "/api/import/"),
        ("post", "/api/import/?dry_run=true"),
        ("put", "/api/suites/new/"),
    ],
)
def test_who_may_write_nothing_is_refused_before_the_body_is_read(method: str, path: str) -> None:
    client = make_client("author", ["evals_app.view_suite"])

    assert ask(client, method, path, "no import") == 403


def test_what_does_not_change_takes_no_permission_to_write_it() -> None:
    import_files([AGENT])
    files = [{"path": AGENT.path, "content": AGENT.content.decode()}]
    client = make_client("author", ["evals_app.add_suite", "evals_app.view_agent"])

    response = client.post("/api/import/", {"files": files}, format="json")

    assert response.status_code == 200


def test_a_person_with_a_session_reads_and_needs_csrf_to_write() -> None:
    run = make_run(["queued"])
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user())
    path = f"/api/runs/{run.pk}/cancel/"

    read = client.get("/api/runs/")
    written = client.post(path, {}, content_type="application/json")

    assert (read.status_code, written.status_code) == (200, 403)
    assert "CSRF" in written.json()["detail"]


def test_a_person_with_a_session_needs_no_scope() -> None:
    run = start_talks()
    client = Client()
    client.force_login(make_user(["evals_app.view_run", "evals_app.add_run"]))

    response = client.post(f"/api/runs/{run.pk}/cancel/", {}, content_type="application/json")

    assert response.status_code == 200


# Runs: one rule for pages and REST


ACTIONS = {
    "start": {"suite": "talks"},
    "cancel": {},
    "resume": {"max_cost_usd": None},
    "requeue": {},
    "pin": {"is_pinned": True},
    "rerun": {"only": "all"},
}
MAY = ["evals_app.view_run", "evals_app.add_run"]


def rest_status(user: User, what: str, run: Run) -> int:
    _, text = ApiToken.issue(name="test", user=user, scope="run")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    path = "/api/runs/" if what == "start" else f"/api/runs/{run.pk}/{what}/"
    return ask(client, "post", path, ACTIONS[what])


def admin_status(user: User, what: str, run: Run) -> int:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    client = Client()
    client.force_login(user)
    if what == "start":
        assert run.suite is not None
        path = f"/admin/evals_app/suite/{run.suite.pk}/run/"
    else:
        path = f"/admin/evals_app/run/{run.pk}/{what}/" + ("all/" if what == "rerun" else "")
    return client.post(path, {"is_pinned": "1"} if what == "pin" else {}).status_code


@pytest.mark.parametrize("what", ACTIONS)
@pytest.mark.parametrize(
    ("permissions", "may"),
    [
        pytest.param(MAY, True, id="view and add"),
        pytest.param(["evals_app.view_run", "evals_app.change_run"], False, id="view and change"),
        pytest.param(["evals_app.add_run", "evals_app.change_run"], False, id="not view"),
        pytest.param(["evals_app.view_run"], False, id="view"),
    ],
)
def test_pages_and_rest_ask_the_same_of_whoever_does_something_with_a_run(
    what: str, permissions: list[str], *, may: bool
) -> None:
    run = start_talks()
    user = make_user(permissions)

    over_rest, on_a_page = rest_status(user, what, run), admin_status(user, what, run)

    assert (over_rest != 403, on_a_page != 403) == (may, may)


@pytest.mark.parametrize("sees", [True, False], ids=["sees suites", "sees none"])
@pytest.mark.parametrize("path", ["/api/runs/", "/api/runs/forecast/"])
def test_a_suite_that_was_probably_meant_is_named_to_who_may_see_it(
    path: str, *, sees: bool
) -> None:
    start_talks()
    client = make_client("run", [*MAY, *(["evals_app.view_suite"] if sees else [])])

    answer = client.post(path, {"suite": "talk"}, format="json")

    assert answer.status_code == 400
    assert ("talks" in answer.content.decode()) is sees
