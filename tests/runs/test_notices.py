"""Messages about runs: written with the end of a run, sent until they arrive, each attempt the same."""

import json
from collections.abc import Callable
from datetime import timedelta
from smtplib import SMTPException
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission, User
from django.core import mail
from django.utils import timezone

from evals_app.engine.basics.errors import WebError
from evals_app.engine.network.web import WebAnswer
from evals_app.engine.statistics.comparison import CaseOutcome
from evals_app.models import Agent, Delivery, MailWish, Run, Suite, Webhook
from evals_app.runs import notices
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.reap import reap
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.notices import (
    PAUSES,
    OutgoingMessage,
    deliver_due,
    forget_deliveries,
    has_due,
    send_again,
    send_test,
)
from evals_app.runs.process.worker_loop import work
from evals_app.runs.reading.outcomes import case_outcomes
from tests.agent_server import Asked, Sent, WebServer
from tests.runs.suites import finished, make_agent, make_suite, start

pytestmark = pytest.mark.django_db


def make_hook(**columns: Any) -> Webhook:
    return Webhook.objects.create(
        **{"name": "Hook", "url": "http://localhost:9/secret-path"} | columns
    )


class Receiver:
    """Receives messages, and answers with what a test says: a status, or an error to raise."""

    def __init__(self, *answers: int | Exception, answer_text: str = "Thanks.") -> None:
        self.answers = list(answers)
        self.text = answer_text
        self.got: list[OutgoingMessage] = []

    async def __call__(self, message: OutgoingMessage) -> WebAnswer:
        self.got.append(message)
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, Exception):
            raise answer
        return WebAnswer(answer, self.text)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(message.body) for message in self.got]


def deliver(receiver: Receiver) -> None:
    deliver_due(send=receiver)


def passed() -> Run:
    return finished(make_suite(cases=2))


def failed() -> Run:
    return finished(make_suite(["hello", "bye"]))


def cancelled() -> Run:
    run = start(make_suite(cases=1))
    cancel_run(run)
    reap()
    return Run.objects.get()


def got_worse() -> Run:
    base = passed()
    Suite.objects.update(baseline=base)
    # The checks stay, so the cases can be compared.
    Agent.objects.update(connection={"rules": [{"reply": "You said nothing"}]})
    return finished(Suite.objects.get())


def tried() -> Run:
    return finished(make_suite(["bye"]), is_tryout=True)


EVERYTHING = {"on_end": True, "on_failure": True, "on_worse": True}


@pytest.mark.parametrize(
    ("make", "wishes", "expected"),
    [
        (passed, EVERYTHING, "run.ended"),
        (passed, {}, None),
        (failed, EVERYTHING, "run.failed"),
        (failed, {"on_failure": False}, None),
        (failed, {"on_failure": False, "on_end": True}, "run.ended"),
        (cancelled, {}, None),
        (cancelled, EVERYTHING, "run.ended"),
        (got_worse, {}, "run.worse"),
        (got_worse, {"on_worse": False}, "run.failed"),
        (got_worse, {"on_failure": False}, "run.worse"),
        (tried, EVERYTHING, None),
        (failed, {"is_enabled": False}, None),
    ],
)
def test_a_run_sends_one_message_about_the_strongest_event_that_is_wanted(
    make: Callable[[], Run], wishes: dict[str, bool], expected: str | None
) -> None:
    receiver = Receiver()
    hook = make_hook(**wishes)

    run = make()
    Delivery.objects.exclude(run=run).delete()
    deliver(receiver)

    assert [body["type"] for body in receiver.bodies] == [expected] * (expected is not None)
    assert [body["data"]["run"] for body in receiver.bodies] == [run.pk] * (expected is not None)
    assert not has_due()
    assert not hook.deliveries.filter(state="waiting").exists()


@pytest.mark.parametrize(
    ("before", "got"),
    [
        pytest.param([], ["finished"], id="its first end was not sent yet"),
        pytest.param([503], ["cancelled", "finished"], id="its first end could not be sent"),
        pytest.param([200], ["cancelled", "finished"], id="its first end was sent"),
    ],
)
def test_a_run_that_is_resumed_sends_a_message_about_its_last_end(
    before: list[int], got: list[str]
) -> None:
    make_hook(on_end=True)
    run = cancelled()
    receiver = Receiver(*before)
    if before:
        deliver(receiver)

    resume_run(run)
    deliver(receiver)  # while it goes on
    work()
    deliver(receiver)

    assert [body["data"]["status"] for body in receiver.bodies] == got
    states = ["delivered" if before == [200] else "dropped", "delivered"]
    assert list(Delivery.objects.order_by("pk").values_list("state", flat=True)) == states
    assert not has_due()


def test_an_attempt_that_fails_after_its_run_was_resumed_is_not_repeated() -> None:
    make_hook(on_end=True)
    run = cancelled()

    async def resume_meanwhile(_: OutgoingMessage) -> WebAnswer:
        await sync_to_async(resume_run)(run)
        return WebAnswer(503, "")

    deliver_due(send=resume_meanwhile)

    assert Delivery.objects.get().state == "dropped"
    assert not has_due()


