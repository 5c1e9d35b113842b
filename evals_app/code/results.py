"""What a run found out: its verdict, its cases, their trials, and the checks of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from evals_app.code.freezing import CodeChoices
from evals_app.code.memory_gateway import InMemoryGateway
from evals_app.code.result_rows import RunRows
from evals_app.code.suites import Suite
from evals_app.engine.record.grade import Evidence, GradedAssertion, GradeStatus
from evals_app.engine.record.trial import ToolCall, Verdict
from evals_app.engine.running.run_gateway import Outcome
from evals_app.engine.verdicts.case_summary import CaseSummary, Fact, turn_times
from evals_app.engine.verdicts.execution_verdict import ONLY_EFFORT
from evals_app.engine.verdicts.gates import GateResult
from evals_app.engine.verdicts.run_summary import RunSummary, RunVerdict, summarise_run
from evals_app.reports.renderers.html import html_page
from evals_app.reports.renderers.junit import junit
from evals_app.reports.renderers.markdown import markdown
from evals_app.reports.words.report_plugins import plugin_report


class EvalsFailedError(AssertionError):
    """A run did not pass; the message says which cases, and why."""


@dataclass(frozen=True, slots=True)
class GradedCheck:
    """A check that was graded: its verdict, and why.

    `passed` None: it only informs, or it could not be graded (`is_graded`). `score` is from 0 to 1.
    `turn` counts from 1; None is the whole conversation. `evidence` are quotes of the conversation.
    """

    label: str
    type: str
    turn: int | None
    passed: bool | None
    score: float | None
    is_graded: bool
    reason: str
    evidence: Sequence[Evidence] = ()

    @classmethod
    def of(cls, graded: GradedAssertion) -> "GradedCheck":
        grade = graded.grade
        return cls(
            graded.label,
            graded.type,
            graded.turn,
            grade.passed,
            grade.score,
            grade.status is GradeStatus.OK,
            grade.reason,
            grade.evidence,
        )


@dataclass(frozen=True, slots=True)
class GradedTrial:
    """One conversation. `verdict` None: it did not run, or was not needed (`is_skipped`).

    `cause` says what failed or broke: `agent`, `assertion`, `limit`, `judge`, `provider` and so on.
    Costs are in US dollars, times in milliseconds, tokens those of prompt and response; None: unknown.
    """

    case: str
    number: int
    verdict: Verdict | None
    is_skipped: bool = False
    outcome: Outcome | None = field(default=None, repr=False)

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASSED

    @property
    def cause(self) -> str | None:
        decision = self.outcome.decision if self.outcome else None
        return decision.cause.value if decision and decision.cause else None

    @property
    def reason(self) -> str:
        if self.outcome is None:
            return "The case was already decided." if self.is_skipped else "It did not run."
        return self.outcome.decision.reason if self.outcome.decision else "It was interrupted."

    @property
    def score(self) -> float | None:
        return self.outcome.decision.score if self.outcome and self.outcome.decision else None

    @property
    def checks(self) -> Sequence[GradedCheck]:
        return [GradedCheck.of(graded) for graded in self.outcome.graded] if self.outcome else []

    @property
    def messages(self) -> Sequence[tuple[str, str]]:
        """The conversation: `user` or `assistant`, and the text."""
        turns = self.outcome.trial.turns if self.outcome else ()
        return [line for turn in turns for line in (("user", turn.user), ("assistant", turn.reply))]

    @property
    def tool_calls(self) -> Sequence[ToolCall] | None:
        """The calls of tools; None if the agent does not report them."""
        if self.outcome is None or not self.outcome.trial.reports_calls:
            return None
        return self.outcome.trial.tool_calls

    @property
    def time_ms(self) -> float | None:
        """The agent's own time."""
        return self.outcome.trial.time_ms if self.outcome else None

    @property
    def agent_cost_usd(self) -> Decimal | None:
        return self.outcome.trial.cost_usd if self.outcome else None

    @property
    def judge_cost_usd(self) -> Decimal | None:
        return self.outcome.judge_cost_usd if self.outcome else None

    def to_fact(self) -> Fact:
        """Return what the summary of a run needs."""
        trial = self.outcome.trial if self.outcome else None
        return Fact(
            self.case,
            self.verdict,
            self.score,
            tuple(turn_times(trial)) if trial else (),
            self.agent_cost_usd,
            self.judge_cost_usd,
            self.is_skipped,
        )


@dataclass(frozen=True, slots=True)
class GradedCase:
    """A case over its trials. `verdict` None: none of them ran."""

    name: str
    summary: CaseSummary = field(repr=False)
    trials: Sequence[GradedTrial]

    @property
    def verdict(self) -> Verdict | None:
        return self.summary.verdict

    @property
    def passed(self) -> bool:
        """Whether it passed, with every trial graded that was needed."""
        return self.verdict is Verdict.PASSED and not self.summary.open

    @property
    def score(self) -> float | None:
        return self.summary.score

    @property
    def pass_rate(self) -> float | None:
        return self.summary.pass_rate

    @property
    def reason(self) -> str:
        """Why it failed or could not be graded, of the first such trial; empty if it passed."""
        wrong = [trial for trial in self.trials if not (trial.passed or trial.is_skipped)]
        return wrong[0].reason if wrong and not self.passed else ""


