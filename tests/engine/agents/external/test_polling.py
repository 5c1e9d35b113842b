"""Agents that answer with a job at first."""

from typing import Any

import pytest

from evals_app.engine.basics.errors import AgentError
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.agents.external.test_http import KEYS, hold, open_session, say

pytestmark = pytest.mark.anyio

ACCEPTED = Sent(202, {"location": "/jobs/7"})
BY_STATE = {"interval_s": 1, "job": "job.id", "state": "state", "result": "result"}


async def poll_for(
    *answers: Sent, poll: dict[str, Any], in_url: bool = False, **changes: Any
) -> tuple[list[Asked], str, list[float]]:
    """Return the requests, the reply and the pauses between them."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    left = iter(answers)
    with WebServer(lambda _: next(left)) as server:
        written = {"interval_s": 1, **poll}
        if in_url:
            written["url"] = f"http://{server.host}/jobs/{{{{job}}}}"
        async with open_session(server, sleep=sleep, poll=written, **changes) as session:
            exchange = await say(session, "Hi")
    return server.asked, exchange.reply, pauses


async def test_a_job_is_asked_for_where_its_location_says() -> None:
    headers = {"Authorization": {"env": "AGENT_KEY"}}
    asked, reply, pauses = await poll_for(
        *(ACCEPTED, Sent(202, {"retry-after": "3"}), Sent(503), Sent.json({"output": "Done."})),
        poll={},
        headers=headers,
    )

    assert reply == "Done."
    assert [(request.method, request.path) for request in asked] == [
        ("POST", "/chat"),
        *[("GET", "/jobs/7")] * 3,
    ]
    assert {request.headers["authorization"] for request in asked} == {KEYS["AGENT_KEY"]}
    assert pauses == [1, 3, 1]


async def test_a_job_is_asked_for_by_its_id_until_its_state_says_that_it_is_done() -> None:
    asked, reply, _ = await poll_for(
        Sent.json({"job": {"id": "a/b?"}, "state": "queued"}),
        Sent.json({"state": "RUNNING", "result": {"answer": "Half"}}),
        Sent.json({"state": "Succeeded", "result": {"answer": "Done."}}),
        poll=BY_STATE,
        in_url=True,
        response={"text": "answer"},
    )

    assert (reply, asked[1].path) == ("Done.", "/jobs/a%2Fb%3F")


@pytest.mark.parametrize(
    ("answer", "poll"),
    [
        pytest.param(Sent.json({"output": "Done."}), {}, id="not accepted for later"),
        (Sent.json({"state": "done", "output": "Done."}), {"state": "state"}),
        pytest.param(
            Sent.json({"state": "over", "output": "Done."}, status=202),
            {"state": "state", "done": ["over"]},
            id="in its own words",
        ),
    ],
)
async def test_a_first_answer_may_be_the_reply(answer: Sent, poll: dict[str, Any]) -> None:
    asked, reply, _ = await poll_for(answer, poll=poll)

    assert (len(asked), reply) == (1, "Done.")


@pytest.mark.parametrize(
    ("answers", "poll", "words"),
    [
        pytest.param([Sent(202)], {}, "no Location header.*poll.url", id="nowhere"),
        ([Sent(202, {"location": "http://10.0.0.1/"})], {}, "another host"),
        pytest.param([Sent(202, {"location": "file:///etc"})], {}, "job is at", id="no address"),
        pytest.param([ACCEPTED, Sent(404)], {}, "job answered with status 404", id="gone"),
        pytest.param(
            [ACCEPTED, Sent.json({"state": "Failed", "why": "No money."})],
            {"state": "state"},
            "job is 'Failed'.*No money",
            id="failed",
        ),
        ([ACCEPTED, Sent.json({"sate": "done"})], {"state": "state"}, "no state"),
        ([ACCEPTED, Sent.json({"a": 1})], {"result": "b"}, "last answer has no b"),
        pytest.param([ACCEPTED, Sent.json({"a": 1})], {}, "no text", id="no reply"),
    ],
)
async def test_a_job_that_comes_to_nothing_is_the_agents_error(
    answers: list[Sent], poll: dict[str, Any], words: str
) -> None:
    with pytest.raises(AgentError, match=words):
        await poll_for(*answers, poll=poll, response={"text": "text"})


@pytest.mark.parametrize("body", [{}, {"job": {"id": ""}}, {"job": {"id": {}}}])
async def test_a_job_without_an_id_is_the_agents_error(body: Any) -> None:
    with pytest.raises(AgentError, match=r"first answer has"):
        await poll_for(Sent.json(body), poll=BY_STATE, in_url=True)


async def test_a_turn_that_ends_before_the_job_says_how_far_it_was() -> None:
    def answer(asked: Asked) -> Sent:
        return ACCEPTED if asked.method == "POST" else Sent.json({"state": "running"})

    with WebServer(answer) as server:
        trial = await hold(
            server, "one", agent={"poll": {"interval_s": 0.1, "state": "state"}}, turn_timeout_s=1
        )

    assert trial.turns[0].error == "The agent did not answer within 1 s: its job is 'running'."
