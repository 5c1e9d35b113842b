"""Every operation that writes leaves an entry in the activity, in words.

The operations are those of the tables in `test_permissions`, which hold all addresses. An operation
whose sample writes must leave an act; one that is not tried here is in `LEFT_OUT`, with the reason.
"""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from evals_app.admin.people import profile
from evals_app.mcp.table import TOOLS
from evals_app.mcp.tool import Caller, call_tool
from evals_app.models import Activity, ApiToken, Assertion, GradeResult, Run, SignedInSession
from evalsite.middleware import WriteWatch
from tests.addresses import Samples, samples_for
from tests.runs.recorded.conversations import imported, rows_of
from tests.runs.suites import finished, make_suite
from tests.test_permissions import NOBODY, PAGES, REST

pytestmark = pytest.mark.django_db

# Operations of REST that write nothing here.
READS, OTHER_RUN = "forecasts", "needs a run that can go on, or another pair: its function notes it"
CONNECTED = "is the protocol of connected agents, no act of a person"
LEFT_OUT = {
    "POST api/runs/forecast/": READS,
    "POST api/runs/<int:pk>/regrade/forecast/": READS,
    "POST api/settlements/forecast/": READS,
    "POST api/runs/<int:pk>/cancel/": OTHER_RUN,
    "POST api/runs/<int:pk>/resume/": OTHER_RUN,
    "POST api/runs/<int:pk>/requeue/": OTHER_RUN,
    "POST api/runs/<int:pk>/baseline/": OTHER_RUN,
    "POST api/runs/<int:pk>/regrade/": OTHER_RUN,
    "POST api/runs/<int:pk>/review-tasks/": OTHER_RUN,
    "POST api/settlements/": OTHER_RUN,
    "POST api/webhooks/<int:pk>/deliveries/<int:delivery>/again/": "is being sent",
    "POST api/suites/<slug:slug>/restore/": "is not archived",
    "DELETE api/agents/<slug:slug>/": "is in use",
    "POST api/agents/<slug:slug>/calls/": CONNECTED,
    "POST api/agents/<slug:slug>/calls/<int:pk>/answer/": CONNECTED,
    "DELETE api/agents/<slug:slug>/computers/<uuid:computer>/": CONNECTED,
    "POST api/conversation-sets/<slug:slug>/grade/": "starts a run, which notes it",
    "POST api/conversation-sets/<slug:slug>/grade/forecast/": READS,
    "POST api/otlp/v1/traces": "spans of agents are no act of a person",
    "POST api/conversation-sets/<slug:slug>/otlp/v1/traces": "the import of what is sent notes it",
    "DELETE api/runs/<int:pk>/": "is being retested: see tests/runs/forgetting/",
    "DELETE api/people/<str:username>/": "writes the account: see tests/runs/forgetting/",
    "POST mcp/": "its tools are tried below",
    "POST mcp": "its tools are tried below",
}

