"""The run that another one is compared with: chosen when it starts, read when it ends."""

from collections.abc import Callable, Mapping
from typing import Literal

from evals_app.engine.suites.suite_spec import GatesSpec, SuiteSpec
from evals_app.engine.verdicts.regressions import Regressions
from evals_app.formats.snapshots.results_file import CannotReadResultsError, ResultsFile
from evals_app.formats.snapshots.snapshot_differences import (
    PartDifferences,
    SnapshotPart,
    UnreadableSnapshotError,
    snapshot_differences,
)
from evals_app.models import Run, Suite
from evals_app.reports.answers.comparison import PARTS
from evals_app.runs.reading.file_baselines import run_from_file
from evals_app.runs.reading.outcomes import case_outcomes

# A run, the last full run of the suite that passed, the one that is pinned as its baseline, or the
# results of another database.
Baseline = int | Literal["latest", "pinned"] | ResultsFile


def find_baseline(suite: Suite, chosen: Baseline | None, say: Callable[[str], None]) -> Run | None:
    """Return the baseline of a new run: the chosen one, else the suite's own.

    Obstacles to a comparison with it go to `say`. None: there is no baseline, or no latest run yet.
    """
    runs = Run.objects.defer("summary")
    if isinstance(chosen, ResultsFile):
        if suite.slug not in chosen.suites:
            return None  # as of a suite that no run passed yet
        try:
            return run_from_file(suite, chosen)
        except CannotReadResultsError as error:
            say(str(error))
            return None
    if chosen == "latest":
        passed = last_passed(suite)
        if passed is None and _lost_its_base(suite):
            say(
                f"The run that {suite.slug} was compared with was deleted, and no full run is left that"
                " passed. Run it without comparing first, or choose another run."
            )
        return passed
    if isinstance(chosen, int):
        run = runs.filter(pk=chosen).first()
        if problem := _why_not(run, chosen, suite):
            say(problem)
        return run
    run = runs.filter(pk__in=Suite.objects.filter(pk=suite.pk).values("baseline")).first()
    if run is None and chosen == "pinned":
        say(
            f"Suite {suite.slug} has no released version. Make a run its released version first, on the page of the"
            " run or with set_baseline."
        )
    return run


def last_passed(suite: Suite) -> Run | None:
    """Return the last full run of a suite that passed; None if none did.

    A run that failed against its baseline would let the next one repeat the same regression.
    """
    passed = Run.objects.suite_verdicts().filter(suite=suite, verdict=Run.Verdict.PASSED)
    return passed.defer("summary").order_by("-pk").first()


def _lost_its_base(suite: Suite) -> bool:
    """Whether a run of a suite was compared with a chosen run that was deleted since."""
    return Run.objects.filter(suite=suite, overrides__has_key="baseline", baseline=None).exists()


def _why_not(run: Run | None, number: int, suite: Suite) -> str:
    if run is None:
        return f"There is no run {number} to compare with."
    if run.suite_id != suite.pk:
        return f"Run {number} is of suite {run.suite_slug}; choose a run of {suite.slug}."
    return f"Run {number} has not ended, so nothing can be compared with it." if run.is_open else ""


def gates_of(run: Run, suite: SuiteSpec) -> GatesSpec:
    """Return the gates of a run: those of its suite; with a chosen baseline, no case may get worse."""
    if "baseline" not in run.overrides or suite.gates.max_regressions is not None:
        return suite.gates
    return suite.gates.model_copy(update={"max_regressions": 0})


def had_baseline(run: Run) -> bool:
    """Whether a run that has no baseline should have one, so that its gates must not be ignored.

    A baseline was chosen for it, or its suite had one. If the suite was deleted, this is unknown.
    """
    if run.rerun_of is not None and had_baseline(run.rerun_of):
        return True
    return "baseline" in run.overrides or run.suite is None or run.suite.had_baseline


def compares_cases(run: Run, gates: GatesSpec) -> bool:
    """Whether a gate compares the cases of a run with its baseline."""
    return run.baseline_id is not None and (gates.compare_cases or gates.compare_efforts)


def regressions_of(
    run: Run, gates: GatesSpec, *, digests: Mapping[str, str], checks: Mapping[str, str]
) -> Regressions | None:
    """Return the comparison of a run with its baseline; None if no gate needs it, or it has none.

    `digests` are the content of its cases by name, `checks` the counts of their checks.
    """
    base = run.baseline
    if base is None or not compares_cases(run, gates):
        return None
    return Regressions(
        base.short_name,
        case_outcomes(base, reads_effort=gates.compare_efforts),
        digests=digests,
        checks=checks,
        remarks=_remarks(base, run),
    )


def _remarks(base: Run, run: Run) -> list[str]:
    """Name what made the runs measure differently, each part with its first value."""
    if base.from_file:
        is_other = base.judge != run.judge
        judges = f" The judge was {base.judge or 'none'}, and is {run.judge or 'none'}."
        return [f"Of {base.short_name} only the results are known.{judges if is_other else ''}"]
    if base.is_simulated != run.is_simulated:
        return ["A model played the user in only one of the runs."]
    try:
        parts = snapshot_differences(base.snapshot.content, run.snapshot.content)
    except UnreadableSnapshotError:
        return ["Another version of Evalwell wrote one of the runs: what measured it is unknown."]
    # Neither verdicts nor scores depend on prices.
    named = [
        _part_name(part)
        for part in parts
        if part.part.is_yardstick and part.part != SnapshotPart.PRICES
    ]
    return [f"Measured differently: {'; '.join(named)}."] if named else []


def _part_name(part: PartDifferences) -> str:
    first, *rest = part.values
    more = len(rest) + part.more
    others = f", and {more:,} more" if more else ""
    return (
        f"{PARTS[part.part].lower()} ({first.keys} was {first.before or 'the default'},"
        f" is {first.after or 'the default'}{others})"
    )
