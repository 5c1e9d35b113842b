"""How far the judge of each criterion agrees with people: read from reviews, never stored."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from django.db.models import Count, F, FilteredRelation, Max, Q, QuerySet, Sum, Window
from django.db.models.functions import RowNumber

from evals_app.engine.statistics.agreement import (
    MIN_LABELS,
    Agreement,
    Label,
    Proportion,
    compare,
    majority,
)
from evals_app.engine.statistics.corrected import (
    CorrectedRate,
    LabelPlan,
    NotCorrected,
    correct_pass_rate,
    plan_labels,
)
from evals_app.engine.statistics.rates import mean
from evals_app.models import GradeResult, Review, Run, Yardstick
from evals_app.models.judging.reviews import IS_LABEL, label_condition
from evals_app.runs.ground.remembered import Remembered

MAX_REVIEWS = 500  # of a criterion: the newest
MAX_SHOWN = 50  # disagreements
MAX_VERSIONS = 20
MAX_PLACES = 100  # newest answers at whose places other versions are looked for
MAX_CORRECTED = 10_000  # executions of a run whose pass rate is corrected
MAX_JUDGED = 5  # criteria of a run whose answers are planned
MAX_PLANNED = 30  # answers to check at once


class CheckPlace(NamedTuple):
    """Where a check is. A check at the same place is another version of it."""

    suite: str
    case: str
    turn: int | None
    position: int
    type: str
    item: int | None


class HumanVerdict(NamedTuple):
    """A person's review of a grade, and its place; read in the order of `_COLUMNS`."""

    review: int
    yardstick: str  # its digest
    execution: int
    source: int | None
    run: int
    grade: int
    person: int | None
    name: str
    was_blind: bool
    passed: bool | None
    score: float | None
    judged_passed: bool
    judged_score: float | None
    run_total: int
    run_ended_at: datetime | None
    place: CheckPlace


class GradedAnswer(NamedTuple):
    """One answer that people and judge graded.

    `review` is the newest review that agrees with most people, `newest` one of the newest grade.
    """

    label: Label
    review: int
    newest: HumanVerdict
    is_blind: bool

    @property
    def is_disagreed(self) -> bool:
        return self.label.person is not self.label.judge


@dataclass(frozen=True, slots=True)
class Calibration:
    """A judged criterion and how its judge agrees with people.

    `ties` is the number of answers on which people disagree; no other figure includes them.
    """

    yardstick: Yardstick
    answers: Sequence[GradedAnswer] = ()
    ties: int = 0
    agreement: Agreement = field(default_factory=Agreement)

    @property
    def blind(self) -> int:
        """The number of answers that people decided before they saw the judge's verdict."""
        return sum(answer.is_blind for answer in self.answers)

    @property
    def by_run(self) -> dict[int, list[int]]:
        """The executions with the answers, by their run, the newest run first."""
        found: dict[int, list[int]] = {}
        for word in sorted((answer.newest for answer in self.answers), key=lambda word: -word.run):
            found.setdefault(word.run, []).append(word.execution)
        return found

    @property
    def newest(self) -> HumanVerdict | None:
        """One of the labels in the newest run with any, of runs that have ended if possible."""
        words = (answer.newest for answer in self.answers)
        return max(words, key=lambda word: (bool(word.run_ended_at), word.run), default=None)

    @property
    def disagreements(self) -> list[GradedAnswer]:
        """The answers with different verdicts, the newest first."""
        return [answer for answer in self.answers if answer.is_disagreed]


def most_compared() -> QuerySet[Yardstick]:
    """Return all judged criteria: those with most reviews first, then the newest."""
    reviews = Count("reviews", filter=Q(reviews__withdrawn_at=None))
    return Yardstick.objects.annotate(reviewed=reviews).order_by("-reviewed", "-pk")


def compared_judges() -> dict[str, int]:
    """Count the criteria on which each judge was compared with people; a jury is one judge."""
    rows = Review.objects.filter(IS_LABEL).values("yardstick__judge").order_by()
    counts = rows.annotate(criteria=Count("yardstick", distinct=True))
    return dict(counts.values_list("yardstick__judge", "criteria"))


def calibrations_of(yardsticks: Iterable[Yardstick]) -> list[Calibration]:
    """Return the calibrations of judged criteria, in one query."""
    rows = list(yardsticks)
    reviews = _reviews(row.digest for row in rows)
    return [_calibration(row, reviews.get(row.digest, ())) for row in rows]


def find_calibration(digest: str) -> Calibration | None:
    """Return the calibration of a judged criterion; None if there is none."""
    return next(iter(calibrations_of(Yardstick.objects.filter(digest=digest))), None)


class CriterionLabels(NamedTuple):
    """A judged criterion, and what tells the labels of today from those of another day.

    Labels are never changed. They are added, withdrawn and removed, and so are the people who gave them
    and the executions that theirs grade again.
    """

    digest: str
    criterion: str
    labels: int
    keys: int | None  # their sum
    newest_at: datetime | None
    people: int
    sources: int


