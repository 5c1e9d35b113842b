"""How pages show runs that grade again: the source of the conversations, and what changed."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Min, Q, Window
from django.db.models.functions import RowNumber
from django.utils.safestring import SafeString

from evals_app.admin.comparing.side_by_side import side_by_side_url
from evals_app.admin.kit.presentation import badge, plural
from evals_app.engine.record.trial import Verdict
from evals_app.models import Execution, GradeResult, Run
from evals_app.reports.answers.run_json import JUDGE_NOISE, judge_noise_json
from evals_app.reports.words.figures import percent
from evals_app.reports.words.regrading import STEADINESS_HEADS, regraded_in_words, steadiness_rows
from fixtures_app.editing.markup import TemplateContext

MAX_CHANGED = 50
MAX_LINKS = 20


@dataclass(frozen=True, slots=True)
class ChangedVerdict:
    """A conversation whose verdict has changed."""

    execution: Execution
    before: SafeString
    after: SafeString


def runs_made_from(run: Run) -> tuple[list[Run], list[Run]]:
    """Return the last runs that run cases of a run again, and those that grade it again."""
    rows = Run.objects.filter(Q(rerun_of=run) | Q(grades_of=run)).defer("summary")
    runs = sorted(rows.order_by("-pk")[:MAX_LINKS], key=lambda row: row.pk)
    again = [row for row in runs if row.grades_of_id == run.pk]
    return [row for row in runs if row.grades_of_id != run.pk], again


def regraded_line(run: Run) -> str:
    """Return in words how a run grades another one again; empty if it does not."""
    return regraded_in_words(run.covers, run.regrading) if run.grades_again else ""


def results_context(run: Run) -> TemplateContext:
    """Return the results of grading again; empty for a run that asked its agent."""
    if not run.grades_again:
        return {}
    return {**_steadiness(run), **({} if run.is_of_real_conversations else _changes(run))}


def _changes(run: Run) -> TemplateContext:
    """Return which verdicts changed; real conversations had none before."""
    rows = _changed_verdicts(run)
    counts = {(row.source.verdict, row.verdict): row.in_all for row in rows}
    return {
        "changed_in_short": _in_short(counts, total=run.passed + run.failed + run.errored),
        "changes": [
            ChangedVerdict(row, before=badge(row.source.verdict), after=badge(row.verdict))
            for row in rows[:MAX_CHANGED]
        ],
        "changes_more": max(0, sum(counts.values()) - MAX_CHANGED),
    }


def _steadiness(run: Run) -> TemplateContext:
    noise = judge_noise_json(run.summary)
    return {
        "steadiness_heads": STEADINESS_HEADS,
        "steadiness": None
        if noise is None
        else [list(zip(STEADINESS_HEADS, row, strict=True)) for row in steadiness_rows(noise)],
    }


def _changed_verdicts(run: Run) -> list[Any]:
    """Return gradings with a changed verdict, and how many changed in the same way.

    The first ones of each kind of change, in the order of the cases.
    """
    graded = run.executions.exclude(verdict="").filter(source__isnull=False)
    changed = graded.exclude(verdict=F("source__verdict"))
    kinds = [F("source__verdict"), F("verdict")]
    rows = changed.annotate(
        number=Window(RowNumber(), partition_by=kinds, order_by=["position", "trial"]),
        in_all=Window(Count("pk"), partition_by=kinds),
    ).filter(number__lte=MAX_CHANGED)
    columns = ("run", "case", "trial", "verdict", "source__run", "source__verdict")
    rows = rows.select_related("source").only(*columns, "position")
    return list(rows.order_by("position", "trial"))


def _in_short(counts: Mapping[tuple[str, str], int], *, total: int) -> str:
    if not total:
        return "Nothing was graded."
    if not counts:
        kept = "The verdict is" if total == 1 else f"All {total:,} verdicts are"
        return f"{kept} the same as before."
    parts = [
        f"{number:,} from {before} to {after}"
        for (before, after), number in sorted(counts.items(), key=lambda item: -item[1])
    ]
    changed = plural(sum(counts.values()), "verdict")
    return f"{changed} of {total:,} changed: {', '.join(parts)}."


def execution_context(execution: Execution) -> dict[str, object]:
    """Return whose conversation an execution has, and which runs grade it again."""
    return {"graded_before": _graded_before(execution), "graded_again": _graded_again(execution)}


def _graded_before(execution: Execution) -> dict[str, object] | None:
    before = execution.source
    if before is None:
        return None
    return {
        "execution": before,
        "badge": badge(before.verdict),
        "has_changed": bool(execution.verdict) and execution.verdict != before.verdict,
        "side_by_side": side_by_side_url(
            execution.case,
            runs=[before.run_id, execution.run_id],
            trials=[before.trial, execution.trial],
        ),
    }


def _graded_again(execution: Execution) -> Sequence[dict[str, object]]:
    """Return the runs that grade the conversation again, and how often it passed in them."""
    if execution.source_id is not None:
        return []  # what they grade is the conversation of its source
    rows: Any = (
        execution.regrades.exclude(verdict="")
        .order_by("-run")
        .values("run")
        .annotate(
            first=Min("pk"),
            first_verdict=Min("verdict"),
            gradings=Count("pk"),
            passed=Count("pk", filter=Q(verdict=Verdict.PASSED)),
        )[:MAX_LINKS]
    )
    return [row | {"badge": badge(row["first_verdict"])} for row in rows]


def note_steadiness(execution: Execution, grades: Iterable[Any]) -> None:
    """Add to judged grades how often the same conversation got which verdict.

    Only where its run grades each conversation several times.
    """
    if execution.run.gradings == 1 or execution.source_id is None:
        return
    wanted = f"summary__{JUDGE_NOISE}"
    checks = Run.objects.values_list(wanted, flat=True).get(pk=execution.run_id) or ()
    flips = {check["yardstick"]: check["flip_rate"] for check in checks}
    same = GradeResult.objects.filter(
        execution__run=execution.run_id, execution__source=execution.source_id
    ).exclude(yardstick=None)
    counted = same.order_by().values_list("turn", "position", "passed", "yardstick__digest")
    passes: Counter[tuple[int | None, int]] = Counter()
    totals: Counter[tuple[int | None, int]] = Counter()
    digests: dict[tuple[int | None, int], str] = {}
    for turn, position, passed, digest, number in counted.annotate(Count("pk")):
        place = turn, position
        totals[place] += number
        passes[place] += number if passed else 0
        digests[place] = digest
    for grade in grades:
        place = grade.turn, grade.position
        if place in totals:
            grade.steadiness = (
                f"passed {passes[place]:,} of {totals[place]:,} gradings of this conversation, flips"
                f" {percent(flips.get(digests[place]))} over all"
            )
