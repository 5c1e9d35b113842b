"""The results of a run as reports receive them: read piece by piece, as often as a report needs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, zip_longest
from types import MappingProxyType
from typing import Generic, Literal, TypeVar

from evals_app.reports.answers.run_answers import Json, Row

Outcome = Literal["passed", "failed", "errored", "measured", "not_run"]

# Where cases begin in the files of suites, by the suite's slug and the case's name.
CaseLines = Mapping[str, Mapping[str, int]]
NO_LINES: CaseLines = MappingProxyType({})

_T = TypeVar("_T")

WENT_WRONG = ("failed", "errored")


class Again(Generic[_T]):
    """An iterable that starts again each time: `make` returns a new iterator."""

    def __init__(self, make: Callable[[], Iterator[_T]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[_T]:
        return self._make()


@dataclass(frozen=True, slots=True)
class Results:
    """The results of one run.

    `run` has the keys of `RunDetails` without its cases, and for people `suite_name`, `agent_name`,
    `set_name` where real conversations were graded, `score_scale`, `stand_in_note`, `snapshot`, `url`,
    `source`, the file of the suite, and `decision`, the answer to “May we ship?”, which may be empty.
    Executions are as in lists, with their `url`. `details` returns executions by id with everything,
    in any order. Cases are known once the run has ended. `lines` says where cases begin in the file of the
    suite, by name; it is empty unless the files were read for this run.
    """

    run: Json
    cases: Iterable[Json]
    executions: Iterable[Json]
    details: Callable[[Sequence[int]], Iterable[Json]]
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return self.run["verdict"] is not None

    def by_case(self) -> Iterator[tuple[Json | None, list[Json]]]:
        """Return each case with its executions; None while the run is open."""
        groups = (list(rows) for _, rows in groupby(self.executions, key=lambda row: row["case"]))
        return zip_longest(self.cases, groups)

    def state(self, execution: Row) -> str:
        """Return how an execution ended or how far it is."""
        if execution["verdict"]:
            return str(execution["verdict"])
        # What is still queued when the run has ended did not run.
        is_left = self.is_over and execution["status"] == "queued"
        return "not_run" if is_left else str(execution["status"])


def batches(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Return items a few at once."""
    left = iter(items)
    return iter(lambda: list(islice(left, size)), [])


def outcome(case: Row | None, executions: Iterable[Row]) -> Outcome:
    """Return the result of a case; it passed only if nothing errored and nothing is missing.

    Trials that were skipped because they could change nothing are not missing.
    """
    verdicts = {row["verdict"] for row in executions if row["status"] != "skipped"}
    has_failed = "failed" in verdicts if case is None else case["verdict"] == "failed"
    if has_failed:
        return "failed"
    if "errored" in verdicts:
        return "errored"
    if None in verdicts or not verdicts:
        return "not_run"
    return "measured" if verdicts == {"measured"} else "passed"


def trial_name(execution: Row) -> str:
    """Return the case, and which trial of it unless it is the first."""
    trial = execution["trial"]
    return f"{execution['case']} (trial {trial})" if trial > 1 else str(execution["case"])