def labels_of(yardsticks: QuerySet[Yardstick]) -> dict[int, CriterionLabels]:
    """Return judged criteria, by key, with or without labels, in one query."""
    label = FilteredRelation("reviews", condition=label_condition("reviews"))
    rows = yardsticks.annotate(
        label=label,
        labels=Count("label"),
        keys=Sum("label__pk"),
        newest_at=Max("label__created_at"),
        people=Count("label__by"),
        sources=Count("label__execution__source"),
    ).order_by("pk")
    return {
        pk: CriterionLabels(*columns)
        for pk, *columns in rows.values_list("pk", *CriterionLabels._fields)
    }


_known_agreements: Remembered[CriterionLabels, Agreement] = Remembered(5000)


def agreements(criteria: Iterable[CriterionLabels]) -> dict[str, Agreement]:
    """Return how the judges of criteria agree with people, in at most one query; only those with labels.

    What was computed is remembered as long as the labels are the same.
    """
    wanted = [criterion for criterion in criteria if criterion.labels]
    known = _known_agreements.of(wanted)
    if new := {criterion.digest: criterion for criterion in wanted if criterion not in known}:
        reviews = _reviews(new)
        read = {
            criterion: compare([answer.label for answer in _answers(reviews.get(digest, ()))[0]])
            for digest, criterion in new.items()
        }
        _known_agreements.keep(read)
        known |= read
    return {criterion.digest: agreement for criterion, agreement in known.items() if agreement.n}


def agreements_in_runs(runs: Sequence[int]) -> dict[int, Agreement]:
    """Return how judges agree with people on the answers of each of these runs, in one query."""
    by_judge: dict[tuple[int, str], list[HumanVerdict]] = defaultdict(list)
    reviews = Review.objects.filter(IS_LABEL, execution__run__in=runs)
    for word in _words(reviews.order_by("-pk")[:MAX_REVIEWS]):
        by_judge[word.run, word.yardstick].append(word)
    labels: dict[int, list[Label]] = {run: [] for run in runs}
    for (run, _), words in by_judge.items():
        labels[run] += [answer.label for answer in _answers(words)[0]]
    return {run: compare(of_run) for run, of_run in labels.items()}


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """The newest run with labels: what the judge passed there, and what follows for people.

    `place` is that of one of its labels, and `decides` whether the judge's grades counted there. `plan`
    is which answers to check next; it has none if the run has no others.
    """

    run: int
    place: CheckPlace
    decides: bool
    judged: Proportion
    corrected: CorrectedRate | NotCorrected
    plan: LabelPlan


def newest_judged_run(calibration: Calibration) -> JudgedRun | None:
    """Return the newest run with labels; None if there are none. Open and large runs are not counted."""
    newest = calibration.newest
    if newest is None:
        return None
    labels = compare(
        [answer.label for answer in calibration.answers if answer.newest.run == newest.run]
    )
    judged, decides = Proportion(0, 0), True
    if newest.run_ended_at is not None and newest.run_total <= MAX_CORRECTED:
        judged, decides = _judged_in(newest.run, calibration.yardstick.pk, newest.run_ended_at)
    return JudgedRun(
        newest.run,
        newest.place,
        decides,
        judged,
        correct_pass_rate(labels, judged),
        plan_next(calibration.agreement, labels, judged),
    )


@lru_cache(maxsize=2000)  # grades of a run that has ended do not change
def _judged_in(run: int, yardstick: int, _: datetime) -> tuple[Proportion, bool]:
    """Return what the judge passed in a run, and whether its grades counted; unknown of a bullet.

    A run that went on has ended at another time.
    """
    grades = GradeResult.objects.filter(
        execution__run=run, yardstick=yardstick, passed__isnull=False
    )
    counts = grades.aggregate(
        all=Count("pk"), passed=Count("pk", filter=Q(passed=True)), weight=Max("weight")
    )
    return Proportion(counts["passed"], counts["all"]), counts["weight"] != 0


def plan_for_run(run: Run) -> tuple[Yardstick, LabelPlan] | None:
    """Return the criterion of a run that is known worst, and which of its answers to check.

    None: no judge decided in it, enough is known, or the run is open or too large.
    """
    if run.finished_at is None or run.total > MAX_CORRECTED:
        return None
    decided = GradeResult.objects.filter(execution__run=run, weight__gt=0)
    keys = decided.filter(yardstick__isnull=False).order_by("yardstick").values("yardstick")
    plans = []
    for known in calibrations_of(Yardstick.objects.filter(pk__in=keys.distinct())[:MAX_JUDGED]):
        labels = compare([answer.label for answer in known.answers if answer.newest.run == run.pk])
        judged, _ = _judged_in(run.pk, known.yardstick.pk, run.finished_at)
        plans.append((known.yardstick, plan_next(known.agreement, labels, judged)))
    open_plans = [(yardstick, plan) for yardstick, plan in plans if plan.count]
    return max(open_plans, key=lambda found: found[1].count, default=None)


