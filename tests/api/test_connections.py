"""Connected computers over REST: each message is handed out and answered once."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db.models.functions import Now

from evals_app.engine.agents.external.connected import OfferedCall
from evals_app.models import AgentCall, Computer, Execution
from evals_app.models.run_records.connections import LOST_AFTER, SEEN_WITHIN
from evals_app.runs.ending.reap import reap
from evals_app.runs.ground.connections import offer_call, read_calls, sessions_of
from tests.api.clients import make_client
from tests.runs.suites import claim, lease_of, make_agent, make_suite, start

pytestmark = pytest.mark.django_db
CALLS = "/api/agents/laptop/calls/"


@pytest.fixture
def executions() -> list[int]:
    """Three conversations with an agent on a laptop, which have begun."""
    agent = make_agent("laptop", driver="connected", rules=None)
    run = start(make_suite(cases=3, agent=agent))
    return [job.id for job in claim(lease_of(run), 3)]


@pytest.fixture
def client() -> Any:
    return make_client("connect")


def offer(execution: int, turn: int = 1, offers: int = 3) -> None:
    request: Any = {"input": f"turn {turn}"}
    offer_call(OfferedCall(execution, turn, "laptop", "s" * 32, request, offers))


def poll(client: Any, computer: object, free: int = 1, **changes: Any) -> Any:
    body = {"computer": str(computer), "host": "anas-laptop", "free": free} | changes
    response = client.post(CALLS, body)
    assert response.status_code == 200, response.content
    return response.json()


def ids(answer: Any) -> list[int]:
    return [call["id"] for call in answer["calls"]]


def send(client: Any, call: int, computer: object, **answer: Any) -> Any:
    return client.post(f"{CALLS}{call}/answer/", {"computer": str(computer), **answer})


def expire() -> None:
    AgentCall.objects.update(leased_until=Now() - timedelta(seconds=1))


def test_computers_share_the_messages(client: Any, executions: list[int]) -> None:
    first, second = uuid4(), uuid4()
    for execution in executions:
        offer(execution)
        offer(execution)  # repeated after a lost connection, it is one message

    one, two = poll(client, first, free=2), poll(client, second, free=5)

    assert len(one["calls"]) == 2
    assert len(two["calls"]) == 1
    assert {*ids(one), *ids(two)} == set(AgentCall.objects.values_list("pk", flat=True))
    assert one["calls"][0]["request"] == {"input": "turn 1"}
    assert Computer.objects.count() == 2


def test_an_answer_counts_once(client: Any, executions: list[int]) -> None:
    first, second = uuid4(), uuid4()
    offer(executions[0])
    (call,) = ids(poll(client, first))
    expire()
    assert ids(poll(client, second)) == [call]

    assert send(client, call, first, output="late, but first").json() == {"accepted": True}
    assert send(client, call, first, output="late, but first").json() == {"accepted": True}
    assert send(client, call, second, output="second").json() == {"accepted": False}
    assert poll(client, second, free=0, holding=[call])["dropped"] == [call]
    state = read_calls([(executions[0], 1)])[executions[0], 1]
    assert state.answer is not None
    assert state.answer.output == "late, but first"


def test_messages_of_a_lost_computer_go_to_others_three_times_at_most(
    client: Any, executions: list[int]
) -> None:
    key = (executions[0], 1)
    offer(executions[0])
    for _ in range(3):
        assert not read_calls([key])[key].is_lost
        assert len(poll(client, uuid4())["calls"]) == 1
        assert poll(client, uuid4())["calls"] == []
        expire()

    assert poll(client, uuid4())["calls"] == []
    AgentCall.objects.update(leased_until=Now() - 2 * LOST_AFTER)
    assert read_calls([key])[key].is_lost


def silent_for(computer: UUID, seconds: float) -> None:
    """Let a computer and its leases be as if the site had not heard of it for so long."""
    ago = Now() - timedelta(seconds=seconds)
    Computer.objects.filter(pk=computer).update(seen_at=ago)
    AgentCall.objects.filter(computer=computer).update(leased_until=ago + SEEN_WITHIN)


def test_after_the_site_was_away_no_computer_takes_what_another_one_works_on(
    client: Any, executions: list[int]
) -> None:
    first, second = uuid4(), uuid4()
    offer(executions[0])
    (call,) = ids(poll(client, first))
    poll(client, second)
    silent_for(first, 45)
    silent_for(second, 40)

    assert poll(client, second)["calls"] == []
    assert poll(client, uuid4())["calls"] == []  # nor does a new one
    assert poll(client, first, holding=[call])["dropped"] == []
    assert send(client, call, first, output="hello").json() == {"accepted": True}


def test_a_computer_that_was_gone_before_the_site_was_is_not_waited_for(
    client: Any, executions: list[int]
) -> None:
    first, second = uuid4(), uuid4()
    offer(executions[0])
    (call,) = ids(poll(client, first))
    poll(client, second)
    silent_for(first, 70)
    silent_for(second, 40)

    assert ids(poll(client, second)) == [call]


def test_a_message_whose_delivery_was_lost_is_delivered_again(
    client: Any, executions: list[int]
) -> None:
    computer = uuid4()
    offer(executions[0], offers=1)
    call = ids(poll(client, computer))

    assert ids(poll(client, computer)) == call  # it does not hold it
    assert ids(poll(client, computer, holding=call)) == []


def test_a_conversation_that_begins_again_finds_its_answers(
    client: Any, executions: list[int]
) -> None:
    computer = uuid4()
    offer(executions[0])
    (call,) = ids(poll(client, computer))
    send(client, call, computer, output="hello")
    Execution.objects.filter(pk=executions[0]).update(status="queued", lease_token=None)

    offer(executions[0])

    assert sessions_of(executions) == {executions[0]: "s" * 32}
    assert poll(client, computer)["calls"] == []
    state = read_calls([(executions[0], 1)])[executions[0], 1]
    assert state.answer is not None


def test_what_no_conversation_waits_for_is_gone(client: Any, executions: list[int]) -> None:
    computer = uuid4()
    offer(executions[0])
    (call,) = ids(poll(client, computer))
    Execution.objects.filter(pk=executions[0]).update(
        status="finished", verdict="passed", lease_token=None
    )

    assert poll(client, computer, holding=[call])["dropped"] == [call]
    reap()
    assert send(client, call, computer, output="hello").status_code == 404


def test_a_computer_that_leaves_gives_its_messages_back(client: Any, executions: list[int]) -> None:
    first, second = uuid4(), uuid4()
    offer(executions[0])
    call = ids(poll(client, first))

    assert client.delete(f"/api/agents/laptop/computers/{first}/").status_code == 204

    assert ids(poll(client, second)) == call
    assert list(Computer.objects.values_list("pk", flat=True)) == [second]


@pytest.mark.parametrize("scope", ["read", "spans", "run"])
def test_other_tokens_may_not_connect(executions: list[int], scope: str) -> None:
    body = {"computer": str(uuid4()), "host": "x", "free": 1}
    assert make_client(scope).post(CALLS, body).status_code == 403


def test_a_token_that_connects_does_nothing_else(client: Any, executions: list[int]) -> None:
    assert client.get("/api/agents/laptop/").status_code == 403
    assert client.post("/api/runs/", {"suite": "greetings"}).status_code == 403


def test_an_agent_of_another_type_is_refused_with_what_to_do(client: Any) -> None:
    make_agent("laptop")

    response = client.post(CALLS, {"computer": str(uuid4()), "host": "x", "free": 1})

    assert response.status_code == 409
    assert "driver: connected" in response.json()["detail"]


def test_the_connected_computers_are_listed_with_their_work(
    client: Any, executions: list[int]
) -> None:
    busy, idle = uuid4(), uuid4()
    offer(executions[0], turn=2)
    poll(client, busy)
    poll(client, idle, host="bens-laptop")
    poll(client, (gone := uuid4()))
    silent_for(gone, 31)

    answer = make_client("read").get("/api/agents/laptop/computers/").json()

    one, other = answer["computers"]
    execution = Execution.objects.get(pk=executions[0])
    assert (one["computer"], one["host"]) == (str(busy), "anas-laptop")
    assert one["user"] == Computer.objects.get(pk=busy).user.username
    assert {"connected_at", "seen_at"} <= one.keys()
    assert one["busy_with"] == [
        {"run": execution.run_id, "execution": execution.pk, "case": "case 1", "turn": 2}
    ]
    assert (other["host"], other["busy_with"]) == ("bens-laptop", [])
    assert make_client("read").get("/api/agents/nothing/computers/").status_code == 404
