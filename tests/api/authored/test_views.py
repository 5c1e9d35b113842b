import json
from typing import Any

import pytest
from django.contrib.admin.models import DELETION, LogEntry
from rest_framework.test import APIClient

from evals_app.api.authored.views import AgentRow, FixtureRow, Price, ProviderRow, SuiteRow
from evals_app.formats.importing import SourceFile
from evals_app.formats.native import write_native
from evals_app.library.importing.file_import import EditedError, import_files
from evals_app.models import Agent, ApiToken, Assertion, Provider, Schedule, Suite
from fixtures_app.models import Fixture
from tests.api.clients import make_client, send
from tests.engine.permitting import permitting
from tests.library.written import EVERYTHING, PROVIDER, SUITE

pytestmark = pytest.mark.django_db

USUAL = ["ollama", "openrouter", "groq", "gemini", "openai", "scripted", "anthropic"]


@pytest.fixture(autouse=True)
def everything() -> None:
    import_files([*EVERYTHING, PROVIDER])


@pytest.fixture
def client() -> APIClient:
    return make_client()


def providers(client: APIClient) -> dict[str, Any]:
    """What the site answers about its providers, by their names."""
    return {row["slug"]: row for row in client.get("/api/providers/").json()["results"]}


def put(client: APIClient, slug: str, body: object) -> Any:
    return client.put(f"/api/suites/{slug}/", body, format="json")


KEY = {"Authorization": {"env": "AGENT_KEY"}}
PINNED = "https://shop.example.org"


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        pytest.param({"url": f"{PINNED}/chat", "headers": KEY}, None, id="its own host"),
        ({"url": "https://evil.example/x", "headers": KEY}, "headers.Authorization"),
        pytest.param(
            {
                "url": f"{PINNED}/chat",
                "headers": KEY,
                "poll": {"interval_s": 1, "url": "https://evil.example/{{job}}", "job": "id"},
            },
            "headers.Authorization",
            id="of its jobs",
        ),
        pytest.param(
            {
                "url": f"{PINNED}/chat",
                "oauth": {
                    "token_url": "https://evil.example/token",
                    "client_id": "a",
                    "client_secret": {"env": "AGENT_KEY"},
                },
            },
            "oauth.client_secret",
            id="of its tokens",
        ),
    ],
)
def test_an_agent_cannot_send_a_key_to_a_host_that_the_operator_did_not_name(
    client: APIClient, changes: dict[str, Any], place: str | None
) -> None:
    agent = {"agent": "New", "slug": "new", "driver": "http", **changes}
    with permitting(variables=("AGENT_*", "AGENT_KEY@shop.example.org")):
        answer = client.put("/api/agents/new/", agent, format="json")

    assert answer.status_code == (201 if place is None else 400)
    assert [error["keys"] for error in answer.json().get("errors", ())] == (
        [place] if place else []
    )


@pytest.mark.parametrize(
    ("noun", "slugs", "answer", "queries"),
    [
        ("suites", ["refunds"], SuiteRow, 2),  # the token, the page
        ("agents", ["clerk", "strict", "shop"], AgentRow, 2),
        ("fixtures", ["orders"], FixtureRow, 2),
        ("providers", ["proxy", *USUAL], ProviderRow, 3),  # and the prices
    ],
)
def test_what_is_written_is_listed(
    client: APIClient,
    *,
    noun: str,
    slugs: list[str],
    answer: Any,
    queries: int,
    django_assert_num_queries: Any,
) -> None:
    with django_assert_num_queries(queries):
        rows = client.get(f"/api/{noun}/").json()["results"]

    assert [row["slug"] for row in rows] == slugs
    assert all(row.keys() == set(answer.KEYS) for row in rows)


