"""The tools of the MCP server over rows: what they answer, and what they refuse."""

import itertools
import json
import re
from collections.abc import Mapping
from threading import BoundedSemaphore
from typing import Any

import pytest
from django.utils import timezone
from jsonschema import Draft202012Validator

from evals_app.engine.graders import ALIASES, GRADERS, GROUPS
from evals_app.library.importing.file_import import import_files
from evals_app.mcp.table import TOOLS
from evals_app.mcp.tool import PART_CHARS, Caller, ToolAnswer, call_tool
from evals_app.models import (
    ApiToken,
    Assertion,
    ConversationSet,
    DailyImport,
    DueImport,
    Run,
    SpanInbox,
    Suite,
)
from evals_app.requests import waiting
from evals_app.requests.permissions import Scope
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.recorded import copied_runs
from evals_app.runs.recorded.import_conversations import begin_import
from tests.api.clients import SUITE, make_user, start_talks
from tests.library.written import AGENT, JUDGE
from tests.makers import make_execution, make_grade, make_run, make_suite, make_trial
from tests.runs.judged_runs import judged_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def files() -> Mapping[str, Any]:
    """Two agents and a suite of two cases as files to write."""
    sources = (AGENT, JUDGE, SUITE)
    return {"files": [{"path": file.path, "content": file.content.decode()} for file in sources]}


def call(name: str, arguments: Mapping[str, Any], *, who: Caller | None = None) -> ToolAnswer:
    caller = who or Caller(make_user(), Scope.AUTHOR)
    return call_tool(TOOLS, name, arguments, who=lambda: caller)


def text(name: str, who: Caller | None = None, **arguments: Any) -> str:
    answer = call(name, arguments, who=who)
    assert not answer.is_error, answer.text
    return answer.text


def refusal(name: str, who: Caller | None = None, **arguments: Any) -> str:
    answer = call(name, arguments, who=who)
    assert answer.is_error, answer.text
    return answer.text


def version_in(checked: str) -> str:
    return str(re.findall(r"version: (\w+)", checked)[0])


def test_what_people_wrote_is_listed_and_read(files: Mapping[str, Any]) -> None:
    import_files([AGENT, JUDGE, SUITE])
    make_run({"Greets": ["passed"]}, suite=Suite.objects.get(slug="talks"), is_whole=True)

    assert "talks “Talks”, agent shop, tags all: run " in text("list_suites")
    assert text("list_agents", text="STRICT").splitlines() == [
        "- strict “Strict judge”, driver scripted"
    ]
    assert "no such test data" in text("list_fixtures")
    assert "suite: Talks" in text("read_suite", slug="talks")
    assert "agent: Shop" in text("read_agent", slug="shop")
    assert "Did you mean 'talks'?" in refusal("read_suite", slug="talk")
    may_see = Caller(make_user(["evals_app.view_suite"]), Scope.READ)
    assert text("list_suites", may_see).endswith("tags all")  # not how it went


def test_checks_and_the_guide_can_be_looked_up() -> None:
    assert "- contains: " in text("list_checks")
    assert "contains" not in text("list_checks", text="latency")
    for kind in (*GRADERS, *ALIASES, *GROUPS):
        assert text("describe_check", type=kind)
    assert "Did you mean 'contains'?" in refusal("describe_check", type="contians")
    assert "- files: Files" in text("read_guide")
    assert text("read_guide", page="files.md").startswith("# Files")
    assert "Did you mean 'files'?" in refusal("read_guide", page="fils")


def test_files_are_checked_without_writing_them_and_written_if_nothing_changed_since(
    files: Mapping[str, Any],
) -> None:
    caller = Caller(make_user(), Scope.AUTHOR)
    checked = text("check_files", caller, **files)
    version = version_in(checked)
    assert not Suite.objects.exists()

    assert "created: suite talks" in text("write_files", caller, **files, version=version)
    assert "call check_files again" in refusal("write_files", caller, **files, version=version)
    assert "unchanged: suite talks" in text("write_files", caller, **files)


