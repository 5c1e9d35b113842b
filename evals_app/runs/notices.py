"""Send messages about runs that have ended and groups that grew: noted with the end, delivered until they arrive.

A message is written in the transaction that ends its run, so none is lost. A sender moves its time
first, so no two processes send it at once. If a process dies while sending, another one may repeat
the message with the same id, by which receivers recognize it.
"""

import asyncio
import itertools
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from smtplib import SMTPException
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from evals_app.engine.basics.errors import ConfigurationError, WebError
from evals_app.engine.basics.permits import permits
from evals_app.engine.basics.signature import signed_headers
from evals_app.engine.network.addresses import is_named, read_url
from evals_app.engine.network.web import Web, WebAnswer
from evals_app.engine.record.usage import total_cost
from evals_app.engine.statistics.agreement import Proportion
from evals_app.engine.statistics.comparison import match_cases
from evals_app.models import (
    CaseResult,
    DailyImport,
    Delivery,
    GroupRise,
    MailWish,
    Run,
    Webhook,
)
from evals_app.reports.renderers.notices import (
    MAX_NAMES,
    Event,
    GrowthNotice,
    Names,
    Notice,
    growth_json,
    growth_mail,
    growth_slack,
    mail_subject,
    mail_text,
    notice_json,
    slack_json,
)
from evals_app.runs.ground.patience import AWAY
from evals_app.runs.reading.outcomes import case_outcomes
from evals_app.runs.release import decision_on
from fixtures_app.ground.storable import storable

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0  # of one attempt
AT_ONCE = 20
# Waits after failed attempts, a day in all. Then a message is given up.
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 10, 60, 6 * 60, 17 * 60))
_TAKEN = timedelta(minutes=2)  # time that a process has for the messages that it took
_MAX_BYTES = 100_000
_EXCERPT = 500
_TAKEN_BY_SERVER = 250  # in SMTP
_INTERNAL = "Internal error in Evalwell. The worker's log has the reason."
STRONGEST_FIRST: tuple[Event, ...] = ("worse", "failed", "ended")
KEEP = timedelta(days=30)  # of what was delivered or given up

LOST_ADDRESS = (
    "No secret key of this site opens the address: the key that encrypted it is neither EVALWELL_SECRET_KEY"
    " nor in EVALWELL_OLD_SECRET_KEYS. Enter the address again, or set that key."
)
TESTED = "Sent a test."  # in the history of a webhook

Send = Callable[["OutgoingMessage"], Awaitable[WebAnswer]]


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """What is sent, and where to."""

    url: str
    headers: Mapping[str, str]
    body: bytes


# Noting the end of a run

_GOOD = (Run.Verdict.PASSED, Run.Verdict.MEASURED)  # nothing for people to look after


def note_end(run: Run, *, verdict: str) -> None:
    """Write a message to each webhook and person who may want one; inside the transaction."""
    if run.is_tryout or run.settlement_id is not None:
        return
    wanted = Q(on_end=True)
    if run.stop_reason != Run.StopReason.CANCELLED and verdict not in _GOOD:
        wanted |= Q(on_failure=True)
    if run.baseline_id is not None:
        wanted |= Q(on_worse=True)
    about_suite = Q(suites=None) | Q(suites=run.suite_id)
    hooks = Webhook.objects.filter(wanted, about_suite, is_enabled=True).distinct()
    now = timezone.now()
    Delivery.objects.bulk_create(
        [
            *(Delivery(webhook=hook, run=run, next_at=now) for hook in hooks),
            *(Delivery(person_id=person, run=run, next_at=now) for person in _people(run, wanted)),
        ]
    )


def drop_waiting(run: Run) -> None:
    """Drop the messages about an end of a run that have not arrived: it is resumed."""
    about_end = run.deliveries.filter(state=Delivery.State.WAITING).exclude(event=GREW)
    about_end.update(state=Delivery.State.DROPPED, next_at=None)


GREW = "grew"


def note_growth(rise: GroupRise, daily: DailyImport) -> None:
    """Write a message about a group that grew for each who wants one; inside the transaction."""
    notice = growth_notice(rise, daily)
    about_suite = Q(suites=None) | Q(suites=daily.suite_id)
    hooks = Webhook.objects.filter(about_suite, is_enabled=True, on_growth=True).distinct()
    people: Iterable[int] = ()
    if settings.HAS_MAIL_SERVER:
        own = Q(suite=None, person=daily.owner_id)
        wishes = MailWish.objects.filter(own | Q(suite__isnull=False, suite=daily.suite_id))
        people = (
            wishes.filter(on_growth=True).order_by().values_list("person", flat=True).distinct()
        )
    how: dict[str, Any] = {"run": rise.run, "event": GREW, "next_at": timezone.now()}
    subject, text = mail_subject(notice), growth_mail(notice)
    Delivery.objects.bulk_create(
        [
            *(Delivery(webhook=hook, body=_growth_body(hook, notice), **how) for hook in hooks),
            *(Delivery(person_id=pk, body=text, subject=subject, **how) for pk in people),
        ]
    )


