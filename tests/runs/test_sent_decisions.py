"""The decision that is sent: what is read for it, and that every way gives the same page."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from lxml import html

from evals_app.library.shipping import accept_failures, decide_shipping
from evals_app.management.reporting import write_reports
from evals_app.management.run_options import WantedReport
from evals_app.models import Run, Settlement, Snapshot, Suite, Transcript
from evals_app.reports.renderers.sent_decision import SentDecision
from evals_app.runs.release import release_of
from evals_app.runs.sent_decisions import (
    ALL_SHOWN,
    ANSWER_ALONE,
    MAX_WITH_REPLIES,
    CannotSendError,
    Shown,
    decision_on_run,
)
from tests.api.clients import make_client, make_user
from tests.makers import make_run, make_suite, make_trial
from tests.runs.settlements import two_runs
from tests.runs.test_release import settled_worse

pytestmark = pytest.mark.django_db

GOOD = {"Return": ["passed"] * 3, "Late": ["passed"] * 3}
RETURN_FAILS = {"Return": ["failed"] * 3, "Late": ["passed"] * 3}
NOW = "It is gone."


def say(run: Run, reply: str) -> Run:
    """Let all agents of a run have said this."""
    stored = make_trial(reply=reply).to_json()
    Transcript.objects.filter(execution__run=run).update(trial=stored)
    return run


def one_worse() -> Run:
    """Release a version, and run the next one, in which a case fails."""
    released = make_run(GOOD)
    Suite.objects.update(baseline=released)
    return say(make_run(RETURN_FAILS, baseline=released), NOW)


def sent_of(run: Run, shown: Shown = ALL_SHOWN) -> SentDecision:
    run = Run.objects.select_related("suite__agent", "suite__baseline").get(pk=run.pk)
    return decision_on_run(run, link=lambda model, pk: f"https://host/{model}/{pk}", shown=shown)


def replies(sent: SentDecision) -> list[list[str] | None]:
    """Return the replies of both sides of the first case."""
    case = sent.cases.first[0]
    return [
        [message["content"] for message in side.execution["messages"][1:]]
        if side and side.execution
        else None
        for side in (case.base, case.head)
    ]


def test_a_case_that_got_worse_has_the_replies_of_both_versions() -> None:
    run = one_worse()

    sent = sent_of(run)

    assert [case.name for case in sent.cases.first] == ["Return"]
    assert replies(sent) == [["Your refund of 20 EUR is on its way."], [NOW]]
    assert (sent.base and sent.base.label) == f"Run {run.pk - 1}, released"
    assert sent.numbers[0].label == "Cases passed"


def test_without_the_rights_no_conversation_and_no_value_is_read() -> None:
    sent = sent_of(one_worse(), ANSWER_ALONE)

    assert replies(sent) == [None, None]
    assert not sent.shows_replies
    assert sent.changes is None or sent.changes.prompts is None


def test_a_first_run_has_the_cases_that_failed() -> None:
    make_suite(run_rule=Suite.RunRule.GATES)

    sent = sent_of(make_run(RETURN_FAILS))

    assert sent.base is None
    assert [case.name for case in sent.cases.first] == ["Return"]
    assert replies(sent) == [None, ["Your refund of 20 EUR is on its way."]]


def test_of_many_cases_the_first_have_their_replies() -> None:
    names = [f"Case {number:02}" for number in range(MAX_WITH_REPLIES + 5)]
    run = make_run({name: ["failed"] for name in names})

    sent = sent_of(run)

    assert [case.name for case in sent.cases.first] == names[:MAX_WITH_REPLIES]
    assert sent.cases.total == len(names)


def test_how_often_it_asks_does_not_depend_on_the_number_of_cases() -> None:
    def asked(count: int) -> int:
        names = [f"Case {number}" for number in range(count)]
        Suite.objects.update(baseline=make_run(dict.fromkeys(names, ["passed"] * 3)))
        run = make_run(dict.fromkeys(names, ["failed"] * 3))
        with CaptureQueriesContext(connection) as queries:
            assert len(sent_of(run).cases.first) == count
        return len(queries)

    make_suite()
    assert asked(2) == asked(15)


def test_what_is_shipped_is_still_compared_with_what_was_released_before() -> None:
    run = one_worse()
    suite = run.suite
    assert suite is not None
    answered = release_of(suite, run=run).sentence
    decide_shipping(
        run, shipped=True, answered=answered, is_yes=False, by=make_user(), reason="Rare."
    )

    sent = sent_of(run)

    assert sent.check.reasons[0].kind.value == "released"
    assert (sent.base and sent.base.role) == "released before"
    assert [case.name for case in sent.cases.first] == ["Return"]
    assert sent.decision is not None
    assert (sent.decision["shipped"], sent.decision["answered"]) == (True, answered)


def test_a_retest_of_both_runs_and_accepted_failures_are_part_of_it() -> None:
    suite = make_suite()
    settled_worse(suite)
    run = Run.objects.latest("pk")
    accept_failures(run, ["A"], by=make_user(), reason="Known.")

    sent = sent_of(run)

    (settlement,) = sent.settlements
    assert settlement["cases"][0]["finding"] == "really_worse"
    assert [row["reason"] for row in sent.accepted] == ["Known."]
    assert [(case.name, case.kind.value) for case in sent.cases.first] == [("A", "accepted")]
    Settlement.objects.update(status=Settlement.Status.CANCELLED)
    assert sent_of(run).settlements == []


def test_what_was_changed_between_real_runs_is_named() -> None:
    base, head = two_runs()
    Suite.objects.update(baseline=base)

    sent = sent_of(head)

    assert sent.changes is not None
    assert [part.part.value for part in sent.changes.parts or ()] == ["agent"]
    assert replies(sent) == [["hello, second"], ["bye"]]


def test_prompts_are_those_of_the_snapshots() -> None:
    base, head = two_runs()
    Suite.objects.update(baseline=base)
    for run, prompt in ((base, "Be kind."), (head, "Be short.")):
        _write_prompt(run, prompt)

    (with_values, without) = (sent_of(head, shown).changes for shown in (ALL_SHOWN, ANSWER_ALONE))

    assert with_values is not None
    assert with_values.prompts == ("Be kind.", "Be short.")
    assert without is not None
    assert without.prompts is None


def _write_prompt(run: Run, prompt: str) -> None:
    content = run.snapshot.content.replace('"system_prompt":""', f'"system_prompt":"{prompt}"', 1)
    Snapshot.objects.filter(pk=run.snapshot_id).update(content=content)


def test_runs_whose_suite_was_deleted_have_no_decision() -> None:
    run = make_run(["passed"])
    Suite.objects.all().delete()

    with pytest.raises(CannotSendError, match="was deleted"):
        sent_of(run)


# Every way to it


def by_rest(run: Run, permissions: list[str] | None, _: Path) -> bytes:
    client = make_client("read", permissions=permissions)
    return client.get(f"/api/runs/{run.pk}/report/?kind=decision").getvalue()


def by_page(run: Run, permissions: list[str] | None, _: Path) -> bytes:
    user = make_user(permissions)
    user.is_staff = True
    user.save()
    client = Client()
    client.force_login(user)
    page = client.get(reverse("admin:evals_app_run_change", args=[run.pk]))
    (address, *_) = html.fromstring(page.content).xpath("//a[. = 'Send this decision']/@href")
    response = client.get(address)
    assert "attachment" in response.headers["Content-Disposition"]
    return bytes(response.getvalue())


def by_command(run: Run, _: list[str] | None, folder: Path) -> bytes:
    file = folder / "decision.html"
    with pytest.raises(SystemExit):
        call_command("decide", run.suite_slug, html=file, stdout=StringIO())
    return file.read_bytes()


WAYS: list[Any] = [by_rest, by_page, by_command]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_page_with_the_answer(
    way: Callable[[Run, list[str] | None, Path], bytes], tmp_path: Path
) -> None:
    run = one_worse()
    suite = run.suite
    assert suite is not None

    page = html.document_fromstring(way(run, None, tmp_path).decode())

    assert page.xpath("string(//h1)") == release_of(suite, run=run).sentence
    assert [reply.text_content() for reply in page.find_class("reply")][1] == NOW


@pytest.mark.parametrize("way", [by_rest, by_page])
def test_whoever_may_not_read_conversations_gets_none(
    way: Callable[[Run, list[str] | None, Path], bytes], tmp_path: Path
) -> None:
    page = way(one_worse(), ["evals_app.view_run"], tmp_path).decode()

    assert "Not yet" in page
    assert "Return" in page
    assert NOW not in page
    assert "Where is my refund?" not in page


def test_the_page_of_a_retest_has_it_too(admin_client: Client) -> None:
    settled_worse(make_suite())
    settlement = Settlement.objects.get()
    page = reverse("admin:evals_app_settlement_change", args=[settlement.pk])
    address = reverse("admin:evals_app_run_report", args=[settlement.head_id, "decision"])

    assert offers(admin_client.get(page)) == [address]
    # Without the released version, the retest is no part of the decision.
    Suite.objects.update(baseline=None)
    assert offers(admin_client.get(page)) == []


def test_runs_that_say_nothing_about_the_version_offer_none(admin_client: Client) -> None:
    run = make_run(["passed"], is_tryout=True)

    assert offers(admin_client.get(reverse("admin:evals_app_run_change", args=[run.pk]))) == []


def test_without_its_suite_a_run_has_none(admin_client: Client) -> None:
    run = make_run(["passed"])
    Suite.objects.all().delete()
    page = reverse("admin:evals_app_run_change", args=[run.pk])
    by_address = admin_client.get(reverse("admin:evals_app_run_report", args=[run.pk, "decision"]))
    over_rest = make_client("read").get(f"/api/runs/{run.pk}/report/?kind=decision")

    assert offers(admin_client.get(page)) == []
    assert by_address.status_code == 404
    assert over_rest.status_code == 422
    assert "was deleted" in over_rest.json()["detail"]
    with pytest.raises(CommandError, match="was deleted"):
        write_reports([Run.objects.get()], [WantedReport("decision", Path("/dev/null"))], site=None)


def offers(page: Any) -> list[str]:
    """Return the addresses of decisions that a page offers."""
    links = html.fromstring(page.content).xpath("//a[contains(@href, '/report/decision/')]/@href")
    return sorted(set(links))


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    make_run(["passed"])

    with pytest.raises(CommandError, match="there is no folder"):
        call_command("decide", "refunds", html=tmp_path / "none" / "decision.html")