def test_every_error_of_a_file_has_its_place(files: Mapping[str, Any]) -> None:
    content = SUITE.content.decode().replace("user: refund", "usr: refund")
    wrong = content.replace("agent: shop", "agent: shoop")
    broken = [*files["files"][:2], {"path": SUITE.path, "content": wrong}]

    lines = refusal("check_files", files=broken).splitlines()

    assert re.fullmatch(r"\d+ errors:", lines[0])
    assert all(line.startswith("- talks.suite.yaml:") for line in lines[1:])
    assert "Did you mean 'shop'?" in "".join(lines)
    assert "Did you mean 'user'?" in "".join(lines)


def test_an_edit_on_the_site_is_replaced_only_on_request(files: Mapping[str, Any]) -> None:
    import_files([AGENT, JUDGE, SUITE])
    Suite.objects.update(name="Edited")

    assert "replace: true" in text("check_files", **files)
    assert "edited" in refusal("write_files", **files)
    assert Suite.objects.get().name == "Edited"
    text("write_files", **files, replace=True)
    assert Suite.objects.get().name == "Talks"


def test_a_suite_in_which_no_case_checks_anything_is_written_only_on_request(
    files: Mapping[str, Any],
) -> None:
    import_files([AGENT, JUDGE])
    rows: dict[str, Any] = {
        "files": [{"path": "rows.jsonl", "content": '{"question": "a"}'}],
        "agent": "shop",
    }

    assert "accept_no_checks: true" in text("check_files", **rows)
    assert "accept_no_checks" in refusal("write_files", **rows)
    assert not Suite.objects.exists()
    assert "created: suite rows" in text("write_files", **rows, accept_no_checks=True)


def test_a_token_that_requires_versions_overwrites_nothing_blindly(
    files: Mapping[str, Any],
) -> None:
    import_files([AGENT, JUDGE, SUITE])
    token, _ = ApiToken.issue(
        name="agent", user=make_user(), scope="author", requires_if_match=True
    )
    caller = Caller.of_token(token)
    changed = SUITE.content.decode().replace("Greets", "Says hello")
    new = {"files": [{"path": SUITE.path, "content": changed}]}

    assert "version" in refusal("write_files", caller, **new)
    version = version_in(text("check_files", caller, **new))
    assert "updated: suite talks" in text("write_files", caller, **new, version=version)


@pytest.mark.parametrize(
    ("check", "arguments", "words"),
    [
        pytest.param(
            {"type": "contains", "value": "way"}, {"reply": "On its way"}, "passed", id="+"
        ),
        pytest.param(
            {"type": "contains", "value": "no"}, {"reply": "On its way"}, "failed", id="-"
        ),
        pytest.param({"type": "contians"}, {"reply": "a"}, "Did you mean 'contains'?", id="typo"),
        pytest.param({"type": "contains", "value": "a"}, {}, "Send a reply", id="no reply"),
        pytest.param({"type": "rubric", "criteria": ["Kind"]}, {"reply": "a"}, "", id="judged"),
        pytest.param(
            {"type": "contains", "value": "a"},
            {"execution": 9},
            "Conversation 9 does not exist",
            id="9",
        ),
    ],
)
def test_a_check_is_tried_on_a_reply(
    check: dict[str, Any], arguments: dict[str, Any], words: str
) -> None:
    assert words in call("try_check", {"check": check, **arguments}).text


def test_a_check_is_tried_on_the_conversation_of_an_execution() -> None:
    execution = make_execution(make_run([]), trial=make_trial(reply="On its way"))
    check = {"type": "contains", "value": "way"}

    assert text("try_check", check=check, execution=execution.pk).startswith("passed")
    assert "1 turn" in refusal("try_check", check=check, execution=execution.pk, turn=2)
    writer = Caller(make_user(["evals_app.change_case"]), Scope.AUTHOR)
    refused = refusal("try_check", writer, check=check, execution=execution.pk)
    assert "view_execution" in refused


