"""Which judges may decide. `standing_of` is the only rule: for runs, for “May we ship?” and for pages."""

from enum import StrEnum

from evals_app.engine.record.grade import JudgedCriterionSpec
from evals_app.engine.specs.base_spec import Spec
from evals_app.engine.statistics.agreement import MIN_LABELS, Agreement
from evals_app.engine.statistics.rates import at_least

ONLY_INFORMS = "only_informs"  # key of the details of a grade: why it decides nothing


class Standing(StrEnum):
    """What the labels of people say about a judge: whether it may decide."""

    NOT_COMPARED = "not_compared"
    TOO_FEW = "too_few"  # labels
    WORSE = "worse"  # it agrees less often than one that always gives people's commoner verdict
    NO_BETTER = "no_better"  # it agrees as often as that one
    TOO_RARELY = "too_rarely"  # it agrees less often than the suite asks
    ONE_SIDED = "one_sided"  # it always agrees, but people gave only one of the two verdicts
    MAY_DECIDE = "may_decide"

    @property
    def is_distrusted(self) -> bool:
        """Whether there are enough labels, and they speak against the judge."""
        return self in {Standing.WORSE, Standing.NO_BETTER, Standing.TOO_RARELY}

    @property
    def is_trusted(self) -> bool:
        """Whether there are enough labels, and they speak for the judge."""
        return self in {Standing.ONE_SIDED, Standing.MAY_DECIDE}


def standing_of(agreement: Agreement, *, least: float | None = None) -> Standing:
    """Return what labels say about a judge; `least` is the agreement that its suite asks for."""
    same, commoner = agreement.same_verdict, agreement.commoner
    if same.share is None:
        return Standing.NOT_COMPARED
    if not agreement.is_enough:
        return Standing.TOO_FEW
    if same.count == commoner.count == agreement.n:
        return Standing.ONE_SIDED
    if same.count <= commoner.count:
        return Standing.WORSE if same.count < commoner.count else Standing.NO_BETTER
    if least is not None and not at_least(same.share, least):
        return Standing.TOO_RARELY
    return Standing.MAY_DECIDE


class JudgeTrust(Spec):
    """How the judges of a suite agreed with people when a run started.

    `least` is the agreement that the suite asks for. `trusted` are the judged criteria whose judge may
    decide: their criteria, shortened, by digest. `compared` has, by digest, the number of labels and of equal
    verdicts where there are labels. `judged` is how many judged criteria the suite has, and `deciding` how
    many of them decide.
    """

    least: float
    judged: int = 0
    deciding: int = 0
    trusted: dict[str, str] = {}
    compared: dict[str, tuple[int, int]] = {}

    def trusts(self, criterion: JudgedCriterionSpec) -> bool:
        """Return whether a judge decides; that of a rubric also if it is trusted with every bullet."""
        items = criterion.items
        by_items = bool(items) and all(item in self.trusted for item in items)
        return criterion.digest in self.trusted or by_items

    def why_not(self, criterion: JudgedCriterionSpec) -> str:
        """Return why a judge only informs, empty if it decides."""
        return "" if self.trusts(criterion) else f"It only informs: {self._doubt(criterion)}"

    def _doubt(self, criterion: JudgedCriterionSpec) -> str:
        labels, same = self.compared.get(criterion.digest, (0, 0))
        trusted = sum(item in self.trusted for item in criterion.items)
        if trusted > 0 and labels < MIN_LABELS:
            return (
                f"its judge agrees with people often enough on {trusted} of"
                f" {len(criterion.items)} bullets."
            )
        if not labels:
            return (
                f"its judge has not been compared with people yet; {MIN_LABELS} answers are needed."
            )
        answers = f"{labels} {'answer' if labels == 1 else 'answers'}"
        if labels < MIN_LABELS:
            return f"its judge was compared with people on {answers}; {MIN_LABELS} are needed."
        agrees = f"its judge agrees with people on {same} of {answers}, and"
        if at_least(same / labels, self.least):
            return f"{agrees} always giving the more common verdict would agree at least as often."
        return f"{agrees} this suite asks for {100 * self.least:.4g}\u00a0%."

    @property
    def in_words(self) -> str:
        """How many judged checks decide nothing, and why; empty if all decide."""
        informing = self.judged - self.deciding
        if not informing:
            return ""
        checks, verb = ("check", "informs") if self.judged == 1 else ("checks", "inform")
        return (
            f"{informing:,} of {self.judged:,} judged {checks} only {verb}: until judges agree with"
            f" people in {100 * self.least:.4g}\u00a0% of at least {MIN_LABELS} answers, and more"
            " often than a judge that always gives the same verdict, they decide nothing."
        )