_AGENT = {"agent": "Shop", "slug": "shop", "driver": "scripted", "rules": [{"reply": "Hm."}]}
_SUITE = {"suite": "Refunds", "slug": "refunds", "agent": "shop", "cases": []}
_CASE = {"name": "New", "turns": [{"user": "Hello", "assertions": []}]}
_SCHEDULE = {"suites": ["refunds"], "frequency": "daily", "at": "03:00", "time_zone": "UTC"}
_HOOK = {"name": "New", "url": "https://example.org/", "on_end": True}
_FIXTURE = {"name": "Store", "slug": "shop", "entities": []}
QUERIES = {
    "POST api/files/": "?name=a.txt",
    "POST api/conversation-sets/<slug:slug>/imports/": "?name=a.txt",
}
BODIES: dict[str, Any] = {
    "POST api/runs/": {"suite": "refunds"},
    "POST api/runs/<int:pk>/pin/": {"is_pinned": True},
    "POST api/runs/<int:pk>/baseline/": {"is_baseline": False},
    "POST api/conversation-sets/": {"name": "New"},
    "POST api/masking-patterns/": {"name": "New", "pattern": "VN"},
    "PUT api/masking-patterns/<int:pk>/": {"name": "Ours", "pattern": "VN"},
    "POST api/conversation-sets/<slug:slug>/runs/": {"run": 1},
    "POST api/conversation-sets/<slug:slug>/imports/": "Customer: Why?\nAgent: So.",
    "PUT api/conversation-sets/<slug:slug>/daily-import/": {"url": "https://example.org/desk.csv"},
    "PATCH api/conversation-sets/<slug:slug>/daily-import/": {"count": 3},
    "PUT api/conversation-sets/<slug:slug>/spans/": {"quiet_minutes": 5},
    "POST api/schedules/": _SCHEDULE,
    "PUT api/schedules/<int:pk>/": _SCHEDULE,
    "POST api/webhooks/": _HOOK,
    "PUT api/webhooks/<int:pk>/": _HOOK,
    "POST api/executions/<int:pk>/reviews/": {"kind": "comment", "reason": "Hm."},
    "POST api/readings/<int:pk>/notes/": {"position": 1, "kind": "wrong", "text": "Hm."},
    "POST api/readings/<int:pk>/groups/": {"name": "New"},
    "PATCH api/note-groups/<int:pk>/": {"name": "Ours"},
    "POST api/suites/<slug:slug>/cases/": _CASE,
    "PUT api/suites/<slug:slug>/cases/<int:pk>/": _CASE,
    "PUT api/agents/<slug:slug>/": _AGENT,
    "PUT api/suites/<slug:slug>/": _SUITE,
    "PUT api/fixtures/<slug:slug>/": _FIXTURE,
    "POST api/agents/<slug:slug>/topics/<path:topic>/": {"state": "ready"},
    "PUT api/providers/<slug:slug>/": {
        "provider": "Ours",
        "slug": "anthropic",
        "kind": "anthropic",
    },
    "PATCH api/providers/<slug:slug>/": {"provider": "Ours"},
    "PATCH api/fixtures/<slug:slug>/": {"name": "Ours"},
    "PATCH api/agents/<slug:slug>/": {"agent": "Ours"},
    "PATCH api/suites/<slug:slug>/": {"suite": "Ours"},
    "PATCH api/suites/<slug:slug>/cases/<int:pk>/": {"name": "Ours"},
    "PATCH api/schedules/<int:pk>/": {"name": "Ours", "suites": ["refunds"]},
    "PATCH api/webhooks/<int:pk>/": {"name": "Ours"},
    "POST api/import/": {
        "files": [{"path": "a.yaml", "content": json.dumps({**_AGENT, "slug": "new"})}]
    },
    "POST api/files/": "text",
    "POST api/runs/<int:pk>/decision/": {"shipped": False, "reason": "No."},
    "POST api/runs/<int:pk>/accepted-failures/": {"cases": ["Where is it"], "reason": "Known."},
}


@pytest.fixture
def samples(settings: Any) -> Samples:
    return samples_for(settings)


def operations() -> Iterator[tuple[str, str]]:
    for route, need in PAGES.items():
        if isinstance(need, str) or need.get("POST", NOBODY) != NOBODY:
            yield "POST", route
    for route, methods in REST.items():
        yield from ((method, route) for method in methods if method != "GET")


@pytest.mark.slow
def test_every_operation_that_writes_leaves_an_entry_in_words(samples: Samples) -> None:
    owner = User.objects.get(username="owner")
    page, program = Client(), Client(headers={"Authorization": f"Bearer {_token(owner)}"})
    silent, reached = {}, set()

    for method, route in operations():
        name = f"{method} {route}"
        body = BODIES.get(name) or samples.bodies.get(route) or {}
        page.force_login(owner)  # one of them signs out
        watch, last = WriteWatch(), _last()
        with transaction.atomic(), connection.execute_wrapper(watch):
            if route.startswith("api/"):
                given = body if isinstance(body, str) else json.dumps(body)
                url = samples.url(route) + QUERIES.get(name, "")
                program.generic(method, url, given, "application/json")
            else:
                page.post(samples.url(route), body or {"post": "yes"})
            acts = [act.text for act in Activity.objects.filter(pk__gt=last)]
            transaction.set_rollback(True)
        if watch.tables:
            reached.add(name)
            if not acts or any(text.startswith("Wrote: ") for text in acts):
                silent[name] = watch.in_words

    assert silent == {}
    rest = {f"{method} {route}" for method, route in operations() if not _is_page(route)}
    assert sorted(rest - reached) == sorted(LEFT_OUT)


