import io
import json
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from evals_app.formats.dialect import Dialect
from evals_app.formats.dialects import DIALECTS
from evals_app.models import Agent, Provider, Suite
from evals_app.requests import parsers
from evals_app.runs.starting.start_run import start_run
from fixtures_app.models import Fixture
from tests.api.clients import make_client, make_user, send
from tests.library.written import AGENT, EVERYTHING, SUITE

pytestmark = pytest.mark.django_db

IN_JSON = {"files": [{"path": file.path, "content": file.content.decode()} for file in EVERYTHING]}


@pytest.fixture
def client() -> APIClient:
    return make_client()


def post(client: APIClient, body: object, query: str = "") -> Any:
    return client.post(f"/api/import/{query}", body, format="json")


def test_files_are_imported_from_json(client: APIClient) -> None:
    response = post(client, IN_JSON)

    assert response.status_code == 200, response.json()
    assert response.json()["dry_run"] is False
    assert len(response.json()["changes"]) == 7
    created: object = {
        "kind": "suite",
        "slug": "refunds",
        "what": "created",
        "edited": None,
        "came_from": None,
        "differences": [],
        "checks_nothing": False,
    }
    assert created in response.json()["changes"]
    assert response.json()["losses"] == []
    assert Suite.objects.get().slug == "refunds"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("&ignore_column=Owner&map_column=Frage%3Dquestion", 200),
        ("&ignore_column=Owner&map_column=Frage%3Dquesion", 400),
        ("&ignore_column=Owner&map_column=Frage", 400),
        ("&ignore_column=Owner&check=sentence%3Dcontains&header_row=1", 200),
        ("&ignore_column=Owner&check=by%20magic", 400),
        ("&ignore_column=Owner&header_row=x", 400),
    ],
)
def test_unknown_columns_of_a_table_are_read_as_the_query_says(
    client: APIClient, query: str, status: int
) -> None:
    post(client, {"files": [IN_JSON["files"][0]]})
    upload = SimpleUploadedFile("greetings.csv", b"Frage,contains,Owner\nHi,Hello,Ana")

    response = client.post(f"/api/import/?agent=shop{query}", {"files": [upload]}, "multipart")

    assert response.status_code == status, response.json()
    assert Suite.objects.exists() == (status == 200)


@pytest.mark.parametrize(
    "dialect",
    # The folder of Lobu's sample names the agent.
    [pytest.param(d, id=n) for n, d in DIALECTS.items() if not d.names_agent and n != "lobu"],
)
def test_a_file_of_another_tool_that_names_no_agent_tests_the_chosen_one(
    client: APIClient, dialect: Dialect
) -> None:
    post(client, {"files": [IN_JSON["files"][0]]})
    body = {"files": [{"path": path, "content": text} for path, text in dialect.sample]}

    refused, read = post(client, body), post(client, body, "?agent=shop")

    assert (refused.status_code, read.status_code) == (400, 200)
    assert (read.json()["losses"], Suite.objects.get().agent.slug) == ([], "shop")


def test_the_name_of_a_part_is_its_path(client: APIClient) -> None:
    project = {
        "shop.agent.yaml": AGENT.content,
        "school/evals/hello.eval.yaml": b"suite: H\nslug: hello\nagent: shop\ncases:\n"
        b"  - {name: a, turns: [{user: Hi, assertions: [{type: contains, value: x}]}]}\n",
        "school/fixtures/pupils.fixture.yaml": b"name: P\nslug: pupils\nentities: []\n",
        "zoo/fixtures/animals.fixture.yaml": b"name: A\nslug: animals\nentities: []\n",
    }
    uploads = {
        path: SimpleUploadedFile(path.rpartition("/")[2], content)
        for path, content in project.items()
    }

    response = client.post("/api/import/", uploads, format="multipart")

    assert response.status_code == 200, response.json()
    assert Fixture.objects.count() == 2
    assert [fixture.slug for fixture in Suite.objects.get().fixtures.all()] == ["pupils"]


def test_an_archive_is_unpacked_and_what_it_names_is_found_in_it(client: APIClient) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in EVERYTHING:
            archive.writestr(f"project/{file.path}", file.content)
        archive.writestr("project/README.md", "About")
        archive.writestr("project/left.csv", "question,answer\n")
    upload = SimpleUploadedFile("project.zip", packed.getvalue())

    response = client.post("/api/import/", {"files": [upload]}, format="multipart")

    assert response.status_code == 200, response.json()
    assert Suite.objects.get().slug == "refunds"
    assert [warning["path"] for warning in response.json()["warnings"]] == ["project/left.csv"]