@dataclass(frozen=True)
class RunResults:
    """The results of a run.

    `verdict` is `passed`, `failed`, `inconclusive` (nothing failed, but something errored or did not
    run) or `measured` (no check can pass or fail). Costs are in US dollars; None is unknown, not 0.
    """

    suite: Suite
    summary: RunSummary = field(repr=False)
    cases: Mapping[str, GradedCase]
    rows: RunRows = field(repr=False)

    @property
    def verdict(self) -> RunVerdict:
        return self.summary.verdict

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"

    @property
    def is_simulated(self) -> bool:
        """Whether a model played the user in all conversations."""
        return self.rows.is_simulated

    @property
    def score(self) -> float | None:
        return self.summary.score

    @property
    def pass_rate(self) -> float | None:
        """The share of the cases that passed, of those that passed or failed."""
        return self.summary.pass_rate

    @property
    def gates(self) -> Sequence[GateResult]:
        return self.summary.gates

    @property
    def notes(self) -> Sequence[str]:
        """Sentences that belong to the verdict."""
        return self.summary.notes

    @property
    def trials(self) -> Iterator[GradedTrial]:
        return (trial for case in self.cases.values() for trial in case.trials)

    @property
    def cost_usd(self) -> Decimal | None:
        """What agent and judges cost together."""
        return self.rows.cost_usd

    @property
    def agent_tokens(self) -> int | None:
        """Tokens of the agent, prompts and responses together."""
        return self.rows.tokens("agent")

    @property
    def judge_tokens(self) -> int | None:
        """Tokens of the judges, prompts and responses together."""
        return self.rows.tokens("judge")

    @cached_property
    def _document(self) -> dict[str, Any]:
        return self.rows.document()

    def to_json(self) -> dict[str, Any]:
        """Return what `run_evals --output` writes: docs/report.schema.json describes it."""
        return self._document

    def to_junit(self) -> str:
        """Return the results as JUnit XML, for build servers."""
        return "".join(junit([self.rows.results(self.suite.case_lines)]))

    def to_markdown(self) -> str:
        """Return the results as Markdown."""
        return "".join(markdown([self.rows.results(self.suite.case_lines)]))

    def to_html(self) -> str:
        """Return the results as one HTML page."""
        return "".join(html_page([self.rows.results(self.suite.case_lines)]))

    def report(self, name: str) -> str:
        """Return a report of a plug-in, which gets what `to_json` returns and makes a text of it.

        Raises:
            LookupError: no package offers it, or it cannot be loaded.
            ReportPluginError: it raised, or did not return a text.
        """
        return plugin_report(name, self.to_json())

    def assert_passed(self) -> None:
        """Raise an AssertionError unless the run passed; its message names the cases, and why."""
        if not self.passed:
            raise EvalsFailedError(self.in_words())

    def in_words(self) -> str:
        """Return the verdict, and a line for each case and gate that is in its way."""
        simulated = " (simulated)" if self.is_simulated else ""
        lines = [f"{self.suite.name}{simulated}: {self.verdict}"]
        for case in self.cases.values():
            if not case.passed and case.verdict is not Verdict.MEASURED:
                state = case.verdict.value if case.verdict else "not run"
                lines.append(f"  {case.name}: {state}. {case.reason}".rstrip())
        lines += [f"  gate {gate.name}: {gate.reason}" for gate in self.gates if not gate.passed]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)


def results_of(
    suite: Suite, gateway: InMemoryGateway, choices: CodeChoices, *, began_at: float, slots: int
) -> RunResults:
    """Return the results of a run that has ended."""
    trials = [_trial(gateway, job.id) for job in gateway.jobs]
    summaries: dict[str, CaseSummary] = {}
    summary = summarise_run(
        (trial.to_fact() for trial in trials),
        suite=gateway.frozen.plan.suite,
        keep=lambda case: summaries.__setitem__(case.name, case),
        notes=_notes(gateway),
        had_baseline=False,
    )
    cases = {
        name: GradedCase(name, case, [trial for trial in trials if trial.case == name])
        for name, case in summaries.items()
    }
    rows = RunRows(gateway, choices, suite, summary, summaries, began_at, slots)
    return RunResults(suite, summary, cases, rows)


def _trial(gateway: InMemoryGateway, number: int) -> GradedTrial:
    job, outcome = gateway.jobs[number - 1], gateway.outcomes.get(number)
    verdict = outcome.decision.verdict if outcome and outcome.decision else None
    return GradedTrial(job.case.name, job.trial, verdict, number in gateway.skipped, outcome)


def _notes(gateway: InMemoryGateway) -> Sequence[str]:
    frozen = gateway.frozen
    notes = []
    if frozen.plan.suite.measures_only_effort(case for case, _ in frozen.cases):
        notes.append(ONLY_EFFORT)
    if count := frozen.disabled:
        notes.append(f"{count:,} disabled {'case was' if count == 1 else 'cases were'} left out.")
    if gateway.purse.is_used_up:
        notes.append("The ceiling of costs was reached, so not every conversation ran.")
    return notes
