"""The page that compares runs: verdict in words, differences, numbers, then every case."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.http import HttpRequest
from django.utils.safestring import SafeString

from evals_app.admin.comparing.comparison_cases import case_groups
from evals_app.admin.comparing.comparison_charts import cost_and_quality, score_distribution
from evals_app.admin.comparing.release_box import ReleaseBox, release_box
from evals_app.admin.comparing.side_by_side import comparison_url, read_number, side_by_side_url
from evals_app.admin.kit.presentation import badge, run_badges
from evals_app.admin.retests.retest_dialog import retest_url
from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.formats.snapshots.snapshot_differences import PartDifferences
from evals_app.library.importing.rights import Rights
from evals_app.models import Run
from evals_app.reports.answers.compared_cases import ComparedCase, HeadCases
from evals_app.reports.answers.comparison import (
    CHANGES,
    FIRST_NUMBERS,
    PARTS,
    MatrixRow,
    checks_text,
    finding,
    headline,
    outcome_text,
    unknown_content,
)
from evals_app.reports.words.changed_values import ChangedValue, changed_place
from evals_app.runs.reading.compared_runs import (
    CannotCompareError,
    Comparison,
    ComparisonHead,
    changed_checks,
    compare_runs,
)

PER_PAGE = 50
_SEEN_FIRST = {"Cases passed", "Turn latency, p95", "Cost"}
_OPEN = 8  # values of a part that are not folded
# Which of the runs is which: shown where it differs, as the first numbers are; the rest is folded.
_IDENTITIES = {
    *("Suite", "Agent", "Model", "Judge"),
    *("Differs from the suite", "Trials skipped", "Texts compared by"),
}


@dataclass(frozen=True, slots=True)
class RunColumn:
    """A run of the comparison; `as_base` is the address of the same comparison with it as the base."""

    run: Run
    label: str
    badges: SafeString
    as_base: str


@dataclass(frozen=True, slots=True)
class PartLine:
    """A part of the settings in which two runs differ, and the number of further differences."""

    title: str
    places: tuple[ChangedValue, ...]
    folded: tuple[ChangedValue, ...]
    more: int
    note: SafeString | str = ""  # who edited it


@dataclass(frozen=True, slots=True)
class HeadLine:
    """A run against the base, in words."""

    head: ComparisonHead
    tone: str
    headline: str
    finding: str
    unknown_content: str
    tested: tuple[PartLine, ...]
    judged_criteria: tuple[PartLine, ...]
    advice: str
    retest_url: str  # of the dialog that asks for fresh trials

    @property
    def changed_count(self) -> int:
        """How many settings of what is tested differ."""
        return sum(len(part.places) + len(part.folded) + part.more for part in self.tested)

    @property
    def changed_parts(self) -> str:
        return ", ".join(part.title for part in self.tested)


@dataclass(frozen=True, slots=True)
class CaseCell:
    """A case in one run; `url` shows it and the base side by side."""

    label: str  # the run
    text: str
    badge: SafeString | str
    url: str


@dataclass(frozen=True, slots=True)
class ComparedCaseLine:
    """A case in all runs, where these are more than two."""

    name: str
    old_name: str  # in the base, if the case was renamed since
    badge: SafeString
    checks: str  # the checks that got worse or better
    cells: tuple[CaseCell, ...]


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter by change, with how many cases it finds."""

    badge: SafeString | str
    count: int
    url: str
    meaning: str
    is_chosen: bool


