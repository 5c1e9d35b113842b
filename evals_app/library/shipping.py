"""What people decide: whether a version is shipped, and which cases may fail meanwhile."""

from collections.abc import Sequence
from datetime import date

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from evals_app.engine.basics.errors import CannotError
from evals_app.library.baselines import set_baseline, why_no_baseline
from evals_app.library.changes.edits import note_edit
from evals_app.models import AcceptedFailure, CaseResult, Run, ShipDecision
from evals_app.models.people.names import author_of
from fixtures_app.ground.storable import storable
from fixtures_app.ground.words import near

DECIDING = "evals_app.decide_release"
MAX_CHARS = 2000  # of a reason


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
        CannotDecideError: the run has not ended, its suite was deleted, or there is no reason.
    """
    if run.suite is None:
        raise CannotDecideError(f"The suite of run {run.pk} was deleted.")
    if run.is_open:
        raise CannotDecideError(f"Run {run.pk} has not ended.")
    given = _read_reason(reason)
    if not given and not (shipped and is_yes):
        why = (
            "Say why, because the answer was not Yes." if shipped else "Say why it is not shipped."
        )
        raise CannotDecideError(why, key="reason", value=reason)
    with transaction.atomic():
        decision = ShipDecision.objects.create(
            suite=run.suite,
            run=run,
            run_number=run.pk,
            shipped=shipped,
            reason=given,
            answered=answered,
            **author_of(by),
        )
        decision.refresh_from_db(fields=["created_at"])
        note_edit(run.suite, user=by, note=f"{decision}. The answer was: {answered}")
        if shipped and not why_no_baseline(run):
            set_baseline(run, by=by)
    return decision


def accept_failures(
    run: Run, cases: Sequence[str], *, by: User, reason: str, until: date | None = None
) -> list[AcceptedFailure]:
    """Accept that cases of a run fail: until they pass again, or until a day is over.

    Raises:
        CannotDecideError: there is no reason, no case, no such case in the run, or the day is over.
    """
    if run.suite is None:
        raise CannotDecideError(f"The suite of run {run.pk} was deleted.")
    given = _read_reason(reason)
    if not given:
        raise CannotDecideError("Say why they may fail.", key="reason", value=reason)
    if until is not None and until < timezone.now().date():
        raise CannotDecideError(
            f"{until} is over. Choose today or a later day.", key="until", value=str(until)
        )
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
        note_edit(run.suite, user=by, note=f"Accepted that {names} may fail: “{given}”.")
    return accepted


def withdraw_acceptance(accepted: AcceptedFailure, *, by: User) -> None:
    """Accept no longer that a case fails; idempotent."""
    open_ones = AcceptedFailure.objects.filter(pk=accepted.pk, withdrawn_at=None)
    with transaction.atomic():
        if open_ones.update(withdrawn_at=Now()):
            note = f"It is no longer accepted that “{accepted.case}” fails."
            note_edit(accepted.suite, user=by, note=note)


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


def _read_reason(text: str) -> str:
    text = storable(text.strip())
    if len(text) > MAX_CHARS:
        raise CannotDecideError(
            f"Write at most {MAX_CHARS:,} characters.", key="reason", value=text[:100]
        )
    return text
