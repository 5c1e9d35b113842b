"""Messages for connected computers: workers store them, the web server hands them out.

The rows are the truth. A computer has a message on a lease that its polls renew; the first answer to
arrive is stored, and a conversation that begins again finds it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from evals_app.engine.agents.external.connected import CallAnswer, CallState, OfferedCall
from evals_app.models import AgentCall, Computer, Execution
from evals_app.models.run_records.connections import (
    BACK_WITHIN,
    BEAT_WITHIN,
    LOST_AFTER,
    SEEN_WITHIN,
    SILENT_AFTER,
)
from fixtures_app.ground.storable import storable

_FORGET = timedelta(hours=1)
_OPEN = [Execution.Status.QUEUED, Execution.Status.RUNNING]


# For workers.


def offer_call(call: OfferedCall) -> None:
    """Store a message; earlier turns of the conversation that never got an answer are over."""
    AgentCall.objects.filter(
        execution=call.job_id, turn__lt=call.turn, answer__isnull=True
    ).delete()
    AgentCall.objects.get_or_create(
        execution_id=call.job_id,
        turn=call.turn,
        defaults={
            "agent": call.agent,
            "session_id": call.session_id,
            "request": storable(call.request),
            "offers": call.offers,
        },
    )


def read_calls(keys: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], CallState]:
    """Return the state of messages by execution and turn."""
    rows = AgentCall.objects.filter(execution__in={execution for execution, _ in keys})
    states = {
        "is_taken": Q(leased_until__gt=Now()),
        "is_lost": Q(leased_until__lt=Now() - LOST_AFTER, offers=0),
    }
    calls = list(rows.defer("request").annotate(**states))
    recent = Computer.objects.filter(seen_at__gt=Now() - SEEN_WITHIN)
    there = set(
        recent.filter(agent__in={call.agent for call in calls}).values_list("agent", flat=True)
    )
    return {
        (call.execution_id, call.turn): _state(call, has_computer=call.agent in there)
        for call in calls
    }


def _state(call: Any, *, has_computer: bool) -> CallState:
    is_taken = bool(call.is_taken)  # null before the first computer
    answer = None if call.answer is None else CallAnswer(**call.answer)
    is_lost = answer is None and bool(call.is_lost)
    return CallState(is_taken, is_lost, has_computer, answer)


def sessions_of(executions: Collection[int]) -> dict[int, str]:
    """Return what conversations that began before were called, by execution."""
    rows = AgentCall.objects.filter(execution__in=executions)
    return dict(rows.values_list("execution_id", "session_id"))


def forget_calls(executions: Collection[int]) -> None:
    """Remove the messages of conversations that are over."""
    AgentCall.objects.filter(execution__in=executions).delete()


def forget_connections() -> None:
    """Remove messages that no conversation waits for, and computers that have been gone for long."""
    AgentCall.objects.exclude(execution__status__in=_OPEN).delete()
    Computer.objects.filter(seen_at__lt=Now() - _FORGET).delete()


# For people.


def computers_at_work(agent: str) -> list[tuple[Computer, list[dict[str, Any]]]]:
    """Return the connected computers of an agent, with the messages that each works on."""
    computers = list(Computer.objects.of_agent(agent).select_related("user"))
    leased = AgentCall.objects.filter(
        computer__in=[computer.pk for computer in computers],
        agent=agent,
        answer__isnull=True,
        leased_until__gt=Now(),
    )
    work: dict[UUID | None, list[dict[str, Any]]] = defaultdict(list)
    columns = ("execution__run", "execution", "execution__case", "turn")
    for computer_id, run, execution, case, turn in leased.order_by("pk").values_list(
        "computer", *columns
    ):
        message = {"run": run, "execution": execution, "case": case, "turn": turn}
        work[computer_id].append(message)
    return [(computer, work[computer.pk]) for computer in computers]


# For computers.


def see_computer(computer: UUID, *, agent: str, host: str, user: User) -> None:
    """Note that a computer is there."""
    about = {"agent": agent, "host": host, "user_id": user.pk, "seen_at": Now()}
    Computer.objects.update_or_create(pk=computer, defaults=about)


def spare_computers(agent: str) -> None:
    """Keep the messages of computers that could not reach the site, before another one takes them.

    After the site was away, which computer comes back first is chance: what another one is working
    on must not be asked twice. A computer that was silent while others were heard of is not spared.
    """
    computers = Computer.objects.filter(agent=agent)
    last = computers.filter(seen_at__lt=Now() - SILENT_AFTER).order_by("-seen_at").first()
    if last is None or computers.filter(seen_at__gt=last.seen_at).exists():
        return
    there = computers.filter(seen_at__gte=last.seen_at - BEAT_WITHIN).values_list("pk", flat=True)
    AgentCall.objects.filter(
        agent=agent,
        computer__in=list(there),
        answer__isnull=True,
        leased_until__lt=Now() + BACK_WITHIN,
    ).update(leased_until=Now() + BACK_WITHIN)


def renew_calls(computer: UUID, holding: Collection[int]) -> set[int]:
    """Renew the leases of a computer; return which messages it need not answer any more."""
    mine = AgentCall.objects.filter(
        pk__in=holding, computer=computer, answer__isnull=True, execution__status__in=_OPEN
    )
    wanted = set(mine.values_list("pk", flat=True))
    AgentCall.objects.filter(pk__in=wanted, computer=computer, answer__isnull=True).update(
        leased_until=Now() + SEEN_WITHIN
    )
    return set(holding) - wanted


def undelivered_calls(computer: UUID, *, agent: str, holding: Collection[int]) -> list[AgentCall]:
    """Return messages that a computer was given in an answer that never reached it."""
    mine = AgentCall.objects.filter(
        computer=computer, agent=agent, answer__isnull=True, leased_until__gt=Now()
    )
    return list(mine.exclude(pk__in=holding).order_by("pk"))


def has_calls(agent: str) -> bool:
    """Whether a message waits for a computer of an agent."""
    return _waiting(agent).exists()


def take_calls(computer: UUID, *, agent: str, count: int) -> list[AgentCall]:
    """Lease up to `count` waiting messages to a computer, the oldest first."""
    with transaction.atomic():
        rows = _waiting(agent).order_by("pk").select_for_update(skip_locked=True, of=("self",))
        calls = list(rows[:count])
        AgentCall.objects.filter(pk__in=[call.pk for call in calls]).update(
            computer=computer,
            leased_until=Now() + SEEN_WITHIN,
            offers=F("offers") - 1,
        )
    return calls


def _waiting(agent: str) -> QuerySet[AgentCall]:
    is_free = Q(leased_until__isnull=True) | Q(leased_until__lte=Now())
    return AgentCall.objects.filter(
        is_free, agent=agent, answer__isnull=True, offers__gt=0, execution__status__in=_OPEN
    )


def store_answer(call: AgentCall, answer: CallAnswer, *, computer: UUID) -> bool:
    """Store the answer to a message, if it is the first; whether it counts.

    The same computer may send its answer again when it does not know whether it arrived.
    """
    unanswered = AgentCall.objects.filter(pk=call.pk, answer__isnull=True)
    if unanswered.update(answer=storable(asdict(answer)), computer=computer):
        return True
    return AgentCall.objects.filter(pk=call.pk, computer=computer).exists()


def leave(computer: UUID, *, agent: str) -> None:
    """Note that a computer has gone; others get its messages at once."""
    AgentCall.objects.filter(computer=computer, agent=agent, answer__isnull=True).update(
        leased_until=Now()
    )
    Computer.objects.filter(pk=computer, agent=agent).delete()
