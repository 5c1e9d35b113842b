"""Which judges may decide in a run whose suite requires agreement with people."""

from evals_app.engine.record.grade import JudgedCriterionSpec
from evals_app.engine.specs.base_spec import Spec
from evals_app.engine.statistics.agreement import MIN_LABELS

ONLY_INFORMS = "only_informs"  # key of the details of a grade: why it decides nothing


class JudgeTrust(Spec):
    """How the judges of a suite agreed with people when a run started.

    `least` is the agreement that the suite asks for. `trusted` are the judged criteria that reach it: their
    criteria, shortened, by digest. `compared` has, by digest, the number of labels and of equal
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
        return (
            f"its judge agrees with people on {same} of {answers}, and this suite asks for"
            f" {100 * self.least:.4g}\u00a0%."
        )

    @property
    def in_words(self) -> str:
        """How many judged checks decide nothing, and why; empty if all decide."""
        informing = self.judged - self.deciding
        if not informing:
            return ""
        checks, verb = ("check", "informs") if self.judged == 1 else ("checks", "inform")
        return (
            f"{informing:,} of {self.judged:,} judged {checks} only {verb}: until judges agree with"
            f" people in {100 * self.least:.4g}\u00a0% of at least {MIN_LABELS} answers, they"
            " decide nothing."
        )
