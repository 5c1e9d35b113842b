"""Cases made of conversations, and checks added to those that ran."""

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User

from evals_app.engine.proposing.proposals import default_keys
from evals_app.engine.record.trial import ToolCall, Trial
from evals_app.formats.snapshots.run_snapshot import canonical_case, case_digest
from evals_app.library.making.case_making import (
    CannotMakeError,
    CaseOptions,
    LiveCase,
    add_checks,
    make_case,
    own_suite,
    recorded_suites,
    suites_for,
    write_case,
)
from evals_app.library.making.observing import MAX_OTHERS, ObservedConversation, observe
from evals_app.models import (
    Agent,
    Case,
    CaseResult,
    Execution,
    ReviewedVerdict,
    Run,
    SnapshotCase,
    Suite,
    Transcript,
)
from tests.authored import CONTAINS, a_case, write_suite
from tests.engine.makers import make_world
from tests.makers import make_execution, make_run, make_trial

pytestmark = pytest.mark.django_db

FIND = {
    "name": "orders.find",
    "url": "https://shop.example.org/orders/{id}",
    "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
}


def found(reference: str, **args: Any) -> Trial:
    call = ToolCall("orders.find", {"id": "A-1", **args}, result={"state": "sent"})
    return make_trial(
        case="Where is it",
        user="Where is my order A-1?",
        reply=f"It was sent 14 days ago, under {reference}.",
        calls=[call],
    )


def run_of(suite: Suite, *trials: Trial, state: str = "passed", **changes: Any) -> list[Execution]:
    """Write a run with these trials of the suite's case, as it is now."""
    run = make_run([], suite=suite, total=0, not_run=0, **changes)
    content = canonical_case(suite.cases.get(name="Where is it").to_spec())
    SnapshotCase.objects.get_or_create(
        snapshot=run.snapshot, position=0, defaults={"content": content}
    )
    CaseResult.objects.create(
        run=run, position=0, name="Where is it", digest=case_digest(content),
        trials=1, passed=1, failed=0, errored=0,
    )  # fmt: skip
    return [
        make_execution(run, "Where is it", state=state, trial=trial, position=0, number=number)
        for number, trial in enumerate(trials, 1)
    ]


def observed(execution: Execution) -> ObservedConversation:
    seen = observe(Execution.objects.select_related("run__snapshot").get(pk=execution.pk))
    assert seen is not None
    return seen


def made(execution: Execution, **changes: Any) -> Case:
    execution = Execution.objects.get(pk=execution.pk)
    seen = observed(execution)
    keys = default_keys(seen.proposals())
    user, _ = User.objects.get_or_create(username="author")
    return make_case(execution, seen, CaseOptions(**{"keys": keys, **changes}), by=user)


@pytest.fixture
def suite() -> Suite:
    written = write_suite([a_case(history=[{"role": "user", "content": "Hi"}])])
    Agent.objects.update(tools=["entity.query", FIND])
    return written


def test_a_case_has_the_turns_and_the_ticked_checks(suite: Suite) -> None:
    (execution,) = run_of(suite, found("RF-1"))

    case = made(execution, suite=suite)

    spec = case.to_spec()
    assert (case.suite, case.position) == (suite, 1)
    assert case.name == f"Where is it, run {execution.run_id}"
    assert [turn.user for turn in spec.turns] == ["Where is my order A-1?"]
    assert [check.type for check in spec.turns[0].assertions or []] == ["tool_called", "contains"]
    assert spec.turns[0].inherit
    entry = LogEntry.objects.get(object_id=str(case.pk))
    assert (entry.action_flag, entry.user.get_username()) == (ADDITION, "author")
    assert str(execution.pk) in entry.change_message


def test_a_second_case_of_the_same_has_another_name(suite: Suite) -> None:
    (execution,) = run_of(suite, found("RF-1"))

    names = [made(execution, suite=suite).name for _ in range(2)]

    assert names[1] == f"{names[0]} 2"
    with pytest.raises(CannotMakeError, match="already has"):
        made(execution, suite=suite, name=names[0])


