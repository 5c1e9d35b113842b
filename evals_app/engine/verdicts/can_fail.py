"""Can this test fail? Grade answers that ought to fail, and find the checks that pass them.

`probes` knows what each check ought to fail. Everything here is deterministic and needs neither an
agent nor a judge; `not_tried` says which checks would need one.
"""

import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Literal, get_args

from evals_app.engine.graders import PlainGrader
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause, Verdict
from evals_app.engine.specs.inventory import NOTHING_KNOWN, Inventory
from evals_app.engine.suites.suite_spec import (
    AssertionSpec,
    CaseSpec,
    Loc,
    PlacedCheck,
    SuiteSpec,
    TurnSpec,
)
from evals_app.engine.verdicts.execution_verdict import decide
from evals_app.engine.verdicts.grading import NO_AIDS, grade_check, in_its_place
from evals_app.engine.verdicts.limits import grade_limits
from evals_app.engine.verdicts.probes import (
    COMPARE_WHOLE,
    REFUSAL,
    NotTriedError,
    Probe,
    answer_of,
    expected_in,
    only_measures_effort,
    probes_for,
)

# `undecided`: a judge was asked, and gave no verdict on some answers.
Sight = Literal["blind", "weak", "sound", "undecided", "not_tried"]

SAYS_OK = "ok"  # an empty reply fails before it is checked, so this is as little as an agent can do
ONLY_FORBIDS = (
    f"The checks of this suite only forbid, so an agent that says “{SAYS_OK}” and does nothing passes"
    " every case. Add a check of what a reply must have."
)
_OTHERS = 3  # expected answers of other cases
_LOOKED_AT = 20  # cases; looking at more of them would hardly change a result
_MAX_CHARS = 20_000  # a longer text would take seconds
_NEEDS: Mapping[str, str] = {
    "judged": "A judge must read the reply, which costs model calls.",
    "code": "Your own function runs only in a run.",
    "overlap": "A model must compare the texts.",
}


class TryBudget:
    """Counts what is tried; it is over after a number of tries, or some seconds of this thread."""

    def __init__(self, *, most: int, seconds: float) -> None:
        self._left = most
        self._until = time.thread_time() + seconds

    def __call__(self) -> bool:
        self._left -= 1
        return self._left < 0 or time.thread_time() > self._until


IsOver = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class ProbedCheck:
    """A check as it was written, and what became of the probes; `why` it is blind, undecided or was not tried.

    `passed` are the probes that it passes although it ought to fail them, in one of its `places` at
    least.
    """

    check: AssertionSpec
    loc: Loc
    case: str
    turn: int | None
    sight: Sight
    tried: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    why: str = ""
    places: int = 1

    def __add__(self, other: "ProbedCheck") -> "ProbedCheck":
        """Return the result of a check of the suite's, which is tried in several turns."""
        if "not_tried" in {self.sight, other.sight}:
            known = other if self.sight == "not_tried" else self
            return replace(known, places=self.places + other.places)
        passed = dict.fromkeys([*self.passed, *other.passed])
        is_blind = self.sight == other.sight == "blind"
        return replace(
            self,
            sight="blind" if is_blind else "weak" if passed else "sound",
            tried=tuple(dict.fromkeys([*self.tried, *other.tried])),
            passed=tuple(passed),
            places=self.places + other.places,
        )


@dataclass(frozen=True, slots=True)
class Idle:
    """How an agent would end that does nothing of use; `passed` None: a judge would decide."""

    score: float | None
    passed: bool | None


@dataclass(frozen=True, slots=True)
class ProbedCase:
    """What a case would make of an agent that only says “ok”, and of one that refuses."""

    name: str
    nothing: Idle
    refusal: Idle


@dataclass(frozen=True)
class ProbedSuite:
    """Whether the checks of a suite can fail; those `left`, and `cases_left`, were not tried to save time."""

    checks: tuple[ProbedCheck, ...]
    cases: tuple[ProbedCase, ...] = ()
    only_forbids: bool = False
    left: int = 0
    cases_left: int = 0

    def of(self, sight: Sight) -> list[ProbedCheck]:
        """Return the checks with one result."""
        return [probed for probed in self.checks if probed.sight == sight]

    @cached_property
    def counts(self) -> dict[Sight, int]:
        """How many checks have each result."""
        return {sight: len(self.of(sight)) for sight in get_args(Sight)}