def comparison_page(request: HttpRequest) -> dict[str, object]:
    """Return what the page shows; values of settings only for people who may see all of them.

    Raises:
        CannotCompareError: the runs cannot be compared.
    """
    query = request.GET
    comparison = compare_runs(_run_ids(query.getlist("run")))
    if not Rights.of(request.user).may_see_everything():
        comparison = comparison.without_values()
    ids = [entry.run.pk for entry in comparison.runs]
    labels = [f"Run {pk}" for pk in ids]
    change = next((change for change in ChangeKind if change == query.get("change")), None)
    text = query.get("case", "").strip()
    chosen = comparison.cases.filter_by(change=change, text=text)
    page = Paginator(chosen, PER_PAGE).get_page(query.get("page"))
    rows = comparison.matrix
    is_pair = len(comparison.heads) == 1
    return {
        "release": _release(request, comparison),
        "columns": _columns(comparison, ids, labels),
        "heads": [_head_line(request, comparison, head) for head in comparison.heads],
        "has_several_heads": not is_pair,
        "facts": _facts(rows) if is_pair else (),
        "numbers": [row for row in rows if _comes_first(row)],
        "more_numbers": [row for row in rows if not _comes_first(row)],
        "scores": score_distribution(comparison, labels),
        "costs": cost_and_quality(comparison, labels),
        "chips": [] if is_pair else _chips(comparison, ids, chosen=change, text=text),
        "total": len(comparison.cases.cases),
        "change": change or "",
        "text": text,
        "page": page,
        "per_page": PER_PAGE,
        "opens_first": request.user.has_perm("evals_app.view_execution") and not (change or text),
        "is_filtered": bool(change or text),
        **(
            _groups(request, comparison, page if change or text else None)
            if is_pair
            else _table(comparison, page, ids)
        ),
        "page_url": comparison_url(ids, **_filters(change, text)),
        "all_url": comparison_url(ids),
    }


def _groups(
    request: HttpRequest, comparison: Comparison, page: Page[ComparedCase] | None
) -> dict[str, object]:
    """Return the cases of two runs: a page of those that match a filter, else the first of each group."""
    may_read = request.user.has_perm("evals_app.view_execution")
    cases = None if page is None else page.object_list
    return {"groups": case_groups(comparison, cases, may_read=may_read)}


def _table(
    comparison: Comparison, page: Page[ComparedCase], ids: Sequence[int]
) -> dict[str, object]:
    checks = changed_checks(comparison, page.object_list)
    scale = comparison.base.score_scale
    return {
        "cases": [
            _case_line(case, ids, scale=scale, checks=checks_text(checks.get(case.name, ())))
            for case in page.object_list
        ]
    }


def _facts(rows: Sequence[MatrixRow]) -> list[tuple[str, str, str]]:
    """Return the numbers that are seen before the table is unfolded, of both runs."""
    seen = [row for row in rows if row.label in _SEEN_FIRST]
    return [(row.label, row.values[0], row.values[1]) for row in seen]


def _release(request: HttpRequest, comparison: Comparison) -> ReleaseBox | None:
    """Return the answer about a full run that is compared with the released version."""
    suite, head = comparison.base.suite, comparison.heads[0].run
    if suite is None or len(comparison.heads) > 1 or not head.is_whole:
        return None
    is_asked = head.suite_id == suite.pk and suite.baseline_id == comparison.base.pk
    released = comparison.base
    return release_box(request, suite, run=head, released=released) if is_asked else None


def _comes_first(row: MatrixRow) -> bool:
    return row.label in FIRST_NUMBERS or (row.label in _IDENTITIES and len(set(row.values)) > 1)


def _run_ids(texts: Sequence[str]) -> list[int]:
    ids = []
    for text in texts:
        if (pk := read_number(text)) is None:
            raise CannotCompareError(f"“{text[:40]}” is not the number of a run.")
        ids.append(pk)
    return ids


def _columns(comparison: Comparison, ids: Sequence[int], labels: Sequence[str]) -> list[RunColumn]:
    return [
        RunColumn(
            entry.run,
            label,
            run_badges(entry.run),
            comparison_url([entry.run.pk, *(pk for pk in ids if pk != entry.run.pk)]),
        )
        for entry, label in zip(comparison.runs, labels, strict=True)
    ]


