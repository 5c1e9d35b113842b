"""Conversations that are only measured: no check of theirs can pass or fail."""

import pytest

from evals_app.admin.runs.run_results import results
from evals_app.formats.importing import SourceFile
from evals_app.library.importing.file_import import import_files
from evals_app.models import Agent, Suite
from evals_app.runs.reading.run_readers import execution_details, run_details
from evals_app.runs.reporting import report_content
from tests.runs.suites import finished, make_agent

pytestmark = pytest.mark.django_db

PROJECT = """\
name: shop
model: {provider: openai, name: gpt-5}
instructions: {inline: Help.}
evaluations:
  metrics: [{metric: f1_score}, {metric: bleu}]
test_cases:
  - {name: Order, input: Where is my order?, ground_truth: It is on its way.}
"""


def measured_suite(metrics: str = "") -> Suite:
    text = PROJECT.replace("[{metric: f1_score}, {metric: bleu}]", metrics) if metrics else PROJECT
    import_files([SourceFile("agent.yaml", text.encode())])
    return Suite.objects.get()


def echo() -> Agent:
    return make_agent("echo", rules=[{"reply": "It is on its way, they say."}])


def test_metrics_without_a_threshold_end_measured_with_their_scores() -> None:
    run = finished(measured_suite(), agent=echo())

    answer = run_details(run.pk)
    assert answer is not None
    assert (answer["verdict"], answer["counts"]["measured"]) == ("measured", 1)
    assert (answer["pass_rate"], answer["cases_measured"]) == (None, 1)
    assert answer["score"] > 0
    execution = execution_details(run.executions.get().pk)
    assert execution is not None
    assert (execution["verdict"], execution["cause"]) == ("measured", None)
    assert execution["score"] == answer["score"]
    assert "only measured" in " ".join(answer["notes"])
    assert "measured" in results(run)["counted"].headline


@pytest.mark.parametrize("kind", ["html", "markdown", "junit", "csv", "github"])
def test_reports_name_what_was_measured(kind: str) -> None:
    run = finished(measured_suite(), agent=echo())

    content = report_content(kind, [run], link=lambda _, pk: f"/{pk}/")

    assert "measured" in b"".join(content).decode().lower()


def test_beside_a_metric_with_a_threshold_others_only_inform() -> None:
    run = finished(
        measured_suite("[{metric: f1_score, threshold: 0.5}, {metric: bleu}]"), agent=echo()
    )

    assert (run.verdict, run.passed, run.measured) == ("passed", 1, 0)