def test_a_run_is_forecast_and_started_once_with_the_same_key() -> None:
    import_files([AGENT, JUDGE, SUITE])
    caller = Caller(make_user(), Scope.RUN)
    start = {"suite": "talks", "max_cost_usd": 0.5, "idempotency_key": "a"}

    assert "Runs 2 conversations." in text("forecast_run", caller, suite="talks")
    assert not Run.objects.exists()
    first, second = text("start_run", caller, **start), text("start_run", caller, **start)
    assert "was started before" in second
    assert Run.objects.get().max_cost_usd == 0.5
    assert "No worker is running" in first
    assert "new key" in refusal("start_run", caller, **(start | {"tags": ["money"]}))
    assert "max_cost_usd" in refusal("start_run", caller, suite="talks")
    assert "Did you mean 'talks'?" in refusal("start_run", caller, suite="talk", max_cost_usd=1)


def test_a_run_that_goes_on_is_read_and_cancelled() -> None:
    run = start_talks()

    assert "0 of 2 conversations are done" in text("read_run", run=run.pk)
    text("cancel_run", run=run.pk)
    assert "2 cancelled of 2 conversations" in text("read_run", run=run.pk)
    assert "no run 999" in refusal("read_run", run=999)


def test_callers_that_wait_leave_most_threads_free(monkeypatch: pytest.MonkeyPatch) -> None:
    run, places = start_talks(), BoundedSemaphore(1)
    monkeypatch.setattr(waiting, "PLACES", places)

    with places:
        assert "did not wait" in text("read_run", run=run.pk, wait_s=20)
    cancel_run(run)
    assert "did not wait" not in text("read_run", run=run.pk, wait_s=20)


def test_a_run_lists_failures_before_errors_and_others_on_request() -> None:
    run = make_run({"Works": ["passed"], "Breaks": ["errored"], "Fails": ["failed", "passed"]})

    lines = text("read_run", run=run.pk).splitlines()
    listed = [line for line in lines if line.startswith("- conversation")]
    assert ["Fails" in listed[0], "Breaks" in listed[1], len(listed)] == [True, True, 2]
    assert text("read_run", run=run.pk, show="all").count("- conversation") == 4
    assert "No conversation failed" in text("read_run", run=make_run().pk)


def test_runs_are_listed_newest_first_and_narrowed() -> None:
    old, new = make_run(["failed"]), make_run(["passed"])

    lines = text("list_runs", suite="refunds").splitlines()
    assert [f"run {new.pk}:" in lines[0], f"run {old.pk}:" in lines[1]] == [True, True]
    assert f"run {old.pk}:" in text("list_runs", before=new.pk)
    assert f"run {new.pk}:" not in text("list_runs", verdict="failed")
    assert "no such run" in text("list_runs", suite="nothing")


def test_why_an_execution_failed_shows_what_failed_first_and_cuts_what_is_long() -> None:
    run = make_run([])
    grades = [
        make_grade(),
        make_grade(label="Says sorry", passed=False, score=0.0, reason="There is no sorry."),
    ]
    make_execution(run, "Long", trial=make_trial(reply="x" * 9_000), grades=grades, state="failed")

    why = text("why_failed", run=run.pk, case="Long")

    assert why.index("- failed: Says sorry") < why.index("- passed: ")
    assert "There is no sorry." in why
    assert "5,000 more characters" in why
    assert len(why) < PART_CHARS
    assert "no case 'Short'" in refusal("why_failed", run=run.pk, case="Short")
    assert "execution" in refusal("why_failed", run=run.pk)
    assert "Conversation 999 does not exist" in refusal("why_failed", execution=999)


def test_two_runs_are_compared_and_values_stay_hidden_from_those_who_may_not_see_them() -> None:
    suite = make_suite()
    base, head = (make_run({"Works": [state]}, suite=suite) for state in ("passed", "failed"))

    compared = text("compare_runs", base=base.pk, head=head.pk)
    assert "1 case got worse" in compared
    assert "- worse: “Works”: passed" in compared
    only_runs = Caller(make_user(["evals_app.view_run"]), Scope.READ)
    assert "1 case got worse" in text("compare_runs", only_runs, base=base.pk, head=head.pk)
    assert "999" in refusal("compare_runs", base=base.pk, head=999)


