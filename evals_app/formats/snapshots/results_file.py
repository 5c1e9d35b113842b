"""Runs read back from their JSON, so that later runs can be compared with them without a server."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.record.trial import Verdict
from evals_app.engine.verdicts.run_summary import RunVerdict

_WRITTEN_BY = (
    "Files that runs can be compared with are written by run_evals --output or --report json=FILE."
)


class CannotReadResultsError(CannotError):
    """A file has no results that a run can be compared with."""


class CaseInFile(BaseModel):
    """The result of a case, with the keys of `CaseResultJson`; older files lack the last ones."""

    name: str = Field(max_length=200)
    verdict: Verdict | None
    trials: int = Field(ge=0)
    passed: int = Field(ge=0)
    failed: int = Field(ge=0)
    errored: int = Field(ge=0)
    measured: int = Field(default=0, ge=0)
    skipped: int = Field(default=0, ge=0)
    pass_rate: float | None
    score: float | None
    digest: str | None = Field(default=None, max_length=64)
    checks: dict[str, tuple[int, int]] | None = None
    turn_ms: list[float] = []
    cost_usd: float | None = None


class NumbersInFile(BaseModel):
    """The numbers of a run, with the keys of `RunDetails`."""

    pass_rate: float | None
    pass_rate_interval: tuple[float, float] | None
    cases_passed: int | None
    cases_failed: int | None
    cases_measured: int | None
    cases_not_graded: int | None
    median_ms: float | None
    p95_ms: float | None


class RunInFile(NumbersInFile):
    """A run, with the keys of `RunDetails`."""

    id: int
    suite: str
    agent: str = Field(max_length=100)
    model: str | None = Field(max_length=301)
    judge: str | None
    is_whole: bool
    is_scripted: bool
    is_simulated: bool = False  # older files lack it
    status: str
    verdict: RunVerdict | None
    finished_at: datetime | None
    score: float | None
    cases: list[CaseInFile] | None

    @property
    def summary(self) -> dict[str, Any]:
        """Its numbers as `Run.summary` has them."""
        return self.model_dump(mode="json", include=set(NumbersInFile.model_fields))


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """The runs of a file; `name` is what people call it."""

    name: str
    runs: tuple[RunInFile, ...]

    @property
    def suites(self) -> list[str]:
        """The slugs of its suites, each once."""
        return list(dict.fromkeys(run.suite for run in self.runs))

    def run_of(self, suite: str) -> RunInFile:
        """Return the last full run of a suite.

        Raises:
            CannotReadResultsError: there is none.
        """
        of_suite = [run for run in self.runs if run.suite == suite]
        whole = [run for run in of_suite if run.is_whole and run.status == "finished" and run.cases]
        if whole:
            return whole[-1]
        if of_suite:
            raise CannotReadResultsError(
                f"{self.name} has no full run of suite {suite}: a run of all its cases, with its own"
                " agent and model, that ran to its end."
            )
        raise CannotReadResultsError(
            f"{self.name} has no run of suite {suite}. It has: {', '.join(self.suites)}."
        )


def read_results(name: str, content: bytes) -> ResultsFile:
    """Read the JSON that `run_evals` writes of one run or of several.

    Raises:
        CannotReadResultsError: it is anything else.
    """
    try:
        document = json.loads(content)
    except ValueError as error:
        raise CannotReadResultsError(f"{name} is not JSON: {error}. {_WRITTEN_BY}") from error
    runs = _find_runs(document)
    if not runs:
        raise CannotReadResultsError(f"{name} has no runs. {_WRITTEN_BY}")
    try:
        return ResultsFile(name, tuple(RunInFile.model_validate(run) for run in runs))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise CannotReadResultsError(
            f"{name} has a run that cannot be read: {place}: {first['msg']}. {_WRITTEN_BY}"
        ) from error


def _find_runs(document: object) -> list[object]:
    """Return the runs of `OneRun` and of `SeveralRuns`; none for anything else."""
    if not isinstance(document, dict):
        return []
    reports = document.get("runs", [document])
    if not isinstance(reports, list):
        return []
    return [report["run"] for report in reports if isinstance(report, dict) and "run" in report]
