"""The results of a run in memory as the rows that reports read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from evals_app.code.freezing import CodeChoices
from evals_app.code.memory_gateway import InMemoryGateway
from evals_app.code.suites import Suite
from evals_app.engine.running.outcome_columns import execution_columns, grade_columns
from evals_app.engine.running.run_gateway import ExecutionJob
from evals_app.engine.statistics.check_counts import NO_CHECKS
from evals_app.engine.verdicts.case_summary import CaseSummary
from evals_app.engine.verdicts.run_summary import RunSummary
from evals_app.formats.snapshots.run_snapshot import canonical_case, case_digest
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.answers.run_json import (
    DETAIL_COLUMNS,
    EXECUTION_COLUMNS,
    IS_COMPARED,
    MEASURED_COLUMNS,
    REUSED,
    TOKEN_COLUMNS,
    case_json,
    document,
    execution_json,
    execution_row_json,
    run_details_json,
)
from evals_app.reports.renderers.results import Results
from evals_app.reports.words.judges import judges_text
from evals_app.reports.words.similarity import stand_in_note

RUN_ID = 1  # nothing is stored, so every run is the first

_COSTS = ("agent_cost_usd", "judge_cost_usd")
_ENDS = ("passed", "failed", "errored", "measured")


@dataclass(frozen=True)
class RunRows:
    """What a site stores of a run, made when a report asks for it."""

    gateway: InMemoryGateway
    choices: CodeChoices
    suite: Suite
    summary: RunSummary
    summaries: Mapping[str, CaseSummary]
    began_at: float
    slots: int

    @property
    def cost_usd(self) -> Decimal | None:
        """What agent and judges cost together; None if one of them is unknown."""
        costs = [self._sum(name) for name in _COSTS]
        return None if None in costs else sum(costs, Decimal(0))

    def tokens(self, side: str) -> int | None:
        """Return the tokens of `agent` or `judge`; None if they are unknown."""
        counts = [self._sum(f"{side}_{kind}_tokens") for kind in ("prompt", "response")]
        return None if None in counts else sum(counts)

    def document(self) -> Json:
        """Return the whole result, as `run_evals --output` writes it."""
        executions = [self._details(job) for job in self.gateway.jobs]
        return document(self.run_row(), cases=self._cases(), executions=executions)

    def results(self, lines: Mapping[str, int]) -> Results:
        """Return what reports read."""
        frozen, similarity = self.gateway.frozen, self.gateway.frozen.models.similarity
        plan = frozen.plan
        has_stand_in = similarity is not None and similarity.is_degraded
        by_number = {job.id: job for job in self.gateway.jobs}
        return Results(
            run={
                **run_details_json(self.run_row(), self._cases()),
                "suite_name": plan.suite.suite,
                "agent_name": plan.agent.agent,
                "score_scale": plan.suite.score_scale,
                "stand_in_note": stand_in_note(similarity.method)
                if similarity and has_stand_in
                else "",
                "snapshot": None,
                "url": "",
                "source": "" if self.suite.path is None else self.suite.path.as_posix(),
                "decision": "",
            },
            cases=self._cases(),
            executions=[
                execution_row_json(self._execution(job)) | {"url": ""} for job in self.gateway.jobs
            ],
            details=lambda numbers: [self._details(by_number[number]) for number in numbers],
            lines=lines,
        )

    def run_row(self) -> dict[str, Any]:
        """Return the columns of the run."""
        gateway = self.gateway
        return {
            **dict.fromkeys(DETAIL_COLUMNS),
            "id": RUN_ID,
            **self._what_was_asked(),
            "is_tryout": False,
            "from_file": False,
            "status": "finished",
            "verdict": self.summary.verdict,
            "stop_reason": "ceiling" if gateway.purse.is_used_up else "",
            "score": self.summary.score,
            "concurrency": self.slots,
            **self._counts(),
            **{name: self._sum(name) for name in (*TOKEN_COLUMNS, *_COSTS)},
            "max_cost_usd": self.choices.max_cost_usd,
            "spent_usd": gateway.purse.spent_usd,
            "reserved_usd": Decimal(0),
            "unsettled_usd": Decimal(0),
            "reached_ceiling": "run" if gateway.purse.is_used_up else "",
            "reviewed": {},
            "created_at": _moment(self.began_at),
            "started_at": _moment(self.began_at),
            "finished_at": datetime.now(UTC),
            "summary": self.summary.to_json(),
            "losses": self.suite.project.losses.to_json(),
            "regrading": {},
        }

    @property
    def is_simulated(self) -> bool:
        """Whether a model played the user in all conversations."""
        return any(case.simulated_user for case, _ in self.gateway.frozen.cases)

    def _what_was_asked(self) -> Json:
        """Return suite, agent, models, and how much of the suite this is."""
        frozen = self.gateway.frozen
        plan, similarity = frozen.plan, frozen.models.similarity
        is_own_agent = plan.agent.slug == plan.suite.agent
        return {
            "suite_slug": plan.suite.slug,
            "suite_agent_slug": plan.suite.agent,
            "agent_slug": plan.agent.slug,
            "agent_name": plan.agent.agent,
            "model": str(plan.agent.asked_model or ""),
            "replaced_model": frozen.replaced_model,
            "judge": judges_text(frozen.models.judges),
            "is_scripted": plan.agent.driver == "scripted",
            "is_simulated": self.is_simulated,
            "is_whole": is_own_agent
            and not frozen.replaced_model
            and len(frozen.cases) == frozen.in_suite,
            "case_count": len(frozen.cases),
            "suite_case_count": frozen.in_suite,
            "similarity": similarity.method if similarity else "",
            "is_similarity_stand_in": bool(similarity and similarity.is_degraded),
        }

    def _counts(self) -> dict[str, int]:
        """Return how many conversations came to which end."""
        gateway = self.gateway
        ends = Counter(
            outcome.decision.verdict.value
            for outcome in gateway.outcomes.values()
            if outcome.decision
        )
        total, skipped = len(gateway.jobs), len(gateway.skipped)
        return {
            "total": total,
            **{name: ends[name] for name in _ENDS},
            "skipped": skipped,
            "cancelled": 0,
            "not_run": total - ends.total() - skipped,
        }

    def _cases(self) -> list[Json]:
        contents = {case.name: canonical_case(case) for case, _ in self.gateway.frozen.cases}
        return [
            case_json(
                _case_columns(summary, contents[name]),
                {column: self._sum(column, case=name) for column in TOKEN_COLUMNS},
            )
            for name, summary in self.summaries.items()
        ]

    def _details(self, job: ExecutionJob) -> Json:
        outcome = self.gateway.outcomes.get(job.id)
        grades = [
            {
                **grade_columns(graded),
                "id": job.id * 1000 + number,
                "yardstick__digest": graded.judged_criterion.digest
                if graded.judged_criterion
                else None,
                IS_COMPARED: False,
                REUSED: None,
            }
            for number, graded in enumerate(outcome.graded if outcome else ())
        ]
        trial = outcome.trial.to_json() if outcome else None
        return execution_json(self._execution(job), grades=grades, reviews=(), trial=trial)

    def _execution(self, job: ExecutionJob) -> dict[str, Any]:
        outcome, gateway = self.gateway.outcomes.get(job.id), self.gateway
        names = [case.name for case, _ in gateway.frozen.cases]
        status = "skipped" if job.id in gateway.skipped else "queued"
        return {
            **dict.fromkeys((*EXECUTION_COLUMNS, *MEASURED_COLUMNS)),
            "id": job.id,
            "run_id": RUN_ID,
            "case": job.case.name,
            "position": names.index(job.case.name),
            "trial": job.trial,
            "status": "finished" if outcome else status,
            "is_scripted": False,
            "attempts": int(job.id in gateway.began_at),
            "started_at": _moment(gateway.began_at.get(job.id)),
            "finished_at": _moment(gateway.ended_at.get(job.id)),
            **(execution_columns(outcome) if outcome else {"summary": {}}),
        }

    def _sum(self, column: str, *, case: str | None = None) -> Any:
        """Add up a column of the conversations that ended; None if one of them is unknown."""
        values: Sequence[Any] = [
            execution_columns(outcome)[column]
            for outcome in self.gateway.outcomes.values()
            if outcome.decision and case in (None, outcome.job.case.name)
        ]
        return None if None in values else sum(values)


def _case_columns(summary: CaseSummary, content: str) -> Mapping[str, Any]:
    columns = asdict(summary)
    low, high = columns.pop("interval") or (None, None)
    effort = columns.pop("effort")
    return {
        **columns,
        "verdict": summary.verdict or "",
        "interval_low": low,
        "interval_high": high,
        "digest": case_digest(content),
        "checks": NO_CHECKS,
        **(effort._asdict() if hasattr(effort, "_asdict") else effort),
    }


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
