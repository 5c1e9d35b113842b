"""Start a run: freeze what it uses, write its executions, ask for somebody to work on them."""

import difflib
import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models.functions import Now
from pydantic import ValidationError

from evals_app.engine.suite import CaseSpec, SuiteSpec
from evals_app.formats.snapshot import SCHEMA_VERSION, SnapshotSpec, sha256_of
from evals_app.models import Agent, Execution, Run, Snapshot, Suite
from evals_app.runs.freeze import CannotStartError, freeze
from evals_app.runs.select import select_cases
from evals_app.runs.tickets import drainers_for, issue_tickets

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def start_run(
    suite: Suite,
    *,
    by: "User | None" = None,
    agent: Agent | None = None,
    model: str = "",
    cases: Sequence[str] = (),
    tags: Sequence[str] = (),
    names: Sequence[str] = (),
    trials: int | None = None,
    concurrency: int | None = None,
    timeout_s: float | None = None,
    is_tryout: bool = False,
    idempotency_key: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Run:
    """Start a run of a suite or of the part that `select_cases` finds.

    Raises:
        CannotStartError: something it needs is missing or does not fit.
    """
    snapshot = freeze(suite, agent=agent, model=model, environ=environ)
    chosen = select_cases(snapshot.suite, cases=cases, tags=tags, names=names)
    if not chosen:
        raise CannotStartError([_nothing_chosen(snapshot.suite, cases=[*cases, *names], tags=tags)])
    plan = [
        (case, trial)
        for case in chosen
        for trial in range(1, (trials or snapshot.suite.trials_of(case)) + 1)
    ]
    return create_run(
        snapshot,
        plan=plan,
        suite=suite,
        by=by,
        concurrency=concurrency or snapshot.suite.concurrency,
        timeout_s=timeout_s,
        is_tryout=is_tryout,
        idempotency_key=idempotency_key,
    )


def plan_size(
    suite: Suite,
    *,
    cases: Sequence[str] = (),
    tags: Sequence[str] = (),
    trials: int | None = None,
) -> int:
    """Say how many conversations a start would hold; 0 for a suite that cannot be read."""
    try:
        spec = Suite.objects.with_everything().get(pk=suite.pk).to_spec()
    except ValidationError:
        return 0
    chosen = select_cases(spec, cases=cases, tags=tags)
    return sum(trials or spec.trials_of(case) for case in chosen)


def create_run(
    snapshot: SnapshotSpec,
    *,
    plan: Sequence[tuple[CaseSpec, int]],
    suite: Suite | None,
    by: "User | None",
    concurrency: int,
    timeout_s: float | None = None,
    is_tryout: bool = False,
    idempotency_key: str | None = None,
    rerun_of: Run | None = None,
) -> Run:
    """Write a run with its executions and, once that is committed, its tickets."""
    position = {case.name: number for number, case in enumerate(snapshot.suite.cases)}
    agent = snapshot.agent
    with transaction.atomic():
        run = Run.objects.create(
            snapshot=_stored(snapshot),
            suite=suite,
            suite_slug=snapshot.suite.slug,
            suite_name=snapshot.suite.suite,
            agent_slug=agent.slug,
            agent_name=agent.agent,
            model=str(agent.model or ""),
            judge=str(snapshot.judge or ""),
            score_scale=snapshot.suite.score_scale,
            is_scripted=agent.driver == "scripted",
            is_tryout=is_tryout,
            rerun_of=rerun_of,
            created_by=by,
            idempotency_key=idempotency_key,
            concurrency=concurrency,
            total=len(plan),
            not_run=len(plan),
            deadline_at=Now() + timedelta(seconds=timeout_s) if timeout_s else None,
            ticketed_at=Now(),
        )
        Execution.objects.bulk_create(
            [
                Execution(run=run, case=case.name, position=position[case.name], trial=trial)
                for case, trial in plan
            ],
            batch_size=2000,
        )
        count = drainers_for(concurrency, executions=len(plan))
        transaction.on_commit(partial(issue_tickets, run.pk, count))
    return Run.objects.get(pk=run.pk)


def _stored(snapshot: SnapshotSpec) -> Snapshot:
    content = snapshot.canonical()
    row, _ = Snapshot.objects.get_or_create(
        sha256=sha256_of(content),
        defaults={"schema_version": SCHEMA_VERSION, "content": content},
    )
    return row


def _nothing_chosen(suite: SuiteSpec, *, cases: Sequence[str], tags: Sequence[str]) -> str:
    if not suite.cases:
        return f"Suite {suite.slug} has no cases yet."
    known_tags = {tag for case in suite.cases for tag in case.tags} | set(suite.tags)
    wanted = [f"the name {text!r}" for text in cases] + [f"the tag {tag!r}" for tag in tags]
    near = [
        *(difflib.get_close_matches(t, [c.name for c in suite.cases], 1, 0.4) for t in cases),
        *(difflib.get_close_matches(tag, sorted(known_tags), 1) for tag in tags),
    ]
    hints = " or ".join(repr(found[0]) for found in near if found)
    hint = f" Did you mean {hints}?" if hints else ""
    return f"No case of {suite.slug} has {' or '.join(wanted)}.{hint}"
