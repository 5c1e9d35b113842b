"""Suites as rows of a list: a verdict, the reason for it in words, and the last results."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.text import capfirst

from evals_app.admin.comparing.release_asks import needs_someone
from evals_app.admin.history.last_results import LAST, state_with_people
from evals_app.admin.history.trends import SuiteLine
from evals_app.admin.kit.presentation import SIGNS, plural
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.verdicts.release_check import ReasonKind
from evals_app.models import Run
from evals_app.reports.answers.decided import WITH_PEOPLE
from evals_app.reports.words.shares import CASE_COUNTS

MIN_SHOWN = 10  # suites without trouble are folded where there are more


@dataclass(frozen=True, slots=True)
class ListedSuite:
    """A suite with its verdict, a reason, its last five results, and how many cases passed."""

    line: SuiteLine
    rank: int  # what needs attention has a low one
    tone: str
    word: str  # of its verdict
    reason: str
    dots: Sequence[str]  # tones, the oldest first
    dots_label: str
    passed: int | None
    of: int | None

    @property
    def labels(self) -> list[str]:
        """What is special about its verdict."""
        run = self.line.standing.verdict_run
        if run is None:
            return []
        known = {
            "Scripted": run.is_scripted,
            "Simulated": run.is_simulated,
            capfirst(WITH_PEOPLE): run.reviewed,
        }
        return [label for label, applies in known.items() if applies]


@dataclass(frozen=True, slots=True)
class SuiteRows:
    """The suites of a page, what needs attention first; those without trouble may be folded."""

    shown: Sequence[ListedSuite]
    folded: Sequence[ListedSuite]
    may_run: bool

    @property
    def fold_title(self) -> str:
        never = sum(row.word == NEVER for row in self.folded)
        rest = len(self.folded) - never
        parts = [
            f"{rest:,} without trouble" if rest else "",
            f"{never:,} never run" if never else "",
        ]
        return f"{plural(len(self.folded), 'more suite')}: {', '.join(filter(None, parts))}"


NEVER = "never run"
_TROUBLE = 4  # the first rank without


def suite_rows(
    request: HttpRequest, lines: Iterable[SuiteLine], settled: Mapping[int, int] | None = None
) -> SuiteRows:
    """Return suites as rows; `settled` has by run how many of its cases a retest found really worse."""
    rows = sorted((_row(line, settled or {}) for line in lines), key=lambda row: row.rank)
    trouble = sum(row.rank < _TROUBLE for row in rows)
    shown = max(trouble, MIN_SHOWN)
    return SuiteRows(rows[:shown], rows[shown:], may_run(request))


def _row(line: SuiteLine, settled: Mapping[int, int]) -> ListedSuite:
    run = line.standing.verdict_run
    counts = _counts(run)
    dots = [state_with_people(point.run) for point in line.points[-LAST:]]
    words = ", ".join(SIGNS[state].word.lower() for state in dots) or "none yet"
    state = state_with_people(run) if run is not None else ""
    return ListedSuite(
        line,
        _rank(line, state),
        _tone(state) if state else "none",
        SIGNS[state].word.lower() if state else NEVER,
        ". ".join(capfirst(reason) for reason in _reasons(line, counts, settled) if reason),
        ["none"] * (LAST - len(dots)) + [_tone(verdict) for verdict in dots],
        f"Last results, oldest first: {words}",
        counts[0] if counts else None,
        sum(counts[:2]) if counts else line.cases,
    )


def _tone(state: str) -> str:
    return SIGNS[state].tone


def _counts(run: Run | None) -> tuple[int, int, int] | None:
    """Return how many cases of a run passed, failed and were not graded; None if that is unknown."""
    known = {} if run is None else (run.reviewed or vars(run))
    passed, failed, not_graded = (known.get(name) for name in CASE_COUNTS)
    return None if passed is None or failed is None else (passed, failed, not_graded or 0)


def _rank(line: SuiteLine, state: str) -> int:
    """Return how urgent a suite is."""
    answer, is_open = line.release.check.answer, needs_someone(line.release)
    if not state:
        return 6
    if is_open and answer != "yes":
        return 0 if answer == "no" else 1
    if state in {"failed", "inconclusive"}:
        return 2 if state == "failed" else 3
    return _TROUBLE if is_open else _TROUBLE + 1


def _reasons(
    line: SuiteLine, counts: tuple[int, int, int] | None, settled: Mapping[int, int]
) -> Iterator[str]:
    """Return what explains the verdict of a suite, what matters most first."""
    run, later = line.standing.verdict_run, line.standing.later
    if run is None:
        yield _why_never(line)
    else:
        if (worse := settled.get(run.pk)) is not None:
            yield f"retested: {worse:,} really worse" if worse else "retested: none really worse"
        if counts and counts[2]:
            yield f"{counts[2]:,} of {plural(sum(counts), 'case')} not graded, so not counted here"
        yield _comparison(line)
        if line.release.accepted:
            yield f"{plural(len(line.release.accepted), 'known failure')} accepted"
        if run.is_similarity_stand_in:
            yield run.stand_in_note
    if later is not None:
        yield f"{'run of a part' if run is None else 'later'}: {later.in_short}"


def _why_never(line: SuiteLine) -> str:
    if line.standing.has_parts_only:
        return "never run as a whole"
    return f"{plural(line.cases, 'case')}, never run" if line.cases else "no cases yet"


def _comparison(line: SuiteLine) -> str:
    """Return how the last full run differs from the released version, or else from the run before."""
    release = line.release
    sentence = release.words(release.check.reasons[0]).sentence.rstrip(".")
    if release.base is not None:
        return f"compared with {release.base.short_name}: {sentence}"
    if release.check.reasons[0].kind is ReasonKind.RELEASED:
        return sentence
    if line.previous is None:
        only = len(line.points) == 1
        return f"first run: {sentence}" if only else "measured in another way before"
    before = line.previous.run.short_name
    return f"compared with {before}: {line.changes.in_words}" if line.changes else ""
