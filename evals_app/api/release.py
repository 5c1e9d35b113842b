"""May we ship? The answer about a suite."""

from typing import ClassVar

from evals_app.api.runs.run_views import VIEW
from evals_app.models import Suite
from evals_app.reports.answers.release import ReleaseJson
from evals_app.reports.answers.run_answers import Json
from evals_app.requests.endpoint import OneEndpoint, describe_get
from evals_app.runs.release import release_of


@describe_get("suites_decision", "May we ship?", 404)
class SuiteDecision(OneEndpoint):
    """Whether what a suite tests may be shipped: its last whole run against the released version."""

    needs: ClassVar = {"GET": VIEW}
    answer = ReleaseJson

    def read(self, key: str) -> Json | None:
        suite = Suite.objects.select_related("agent", "baseline").filter(slug=key).first()
        return None if suite is None else release_of(suite).to_json()