def plan_next(agreement: Agreement, labels: Agreement, judged: Proportion) -> LabelPlan:
    """Return which answers of a run to check next; `agreement` includes the labels of other runs."""
    missing = max(0, MIN_LABELS - agreement.n)
    return plan_labels(labels, judged, least=missing, most=missing or MAX_PLANNED)


def versions(calibration: Calibration) -> list[Calibration]:
    """Return the other versions of the same check that were compared with people, oldest first.

    They were at the same place of the same case, or graded answers whose labels were carried.
    """
    key = calibration.yardstick.pk
    places = {answer.newest.place for answer in calibration.answers[:MAX_PLACES]}
    if not places:
        return []
    at_places = Review.objects.filter(
        IS_LABEL,
        execution__case__in={place.case for place in places},
        execution__run__suite_slug__in={place.suite for place in places},
    ).exclude(yardstick=key)
    rows_there = at_places.values_list("yardstick", *_PLACE).distinct()
    others = {other for other, *place in rows_there if CheckPlace(*place) in places}
    others |= set(_labels_carried_over(key))
    rows = Yardstick.objects.filter(pk__in=others).order_by("-pk")[:MAX_VERSIONS]
    return [version for version in calibrations_of(reversed(rows)) if version.agreement.n]


def _labels_carried_over(key: int) -> QuerySet[Review, int]:
    """Return the judged criteria from or to which labels of this one were carried."""
    earlier = Review.objects.filter(yardstick=key, carried_from__yardstick__isnull=False)
    later = Review.objects.filter(carried_from__yardstick=key, yardstick__isnull=False)
    keys = earlier.values_list("carried_from__yardstick", flat=True)
    return keys.union(later.values_list("yardstick", flat=True))


_PLACE = (
    *("execution__run__suite_slug", "execution__case"),
    *("grade__turn", "grade__position", "grade__type", "item"),
)
_COLUMNS = (
    *("pk", "yardstick__digest", "execution", "execution__source", "execution__run", "grade"),
    *("by", "by_name", "was_blind", "passed", "score", "judged_passed", "judged_score"),
    *("execution__run__total", "execution__run__finished_at"),
)


def _words(reviews: QuerySet[Review]) -> Iterator[HumanVerdict]:
    for row in reviews.values_list(*_COLUMNS, *_PLACE):
        yield HumanVerdict._make((*row[: len(_COLUMNS)], CheckPlace._make(row[len(_COLUMNS) :])))


def _reviews(digests: Iterable[str]) -> dict[str, list[HumanVerdict]]:
    """Return people's reviews by judged criterion, newest first."""
    wanted = set(digests)
    number = Window(RowNumber(), partition_by=F("yardstick"), order_by=F("pk").desc())
    rows = Review.objects.filter(IS_LABEL, yardstick__digest__in=wanted).annotate(number=number)
    found: dict[str, list[HumanVerdict]] = defaultdict(list)
    if wanted:
        for word in _words(rows.filter(number__lte=MAX_REVIEWS).order_by("-pk")):
            found[word.yardstick].append(word)
    return dict(found)


def _calibration(yardstick: Yardstick, words: Sequence[HumanVerdict]) -> Calibration:
    answers, ties = _answers(words)
    agreement = compare([answer.label for answer in answers], scale=yardstick.scale)
    return Calibration(yardstick, answers, ties, agreement)


def _answers(words: Sequence[HumanVerdict]) -> tuple[list[GradedAnswer], int]:
    """Return the verdicts of people and judge on each answer, and the number of ties.

    An answer that was graded several times is one answer: the newest grade counts, and the reviews
    of all its grades. `words` are the reviews under one criterion, newest first.
    """
    by_answer: dict[tuple[int, int | None], list[HumanVerdict]] = defaultdict(list)
    for word in words:
        by_answer[word.source or word.execution, word.place.turn].append(word)
    answers, ties = [], 0
    for of_answer in by_answer.values():
        # The newest review by each person.
        latest = list({word.person or word.name: word for word in reversed(of_answer)}.values())
        passed = majority([word.passed for word in latest])
        if passed is not None:
            newest = max(of_answer, key=attrgetter("grade"))
            answers.append(_answer(newest, latest, passed=passed))
        ties += passed is None and any(word.passed is not None for word in latest)
    return answers, ties


def _answer(newest: HumanVerdict, latest: Sequence[HumanVerdict], *, passed: bool) -> GradedAnswer:
    agreeing = [word for word in latest if word.passed is passed]
    score = mean([word.score for word in agreeing if word.score is not None])
    return GradedAnswer(
        label=Label(passed, newest.judged_passed, score, newest.judged_score),
        review=max(word.review for word in agreeing),
        newest=newest,
        is_blind=all(word.was_blind for word in agreeing),
    )