@pytest.mark.parametrize("content_type", ["application/yaml", "application/x-yaml", "text/yaml"])
def test_one_file_is_imported_as_it_is(client: APIClient, content_type: str) -> None:
    response = send(
        client, "POST", "/api/import/?path=shop.agent.yaml", AGENT.content, content_type
    )

    assert response.status_code == 200, response.json()
    assert Agent.objects.get().slug == "shop"


def test_a_dry_run_reports_changes_and_writes_nothing(client: APIClient) -> None:
    post(client, IN_JSON)
    changed = SUITE.content.decode().replace("trials: 2", "trials: 4")
    files = [*IN_JSON["files"][:-1], {"path": SUITE.path, "content": changed}]

    answer = post(client, {"files": files}, "?dry_run=true").json()

    (suite,) = [change for change in answer["changes"] if change["kind"] == "suite"]
    assert answer["dry_run"] is True
    assert suite["differences"] == [{"keys": "trials", "before": "2", "after": "4"}]
    assert Suite.objects.get().trials == 2


def test_a_dry_run_warns_of_checks_that_cannot_fail(client: APIClient) -> None:
    turn = "{user: Where is my order, assertions: [{type: contains, value: ere}]}"
    blind = f"suite: Q\nslug: q\nagent: shop\ncases:\n  - {{name: a, turns: [{turn}]}}\n"
    guard = blind.replace("{type: contains", "{type: not_contains").replace("slug: q", "slug: r")
    files = [{"path": "q.suite.yaml", "content": blind.replace("ere", "e")}]
    files += [{"path": "r.suite.yaml", "content": guard}, *IN_JSON["files"][:-1]]

    warnings = post(client, {"files": files}, "?dry_run=true").json()["warnings"]

    told = {(one["path"], one["keys"]) for one in warnings if "pass" in one["message"]}
    assert told == {
        ("q.suite.yaml", "cases[0].turns[0].assertions[0].value"),
        ("r.suite.yaml", "cases"),
    }


def test_warnings_and_losses_have_their_places(client: APIClient) -> None:
    quiet = "suite: Q\nslug: q\nagent: shop\ncases:\n  - {name: a, turns: [{user: Hi}]}\n"
    lobu = (
        "name: ping\ndescription: x\nturns:\n- content: Hi\n  assert:\n"
        "  - {type: regex, value: hi, options: {case_insensitive: true}}\n"
    )
    files = {"q.suite.yaml": quiet, "agents/shop/evals/ping.yaml": lobu}
    sent = [{"path": path, "content": content} for path, content in files.items()]

    body = {"files": [*IN_JSON["files"], *sent]}
    answer = post(client, body, "?accept_no_checks=true").json()

    assert [[warning["path"], warning["line"]] for warning in answer["warnings"]] == [
        ["q.suite.yaml", 5]
    ]
    assert [[loss["path"], loss["line"]] for loss in answer["losses"]] == [
        ["agents/shop/evals/ping.yaml", 6]
    ]


def test_errors_tell_file_line_column_and_keys(client: APIClient) -> None:
    content = SUITE.content.decode().replace("trials: 2", "trails: 2")
    files = [*IN_JSON["files"][:4], {"path": "evals/refunds.suite.yaml", "content": content}]

    response = post(client, {"files": files})

    assert response.status_code == 400
    assert response.json()["type"] == "urn:evalwell:invalid-files"
    (error,) = response.json()["errors"]
    assert (error["path"], error["line"], error["column"], error["keys"]) == (
        *("evals/refunds.suite.yaml", 9, 1, "trails"),
    )
    assert "Did you mean 'trials'?" in error["message"]
    assert not Agent.objects.exists()


def test_a_refusal_has_questions_and_what_was_guessed_besides(client: APIClient) -> None:
    talk = [{"role": role, "content": "a"} for role in ("user", "assistant", "user")]
    rows = [{"input": {"messages": talk, "locale": "de"}, "class": "x"}]
    files = [{"path": "talks.json", "content": json.dumps(rows)}]

    response = post(client, {"files": [*IN_JSON["files"], *files]}, "?agent=shop")

    assert response.status_code == 400
    refusal = response.json()
    (question,) = refusal["errors"]
    assert (question["keys"], question["path"]) == ("[0].class", "talks.json")
    assert "class=expected" in question["message"]
    assert [(guess["keys"], guess["line"]) for guess in refusal["guesses"]] == [
        ("[0].input.messages", 1)
    ]
    assert "[0].input.locale" in {warning["keys"] for warning in refusal["warnings"]}


