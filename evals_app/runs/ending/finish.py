"""End a run that has nothing left to do, and summarize it exactly once."""

import hashlib
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, IntegerField, Min, Q, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Now
from pydantic import ValidationError

from evals_app.engine.judging import INJECTION
from evals_app.engine.statistics.check_counts import NO_CHECKS
from evals_app.engine.statistics.rates import flip_rate
from evals_app.engine.verdicts.case_summary import CaseSummary
from evals_app.engine.verdicts.execution_verdict import ONLY_EFFORT
from evals_app.engine.verdicts.run_summary import RunSummary, summarise_run
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec, case_digest, read_case
from evals_app.models import CaseResult, Execution, GradeResult, Run, of_each_conversation
from evals_app.reports.answers.run_json import (
    AT_LEAST,
    CASES_DIGEST,
    JUDGE_NOISE,
    RUBRIC_BULLETS,
    RUBRIC_ITEMS,
)
from evals_app.reports.words.regrading import left_out_in_words
from evals_app.runs.ground import events
from evals_app.runs.ground.check_counts import checks_of
from evals_app.runs.ground.tallies import count_run
from evals_app.runs.notices import note_end
from evals_app.runs.reading.baselines import had_baseline, regressions_of
from evals_app.runs.reading.facts import CHUNK, facts_of, with_rules_of
from evals_app.runs.retests.rounds import advance_safely
from evals_app.runs.reviews.decisions import UndecidableError, write_run
from evals_app.runs.reviews.reviewing import carry_reviews
from fixtures_app.ground.strict_json import JsonObject

log = logging.getLogger(__name__)

# Columns of a run that are sums of the columns of its executions.
TOTALS = (
    *("agent_prompt_tokens", "agent_response_tokens", "agent_cost_usd"),
    *("judge_prompt_tokens", "judge_response_tokens", "judge_cost_usd"),
)


_TICKS = {"pass": "met", "fail": "missed", None: "undecided"}
_MAX_BULLET = 300  # characters of a bullet that is counted
_MAX_BULLETS = 500  # of a run

_CACHED = (
    "The answers of models are cached (--cache): {found:,} came from the cache and cost nothing, {asked:,}"
    " were asked of models."
)
_SUSPECTED = (
    "{passes} in doubt: the conversation may contain text aimed at the judge. Such passes count"
    " until someone reviews them; a sample to check begins with them."
)
_WHICH = " In the JSON, turns and checks show which answers came from the cache."


def close_if_over(run_id: int) -> bool:
    """End the run if nothing is left, or it was stopped and nothing runs; return whether this call did."""
    still_open = Run.objects.filter(pk=run_id, status__in=Run.OPEN)
    run = still_open.first()
    if run is None or not _is_over(run):
        return False
    with transaction.atomic():
        # Workers and reapers may see the end at the same moment: the holder of the row summarizes
        # it.
        run = still_open.select_for_update().first()
        if run is None or not _is_over(run):
            return False
        verdict = _close(run)
    events.run_ended(run, verdict=verdict)
    if run.settlement_id is not None:
        advance_safely(run.settlement_id)
    return True


def _close(run: Run) -> str:
    results = CaseResults(run)
    results.read_cases()
    result: dict[str, Any] = {"verdict": Run.Verdict.INCONCLUSIVE}
    try:
        summary = sum_up(run, results)
    except ValidationError:
        # Made by another version: it can still be ended, but its rules are unknown.
        log.exception("Run %d cannot be summed up.", run.pk)
    else:
        result = {"verdict": summary.verdict, "score": summary.score, "summary": summary.to_json()}
        results.write()
    sums, at_least = _sums(run)
    if "summary" in result:
        result["summary"] |= {
            AT_LEAST: at_least,
            CASES_DIGEST: results.digest,
            RUBRIC_ITEMS: rubric_items(run),
            RUBRIC_BULLETS: rubric_bullets(run),
            JUDGE_NOISE: judge_noise(run),
        }
    is_cancelled = run.stop_reason == Run.StopReason.CANCELLED
    Run.objects.filter(pk=run.pk).update(
        status=Run.Status.CANCELLED if is_cancelled else Run.Status.FINISHED,
        finished_at=Now(),
        **result,
        **sums,
    )
    note_end(run, verdict=result["verdict"])
    _note_people(run)
    count_run(result["verdict"])
    return str(result["verdict"])


