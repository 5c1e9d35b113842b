"""What people decide about versions, and the failures that they accept, as rows."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.utils import timezone

from evals_app.library.shipping import (
    CannotDecideError,
    accept_failures,
    decide_shipping,
    set_readiness,
    withdraw_acceptance,
)
from evals_app.models import (
    AcceptedFailure,
    Agent,
    CaseResult,
    Run,
    ShipDecision,
    Suite,
    TopicReadiness,
)
from evals_app.runs.release import release_of
from tests.api.clients import make_user
from tests.makers import make_run

pytestmark = pytest.mark.django_db

GOOD = {"A": ["passed"] * 3, "B": ["passed"] * 3}
A_FAILS = {"A": ["failed"] * 3, "B": ["passed"] * 3}


@pytest.fixture
def ana() -> User:
    return make_user()


def run_of(states: dict[str, list[str]], *, content: str = "1") -> Run:
    """Write a full run; its cases have this content."""
    run = make_run(states)
    CaseResult.objects.filter(run=run).update(digest=content)
    return run


def sentence() -> str:
    return release_of(Suite.objects.get()).sentence.replace(" (scripted)", "", 1)


def test_what_is_shipped_becomes_the_released_version(ana: User) -> None:
    run = make_run(GOOD)

    decision = decide_shipping(run, shipped=True, answered="Yes: all.", is_yes=True, by=ana)

    assert Suite.objects.get().baseline == run
    assert decision.in_words == f"Shipped on {timezone.now():%Y-%m-%d} by {decision.by_name}"
    release = release_of(Suite.objects.get())
    assert release.decision == decision
    assert release.to_json()["decision"]["answered"] == "Yes: all."
    notes = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert [note.partition(" ")[0] for note in notes] == ["Shipped", "Run"]


def test_the_newest_decision_on_a_run_counts_and_all_are_kept(ana: User) -> None:
    run = make_run(GOOD)
    for shipped, reason in ((True, ""), (False, "Rolled back.")):
        decide_shipping(run, shipped=shipped, answered="Yes.", is_yes=True, by=ana, reason=reason)

    release = release_of(Suite.objects.get())

    assert release.decision is not None
    assert release.decision.in_words.endswith(": “Rolled back.”")
    assert ShipDecision.objects.count() == 2


def test_a_decision_outlives_its_run(ana: User) -> None:
    run = make_run(GOOD)
    decide_shipping(run, shipped=False, answered="Yes.", is_yes=True, by=ana, reason="Not now.")
    number = run.pk

    run.delete()

    decision = ShipDecision.objects.get()
    assert (decision.run, decision.run_number) == (None, number)


def test_a_run_that_cannot_be_the_released_version_is_noted_only(ana: User) -> None:
    run = make_run({"A": ["failed"]})

    decide_shipping(
        run, shipped=True, answered="No: it fails.", is_yes=False, by=ana, reason="Urgent."
    )

    assert ShipDecision.objects.get().shipped
    assert Suite.objects.get().baseline is None


@pytest.mark.parametrize(
    ("shipped", "is_yes"),
    [
        pytest.param(True, False, id="shipped against the answer"),
        pytest.param(False, True, id="not shipped"),
    ],
)
def test_a_decision_needs_a_reason(ana: User, *, shipped: bool, is_yes: bool) -> None:
    with pytest.raises(CannotDecideError, match="Say why") as refused:
        decide_shipping(
            make_run(GOOD), shipped=shipped, answered="?", is_yes=is_yes, by=ana, reason=" "
        )

    assert refused.value.key == "reason"
    assert not ShipDecision.objects.exists()


def test_only_runs_that_have_ended_are_decided_on(ana: User) -> None:
    with pytest.raises(CannotDecideError, match="has not ended"):
        decide_shipping(make_run(["queued"]), shipped=True, answered="", is_yes=True, by=ana)


def test_a_run_that_was_resumed_or_deleted_meanwhile_is_not_decided_on(ana: User) -> None:
    resumed, deleted = make_run(GOOD), make_run(GOOD)
    Run.objects.filter(pk=resumed.pk).update(
        status=Run.Status.RUNNING, finished_at=None, verdict=""
    )
    Run.objects.filter(pk=deleted.pk).delete()

    for run, why in ((resumed, "has not ended"), (deleted, "was deleted")):
        with pytest.raises(CannotDecideError, match=why):
            decide_shipping(run, shipped=True, answered="", is_yes=True, by=ana)


def test_an_accepted_failure_counts_until_its_case_passes_again(ana: User) -> None:
    Suite.objects.update(baseline=run_of(GOOD))
    first = run_of(A_FAILS)
    Suite.objects.update(baseline=Run.objects.earliest("pk"))
    assert sentence() == "Not yet: 1 case got worse."

    accept_failures(first, ["A"], by=ana, reason="Fixed in May.")

    assert sentence() == "Yes: 1 known failure, accepted until it passes again."
    words = [release_of(Suite.objects.get()).words(reason) for reason in _reasons()]
    assert words[0].detail.startswith("“A”: “Fixed in May.” (")
    assert words[1].sentence == "The other compared case did not get worse."
    run_of(A_FAILS)
    assert sentence().startswith("Yes: 1 known failure")
    run_of(GOOD)
    assert sentence() == "Yes: None of the 2 compared cases got worse."
    run_of(A_FAILS)
    assert sentence() == "Not yet: 1 case got worse."


def test_an_accepted_failure_says_nothing_of_earlier_runs(ana: User) -> None:
    base, earlier, later = run_of(A_FAILS), run_of(A_FAILS), run_of(A_FAILS)
    accept_failures(later, ["A"], by=ana, reason="Fixed in May.")
    suite = Suite.objects.get()

    told = [release_of(suite, run=run).sentence for run in (earlier, later)]
    as_released = release_of(suite, run=base, released=base).sentence

    assert told == [
        "No (scripted): 1 case failed, and all must pass.",
        "Yes (scripted): 1 known failure, accepted until it passes again.",
    ]
    assert as_released == "Yes (scripted): This is the released version; 1 of 2 cases failed in it."


def _reasons() -> tuple:  # type: ignore[type-arg]
    return release_of(Suite.objects.get()).check.reasons


def test_an_accepted_failure_counts_no_longer_once_its_case_was_edited(ana: User) -> None:
    accept_failures(run_of(A_FAILS), ["A"], by=ana, reason="Known.")
    assert sentence().startswith("Yes")

    run_of(A_FAILS, content="2")

    assert sentence() == "No: 1 case failed, and all must pass."


def test_an_accepted_failure_ends_with_its_day(ana: User) -> None:
    run = run_of(A_FAILS)
    today = timezone.now().date()
    accept_failures(run, ["A"], by=ana, reason="Known.", until=today)
    assert sentence() == f"Yes: 1 known failure, accepted until {today}."

    AcceptedFailure.objects.update(until=today - timedelta(days=1))

    assert sentence().startswith("No")


def test_an_accepted_failure_is_withdrawn_once(ana: User) -> None:
    (accepted,) = accept_failures(run_of(A_FAILS), ["A"], by=ana, reason="Known.")

    withdraw_acceptance(accepted, by=ana)
    withdraw_acceptance(accepted, by=ana)

    assert sentence().startswith("No")
    assert LogEntry.objects.count() == 2


def test_accepting_a_case_again_replaces_the_earlier_acceptance(ana: User) -> None:
    run = run_of(A_FAILS)
    for reason in ("First.", "Second."):
        accept_failures(run, ["A"], by=ana, reason=reason)

    assert [row.reason for row in release_of(Suite.objects.get()).accepted] == ["Second."]


@pytest.mark.parametrize(
    ("cases", "given", "words", "key"),
    [
        pytest.param([], ("Known.", None), "at least one case", "cases", id="no case"),
        pytest.param(["B 2"], ("Known.", None), "Did you mean 'B 1'?", "cases", id="unknown"),
        pytest.param(["A 1"], ("", None), "Say why", "reason", id="no reason"),
        pytest.param(["A 1"], ("x" * 2001, None), "at most 2,000", "reason", id="too long"),
        pytest.param(["A 1"], ("Known.", date(2020, 1, 1)), "is over", "until", id="too late"),
    ],
)
def test_what_cannot_be_accepted_is_refused(
    ana: User, cases: list[str], given: tuple[str, date | None], words: str, key: str
) -> None:
    reason, until = given
    run = make_run({"A 1": ["failed"], "B 1": ["passed"]})

    with pytest.raises(CannotDecideError) as refused:
        accept_failures(run, cases, by=ana, reason=reason, until=until)

    assert words in str(refused.value)
    assert refused.value.key == key
    assert not AcceptedFailure.objects.exists()


def set_returns(by: User, **said: Any) -> TopicReadiness:
    known = {"known": ["returns", "sizes"], "state": "ready"}
    agent = Agent.objects.get_or_create(slug="shop", defaults={"name": "Shop"})[0]
    return set_readiness(agent, **({"topic": "returns"} | known | said), by=by)


def test_each_word_on_a_topic_is_kept(ana: User) -> None:
    set_returns(ana)
    until = timezone.now().date()

    row = set_returns(ana, state="limited", note=" Unopened. ", owner=" Ben ", until=until)

    assert TopicReadiness.objects.count() == 2
    assert (row.owner, row.note, row.until) == ("Ben", "Unopened.", until)
    day = f"{timezone.now():%Y-%m-%d}"
    assert row.in_words == f"Ready with limits, set on {day} by {row.by_name}: “Unopened.”"
    entry = LogEntry.objects.latest("pk")
    assert entry.get_change_message() == f"“returns”: {row.in_words}"


@pytest.mark.parametrize(
    ("said", "key", "word"),
    [
        ({"topic": "return"}, "topic", "'returns'"),
        ({"state": "redy"}, "state", "'ready'"),
        ({"state": "limited", "note": " "}, "note", "limits"),
        ({"note": "x" * 2001}, "note", "2,000"),
        ({"owner": "x" * 151}, "owner", "150"),
        ({"until": date(2020, 1, 1)}, "until", "2020-01-01"),
    ],
)
def test_what_nobody_can_say_of_a_topic_is_refused(
    ana: User, said: dict[str, Any], key: str, word: str
) -> None:
    with pytest.raises(CannotDecideError) as refused:
        set_returns(ana, **said)

    assert refused.value.key == key
    assert word in str(refused.value)
    assert not TopicReadiness.objects.exists()