@pytest.mark.parametrize(
    ("body", "query", "expected"),
    [
        pytest.param({}, "", "files", id="nothing"),
        pytest.param({"files": [{"path": "a.pdf", "content": ""}]}, "", "an eval file", id="text"),
        pytest.param(IN_JSON, "?dry_run=yes", "true or false", id="dry_run"),
        pytest.param(IN_JSON, "?dryrun=true", "Did you mean 'dry_run'?", id="unknown parameter"),
        pytest.param(IN_JSON, "?dialect=struer", "Did you mean 'struere'?", id="dialect"),
        pytest.param(IN_JSON, "?agent=shup", "Did you mean 'shop'?", id="unknown agent"),
        pytest.param(IN_JSON, "?path=a.yaml", "path", id="a path too many"),
    ],
)
def test_an_import_that_makes_no_sense_is_refused(
    client: APIClient, body: object, query: str, expected: str
) -> None:
    response = post(client, body, query)

    assert response.status_code == 400
    assert expected in str(response.json()), response.json()
    assert not Agent.objects.exists()


def test_a_file_without_a_name_is_refused(client: APIClient) -> None:
    response = send(client, "POST", "/api/import/", AGENT.content, "application/yaml")

    assert response.status_code == 400
    assert "?path=" in response.json()["detail"]


@pytest.mark.parametrize(
    ("parts", "keys"),
    [
        pytest.param({}, "files", id="nothing"),
        pytest.param({"files": "text"}, "files", id="text"),
        pytest.param({"files": AGENT.content, "dry_run": "true"}, "dry_run", id="an option"),
    ],
)
def test_an_upload_of_anything_but_files_is_refused(
    client: APIClient, parts: dict[str, Any], keys: str
) -> None:
    uploads = {
        name: SimpleUploadedFile(AGENT.path, part) if isinstance(part, bytes) else part
        for name, part in parts.items()
    }

    response = client.post("/api/import/", uploads, format="multipart")

    assert response.status_code == 400
    assert response.json()["errors"][0]["keys"] == keys
    assert not Agent.objects.exists()


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b'form-data; name="files"; filename="K\xe4se.agent.yaml"', id="file name"),
        pytest.param(b'form-data; name="K\xe4se.agent.yaml"; filename="x"', id="name"),
        pytest.param(b'form-data; filename="x.agent.yaml"', id="no name"),
    ],
)
def test_a_part_that_cannot_be_read_is_not_passed_over(client: APIClient, head: bytes) -> None:
    parts = [
        (b'form-data; name="files"; filename="shop.agent.yaml"', AGENT.content),
        (head, AGENT.content.replace(b"slug: shop", b"slug: other")),
    ]
    body = b"".join(b"--x\r\nContent-Disposition: %s\r\n\r\n%s\r\n" % part for part in parts)

    response = send(
        client, "POST", "/api/import/", body + b"--x--\r\n", "multipart/form-data; boundary=x"
    )

    assert response.status_code == 400
    assert "UTF-8" in response.json()["detail"]
    assert not Agent.objects.exists()


@pytest.mark.parametrize("has_session", [False, True])
def test_files_that_are_too_large_together_are_refused(
    client: APIClient, monkeypatch: pytest.MonkeyPatch, *, has_session: bool
) -> None:
    if has_session:
        client = APIClient(enforce_csrf_checks=True)
        client.force_login(make_user())
        client.get("/admin/")
        token = client.cookies["csrftoken"].value
        client.credentials(HTTP_X_CSRFTOKEN=token)
    monkeypatch.setattr(parsers, "MAX_BODY", 100)  # the true one would take seconds
    uploads = [SimpleUploadedFile(f"{n}.agent.yaml", b"x" * 60) for n in range(2)]

    response = client.post("/api/import/", {"files": uploads}, format="multipart")

    assert response.status_code == 413


