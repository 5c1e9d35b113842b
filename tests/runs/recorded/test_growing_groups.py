"""A group that grows is noticed once, with one example, and is over when its share is as before."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse

from evals_app.engine.statistics.agreement import Proportion
from evals_app.library.saving import add_general_check
from evals_app.library.shipping import set_readiness
from evals_app.models import (
    Case,
    ConversationSet,
    DailyImport,
    Delivery,
    DueImport,
    GroupRise,
    MailWish,
    NoteGroup,
    Reading,
    Suite,
    TopicReadiness,
    Webhook,
)
from evals_app.runs.notices import deliver_due, drop_waiting
from evals_app.runs.reading.real_topics import RealTopic
from evals_app.runs.recorded.group_checks import check_of
from evals_app.runs.topics import topics_of
from tests.runs.judged_runs import JUDGE_RULES
from tests.runs.recorded.conversations import make_set, row_of
from tests.runs.recorded.daily import DAY, NIGHT, every_day, fire, owner, put
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path / "data")
    (tmp_path / "exports").mkdir()
    monkeypatch.setattr(settings, "IMPORT_FOLDERS", [str(tmp_path / "exports")])
    return tmp_path / "exports"


@pytest.fixture
def target() -> ConversationSet:
    return make_set()


@pytest.fixture
def suite() -> Suite:
    make_agent("judge", name="Judge", rules=JUDGE_RULES)
    return make_suite(judge_model="scripted/judge")


def followed(
    target: ConversationSet, suite: Suite, name: str = "Rude", criterion: str = ""
) -> NoteGroup:
    """Make a group of notes whose check is part of a suite."""
    reading, _ = Reading.objects.get_or_create(conversation_set=target)
    group = NoteGroup.objects.create(reading=reading, name=name, suite=suite)
    group.criterion = criterion or "Be polite."
    check = check_of(group, group.criterion)
    group.assertion = add_general_check(suite, check, by=owner())
    group.save()
    return group


class Days:
    """Days with so many conversations, of which some are rude."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.day = folder, 0

    def __call__(self, failed: int, count: int, *, topic: str = "price") -> DueImport:
        """Bring the conversations of the next day; those that fail have the topic."""
        self.day += 1
        rows = [
            row_of(
                f"{self.day}-{n}",
                ("user", f"Question {n}"),
                ("assistant", "This is rude." if n < failed else "Fine."),
                tags=[topic if n < failed else "return"],
            )
            for n in range(count)
        ]
        put(self.folder, f"{self.day}.jsonl", rows)
        return fire(self.at)

    @property
    def at(self) -> datetime:
        return NIGHT + (self.day - 1) * DAY


@pytest.fixture
def days(folder: Path, target: ConversationSet, suite: Suite) -> Days:
    every_day(target, folder, suite)
    return Days(folder)


def state(due: DueImport, group: NoteGroup) -> tuple[str, list[int], list[int]]:
    found = due.groups[str(group.pk)]
    return found["growth"], found["topics"][""], found["before"]


def test_a_rise_is_noticed_once_and_is_over_when_it_is_as_before(
    days: Days, target: ConversationSet, suite: Suite
) -> None:
    group = followed(target, suite)
    assert state(days(1, 40), group) == ("too_few", [1, 40], [0, 0])
    assert state(days(1, 40), group) == ("not_shown", [1, 40], [1, 40])
    assert not GroupRise.objects.exists()

    assert state(days(12, 40), group) == ("grew", [12, 40], [2, 80])
    rise = GroupRise.objects.current().get()
    assert (rise.failed, rise.total, rise.failed_before, rise.total_before) == (12, 40, 2, 80)
    assert (rise.topics, rise.began_at) == (["price"], days.at)
    assert rise.example is not None
    assert rise.example.case == "3-0"

    assert state(days(10, 40), group) == ("grew", [10, 40], [2, 80])  # as before it grew
    assert GroupRise.objects.current().get() == rise
    assert state(days(0, 5), group)[0] == "grew"  # too few to say that it is over

    assert state(days(1, 40), group) == ("not_shown", [1, 40], [2, 80])
    assert not GroupRise.objects.current().exists()
    assert GroupRise.objects.get().ended_at == days.at


def test_gradings_before_the_window_and_by_other_words_do_not_count(
    days: Days, target: ConversationSet, suite: Suite
) -> None:
    group = followed(target, suite)
    days(1, 40)
    days.day += 40
    DailyImport.objects.update(next_at=days.at)
    assert state(days(12, 40), group) == ("too_few", [12, 40], [0, 0])
    assert group.assertion is not None
    group.assertion.options = {"criteria": "Be kind."}
    group.assertion.save()
    assert state(days(1, 40), group) == ("too_few", [1, 40], [0, 0])


def test_days_of_a_rise_are_no_measure_for_the_next_one(
    days: Days, target: ConversationSet, suite: Suite
) -> None:
    group = followed(target, suite)
    for failed in (1, 1, 12, 12, 1):
        days(failed, 40)
    assert state(days(12, 40), group) == ("grew", [12, 40], [3, 120])
    assert GroupRise.objects.count() == 2


def test_a_rise_is_over_when_nothing_is_graded_any_more(
    days: Days, target: ConversationSet, suite: Suite, folder: Path
) -> None:
    followed(target, suite)
    days(1, 40)
    days(20, 40)
    every_day(target, folder, suite)  # saved again
    assert GroupRise.objects.current().count() == 1
    every_day(target, folder)
    assert not GroupRise.objects.current().exists()


