"""Every address of the site, and rows for the parts of it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import Group, User
from django.urls import URLPattern, URLResolver, get_resolver

from evals_app.engine.specs.agent_spec import NOT_CONNECTED
from evals_app.library.deleting.written import delete_case
from evals_app.models import (
    AcceptedFailure,
    Activity,
    Agent,
    AgentCall,
    ApiToken,
    Assertion,
    Attachment,
    BulkEdit,
    Case,
    ConversationGrading,
    ConversationSet,
    DailyImport,
    DeveloperLink,
    EvaluationSteps,
    Execution,
    GradeResult,
    MaskingPattern,
    MonthlyCeiling,
    NoteGroup,
    Provider,
    Reading,
    Review,
    ReviewTask,
    Run,
    Schedule,
    Settlement,
    SpanInbox,
    Webhook,
)
from evals_app.runs.recorded.import_conversations import begin_import
from fixtures_app.library import save_fixture
from fixtures_app.models import EntityType, Fixture
from fixtures_app.spec import FixtureSpec
from tests.authored import a_case, write_suite
from tests.labels import label, make_yardstick
from tests.makers import make_execution, make_grade, make_run, make_trial

ORDER = {"slug": "no-example-has-it", "schema": {}}


@dataclass(frozen=True)
class Samples:
    """Rows for the parts of addresses, and bodies that get as far as the rows."""

    parts: Mapping[str, Any]
    bodies: Mapping[str, Any]

    def url(self, route: str) -> str:
        """Fill in an address."""
        if route in self.parts:
            return str(self.parts[route])
        keys = r"(\w+)/<(?:\w+:)?(?:pk|object_id|id)>"
        filled = re.sub(keys, lambda match: f"{match[1]}/{self.parts[match[1]]}", route)
        return "/" + re.sub(r"<\w+:(\w+)>", lambda match: str(self.parts[match[1]]), filled)


def samples_for(settings: Any) -> Samples:
    """Write a row of each kind; the limits of REST are lifted."""
    rest = [route for route in routes() if route.startswith("api/")]
    settings.METRICS = True
    settings.REST_FRAMEWORK = {
        **settings.REST_FRAMEWORK,
        "DEFAULT_THROTTLE_RATES": dict.fromkeys(settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]),
    }
    suite = write_suite([a_case(), a_case("Gone")])
    save_fixture(
        FixtureSpec.model_validate(
            {"name": "Shop", "slug": "shop", "entities": [], "entity_types": [ORDER]}
        )
    )
    run = make_run({"Where is it": ["failed"]}, suite=suite)
    other = make_run({"Where is it": ["passed"]}, suite=suite)
    execution = make_execution(
        run, "Where is it", number=2, trial=make_trial(), grades=[make_grade()]
    )
    yardstick = make_yardstick()
    label(yardstick, person=False, run=other)
    settlement = Settlement.objects.create(
        base=run, head=run, compared=1, few=0, hopeless=0, suspects=0
    )
    task = ReviewTask.objects.create(run=run)
    grade = GradeResult.objects.get(execution=execution)
    task.items.create(position=1, grade=grade)
    Attachment.objects.store([b"text"])
    root = User.objects.create_superuser("owner")
    token, _ = ApiToken.issue(name="CI", user=root, scope="read")
    deleted = delete_case(suite.cases.get(name="Gone"), by=root)
    case = Case.objects.get()
    rows: dict[str, Any] = {
        "suite": suite,
        "case": case,
        "agent": suite.agent,
        "provider": Provider.objects.first(),
        "run": run,
        "execution": execution,
        "settlement": settlement,
        "reviewtask": task,
        "apitoken": token,
        "fixture": Fixture.objects.get(),
        "entitytype": EntityType.objects.get(),
        "user": User.objects.create_user("sample"),
        "monthlyceiling": MonthlyCeiling.objects.create(max_usd=5),
        "schedule": Schedule.objects.create(owner=root),
        # Nothing listens there.
        "webhook": Webhook.objects.create(name="Chat", url="http://127.0.0.1:9/"),
        "maskingpattern": MaskingPattern.objects.create(name="contract", pattern="VN-1"),
        "acceptedfailure": AcceptedFailure.objects.create(
            suite=suite, run_number=run.pk, case="Where is it", reason="Known.", by_name="owner"
        ),
        "bulkedit": BulkEdit.objects.create(
            suite=suite, what="Disabled", fields=["enabled"], changed=[]
        ),
        "activity": Activity.objects.create(by_name="owner", kind="changed", text="Changed."),
        "group": Group.objects.create(name="Readers"),
        "conversationset": ConversationSet.objects.create(slug="desk", name="Help desk"),
    }
    rows |= _reading(run, execution, root)
    url = "https://exports.example.org/desk.csv"
    DailyImport.objects.create(conversation_set=rows["conversationset"], url=url, owner=root)
    SpanInbox.objects.create(conversation_set=rows["conversationset"], owner=root)
    parts = {name: row.pk for name, row in rows.items()}
    parts |= {
        "run": run.pk,
        "runs": run.pk,
        "executions": execution.pk,
        "settlements": settlement.pk,
    }
    parts |= {"failures": rows["acceptedfailure"].pk, "what": "shipped"}
    parts |= {"tokens": token.pk}
    parts |= {"readings": rows["reading"].pk, "groups": rows["notegroup"].pk}
    unfinished = begin_import(
        rows["conversationset"], "week.jsonl", kind="records", is_masked=True, columns={}
    )
    grading = ConversationGrading.objects.create(
        pk=unfinished.pk, conversation_set=rows["conversationset"], suite=suite, total=2_000
    )
    parts |= {"imports": unfinished.pk, "gradings": grading.pk}
    parts |= {"username": "sample"}
    parts |= {"schedules": rows["schedule"].pk, "webhooks": rows["webhook"].pk}
    parts |= {"patterns": rows["maskingpattern"].pk}
    parts |= {"delivery": rows["webhook"].deliveries.create(body="{}").pk}
    parts |= {"start": run.pk, "stored": Assertion.objects.get(turn__case=case).pk}
    parts |= {"grade": grade.pk, "only": "all", "tasks": task.pk, "position": 1}
    parts |= {"digest": yardstick.digest, "deleted": deleted.pk}
    parts |= {"sha256": Attachment.objects.get().pk, "kind": "contains"}
    review = Review.objects.create(
        execution=execution, kind="comment", reason="Hm.", by=root, by_name="owner"
    )
    parts |= {"review": review.pk}
    parts |= {"report_kind": "markdown", "slug": "shop", "evaluationsteps": _steps().pk}
    both = f"run={run.pk}&run={other.pk}"
    urls = {
        "admin/autocomplete/": "/admin/autocomplete/?app_label=evals_app&model_name=suite"
        "&field_name=agent&term=",
        "admin/^(?P<app_label>evals_app|fixtures_app|auth)/$": "/admin/evals_app/",
        "admin/(?P<url>.*)$": "/admin/nothing/",
        "admin/r/<path:content_type_id>/<path:object_id>/": "/admin/r/1/1/",
        "admin/help/images/<str:name>": "/admin/help/images/review.webp",
        "admin/evals_app/run/compare/": f"/admin/evals_app/run/compare/?{both}",
        "admin/evals_app/run/compare/case/": "/admin/evals_app/run/compare/case/"
        f"?run={run.pk}&run={run.pk}&case=Where+is+it",
        "admin/evals_app/run/compare/case/replies/": "/admin/evals_app/run/compare/case/replies/"
        f"?run={run.pk}&run={run.pk}&case=Where+is+it",
        "admin/evals_app/run/models/": f"/admin/evals_app/run/models/?{both}",
        "admin/evals_app/run/models/live/": f"/admin/evals_app/run/models/live/?{both}",
        "admin/evals_app/run/models/cases/": "/admin/evals_app/run/models/cases/"
        f"?{both}&suite={suite.slug}",
        "admin/evals_app/run/models/report/": f"/admin/evals_app/run/models/report/?{both}&kind=html",
        "admin/evals_app/run/case-history/": "/admin/evals_app/run/case-history/"
        f"?suite={suite.slug}&case=Where+is+it",
        "admin/help/<slug:slug>/": "/admin/help/concepts/",
        "admin/evals_app/execution/<int:pk>/review/": "/admin/evals_app/execution/"
        f"{execution.pk}/review/?word=comment",
        "api/.+": "/api/nothing/",
        "admin/invitation/<uidb64>/<token>/": "/admin/invitation/MQ/made-up/",
        "admin/connect/<int:pk>/<token>/": _developer_link(root),
    }
    urls |= {
        route: f"/{route.replace('<slug:slug>', suite.slug).replace('<int:pk>', str(case.pk))}"
        for route in rest
        if "suites/" in route
    }
    case.tags = ["returns"]
    case.save(update_fields=["tags"])
    asked = make_run(["queued"], suite_name="Proposed cases", is_tryout=True)
    urls["admin/evals_app/suite/<int:pk>/propose/<int:run>/"] = (
        f"/admin/evals_app/suite/{suite.pk}/propose/{asked.pk}/"
    )
    parts |= {"topic": "returns"}
    urls["admin/evals_app/agent/<int:pk>/topics/set/"] = (
        f"/admin/evals_app/agent/{suite.agent_id}/topics/set/?topic=returns"
    )
    urls |= {
        route: f"/{route}".replace("<slug:slug>", suite.agent.slug).replace(
            "<path:topic>", "returns"
        )
        for route in rest
        if route.startswith("api/agents/<slug:slug>/topics/")
    }
    connected = Agent.objects.create(slug="laptop", name="Laptop", driver="connected")
    call = AgentCall.objects.create(
        execution=execution,
        turn=1,
        agent=connected.slug,
        session_id="s",
        request={},
        offers=1,
    )
    parts |= {"computer": uuid4()}
    urls |= {
        route: f"/{route}".replace("<slug:slug>", connected.slug)
        .replace("<int:pk>", str(call.pk))
        .replace("<uuid:computer>", str(parts["computer"]))
        for route in rest
        if route.startswith(("api/agents/<slug:slug>/calls/", "api/agents/<slug:slug>/computers/"))
    }
    urls |= {
        route: f"/{route}".replace("<slug:slug>", "desk").replace("<int:pk>", str(unfinished.pk))
        for route in rest
        if route.startswith("api/conversation-sets/<")
    }
    urls["api/providers/<slug:slug>/"] = f"/api/providers/{rows['provider'].slug}/"
    bodies = {
        "admin/evals_app/suite/<int:pk>/cases/": {"up": case.pk},
        "admin/evals_app/execution/<int:pk>/review/": {"word": "comment", "reason": "Hm."},
        "api/readings/": {"run": run.pk, "count": 1},
        "admin/views/": {"list": "evals_app.suite", "name": "Mine", "query": "q=a"},
        "admin/evals_app/deleted/restore/": {"entry": deleted.pk},
    }
    return Samples(parts | urls, bodies)


def _developer_link(root: User) -> str:
    agent = Agent.objects.create(
        slug="waits",
        name="Waits",
        driver="scripted",
        connection={"rules": [{"error": NOT_CONNECTED}]},
    )
    link, token = DeveloperLink.make(agent, by=root)
    return f"/admin/connect/{link.pk}/{token}/"


def _steps() -> EvaluationSteps:
    return EvaluationSteps.objects.create(
        key="0" * 64, criteria="-", shown=[], model="-", prompt_version=1, written=[], steps=[]
    )


def routes(resolver: Any = None, before: str = "") -> Iterator[str]:
    """Return the patterns of all addresses."""
    for pattern in (resolver or get_resolver()).url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern, route)
        elif isinstance(pattern, URLPattern):
            yield route


def _reading(run: Run, execution: Execution, by: User) -> dict[str, Any]:
    reading = Reading.objects.create(run=run)
    group = NoteGroup.objects.create(reading=reading, name="Prices", created_by=by)
    item = reading.items.create(position=1, execution=execution)
    item.notes.create(kind="wrong", text="Hm", group=group, by=by, by_name="owner")
    return {"reading": reading, "notegroup": group}
