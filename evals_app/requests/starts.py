"""Start a run, or return the one that the same request started before."""

import hashlib

from django.contrib.auth.models import User
from django.db import IntegrityError

from evals_app.models import Run
from evals_app.requests.bodies import StartRun, suite_and_agent
from evals_app.requests.problems import BEING_PREPARED, KEY_REUSED, RefusedError, refused_at
from evals_app.runs.starting.preparing import abandon_if_silent
from evals_app.runs.starting.start_run import start_run

_RETRY_AFTER_S = 5  # while a run is being prepared


def start_once(body: StartRun, *, key: str | None, user: User) -> tuple[Run, bool]:
    """Start a run, or return the one that this Idempotency-Key started; and whether it is new."""
    stored = None if key is None else _stored_key(key, body, user)
    if stored is not None and (known := _started_before(stored)) is not None:
        return known, False
    suite, agent = suite_and_agent(body, user)
    try:
        run = start_run(
            suite,
            by=user,
            agent=agent,
            group=body.group,
            idempotency_key=stored,
            **body.choices(),
        )
    except IntegrityError:
        # Two equal requests arrived at the same moment, and the other one was first.
        if stored is None or (known := _started_before(stored)) is None:
            raise
        return known, False
    return run, True


def _stored_key(given: str, body: StartRun, user: User) -> str:
    """Return a key as it is stored: user, key and body."""
    if not 0 < len(given) <= 200:  # noqa: PLR2004 - plenty
        raise refused_at("Idempotency-Key", "An Idempotency-Key must have 1 to 200 characters.")
    name = f"{user.pk}:{sha256(given)}"
    return f"{name}:{sha256(body.model_dump_json(exclude_defaults=True))}"


def sha256(text: str) -> str:
    """Return the digest of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _started_before(key: str) -> Run | None:
    """Return the run that this key started; with another body it is refused."""
    name = key.rpartition(":")[0] + ":"
    runs = Run.all_runs.filter(idempotency_key__startswith=name)
    run = runs.only("idempotency_key", "status").first()
    if run is not None and run.idempotency_key != key:
        message = f"This Idempotency-Key started run {run.pk} with another body; use a new key."
        raise RefusedError(message, status=409, kind=KEY_REUSED)
    if run is not None and run.status == Run.PREPARING:
        if abandon_if_silent(run):
            return None
        message = f"Run {run.pk} of this Idempotency-Key is being prepared; try again in a moment."
        raise RefusedError(message, status=409, kind=BEING_PREPARED, retry_after=_RETRY_AFTER_S)
    return run
