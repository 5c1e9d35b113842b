"""Cases made of real conversations, one at a time and several at once."""

from typing import Any

import pytest

from evals_app.engine.specs.tool_spec import CannedTool
from evals_app.library.making.case_making import (
    CannotMakeError,
    CaseOptions,
    make_case,
    proposed_name,
    suites_for,
)
from evals_app.library.making.observing import observe
from evals_app.library.making.several import MadeCases, make_cases
from evals_app.models import Agent, Assertion, Execution, Suite
from evals_app.runs.process.worker_loop import work
from evals_app.runs.recorded.grade_conversations import WantedConversations, start_grading
from tests.authored import a_case, write_suite
from tests.runs.recorded.conversations import imported, row_of, rows_of

pytestmark = pytest.mark.django_db

FIND = {
    "name": "orders.find",
    "url": "https://shop.example.org/orders/{id}",
    "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
}
CALLED = {
    "id": "T-9",
    "messages": [
        {"role": "user", "content": "Where is my order A-1?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "orders.find", "arguments": '{"id": "A-1"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"state": "sent"}'},
        {"role": "assistant", "content": "It was sent."},
    ],
}


def executions_of(rows: list[dict[str, Any]]) -> list[Execution]:
    run = imported(rows).run
    return list(Execution.objects.filter(run=run).select_related("run__snapshot").order_by("pk"))


def make(executions: list[Execution], suite: Suite, **options: Any) -> MadeCases:
    wanted: dict[str, Any] = {"criteria": "It names the price.", "is_recorded": False, "by": None}
    return make_cases(executions, suite, **(wanted | options))


def test_a_real_conversation_fits_into_any_suite() -> None:
    suite = write_suite([a_case()])
    (execution,) = executions_of([row_of("T-1")])
    observed = observe(execution)
    assert observed is not None

    assert suites_for(execution) == [suite]
    case = make_case(execution, observed, CaseOptions(keys=(), suite=suite), by=None)
    assert case.to_spec().turns[0].user == "Why 9 euros?"
    with pytest.raises(CannotMakeError, match="Choose the suite"):
        make_case(execution, observed, CaseOptions(keys=()), by=None)


def test_a_case_of_a_graded_real_conversation_is_named_by_its_opening() -> None:
    suite = write_suite([a_case()])
    (imported_one,) = executions_of([row_of("4")])
    Assertion.objects.create(suite=suite, type="contains", options={"value": "6.90"})
    target = imported_one.run.conversation_set
    assert target is not None
    [run] = start_grading(target, suite, WantedConversations())
    work()
    execution = run.executions.get()
    observed = observe(execution)
    assert observed is not None

    assert proposed_name(execution, observed) == "Why 9 euros?"


def test_what_asks_the_same_is_made_once_and_named() -> None:
    suite = write_suite([a_case("Old", turns=[{"user": "question  0"}])])
    talks = [*rows_of(3), row_of("again", ("user", "Question 1"), ("assistant", "Hm."))]

    made = make(executions_of(talks), suite)

    assert [case.to_spec().turns[0].user for case in made.cases] == ["Question 1", "Question 2"]
    assert made.repeated == [("0", "Old"), ("again", made.cases[0].name)]
    (check,) = made.cases[0].to_spec().turns[0].assertions or []
    assert "It names the price." in str(check)
    assert made.cases[0].to_spec().turns[0].inherit


def test_cases_that_would_check_nothing_are_not_made() -> None:
    suite = write_suite([a_case()])

    with pytest.raises(CannotMakeError, match="would check nothing"):
        make(executions_of(rows_of(2)), suite, criteria="")
    assert suite.cases.count() == 1


def test_tools_answer_as_recorded_in_one_copy_of_the_suite_and_its_agent() -> None:
    suite = write_suite([a_case()])
    Agent.objects.filter(pk=suite.agent_id).update(
        driver="model", model="acme/m", tools=[FIND], connection={}
    )
    suite = Suite.objects.select_related("agent").get(pk=suite.pk)
    other = CALLED | {
        "id": "T-10",
        "messages": [{"role": "user", "content": "Hello"}, *CALLED["messages"]],
    }

    made = make(executions_of([CALLED, other]), suite, is_recorded=True)

    copies = {case.suite for case in made.cases}
    assert len(made.cases) == 2
    (copy,) = copies
    assert copy.agent != suite.agent
    (tool,) = copy.agent.to_spec().given_tools
    assert isinstance(tool, CannedTool)
    assert tool.rules[0].result == {"state": "sent"}
    assert suite.cases.count() == 1
