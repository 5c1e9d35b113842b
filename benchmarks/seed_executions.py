"""Fill a database with a year of runs, as workers would have left it.

    DATABASE_URL=postgresql://... python -m benchmarks.seed_executions --executions 1000000

Take an empty database that has been migrated; nothing in it is ever removed. The same options
write the same rows, but for times, which end now.
"""
# ruff: noqa: E402 - models can be imported once Django is set up

import argparse
import os
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, TypeVar

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()

from django.contrib.auth.models import User
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.db.models import Max
from django.utils import timezone

from evals_app.engine.record.trial import Message, ToolCall, Trial, TurnRecord, Verdict
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.case_summary import CaseSummary, Fact
from evals_app.engine.verdicts.run_summary import summarise_run
from evals_app.formats.snapshots.run_snapshot import (
    SCHEMA_VERSION,
    Name,
    SnapshotSpec,
    canonical_case,
)
from evals_app.library.saving import save_agent, save_suite
from evals_app.models import (
    Case,
    Execution,
    GradeResult,
    JudgeTally,
    Lease,
    Review,
    Run,
    Snapshot,
    SnapshotCase,
    Suite,
    Transcript,
    Yardstick,
)
from evals_app.runs.ending.finish import CaseResults
from tests.makers import UNDECIDED

Row = dict[str, Any]
T = TypeVar("T")

YEAR = timedelta(days=365)
OPEN_RUNS = 3
JUDGES = ("anthropic/claude-haiku-5-5", "openai/gpt-6-mini", "google/gemini-4-flash")
WORDINGS = 10  # of each criterion; judges grade by the last one
LABELLED = 20  # one judged grade in so many has a label
SUITES_TOGETHER = 10
MODELS = ("", "anthropic/claude-sonnet-5", "openai/gpt-6", "google/gemini-4")  # empty: its own
PEOPLE = ("ada", "grace", "katherine", "edsger", "barbara", "alan")
TOPICS = ("Refund", "Late parcel", "Invoice", "Booking", "Password", "Address", "Complaint")
SITUATIONS = ("asked twice", "angry customer", "in Portuguese", "no order number", "by phone")
# How a suite's runs divide: whole, a part chosen by a tag, one case tried by hand.
SHARES = {1.0: 60, 0.3: 25, 0.0: 15}
# How a run ends: all of it, cancelled, out of time.
ENDINGS = {"": 94, Run.StopReason.CANCELLED: 4, Run.StopReason.DEADLINE: 2}
CAUSES = {
    Verdict.FAILED: {"assertion": 80, "limit": 10, "agent": 10},
    Verdict.ERRORED: {"provider": 60, "judge": 30, "harness": 9, "tool": 1},
}
REASONS = {
    "assertion": "The reply does not contain 'on its way'.",
    "limit": "The agent took 12,345 ms; at most 10,000 ms are allowed.",
    "agent": "The agent answered nothing.",
    "provider": "The model API answered 529 overloaded, 8 times in 600 s.",
    "judge": "The judge's answer could not be read.",
    "harness": "The worker died three times.",
    "tool": "entity.query: the world refused the call.",
}
REPLY = "Thank you for waiting. Your parcel is on its way and arrives on Tuesday before noon. "


@dataclass(frozen=True, slots=True)
class Written:
    """A suite as its runs see it."""

    row: Suite
    spec: SuiteSpec
    agent: AgentSpec
    snapshot: Snapshot
    pass_rate: float
    yardstick: Yardstick


@dataclass(frozen=True, slots=True)
class Plan:
    """A run to write: what it holds, when it began and how it ended."""

    suite: Written
    cases: int
    is_tryout: bool
    is_open: bool
    ending: str
    at: datetime
    model: str = ""
    group: uuid.UUID | None = None  # runs that are started together are all graded

    @property
    def size(self) -> int:
        return self.cases * self.suite.spec.trials


def seed(
    *,
    executions: int,
    suites: int,
    largest: int,
    graded: int,
    transcripts: int,
    together: int = 300,
    seed: int = 1,
) -> int:
    """Write at least so many executions, the newest of them graded and with transcripts.

    Returns how many were written. Suites hold from 10 to `largest` executions; most are small.
    Before them, SUITES_TOGETHER more suites of `together` cases are run with each of MODELS.
    """
    rng = random.Random(seed)
    people = [User.objects.get_or_create(username=name)[0] for name in PEOPLE]
    written = [_suite(number, suites, largest, rng) for number in range(suites)]
    plans = [*_together(together, rng), *_plans(written, executions, rng)]
    # As old as their first run: what is newer than a run was added to its suite since.
    Suite.objects.update(created_at=timezone.now() - YEAR - timedelta(days=1))
    Case.objects.update(created_at=timezone.now() - YEAR - timedelta(days=1))
    total = sum(plan.size for plan in plans)
    writer = _Writer(rng, people, graded_from=total - graded, transcripts_from=total - transcripts)
    for plan in plans:
        with transaction.atomic():
            writer.write(plan)
    copy(Review, list(_labels()))
    _set_sequences()
    return total


