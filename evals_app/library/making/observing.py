"""Read a stored conversation, and what shows which of its values would differ next time."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from pydantic import ValidationError

from evals_app.engine.proposing.proposals import Proposal, proposals
from evals_app.engine.record.trial import Trial
from evals_app.engine.suites.case_spec import CaseSpec
from evals_app.formats.snapshots.run_snapshot import case_digest, read_case
from evals_app.models import CaseResult, Execution, SnapshotCase, Transcript

MAX_OTHERS = 10
_MAX_TURNS = 500  # of all others together
_RESULTS_READ = 200  # of earlier runs, the latest first


@dataclass(frozen=True, slots=True)
class ObservedConversation:
    """A conversation; `others` are trials of the same case that passed too.

    `fixtures` is the text of the data that it began with, `frozen` the case as it was run.
    """

    trial: Trial
    others: tuple[Trial, ...] = ()
    fixtures: str = ""
    frozen: CaseSpec | None = None
    is_passed: bool = True

    def proposals(self) -> tuple[Proposal, ...]:
        """Return the checks that could be made from it."""
        return proposals(self.trial, self.others, fixtures=self.fixtures, is_passed=self.is_passed)


def observe(execution: Execution) -> ObservedConversation | None:
    """Return the conversation of an execution; None if it cannot be read (any more)."""
    stored = Transcript.objects.of(execution)
    trial = None if stored is None else stored.to_trial()
    if trial is None:
        return None
    frozen = SnapshotCase.objects.filter(
        snapshot=execution.run.snapshot_id, position=execution.position
    ).first()
    people = getattr(execution, "reviewed", None)  # what they decided goes first
    is_passed = (people or execution).verdict == "passed"
    return ObservedConversation(
        trial=trial,
        others=_others(execution, frozen)[: _most_others(trial)] if is_passed else (),
        fixtures=execution.run.snapshot.content,
        frozen=_readable(frozen),
        is_passed=is_passed,
    )


def _readable(frozen: SnapshotCase | None) -> CaseSpec | None:
    try:
        return None if frozen is None else read_case(frozen.content)
    except ValidationError:
        return None


def _most_others(trial: Trial) -> int:
    """Return with how many others a conversation is compared: a long one takes long."""
    return min(MAX_OTHERS, max(1, _MAX_TURNS // max(1, len(trial.turns))))


def _others(execution: Execution, frozen: SnapshotCase | None) -> tuple[Trial, ...]:
    """Return other conversations of the same case, with the same agent, that passed."""
    run: Any = execution.run
    runs = {run.pk}
    if frozen is not None:
        digest = case_digest(frozen.content)
        results = CaseResult.objects.filter(name=execution.case).order_by("-run")
        known = results.values_list("run", "digest")[:_RESULTS_READ]
        runs |= {pk for pk, other in known if other == digest}
    rows = Execution.objects.filter(
        Q(verdict="passed", reviewed=None) | Q(reviewed__verdict="passed"),
        case=execution.case,
        run__in=sorted(runs, reverse=True)[: 2 * MAX_OTHERS],
        run__suite_slug=run.suite_slug,
        run__agent_slug=run.agent_slug,
    )
    own = execution.source_id or execution.pk
    places = {
        source or pk: None
        for pk, source in rows.order_by("-pk").values_list("pk", "source")[: 3 * MAX_OTHERS]
        if (source or pk) != own
    }
    stored = Transcript.objects.in_bulk(list(places)[:MAX_OTHERS])
    trials = (transcript.to_trial() for transcript in stored.values())
    return tuple(trial for trial in trials if trial is not None)