def test_a_group_that_grows_everywhere_names_no_topic(
    days: Days, target: ConversationSet, suite: Suite
) -> None:
    followed(target, suite)
    days(1, 40)
    days(20, 40, topic="")
    assert GroupRise.objects.current().get().topics == []


def test_groups_without_a_check_or_that_were_removed_are_not_followed(
    days: Days, target: ConversationSet, suite: Suite
) -> None:
    group = followed(target, suite)
    NoteGroup.objects.create(reading=group.reading, name="No check")
    assert list(days(1, 40).groups) == [str(group.pk)]
    days(20, 40)
    group.removed_at = NIGHT
    group.save()
    assert not GroupRise.objects.current().exists()
    assert days(20, 40).groups == {}


# Messages


@pytest.fixture
def reader() -> User:
    person = owner()
    MailWish.objects.create(person=person, on_failure=False, on_worse=False, on_growth=True)
    return person


def hook(**changes: Any) -> Webhook:
    wishes = {"on_end": False, "on_failure": False, "on_worse": False, "on_growth": True}
    url = "https://hooks.example.org/x"
    return Webhook.objects.create(**({"name": "Chat", "url": url} | wishes | changes))


def test_a_rise_is_told_once_with_shares_and_an_example_but_no_text(
    days: Days,
    target: ConversationSet,
    suite: Suite,
    reader: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "HAS_MAIL_SERVER", True)
    other = make_suite(slug="other", agent=suite.agent)
    hooks = [hook(), hook(format="slack")]
    for unwanted in (hook(on_growth=False, on_end=True), hook(is_enabled=False)):
        unwanted.suites.set([])
    hook().suites.set([other])
    followed(target, suite)
    for failed in (1, 12, 12):
        days(failed, 40)

    told = Delivery.objects.filter(event="grew").order_by("pk")
    assert [row.webhook for row in told] == [*hooks, None]
    body = json.loads(told[0].body)
    rise = GroupRise.objects.get()
    assert body["type"] == "group.grew"
    data = body["data"]
    assert (data["now"]["failed"], data["now"]["of"]) == (12, 40)
    assert data["now"]["low"] < data["now"]["share"] < data["now"]["high"]
    assert (data["before"]["failed"], data["before"]["of"]) == (1, 40)
    assert (data["group"], data["topics"], data["example"]["id"]) == ("Rude", ["price"], "2-0")
    assert data["example"]["url"].endswith(f"/execution/{rise.example_id}/change/")
    assert "blocks" in json.loads(told[1].body)
    assert rise.run is not None
    drop_waiting(rise.run)  # as if its run were resumed

    sent: list[str] = []

    async def send(message: Any) -> Any:
        sent.append(message.body.decode())
        raise TimeoutError

    deliver_due(send=send)
    [mailed] = [one for one in mail.outbox if "Rude" in one.subject]
    assert mailed.to == [reader.email]
    assert f"/execution/{rise.example_id}/change/" in mailed.body
    assert not any("This is rude" in text for text in [*sent, mailed.body])


# Where it shows


def topic(name: str, suite: Suite) -> Any:
    found = topics_of(suite.agent).find(name)
    assert found is not None
    return found


def test_a_topic_says_how_many_real_conversations_failed_and_what_grew_in_it(
    days: Days, target: ConversationSet, suite: Suite, admin_client: Client
) -> None:
    Case.objects.create(suite=suite, name="Price", tags=["price", "unheard"], position=9)
    group = followed(target, suite)
    assert topic("price", suite).real.failed == Proportion(0, 0)
    for failed in (1, 2):
        days(failed, 40)
    real = topic("price", suite).real
    assert (real.failed, real.sets, list(real.rises)) == (Proportion(3, 3), (target.pk,), [])

    set_readiness(suite.agent, "price", state="ready", known=["price"], by=owner())
    TopicReadiness.objects.update(created_at=NIGHT)
    days(20, 40)
    found = topic("price", suite)
    assert found.real.failed == Proportion(23, 23)
    assert [rise.group for rise in found.real.rises] == [group]
    assert topic("unheard", suite).real == RealTopic()

    page = admin_client.get(reverse("admin:evals_app_agent_topics", args=[suite.agent.pk]))
    lines = {line.topic["topic"]: line for line in page.context["lines"]}
    assert lines["price"].real.startswith("23 of 23")
    assert f"/conversationset/{target.pk}/" in lines["price"].real_url
    [(words, url)] = lines["price"].grown
    assert "20 of 40" in words
    assert url.startswith(f"/admin/evals_app/conversationset/{target.pk}/")
    assert (lines["unheard"].real, lines["unheard"].grown) == ("", [])
    assert sum("Rude" in remark for remark in page.context["remarks"]) == 1
    [first, *_] = admin_client.get("/admin/").context["look"]
    assert "Rude" in first.title
    assert f"/conversationset/{target.pk}/" in first.url

    set_readiness(suite.agent, "price", state="ready", known=["price"], by=owner())
    page = admin_client.get(reverse("admin:evals_app_agent_topics", args=[suite.agent.pk]))
    assert not any("Rude" in remark for remark in page.context["remarks"])  # a person knows it