# Suites


def _together(cases: int, rng: random.Random) -> list[Plan]:
    """Return the runs of some suites with several models, started together."""
    group = uuid.UUID(int=rng.getrandbits(128), version=4)
    at = timezone.now() - YEAR
    suites = [
        _write_suite(1000 + number, cases, trials=5, rng=rng) for number in range(SUITES_TOGETHER)
    ]
    return [
        Plan(
            *(suite, cases),
            is_tryout=False,
            is_open=False,
            ending="",
            at=at,
            model=model,
            group=group,
        )
        for suite in suites
        for model in MODELS
    ]


def _suite(number: int, suites: int, largest: int, rng: random.Random) -> Written:
    size = round(10 * (largest / 10) ** ((1 - number / max(1, suites - 1)) ** 2))
    trials = 5 if number % 5 == 1 else 1
    return _write_suite(number, max(1, size // trials), trials=trials, rng=rng)


def _write_suite(number: int, size: int, *, trials: int, rng: random.Random) -> Written:
    agent = AgentSpec.model_validate(
        {
            "agent": f"Desk {number % 4}",
            "slug": f"desk-{number % 4}",
            "model": "anthropic/claude-haiku-5-5",
            "system_prompt": "You answer customers of a shop. Be kind, be short. " * 20,
        }
    )
    cases = [
        {
            "name": f"{TOPICS[n % 7]}, {SITUATIONS[n % 5]}, {number % 10}-{n:05}",
            "tags": [TOPICS[n % 7].lower()],
            "turns": [
                {"user": f"Where is my order {1000 * number + n}?", "expected": "on its way"}
                for _ in range(1 + n % 3)
            ],
        }
        for n in range(size)
    ]
    spec = SuiteSpec.model_validate(
        {
            "suite": f"{TOPICS[number % 7]} desk {number}",
            "slug": f"desk-suite-{number}",
            "agent": agent.slug,
            "trials": trials,
            "min_pass_rate": 0.8,
            "assertions": [{"type": "contains"}, {"type": "not_contains", "value": "as an AI"}],
            "gates": {"min_score": 0.7, "max_p95_ms": 4000},
            "cases": cases,
        }
    )
    save_agent(agent)
    save_suite(spec)
    row = Suite.objects.get(slug=spec.slug)
    pass_rate = rng.uniform(0.7, 0.99)
    return Written(row, spec, agent, _snapshot(spec, agent), pass_rate, _yardstick(number))


def _yardstick(number: int) -> Yardstick:
    """Write a criterion with earlier wordings of it, which no one compared."""
    wordings = [
        Yardstick(
            digest=f"{number:016}{wording:016}",
            type="llm_judge",
            criterion=f"The reply of desk {number} is kind, and says when the parcel arrives. " * 3,
            scale="pass_fail",
            judge=JUDGES[number % len(JUDGES)],
            prompt_version=3,
        )
        for wording in range(WORDINGS)
    ]
    return Yardstick.objects.bulk_create(wordings)[-1]


def _snapshot(spec: SuiteSpec, agent: AgentSpec) -> Snapshot:
    head = spec.model_copy(update={"cases": []})
    content = SnapshotSpec(suite=head, agent=agent, judge=agent.asked_model).canonical()
    contents = [canonical_case(case) for case in spec.cases]
    snapshot, is_new = Snapshot.objects.get_or_create(
        sha256=Name(contents).of(content),
        defaults={"schema_version": SCHEMA_VERSION, "content": content},
    )
    if is_new:
        SnapshotCase.objects.bulk_create(
            [
                SnapshotCase(snapshot=snapshot, position=position, content=content)
                for position, content in enumerate(contents)
            ],
            batch_size=2000,
        )
    return snapshot


def _plans(suites: Sequence[Written], executions: int, rng: random.Random) -> list[Plan]:
    chosen: list[tuple[Written, float]] = []
    # The last ones are open; the newest that has ended, and one that has not, are the largest.
    last = [(suites[0], 1.0), *((suite, 1.0) for suite in suites[:OPEN_RUNS])]
    left = executions - sum(_cases(suite, share) * suite.spec.trials for suite, share in last)
    while left > 0:
        chosen.append((rng.choice(suites), _one_of(SHARES, rng)))
        left -= _cases(*chosen[-1]) * chosen[-1][0].spec.trials
    chosen += last
    now = timezone.now()
    return [
        Plan(
            suite,
            cases=_cases(suite, share),
            is_tryout=share == 0.0,
            is_open=number >= len(chosen) - OPEN_RUNS,
            ending=_one_of(ENDINGS, rng) if number < len(chosen) - len(last) else "",
            at=now - YEAR * (1 - number / len(chosen)),
        )
        for number, (suite, share) in enumerate(chosen)
    ]


def _cases(suite: Written, share: float) -> int:
    return max(1, round(len(suite.spec.cases) * share))


def _one_of(weights: Mapping[T, int], rng: random.Random) -> T:
    return rng.choices(list(weights), list(weights.values()))[0]


# Runs and what is in them


class _Writer:
    """Writes run after run; keys are given out here, so that rows may name each other."""

    def __init__(
        self, rng: random.Random, people: Sequence[User], *, graded_from: int, transcripts_from: int
    ) -> None:
        self._rng, self._people = rng, people
        self._graded_from, self._transcripts_from = graded_from, transcripts_from
        self._run_id = _last_key(Run)
        self._first_key = self._execution_id = _last_key(Execution)

    def write(self, plan: Plan) -> None:
        self._run_id += 1
        lease = uuid.uuid4()
        rows = list(self._executions(plan, lease))
        cases: list[CaseSummary] = []
        columns = _run_columns(plan, rows, by=self._rng.choice(self._people), keep=cases.append)
        run = Run(pk=self._run_id, **columns)
        run.save(force_insert=True)
        if plan.is_open:
            Lease.objects.create(
                token=lease, run=run, host="seeded", pid=1, slots=20, until=run.created_at + YEAR
            )
        copy(Execution, rows)
        ended = [row for row in rows if row["finished_at"] is not None]
        graded = [
            row for row in ended if plan.group or row["id"] - self._first_key > self._graded_from
        ]
        key = plan.suite.yardstick.pk
        copy(GradeResult, chain.from_iterable(_grades(row, key) for row in graded))
        JudgeTally.objects.create(
            run=run, day=plan.at.date(), model=plan.suite.yardstick.judge, graded=len(ended)
        )
        results = CaseResults(run)
        if plan.group:
            results.read_cases()
        for case in cases:
            results.add(case)
        results.write()
        recent = [row for row in ended if row["id"] - self._first_key > self._transcripts_from]
        copy(Transcript, (_transcript(row, plan.suite) for row in recent))

    def _executions(self, plan: Plan, lease: uuid.UUID) -> Iterator[Row]:
        spec = plan.suite.spec
        # An open run is in the middle, a stopped one got a part of the way.
        ended = plan.size if not (plan.is_open or plan.ending) else round(plan.size * 0.4)
        for number in range(plan.size):
            self._execution_id += 1
            position, trial = divmod(number, spec.trials)
            has_ended = number < ended
            is_running = plan.is_open and ended <= number < ended + 20
            row: Row = {
                "id": self._execution_id,
                "run_id": self._run_id,
                "case": spec.cases[position].name,
                "position": position,
                "trial": trial + 1,
                "created_at": plan.at,
                "lease_token": lease if is_running else None,
                "attempts": int(has_ended or is_running),
                "started_at": plan.at + timedelta(seconds=number * 0.2) if has_ended else None,
            }
            if has_ended:
                turns = len(spec.cases[position].turns)
                yield row | self._outcome(plan.suite, started=row["started_at"], turns=turns)
            elif is_running:
                yield row | _NOTHING | {"status": "running", "started_at": timezone.now()}
            else:
                is_cancelled = plan.ending == Run.StopReason.CANCELLED
                yield row | _NOTHING | {"status": "cancelled" if is_cancelled else "queued"}

    def _outcome(self, suite: Written, *, started: datetime, turns: int) -> Row:
        rng = self._rng
        verdict = Verdict.PASSED
        if rng.random() > suite.pass_rate:
            verdict = Verdict.FAILED if rng.random() < 0.9 else Verdict.ERRORED  # noqa: PLR2004
        cause = "" if verdict is Verdict.PASSED else _one_of(CAUSES[verdict], rng)
        turn_ms = [round(rng.lognormvariate(6.8, 0.6), 3) for _ in range(turns)]
        time_ms = sum(turn_ms)
        prompt, response = rng.randrange(400, 4000), rng.randrange(20, 400)
        is_passed = verdict is Verdict.PASSED
        return {
            "status": "finished",
            "verdict": verdict.value,
            "cause": cause,
            "reason": REASONS[cause] if cause else "",
            "score": None if verdict is Verdict.ERRORED else 1.0 if is_passed else 0.5,
            "agent_prompt_tokens": prompt,
            "agent_response_tokens": response,
            "judge_prompt_tokens": 0,
            "judge_response_tokens": 0,
            "agent_cost_usd": Decimal(prompt + 5 * response) / 1_000_000,
            "time_ms": time_ms,
            "tool_calls": turns,
            "turn_ms": turn_ms,
            "summary": {
                **dict.fromkeys(UNDECIDED),
                "overall_passed": is_passed,
                "prompt_tokens": prompt,
                "response_tokens": response,
                "execution_time_ms": time_ms,
                "tool_calls": ["entity.query"] * turns,
            },
            "finished_at": started + timedelta(milliseconds=time_ms),
        }


_TOKENS = (
    *("agent_prompt_tokens", "agent_response_tokens"),
    *("judge_prompt_tokens", "judge_response_tokens"),
)
_NOTHING: Row = {
    **dict.fromkeys(("verdict", "cause", "reason"), ""),
    **dict.fromkeys(("score", *_TOKENS, "agent_cost_usd", "time_ms", "tool_calls", "finished_at")),
    "turn_ms": [],
    "summary": {},
}


def _run_columns(
    plan: Plan, rows: Sequence[Row], *, by: User, keep: Callable[[CaseSummary], object]
) -> Row:
    suite, spec, agent = plan.suite, plan.suite.spec, plan.suite.agent
    counted = Counter(row["verdict"] or row["status"] for row in rows)
    columns: Row = {
        "snapshot": suite.snapshot,
        "suite": suite.row,
        "suite_slug": spec.slug,
        "suite_name": spec.suite,
        "agent_slug": agent.slug,
        "agent_name": agent.agent,
        "model": plan.model or str(agent.asked_model),
        "replaced_model": str(agent.asked_model) if plan.model else "",
        "group": plan.group,
        "judge": str(agent.asked_model),
        "suite_agent_slug": agent.slug,
        "is_tryout": plan.is_tryout,
        "is_whole": plan.cases == len(spec.cases) and not (plan.is_tryout or plan.model),
        "case_count": plan.cases,
        "suite_case_count": len(spec.cases),
        "created_by": by,
        "status": Run.Status.RUNNING,
        "stop_reason": plan.ending,
        "concurrency": 20,
        "total": plan.size,
        **{kind: counted[kind] for kind in ("passed", "failed", "errored", "cancelled")},
        "not_run": counted["queued"] + counted["running"],
        "created_at": plan.at,
        "started_at": plan.at,
    }
    if plan.is_open:
        return columns
    summary = summarise_run(map(_fact, rows), suite=spec, keep=keep)
    is_cancelled = plan.ending == Run.StopReason.CANCELLED
    return columns | {
        "status": Run.Status.CANCELLED if is_cancelled else Run.Status.FINISHED,
        "verdict": summary.verdict,
        "score": summary.score,
        "summary": summary.to_json(),
        "agent_prompt_tokens": sum(row["agent_prompt_tokens"] or 0 for row in rows),
        "agent_response_tokens": sum(row["agent_response_tokens"] or 0 for row in rows),
        "judge_prompt_tokens": 0,
        "judge_response_tokens": 0,
        "agent_cost_usd": sum(row["agent_cost_usd"] or 0 for row in rows),
        "finished_at": max(row["finished_at"] or plan.at for row in rows),
    }


def _fact(row: Row) -> Fact:
    verdict = Verdict(row["verdict"]) if row["verdict"] else None
    return Fact(row["case"], verdict, row["score"], tuple(row["turn_ms"]))


def _grades(execution: Row, yardstick: int) -> Iterator[Row]:
    """Return two checks of the text and one by a yardstick, which fails every fifth."""
    has_missed = execution["cause"] == "assertion"
    for position, (kind, family) in enumerate(
        (("contains", "text"), ("not_contains", "text"), ("llm_judge", "judged"))
    ):
        is_judged = family == "judged"
        passed = execution["id"] % 5 != 0 if is_judged else not (has_missed and position == 0)
        yield {
            "execution_id": execution["id"],
            "turn": 1,
            "position": position,
            "family": family,
            "type": kind,
            "label": f"Check {position + 1}",
            "weight": 1.0,
            "score": float(passed),
            "passed": passed,
            "status": "ok",
            "reason": "It holds." if passed else execution["reason"],
            "evidence": [],
            "details": {},
            "calls": [],
            "yardstick_id": yardstick if is_judged else None,
        }


def _labels() -> Iterator[Row]:
    """Return what people say of some judged grades; of nine in ten the same as the judge."""
    judged = GradeResult.objects.filter(yardstick__isnull=False).order_by("pk")
    columns = ("pk", "execution", "yardstick", "passed")
    for number, row in enumerate(judged.values_list(*columns).iterator()):
        pk, execution, yardstick, passed = row
        if number % LABELLED == 0:
            yield {
                "execution_id": execution,
                "grade_id": pk,
                "yardstick_id": yardstick,
                "passed": passed if number % (10 * LABELLED) else not passed,
                "judged_passed": passed,
                "was_blind": True,
                "by_name": PEOPLE[number % len(PEOPLE)],
            }


def _transcript(execution: Row, suite: Written) -> Row:
    call = ToolCall("entity.query", {"type": "parcel", "id": "K-204"}, {"state": "sent"})
    turns = tuple(
        TurnRecord(
            index=index,
            user=turn.user,
            reply=REPLY * 5,
            messages=(Message("assistant", "", (call,)), Message("assistant", REPLY * 5)),
            usage=Usage(input_uncached=600, output=60),
            latency_ms=latency_ms,
            model="claude-haiku-5-5",
            expected=turn.expected,
        )
        for index, (turn, latency_ms) in enumerate(
            zip(suite.spec.cases[execution["position"]].turns, execution["turn_ms"], strict=True), 1
        )
    )
    trial = Trial(
        case=execution["case"],
        number=execution["trial"],
        planned_turns=len(turns),
        agent=suite.agent.slug,
        system_prompt=suite.agent.sent_prompt,
        turns=turns,
    )
    return {"execution_id": execution["id"], "trial": trial.to_json()}


# Rows


def copy(model: type[models.Model], rows: Iterable[Row]) -> None:
    """Write rows, which all name the same columns, the fastest way that the database has."""
    rows = iter(rows)
    if (first := next(rows, None)) is None:
        return
    fields = {
        field.attname: field
        for field in model._meta.concrete_fields  # noqa: SLF001 - the documented API of models
        if field.attname in first or not (field.primary_key or field.has_db_default())
    }
    defaults = {name: fields[name].get_default() for name in fields.keys() - first.keys()}
    values = (
        [
            field.get_db_prep_save(row[name] if name in row else defaults[name], connection)
            for name, field in fields.items()
        ]
        for row in chain([first], rows)
    )
    quoted = connection.ops.quote_name
    columns = ", ".join(quoted(str(field.column)) for field in fields.values())
    table = f"{quoted(model._meta.db_table)} ({columns})"  # noqa: SLF001
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} FROM STDIN") as sink:
                for value in values:
                    sink.write_row(value)
        else:
            places = ", ".join(["%s"] * len(fields))
            cursor.executemany(f"INSERT INTO {table} VALUES ({places})", list(values))  # noqa: S608


def _last_key(model: type[models.Model]) -> int:
    return model._default_manager.aggregate(last=Max("pk"))["last"] or 0  # noqa: SLF001


def _set_sequences() -> None:
    """Let the database go on behind the keys that were given out here."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [Run, Execution]):
            cursor.execute(statement)


def analyze() -> None:
    """Let the database look at what it holds now, as it would sooner or later by itself."""
    with connection.cursor() as cursor:
        # VACUUM also marks what may be read from indexes alone.
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def main() -> None:
    """Read the options, fill the database, say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--executions", type=int, default=1_000_000)
    parser.add_argument("--suites", type=int, default=50)
    parser.add_argument("--largest", type=int, default=10_000, help="Executions of a run, at most.")
    parser.add_argument("--graded", type=int, default=100_000, help="Newest ones with grades.")
    parser.add_argument("--transcripts", type=int, default=50_000, help="Newest ones with them.")
    parser.add_argument("--together", type=int, default=300, help="Cases of runs of one group.")
    began = time.perf_counter()
    written = seed(**vars(parser.parse_args()))
    analyze()
    took = time.perf_counter() - began
    print(f"{written:,} executions of {Run.objects.count():,} runs in {took:.0f} s")


if __name__ == "__main__":
    main()
