"""How the cases of a run ended, or have ended so far: a headline and the parts of a bar."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import Count, Q

from evals_app.admin.kit.presentation import plural
from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.deciding import case_verdict, is_certain
from evals_app.models import Execution, Run, Snapshot

MAX_COUNTED = 20_000  # conversations of a run whose cases are counted every two seconds
_ENDED_AS = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed",
    Verdict.ERRORED: "not graded",
    Verdict.MEASURED: "only measured",
    None: "not run",
}
_TONES = {
    "passed": "good",
    "failed": "bad",
    "not graded": "warn",
    "only measured": "calm",
    "running": "busy",
    "not run": "none",
    "waiting": "none",
}


@dataclass(frozen=True, slots=True)
class CountedCases:
    """How the cases of a run ended: a headline, and the parts of its bar with their words."""

    headline: str
    parts: tuple[tuple[str, int, str], ...]  # tone, number, word
    notes: tuple[str, ...]

    @property
    def bar(self) -> list[tuple[str, int]]:
        return [(tone, number) for tone, number, _ in self.parts]

    @property
    def label(self) -> str:
        return ", ".join(f"{number:,} {word}" for _, number, word in self.parts)


def case_counts(run: Run, counts: Mapping[str, int]) -> CountedCases:
    """Return in words how the cases ended; what is not graded counts in no number."""
    columns = ("passed", "failed", "not_graded", "measured", "not_run")
    numbers = [counts[f"cases_{column}"] for column in columns]
    shown = _parts(dict(zip(_ENDED_AS.values(), numbers, strict=True)))
    decided = counts["cases_passed"] + counts["cases_failed"]
    beside = [f"{number:,} {word}" for _, number, word in shown if word not in {"passed", "failed"}]
    first = f"{counts['cases_passed']:,} of {plural(decided, run.unit)} passed" if decided else ""
    if not decided:
        first = (
            f"No {run.unit} passed or failed" if beside else f"There are no results by {run.unit}"
        )
    notes = []
    if decided > 1 and decided == counts["cases"]:
        notes.append(f"All {decided:,} were graded.")
    if run.total != counts["cases"]:
        notes.append(_conversations(run))
    return CountedCases(", ".join([first, *beside]), shown, tuple(notes))


def _conversations(run: Run) -> str:
    """Return how many conversations ended how: `100 of 120 conversations passed, 20 failed.`."""
    kinds = {
        "failed": run.failed,
        "not graded": run.errored,
        "only measured": run.measured,
        "skipped": run.skipped,
        "cancelled": run.cancelled,
        "not run": run.not_run,
    }
    others = [f"{number:,} {word}" for word, number in kinds.items() if number]
    passed = f"{run.passed:,} of {plural(run.total, 'conversation')} passed"
    return f"{', '.join([passed, *others])}."


def cases_so_far(run: Run) -> CountedCases:
    """Return how the cases of an open run have ended so far; of a very large one, its conversations."""
    if run.total > MAX_COUNTED:
        counts = {"passed": run.passed, "failed": run.failed, "not graded": run.errored}
        counts |= {"only measured": run.measured, "waiting": run.not_run}
        done = f"{run.ended_count:,} of {plural(run.total, 'conversation')}"
        return CountedCases(_so_far(done, counts), _parts(counts), ())
    counts = Counter(_states(run))
    ended = sum(counts[word] for word in _ENDED_AS.values())
    done = f"{ended:,} of {plural(counts.total(), run.unit)}"
    conversations = f"{run.ended_count:,} of {plural(run.total, 'conversation')} done."
    is_same = run.total == counts.total()
    return CountedCases(_so_far(done, counts), _parts(counts), () if is_same else (conversations,))


def _so_far(done: str, counts: Mapping[str, int]) -> str:
    trouble = [f"{counts[word]:,} {word}" for word in ("failed", "not graded") if counts[word]]
    return ", ".join([done, *trouble])


def _parts(counts: Mapping[str, int]) -> tuple[tuple[str, int, str], ...]:
    return tuple((tone, counts[word], word) for word, tone in _TONES.items() if counts.get(word))


def _states(run: Run) -> Iterable[str]:
    """Return in a word what each case of an open run is now."""
    open_ones = Q(status__in=[Execution.Status.QUEUED, Execution.Status.RUNNING])
    kinds = {verdict.value: Count("pk", filter=Q(verdict=verdict)) for verdict in Verdict}
    rows: Any = run.executions.order_by().values("position")
    rate = min_pass_rate(run.snapshot_id)
    for row in rows.annotate(
        left=Count("pk", filter=open_ones),
        running=Count("pk", filter=Q(status=Execution.Status.RUNNING)),
        **kinds,
    ):
        verdicts = [row[verdict.value] for verdict in Verdict]
        passed, failed = row["passed"], row["failed"]
        if not row["left"] or is_certain(passed, failed, left=row["left"], min_pass_rate=rate):
            yield _ENDED_AS[case_verdict(*verdicts, min_pass_rate=rate)]
        else:
            yield "running" if row["running"] or any(verdicts) else "waiting"


@lru_cache(maxsize=500)  # what is frozen never changes
def min_pass_rate(snapshot: str) -> float:
    """Return the share of its trials that a case must pass, as it was frozen."""
    content = json.loads(Snapshot.objects.values_list("content", flat=True).get(pk=snapshot))
    return float(content.get("suite", {}).get("min_pass_rate", 1))