def _head_line(request: HttpRequest, comparison: Comparison, head: ComparisonHead) -> HeadLine:
    parts = head.differences or ()
    unknown = head.cases.unknown_content
    return HeadLine(
        head=head,
        tone=_tone(head.cases),
        headline=headline(head.cases),
        finding=finding(head.cases),
        unknown_content=unknown_content(unknown) if unknown else "",
        tested=tuple(part_line(part) for part in parts if not part.part.is_yardstick),
        judged_criteria=tuple(part_line(part) for part in parts if part.part.is_yardstick),
        advice=_advice(head.cases),
        retest_url=retest_url(request, head.run, base=comparison.base)
        if not head.cases.is_mixed and (head.cases.test.differing or head.cases.has_turned_checks)
        else "",
    )


def _tone(cases: HeadCases) -> str:
    """Return the tone of an answer: certainly worse, maybe worse, better, or none."""
    if cases.is_worse:
        return "bad" if cases.verdict == "worse" else "warn"
    return "good" if cases.verdict == "better" else "calm"


def part_line(part: PartDifferences, *, note: SafeString | str = "") -> PartLine:
    """Return the line of a part in which settings differ."""
    places = tuple(map(changed_place, part.values))
    return PartLine(PARTS[part.part], places[:_OPEN], places[_OPEN:], part.more, note)


def _advice(cases: HeadCases) -> str:
    """Return what to do next."""
    worse = cases.counts.get(ChangeKind.WORSE, 0)
    if cases.is_mixed:
        return "Compare runs of the same kind: both simulated, or neither."
    if cases.verdict == "not_comparable" and cases.counts.get(ChangeKind.SAME):
        return "Compare the scores: cases whose checks only inform neither pass nor fail."
    if cases.verdict == "not_comparable":
        return "Run the same suite with both versions, then compare those runs."
    if worse and cases.verdict == "worse":
        return "Read the cases that got worse before you ship."
    if worse:
        return (
            "A single case can fail by chance. Read the cases that got worse, or let Evalwell run"
            " them again until it is certain: “Retest”."
        )
    if cases.counts.get(ChangeKind.CHECK_WORSE):
        return (
            "A check failed in every trial where it passed before, though the verdict does not show it."
            " Read these cases, or let Evalwell run them again: “Retest”."
        )
    if cases.verdict == "worse":
        return "No case lost its verdict, but more trials fail. Read the first cases below."
    return "No case got worse. More trials of each case make small differences visible."


def _filters(change: ChangeKind | None, text: str) -> dict[str, str]:
    return {"change": change or "", "case": text}


def _chips(
    comparison: Comparison, ids: Sequence[int], *, chosen: ChangeKind | None, text: str
) -> list[Chip]:
    counts = comparison.cases.counts
    if text:
        counts = {
            change: len(comparison.cases.filter_by(change=change, text=text)) for change in counts
        }
    chips = [
        Chip("", sum(counts.values()), comparison_url(ids, case=text), "", is_chosen=chosen is None)
    ]
    return chips + [
        Chip(
            badge(change),
            counts[change],
            comparison_url(ids, **_filters(change, text)),
            words.meaning,
            is_chosen=change is chosen,
        )
        for change, words in CHANGES.items()
        if change in counts
    ]


def _case_line(
    case: ComparedCase, ids: Sequence[int], *, scale: str, checks: str
) -> ComparedCaseLine:
    texts = [outcome_text(outcome, scale=scale) for outcome in case.outcomes]
    cells = [CaseCell(f"Run {ids[0]}", texts[0], "", "")]
    for pk, text, change in zip(ids[1:], texts[1:], case.changes, strict=True):
        url = side_by_side_url(case.name, runs=[ids[0], pk]) if change else ""
        cells.append(CaseCell(f"Run {pk}", text, badge(change) if change else "", url))
    return ComparedCaseLine(case.name, case.old_name, badge(case.change), checks, tuple(cells))