def test_a_provider_tells_whether_it_has_a_key_and_never_which(
    client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = providers(client)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    response = client.get("/api/providers/")

    after = providers(client)
    assert {slug for slug, row in before.items() if row["has_key"]} == set()
    assert {slug for slug, row in after.items() if row["has_key"]} == {"anthropic"}
    assert {slug for slug, row in after.items() if row["has_key"] is None} == {"scripted", "ollama"}
    assert "sk-secret" not in response.content.decode()


def test_a_provider_tells_what_its_models_cost(client: APIClient) -> None:
    rows = providers(client)

    proxy = rows["proxy"]
    assert proxy["requests_per_minute"] == 50
    assert rows["scripted"]["prices"] == []
    assert len(proxy["prices"]) == 3
    assert proxy["prices"][0].keys() == set(Price.KEYS)
    (price,) = [price for price in proxy["prices"] if price["above_prompt_tokens"]]
    assert price == {
        "model": "claude-haiku-*",
        "valid_from": "2026-05-01",
        "above_prompt_tokens": 100_000,
        "is_batch": False,
        "input_usd": 0.5,
        "output_usd": 2.5,
        "cache_read_usd": None,
        "cache_write_5m_usd": None,
        "cache_write_1h_usd": None,
    }


@pytest.mark.parametrize("path", ["suites", "agents", "fixtures"])
def test_an_unknown_slug_is_not_found(client: APIClient, path: str) -> None:
    assert client.get(f"/api/{path}/nothing/").status_code == 404
    assert client.get(f"/api/{path}/nul%00/").status_code == 404


def test_a_suite_is_written_whole(client: APIClient) -> None:
    spec = client.get("/api/suites/refunds/").json()
    spec["cases"] = [
        {"name": "Only", "turns": [{"user": "Hi\u2028\U0001f600 \\ud83d", "assertions": []}]}
    ]
    spec["gates"] = {"max_p95_ms": 1e21}

    response = put(client, "refunds", spec)

    assert response.json()["changes"][0]["what"] == "updated"
    suite = Suite.objects.get(slug="refunds")
    assert suite.max_p95_ms == 1e21
    assert suite.cases.get().turns.get().user == "Hi\u2028\U0001f600 \\ud83d"


def test_a_suite_may_be_written_as_yaml(client: APIClient) -> None:
    content = SUITE.content.replace(b"suite: Refunds", b"suite: Money back")

    response = send(client, "PUT", "/api/suites/refunds/", content, "application/yaml")

    assert response.status_code == 200, response.content
    assert Suite.objects.get(slug="refunds").name == "Money back"


@pytest.mark.parametrize(
    ("change", "keys", "expected"),
    [
        pytest.param({"trails": 2}, "trails", "Did you mean 'trials'?", id="unknown key"),
        pytest.param({"agent": "shopp"}, "agent", "Did you mean 'shop'?", id="unknown agent"),
        pytest.param({"slug": "other"}, "slug", "refunds", id="another slug"),
        pytest.param({"cases": [{"turns": []}]}, "cases[0].turns", "one", id="no turns"),
        pytest.param({"gates": {"min_score": 0}}, "gates.min_score", "0.5", id="cannot fail"),
    ],
)
def test_what_is_wrong_with_a_suite_is_shown_by_its_keys(
    client: APIClient, change: dict[str, Any], keys: str, expected: str
) -> None:
    spec = client.get("/api/suites/refunds/").json() | change

    response = send(client, "PUT", "/api/suites/refunds/", json.dumps(spec), "application/json")

    assert response.status_code == 400
    messages = {error["keys"]: error["message"] for error in response.json()["errors"]}
    assert expected in messages[keys], messages
    assert Suite.objects.get(slug="refunds").name == "Refunds"


def test_what_is_wrong_with_yaml_is_shown_by_its_lines(client: APIClient) -> None:
    content = SUITE.content.replace(b"trials: 2", b"trails: 2")

    response = send(client, "PUT", "/api/suites/refunds/", content, "application/yaml")

    error = response.json()["errors"][0]
    assert (error["keys"], error["path"], error["line"]) == ("trails", "refunds.suite.yaml", 9)


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        pytest.param(b"[]", "application/json", 400, id="list"),
        pytest.param(b'{"a": NaN}', "application/json", 400, id="NaN"),
        pytest.param(b"{", "application/yaml", 400, id="broken YAML"),
        pytest.param(b"a=b", "application/x-www-form-urlencoded", 415, id="form"),
    ],
)
def test_a_body_that_is_no_spec_is_refused(
    client: APIClient, body: bytes, content_type: str, status: int
) -> None:
    response = send(client, "PUT", "/api/suites/refunds/", body, content_type)

    assert response.status_code == status, response.content
    assert response.headers["Content-Type"] == "application/problem+json"
    assert status != 415 or "Send application/json or application/yaml" in response.json()["detail"]