def _note_people(run: Run) -> None:
    """Copy people's reviews of the conversations, and store the result with their decisions."""
    try:
        with transaction.atomic():
            if run.grades_of_id is not None:
                carry_reviews(run)
            write_run(run)
    except UndecidableError:
        log.exception("The reviews of run %d cannot be counted.", run.pk)


def _is_over(run: Run) -> bool:
    if run.not_run == 0:
        return True
    running = run.executions.filter(status=Execution.Status.RUNNING)
    # A worker may have a claim under way that is not visible yet.
    if not run.stop_reason or run.leases.exists() or running.exists():
        return False
    is_cancelled = run.stop_reason == Run.StopReason.CANCELLED
    return not (is_cancelled and run.executions.filter(status=Execution.Status.QUEUED).exists())


class CaseResults:
    """Writes the results of a run's cases in batches."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.digests: dict[str, str] = {}
        self.checks: dict[str, str] = {}
        self._rows: list[CaseResult] = []
        self._count = 0

    def read_cases(self) -> None:
        """Store each case's digest and the counts of its checks, so that runs can be compared."""
        self.checks = checks_of(self._run.pk)
        rows = self._run.snapshot.cases.values_list("content", flat=True)
        for content in rows.iterator(chunk_size=CHUNK):
            self.digests[json.loads(content)["name"]] = case_digest(content)

    @property
    def digest(self) -> str:
        """The digest of all cases, by which trends see where they were edited, added or removed."""
        cases = json.dumps(sorted(self.digests.items()))
        return hashlib.sha256(cases.encode()).hexdigest()

    def add(self, case: CaseSummary) -> None:
        columns = asdict(case) | {"verdict": case.verdict or ""}
        low, high = columns.pop("interval") or (None, None)
        columns |= columns.pop("effort")._asdict()
        row = CaseResult(
            run=self._run,
            position=self._count,
            digest=self.digests.get(case.name, ""),
            checks=self.checks.get(case.name, NO_CHECKS),
            interval_low=low,
            interval_high=high,
            **columns,
        )
        self._rows.append(row)
        self._count += 1
        if len(self._rows) == CHUNK:
            self.write()

    def write(self) -> None:
        """Write the remaining rows."""
        CaseResult.objects.bulk_create(self._rows)
        self._rows = []


def sum_up(run: Run, results: CaseResults | None = None) -> RunSummary:
    """Compute a run's summary from its rows; the summaries of its cases go to `results`."""
    frozen = SnapshotSpec.read(run.snapshot.content)
    suite = with_rules_of(run, frozen.suite)
    cases = run.snapshot.cases.order_by("position").values_list("content", flat=True)
    is_about_effort = suite.measures_only_effort(map(read_case, cases.iterator(chunk_size=100)))
    return summarise_run(
        facts_of(run),
        suite=suite,
        keep=results.add if results else None,
        notes=[
            *([ONLY_EFFORT] if is_about_effort else []),
            *([frozen.judge_trust.in_words] if frozen.judge_trust else []),
            *_left_out(run),
        ],
        regressions=regressions_of(
            run,
            suite.gates,
            digests=results.digests if results else {},
            checks=results.checks if results else {},
        ),
        had_baseline=had_baseline(run),
    )


def _left_out(run: Run) -> Iterator[str]:
    if count := run.disabled_case_count:
        yield f"{count:,} disabled {'case was' if count == 1 else 'cases were'} left out."
    if settings.ANSWER_CACHE:
        yield _cached_answers(run)
    if count := _doubtful_passes(run).count():
        yield _SUSPECTED.format(
            passes="1 pass of a judge is" if count == 1 else f"{count:,} passes of judges are"
        )
    yield from left_out_in_words(run.regrading.get("left_out", {}))


