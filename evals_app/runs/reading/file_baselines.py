"""Runs of other databases, read from files, as rows that later runs are compared with."""

import hashlib

from django.db import transaction

from evals_app.engine.statistics.check_counts import CheckCount, counts_text
from evals_app.formats.snapshots.results_file import CaseInFile, ResultsFile, RunInFile
from evals_app.models import CaseResult, Run, Snapshot, Suite

_COUNTERS = ("passed", "failed", "errored", "measured", "skipped")
_NO_SNAPSHOT = "{}"  # what the run tested is not in the file


def run_from_file(suite: Suite, file: ResultsFile) -> Run:
    """Return the last full run of a suite in a file as a row; the same one for the same results.

    It counts nowhere, and has no conversations.

    Raises:
        CannotReadResultsError: the file has none.
    """
    stored = file.run_of(suite.slug)
    digest = hashlib.sha256(stored.model_dump_json().encode()).hexdigest()
    key = f"file {digest}"
    if run := Run.objects.filter(idempotency_key=key, suite=suite).first():
        return run
    with transaction.atomic():
        run = _write_run(suite, stored, from_file=f"run {stored.id} of {file.name}", key=key)
        cases = enumerate(stored.cases or ())
        CaseResult.objects.bulk_create(
            [_case_result(run, position, case) for position, case in cases], batch_size=1000
        )
    return run


def _write_run(suite: Suite, stored: RunInFile, *, from_file: str, key: str) -> Run:
    content = hashlib.sha256(_NO_SNAPSHOT.encode()).hexdigest()
    defaults = {"schema_version": 0, "content": _NO_SNAPSHOT}
    snapshot, _is_new = Snapshot.objects.get_or_create(sha256=content, defaults=defaults)
    cases = stored.cases or []
    counts = {name: sum(getattr(case, name) for case in cases) for name in _COUNTERS}
    return Run.objects.create(
        snapshot=snapshot,
        suite=suite,
        suite_slug=suite.slug,
        suite_name=suite.name,
        agent_slug=stored.agent,
        agent_name=stored.agent,
        suite_agent_slug=stored.agent,
        model=stored.model or "",
        judge=stored.judge or "",
        score_scale=suite.score_scale,
        is_scripted=stored.is_scripted,
        is_simulated=stored.is_simulated,
        is_tryout=True,
        from_file=from_file[:300],
        idempotency_key=key,
        case_count=len(cases),
        suite_case_count=len(cases),
        status=Run.Status.FINISHED,
        verdict=stored.verdict or Run.Verdict.INCONCLUSIVE,
        concurrency=1,
        total=sum(counts.values()),
        not_run=0,
        finished_at=stored.finished_at,
        score=stored.score,
        summary=stored.summary,
        **counts,
    )


def _case_result(run: Run, position: int, case: CaseInFile) -> CaseResult:
    counts = (
        None if case.checks is None else {key: CheckCount(*n) for key, n in case.checks.items()}
    )
    return CaseResult(
        run=run,
        position=position,
        checks="" if counts is None else counts_text(counts),
        **case.model_dump(mode="json", exclude={"checks", "verdict", "digest"}),
        verdict=case.verdict or "",
        digest=case.digest or "",
    )
