"""The stored conversations that a run grades again, and the judges' answers that it can reuse."""

from collections.abc import Collection, Mapping

from django.db.models import Q

from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause, Failure, Trial
from evals_app.engine.running.run_gateway import StoredConversation
from evals_app.models import Execution, GradeResult, Run, Transcript
from fixtures_app.ground.strict_json import JsonObject

# Grades whose judge gave no usable answer.
UNUSABLE = Q(status=GradeStatus.UNGRADED, cause=Cause.JUDGE)


def stored_conversations(run: Run, ids: Collection[int]) -> dict[int, StoredConversation]:
    """Return the conversation of each of these executions; none if their run asks an agent."""
    if not run.regrading:
        return {}
    rows = Execution.objects.filter(pk__in=ids).values_list("pk", "case", "source_id")
    cases = {pk: case for pk, case, _ in rows}
    sources = {pk: source for pk, _, source in rows}
    transcripts = Transcript.objects.of_all(sources)
    answers = _answers(run, sources) if run.regrading["reuses_answers"] else {}
    return {
        pk: StoredConversation(
            _trial(transcripts.get(pk)) or _removed_conversation(run, cases[pk]),
            answers.get(source, ()) if source else (),
        )
        for pk, source in sources.items()
    }


def _trial(stored: Transcript | None) -> Trial | None:
    return None if stored is None else stored.to_trial()


def _removed_conversation(run: Run, case: str) -> Trial:
    """Return the trial of a conversation that was removed after the run had started."""
    failure = Failure(
        Cause.HARNESS, "Its conversation was removed before it could be graded again."
    )
    return Trial(case, 1, 0, run.agent_slug, failure=failure)


def _answers(run: Run, sources: Mapping[int, int | None]) -> dict[int, list[JsonObject]]:
    """Return calls of judges by the execution whose conversation they were about.

    Judges that did not grade are asked again: their stored answers would fail again.
    """
    wanted = {source for source in sources.values() if source is not None}
    graded = GradeResult.objects.filter(execution__in=wanted)
    if (other := run.regrading["regraded"]) is not None:  # that run was a regrade, too
        again = Execution.objects.filter(run=other, source__in=wanted).values("pk")
        graded |= GradeResult.objects.filter(execution__in=again)
    answers: dict[int, list[JsonObject]] = {}
    rows = graded.exclude(calls=[]).exclude(UNUSABLE).order_by("pk")
    for pk, source, calls in rows.values_list("execution", "execution__source", "calls"):
        answers.setdefault(source or pk, []).extend(calls)
    return answers
