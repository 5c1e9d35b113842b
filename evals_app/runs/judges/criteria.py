"""The criterion of a grade, in words: read from the run's snapshot."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from evals_app.engine.graders.geval import GEval
from evals_app.engine.graders.judged import LlmJudge, Rubric
from evals_app.engine.graders.rag import RagGrader
from evals_app.engine.suites.suite_spec import CaseSpec, PlacedCheck, SuiteSpec
from evals_app.formats.snapshots.run_snapshot import read_case, read_suite
from evals_app.models import GradeResult, Run

FIVE_POINTS = "1-5"


@dataclass(frozen=True, slots=True)
class GradeCriterion:
    """The criterion, and what the judge knew besides the conversation.

    `under` are the headings and remarks of a bullet, `anchors` what the grades of a scale mean. With
    `whole` every reply is checked, without it only that of the turn, or at the end the last one.
    """

    text: str
    under: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    scale: str = ""
    anchors: tuple[tuple[str, str], ...] = ()
    facts: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()
    whole: bool = False

    @property
    def has_five_points(self) -> bool:
        return self.scale == FIVE_POINTS


def criteria_of(run: Run, asked: Sequence[tuple[GradeResult, int | None]]) -> list[GradeCriterion]:
    """Return the criteria of a run's grades, or of single bullets, by number.

    For a run that another version of Evalwell started, only the label is known.
    """
    try:
        suite = read_suite(run.snapshot.content)
    except ValidationError:
        suite = None
    positions = {grade.execution.position for grade, _ in asked}
    cases = dict(_cases(run, positions)) if suite else {}
    return [_criterion(grade, item, suite, cases) for grade, item in asked]


def _cases(run: Run, positions: set[int]) -> Iterable[tuple[int, CaseSpec]]:
    rows = run.snapshot.cases.filter(position__in=positions)
    for position, content in rows.values_list("position", "content"):
        try:
            yield position, read_case(content)
        except ValidationError:
            continue


def _criterion(
    grade: GradeResult, item: int | None, suite: SuiteSpec | None, cases: dict[int, CaseSpec]
) -> GradeCriterion:
    case = cases.get(grade.execution.position)
    placed = _find_check(grade, suite, case) if suite and case else None
    if suite is None or placed is None:
        whole = grade.turn is None
        return GradeCriterion(
            bullet_text(grade, item) or grade.label, scale=_scale(grade), whole=whole
        )
    grader, turn = placed.check.grader, placed.turn
    text = placed.check.label
    under: tuple[str, ...] = ()
    if isinstance(grader, LlmJudge | GEval) and grader.criteria.strip():
        text = grader.criteria
    elif isinstance(grader, RagGrader):
        text = grader.in_words
    elif isinstance(grader, Rubric):
        text, under = _of_rubric(grader, grade, item)
    return GradeCriterion(
        text=text,
        under=under,
        steps=_steps(grade, grader) if isinstance(grader, GEval) else (),
        scale=getattr(grader, "scale", "") or _scale(grade),
        anchors=tuple(sorted(getattr(grader, "anchors", {}).items(), reverse=True)),
        facts=tuple(filter(str.strip, [suite.judge_context, *(turn.context if turn else ())])),
        passages=tuple((turn.retrieval_context if turn else None) or ()),
        whole=_is_whole(placed),
    )


def _find_check(grade: GradeResult, suite: SuiteSpec, case: CaseSpec) -> PlacedCheck | None:
    here = (grade.turn, grade.position)
    checks = suite.placed_checks(case)
    return next((placed for placed in checks if (placed.number, placed.position) == here), None)


def _is_whole(placed: PlacedCheck) -> bool:
    """Whether every reply up to there is checked."""
    at_the_end = placed.number is None and isinstance(placed.check.grader, LlmJudge | Rubric)
    return placed.check.scope == "conversation" or (at_the_end and placed.check.scope is None)


def _of_rubric(grader: Rubric, grade: GradeResult, item: int | None) -> tuple[str, tuple[str, ...]]:
    items = grader.checklist.items
    if item is None or not 0 < item <= len(items):
        return bullet_text(grade, item) or grader.criteria, ()
    return items[item - 1].text, (*items[item - 1].under, *grader.checklist.remarks)


def _steps(grade: GradeResult, grader: GEval) -> tuple[str, ...]:
    stored = grade.details.get("steps")
    steps = stored if isinstance(stored, list) else grader.evaluation_steps
    return tuple(str(step) for step in steps)


def _scale(grade: GradeResult) -> str:
    return str(grade.details.get("scale") or "")


def bullet_text(grade: GradeResult, item: int | None) -> str:
    """Return the text of a bullet as it appears in the grade."""
    listed = grade.details.get("items") if item is not None else None
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return next((str(row.get("text")) for row in rows if row.get("id") == item), "")