def test_a_message_names_cases_numbers_and_links(settings: Any) -> None:
    settings.SITE = "https://evals.example.org"
    make_hook()
    run = got_worse()
    receiver = Receiver()

    deliver(receiver)

    data = receiver.bodies[-1]["data"]
    assert data["url"] == f"https://evals.example.org/admin/evals_app/run/{run.pk}/change/"
    assert data["compare_url"].endswith(f"?run={run.baseline_id}&run={run.pk}")
    assert (data["verdict"], data["cases"], data["cases_passed"]) == ("failed", 2, 0)
    assert data["worse"] == {"count": 2, "names": ["case 1", "case 2"]}
    assert data["failed"] == data["worse"]


def test_a_run_is_compared_once_for_all_of_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    make_hook()
    make_hook(name="Other")
    got_worse()
    read: list[Run] = []

    def outcomes(run: Run) -> dict[str, CaseOutcome]:
        read.append(run)
        return case_outcomes(run)

    monkeypatch.setattr(notices, "case_outcomes", outcomes)
    receiver = Receiver()
    deliver(receiver)

    assert [body["type"] for body in receiver.bodies] == ["run.worse", "run.worse"]
    assert len(read) == 2  # it, and its baseline


def test_a_webhook_of_some_suites_hears_of_no_other() -> None:
    other = make_suite(slug="other", name="Other", cases=1)
    make_hook(on_end=True).suites.set([other])

    finished(make_suite(["bye"], agent=other.agent))

    assert not has_due()


def test_a_webhook_whose_suites_are_deleted_does_not_hear_of_all_others() -> None:
    agent = make_agent()
    one, two, three, four = (
        make_suite(["bye"], slug=slug, agent=agent) for slug in ("one", "two", "three", "four")
    )
    alone, both = make_hook(), make_hook()
    alone.suites.set([one])
    both.suites.set([two, three])

    one.delete()
    two.delete()
    assert list(Webhook.objects.filter(is_enabled=True)) == [both]

    both.suites.add(four)
    Suite.objects.all().delete()
    assert not Webhook.objects.filter(is_enabled=True).exists()


def test_a_message_that_does_not_arrive_is_sent_again_for_a_day_and_then_given_up() -> None:
    hook = make_hook()
    failed()
    receiver = Receiver(500, WebError("The connection broke."), 302, 404, 500, 500)
    now = timezone.now()

    deliver_due(now, receiver)
    waits = []
    for _ in PAUSES:
        next_at = Delivery.objects.get().next_at
        assert next_at is not None
        waits.append(next_at - now)
        assert deliver_due(next_at - timedelta(seconds=1), receiver) == 0
        now = timezone.now()
        deliver_due(next_at, receiver)

    (delivery,) = hook.deliveries.all()
    assert (delivery.state, delivery.attempts, delivery.status_code) == ("failed", 6, 500)
    assert len(receiver.got) == len(PAUSES) + 1
    assert [round(wait.total_seconds() / 60) for wait in waits] == [1, 10, 60, 360, 1020]
    assert len({message.body for message in receiver.got}) == 1
    assert len({message.headers["webhook-id"] for message in receiver.got}) == 1


def test_what_another_process_sends_is_left_to_it_until_it_must_be_dead() -> None:
    make_hook()
    failed()
    now = timezone.now()
    receiver = Receiver()
    Delivery.objects.update(next_at=now + timedelta(minutes=2), attempts=1)  # it took the message

    assert deliver_due(now, receiver) == 0
    assert receiver.got == []
    assert deliver_due(now + timedelta(minutes=3), receiver) == 1


def test_a_late_process_does_not_undo_what_a_later_one_noted() -> None:
    make_hook()
    failed()

    class Overtaken(Receiver):
        async def __call__(self, message: OutgoingMessage) -> WebAnswer:
            await sync_to_async(Delivery.objects.update)(attempts=2, state="delivered")
            return await super().__call__(message)

    deliver(Overtaken(500))

    assert Delivery.objects.get().state == "delivered"


def test_an_error_that_no_one_expected_keeps_no_other_message_waiting() -> None:
    make_hook()
    make_hook()
    finished(make_suite(["bye"]))

    deliver(Receiver(RuntimeError("Oops")))

    waiting, delivered = Delivery.objects.order_by("-state")
    assert (waiting.state, delivered.state) == ("waiting", "delivered")
    assert "Internal error" in waiting.problem


def test_an_answer_that_postgresql_cannot_store_is_noted() -> None:
    make_hook(url="https://hooks.example.org/in")
    finished(make_suite(["bye"]))

    deliver(Receiver(answer_text="N\x00L"))

    assert Delivery.objects.get().answer == "N\ufffdL"


