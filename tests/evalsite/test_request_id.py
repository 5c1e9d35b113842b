import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from evalsite.request_id import HEADER, RequestId, request_id

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [
        pytest.param(TRACE, True, id="trace"),
        pytest.param("Root=1-67891233-abc", True, id="load balancer"),
        pytest.param("x" * 128, True, id="long"),
        pytest.param("x" * 129, False, id="too long"),
        pytest.param("a b", False, id="space"),
        pytest.param("a\r\nb: c", False, id="lines"),
        pytest.param("é", False, id="letters of other alphabets"),
        pytest.param("", False, id="none"),
    ],
)
def test_the_id_of_a_request_is_answered_and_known_while_it_is_answered(
    given: str, *, is_kept: bool
) -> None:
    middleware = RequestId(lambda _: HttpResponse(request_id.get()))

    answer = middleware(RequestFactory().get("/", headers={HEADER: given}))

    assert answer.content.decode() == answer.headers[HEADER]
    assert (answer.headers[HEADER] == given) is is_kept
    assert answer.headers[HEADER]


def test_every_answer_has_an_id_of_its_own() -> None:
    ids = [Client().get("/healthz").headers[HEADER] for _ in range(2)]

    assert len(set(ids)) == 2


def test_a_problem_repeats_the_id() -> None:
    refused = Client().get("/api/nothing/", headers={HEADER: TRACE})
    elsewhere = Client().get("/api/runs/", headers={HEADER: TRACE, "Host": "elsewhere.example"})

    for answer in (refused, elsewhere):
        assert answer.json()["request_id"] == answer.headers[HEADER] == TRACE
