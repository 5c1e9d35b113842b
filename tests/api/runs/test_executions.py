import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from evals_app.engine.record.trial import Message, ToolCall
from evals_app.library.importing.file_import import import_files
from evals_app.models import Review, Run, Suite
from evals_app.reports.answers.run_answers import ExecutionDetails
from evals_app.requests.pagination import NewestMatches
from tests.api.clients import SUITE, make_client
from tests.library.written import AGENT, FIXTURE, JUDGE
from tests.makers import make_execution, make_grade, make_run, make_suite, make_trial

pytestmark = pytest.mark.django_db

CALL = ToolCall("entity.query", {"type": "order"}, result={"total": 0}, duration_ms=3.5)


@pytest.fixture
def client() -> APIClient:
    return make_client("read")


def test_an_execution_is_shown_whole(client: APIClient) -> None:
    run = make_run(["passed"])
    trial = make_trial(
        turns=2,
        calls=[CALL],
        history=(Message("user", "Hi"),),
        world_changes={"created": []},
        warnings=("The parameter name is not set.",),
    )
    limit = {"limit": 1, "actual": 2}
    execution = make_execution(
        run,
        "Refund",
        state="failed",
        cause="limit",
        trial=trial,
        grades=[
            make_grade(
                2, evidence=[{"quote": "way", "turn": 2, "bears_on": "", "is_verified": True}]
            ),
            make_grade(
                None, family="limit", type="max_tool_calls", score=None, passed=False, details=limit
            ),
        ],
    )

    body = client.get(f"/api/executions/{execution.pk}/").json()

    assert body.keys() == set(ExecutionDetails.KEYS)
    assert (body["case"], body["verdict"], body["cause"]) == ("Refund", "failed", "limit")
    assert [(message["role"], message["turn"]) for message in body["messages"]] == [
        ("user", None),
        *(("user", 1), ("assistant", 1), ("assistant", 1)),
        *(("user", 2), ("assistant", 2), ("assistant", 2)),
    ]
    assert body["tool_calls"][1] == {
        "turn": 2,
        "message": 5,
        "name": "entity.query",
        "args": {"type": "order"},
        "result": {"total": 0},
        "error": None,
        "duration_ms": 3.5,
    }
    assert body["limits"]["max_tool_calls"] == {"limit": 1, "actual": 2, "passed": False}
    assert body["limits"]["max_prompt_tokens"] == {"limit": None, "actual": 240, "passed": None}
    assert [grade["turn"] for grade in body["grades"]] == [2, None]
    # Stored before it was noted who says a quote.
    assert body["grades"][0]["evidence"] == [
        {"quote": "way", "turn": 2, "bears_on": "", "is_verified": True, "speaker": None}
    ]
    assert body["world_changes"] == {"created": []}
    assert body["warnings"] == ["The parameter name is not set."]
    assert body["summary"] == execution.summary != {}


def test_an_execution_that_waits_has_said_nothing(client: APIClient) -> None:
    execution = make_execution(make_run(["queued"]), state="queued")

    body = client.get(f"/api/executions/{execution.pk}/").json()

    assert body.keys() == set(ExecutionDetails.KEYS)
    assert (body["status"], body["verdict"], body["summary"]) == ("queued", None, None)
    assert body["messages"] is body["grades"] is body["turns"] is None
    assert body["duration_ms"] is None