def test_other_passed_trials_of_the_same_case_say_what_differs(suite: Suite) -> None:
    first, _ = run_of(suite, found("RF-1", at="x"), found("RF-2", at="y"))
    run_of(suite, found("RF-3", at="x"))
    run_of(suite, found("RF-4", at="x"), state="failed")
    Case.objects.update(clock="2026-05-01T09:30:00+00:00")
    run_of(suite, found("RF-5", at="x"), snapshot=None)

    seen = observed(first)
    call = next(one for one in seen.proposals() if one.kind == "call")

    assert len(seen.others) == 2
    assert {part.name: part.doubt for part in call.parts} == {
        "id": "",
        "at": "differs between trials",
    }


def test_only_some_of_many_trials_are_compared(suite: Suite) -> None:
    first, *_ = run_of(suite, *[found(f"RF-{n}") for n in range(MAX_OTHERS + 3)])

    assert len(observed(first).others) == MAX_OTHERS


def test_a_conversation_that_was_graded_again_is_no_other_trial(suite: Suite) -> None:
    (source,) = run_of(suite, found("RF-1"))
    (again,) = run_of(suite, found("RF-1"))
    Transcript.objects.filter(pk=again.pk).delete()
    Execution.objects.filter(pk=again.pk).update(source=source)

    assert observed(again).trial == observed(source).trial
    assert observed(again).others == observed(source).others == ()


def test_a_conversation_that_cannot_be_read_is_none(suite: Suite) -> None:
    (execution,) = run_of(suite, found("RF-1"))
    Transcript.objects.update(trial={"nothing": 1})

    assert observe(execution) is None


def test_a_failed_conversation_gives_its_turns_alone(suite: Suite) -> None:
    (execution,) = run_of(suite, found("RF-1"), state="failed")

    spec = made(execution, suite=suite).to_spec()

    assert list(spec.assertions()) == []
    assert len(spec.turns) == 1


def test_what_people_decided_goes_before_the_verdict(suite: Suite) -> None:
    passed, wrong, right = (
        *run_of(suite, found("RF-1"), found("RF-2")),
        *run_of(suite, found("RF-3"), state="failed"),
    )
    ReviewedVerdict.objects.create(execution=wrong, verdict="failed", cause="assertion")
    ReviewedVerdict.objects.create(execution=right, verdict="passed")

    assert [observed(row).is_passed for row in (passed, wrong, right)] == [True, False, True]
    assert observed(passed).others == (observed(right).trial,)


def test_only_suites_of_the_agent_can_take_it(suite: Suite) -> None:
    (execution,) = run_of(suite, found("RF-1"))
    same = write_suite(slug="same")
    other = write_suite(slug="other")
    stranger = Agent.objects.create(slug="stranger", name="Stranger", driver="scripted")
    Suite.objects.filter(pk=other.pk).update(agent=stranger)

    assert suites_for(execution) == [suite, same]
    with pytest.raises(CannotMakeError, match="same agent"):
        made(execution, suite=other)


def test_a_new_suite_is_like_the_one_of_the_run(suite: Suite) -> None:
    Suite.objects.update(trials=3)
    (execution,) = run_of(suite, found("RF-1"))

    new = made(execution).suite

    assert new is not None
    assert (new.pk != suite.pk, new.trials, new.agent) == (True, 3, suite.agent)
    assert LogEntry.objects.filter(object_id=str(new.pk), action_flag=ADDITION).exists()


def test_a_conversation_without_a_suite_gets_one(suite: Suite) -> None:
    (execution,) = run_of(suite, found("RF-1"))
    Run.objects.update(suite=None)
    suite.delete()

    case = made(execution)

    assert case.suite.agent.slug == "shop"
    assert case.name == "Where is my order A-1?"


