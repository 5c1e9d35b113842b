"""Addresses below /api/."""

from django.urls import URLPattern, URLResolver, path, re_path

from evals_app.api.attachments import AttachmentContent, Attachments
from evals_app.api.exports import Export, SuiteExport
from evals_app.api.imports import Import
from evals_app.api.openapi import Docs, NotFound, Schema
from evals_app.api.run_actions import CancelRun, PinRun, RequeueRun, RerunRun, ResumeRun
from evals_app.api.runs import ForecastRun, OneExecution, OneRun, RunExecutions, Runs
from evals_app.api.written import (
    Agents,
    Fixtures,
    OneAgent,
    OneFixture,
    OneSuite,
    Providers,
    Suites,
)

app_name = "api"

urlpatterns: list[URLPattern | URLResolver] = [
    path("runs/", Runs.as_view(), name="runs"),
    path("runs/forecast/", ForecastRun.as_view(), name="run-forecast"),
    path("runs/<int:pk>/", OneRun.as_view(), name="run"),
    path("runs/<int:pk>/executions/", RunExecutions.as_view(), name="run-executions"),
    path("runs/<int:pk>/cancel/", CancelRun.as_view(), name="run-cancel"),
    path("runs/<int:pk>/resume/", ResumeRun.as_view(), name="run-resume"),
    path("runs/<int:pk>/requeue/", RequeueRun.as_view(), name="run-requeue"),
    path("runs/<int:pk>/pin/", PinRun.as_view(), name="run-pin"),
    path("runs/<int:pk>/rerun/", RerunRun.as_view(), name="run-rerun"),
    path("executions/<int:pk>/", OneExecution.as_view(), name="execution"),
    path("files/", Attachments.as_view(), name="files"),
    path("files/<slug:sha256>/", AttachmentContent.as_view(), name="file"),
    path("import/", Import.as_view(), name="import"),
    path("export/", Export.as_view(), name="export"),
    path("suites/", Suites.as_view(), name="suites"),
    path("suites/<slug:slug>/", OneSuite.as_view(), name="suite"),
    path("suites/<slug:slug>/export/", SuiteExport.as_view(), name="suite-export"),
    path("agents/", Agents.as_view(), name="agents"),
    path("agents/<slug:slug>/", OneAgent.as_view(), name="agent"),
    path("fixtures/", Fixtures.as_view(), name="fixtures"),
    path("fixtures/<slug:slug>/", OneFixture.as_view(), name="fixture"),
    path("providers/", Providers.as_view(), name="providers"),
    path("schema/", Schema.as_view(), name="schema"),
    path("docs/", Docs.as_view(url_name="api:schema"), name="docs"),
    re_path(r"", NotFound.as_view(), name="not-found"),
]
