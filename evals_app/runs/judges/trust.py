"""Find the judges that a suite trusts, because people agree with them often enough."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from evals_app.engine.record.grade import JudgedCriterionSpec
from evals_app.engine.specs.base_spec import ModelSpec
from evals_app.engine.statistics.trust import JudgeTrust, standing_of
from evals_app.engine.suites.assertion_spec import AssertionSpec
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from evals_app.engine.verdicts.judged_criteria import judged_criterion_of
from evals_app.models import Yardstick
from evals_app.runs.judges.calibration import CriterionLabels, agreements, labels_of
from fixtures_app.ground.quoting import cut_middle

_AT_ONCE = 500


def judge_trust(
    suite: SuiteSpec, cases: Iterable[CaseSpec], *, agent: ModelSpec | None, judge: ModelSpec | None
) -> JudgeTrust | None:
    """Return how a suite's judges agree with people; None if the suite does not require it.

    `suite` may be without its cases. `agent` is the agent's own model, `judge` the one of the run.
    """
    least = suite.gates.min_judge_agreement
    if least is None:
        return None

    def judged_by(check: AssertionSpec) -> JudgedCriterionSpec | None:
        judges = check.judges(agent=agent, judge=judge)
        return judged_criterion_of(check, judges, judge_prompt=suite.judge_prompt)

    yardsticks = (judged_by(check) for check in _checks(suite, cases))
    specs = {spec.digest: spec for spec in yardsticks if spec is not None}
    digests = {digest for spec in specs.values() for digest in (spec.digest, *spec.items)}
    criteria = _criteria_with_reviews(sorted(digests))
    compared = agreements(criteria.values())
    trust = JudgeTrust(
        least=least,
        judged=len(specs),
        trusted={
            digest: cut_middle(criteria[digest].criterion, 80)
            for digest, agreement in compared.items()
            if standing_of(agreement, least=least).is_trusted
        },
        compared={
            digest: (agreement.n, agreement.same_verdict.count)
            for digest, agreement in compared.items()
        },
    )
    return trust.model_copy(update={"deciding": sum(map(trust.trusts, specs.values()))})


def _checks(suite: SuiteSpec, cases: Iterable[CaseSpec]) -> Iterator[AssertionSpec]:
    """Yield the checks that count: the suite's own once, then those of each case."""
    own = [*suite.assertions, *([suite.rubric_check] if suite.rubric_check else [])]
    checks = chain(own, chain.from_iterable(case.assertions() for case in cases))
    return (check for check in checks if check.enabled and check.counted_weight > 0)


def _criteria_with_reviews(digests: Sequence[str]) -> dict[str, CriterionLabels]:
    """Return the criteria that people reviewed, by digest."""
    found: dict[str, CriterionLabels] = {}
    for start in range(0, len(digests), _AT_ONCE):
        part = Yardstick.objects.filter(digest__in=digests[start : start + _AT_ONCE])
        found |= {row.digest: row for row in labels_of(part).values() if row.labels}
    return found