def _is_page(route: str) -> bool:
    return route == "" or route.startswith("admin/")


def test_a_write_without_an_entry_of_its_own_leaves_one_with_the_name_of_its_table(
    client: Client, monkeypatch: pytest.MonkeyPatch, samples: Samples
) -> None:
    owner = User.objects.get(username="owner")
    client.force_login(owner)
    monkeypatch.setattr(profile, "note_edit", lambda *_args, **_more: None)

    client.post("/admin/profile/time-zone/", {"time_zone": "Europe/Zurich"})

    act = Activity.objects.latest("pk")
    assert (act.by_name, act.origin, act.text) == ("owner", "page", "Wrote: profile.")


NEW_AGENT = "agent: Echo\nslug: new\ndriver: scripted\nrules: [{reply: Hm.}]\n"


def tool_arguments(ended: Run) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the arguments of each tool that writes; some are about the run of the tool before."""
    grade = GradeResult.objects.filter(execution__run=ended).earliest("pk")

    real = imported(rows_of(2)).conversation_set
    Assertion.objects.create(suite=ended.suite, type="contains", options={"value": "Answer"})

    def latest() -> dict[str, Any]:
        return {"run": Run.objects.latest("pk").pk}

    return {
        "write_files": lambda: {"files": [{"path": "a.yaml", "content": NEW_AGENT}]},
        "start_run": lambda: {"suite": ended.suite_slug, "max_cost_usd": 0.5},
        "cancel_run": latest,
        "resume_run": lambda: {**latest(), "max_cost_usd": 1},
        "rerun_cases": lambda: {"run": ended.pk, "only": "all", "max_cost_usd": 0.5},
        "regrade_run": lambda: {"run": ended.pk, "max_cost_usd": 0.5},
        "import_conversations": lambda: {
            "set": real.slug,
            "file_name": "a.txt",
            "content": "Customer: Why?\nAgent: So.",
        },
        "copy_conversations": lambda: {"set": real.slug, "run": ended.pk},
        "grade_conversations": lambda: {
            "set": real.slug,
            "suite": ended.suite_slug,
            "count": 1,  # of one import, so one run
            "max_cost_usd": 0.5,
        },
        "set_daily_import": lambda: {"set": real.slug, "url": "https://example.org/a.csv"},
        "stop_daily_import": lambda: {"set": real.slug},
        "take_sent_spans": lambda: {"set": real.slug},
        "review_conversation": lambda: {
            "execution": grade.execution_id,
            "grade": grade.pk,
            "passed": True,
            "reason": "Right.",
        },
        "decide_release": lambda: {"run": ended.pk, "shipped": False, "reason": "No."},
    }


def test_every_tool_that_writes_leaves_an_entry() -> None:
    writing = [tool for tool in TOOLS.values() if not tool.is_read_only]
    given = tool_arguments(finished(make_suite(cases=2)))
    assert {tool.name for tool in writing} == given.keys()
    caller = Caller(User.objects.create_superuser("owner"), ApiToken.Scope.AUTHOR)

    for tool in writing:
        last = _last()
        answer = call_tool(TOOLS, tool.name, given[tool.name](), who=lambda: caller)
        assert not answer.is_error, (tool.name, answer.text)
        names = Activity.objects.filter(pk__gt=last).values_list("by_name", flat=True)
        assert [*names] == ["owner"], tool.name


def test_signing_in_failing_to_and_signing_out_are_acts(client: Client) -> None:
    User.objects.create_user("ann", password="right-one", is_staff=True)
    for password in ("wrong", "right-one"):
        client.post("/admin/login/", {"username": "ann", "password": password})
    client.post("/admin/logout/")

    acts = Activity.objects.order_by("pk").values_list("by_name", "kind", "origin")
    assert [*acts] == [
        ("ann", "sign_in_failed", "page"),
        ("ann", "signed_in", "page"),
        ("ann", "signed_out", "page"),
    ]


def test_setting_up_a_second_step_and_signing_in_with_it_are_one_act_each(client: Client) -> None:
    ann = User.objects.create_user("ann", password="right-one", is_staff=True)
    client.post("/admin/login/", {"username": "ann", "password": "right-one"})
    client.get("/admin/profile/two-step/")  # makes a key
    given = {"password": "right-one", "code": "wrong"}
    client.post("/admin/profile/two-step/", given)
    TOTPDevice.objects.update(throttling_failure_count=0)
    client.post("/admin/profile/two-step/", given | {"code": _code(later=0)})
    client.post("/admin/logout/")
    client.post("/admin/login/", {"username": "ann", "password": "right-one"})
    client.post("/admin/login/code/", {"code": _code(later=1)})
    SignedInSession.objects.filter(person=ann).update(seen_at=timezone.now() - timedelta(hours=1))
    client.get("/admin/")  # notes that the session is used

    acts = Activity.objects.order_by("pk").values_list("kind", "text")
    assert [*acts] == [
        ("signed_in", "Signed in."),
        ("changed", "Turned the second step on."),
        ("signed_out", "Signed out."),
        ("signed_in", "Signed in."),
    ]


def _code(*, later: int) -> str:
    """Return what the app shows now, or some half minutes later."""
    return f"{totp(TOTPDevice.objects.get().bin_key, t0=-30 * later):06}"


def test_a_change_of_roles_says_from_what_to_what(admin_client: Client) -> None:
    ann = User.objects.create_user("ann", is_staff=True)
    ann.groups.set(Group.objects.filter(name="Viewer"))
    roles = [Group.objects.get(name="Admin").pk]
    given = {"username": "ann", "name": "Ann", "groups": roles, "is_staff": "on"}

    admin_client.post(f"/admin/auth/user/{ann.pk}/change/", given | {"is_superuser": "on"})

    text = Activity.objects.latest("pk").text
    assert "Roles from Viewer to Admin" in text
    assert "Superuser from no to yes" in text
    assert "Active from yes to no" in text


def test_own_passwords_downloads_and_secrets_are_acts(client: Client, samples: Samples) -> None:
    owner = User.objects.get(username="owner")
    owner.set_password("old-and-long-9")
    owner.save()
    client.force_login(owner)
    given = {"old_password": "old-and-long-9"}
    given |= dict.fromkeys(["new_password1", "new_password2"], "new-and-long-9")
    last = _last()

    client.post("/admin/password_change/", given)
    client.get(samples.url("admin/evals_app/webhook/<int:pk>/secret/"))
    client.get(samples.url("admin/evals_app/suite/export/"))
    token = Client(headers={"Authorization": f"Bearer {_token(owner)}"})
    token.get("/api/export/")
    token.get("/api/schema/")  # is read, not kept

    acts = Activity.objects.filter(pk__gt=last).order_by("pk")
    assert [(act.kind, act.origin, act.token, act.sentence) for act in acts] == [
        ("changed", "page", "", "owner: Changed their own password."),
        ("secret", "page", "", "Chat: Saw the signing secret."),
        ("downloaded", "page", "", "Downloaded evalwell.zip."),
        ("downloaded", "rest", "CI", "Downloaded evalwell.zip."),
    ]


def _token(user: User) -> str:
    return ApiToken.issue(name="CI", user=user, scope="author")[1]


def _last() -> int:
    return Activity.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