def growth_notice(rise: GroupRise, daily: DailyImport) -> GrowthNotice:
    """Return the content of a message about a group that grew."""
    target, example = daily.conversation_set, rise.example
    page = site_url("admin:evals_app_conversationset_change", target.pk)
    return GrowthNotice(
        group=rise.group.name,
        conversation_set=target.slug,
        set_name=target.name,
        suite=daily.suite.slug if daily.suite else "",
        suite_name=daily.suite.name if daily.suite else "",
        run=rise.run_id,
        now=Proportion(rise.failed, rise.total),
        before=Proportion(rise.failed_before, rise.total_before),
        topics=rise.topics,
        began_at=rise.began_at,
        url=f"{page}#every-day",
        example=example.case if example else "",
        example_url=site_url("admin:evals_app_execution_change", example.pk) if example else "",
    )


def _growth_body(hook: Webhook, notice: GrowthNotice) -> str:
    is_slack = hook.format == Webhook.Format.SLACK
    body = growth_slack(notice) if is_slack else growth_json(notice, at=timezone.now())
    return json.dumps(body, ensure_ascii=False)


def _people(run: Run, wanted: Q) -> Iterable[int]:
    """Return who may want an e-mail about a run; no one without a mail server."""
    if not settings.HAS_MAIL_SERVER:
        return ()
    wishes = _wishes_about(run).filter(wanted).order_by()
    return wishes.values_list("person", flat=True).distinct()


def _wishes_about(run: Run) -> QuerySet[MailWish]:
    own = Q(suite=None, person=run.created_by_id)
    return MailWish.objects.filter(own | Q(suite__isnull=False, suite=run.suite_id))


# Sending


def has_due() -> bool:
    """Whether a message waits to be sent now."""
    return _due(timezone.now()).exists()


def _due(now: datetime) -> QuerySet[Delivery]:
    due = Delivery.objects.filter(state=Delivery.State.WAITING, next_at__lte=now)
    # A process without a mail server leaves e-mails to those that have one.
    return due if settings.HAS_MAIL_SERVER else due.filter(person=None)


def deliver_due(now: datetime | None = None, send: Send | None = None) -> int:
    """Send due messages, several in parallel; return how many arrived."""
    arrived = 0
    while taken := _take(now or timezone.now()):
        arrived += _deliver_all(_write_bodies(taken), send or send_message)
    return arrived


def _take(now: datetime) -> list[Delivery]:
    """Reserve messages for this process for a while, and count an attempt; return them."""
    with transaction.atomic():
        due = _due(now).order_by("next_at", "pk").select_for_update(skip_locked=True)
        keys = list(due.values_list("pk", flat=True)[:AT_ONCE])
        rows = Delivery.objects.filter(pk__in=keys)
        rows.update(next_at=now + _TAKEN, attempts=F("attempts") + 1, attempted_at=now)
    return list(
        rows.select_related("webhook", "person", "run__suite", "run__created_by").order_by("pk")
    )


def _write_bodies(taken: Iterable[Delivery]) -> Sequence[Delivery]:
    """Write the bodies of messages that have none; return those that are wanted."""
    wanted = []
    worse_of = cache(worse_than_baseline)  # several messages may be about one run, of many cases
    for delivery in taken:
        try:
            is_wanted = _write(delivery, worse_of)
        except AWAY:
            raise
        except Exception:
            log.exception("Message %s cannot be written.", delivery.message_id)
            _settle(delivery, Delivery.State.FAILED, problem=_INTERNAL)
            continue
        if is_wanted:
            wanted.append(delivery)
        else:
            _settle(delivery, Delivery.State.DROPPED)
    return wanted


def _write(delivery: Delivery, worse_of: Callable[[Run], Names | None]) -> bool:
    """Write the body of a message unless it has one; return whether it is wanted at all."""
    if not _is_reachable(delivery):
        return False
    if delivery.body or delivery.run is None:
        return bool(delivery.body)
    run, hook = delivery.run, delivery.webhook
    if run.is_open:
        return False  # it was resumed a moment ago
    worse = worse_of(run)
    about: Iterable[Webhook | MailWish] = (
        [hook] if hook else _wishes_about(run).filter(person=delivery.person_id)
    )
    has_failed = run.status == Run.Status.FINISHED and run.verdict not in _GOOD
    is_worse = bool(worse and worse.count)
    wanted = {wishes.event_of(has_failed=has_failed, is_worse=is_worse) for wishes in about}
    event = next((event for event in STRONGEST_FIRST if event in wanted), None)
    if event is None:
        return False
    notice = notice_of(run, event=event, worse=worse)
    delivery.event = event
    delivery.body = _body(hook, notice) if hook else mail_text(notice)
    delivery.subject = "" if hook else mail_subject(notice)
    delivery.save(update_fields=["event", "body", "subject"])
    return True


