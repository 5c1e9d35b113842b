"""A comparison of runs in words: the matrix of numbers, and what happened from the base to a head."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evals_app.engine.statistics.agreement import Agreement
from evals_app.engine.statistics.comparison import CaseOutcome, ChangeKind
from evals_app.engine.statistics.stratified import RateTest
from evals_app.reports.answers.agreement import NOT_COMPARED
from evals_app.reports.answers.compared_cases import ComparedCase, HeadCases, HeadVerdict, RunCases
from evals_app.reports.answers.run_answers import Row
from evals_app.reports.answers.run_json import AT_LEAST, RUBRIC_ITEMS, RUN_SUMMARY
from evals_app.reports.words.coverage import COVERAGE_COLUMNS, coverage
from evals_app.reports.words.effort import effort_in_full, effort_in_short
from evals_app.reports.words.figures import UNKNOWN, count_text, duration, interval, score_text
from evals_app.reports.words.shares import share_text
from evals_app.reports.words.similarity import SIMILARITY_COLUMNS, compared_by
from evals_app.reports.words.sums import sums

_TOTALS = (
    *("agent_prompt_tokens", "agent_response_tokens", "agent_cost_usd"),
    *("judge_prompt_tokens", "judge_response_tokens", "judge_cost_usd"),
)
# The columns of a run that the matrix needs.
MATRIX_COLUMNS = (
    *(
        "suite_name",
        "agent_name",
        "judge",
        "is_scripted",
        "is_simulated",
        *COVERAGE_COLUMNS,
        *SIMILARITY_COLUMNS,
    ),
    *("skipped", "score", "score_scale", *_TOTALS, RUN_SUMMARY),
)
# Those of its rows that most readers look for.
FIRST_NUMBERS = frozenset({"Cases passed", "95 % interval", "Score", "Turn latency, p95", "Cost"})
AGREEMENT = "agreement"  # key of how the judges of a run agree with people

_HUNDRED = 100
_NOISE = 1e-9  # of binary fractions


class ChangeWords(NamedTuple):
    """A change in one word, what it means, and its word in “3 worse, 1 better”, if that is another."""

    label: str
    meaning: str
    counted: str = ""


CHANGES: Mapping[ChangeKind, ChangeWords] = {
    ChangeKind.WORSE: ChangeWords(
        "Worse", "It fails now. Before, all its trials passed, or clearly more of them."
    ),
    ChangeKind.CHECK_WORSE: ChangeWords(
        "A check worse",
        "One of its checks passed in all trials before and fails in all now. The verdict does not show it.",
        "with a worse check",
    ),
    ChangeKind.FLAKY: ChangeWords(
        "Not certain",
        "Its verdict is different, but its trials already disagreed before, so it may be chance.",
    ),
    ChangeKind.BETTER: ChangeWords("Better", "It failed before, and does better now."),
    ChangeKind.CHECK_BETTER: ChangeWords(
        "A check better",
        "One of its checks failed in all trials before and passes in all now. The verdict is the same.",
        "with a better check",
    ),
    ChangeKind.UNDECIDED: ChangeWords("Undecided", "One of the runs has no verdict on it."),
    ChangeKind.CHANGED: ChangeWords(
        "Edited", "The case was edited between the runs, so its results cannot be compared."
    ),
    ChangeKind.NEW: ChangeWords("New", "Only the newer run has it."),
    ChangeKind.MISSING: ChangeWords("Missing", "Only the base has it."),
    ChangeKind.FEWER: ChangeWords(
        "Less often",
        "Its verdict is the same, but fewer of its trials passed.",
        "with fewer passed trials",
    ),
    ChangeKind.MORE: ChangeWords(
        "More often",
        "Its verdict is the same, but more of its trials passed.",
        "with more passed trials",
    ),
    ChangeKind.SAME: ChangeWords(
        "Same", "Its verdict and the share of passed trials are the same."
    ),
}

VERDICTS: Mapping[HeadVerdict, str] = {
    "worse": "Worse",
    "better": "Better",
    "no_clear_difference": "No clear difference",
    "not_comparable": "Not comparable",
}

# By the names of `formats.snapshot_differences.Part`.
PARTS: Mapping[str, str] = {
    "case": "Case",
    "agent": "Agent",
    "suite": "Suite",
    "fixtures": "Test data",
    "judge": "Judge",
    "similarity": "Similarity of texts",
    "prices": "Prices",
    "run": "How the cases were run",
}

MIXED = (
    "A model played the user in one of the runs, and in the other the user's words are written, so neither"
    " is better or worse."
)
NOT_COMPARABLE = "Measured in another way, so the numbers are not comparable:"
UNREADABLE = (
    "What differs in their settings is unknown: one of the runs is of another version of Evalwell."
)


def unknown_content(cases: int) -> str:
    """Return the note that cases were matched by name only."""
    many = "case is" if cases == 1 else "cases are"
    return (
        f"{cases:,} {many} matched by name only: a run of an older version did not note what its"
        " cases contained."
    )


class MatrixRow(NamedTuple):
    """A number with its name, once for each run."""

    label: str
    values: tuple[str, ...]


def matrix(runs: Sequence[tuple[Row, RunCases]]) -> list[MatrixRow]:
    """Return the numbers of runs side by side; a run is given as its columns and its cases.

    Beside its columns it has its AGREEMENT. First comes what was run; of that, what no run has is left out.
    """
    identities = _rows([_identity(run) for run, _ in runs])
    return [
        *(row for row in identities if any(row.values)),
        *_rows([_numbers(run, cases) for run, cases in runs]),
    ]


def _rows(columns: Sequence[Mapping[str, str]]) -> list[MatrixRow]:
    return [MatrixRow(label, tuple(column[label] for column in columns)) for label in columns[0]]


def _identity(run: Row) -> dict[str, str]:
    simulated = " (simulated)" if run["is_simulated"] else ""
    scripted = " (scripted)" if run["is_scripted"] else ""
    return {
        "Suite": f"{run['suite_name']}{simulated}",
        "Agent": f"{run['agent_name']}{scripted}",
        "Model": run["model"],
        "Judge": run["judge"],  # a script names itself
        "Differs from the suite": coverage(run),
        "Trials skipped": f"{run['skipped']:,}" if run["skipped"] else "",
        "Texts compared by": compared_by(run["similarity"]) if run["similarity"] else "",
    }


def _numbers(run: Row, cases: RunCases) -> dict[str, str]:
    summary = run[RUN_SUMMARY]
    return {
        "Cases passed": cases.share,
        "95 % interval": interval(cases.interval) or UNKNOWN,
        "Undecided cases": f"{cases.undecided_count:,}",
        "Score": score_text(run["score"], scale=run["score_scale"]),
        "Turn latency, median": duration(summary.get("median_ms")),
        "Turn latency, p95": duration(summary.get("p95_ms")),
        # Also of a run that grades again: what its agent took before is what is compared.
        **dict(sums({name: run[name] for name in _TOTALS}, summary.get(AT_LEAST, {}))),
        "Rubric items met": _rubric(summary),
        "Agreement of the judge": _agreement(run[AGREEMENT]) if run["judge"] else "no judge",
    }


def _agreement(agreement: Agreement) -> str:
    return share_text(agreement.same_verdict.count, agreement.n) if agreement.n else NOT_COMPARED


def _rubric(summary: Row) -> str:
    """Write how many bullets of rubrics were met; runs of older versions did not count them."""
    if RUBRIC_ITEMS not in summary:
        return "unknown"
    if (items := summary[RUBRIC_ITEMS]) is None:
        return "no rubric"
    undecided = f", {items['undecided']:,} undecided" if items["undecided"] else ""
    return share_text(items["met"], items["met"] + items["missed"]) + undecided


def headline(head: HeadCases) -> str:
    """Return how many cases got worse and better, what that says overall, and of speed and cost."""
    return f"{_headline_of_cases(head)} {effort_in_short(head.effort)}".rstrip()


def _headline_of_cases(head: HeadCases) -> str:
    if head.is_mixed:
        return MIXED
    worse, better = head.counts.get(ChangeKind.WORSE, 0), head.counts.get(ChangeKind.BETTER, 0)
    parts = [_got(worse, "worse")] if worse else []
    parts += [_got(better, "better")] if better else []
    checks = [
        _have(count, word)
        for change, word in _OF_CHECKS.items()
        if (count := head.counts.get(change, 0))
    ]
    if not parts and checks:
        parts, checks = [f"No verdict got worse or better, but {checks[0]}"], checks[1:]
    parts = [*parts, *checks]
    if not parts and head.verdict == "not_comparable":
        return "No case can be compared."
    parts = parts or ["No case got worse or better"]
    overall: Mapping[HeadVerdict, str] = {
        "worse": "the suite as a whole is clearly worse",
        "better": "the suite as a whole is clearly better",
        "no_clear_difference": "no clear difference overall",
        "not_comparable": "the runs have no comparable case",
    }
    conclusion = _TOO_FEW if head.is_too_small else overall[head.verdict]
    return f"{', '.join(parts)}; {conclusion}."


_TOO_FEW = "too few cases to speak for the whole suite"
_OF_CHECKS = {ChangeKind.CHECK_WORSE: "worse", ChangeKind.CHECK_BETTER: "better"}


def _have(count: int, word: str) -> str:
    return f"{count_text(count, 'case')} {'has' if count == 1 else 'have'} a check that got {word}"


def _got(count: int, word: str) -> str:
    return f"{count_text(count, 'case')} got {word}"


class ChangedCheck(NamedTuple):
    """A check that passed in every trial of the base and in none of a run, or the other way round."""

    run: int
    label: str
    turn: int | None
    is_worse: bool


def checks_text(checks: Iterable[ChangedCheck]) -> str:
    """Name checks that changed: `Worse: Reply contains “refund” (turn 2)`."""
    return "; ".join(
        f"{'Worse' if check.is_worse else 'Better'}: {check_name(check)}"
        for check in dict.fromkeys(check._replace(run=0) for check in checks)
    )


def check_name(check: ChangedCheck) -> str:
    """Name a check: `Reply contains “refund” (turn 2)`."""
    turn = f" (turn {check.turn})" if check.turn is not None else ""
    return f"{check.label.rstrip('.')}{turn}"


def case_change(case: ComparedCase) -> str:
    """Return what happened to a case in a few words: `Same verdict, 1 trial fewer`."""
    word = _BY_TRIALS.get(case.change)
    before, *others = case.outcomes
    after = others[0] if len(others) == 1 else None
    if word is None or before is None or after is None or before.graded_count != after.graded_count:
        return CHANGES[case.change].label
    return f"Same verdict, {count_text(abs(after.passed - before.passed), 'trial')} {word}"


_BY_TRIALS = {ChangeKind.FEWER: "fewer", ChangeKind.MORE: "more"}


def finding(head: HeadCases) -> str:
    """Return what the test over all cases found, and what they took, in sentences for people."""
    return f"{_finding_of_rates(head)} {effort_in_full(head.effort)}".rstrip()


def _finding_of_rates(head: HeadCases) -> str:
    test = head.test
    if head.is_mixed:
        return MIXED
    if test.mean is None:
        return "The runs have no case in common that passed or failed in both."
    if not test.differing:
        what = "verdict" if head.by_verdict else "pass rate"
        return f"The {what} of {_all(test.cases)} is the same in both runs."
    cases = "case" if test.cases == 1 else "cases"
    differ = "differs" if test.differing == 1 else "differ"
    what = "verdict; the share of passed cases" if head.by_verdict else "pass rate; on average it"
    lead = f"{test.differing:,} of {test.cases:,} {cases} {differ} in the {what} is"
    if abs(test.mean) < _NOISE:
        return f"{lead} the same."
    direction = "lower" if test.mean < 0 else "higher"
    return f"{lead} {points_text(test.mean)} {direction}. {_sureness(head)}"


def _all(cases: int) -> str:
    return "the one case" if cases == 1 else f"all {cases:,} cases"


def points_text(difference: float) -> str:
    """Write a difference of rates, without its direction: 22 points."""
    value = abs(_HUNDRED * difference)
    text = f"{value:.0f}" if value >= 10 or value == round(value) else f"{value:.1f}"  # noqa: PLR2004
    if text == "0.0":
        return "less than 0.1 points"
    return f"{text} point{'' if text == '1' else 's'}"


def _sureness(head: HeadCases) -> str:
    """Return how certain the difference is; `head` has one."""
    test = head.test
    if head.is_too_small:
        return _one_way(test)
    clear = "a clear difference" if test.is_certain else "no clear difference"
    return (
        f"That is {clear}: between two equally good versions, chance gives one this large in"
        f" {_of_hundred(1.0 if test.p is None else test.p)} comparisons."
    )


def _one_way(test: RateTest) -> str:
    verb = "fell" if test.fell else "rose"
    if test.differing == 1:
        return f"It {verb}, but one case cannot speak for the whole suite."
    return (
        f"All {test.differing:,} of them {verb}, but they are too few to speak for the whole suite."
    )


def _of_hundred(p: float) -> str:
    if p < 0.01:  # noqa: PLR2004 - one of a hundred
        return "fewer than 1 of 100"
    return f"about {round(_HUNDRED * p)} of 100"


def outcome_text(outcome: CaseOutcome | None, *, scale: str) -> str:
    """Write the result of a case in one run: `failed, 1 of 3 passed, score 0.33`."""
    if outcome is None:
        return UNKNOWN
    parts = [outcome.verdict or "undecided"]
    if outcome.graded_count > 1:
        parts.append(f"{outcome.passed:,} of {outcome.graded_count:,} passed")
    if outcome.score is not None:
        parts.append(f"score {score_text(outcome.score, scale=scale)}")
    return ", ".join(parts)


def counts_in_words(counts: Mapping[ChangeKind, int]) -> str:
    """Return how many cases changed, and how: `3 worse, 1 better, 56 same`."""
    return ", ".join(
        f"{counts[change]:,} {words.counted or words.label.lower()}"
        for change, words in CHANGES.items()
        if counts.get(change)
    )