def probe_suite(
    suite: SuiteSpec, inventory: Inventory = NOTHING_KNOWN, *, is_over: IsOver = lambda: False
) -> ProbedSuite:
    """Try every check of the enabled cases, and what each case makes of an idle agent."""
    probed = probe_checks(suite, inventory, is_over=is_over)
    enabled = [case for case in suite.cases if case.enabled]
    cases = [
        ProbedCase(case.name, idle(suite, case, SAYS_OK), idle(suite, case, REFUSAL))
        for case in takewhile(lambda _: not is_over(), enabled)
    ]
    return replace(probed, cases=tuple(cases), cases_left=len(enabled) - len(cases))


def probe_checks(
    suite: SuiteSpec,
    inventory: Inventory = NOTHING_KNOWN,
    *,
    is_over: IsOver = lambda: False,
) -> ProbedSuite:
    """Try the checks of the enabled cases, each in each of its turns, until it `is_over`."""
    found: dict[Loc, ProbedCheck] = {}
    answers = OtherAnswers(suite)
    left = 0
    for c, placed, loc in written_checks(suite):
        if left or is_over():
            left += 1
            continue
        case = suite.cases[c]
        where = (case.name, placed.number) if loc[0] == "cases" else ("", None)
        empty = ProbedCheck(placed.check, loc, *where, "not_tried")
        if why := _why_not(suite, placed):
            one = replace(empty, why=why)
        else:
            one = _probe(empty, case, placed, inventory, answers.beside(c, placed))
        found[loc] = found[loc] + one if loc in found else one
    return ProbedSuite(tuple(found.values()), (), only_forbids(suite), left)


def only_forbids(suite: SuiteSpec) -> bool:
    """Return whether an agent that does nothing passes every case, as no check asks for anything."""
    cases = [case for case in suite.cases if case.enabled]
    effort_only = True
    for case in cases:
        placed = suite.placed_checks(case)
        checks = [one.check for one in placed if one.applies and suite.decides(one.check)]
        if not checks or not all(check.grader.only_forbids() for check in checks):
            return False
        effort_only = effort_only and all(map(only_measures_effort, checks))
    return not effort_only and all(idle(suite, case, SAYS_OK).passed for case in cases[:_LOOKED_AT])


def idle(suite: SuiteSpec, case: CaseSpec, reply: str) -> Idle:
    """Return how an execution would end in which the agent only gives this reply, to every message."""
    trial = Probe("", reply).trial(case)
    graded = []
    for placed in suite.placed_checks(case):
        turn, _, _, check = placed
        unknown = Grade.without_result(Cause.JUDGE, "A model or a function must read the reply.")
        is_plain = isinstance(check.grader, PlainGrader)
        grade = _grade(check, case, turn, Probe("", reply)) if is_plain else unknown
        graded.append(in_its_place(suite, placed, grade))
    graded += grade_limits(trial, case.limits)
    decision = decide(trial, graded, suite=suite, case=case)
    verdicts = {Verdict.PASSED: True, Verdict.FAILED: False}
    return Idle(decision.score, verdicts.get(decision.verdict))


def written_checks(suite: SuiteSpec) -> Iterator[tuple[int, PlacedCheck, Loc]]:
    """Return every check in each place where it grades, with the place where it is written."""
    shared: dict[int, Loc] = {
        id(check): ("assertions", n) for n, check in enumerate(suite.assertions)
    }
    if suite.rubric_check is not None:
        shared[id(suite.rubric_check)] = ("rubric",)
    for c, case in enumerate(suite.cases):
        own: dict[int, Loc] = {}
        for t, turn in enumerate(case.turns):
            for a, check in enumerate(turn.assertions or ()):
                own[id(check)] = ("cases", c, "turns", t, "assertions", a)
        for a, check in enumerate(case.final_assertions):
            own[id(check)] = ("cases", c, "final_assertions", a)
        for placed in suite.placed_checks(case) if case.enabled else ():
            key = id(placed.check)
            yield c, placed, own.get(key) or shared[key]


def _probe(
    empty: ProbedCheck,
    case: CaseSpec,
    placed: PlacedCheck,
    inventory: Inventory,
    others: Sequence[str],
) -> ProbedCheck:
    """Try a check in one place."""
    check = placed.check
    if why := check.cannot_fail():
        return replace(empty, sight="blind", why=why)
    try:
        probes = list(probes_for(placed, case, inventory=inventory, others=others))
    except NotTriedError as reason:
        return replace(empty, why=str(reason))
    results: dict[str, bool] = {}
    for probe in probes:
        # One of the other answers may be right here too, but hardly all of them.
        if results.get(probe.name, True):
            results[probe.name] = bool(_grade(check, case, placed.number, probe).passed)
    passed = tuple(name for name, is_passed in results.items() if is_passed)
    telling = _telling(check, results)
    is_blind = len(telling) > (0 if _is_single(check) else 1) and telling <= set(passed)
    # What passes a refusal and the answers to everything else is blind, whatever the question lacks.
    is_blind = is_blind or {"refusal", "other_answer"} <= set(passed)
    sight: Sight = "blind" if is_blind else "weak" if passed else "sound"
    return replace(empty, sight=sight, tried=tuple(results), passed=passed)