RUNNING = {"evals_app.view_run", "evals_app.add_run"}
SETS = "evals_app.view_conversationset"
NEEDS: dict[str, tuple[str, set[str]]] = {
    **dict.fromkeys(("list_suites", "read_suite"), ("read", {"evals_app.view_suite"})),
    **dict.fromkeys(("list_agents", "read_agent"), ("read", {"evals_app.view_agent"})),
    "list_fixtures": ("read", {"fixtures_app.view_fixture"}),
    "read_fixture": ("read", {"fixtures_app.view_fixture", "fixtures_app.view_entitytype"}),
    **dict.fromkeys(
        ("list_runs", "read_run", "forecast_run", "compare_runs", "may_we_ship"),
        ("read", {"evals_app.view_run"}),
    ),
    "why_failed": ("read", {"evals_app.view_run", "evals_app.view_execution"}),
    **dict.fromkeys(("list_checks", "describe_check", "read_guide"), ("read", set())),
    **dict.fromkeys(("check_files", "write_files", "try_check"), ("author", set())),
    **dict.fromkeys(
        ("start_run", "cancel_run", "resume_run", "rerun_cases", "regrade_run"), ("run", RUNNING)
    ),
    "list_conversation_sets": ("read", {SETS}),
    "list_real_conversations": ("read", {SETS, "evals_app.view_execution"}),
    "import_conversations": ("author", {"evals_app.add_conversationset"}),
    "copy_conversations": (
        "author",
        {"evals_app.add_conversationset", "evals_app.view_run", "evals_app.view_execution"},
    ),
    **dict.fromkeys(("read_daily_import", "read_sent_spans"), ("read", {SETS})),
    **dict.fromkeys(
        ("set_daily_import", "stop_daily_import", "take_sent_spans"),
        ("author", {"evals_app.add_conversationset"}),
    ),
    **dict.fromkeys(("forecast_grading", "grade_conversations"), ("run", RUNNING | {SETS})),
    "review_conversation": ("author", {"evals_app.view_execution", "evals_app.review_execution"}),
    "decide_release": ("run", {"evals_app.view_run", "evals_app.decide_release"}),
}


def test_each_tool_needs_a_scope_and_permissions() -> None:
    found = {
        name: (tool.need.scope.value, set(tool.need.permissions)) for name, tool in TOOLS.items()
    }

    assert found == NEEDS
    assert {name for name, tool in TOOLS.items() if not tool.is_read_only} == {
        "write_files",
        "start_run",
        "cancel_run",
        "resume_run",
        "rerun_cases",
        "regrade_run",
        "import_conversations",
        "copy_conversations",
        "grade_conversations",
        "set_daily_import",
        "stop_daily_import",
        "take_sent_spans",
        "review_conversation",
        "decide_release",
    }


@pytest.mark.parametrize("name", NEEDS)
def test_who_lacks_one_permission_or_the_scope_cannot_call_a_tool(name: str) -> None:
    scope, permissions = NEEDS[name]
    lesser = {"run": Scope.READ, "author": Scope.RUN}.get(scope, Scope.SPANS)
    refused = [
        Caller(make_user(sorted(permissions - {lacking})), Scope.AUTHOR) for lacking in permissions
    ]

    for who in (*refused, Caller(make_user(), lesser)):
        answer = refusal(name, who, **TOOLS[name].example)
        assert "permission" in answer or "scope" in answer


def data_of(name: str, **arguments: Any) -> Any:
    """Call a tool, and return its data, which its schema describes."""
    answer = call(name, arguments)
    assert not answer.is_error, answer.text
    data = json.loads(json.dumps(answer.data))
    Draft202012Validator(TOOLS[name].output_schema() or {}).validate(data)
    return data


