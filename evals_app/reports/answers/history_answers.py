"""The history of a case as JSON: what REST answers."""

from collections.abc import Iterable

from pydantic import AwareDatetime, Field

from evals_app.engine.record.trial import Verdict
from evals_app.reports.answers.comparison_answers import (
    CaseChange,
    Differences,
    PartDifference,
    part_json,
)
from evals_app.reports.answers.run_answers import Answer, Json


class EditJson(Answer):
    """A change that a person made, as the history of what they changed notes it."""

    by: str = Field(description="Username; command-line: a command.")
    at: AwareDatetime
    kind: str = Field(description="What was changed: `case`, `suite`, `agent`, `fixture` ...")


class ChangedPartJson(PartDifference):
    """What differs in one part from the run before, and who edited it in between."""

    part: str = Field(
        description="What it is in: `case`, `agent`, `suite`, `fixtures`, `judge`, `similarity`, `prices` or `run`."
    )
    edits: list[EditJson] = Field(description="The last five between the runs, the newest first.")


class CaseInHistory(Answer):
    """A case in one run, compared with the run before in which it was."""

    run: int
    finished_at: AwareDatetime | None
    verdict: Verdict | None
    trials: int
    passed: int
    failed: int
    errored: int
    skipped: int
    pass_rate: float | None
    score: float | None
    agent: str = Field(description="Slug.")
    model: str | None
    judge: str | None
    is_scripted: bool
    is_simulated: bool = Field(description="Whether a model played the user.")
    is_whole: bool
    is_tryout: bool
    covers: str | None = Field(description="In words, what the run covers; null: the whole suite.")
    rerun_of: int | None
    grades_of: int | None = Field(description="The run whose conversations it grades again.")
    executions: list[int] = Field(description="Its trials.")
    is_same_case: bool | None = Field(
        description="Whether the content of the case is that of the run before; null: unknown, or"
        " there is none."
    )
    change: CaseChange | None = Field(
        description="What happened to its verdict; null: there is no run before."
    )
    changes: list[ChangedPartJson] | None = Field(
        description="What else differs from the run before; null: unknown, or there is none."
    )


def changed_part_json(differences: Differences, edits: Iterable[object]) -> Json:
    """Return what differs in one part, with who edited it: `by`, `at` and `kind`."""
    return ChangedPartJson.of(part_json(differences), edits=list(map(EditJson.of_object, edits)))