@pytest.mark.parametrize("accept", ["application/yaml", "application/json", "*/*"])
def test_a_suite_is_exported_as_a_native_file(client: APIClient, accept: str) -> None:
    response = client.get("/api/suites/refunds/export/", headers={"Accept": accept})

    spec = Suite.objects.with_everything().get(slug="refunds").to_spec()
    assert response.headers["Content-Type"] == "application/yaml"
    assert "refunds.suite.yaml" in response.headers["Content-Disposition"]
    assert response.content == write_native(spec)
    report = import_files([SourceFile("refunds.suite.yaml", response.content)])
    assert report.changes[0].what == "unchanged"


def test_a_suite_says_which_of_its_checks_cannot_fail(client: APIClient) -> None:
    Assertion.objects.filter(type="contains").update(options={"value": "e"})

    answer = client.get("/api/suites/refunds/check/").json()
    counts = client.get("/api/suites/refunds/check/?fields=counts").json()

    blind = [one for one in answer["checks"] if one["result"] == "blind"]
    assert blind
    assert all({"refusal", "question"} <= set(one["passed"]) for one in blind)
    assert counts == {"counts": answer["counts"]}
    assert answer["counts"]["blind"] == len(blind)
    assert (answer["suite"], answer["checks_left"], answer["cases_left"]) == ("refunds", 0, 0)
    assert client.get("/api/suites/nothing/check/").status_code == 404


def test_an_export_that_does_not_exist_is_a_problem_in_json(client: APIClient) -> None:
    response = client.get("/api/suites/nothing/export/", headers={"Accept": "application/yaml"})

    assert response.status_code == 404
    assert json.loads(response.content)["status"] == 404


@pytest.mark.parametrize(
    "path", ["suites/refunds/", "suites/refunds/check/", "suites/refunds/export/", "export/"]
)
def test_a_suite_that_no_longer_validates_says_so(client: APIClient, path: str) -> None:
    Assertion.objects.filter(type="contains").update(type="of an older version")

    response = client.get(f"/api/{path}")

    assert response.status_code == 409
    assert "of an older version" in str(json.loads(response.content)["errors"])


def test_fields_restrict_a_spec(client: APIClient) -> None:
    Agent.objects.filter(slug="clerk").update(description="Nice.")

    body = client.get("/api/agents/clerk/?fields=description,slug").json()

    assert body == {"slug": "clerk", "description": "Nice."}


@pytest.mark.parametrize(
    ("query", "listed"),
    [("", ["refunds"]), ("?archived=false", ["refunds"]), ("?archived=true", ["old"])],
)
def test_archived_suites_are_listed_apart(client: APIClient, query: str, listed: list[str]) -> None:
    other = SUITE.content.replace(b"slug: refunds", b"slug: old")
    import_files([SourceFile("old.suite.yaml", other)])
    Suite.objects.filter(slug="old").archive()

    rows = client.get(f"/api/suites/{query}").json()["results"]

    assert [row["slug"] for row in rows] == listed
    assert client.get("/api/suites/old/").status_code == 200


def test_an_archived_suite_that_is_written_is_restored(client: APIClient) -> None:
    spec = client.get("/api/suites/refunds/").json()
    Suite.objects.archive()

    response = put(client, "refunds", spec)

    assert response.json()["changes"] == [
        {
            "kind": "suite",
            "slug": "refunds",
            "what": "updated",
            "edited": None,
            "came_from": None,
            "differences": [],
            "checks_nothing": False,
        }
    ]
    assert Suite.objects.get().archived_at is None


# Agents, fixtures and providers


WRITTEN = {
    "suites": ("refunds", {"description": "Changed"}),
    "agents": ("strict", {"description": "Changed"}),
    "fixtures": ("orders", {"description": "Changed"}),
    "providers": ("proxy", {"requests_per_minute": 7}),
}


