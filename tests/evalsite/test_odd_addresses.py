"""Addresses with an id that no row can have."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.addresses import routes, samples_for

pytestmark = pytest.mark.django_db

ID = re.compile(r"<(path|int):(?:pk|object_id)>")
OWN = re.compile(r"/(change|delete|history)/$|admin/r/|>/$")  # Django's: back to the start page
HUGE = "99999999999999999999"
ODD = ["None", "-1", "1/2", "²", HUGE]


def odd_addresses(settings: Any) -> Iterator[str]:
    samples = samples_for(settings)
    for route in routes():
        match = ID.search(route)
        if match and route.startswith("admin/") and not OWN.search(route):
            for odd in ODD if match[1] == "path" else [HUGE]:
                yield samples.url(ID.sub(odd, route, count=1))


@pytest.mark.slow
def test_an_id_that_no_row_can_have_is_answered_with_404(settings: Any) -> None:
    addresses = list(odd_addresses(settings))
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get(username="owner"))

    answers = {
        f"{method} {address}": getattr(client, method)(address).status_code
        for address in addresses
        for method in ("get", "post")
    }

    assert "/admin/evals_app/suite/None/run/" in addresses
    assert f"/admin/evals_app/run/{HUGE}/cancel/" in addresses
    assert {place: status for place, status in answers.items() if status != 404} == {}


def test_a_stranger_with_an_odd_id_is_asked_to_sign_in(client: Client) -> None:
    answer = client.get("/admin/evals_app/suite/None/run/")

    assert answer.status_code == 302
    assert "/login/" in answer.headers["Location"]
