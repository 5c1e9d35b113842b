"""What people decide: what is shipped, which cases may fail, and what an agent may answer by itself."""

from collections.abc import Collection, Sequence
from datetime import date

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from evals_app.engine.basics.errors import CannotError
from evals_app.library.baselines import set_baseline, why_no_baseline
from evals_app.library.changes.edits import DECIDED, note_edit
from evals_app.models import (
    AcceptedFailure,
    Agent,
    CaseResult,
    Run,
    ShipDecision,
    Suite,
    TopicReadiness,
)
from evals_app.models.people.names import author_of
from fixtures_app.ground.storable import storable
from fixtures_app.ground.words import near

DECIDING = "evals_app.decide_release"
MAX_CHARS = 2000  # of a reason
MAX_OWNER = 150


class CannotDecideError(CannotError):
    """A decision is not possible, or lacks something."""


def decide_shipping(
    run: Run, *, shipped: bool, answered: str, is_yes: bool, by: User, reason: str = ""
) -> ShipDecision:
    """Store that a person shipped what a run tested, or did not.

    `answered` is what Evalwell answers, and `is_yes` whether that is Yes. Anything else than shipping
    after a Yes needs a reason. What is shipped becomes the released version, the baseline of the
    suite, if the run can be one.

    Raises:
        CannotDecideError: the run has not ended, was deleted or says nothing about a version, or a
            reason is missing.
    """
    given = _read_reason(reason)
    if not given and not (shipped and is_yes):
        why = (
            "Say why, because the answer was not Yes." if shipped else "Say why it is not shipped."
        )
        raise CannotDecideError(why, key="reason", value=reason)
    with transaction.atomic():
        run, suite = _lock_run(run.pk)
        decision = ShipDecision.objects.create(
            suite=suite,
            run=run,
            run_number=run.pk,
            shipped=shipped,
            reason=given,
            answered=answered,
            **author_of(by),
        )
        decision.refresh_from_db(fields=["created_at"])
        note_edit(suite, user=by, note=f"{decision}. The answer was: {answered}", kind=DECIDED)
        if shipped and not why_no_baseline(run):
            set_baseline(run, by=by)
    return decision


def _lock_run(pk: int) -> tuple[Run, Suite]:
    """Return a run to decide about and its suite, as they are now: it may have been resumed or deleted."""
    rows = Run.objects.select_for_update(of=("self",)).select_related("suite").defer("summary")
    run = rows.filter(pk=pk).first()
    if run is None:
        raise CannotDecideError(f"Run {pk} was deleted.")
    if (problem := run.why_no_answer) or run.suite is None:
        raise CannotDecideError(problem)
    if run.is_open:
        raise CannotDecideError(f"Run {pk} has not ended.")
    return run, run.suite


def accept_failures(
    run: Run, cases: Sequence[str], *, by: User, reason: str, until: date | None = None
) -> list[AcceptedFailure]:
    """Accept that cases of a run fail: until they pass again, or until a day is over.

    Raises:
        CannotDecideError: there is no reason, no case, no such case in the run, or the day is over.
    """
    if (problem := run.why_no_answer) or run.suite is None:
        raise CannotDecideError(problem)
    given = _read_reason(reason)
    if not given:
        raise CannotDecideError("Say why they may fail.", key="reason", value=reason)
    _check_day(until)
    accepted = [
        AcceptedFailure(
            suite=run.suite,
            run_number=run.pk,
            case=name,
            digest=digest,
            reason=given,
            until=until,
            **author_of(by),
        )
        for name, digest in _find_cases(run, cases).items()
    ]
    with transaction.atomic():
        # The new reason and day count.
        open_ones = AcceptedFailure.objects.filter(suite=run.suite, withdrawn_at=None)
        open_ones.filter(case__in=cases).update(withdrawn_at=Now())
        AcceptedFailure.objects.bulk_create(accepted)
        names = ", ".join(f"“{row.case}”" for row in accepted)
        note_edit(
            run.suite, user=by, note=f"Accepted that {names} may fail: “{given}”.", kind=DECIDED
        )
    return accepted


def withdraw_acceptance(accepted: AcceptedFailure, *, by: User) -> None:
    """Accept no longer that a case fails; idempotent."""
    open_ones = AcceptedFailure.objects.filter(pk=accepted.pk, withdrawn_at=None)
    with transaction.atomic():
        if open_ones.update(withdrawn_at=Now()):
            note = f"“{accepted.case}” may no longer fail."
            note_edit(accepted.suite, user=by, note=note, kind=DECIDED)


def set_readiness(
    agent: Agent,
    topic: str,
    *,
    known: Collection[str],
    state: str,
    by: User,
    owner: str = "",
    note: str = "",
    until: date | None = None,
) -> TopicReadiness:
    """Store what a person says about an agent on a topic; `known` are the topics that it has.

    Raises:
        CannotDecideError: there is no such topic or state, the day is over, or limits are not named.
    """
    if topic not in known:
        raise CannotDecideError(
            f"No case of agent {agent.slug!r} has the tag “{topic}”.{near(topic, known)}",
            key="topic",
            value=topic,
        )
    states = TopicReadiness.State.values
    if state not in states:
        problem = f"{state!r} is none of {', '.join(states)}.{near(state, states)}"
        raise CannotDecideError(problem, key="state", value=state)
    given = _read_reason(note, key="note")
    if state == TopicReadiness.State.LIMITED and not given:
        raise CannotDecideError("Say what the limits are.", key="note", value=note)
    _check_day(until)
    who = storable(owner.strip())
    if len(who) > MAX_OWNER:
        problem = f"Write at most {MAX_OWNER} characters."
        raise CannotDecideError(problem, key="owner", value=who[:100])
    with transaction.atomic():
        readiness = TopicReadiness.objects.create(
            agent=agent,
            topic=topic,
            state=state,
            owner=who,
            note=given,
            until=until,
            **author_of(by),
        )
        readiness.refresh_from_db(fields=["created_at"])
        note_edit(agent, user=by, note=f"“{topic}”: {readiness.in_words}", kind=DECIDED)
    return readiness


def _check_day(until: date | None) -> None:
    if until is not None and until < timezone.now().date():
        raise CannotDecideError(
            f"{until} is over. Choose today or a later day.", key="until", value=str(until)
        )


def _find_cases(run: Run, names: Sequence[str]) -> dict[str, str]:
    """Return the content of cases of a run, by name."""
    if not names:
        raise CannotDecideError("Choose at least one case.", key="cases", value=[])
    results = CaseResult.objects.filter(run=run)
    found = dict(results.filter(name__in=names).values_list("name", "digest"))
    for name in names:
        if name not in found:
            known = results.order_by("position").values_list("name", flat=True)
            raise CannotDecideError(
                f"Run {run.pk} has no case “{name}”.{near(name, known)}", key="cases", value=name
            )
    return found


def _read_reason(text: str, *, key: str = "reason") -> str:
    text = storable(text.strip())
    if len(text) > MAX_CHARS:
        raise CannotDecideError(
            f"Write at most {MAX_CHARS:,} characters.", key=key, value=text[:100]
        )
    return text