def _why_not(suite: SuiteSpec, placed: PlacedCheck) -> str:
    check = placed.check
    if not isinstance(check.grader, PlainGrader):
        return _NEEDS.get(check.grader.family, "A model must read the reply.")
    if not suite.decides(check) and not (check.weight and check.cannot_fail()):
        return "It only informs."
    if not placed.applies:
        return "Its turn has no expected answer."
    is_long = len(answer_of(check, expected_in(placed))) > _MAX_CHARS
    return "Its text is too long." if is_long else ""


def _is_single(check: AssertionSpec) -> bool:
    """Return whether one probe says enough: another number, what is forbidden, tools and changes."""
    return check.grader.only_forbids() or check.type == "numeric" or not check.grader.reads_text


def _telling(check: AssertionSpec, tried: Mapping[str, bool]) -> set[str]:
    """Return the probes that a check with any use would fail.

    An empty reply fails before it is checked. What is compared with the expected answer as a whole
    says how near a reply must be, so failing only a refusal is not enough. Nor is it enough to fail
    replies without JSON, or without a number.
    """
    if check.grader.family == "json":
        return tried.keys() & {"empty_data", "other_data"}
    if check.type == "numeric":
        return tried.keys() & {"near_number"}
    if check.type in COMPARE_WHOLE:
        # Any threshold fails an answer about something else.
        return tried.keys() - {"nothing", "refusal", "other_answer"}
    return tried.keys() - {"nothing"}


def _grade(check: AssertionSpec, case: CaseSpec, turn: int | None, probe: Probe) -> Grade:
    grader = check.grader
    if probe.name and getattr(grader, "response_path", None) is not None:
        # The probe is that part, without a whole reply around it.
        whole = grader.model_copy(update={"response_path": None})
        check = check.model_copy(update={"grader": whole})
    trial = probe.trial(case)
    return _at_once(
        grade_check(check, trial=trial, case=case, turn=turn, aids_for=lambda *_: NO_AIDS, key="")
    )


def _at_once(work: Coroutine[object, object, Grade]) -> Grade:
    """Return the grade of a check that waits for nothing, without an event loop."""
    try:
        work.send(None)
    except StopIteration as done:
        grade: Grade = done.value
        return grade
    work.close()
    raise RuntimeError("A check that needs no aid waited for something.")


@dataclass(frozen=True, slots=True)
class OtherAnswers:
    """The expected answers of the cases of a suite."""

    suite: SuiteSpec
    _known: dict[int, list[tuple[str, list[AssertionSpec]]]] = field(default_factory=dict)

    def beside(self, c: int, placed: PlacedCheck) -> list[str]:
        """Return answers of other cases that a check of this case ought to fail.

        A check that another case has too is not about one answer.
        """
        given = expected_in(placed)
        own = {"", _plain(answer_of(placed.check, given)), _plain(given or "")}
        cases = len(self.suite.cases)
        found: list[str] = []
        for step in range(1, min(cases, _LOOKED_AT)):
            for answer, checks in self._of((c + step) % cases):
                is_same = _plain(answer) in own | set(map(_plain, found))
                if not is_same and not self._shares(placed.check, checks):
                    found.append(answer)
                    if len(found) == _OTHERS:
                        return found
        return found

    @staticmethod
    def _shares(check: AssertionSpec, checks: Sequence[AssertionSpec]) -> bool:
        return not check.lacks_expected and any(other.grader == check.grader for other in checks)

    def _of(self, c: int) -> list[tuple[str, list[AssertionSpec]]]:
        if c not in self._known:
            case = self.suite.cases[c]
            turns = [(turn, self.suite.assertions_for(turn)) for turn in case.turns]
            self._known[c] = [(_answer(turn, checks), checks) for turn, checks in turns]
        return self._known[c]


def _answer(turn: TurnSpec, checks: Sequence[AssertionSpec]) -> str:
    """Return the answer that a turn expects, or a text that its checks look for."""
    texts = [turn.expected or "", *(answer_of(check, None) for check in checks)]
    return next((text for text in texts if text and len(text) <= _MAX_CHARS), "")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