def test_results_are_also_data(files: Mapping[str, Any]) -> None:
    assert data_of("check_files", **files)["changes"][-1]["what"] == "created"
    data_of("write_files", **files)
    suite = Suite.objects.get(slug="talks")
    base, head = (
        make_run({"Greets": [state]}, suite=suite, is_whole=True) for state in ("passed", "failed")
    )
    execution = make_execution(
        head, "Long", trial=make_trial(), grades=[make_grade()], state="failed"
    )

    assert [row["slug"] for row in data_of("list_suites")["suites"]] == ["talks"]
    assert {row["slug"] for row in data_of("list_agents")["agents"]} == {"shop", "strict"}
    assert data_of("list_fixtures")["fixtures"] == []
    assert [row["id"] for row in data_of("list_runs")["runs"]] == [head.pk, base.pk]
    assert data_of("forecast_run", suite="talks")["conversations"] == 2
    assert data_of("read_run", run=head.pk)["conversations"][0]["case"] == "Greets"
    assert data_of("why_failed", execution=execution.pk)["checks"][0]["grade"]
    assert data_of("compare_runs", base=base.pk, head=head.pk)["cases"][0]["change"] == "worse"
    assert data_of("may_we_ship", suite="talks")["answer"]
    check = {"type": "contains", "value": "a"}
    assert data_of("try_check", check=check, reply="a")["passed"] is True
    assert call("read_suite", {"slug": "talks"}).data is None


def test_cases_are_run_and_graded_again_below_a_ceiling() -> None:
    run = start_talks()
    execution = make_execution(
        make_run([], suite=run.suite), "Greets", trial=make_trial(), state="failed"
    )

    assert "max_cost_usd" in refusal("rerun_cases", run=run.pk)
    assert "max_cost_usd" in refusal("regrade_run", run=run.pk)
    assert "no run 999" in refusal("rerun_cases", run=999, max_cost_usd=1)
    again = data_of("rerun_cases", run=execution.run_id, only="all", max_cost_usd=1)["run"]
    assert Run.objects.get(pk=again["id"]).max_cost_usd == 1
    data_of("cancel_run", run=run.pk)
    cancel_run(run)
    assert "without a ceiling" in refusal("resume_run", run=run.pk, max_cost_usd=2)
    assert data_of("resume_run", run=run.pk)["run"]["status"] == "queued"
    assert "was not stopped" in refusal("resume_run", run=run.pk)


def test_a_grade_is_reviewed_in_the_name_of_the_caller() -> None:
    execution = judged_run("hello", "rude").executions.all()[0]
    grade = execution.grades.all()[0].pk

    said = data_of("review_conversation", execution=execution.pk, grade=grade, passed=False)

    assert (said["grade"], said["passed"]) == (grade, False)
    assert "has no grade 999" in refusal("review_conversation", execution=execution.pk, grade=999)
    assert "no conversation 999" in refusal("review_conversation", execution=999, grade=1)


def test_a_decision_is_noted() -> None:
    run = make_run({"Greets": ["failed"]}, suite=make_suite(), is_whole=True)

    assert "reason" in refusal("decide_release", run=run.pk, shipped=True)
    decided = data_of("decide_release", run=run.pk, shipped=False, reason="It got worse.")

    assert (decided["shipped"], decided["run"]) == (False, run.pk)


def test_who_may_write_nothing_may_neither_check_files_nor_try_checks(
    files: Mapping[str, Any],
) -> None:
    nobody = Caller(make_user([]), Scope.AUTHOR)

    for name, arguments in (
        ("check_files", files),
        ("write_files", files),
        ("try_check", {"check": {"type": "contains", "value": "a"}, "reply": "a"}),
    ):
        assert "may not" in refusal(name, nobody, **arguments)


@pytest.mark.parametrize(
    ("name", "scope"), [("check_files", "uploads"), ("try_check", "check_trials")]
)
def test_uploads_and_tried_checks_are_counted(name: str, scope: str, settings: Any) -> None:
    known = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]
    rates = {**known, scope: "2/min"}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}
    caller = Caller(make_user(), Scope.AUTHOR)

    answers = [call(name, TOOLS[name].example, who=caller).text for _ in itertools.repeat(0, 3)]

    assert ["Too many requests" in answer for answer in answers] == [False, False, True]


def test_conversations_of_runs_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run({"Where is it": ["failed"], "Thanks": ["passed"]})
    some = list(run.executions.values_list("pk", flat=True))
    assert data_of("copy_conversations", set="Ours", run=run.pk, verdict="failed")["added"] == 1
    told = data_of("copy_conversations", set="ours", executions=some)
    assert (told["added"], told["known"]) == (1, 1)
    assert "executions" in refusal("copy_conversations", set="ours")
    assert "999" in refusal("copy_conversations", set="new", run=999)
    assert not ConversationSet.objects.filter(name="new").exists()

    monkeypatch.setattr(copied_runs, "MAX_AT_ONCE", 1)
    assert "worker" in text("copy_conversations", set="ours", run=run.pk)


