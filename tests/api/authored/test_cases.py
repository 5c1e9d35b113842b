from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from rest_framework.test import APIClient

from evals_app.api.authored.cases import CaseRow
from evals_app.library.importing.file_import import EditedError, import_files
from evals_app.models import ApiToken, Case
from tests.api.clients import make_client
from tests.library.written import EVERYTHING

pytestmark = pytest.mark.django_db

CASES = "/api/suites/refunds/cases/"
NEW = {"name": "New / one?", "turns": [{"user": "refund", "assertions": []}]}


@pytest.fixture(autouse=True)
def everything() -> None:
    import_files(EVERYTHING)


@pytest.fixture
def client() -> APIClient:
    return make_client()


def first_of(client: APIClient) -> tuple[str, Any]:
    """Return the address of the first case, and the answer that reads it."""
    row = client.get(CASES).json()["results"][0]
    path = f"{CASES}{row['id']}/"
    return path, client.get(path)


def test_cases_are_listed_in_their_order_and_looked_up_by_name(client: APIClient) -> None:
    specs = client.get("/api/suites/refunds/").json()["cases"]
    rows = client.get(CASES).json()["results"]
    pages = client.get(f"{CASES}?page_size=1").json()

    assert [row["name"] for row in rows] == [spec["name"] for spec in specs]
    assert rows[0].keys() == set(CaseRow.KEYS)
    assert client.get(pages["next"]).json()["results"] == [rows[1]]
    named = client.get(CASES, {"name": specs[1]["name"]}).json()["results"]
    assert named == [rows[1]]
    assert first_of(client)[1].json() == specs[0]


def test_a_case_is_added_changed_and_deleted(client: APIClient) -> None:
    added = client.post(CASES, NEW, format="json")
    path = added.headers["Location"]
    read = client.get(path)
    case = Case.objects.get(name=NEW["name"])

    def put(change: Any) -> Any:
        etag = client.get(path).headers["ETag"]
        return client.put(path, NEW | change, format="json", headers={"If-Match": etag})

    same, renamed = put({}), put({"name": "Renamed", "tags": ["money"]})
    deleted = client.delete(path, headers={"If-Match": renamed.headers["ETag"]})

    assert (added.status_code, added.json()["what"]) == (201, "created"), added.json()
    assert read.headers["ETag"] == added.headers["ETag"]
    assert path == f"{CASES}{case.pk}/"
    assert [same.json()["what"], renamed.json()["what"]] == ["unchanged", "updated"]
    assert renamed.json()["id"] == case.pk
    assert (deleted.status_code, client.get(path).status_code) == (204, 404)
    entries = LogEntry.objects.filter(content_type__model="case", object_id=str(case.pk))
    flags = list(entries.order_by("pk").values_list("action_flag", flat=True))
    assert flags == [ADDITION, CHANGE, DELETION]


def test_a_new_case_comes_last_and_counts_as_an_edit(client: APIClient) -> None:
    client.post(CASES, NEW, format="json")

    assert client.get("/api/suites/refunds/").json()["cases"][-1]["name"] == NEW["name"]
    with pytest.raises(EditedError, match="user"):
        import_files(EVERYTHING)


def test_a_case_that_someone_changed_meanwhile_is_not_replaced_or_deleted(
    client: APIClient,
) -> None:
    path, read = first_of(client)
    client.put(path, read.json() | {"description": "Changed"}, format="json")
    late = {"If-Match": read.headers["ETag"]}

    refused = [
        client.put(path, read.json(), format="json", headers=late),
        client.delete(path, headers=late),
    ]
    ApiToken.objects.update(requires_if_match=True)
    unseen = [client.put(path, read.json(), format="json"), client.delete(path)]

    assert [answer.status_code for answer in refused] == [412, 412]
    assert [answer.status_code for answer in unseen] == [428, 428]
    assert client.get(path).json()["description"] == "Changed"
    known = client.get(path).headers["ETag"]
    assert client.get(path, headers={"If-None-Match": known}).status_code == 304


@pytest.mark.parametrize(
    ("change", "status", "keys"),
    [
        pytest.param({"trails": 2}, 400, "trails", id="unknown key"),
        pytest.param({"turns": []}, 400, "turns", id="no turns"),
        pytest.param(
            {"turns": [{"user": "Hi", "assertions": [{"type": "contain", "value": "x"}]}]},
            400,
            "turns[0].assertions[0].type",
            id="unknown check",
        ),
        pytest.param(
            {"turns": [{"user": "Hi", "files": ["a.png"], "assertions": []}]},
            400,
            "turns[0].files[0]",
            id="missing file",
        ),
        pytest.param({"name": "taken"}, 409, "name", id="name of another case"),
    ],
)
def test_what_is_wrong_with_a_case_is_shown_by_its_keys(
    client: APIClient, change: dict[str, Any], status: int, keys: str
) -> None:
    client.post(CASES, NEW | {"name": "taken"}, format="json")
    path, read = first_of(client)

    answers = [
        client.post(CASES, NEW | change, format="json"),
        client.put(path, read.json() | change, format="json"),
    ]

    for answer in answers:
        assert answer.status_code == status, answer.json()
        assert keys in {error["keys"] for error in answer.json()["errors"]}, answer.json()
    assert client.get(path).headers["ETag"] == read.headers["ETag"]


def test_a_case_of_another_suite_is_not_found(client: APIClient) -> None:
    spec = client.get("/api/suites/refunds/").json() | {"slug": "other", "cases": []}
    client.put("/api/suites/other/", spec, format="json")
    path = first_of(client)[0].replace("refunds", "other")

    answers = [
        client.get(path),
        client.put(path, NEW, format="json"),
        client.delete(path),
        client.post("/api/suites/nothing/cases/", NEW, format="json"),
        client.get("/api/suites/nothing/cases/"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 5
    assert Case.objects.filter(suite__slug="refunds").exists()


def test_written_cases_and_simulated_users_do_not_share_a_suite(client: APIClient) -> None:
    check = {"type": "contains", "value": "refunded"}
    user = {"simulated_user": {"goal": "A refund"}, "final_assertions": [check]}
    path, read = first_of(client)

    answers = [
        client.post(CASES, NEW | user, format="json"),
        client.put(path, read.json() | {"trials": None} | user, format="json"),
    ]

    for answer in answers:
        assert answer.status_code == 409, answer.json()
        assert [error["keys"] for error in answer.json()["errors"]] == ["simulated_user"]