def _doubtful_passes(run: Run) -> QuerySet[GradeResult]:
    """Return judges' passes that the conversation itself may have manipulated."""
    judged = GradeResult.objects.filter(execution__run=run, passed=True, family="judged")
    return judged.annotate(flags=KT("details__flags")).filter(flags__contains=f'"{INJECTION}"')


def _cached_answers(run: Run) -> str:
    """Return how many model answers came from the cache, and how many did not."""
    names = ("found", "asked")
    sums = run.executions.aggregate(
        **{
            name: Sum(Cast(KT(f"summary__cached_answers__{name}"), IntegerField()))
            for name in names
        }
    )
    counts = {name: sums[name] or 0 for name in names}
    return _CACHED.format(**counts) + (_WHICH if counts["found"] else "")


def _sums(run: Run) -> tuple[dict[str, object], dict[str, float]]:
    """Return sums of tokens and cost, None if any is unknown, and the sums of known ones."""
    finished = run.executions.filter(status=Execution.Status.FINISHED)
    counted = {name: of_each_conversation(name) for name in TOTALS}
    sums = finished.aggregate(
        **{f"sum_{name}": Sum(name, filter=where) for name, where in counted.items()},
        **{
            f"unknown_{name}": Count("pk", filter=where & Q(**{name: None}))
            for name, where in counted.items()
        },
    )
    known = {name: sums[f"sum_{name}"] for name in TOTALS}
    at_least = {
        name: float(total) if name.endswith("_usd") else total
        for name, total in known.items()
        if total and sums[f"unknown_{name}"]
    }
    exact = {name: None if sums[f"unknown_{name}"] else total for name, total in known.items()}
    return exact, at_least


def rubric_items(run: Run) -> dict[str, int] | None:
    """Count the bullets of all rubrics by their verdict; None if the run graded none."""
    counts = GradeResult.objects.filter(execution__run=run, type="rubric").aggregate(
        **{
            name: Sum(Cast(KT(f"details__{name}"), IntegerField()))
            for name in ("met", "applicable", "undecided")
        }
    )
    if counts["applicable"] is None:
        return None
    missed = counts["applicable"] - counts["met"] - counts["undecided"]
    return {"met": counts["met"], "missed": missed, "undecided": counts["undecided"]}


def rubric_bullets(run: Run) -> list[JsonObject]:
    """Count how often each bullet of the run's rubrics was met and missed, the most missed first."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    rubrics = GradeResult.objects.filter(execution__run=run, type="rubric")
    rubrics = rubrics.filter(details__has_key="applicable")  # others have no bullets
    for items in rubrics.values_list("details__items", flat=True).iterator(chunk_size=CHUNK):
        for item in items or ():
            if item["verdict"] != "not_applicable":
                counts[item["text"][:_MAX_BULLET]][_TICKS[item["verdict"]]] += 1
    most_missed = sorted(counts.items(), key=lambda bullet: -bullet[1]["missed"])
    return [
        {"text": text, **{name: counted[name] for name in ("met", "missed", "undecided")}}
        for text, counted in most_missed[:_MAX_BULLETS]
    ]


def judge_noise(run: Run) -> list[JsonObject] | None:
    """Return how steadily each judged check was graded; None unless the run grades repeatedly."""
    if run.regrading.get("trials", 1) == 1:
        return None
    graded = GradeResult.objects.filter(execution__run=run).exclude(yardstick=None)
    place = ("yardstick__digest", "execution__source", "turn", "position")
    counted: Any = graded.values(*place).order_by(*place)
    rows = counted.annotate(
        label=Min("label"),
        passes=Count("pk", filter=Q(passed=True)),
        fails=Count("pk", filter=Q(passed=False)),
        gradings=Count("pk"),
    )
    return [
        {
            "yardstick": digest,
            "label": conversations[0]["label"],
            "conversations": len(conversations),
            "gradings": sum(row["gradings"] for row in conversations),
            "undecided": sum(
                row["gradings"] - row["passes"] - row["fails"] for row in conversations
            ),
            "flip_rate": flip_rate((row["passes"], row["fails"]) for row in conversations),
        }
        for digest, rows_of_check in groupby(rows, key=lambda row: row["yardstick__digest"])
        for conversations in [list(rows_of_check)]
    ]