def test_a_file_that_is_gone_is_refused(suite: Suite) -> None:
    file = {"path": "a.txt", "sha256": "0" * 64}
    suite.cases.get().turns.update(files=[file], user="Where is my order A-1?")
    (execution,) = run_of(suite, found("RF-1"))

    with pytest.raises(CannotMakeError, match=r"a\.txt"):
        made(execution, suite=suite)


def test_tools_answer_as_recorded_in_a_copy_of_the_agent(suite: Suite) -> None:
    (execution,) = run_of(suite, found("RF-1"))

    first = made(execution, is_recorded=True)
    (copies,) = [recorded_suites(execution)]
    second = made(execution, is_recorded=True, suite=copies[0])

    agent = first.suite.agent
    assert (agent.slug, first.suite.name) == ("shop-recorded", "Refunds (recorded)")
    assert agent.tools[1]["rules"] == [{"when": {"id": "A-1"}, "result": {"state": "sent"}}]
    assert Agent.objects.get(slug="shop").tools[1] == FIND
    assert copies == [first.suite] == [second.suite]
    assert LogEntry.objects.filter(object_id=str(agent.pk), object_repr=agent.name).count() == 1


def test_another_result_for_the_same_call_needs_another_copy(suite: Suite) -> None:
    first, other = run_of(suite, found("RF-1"), found("RF-2"))
    stored = Transcript.objects.get(pk=other.pk)
    stored.trial["turns"][0]["messages"][0]["tool_calls"][0]["result"] = {"state": "lost"}
    stored.save()
    recorded = made(first, is_recorded=True).suite

    with pytest.raises(CannotMakeError, match="otherwise"):
        made(other, is_recorded=True, suite=recorded)
    assert made(other, is_recorded=True).suite.agent.slug == "shop-recorded-2"


def test_without_such_tools_nothing_is_recorded(suite: Suite) -> None:
    Agent.objects.update(tools=["entity.query"])
    (execution,) = run_of(suite, found("RF-1"))

    with pytest.raises(CannotMakeError, match="no tools"):
        made(execution, is_recorded=True)
    assert Agent.objects.count() == 1


REFUND = ("entity.update", {"id": "order-1", "data": {"total": 0}})
ASKS_THE_SAME = [{"user": "Where is my order A-1?"}]


def trial_with_changes(*calls: tuple[str, dict[str, Any]]) -> Trial:
    """Return a conversation that changed its world."""
    world = make_world()
    for name, args in calls or [REFUND]:
        world.call(name, args)
    journal = tuple(world.journal)
    return found("RF-1").but(world_changes=world.changes(), world_journal=journal)


def live_case_of(execution: Execution) -> LiveCase | None:
    return LiveCase.of(
        Execution.objects.select_related("run").get(pk=execution.pk), observed(execution)
    )


def add_to_its_case(execution: Execution, *keys: str) -> Case:
    user, _ = User.objects.get_or_create(username="author")
    return add_checks(execution, observed(execution), keys, by=user)


def test_checks_are_added_behind_those_of_the_case_that_ran() -> None:
    suite = write_suite([a_case(turns=ASKS_THE_SAME, final_assertions=[CONTAINS])])
    write_suite([a_case()], slug="other")
    (execution,) = run_of(suite, trial_with_changes())
    before = suite.cases.get()

    case = add_to_its_case(execution, "updated-1", "updated-1-1", "nothing_else", "turn-1-call-1")

    assert (case, case.position) == (before, before.position)
    assert case.updated_at > before.updated_at
    spec = Case.objects.get(pk=case.pk).to_spec()
    assert [check.type for check in spec.final_assertions] == ["contains", "world_changes"]
    assert spec.final_assertions[-1].grader.model_dump(exclude_defaults=True) == {
        "updated": [{"id": "order-1", "data": {"total": 0}}],
        "nothing_else": True,
    }
    assert [check.type for check in spec.turns[0].assertions or []] == ["tool_called"]
    entry = LogEntry.objects.get(object_id=str(case.pk))
    assert (entry.action_flag, entry.user.get_username()) == (CHANGE, "author")


