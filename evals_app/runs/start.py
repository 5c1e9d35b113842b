"""Start a run: freeze what it uses, write its executions, ask for somebody to work on them."""

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models.functions import Now

from evals_app.formats.snapshot import SnapshotSpec
from evals_app.models import Agent, Execution, Run, Snapshot, Suite
from evals_app.reports.judges import judges_text
from evals_app.runs.freeze import CannotStartError, create_many, freeze
from evals_app.runs.providers import know
from evals_app.runs.select import Part
from evals_app.runs.tickets import call_workers

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
    max_cost_usd: Decimal | None = None,
    is_tryout: bool = False,
    idempotency_key: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Run:
    """Start a run of a suite, or of the `Part` that is asked for.

    `max_cost_usd` is a ceiling: the run stops before a call that might exceed it.

    Raises:
        CannotStartError: something it needs is missing or does not fit.
    """
    part = Part(cases=cases, tags=tags, names=names, trials=trials)
    with freeze(
        suite, part=part, agent=agent, model=model, max_cost_usd=max_cost_usd, environ=environ
    ) as frozen:
        if not frozen.executions:
            raise CannotStartError([_nothing_chosen(suite, cases=[*cases, *names], tags=tags)])
        with transaction.atomic():
            return create_run(
                frozen.store(),
                head=frozen.head,
                plan=frozen.plan(),
                total=frozen.executions,
                concurrency=concurrency or frozen.head.suite.concurrency,
                timeout_s=timeout_s,
                suite=suite,
                judge=judges_text(frozen.judges),
                created_by=by,
                max_cost_usd=max_cost_usd,
                is_tryout=is_tryout,
                idempotency_key=idempotency_key,
            )


def create_run(
    snapshot: Snapshot,
    *,
    head: SnapshotSpec,
    plan: Iterable[tuple[str, int, int]],
    total: int,
    concurrency: int,
    timeout_s: float | None = None,
    **columns: Any,
) -> Run:
    """Write a run with its executions and, once that is committed, its tickets.

    `head` is what the snapshot holds besides cases, `plan` gives case, position and trial of
    `total` executions, `columns` are more ones of the run.
    """
    with transaction.atomic():
        run = Run.objects.create(
            snapshot=snapshot,
            concurrency=concurrency,
            total=total,
            not_run=total,
            deadline_at=Now() + timedelta(seconds=timeout_s) if timeout_s else None,
            **_columns(head),
            **columns,
        )
        create_many(
            Execution,
            (
                Execution(run=run, case=case, position=position, trial=trial)
                for case, position, trial in plan
            ),
        )
        run.providers.set(know(provider.slug for provider in head.providers))
        transaction.on_commit(call_workers)
    return Run.objects.get(pk=run.pk)


def _columns(head: SnapshotSpec) -> dict[str, Any]:
    """Give what a run says of its snapshot, so that lists need not read that."""
    suite, agent = head.suite, head.agent
    return {
        "suite_slug": suite.slug,
        "suite_name": suite.suite,
        "agent_slug": agent.slug,
        "agent_name": agent.agent,
        "model": str(agent.model or ""),
        "score_scale": suite.score_scale,
        "is_scripted": agent.driver == "scripted",
    }


def _nothing_chosen(suite: Suite, *, cases: Sequence[str], tags: Sequence[str]) -> str:
    known = dict(suite.cases.order_by("position").values_list("name", "tags"))
    if not known:
        return f"Suite {suite.slug} has no cases yet."
    known_tags = {tag for own in known.values() for tag in own} | set(suite.tags)
    wanted = [f"the name {text!r}" for text in cases] + [f"the tag {tag!r}" for tag in tags]
    near = [
        *(difflib.get_close_matches(text, list(known), 1, 0.4) for text in cases),
        *(difflib.get_close_matches(tag, sorted(known_tags), 1) for tag in tags),
    ]
    hints = " or ".join(repr(found[0]) for found in near if found)
    hint = f" Did you mean {hints}?" if hints else ""
    return f"No case of {suite.slug} has {' or '.join(wanted)}.{hint}"