def test_a_set_takes_what_agents_send_and_stops() -> None:
    ConversationSet.objects.create(name="Help desk", slug="desk")
    assert data_of("read_sent_spans", set="desk") == {"spans": None}

    made = data_of("take_sent_spans", set="desk", quiet_minutes=5)["spans"]
    assert (made["is_open"], made["quiet_minutes"], made["waiting_bytes"]) == (True, 5, 0)
    assert data_of("read_sent_spans", set="desk")["spans"] == made
    SpanInbox.objects.update(left_out={"Traces without a call of a model.": 2})
    assert made["address"] in text("read_sent_spans", set="desk")
    assert "(2 times)" in text("read_sent_spans", set="desk")
    assert "no longer" in text("take_sent_spans", set="desk", is_open=False)


def test_a_daily_import_is_set_read_and_stopped() -> None:
    ConversationSet.objects.create(name="Help desk", slug="desk")
    suite = make_suite()
    given: dict[str, Any] = {
        "set": "desk",
        "url": "https://example.org/a.csv",
        "suite": suite.slug,
        "count": 50,
    }
    assert data_of("read_daily_import", set="desk") == {"daily_import": None}
    assert "max_cost_usd" in refusal("set_daily_import", **given)
    made = data_of("set_daily_import", **given, max_cost_usd=0.5)["daily_import"]
    assert (made["suite"], made["count"], made["is_masked"]) == (suite.slug, 50, True)
    assert data_of("read_daily_import", set="desk")["daily_import"] == made

    assert "desk" in refusal("read_daily_import", set="desks")
    assert "refunds" in refusal("set_daily_import", **{**given, "suite": "refund"}, max_cost_usd=1)
    assert "url" in refusal("set_daily_import", set="desk", url="ftp://example.org/")
    assert "paused" in text("set_daily_import", **given, max_cost_usd=1, is_enabled=False)
    reader = Caller(make_user(["evals_app.add_conversationset"]), Scope.AUTHOR)
    assert "start runs" in call("set_daily_import", given | {"max_cost_usd": 1}, who=reader).text

    assert data_of("stop_daily_import", set="desk") == {"daily_import": None}
    assert "nothing every day" in refusal("stop_daily_import", set="desk")


def test_what_the_last_times_brought_is_told() -> None:
    target = ConversationSet.objects.create(name="Help desk", slug="desk")
    text("set_daily_import", set="desk", url="https://example.org/a.csv")
    due = DueImport.objects.create(
        daily_import=DailyImport.objects.get(), due_at=timezone.now(), state="ended"
    )
    begin_import(target, "a.csv", kind="", is_masked=True, columns={}, due=due, added=7)
    told = text("read_daily_import", set="desk")
    assert "a.csv: 7 new" in told


def test_real_conversations_are_imported_masked_listed_and_graded() -> None:
    content = "Customer: I am ann@example.org\nAgent: It is 6.90."
    told = call("import_conversations", {"set": "Desk", "file_name": "a.txt", "content": content})
    assert (told.data or {})["masked"] == {"e-mail": 1}
    assert data_of("list_conversation_sets")["sets"][0]["count"] == 1
    listed = data_of("list_real_conversations", set="desk")["conversations"]
    assert len(listed) == 1
    assert "No conversation" in text("list_real_conversations", set="desk", topic="price")
    assert "desk" in refusal("list_real_conversations", set="desks")

    suite = make_suite()
    Assertion.objects.create(suite=suite, type="contains", options={"value": "6.90"})
    given = {"set": "desk", "suite": suite.slug, "max_cost_usd": 0.5}
    assert data_of("forecast_grading", **given)["conversations"] == 1
    [run] = data_of("grade_conversations", **given)["runs"]
    assert run["suite"] == suite.slug
    unread = refusal("import_conversations", set="Desk", file_name="a.txt", content="nothing")
    assert "wrote" in unread