def test_too_many_files_are_refused(client: APIClient) -> None:
    uploads = {f"{n}.agent.yaml": SimpleUploadedFile("x", b"x") for n in range(101)}

    response = client.post("/api/import/", uploads, format="multipart")

    assert response.status_code == 413
    assert response.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ("api_key: sk-ant-1", "api_key"),
        ("api_key_env: DATABASE_URL", "api_key_env"),
        ("api_key_env: sk-ant-1", "api_key_env"),
        ("base_url: http://169.254.169.254/v1", "base_url"),
    ],
)
def test_keys_secrets_and_other_addresses_are_not_imported(
    client: APIClient, written: str, keys: str
) -> None:
    provider = f"provider: P\nslug: p\nkind: anthropic\n{written}\n"

    response = post(client, {"files": [{"path": "p.provider.yaml", "content": provider}]})

    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert (error["keys"], error["line"]) == (keys, 4)
    assert "sk-ant" not in response.content.decode()
    assert not Provider.objects.filter(slug="p").exists()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param(SUITE.path, {"edited": {"by": None, "at": None}}, id="edited here"),
        pytest.param("elsewhere/other.suite.yaml", {"came_from": SUITE.path}, id="another file"),
    ],
)
def test_edits_and_suites_of_other_files_are_replaced_when_the_query_asks_for_it(
    client: APIClient, path: str, reason: dict[str, Any]
) -> None:
    post(client, IN_JSON)
    if path == SUITE.path:
        Suite.objects.update(trials=7)
    changed = SUITE.content.decode().replace("trials: 2", "trials: 4")
    files = {"files": [{"path": path, "content": changed}]}

    (tried,) = post(client, files, "?dry_run=true").json()["changes"]
    refused = post(client, files)
    replaced = post(client, files, "?replace=true")

    assert {key: tried[key] for key in reason} == reason
    assert [refused.status_code, replaced.status_code] == [409, 200]
    assert refused.json()["type"] == "urn:evalwell:edited"
    assert refused.json()["errors"][0]["keys"] == "refunds"


def test_a_suite_in_which_no_case_checks_anything_needs_an_explicit_yes(client: APIClient) -> None:
    post(client, {"files": [IN_JSON["files"][0]]})
    rows = '{"question": "Do you ship to Malta?", "expected_team": "search", "answerable": false}'
    files = {"files": [{"path": "rows.jsonl", "content": rows}]}

    (tried,) = post(client, files, "?agent=shop&dry_run=true").json()["changes"]
    refused = post(client, files, "?agent=shop")
    accepted = post(client, files, "?agent=shop&accept_no_checks=true")

    assert tried["checks_nothing"] is True
    assert [refused.status_code, accepted.status_code] == [409, 200]
    assert refused.json()["type"] == "urn:evalwell:no-checks"
    assert refused.json()["errors"][0]["keys"] == "rows"
    assert "accept_no_checks" in refused.json()["detail"]
    assert [warning["keys"] for warning in accepted.json()["warnings"]] == ["[0].question"]
    assert post(client, files, "?agent=shop").status_code == 200  # nothing changes any more


def test_a_suite_remembers_what_its_import_lost_and_so_do_its_runs(client: APIClient) -> None:
    post(client, {"files": [IN_JSON["files"][0]]})
    rows = '{"question": "a", "expected": "x", "expected_tone": "y", "owner": "Ann"}'
    files = {"files": [{"path": "rows.jsonl", "content": rows}]}

    answer = post(client, files, "?agent=shop").json()
    suite = Suite.objects.get()
    run = start_run(suite)

    assert (answer["checks_lost"], answer["checks_read"]) == (1, 1)
    assert [loss["checks"] for loss in answer["losses"]] == [1, 0]
    losses = client.get(f"/api/runs/{run.pk}/").json()["losses"]
    assert losses == {
        "checks_lost": 1,
        "checks_read": 1,
        "parts": [
            {key: loss[key] for key in ("path", "line", "column", "keys", "message", "checks")}
            for loss in answer["losses"]
        ],
        "more": 0,
    }
    # The next import knows better; the run is what it was.
    files["files"][0]["content"] = '{"question": "a", "expected": "x"}'
    post(client, files, "?agent=shop")
    suite.refresh_from_db()
    assert suite.losses == {}
    assert client.get(f"/api/runs/{run.pk}/").json()["losses"] == losses


def test_evals_become_one_suite_if_the_query_says_so(client: APIClient) -> None:
    assert post(client, IN_JSON).status_code == 200
    text = "name: {0}\nturns: [{{content: Hi, assert: [{{type: contains, value: Hello you}}]}}]\n"
    files = [
        {"path": f"agents/shop/evals/{name}.yaml", "content": text.format(name)} for name in "ab"
    ]

    response = post(client, {"files": files}, "?as_one_suite=true")

    assert [change["slug"] for change in response.json()["changes"]] == ["shop"]
    assert Suite.objects.get(slug="shop").cases.count() == 2