def test_what_the_case_has_already_is_not_added_again() -> None:
    (execution,) = run_of(write_suite([a_case(turns=ASKS_THE_SAME)]), trial_with_changes())
    keys = ("updated-1", "turn-1-call-1", "limit-max_tool_calls")
    add_to_its_case(execution, *keys)

    for ticked in ((), keys):
        with pytest.raises(CannotMakeError, match="does not have yet"):
            add_to_its_case(execution, *ticked)

    assert LogEntry.objects.count() == 1


def test_of_a_case_that_exists_only_changes_of_the_data_are_ticked() -> None:
    (execution,) = run_of(write_suite([a_case(turns=ASKS_THE_SAME)]), trial_with_changes())

    case = live_case_of(execution)

    assert case is not None
    assert {proposal.turn for proposal in case.proposals()} == {1, None}
    assert default_keys(case.proposals()) == {"updated-1", "updated-1-1", "nothing_else"}


def test_a_case_that_asks_something_else_gets_no_checks_of_turns() -> None:
    (execution,) = run_of(write_suite([a_case()]), trial_with_changes())

    case = live_case_of(execution)

    assert case is not None
    assert {proposal.turn for proposal in case.proposals()} == {None}


@pytest.mark.parametrize(
    ("changes", "is_edited"),
    [
        pytest.param({}, False, id="as it was"),
        pytest.param({"position": 5}, False, id="moved"),
        pytest.param({"description": "Other words"}, True, id="described otherwise"),
        pytest.param({"clock": "2026-05-01T09:30:00+00:00"}, True, id="at another time"),
    ],
)
def test_it_is_known_whether_a_case_was_edited_since(
    *, changes: dict[str, Any], is_edited: bool
) -> None:
    (execution,) = run_of(write_suite([a_case(final_assertions=[CONTAINS])]), trial_with_changes())
    Case.objects.update(**changes)

    case = live_case_of(execution)

    assert case is not None
    assert case.is_edited is is_edited


def test_a_case_that_was_renamed_or_whose_suite_is_gone_is_not_found() -> None:
    (execution,) = run_of(write_suite([a_case()]), trial_with_changes())
    Case.objects.update(name="Another name")

    assert live_case_of(execution) is None
    with pytest.raises(CannotMakeError, match="renamed"):
        add_to_its_case(execution, "updated-1")
    Suite.objects.all().delete()
    assert live_case_of(execution) is None


def test_a_simulated_conversation_keeps_what_its_opening_had(suite: Suite) -> None:
    opening = {"user": "Where is my order A-1?", "expected": "Sent.", "context": ["A-1 was sent."]}
    user = {"goal": "Where is order A-1?"}
    Case.objects.all().delete()
    simulated = write_suite(
        [a_case(turns=[opening], simulated_user=user, final_assertions=[CONTAINS])], slug="users"
    )
    (answer,) = found("RF-1").turns
    trial = found("RF-1").but(turns=(answer, replace(answer, index=2, user="Why {{so}}?")))
    (execution,) = run_of(simulated, trial)

    first, second = made(execution, suite=suite).to_spec().turns

    assert (first.expected, first.context) == ("Sent.", ["A-1 was sent."])
    assert second.user == r"Why \{{so}}?"


def test_a_suite_with_simulated_users_takes_no_case_that_is_made(suite: Suite) -> None:
    (execution,) = run_of(suite, found("RF-1"))
    user = {"goal": "Where is order A-1?"}
    Case.objects.filter(suite=suite).update(simulated_user=user)
    same = write_suite(slug="same")

    assert suites_for(execution) == [same]
    assert own_suite(execution) is None
    assert made(execution, suite=same).simulated_user == {}
    with pytest.raises(CannotMakeError, match="same agent"):
        made(execution, suite=suite)
    with pytest.raises(CannotMakeError, match="suite of their own"):
        write_case(suite, same.cases.get().to_spec(), note="", by=None)
