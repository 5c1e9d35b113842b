"""What REST answers about judges compared with people."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from evals_app.engine.statistics.agreement import Agreement, Kappa, OnScale, Proportion
from evals_app.engine.statistics.corrected import CorrectedRate, NotCorrected
from evals_app.engine.statistics.trust import Standing, standing_of
from evals_app.reports.answers.agreement import agreement_in_words
from evals_app.reports.answers.run_answers import Answer, Interval, Json


class RateAnswer(Answer):
    """So many of how many; `share` and `interval` (Wilson, 95 %) are null without any."""

    count: int
    total: int
    share: float | None
    interval: Interval | None


class KappaAnswer(Answer):
    """Agreement beyond chance, with its 95 % interval; null where it is unknown."""

    value: float
    interval: Interval | None


class OnScaleAnswer(Answer):
    """How near the grades of judge and people are, where both gave one."""

    scale: str
    n: int
    same: int = Field(description="Equal grades.")
    near: int = Field(description="Grades that are one apart.")
    kappa: KappaAnswer | None = Field(description="With quadratic weights; null below 20.")


class TableAnswer(Answer):
    """The answers by both verdicts."""

    both_passed: int
    only_judge_passed: int
    only_people_passed: int
    both_failed: int


class YardstickRow(Answer):
    """A criterion in one wording with the judge that applies it, as lists show it."""

    digest: str
    type: str = Field(description="The kind of check.")
    criterion: str
    scale: str = Field(description="Empty: a share is measured.")
    judge: str = Field(description="All judges of a jury.")
    prompt_version: int
    is_item: bool = Field(description="Whether it is one bullet of a rubric.")
    created_at: datetime
    labels: int = Field(description="Answers that people graded too; 0: not yet compared.")
    standing: Standing = Field(
        description="Whether the judge may decide; what a suite asks for is not looked at."
    )
    agreement: RateAnswer = Field(description="The same verdict.")
    commoner: RateAnswer = Field(
        description="What a judge would reach that always gives the verdict that people give more often."
    )


class CorrectedAnswer(Answer):
    """The pass rate that people would find in the newest run with labels."""

    run: int
    judged: RateAnswer = Field(description="What the judge passed there.")
    share: float | None = Field(description="What people would pass; null: unknown.")
    interval: Interval | None = Field(
        description="95 %, with the uncertainty of the labels and of the run."
    )
    why_not: NotCorrected | None = Field(description="Why it is unknown.")


class DisagreementAnswer(Answer):
    """An answer that people and judge graded differently."""

    execution: int
    case: str
    person: bool
    judge: bool


class YardstickDetails(YardstickRow):
    """How far a judge agrees with people."""

    in_words: list[str]
    table: TableAnswer
    passes_noticed: RateAnswer = Field(description="Of what people passed (TPR).")
    failures_noticed: RateAnswer = Field(description="Of what people failed (TNR).")
    kappa: KappaAnswer | None = Field(description="Cohen's; null below 20 labels.")
    on_scale: OnScaleAnswer | None
    corrected: CorrectedAnswer | None = Field(description="null: there are no labels.")
    blind: int = Field(description="Labels given before the person saw the judge's verdict.")
    ties: int = Field(description="Answers on which people disagree; they do not count.")
    disagreements: list[DisagreementAnswer] = Field(description="The newest 50.")
    versions: list[YardstickRow] = Field(
        description="The same check in other wordings or with other judges, the oldest first."
    )


def yardstick_json(yardstick: object, agreement: Agreement) -> Json:
    """Return a judged criterion as lists show it."""
    return YardstickRow.of_object(yardstick, **_of_lists(agreement))


def calibration_json(
    yardstick: object,
    agreement: Agreement,
    *,
    blind: int,
    disagreements: Sequence[Json],
    **more: object,
) -> Json:
    """Return a calibration."""
    return YardstickDetails.of_object(
        yardstick,
        **_of_lists(agreement),
        in_words=agreement_in_words(agreement, blind=blind),
        table=TableAnswer.of_object(agreement),
        passes_noticed=RateAnswer.of_object(agreement.passes_noticed),
        failures_noticed=RateAnswer.of_object(agreement.failures_noticed),
        kappa=_kappa(agreement.kappa),
        on_scale=_on_scale(agreement.on_scale),
        blind=blind,
        disagreements=[DisagreementAnswer.of(row) for row in disagreements],
        **more,
    )


def corrected_json(run: int, judged: Proportion, corrected: CorrectedRate | NotCorrected) -> Json:
    """Return a corrected pass rate, or why there is none."""
    known: Json = {"share": None, "interval": None, "why_not": None}
    if isinstance(corrected, NotCorrected):
        known["why_not"] = corrected.value
    else:
        known |= {"share": corrected.share, "interval": corrected.interval}
    return CorrectedAnswer.of(known, run=run, judged=RateAnswer.of_object(judged))


def _of_lists(agreement: Agreement) -> Json:
    return {
        "labels": agreement.n,
        "standing": standing_of(agreement).value,
        "agreement": RateAnswer.of_object(agreement.same_verdict),
        "commoner": RateAnswer.of_object(agreement.commoner),
    }


def _kappa(kappa: Kappa | None) -> Json | None:
    return None if kappa is None else KappaAnswer.of_object(kappa)


def _on_scale(grades: OnScale | None) -> Json | None:
    return None if grades is None else OnScaleAnswer.of_object(grades, kappa=_kappa(grades.kappa))