@pytest.mark.parametrize("noun", WRITTEN)
def test_each_kind_is_read_changed_and_changed_back_under_its_versions(
    client: APIClient, noun: str
) -> None:
    slug, change = WRITTEN[noun]
    path = f"/api/{noun}/{slug}/"
    read = client.get(path)
    spec, first = read.json(), read.headers["ETag"]

    def written(body: object, etag: str) -> Any:
        return client.put(path, body, format="json", headers={"If-Match": etag})

    same = written(spec, first)
    changed = written(spec | change, first)
    late = written(spec, first)
    again = client.get(path)
    back = written(spec, changed.headers["ETag"])

    assert [same.status_code, changed.status_code, back.status_code] == [200, 200, 200], same.json()
    assert same.json()["changes"][-1]["what"] == "unchanged"
    assert late.status_code == 412
    assert again.json() == spec | change
    assert again.headers["ETag"] == changed.headers["ETag"] != first
    assert back.headers["ETag"] == same.headers["ETag"] == first
    assert client.get(path, headers={"If-None-Match": first}).status_code == 304


@pytest.mark.parametrize("noun", WRITTEN)
def test_each_kind_is_created_once(client: APIClient, noun: str) -> None:
    spec = client.get(f"/api/{noun}/{WRITTEN[noun][0]}/").json() | {"slug": "new"}

    answers = [
        client.put(f"/api/{noun}/new/", spec, format="json", headers={"If-None-Match": "*"})
        for _ in range(2)
    ]

    assert [answer.status_code for answer in answers] == [201, 412], answers[0].json()
    assert client.get(f"/api/{noun}/new/").headers["ETag"] == answers[0].headers["ETag"]


def test_a_fixture_has_another_version_when_one_of_its_types_changes(client: APIClient) -> None:
    read = client.get("/api/fixtures/orders/")
    spec = read.json()
    spec["entity_types"][0]["schema"]["description"] = "Changed"
    client.put("/api/fixtures/orders/", spec, format="json")

    late = client.put(
        "/api/fixtures/orders/",
        read.json(),
        format="json",
        headers={"If-Match": read.headers["ETag"]},
    )

    assert late.status_code == 412


@pytest.mark.parametrize(
    ("noun", "change", "keys"),
    [
        pytest.param("agents", {"driver": "htttp"}, "driver", id="agent"),
        pytest.param("agents", {"slug": "other"}, "slug", id="another slug"),
        pytest.param("fixtures", {"entities": [{"ref": "a"}]}, "entities[0].type", id="fixture"),
        pytest.param("providers", {"api_key_env": "HOME"}, "api_key_env", id="variable"),
        pytest.param("providers", {"base_url": "http://10.0.0.1/v1"}, "base_url", id="address"),
    ],
)
def test_what_is_wrong_with_a_spec_is_shown_by_its_keys(
    client: APIClient, noun: str, change: dict[str, Any], keys: str
) -> None:
    path = f"/api/{noun}/{WRITTEN[noun][0]}/"
    before = client.get(path)

    refused = client.put(path, before.json() | change, format="json")

    assert refused.status_code == 400, refused.json()
    assert keys in {error["keys"] for error in refused.json()["errors"]}
    assert client.get(path).headers["ETag"] == before.headers["ETag"]


def test_a_spec_of_another_kind_is_refused(client: APIClient) -> None:
    spec = client.get("/api/agents/strict/").json()

    assert client.put("/api/providers/strict/", spec, format="json").status_code == 400


# Deleting


@pytest.mark.parametrize(
    ("noun", "model"), [("agents", Agent), ("fixtures", Fixture), ("providers", Provider)]
)
def test_what_nothing_uses_is_deleted(client: APIClient, noun: str, model: Any) -> None:
    spec = client.get(f"/api/{noun}/{WRITTEN[noun][0]}/").json() | {"slug": "new"}
    etag = client.put(f"/api/{noun}/new/", spec, format="json").headers["ETag"]
    path = f"/api/{noun}/new/"

    late = client.delete(path, headers={"If-Match": '"x"'})
    deleted = client.delete(path, headers={"If-Match": etag})
    again = client.delete(path)

    assert [late.status_code, deleted.status_code, again.status_code] == [412, 204, 404]
    assert not model.objects.filter(slug="new").exists()
    assert LogEntry.objects.filter(action_flag=DELETION).count() == 1


