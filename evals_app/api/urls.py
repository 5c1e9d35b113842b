"""Addresses below /api/."""

from django.urls import path, re_path
from rest_framework.views import APIView

from evals_app.api import (
    activity,
    comparing,
    people,
    release,
    retests,
    schedules,
    spending,
    webhooks,
)
from evals_app.api.authored import attachments, case_making, cases, exports, imports, views
from evals_app.api.reviews import calibration, review_tasks, review_views
from evals_app.api.runs import connections, history, reports, run_actions, run_views, traces
from evals_app.requests.openapi import Docs, Index, NotFound, Schema

app_name = "api"

# Address, view, name.
_VIEWS: tuple[tuple[str, type[APIView], str], ...] = (
    ("runs/", run_views.Runs, "runs"),
    ("runs/forecast/", run_views.ForecastRun, "run-forecast"),
    ("runs/compare/", comparing.CompareRuns, "runs-compare"),
    ("runs/comparison/", comparing.CompareModels, "runs-comparison"),
    ("runs/<int:pk>/", run_views.OneRun, "run"),
    ("runs/<int:pk>/executions/", run_views.RunExecutions, "run-executions"),
    ("runs/<int:pk>/report/", reports.RunReport, "run-report"),
    ("runs/report-schema/", reports.ReportSchema, "report-schema"),
    ("runs/<int:pk>/cancel/", run_actions.cancel, "run-cancel"),
    ("runs/<int:pk>/resume/", run_actions.resume, "run-resume"),
    ("runs/<int:pk>/requeue/", run_actions.put_back, "run-requeue"),
    ("runs/<int:pk>/pin/", run_actions.pin, "run-pin"),
    ("runs/<int:pk>/baseline/", run_actions.make_baseline, "run-baseline"),
    ("runs/<int:pk>/decision/", release.DecideRun, "run-decision"),
    ("runs/<int:pk>/accepted-failures/", release.AcceptFailuresOfRun, "run-accepted-failures"),
    ("accepted-failures/<int:pk>/withdraw/", release.WithdrawAcceptance, "acceptance-withdraw"),
    ("runs/<int:pk>/rerun/", run_actions.run_again, "run-rerun"),
    ("runs/<int:pk>/review-tasks/", review_tasks.ReviewTasks, "run-review-tasks"),
    ("review-tasks/<int:pk>/", review_tasks.OneReviewTask, "review-task"),
    ("review-tasks/<int:pk>/close/", review_tasks.CloseReviewTask, "review-task-close"),
    ("runs/<int:pk>/regrade/", run_actions.grade_again, "run-regrade"),
    ("runs/<int:pk>/regrade/forecast/", run_actions.ForecastRegrade, "run-regrade-forecast"),
    ("schedules/", schedules.Schedules, "schedules"),
    ("schedules/<int:pk>/", schedules.OneSchedule, "schedule"),
    ("webhooks/", webhooks.Webhooks, "webhooks"),
    ("webhooks/<int:pk>/", webhooks.OneWebhook, "webhook"),
    ("webhooks/<int:pk>/test/", webhooks.TestWebhook, "webhook-test"),
    ("webhooks/<int:pk>/deliveries/", webhooks.Deliveries, "webhook-deliveries"),
    ("webhooks/<int:pk>/deliveries/<int:delivery>/again/", webhooks.SendAgain, "webhook-again"),
    ("settlements/", retests.Settlements, "settlements"),
    ("settlements/forecast/", retests.ForecastSettlement, "settlement-forecast"),
    ("settlements/<int:pk>/", retests.OneSettlement, "settlement"),
    ("settlements/<int:pk>/cancel/", retests.CancelSettlement, "settlement-cancel"),
    ("executions/", run_views.AllExecutions, "executions"),
    ("executions/<int:pk>/", run_views.OneExecution, "execution"),
    ("executions/<int:pk>/case/", case_making.CaseOfExecution, "execution-case"),
    ("executions/<int:pk>/reviews/", review_views.ReviewEndpoint, "reviews"),
    ("executions/<int:pk>/reviews/<int:review>/", review_views.OneReview, "review"),
    ("yardsticks/", calibration.JudgedCriteriaList, "yardsticks"),
    ("yardsticks/<slug:digest>/", calibration.OneYardstick, "yardstick"),
    ("activity/", activity.Activities, "activity"),
    ("spending/", spending.SpendingOfMonth, "spending"),
    ("me/", people.Me, "me"),
    ("tokens/", people.OwnTokens, "tokens"),
    ("tokens/<int:pk>/", people.OwnToken, "token"),
    ("people/", people.People, "people"),
    # As OpenTelemetry has it: the address of a site's collector is /api/otlp.
    ("otlp/v1/traces", traces.Traces, "otlp-traces"),
    ("files/", attachments.Attachments, "files"),
    ("files/<slug:sha256>/", attachments.AttachmentContent, "file"),
    ("import/", imports.Import, "import"),
    ("export/", exports.ExportAll, "export"),
    ("suites/", views.Suites, "suites"),
    ("suites/<slug:slug>/", views.OneSuite, "suite"),
    ("suites/<slug:slug>/restore/", views.RestoreSuite, "suite-restore"),
    ("suites/<slug:slug>/check/", views.CheckedSuite, "suite-check"),
    ("suites/<slug:slug>/decision/", release.SuiteDecision, "suite-decision"),
    ("suites/<slug:slug>/decisions/", release.ShipDecisions, "suite-decisions"),
    ("suites/<slug:slug>/cases/", cases.Cases, "cases"),
    ("suites/<slug:slug>/cases/<int:pk>/", cases.OneCase, "case"),
    ("suites/<slug:slug>/export/", exports.SuiteExport, "suite-export"),
    ("suites/<slug:slug>/cases/history/", history.CaseHistory, "case-history"),
    ("agents/", views.Agents, "agents"),
    ("agents/<slug:slug>/", views.OneAgent, "agent"),
    ("agents/<slug:slug>/calls/", connections.AgentCalls, "agent-calls"),
    ("agents/<slug:slug>/calls/<int:pk>/answer/", connections.AnswerCall, "agent-call-answer"),
    ("agents/<slug:slug>/computers/<uuid:computer>/", connections.OneComputer, "agent-computer"),
    ("agents/<slug:slug>/topics/", release.TopicsOfAgent, "agent-topics"),
    ("agents/<slug:slug>/topics/<path:topic>/", release.TopicOfAgent, "agent-topic"),
    ("fixtures/", views.Fixtures, "fixtures"),
    ("fixtures/<slug:slug>/", views.OneFixture, "fixture"),
    ("entity-types/", views.EntityTypes, "entity-types"),
    ("providers/", views.Providers, "providers"),
    ("providers/<slug:slug>/", views.OneProvider, "provider"),
    ("schema/", Schema, "schema"),
)

urlpatterns = [
    path("", Index.as_view(views=_VIEWS), name="index"),
    *(path(address, view.as_view(), name=name) for address, view, name in _VIEWS),
    path("docs/", Docs.as_view(url_name="api:schema"), name="docs"),
    re_path(r".+", NotFound.as_view(), name="not-found"),
]
