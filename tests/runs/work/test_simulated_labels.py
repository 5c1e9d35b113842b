"""Where a run with simulated users is shown, it is called that."""

from io import BytesIO, StringIO

import pytest
from django.test import Client
from django.urls import reverse
from openpyxl import load_workbook

from evals_app.management.console import console_on, print_result
from evals_app.models import Execution, Run
from evals_app.runs.release import release_of
from evals_app.runs.reporting import report
from tests.api.clients import make_client
from tests.makers import make_run
from tests.runs.suites import finished
from tests.runs.work.test_simulated_users import make_simulated

pytestmark = pytest.mark.django_db(transaction=True)
HINT = 'title="A model played the user."'


def addresses(run: Run, execution: Execution) -> list[str]:
    return [
        reverse("admin:index"),
        reverse("admin:evals_app_run_changelist"),
        reverse("admin:evals_app_run_change", args=[run.pk]),
        reverse("admin:evals_app_execution_changelist"),
        reverse("admin:evals_app_execution_change", args=[execution.pk]),
        reverse("admin:evals_app_suite_cases", args=[run.suite_id]),
        reverse("admin:evals_app_suite_results", args=[run.suite_id]),
    ]


@pytest.mark.parametrize("is_simulated", [True, False])
def test_every_page_with_a_result_calls_it_simulated(
    admin_client: Client, *, is_simulated: bool
) -> None:
    run = make_run(["passed"], is_simulated=is_simulated)

    page = admin_client.get(reverse("admin:evals_app_run_change", args=[run.pk])).content.decode()
    assert ("Its calls count with the judges." in page) is is_simulated
    for address in addresses(run, run.executions.get()):
        page = admin_client.get(address).content.decode()
        is_said = HINT in page or "A model played the user." in page
        assert is_said is is_simulated, address


def test_the_page_of_a_conversation_says_who_played_the_user_and_what_it_cost(
    admin_client: Client,
) -> None:
    run = finished(make_simulated({"reply": "Order B-77."}))
    execution = run.executions.first()
    assert execution

    address = reverse("admin:evals_app_execution_change", args=[execution.pk])
    text = admin_client.get(address).content.decode()

    assert "scripted/user played the user: 1 call, cost $0, part of the judge cost." in text
    assert "B-77" in text
    answer = make_client("read").get(f"/api/executions/{execution.pk}/").json()
    side = answer["user_side"]
    assert (side["model"], side["calls"], side["cost_usd"]) == ("scripted/user", 1, 0.0)
    assert "B-77" in side["stopped"]


KINDS = ("html", "markdown", "json", "junit", "csv", "xlsx", "github", "decision")


def read_report(kind: str, run: Run) -> str:
    content = b"".join(report(kind, run, link=lambda *_: "").content)
    if kind != "xlsx":
        return content.decode()
    sheet = load_workbook(BytesIO(content)).worksheets[0]
    head, row = sheet.iter_rows(max_row=2, values_only=True)
    return f"is_simulated {dict(zip(head, row, strict=True))['is_simulated']}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_report_calls_it_simulated(kind: str) -> None:
    run, written = (make_run(["failed"], is_simulated=value) for value in (True, False))

    telling = {
        "xlsx": "yes",
        "csv": ",yes,yes,",
        "json": '"is_simulated": true',
        "junit": "model played",
    }
    word = telling.get(kind, "imulated")

    assert word in read_report(kind, run)
    assert word not in read_report(kind, written)


def test_rest_commands_and_decisions_call_it_simulated() -> None:
    run, out = make_run(["failed"], is_simulated=True), StringIO()
    client = make_client("read")

    print_result(run, console=console_on(out, plain=True), site=None)

    assert "Refunds (scripted, simulated): 0 passed, 1 failed" in out.getvalue()
    assert run.suite
    assert release_of(run.suite).sentence.startswith("No (scripted, simulated): 1 case failed")
    assert client.get(f"/api/runs/{run.pk}/").json()["is_simulated"] is True
    assert client.get("/api/suites/refunds/decision/").json()["is_simulated"] is True
    (entry,) = client.get("/api/suites/refunds/cases/history/", {"case": "case 1"}).json()[
        "results"
    ]
    assert entry["is_simulated"] is True
