"""Addresses below /api/."""

from django.urls import URLPattern, URLResolver, path, re_path

from evals_app.api.authored.attachments import AttachmentContent, Attachments
from evals_app.api.authored.case_making import CaseOfExecution
from evals_app.api.authored.cases import Cases, OneCase
from evals_app.api.authored.exports import ExportAll, SuiteExport
from evals_app.api.authored.imports import Import
from evals_app.api.authored.views import (
    Agents,
    Fixtures,
    OneAgent,
    OneFixture,
    OneProvider,
    OneSuite,
    Providers,
    RestoreSuite,
    Suites,
)
from evals_app.api.comparing import CompareRuns
from evals_app.api.retests import (
    CancelSettlement,
    ForecastSettlement,
    OneSettlement,
    Settlements,
)
from evals_app.api.reviews.calibration import JudgedCriteriaList, OneYardstick
from evals_app.api.reviews.review_tasks import CloseReviewTask, OneReviewTask, ReviewTasks
from evals_app.api.reviews.review_views import OneReview, ReviewEndpoint
from evals_app.api.runs.history import CaseHistory
from evals_app.api.runs.reports import ReportSchema, RunReport
from evals_app.api.runs.run_actions import (
    BaselineRun,
    CancelRun,
    ForecastRegrade,
    PinRun,
    Regrade,
    RequeueRun,
    RerunRun,
    ResumeRun,
)
from evals_app.api.runs.run_views import ForecastRun, OneExecution, OneRun, RunExecutions, Runs
from evals_app.api.runs.traces import Traces
from evals_app.api.schedules import OneSchedule, Schedules
from evals_app.api.spending import SpendingOfMonth
from evals_app.api.webhooks import Deliveries, OneWebhook, SendAgain, TestWebhook, Webhooks
from evals_app.requests.openapi import Docs, NotFound, Schema

app_name = "api"

urlpatterns: list[URLPattern | URLResolver] = [
    path("runs/", Runs.as_view(), name="runs"),
    path("runs/forecast/", ForecastRun.as_view(), name="run-forecast"),
    path("runs/compare/", CompareRuns.as_view(), name="runs-compare"),
    path("runs/<int:pk>/", OneRun.as_view(), name="run"),
    path("runs/<int:pk>/executions/", RunExecutions.as_view(), name="run-executions"),
    path("runs/<int:pk>/report/", RunReport.as_view(), name="run-report"),
    path("runs/report-schema/", ReportSchema.as_view(), name="report-schema"),
    path("runs/<int:pk>/cancel/", CancelRun.as_view(), name="run-cancel"),
    path("runs/<int:pk>/resume/", ResumeRun.as_view(), name="run-resume"),
    path("runs/<int:pk>/requeue/", RequeueRun.as_view(), name="run-requeue"),
    path("runs/<int:pk>/pin/", PinRun.as_view(), name="run-pin"),
    path("runs/<int:pk>/baseline/", BaselineRun.as_view(), name="run-baseline"),
    path("runs/<int:pk>/rerun/", RerunRun.as_view(), name="run-rerun"),
    path("runs/<int:pk>/review-tasks/", ReviewTasks.as_view(), name="run-review-tasks"),
    path("review-tasks/<int:pk>/", OneReviewTask.as_view(), name="review-task"),
    path("review-tasks/<int:pk>/close/", CloseReviewTask.as_view(), name="review-task-close"),
    path("runs/<int:pk>/regrade/", Regrade.as_view(), name="run-regrade"),
    path("runs/<int:pk>/regrade/forecast/", ForecastRegrade.as_view(), name="run-regrade-forecast"),
    path("schedules/", Schedules.as_view(), name="schedules"),
    path("schedules/<int:pk>/", OneSchedule.as_view(), name="schedule"),
    path("webhooks/", Webhooks.as_view(), name="webhooks"),
    path("webhooks/<int:pk>/", OneWebhook.as_view(), name="webhook"),
    path("webhooks/<int:pk>/test/", TestWebhook.as_view(), name="webhook-test"),
    path("webhooks/<int:pk>/deliveries/", Deliveries.as_view(), name="webhook-deliveries"),
    path(
        "webhooks/<int:pk>/deliveries/<int:delivery>/again/",
        SendAgain.as_view(),
        name="webhook-again",
    ),
    path("settlements/", Settlements.as_view(), name="settlements"),
    path("settlements/forecast/", ForecastSettlement.as_view(), name="settlement-forecast"),
    path("settlements/<int:pk>/", OneSettlement.as_view(), name="settlement"),
    path("settlements/<int:pk>/cancel/", CancelSettlement.as_view(), name="settlement-cancel"),
    path("executions/<int:pk>/", OneExecution.as_view(), name="execution"),
    path("executions/<int:pk>/case/", CaseOfExecution.as_view(), name="execution-case"),
    path("executions/<int:pk>/reviews/", ReviewEndpoint.as_view(), name="reviews"),
    path("executions/<int:pk>/reviews/<int:review>/", OneReview.as_view(), name="review"),
    path("yardsticks/", JudgedCriteriaList.as_view(), name="yardsticks"),
    path("yardsticks/<slug:digest>/", OneYardstick.as_view(), name="yardstick"),
    path("spending/", SpendingOfMonth.as_view(), name="spending"),
    # As OpenTelemetry has it: the address of a site's collector is /api/otlp.
    path("otlp/v1/traces", Traces.as_view(), name="otlp-traces"),
    path("files/", Attachments.as_view(), name="files"),
    path("files/<slug:sha256>/", AttachmentContent.as_view(), name="file"),
    path("import/", Import.as_view(), name="import"),
    path("export/", ExportAll.as_view(), name="export"),
    path("suites/", Suites.as_view(), name="suites"),
    path("suites/<slug:slug>/", OneSuite.as_view(), name="suite"),
    path("suites/<slug:slug>/restore/", RestoreSuite.as_view(), name="suite-restore"),
    path("suites/<slug:slug>/cases/", Cases.as_view(), name="cases"),
    path("suites/<slug:slug>/cases/<int:pk>/", OneCase.as_view(), name="case"),
    path("suites/<slug:slug>/export/", SuiteExport.as_view(), name="suite-export"),
    path("suites/<slug:slug>/cases/history/", CaseHistory.as_view(), name="case-history"),
    path("agents/", Agents.as_view(), name="agents"),
    path("agents/<slug:slug>/", OneAgent.as_view(), name="agent"),
    path("fixtures/", Fixtures.as_view(), name="fixtures"),
    path("fixtures/<slug:slug>/", OneFixture.as_view(), name="fixture"),
    path("providers/", Providers.as_view(), name="providers"),
    path("providers/<slug:slug>/", OneProvider.as_view(), name="provider"),
    path("schema/", Schema.as_view(), name="schema"),
    path("docs/", Docs.as_view(url_name="api:schema"), name="docs"),
    re_path(r"", NotFound.as_view(), name="not-found"),
]
