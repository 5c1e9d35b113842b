"""Whether the checks of a suite can fail, as REST and the command answer it."""

from pydantic import Field

from evals_app.engine.verdicts.can_fail import Idle, ProbedSuite, Sight
from evals_app.engine.verdicts.probes import PROBES
from evals_app.reports.answers.run_answers import Answer, Json
from fixtures_app.ground.json_paths import path_text


class ProbedCheckJson(Answer):
    """A check, and what it passes."""

    keys: str = Field(description="Where it is written, as in files.")
    case: str | None = Field(description="null: a check of the suite's, for every case.")
    turn: int | None = Field(description="From 1; null: at the end, or in several turns.")
    type: str
    label: str
    result: Sight = Field(description="`undecided`: a judge gave no verdict.")
    places: int = Field(description="In how many turns it is graded.")
    tried: list[str] = Field(description="What it ought to fail: keys of `probes`.")
    passed: list[str] = Field(description="What it passes although it should fail.")
    why: str | None = Field(
        description="Why it is blind, undecided or was not tried, if no answer shows it."
    )


class IdleJson(Answer):
    """How a conversation with an idle agent would end."""

    score: float | None
    passed: bool | None = Field(description="null: a judge, a model or your code would decide.")


class ProbedCaseJson(Answer):
    """What a case makes of an agent that only says “ok”, and of one that refuses."""

    name: str
    nothing: IdleJson
    refusal: IdleJson


class ResultCounts(Answer):
    """How many checks have each result."""

    blind: int
    weak: int
    sound: int
    undecided: int
    not_tried: int


class ProbedSuiteJson(Answer):
    """Whether the checks of a suite can fail."""

    suite: str = Field(description="Slug.")
    only_forbids: bool = Field(description="An agent that says “ok” and does nothing passes it.")
    counts: ResultCounts
    checks: list[ProbedCheckJson]
    cases: list[ProbedCaseJson]
    checks_left: int = Field(description="So many were not tried, to save time.")
    cases_left: int
    probes: dict[str, str] = Field(description="What each key of `tried` and `passed` is.")


def probed_json(slug: str, probed: ProbedSuite) -> Json:
    """Return whether the checks of a suite can fail."""
    return ProbedSuiteJson.of(
        suite=slug,
        only_forbids=probed.only_forbids,
        counts=dict(probed.counts),
        checks=[
            ProbedCheckJson.of(
                keys=path_text(one.loc),
                case=one.case or None,
                turn=one.turn,
                type=one.check.type,
                label=one.check.label,
                result=one.sight,
                places=one.places,
                tried=list(one.tried),
                passed=list(one.passed),
                why=one.why or None,
            )
            for one in probed.checks
        ],
        cases=[
            ProbedCaseJson.of(
                name=case.name, nothing=_idle(case.nothing), refusal=_idle(case.refusal)
            )
            for case in probed.cases
        ],
        checks_left=probed.left,
        cases_left=probed.cases_left,
        probes=dict(PROBES),
    )


def _idle(idle: Idle) -> Json:
    return IdleJson.of(score=idle.score, passed=idle.passed)