def _is_reachable(delivery: Delivery) -> bool:
    """Whether the receiver still gets messages: a webhook is enabled, a person may see runs."""
    if delivery.webhook is not None:
        return delivery.webhook.is_enabled or delivery.event == "test"
    person: Any = delivery.person
    return bool(person.email) and person.has_perm("evals_app.view_run")


def _body(hook: Webhook, notice: Notice) -> str:
    is_slack = hook.format == Webhook.Format.SLACK
    body = slack_json(notice) if is_slack else notice_json(notice, at=timezone.now())
    return json.dumps(body, ensure_ascii=False)


def _deliver_all(deliveries: Sequence[Delivery], send: Send) -> int:
    """Send messages in parallel and note each result; return how many arrived."""
    answers = async_to_sync(_attempts)(deliveries, send)
    return sum(itertools.starmap(_note, zip(deliveries, answers, strict=True)))


async def _attempts(deliveries: Sequence[Delivery], send: Send) -> Sequence[WebAnswer | str]:
    return await asyncio.gather(*(_safely(delivery, send) for delivery in deliveries))


async def _safely(delivery: Delivery, send: Send) -> WebAnswer | str:
    """Send a message once; an unexpected error does not delay other messages."""
    try:
        return await _attempt(delivery, send)
    except Exception:
        log.exception("Message %s cannot be sent.", delivery.message_id)
        return _INTERNAL


async def _attempt(delivery: Delivery, send: Send) -> WebAnswer | str:
    """Send a message once; return the answer, or why there is none."""
    hook = delivery.webhook
    if hook is None:
        return await asyncio.to_thread(_mail, delivery)
    if not hook.url:
        return LOST_ADDRESS
    body = delivery.body.encode()
    headers = {"content-type": "application/json"}
    if hook.format == Webhook.Format.JSON:
        headers |= signed_headers(
            hook.key, message_id=str(delivery.message_id), at=timezone.now(), body=body
        )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await send(OutgoingMessage(hook.url, headers, body))
    except TimeoutError:
        return f"There was no answer within {TIMEOUT_S:.0f} seconds."
    except (WebError, ConfigurationError) as error:
        return str(error)


def _mail(delivery: Delivery) -> WebAnswer | str:
    """Hand an e-mail to the mail server; its own time limit applies."""
    person: Any = delivery.person
    mail = EmailMessage(
        delivery.subject,
        delivery.body,
        to=[person.email],
        headers={"Message-ID": f"<{delivery.message_id}@evalwell>"},
    )
    try:
        mail.send()
    except (SMTPException, OSError) as error:
        return f"The mail server did not accept it: {error}"
    return WebAnswer(_TAKEN_BY_SERVER, "")


async def send_message(message: OutgoingMessage) -> WebAnswer:
    """Send a message, or raise WebError; ConfigurationError if its address may not be called."""
    target = read_url(message.url)
    # The path may be a secret: some answers repeat it.
    async with Web(secrets=[message.url, target.path.strip("/")]) as web:
        return await web.ask(
            "POST",
            message.url,
            headers=message.headers,
            content=message.body,
            most_bytes=_MAX_BYTES,
        )


def _note(delivery: Delivery, answer: WebAnswer | str) -> bool:
    """Note the result of an attempt; return whether the message arrived."""
    noted: dict[str, Any] = {"status_code": None, "answer": "", "problem": ""}
    if isinstance(answer, str):
        noted["problem"] = answer
    else:
        hook = delivery.webhook
        noted |= {"status_code": answer.status, "answer": _excerpt(hook, answer) if hook else ""}
    noted = storable(noted)
    is_there = isinstance(answer, WebAnswer) and answer.is_ok
    if is_there:
        _settle(delivery, Delivery.State.DELIVERED, **noted)
    elif delivery.attempts > len(PAUSES) or delivery.event == "test":  # a test is sent once
        _settle(delivery, Delivery.State.FAILED, **noted)
    else:
        pause = PAUSES[delivery.attempts - 1]
        _settle(delivery, Delivery.State.WAITING, next_at=timezone.now() + pause, **noted)
    return is_there