def test_a_message_can_be_sent_again_with_the_same_id() -> None:
    make_hook()
    failed()
    receiver = Receiver(200, 200)
    deliver(receiver)

    assert send_again(Delivery.objects.get())
    assert not send_again(Delivery.objects.get())
    deliver(receiver)

    first, second = receiver.got
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert Delivery.objects.get().state == "delivered"


def test_a_message_reaches_a_real_server_and_its_signature_is_right() -> None:
    with WebServer(lambda _: Sent.text("Welcome")) as server:
        hook = make_hook(url=f"http://localhost:{server.port}/in?key=1")

        delivery = send_test(hook)

    (asked,) = server.asked
    assert (delivery.state, delivery.status_code) == ("delivered", 200)
    assert delivery.answer == ""  # of a host in a private network
    assert (asked.method, asked.path, asked.body["type"]) == ("POST", "/in?key=1", "test")
    assert asked.headers["webhook-id"] == str(delivery.message_id)
    assert asked.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (Sent(status=302, headers={"location": "http://localhost:1/secret-path"}), "redirect"),
        (Sent(status=410), ""),
    ],
)
def test_a_test_that_does_not_arrive_says_why_and_is_not_repeated(answer: Sent, word: str) -> None:
    def respond(_: Asked) -> Sent:
        return answer

    with WebServer(respond) as server:
        delivery = send_test(make_hook(url=f"http://localhost:{server.port}/secret-path"))

    assert delivery.state == "failed"
    assert word in delivery.problem
    assert "secret-path" not in delivery.problem
    assert not has_due()


def test_an_address_of_this_machine_that_is_not_permitted_is_not_called() -> None:
    delivery = send_test(make_hook(url="http://127.0.0.1:9/"))

    assert delivery.state == "failed"
    assert "EVALS_PRIVATE_HOSTS" in delivery.problem


# E-mail


def person(name: str = "ann", **columns: Any) -> User:
    ann = User.objects.create_user(name, **{"email": f"{name}@example.org"} | columns)
    ann.user_permissions.set(Permission.objects.filter(codename="view_run"))
    return ann


def test_people_get_one_email_about_what_they_asked_for(settings: Any) -> None:
    settings.HAS_MAIL_SERVER = True
    suite = make_suite(["hello", "bye"])
    ann, bob = person(), person("bob")
    MailWish.objects.create(person=ann, suite=suite, on_end=True)
    MailWish.objects.create(person=ann, suite=None)
    MailWish.objects.create(person=bob, suite=None)

    finished(suite, by=ann)
    deliver(Receiver())

    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (
        *(["ann@example.org"], "Greetings failed: 1 of 2 cases passed"),
    )
    assert "* case 2" in sent.body
    assert Delivery.objects.get().state == "delivered"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda _: User.objects.update(email=""), id="no address"),
        pytest.param(lambda _: User.objects.update(is_active=False), id="inactive"),
        pytest.param(lambda ann: ann.user_permissions.clear(), id="may not see runs"),
        pytest.param(lambda _: MailWish.objects.all().delete(), id="does not want it any more"),
    ],
)
def test_nobody_gets_an_email_who_may_not(settings: Any, change: Callable[[User], Any]) -> None:
    settings.HAS_MAIL_SERVER = True
    ann = person()
    MailWish.objects.create(person=ann, suite=None)
    finished(make_suite(["bye"]), by=ann)

    change(ann)
    deliver(Receiver())

    assert mail.outbox == []
    assert Delivery.objects.get().state == "dropped"


def test_without_a_mail_server_nothing_is_written() -> None:
    ann = person()
    MailWish.objects.create(person=ann, suite=None)

    finished(make_suite(["bye"]), by=ann)

    assert not Delivery.objects.exists()


def test_a_process_without_a_mail_server_leaves_emails_to_others(settings: Any) -> None:
    settings.HAS_MAIL_SERVER = True
    ann = person()
    MailWish.objects.create(person=ann, suite=None)
    finished(make_suite(["bye"]), by=ann)

    settings.HAS_MAIL_SERVER = False
    assert not has_due()
    deliver(Receiver())

    assert Delivery.objects.get().state == "waiting"


def test_an_email_that_the_server_does_not_take_is_sent_again(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HAS_MAIL_SERVER = True
    ann = person()
    MailWish.objects.create(person=ann, suite=None)
    finished(make_suite(["bye"]), by=ann)

    def refuse(*_: object) -> int:
        raise SMTPException("Try later.")

    with monkeypatch.context() as patched:
        patched.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", refuse)
        deliver(Receiver())

    delivery = Delivery.objects.get()
    assert (delivery.state, "Try later." in delivery.problem) == ("waiting", True)
    deliver_due(delivery.next_at)
    assert len(mail.outbox) == 1


def test_old_messages_are_removed_but_not_what_waits() -> None:
    hook = make_hook()
    hook.deliveries.create(state="delivered")
    hook.deliveries.create(state="waiting")
    hook.deliveries.update(created_at=timezone.now() - timedelta(days=31))

    assert forget_deliveries() == 1
    assert hook.deliveries.get().state == "waiting"