def test_the_conversations_of_all_runs_are_listed_newest_first_and_narrowed() -> None:
    import_files([AGENT, JUDGE, SUITE])
    suite = Suite.objects.get(slug="talks")
    old = make_run({"Asks for a refund": ["failed"], "Greets": ["passed"]}, suite=suite)
    Run.objects.filter(pk=old.pk).update(created_at="2026-01-01T00:00:00Z")
    new = make_run({"Other": ["passed", "errored"]})
    client = make_client("read")

    def found(**query: str) -> list[tuple[int, str, int]]:
        rows = client.get("/api/executions/", query).json()["results"]
        return [(row["run"], row["case"], row["trial"]) for row in rows]

    first = [(new.pk, "Other", 2), (new.pk, "Other", 1)]
    asks, greets = (old.pk, "Asks for a refund", 1), (old.pk, "Greets", 1)
    assert found() == [*first, greets, asks]
    assert found(suite="talks") == [greets, asks]
    assert found(agent="nothing") == []
    assert found(verdict="errored") == first[:1]
    assert found(case="Greets", verdict="passed") == [greets]
    assert found(since="2026-02-01T00:00:00Z") == first
    assert found(until="2026-02-01T00:00:00Z") == [greets, asks]
    assert found(tag="MONEY") == [asks]
    assert found(tag="all") == [greets, asks]  # a tag of the suite
    assert found(tag="nothing") == []
    review = Review.objects.create(
        execution=old.executions.get(case="Greets"), kind="comment", reason="Hm.", by_name="ada"
    )
    assert found(reviewed="true") == [greets]
    assert found(reviewed="false", suite="talks") == [asks]
    Review.objects.filter(pk=review.pk).update(withdrawn_at="2026-02-01T00:00:00Z")
    assert found(reviewed="true") == []
    row = client.get("/api/executions/", {"case": "Greets"}).json()["results"][0]
    assert (row["suite"], row["agent"]) == ("talks", old.agent_slug)
    refused = client.get("/api/executions/", {"suit": "talks"}).json()
    assert "Did you mean 'suite'?" in refused["detail"]


@pytest.mark.parametrize("newest", [3, 20_000])
@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"suite": "old"}, id="the suite of old runs"),
        pytest.param({"suite": "new", "verdict": "failed"}, id="every other one"),
        pytest.param({"until": "2026-02-01T00:00:00Z"}, id="old runs"),
        pytest.param({"since": "2026-02-01T00:00:00Z"}, id="new runs"),
        pytest.param({"verdict": "failed"}, id="without a condition on runs"),
        pytest.param({"suite": "none"}, id="nothing"),
    ],
)
def test_pages_of_filtered_conversations_have_each_once_in_both_directions(
    query: dict[str, str], newest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NewestMatches, "newest", newest)
    for slug, day in {"old": "2026-01-01", "new": "2026-03-01", "newer": "2026-03-02"}.items():
        run = make_run(["passed", "failed"] * 4, suite=make_suite(slug))
        Run.objects.filter(pk=run.pk).update(created_at=f"{day}T00:00:00Z")
    client = make_client("read")
    every = client.get("/api/executions/", query).json()["results"]

    pages = [client.get("/api/executions/", {**query, "page_size": "2"}).json()]
    while address := pages[-1]["next"]:
        pages.append(client.get(address).json())
    backwards = pages[-1:]
    while address := backwards[-1]["previous"]:
        backwards.append(client.get(address).json())

    walked = [row["id"] for page in pages for row in page["results"]]
    assert walked == sorted(walked, reverse=True) == [row["id"] for row in every]
    assert [page["results"] for page in reversed(backwards)] == [page["results"] for page in pages]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has statistics of its own")
@pytest.mark.parametrize("query", ["status=cancelled", "cause=tool", "verdict=errored"])
def test_rare_conversations_are_found_by_the_index_of_their_filter(query: str) -> None:
    make_run(["passed", "failed"])
    client = make_client("read")

    with CaptureQueriesContext(connection) as asked:
        assert client.get(f"/api/executions/?{query}").json()["results"] == []
    keys = next(one["sql"] for one in asked if '"id" + 0' in one["sql"])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {keys}")
        plan = [step for *_, step in cursor.fetchall()]

    name = f"execution_newest_by_{query.partition('=')[0]}"
    assert plan[0].startswith(f"SEARCH evals_app_execution USING INDEX {name}")


def test_types_of_test_data_are_listed_with_their_schemas() -> None:
    import_files([FIXTURE])

    row = make_client("read").get("/api/entity-types/").json()["results"][0]

    assert row["slug"]
    assert isinstance(row["schema_of_data"], dict)