@pytest.mark.parametrize("path", ["/api/agents/shop/", "/api/fixtures/orders/"])
def test_what_a_suite_uses_is_not_deleted(client: APIClient, path: str) -> None:
    Suite.objects.archive()

    refused = client.delete(path)
    unseen = make_client(
        "author", ["evals_app.delete_agent", "fixtures_app.delete_fixture"]
    ).delete(path)

    assert refused.status_code == unseen.status_code == 409
    assert [error["value"] for error in refused.json()["errors"]] == ["refunds"]
    assert "refunds" not in unseen.content.decode()
    assert client.get(path).status_code == 200


def test_an_agent_that_a_schedule_tests_is_not_deleted(client: APIClient) -> None:
    spec = client.get("/api/agents/shop/").json() | {"slug": "new"}
    client.put("/api/agents/new/", spec, format="json")
    Schedule.objects.create(name="Every night", agent=Agent.objects.get(slug="new"))

    refused = client.delete("/api/agents/new/")
    unseen = make_client("author", ["evals_app.delete_agent"]).delete("/api/agents/new/")

    assert refused.status_code == unseen.status_code == 409
    assert [error["value"] for error in refused.json()["errors"]] == ["Every night"]
    assert "night" not in unseen.content.decode()


def test_a_suite_that_is_deleted_is_archived_and_can_be_restored(client: APIClient) -> None:
    first = client.delete("/api/suites/refunds/")
    again = client.delete("/api/suites/refunds/")
    listed = client.get("/api/suites/").json()["results"]
    archived = Suite.objects.get().archived_at
    restored = [client.post("/api/suites/refunds/restore/") for _ in range(2)]

    assert [first.status_code, again.status_code, listed] == [204, 204, []]
    assert archived is not None
    assert [answer.json()["archived_at"] for answer in restored] == [None, None]
    assert client.post("/api/suites/nothing/restore/").status_code == 404
    notes = LogEntry.objects.filter(content_type__model="suite").order_by("pk")
    assert [row.change_message for row in notes][-2:] == ["Archived.", "Restored."]


def test_a_token_that_requires_the_condition_deletes_nothing_unseen(client: APIClient) -> None:
    ApiToken.objects.update(requires_if_match=True)

    assert client.delete("/api/suites/refunds/").status_code == 428


# Conditions


def put_if(client: APIClient, spec: object, **headers: str) -> Any:
    return client.put("/api/suites/refunds/", spec, format="json", headers=headers)


@pytest.mark.parametrize(
    ("headers", "slug", "status"),
    [
        pytest.param({"If-Match": "*"}, "refunds", 200, id="exists"),
        pytest.param({"If-Match": "*"}, "new", 412, id="does not exist"),
        pytest.param({"If-Match": '"x"'}, "new", 412, id="a version of nothing"),
        pytest.param({"If-Match": "nope"}, "refunds", 412, id="no tag"),
        pytest.param({"If-None-Match": "*"}, "refunds", 412, id="not new"),
        pytest.param({"If-None-Match": "*"}, "new", 201, id="new"),
        pytest.param({"If-None-Match": '"x"'}, "refunds", 400, id="another version"),
    ],
)
def test_a_condition_decides_whether_it_is_written(
    client: APIClient, headers: dict[str, str], slug: str, status: int
) -> None:
    spec = client.get("/api/suites/refunds/").json() | {"slug": slug}

    answer = client.put(f"/api/suites/{slug}/", spec, format="json", headers=headers)

    assert answer.status_code == status, answer.json()


def test_a_token_may_ask_for_the_condition(client: APIClient) -> None:
    ApiToken.objects.update(requires_if_match=True)
    read = client.get("/api/suites/refunds/")
    spec = read.json()

    unseen = put_if(client, spec)
    seen = put_if(client, spec, **{"If-Match": read.headers["ETag"]})
    new = client.put("/api/suites/new/", spec | {"slug": "new"}, format="json")

    assert [unseen.status_code, seen.status_code, new.status_code] == [428, 200, 201]


def test_what_was_written_over_rest_is_an_edit_of_its_user(client: APIClient) -> None:
    put(client, "refunds", client.get("/api/suites/refunds/").json() | {"trials": 7})

    with pytest.raises(EditedError, match="user"):
        import_files(EVERYTHING)

    assert Suite.objects.get().trials == 7
