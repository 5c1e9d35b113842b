"""Find the judges that a suite trusts, because people agree with them often enough."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from evals_app.engine.assertion_spec import AssertionSpec
from evals_app.engine.spec import ModelSpec
from evals_app.engine.suite import CaseSpec, SuiteSpec
from evals_app.engine.trial import YardstickSpec
from evals_app.engine.trust import JudgeTrust
from evals_app.engine.yardsticks import yardstick_of
from evals_app.models import Yardstick
from evals_app.runs.passports import agreements
from fixtures_app.ground.quoting import shortened

_AT_ONCE = 500


def judge_trust(
    suite: SuiteSpec,
    cases: Iterable[CaseSpec],
    *,
    agent: ModelSpec | None,
    judge: ModelSpec | None,
) -> JudgeTrust | None:
    """Return how the judges of a suite agree with people; None if it does not ask for that.

    `suite` may be without its cases. `agent` is the agent's own model, `judge` the one of the run.
    """
    least = suite.gates.min_judge_agreement
    if least is None:
        return None

    def judged_by(check: AssertionSpec) -> YardstickSpec | None:
        judges = check.judges(agent=agent, judge=judge)
        return yardstick_of(check, judges, judge_prompt=suite.judge_prompt)

    found = (judged_by(check) for check in _checks(suite, cases))
    specs = {spec.digest: spec for spec in found if spec is not None}
    digests = {digest for spec in specs.values() for digest in (spec.digest, *spec.items)}
    known = _known(sorted(digests))
    compared = agreements([row.pk for row in known])
    trust = JudgeTrust(
        least=least,
        judged=len(specs),
        trusted={
            row.digest: shortened(row.criterion, 80)
            for row in known
            if row.pk in compared and compared[row.pk].reaches(least)
        },
        compared={
            row.digest: (compared[row.pk].n, compared[row.pk].agreed.count)
            for row in known
            if row.pk in compared
        },
    )
    return trust.model_copy(update={"deciding": sum(map(trust.trusts, specs.values()))})


def _checks(suite: SuiteSpec, cases: Iterable[CaseSpec]) -> Iterator[AssertionSpec]:
    """Return the checks that count: the suite's own once, then those of each case."""
    own = [*suite.assertions, *([suite.rubric_check] if suite.rubric_check else [])]
    checks = chain(own, chain.from_iterable(case.assertions() for case in cases))
    return (check for check in checks if check.enabled and check.counted_weight > 0)


def _known(digests: Collection[str]) -> list[Yardstick]:
    """Return the yardsticks of these that exist."""
    parts = (list(digests)[start : start + _AT_ONCE] for start in range(0, len(digests), _AT_ONCE))
    return [row for part in parts for row in Yardstick.objects.filter(digest__in=part)]