def _excerpt(hook: Webhook, answer: WebAnswer) -> str:
    """Return the beginning of an answer; empty for a host in a private network."""
    if is_named(read_url(hook.url), permits().hosts):
        return ""
    return " ".join(answer.text[: 4 * _EXCERPT].split())[:_EXCERPT]


def _settle(
    delivery: Delivery, state: str, *, next_at: datetime | None = None, **noted: object
) -> None:
    """Note the result of an attempt, unless another process has the message by now.

    What was dropped while it was being sent is not sent again.
    """
    ours = Delivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts)
    if state == Delivery.State.WAITING:
        ours = ours.filter(state=state)
    ours.update(state=state, next_at=next_at, **noted)


# What is sent


def notice_of(run: Run, *, event: Event, worse: Names | None) -> Notice:
    """Return the content of a message about a run that has ended."""
    results = CaseResult.objects.filter(run=run)
    failed = results.filter(verdict=Run.Verdict.FAILED)
    names = list(failed.order_by("position").values_list("name", flat=True)[:MAX_NAMES])
    passed = results.filter(verdict=Run.Verdict.PASSED).count()
    # When conversations are graded again, only judges cost money.
    cost = total_cost([run.judge_cost_usd, *([] if run.grades_again else [run.agent_cost_usd])])
    return Notice(
        event=event,
        run=run.pk,
        suite=run.suite_slug,
        suite_name=run.suite_name,
        agent=run.agent_slug,
        agent_name=run.agent_name,
        set_name=run.conversation_set.name if run.conversation_set else "",
        model=run.model,
        status=run.status,
        verdict=run.verdict,
        stop_reason=run.stop_reason,
        in_short=run.in_short,
        cases=(cases := results.count()),
        cases_passed=passed,
        cases_measured=(measured := results.filter(verdict=Run.Verdict.MEASURED).count()),
        cases_not_graded=cases - passed - failed.count() - measured,
        cost_usd=None if cost is None else float(cost),
        created_by=run.created_by.get_username() if run.created_by else "",
        started_at=run.started_at,
        finished_at=run.finished_at,
        failed=Names(first=names, count=failed.count()),
        baseline=None if worse is None else run.baseline_id,
        worse=worse,
        url=site_url("admin:evals_app_run_change", run.pk),
        compare_url=_compare_url(run) if worse is not None else "",
        decision=decision_on(run),
    )


def site_url(name: str, *args: object) -> str:
    """Return the whole address of a page."""
    return f"{settings.SITE.rstrip('/')}{reverse(name, args=args)}"


def _compare_url(run: Run) -> str:
    return f"{site_url('admin:evals_app_run_compare')}?run={run.baseline_id}&run={run.pk}"


def worse_than_baseline(run: Run) -> Names | None:
    """Return the cases that got worse than in the baseline of a run; None if it has none."""
    if run.baseline_id is None or run.baseline is None:
        return None
    pairs = match_cases(case_outcomes(run.baseline), case_outcomes(run))
    worse = [pair.name for pair in pairs if pair.change.is_worse]
    return Names(first=worse[:MAX_NAMES], count=len(worse))


# What people do


def send_again(delivery: Delivery) -> bool:
    """Send a message again, with the same id; False if it is still on its way."""
    over = Delivery.objects.filter(
        pk=delivery.pk, state__in=[Delivery.State.DELIVERED, Delivery.State.FAILED]
    )
    return bool(over.update(state=Delivery.State.WAITING, next_at=timezone.now(), attempts=0))


def send_test(hook: Webhook) -> Delivery:
    """Send a message about a made-up run now; return the result."""
    now = timezone.now()
    notice = Notice(
        event="test",
        run=0,
        suite="example",
        suite_name="Example suite",
        agent="example",
        agent_name="Example agent",
        status="finished",
        verdict="failed",
        in_short="run 0: failed",
        cases=3,
        cases_passed=1,
        cost_usd=0.0,
        started_at=now,
        finished_at=now,
        failed=Names(first=["Asks for a refund", "Loses an order"], count=2),
        baseline=0,
        worse=Names(first=["Asks for a refund"], count=1),
    )
    delivery = Delivery.objects.create(
        webhook=hook,
        event="test",
        body=_body(hook, notice),
        attempts=1,
        next_at=now + _TAKEN,
        attempted_at=now,
    )
    _deliver_all([delivery], send_message)
    delivery.refresh_from_db()
    return delivery


def forget_deliveries() -> int:
    """Remove messages that were delivered or given up long ago; count them."""
    old = Delivery.objects.filter(created_at__lt=timezone.now() - KEEP)
    return old.exclude(state=Delivery.State.WAITING).delete()[0]
