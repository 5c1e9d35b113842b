"""The JSON Schema of the JSON report: `python -m evals_app.reports.reference.report_schema > docs/report.schema.json`."""

import json
import sys
from typing import Literal

from pydantic import Field, TypeAdapter

from evals_app.engine.verdicts.run_summary import RunVerdict
from evals_app.reports.answers.model_comparison_answers import ModelComparisonAnswer
from evals_app.reports.answers.run_answers import (
    Answer,
    CostParts,
    CountsJson,
    ExecutionDetails,
    Json,
    RunDetails,
    Tokens,
)
from evals_app.reports.answers.run_json import SCHEMA_VERSION
from evals_app.reports.reference.spec_schema import ClientSchema

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Total(Answer):
    """Several runs added up; what is unknown for one of them is null."""

    runs: int
    verdict: RunVerdict
    verdicts: dict[RunVerdict, int]
    counts: CountsJson
    simulated_left_out: int = Field(
        description="Simulated runs that `counts` leaves out, because other runs are not simulated."
    )
    tokens: Tokens
    cost_usd: float | None
    cost_parts_usd: CostParts


class RunReportJson(Answer):
    """A run with its executions."""

    run: RunDetails
    executions: list[ExecutionDetails]


class OneRunJson(RunReportJson):
    """The report of one run."""

    schema_version: Literal[1]


class SeveralRuns(Answer):
    """The report of several runs."""

    schema_version: Literal[1]
    total: Total
    comparison: ModelComparisonAnswer | None = Field(
        description="The runs by agent and model; null: they are too many for one table."
    )
    runs: list[RunReportJson]


def report_schema() -> Json:
    """Return the schema of the JSON report."""
    schema = TypeAdapter(OneRunJson | SeveralRuns).json_schema(schema_generator=ClientSchema)
    title = f"Report of runs by Evalwell, version {SCHEMA_VERSION}"
    return {"$schema": _DIALECT, "title": title} | schema


if __name__ == "__main__":
    json.dump(report_schema(), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
