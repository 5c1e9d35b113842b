"""Try judged checks on answers that ought to fail, as a suite of its own that a judge grades.

Each probe is a case in which a scripted agent gives that answer, so everything that applies to runs
applies: the judge of the suite, prices, ceilings, workers. Spaces and line breaks at the end of a
message say which answer its rule has; a judge makes nothing of them.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evals_app.engine.specs.agent_spec import AgentSpec, ScriptedAgent
from evals_app.engine.specs.base_spec import JudgeRef, ModelSpec
from evals_app.engine.specs.inventory import NOTHING_KNOWN
from evals_app.engine.suites.suite_spec import (
    AssertionSpec,
    CaseSpec,
    GatesSpec,
    LimitsSpec,
    Loc,
    PlacedCheck,
    SuiteSpec,
)
from evals_app.engine.verdicts.can_fail import (
    OtherAnswers,
    ProbedSuite,
    Sight,
    written_checks,
)
from evals_app.engine.verdicts.probes import Probe, probes_for

_BITS = 16  # of a number in white space
_SLUG_CHARS = 80
_NO_VERDICT = "The judge gave no verdict on {} of the {} answers that it was asked about."


@dataclass(frozen=True, slots=True)
class JudgingPlan:
    """What to run, and which check and probe each of its cases is about."""

    suite: SuiteSpec
    agent: ScriptedAgent
    about: Mapping[str, tuple[Loc, str]]


@dataclass(frozen=True, slots=True)
class _Judges:
    """Who is asked: `instead`, or the written judge; `of_agent` by its name, as another answers."""

    of_agent: ModelSpec | None
    instead: ModelSpec | None

    def of(self, written: JudgeRef | None) -> JudgeRef | None:
        if written is None:
            return None
        return self.instead or (self.of_agent if written == "agent" else written)


def plan_judging(
    suite: SuiteSpec, agent: AgentSpec | None, *, judge: ModelSpec | None = None
) -> JudgingPlan | None:
    """Plan one question to a judge for each probe of each judged check; None without any.

    `judge` is asked instead of those of the suite and its checks. Of an unknown `agent`, the model
    cannot judge.
    """
    judges = _Judges(agent.asked_model if agent else None, judge)
    cases: list[CaseSpec] = []
    rules: list[dict[str, str]] = []
    about: dict[str, tuple[Loc, str]] = {}
    answers = OtherAnswers(suite)
    for c, placed, loc in written_checks(suite):
        check = placed.check
        is_judged = check.grader.family == "judged" and check.grader.reads_text
        if not (is_judged and suite.decides(check) and placed.applies):
            continue
        others = answers.beside(c, placed)[:1]
        for probe in probes_for(placed, suite.cases[c], inventory=NOTHING_KNOWN, others=others):
            number = len(cases)
            if probe.name == "nothing" or number >= 2**_BITS:
                continue  # an empty reply fails before a judge sees it
            name = f"{number + 1:05} {probe.name}"
            cases.append(_case(suite.cases[c], placed, judges, name=name, code=_code(number)))
            rules.append(_rule(probe, _code(number)))
            about[name] = (loc, probe.name)
    if not cases:
        return None
    judge_model = judge or judges.of(suite.judge_model)
    whole = _suite_of(cases, suite).model_copy(update={"judge_model": judge_model})
    written = {
        "agent": agent.agent if agent else suite.agent,
        "slug": whole.slug,
        "driver": "scripted",
        "rules": rules,
    }
    return JudgingPlan(whole, ScriptedAgent.model_validate(written), about)


def _suite_of(cases: Sequence[CaseSpec], suite: SuiteSpec) -> SuiteSpec:
    """Return a suite of these cases alone, for an agent of the same slug."""
    slug = f"can-fail-{suite.slug}"[:_SLUG_CHARS].rstrip("-")
    return suite.model_copy(
        update={
            "suite": f"Can this test fail? {suite.suite}"[:200],
            "slug": slug,
            "agent": slug,
            "fixtures": [],
            "tags": [],
            "trials": 1,
            "min_pass_rate": 1.0,
            "assertions": [],
            "rubric": "",
            "gates": GatesSpec(),
            "run_rule": "all_cases",
            "pass_rule": "all",
            "cases": list(cases),
        }
    )


def with_judged(
    probed: ProbedSuite, plan: JudgingPlan, passed: Mapping[str, bool | None]
) -> ProbedSuite:
    """Add what judges found: by the name of the case whether its check passed; None: undecided."""
    results: dict[Loc, dict[str, bool]] = defaultdict(dict)
    asked, missing = Counter[Loc](), Counter[Loc]()
    for name, (loc, probe) in plan.about.items():
        asked[loc] += 1
        if (verdict := passed.get(name)) is None:
            missing[loc] += 1
        else:
            results[loc][probe] = results[loc].get(probe, False) or verdict
    checks = []
    for one in probed.checks:
        tried = results[one.loc]
        found = tuple(name for name, is_passed in tried.items() if is_passed)
        sight: Sight = "weak" if found else "undecided" if missing[one.loc] else "sound"
        if len(found) == len(tried) > 1 and not missing[one.loc]:
            sight = "blind"
        why = _NO_VERDICT.format(missing[one.loc], asked[one.loc]) if sight == "undecided" else ""
        judged = replace(one, sight=sight, tried=tuple(tried), passed=found, why=why)
        checks.append(judged if asked[one.loc] else one)
    return replace(probed, checks=tuple(checks))


def _code(number: int) -> str:
    """Write a number in white space."""
    return f"{number:0{_BITS}b}".replace("0", " ").replace("1", "\n")


def _rule(probe: Probe, code: str) -> dict[str, str]:
    reply = "{{input}}" if probe.reply is None else probe.reply
    return {"when": rf"\S{code}\z", "reply": reply}


def _case(
    case: CaseSpec, placed: PlacedCheck, judges: _Judges, *, name: str, code: str
) -> CaseSpec:
    """Return a case up to the turn of a check, with this check alone."""
    check = _asked_once(placed.check, judges)
    last = placed.number or len(case.turns)
    turns = [
        turn.model_copy(
            update={
                "user": f"{turn.user.rstrip()}{code}",
                "inherit": False,
                "assertions": [check] if number == placed.number else [],
            }
        )
        for number, turn in enumerate(case.turns[:last], 1)
    ]
    changes: dict[str, object] = {
        "name": name,
        "turns": turns,
        "limits": LimitsSpec(),
        "trials": None,
        "tags": [],
        "replay": False,
        "simulated_user": None,
        "final_assertions": [] if placed.number else [check],
    }
    return case.model_copy(update=changes)


def _asked_once(check: AssertionSpec, judges: _Judges) -> AssertionSpec:
    once = {"votes": 1} if hasattr(check.grader, "votes") else {}
    grader = check.grader.model_copy(update=once)
    return check.model_copy(update={"grader": grader, "model": judges.of(check.model)})
